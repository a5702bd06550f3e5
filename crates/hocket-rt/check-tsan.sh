#!/usr/bin/env bash
# Runs the race tests of hocket-rt and hocket-kernels under ThreadSanitizer.
#
# Needs the nightly toolchain with its rust-src: the standard library is built with ThreadSanitizer, too. A
# ready-made one hides what its Mutex, channels and Arc order, and would need suppressions. There are none.
# Time budget: 150 s to build (60 s of it the standard library, once), 60 s for the tests (15 s on two quiet
# CPUs). A hang fails after 300 s.
#
# First the check of the check: a race on purpose must be reported, or silence means nothing.
set -euo pipefail
cd "$(dirname "$0")"

host=x86_64-unknown-linux-gnu
if ! rustc +nightly --version >/dev/null 2>&1; then
    echo "SKIPPED check-tsan: no nightly toolchain (rustup toolchain install nightly)"
    exit 0
fi
if [[ ! -d "$(rustc +nightly --print sysroot)/lib/rustlib/src/rust/library" ]]; then
    echo "SKIPPED check-tsan: no source of std (rustup component add rust-src --toolchain nightly)"
    exit 0
fi
if [[ "$(rustc +nightly -vV)" != *"host: $host"* ]]; then
    echo "SKIPPED check-tsan: set up for $host only"
    exit 0
fi

# Flags of its own mean a target folder of its own, or every ordinary build would start anew.
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$(cargo locate-project --workspace --message-format plain | xargs dirname)/target}/tsan"
export RUSTFLAGS="-Zsanitizer=thread -Cunsafe-allow-abi-mismatch=sanitizer"
export TSAN_OPTIONS="halt_on_error=0"
export RUST_BACKTRACE=0

races() {
    timeout 300 cargo +nightly test -Zbuild-std -p hocket-rt -p hocket-kernels --target "$host" "$@"
}

cargo +nightly test -Zbuild-std -p hocket-rt -p hocket-kernels --target "$host" --no-run --test 'race_*'

echo "check-tsan: a race on purpose must be reported"
if seeded=$(races --test race_seeded -- --ignored 2>&1); then
    echo "$seeded"
    echo "check-tsan: FAILED: the race on purpose was not reported"
    exit 1
fi
if ! grep -q "WARNING: ThreadSanitizer: data race" <<<"$seeded"; then
    echo "$seeded"
    echo "check-tsan: FAILED: the race on purpose did not even run"
    exit 1
fi

echo "check-tsan: the protocols must not race"
races --no-fail-fast --test 'race_*'
echo "check-tsan: passed"
