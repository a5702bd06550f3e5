#!/usr/bin/env bash
# Runs whole engines under ThreadSanitizer: late, early and superfluous workers, all schedules, plans
# exchanged and sessions edited while blocks run, leaders of others that are followed; notes, automation lanes and
# transports, fades and clips; graphs with ports, feedback and event edges; spread and background work, main sides, states,
# latencies that change and blocks that grow. Then streams and takes of hocket-disk, and engines that play such streams (hocket-streams).
# The edges themselves are watched one by one in hocket-rt (check-tsan.sh there, which also sees a race on purpose
# reported).
#
# Needs the nightly toolchain with its rust-src: the standard library is built with ThreadSanitizer, too, so
# that what its Mutex, channels and Arc order is visible and nothing has to be suppressed.
# Time budget: 240 s to build on two quiet CPUs, 360 s for the tests. A hang fails after 600 s.
set -euo pipefail
cd "$(dirname "$0")"

host=x86_64-unknown-linux-gnu
if ! rustc +nightly --version >/dev/null 2>&1; then
    echo "SKIPPED check-tsan of hocket-engine: no nightly toolchain (rustup toolchain install nightly)"
    exit 0
fi
if [[ ! -d "$(rustc +nightly --print sysroot)/lib/rustlib/src/rust/library" ]]; then
    echo "SKIPPED check-tsan of hocket-engine: no source of std (rustup component add rust-src --toolchain nightly)"
    exit 0
fi
if [[ "$(rustc +nightly -vV)" != *"host: $host"* ]]; then
    echo "SKIPPED check-tsan of hocket-engine: set up for $host only"
    exit 0
fi

# Flags of its own mean a target folder of its own, or every ordinary build would start anew.
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$(cargo locate-project --workspace --message-format plain | xargs dirname)/target}/tsan"
export RUSTFLAGS="-Zsanitizer=thread -Cunsafe-allow-abi-mismatch=sanitizer"
export TSAN_OPTIONS="halt_on_error=0"
export RUST_BACKTRACE=0

# Under ThreadSanitizer each edit costs some twenty times as much.
export HOCKET_TEST_EDITS="${HOCKET_TEST_EDITS:-300}"

# Sequences of edits, states and latencies; each is played several times.
export PROPTEST_CASES="${PROPTEST_CASES:-3}"

# Drawn graphs; each is played under every schedule.
export HOCKET_TEST_GRAPHS="${HOCKET_TEST_GRAPHS:-10}"

tests() {
    timeout 600 cargo +nightly test -Zbuild-std --target "$host" "$@"
}

cargo +nightly test -Zbuild-std -p hocket-engine --target "$host" --lib --test engine --test graphs --no-run
# `leaders::` has those of others too.
tests -p hocket-engine --lib --test engine -- --test-threads 1 \
    block:: inbox:: blocks:: early:: leaders:: panics:: steering:: editing:: edit_pairs:: life::an_engine
tests -p hocket-engine --test engine -- --test-threads 1 \
    notes:: transport:: song:: automation:: plan_times:: fades:: clips::
tests -p hocket-engine --test graphs -- --test-threads 1 edits::
tests -p hocket-engine --test graphs -- --test-threads 1 \
    events:: ports:: feedback:: spread:: background:: main_thread:: states:: latencies:: grow:: chase:: plan_times:: \
    equal_power::
cargo +nightly test -Zbuild-std -p hocket-disk --target "$host" --test streaming --test recording --no-run
# Not the file of more than 4 GiB, of which nothing is shared.
tests -p hocket-disk --test streaming --test recording -- --test-threads 1 --skip beyond_4_gib
# Whole engines whose clips stream, with control threads beside them.
cargo +nightly test -Zbuild-std -p hocket-streams --target "$host" --test playing --test control_threads --no-run
tests -p hocket-streams --test playing --test control_threads -- --test-threads 1
echo "check-tsan of hocket-engine: passed"
