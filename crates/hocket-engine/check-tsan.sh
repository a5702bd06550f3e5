#!/usr/bin/env bash
# Runs whole engines under ThreadSanitizer: late, early and superfluous workers, all schedules, plans
# exchanged while blocks run. The edges themselves are watched one by one in hocket-rt (check-tsan.sh
# there, which also sees a race on purpose reported).
#
# Needs the nightly toolchain. Time budget: 120 s to build on two quiet CPUs, 60 s for the tests.
set -euo pipefail
cd "$(dirname "$0")"

host=x86_64-unknown-linux-gnu
if ! rustc +nightly --version >/dev/null 2>&1; then
    echo "SKIPPED check-tsan of hocket-engine: no nightly toolchain (rustup toolchain install nightly)"
    exit 0
fi
if [[ "$(rustc +nightly -vV)" != *"host: $host"* ]]; then
    echo "SKIPPED check-tsan of hocket-engine: set up for $host only"
    exit 0
fi

# Flags of its own mean a target folder of its own, or every ordinary build would start anew.
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$(cargo locate-project --workspace --message-format plain | xargs dirname)/target}/tsan"
export RUSTFLAGS="-Zsanitizer=thread -Cunsafe-allow-abi-mismatch=sanitizer"
export TSAN_OPTIONS="suppressions=$PWD/tests/tsan.suppressions halt_on_error=0"
export RUST_BACKTRACE=0

cargo +nightly test -p hocket-engine --target "$host" --test engine --no-run
timeout 300 cargo +nightly test -p hocket-engine --target "$host" --test engine -- \
    --test-threads 1 blocks:: steering:: life::an_engine
echo "check-tsan of hocket-engine: passed"
