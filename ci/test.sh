#!/usr/bin/env bash
# Every test there is, quickest answer first:
#
#   rules      dependencies between crates, places of unsafe code, words (xtask)
#   parity     every schedule and worker count against the serial walk, bit for bit
#   tests      unit and integration tests of all crates
#   doctests   the examples in the documentation
#   loom       every protocol between two threads, all interleavings
#   weakened   one ordering or step of a protocol broken at a time: do the loom models fail? (a part of the
#              cases, as many as fit into a minute; `make weakened` tries all of them)
#   tsan       the same protocols on real threads under ThreadSanitizer; then whole engines (tsan-engine)
#   sentry     every system call and allocation inside a block, seen and counted
#   rtsan      the block path under RealtimeSanitizer
#   fuzz       every parser of a library with mutated inputs, two seconds each; left out without a C++ compiler
#   soak       twenty seconds of `make soak`: edits at random, a load and recordings beside a session
#   smt-vm     the sibling policies on a kernel with core scheduling, in an emulated machine; left out only
#              where its tools cannot be installed
#   aarch64    the bits of effects on an emulated AArch64, and whether the engine compiles for it (`make test-aarch64`
#              runs more); left out only where its tools cannot be installed
#   examples   the example hosts, each a package of its own; the one for JACK where its headers are
#   guests     the Maven projects of the lab's guest for the JVM; left out without Maven, or what it fetches
#   comparison the package with the rivals: every executor leaves the same bits
#   benches    each benchmark once, for its own checks, not for time
#
# One profile serves all of them (dev, which optimises), so each crate is compiled once.
. "$(dirname "$0")/lib.sh"

main() {
  ci/setup.sh test
  stage rules cargo run --locked -q -p xtask -- check
  stage parity parity
  # Parity has its own stage: its tests are the ones with this name.
  stage tests tests
  stage doctests cargo test --locked --workspace --doc -- --show-output
  stage_in_time 5 loom optional_script crates/hocket-rt/check-loom.sh
  WEAKENED_SECONDS=${WEAKENED_SECONDS:-60} stage_in_time 4 weakened optional_script crates/hocket-rt/check-weakened.sh
  stage_in_time 8 tsan optional_script crates/hocket-rt/check-tsan.sh
  stage_in_time 10 tsan-engine optional_script crates/hocket-engine/check-tsan.sh
  # With `hostile`, so that what holds workers up is compiled somewhere; nobody is held up here.
  stage_in_time 10 sentry cargo test --locked --workspace --features hocket/sentry,hocket-engine/sentry,hocket-engine/hostile \
    --test realtime -- --show-output
  stage_in_time 10 rtsan ci/rtsan.sh
  # Half a minute; its build takes three to six the first time.
  stage_in_time 15 fuzz ci/fuzz.sh brief
  SOAK_SECONDS=${SOAK_SECONDS:-20} stage_in_time 4 soak ci/soak.sh
  # On a free host it takes two to four minutes; its kernel, the first time, five to fifteen more.
  stage_in_time 22 smt-vm ci/smt-vm/run.sh
  stage_in_time 7 aarch64 ci/aarch64.sh brief
  stage_in_time 8 examples ci/examples.sh
  stage_in_time 2 guests ci/guests.sh
  stage_in_time 8 comparison ci/comparison.sh
  stage_in_time 6 benches benches
}

# Before everything else: a difference here makes all other results worthless. `--workspace` keeps
# the features, and with them the build, the same as in the stages that follow.
parity() {
  if ! compgen -G 'crates/*/tests/parity.rs' >/dev/null; then
    skip parity "no crate has a tests/parity.rs"
    return
  fi
  cargo test --locked --workspace --test parity -- --show-output
}

tests() {
  # `cargo test` builds examples as tests, and the plug-in that tests load is a library.
  cargo build --locked --workspace --examples
  cargo test --locked --workspace --tests --examples --no-fail-fast -- --show-output --skip bit_identical_over_the_grid
}

optional_script() { # PATH
  if [ -x "$1" ]; then "$1"; else skip "$1" "not there"; fi
}

benches() {
  if ! compgen -G 'crates/*/benches/*.rs' >/dev/null; then
    skip benches "there are none"
    return
  fi
  cargo test --locked --workspace --bench '*'
}

run_logged test
