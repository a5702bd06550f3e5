#!/usr/bin/env bash
# Runs the loom models of hocket-rt, and of the locks and turns in hocket-kernels: every interleaving
# within a bound, every value a load may return.
#
# Each model has a bound on preemptions of its own (2 to 5, in tests/loom_*.rs); most faults need
# one or two. LOOM_MAX_PREEMPTIONS=n overrides all of them: with 2 the models take about 3 s
# together, with 3 about 45 s, with 4 many minutes (the barrier of three).
#
# Time budget: 90 s for the models (25 s on two quiet CPUs), 120 s to build them. A model that does
# not end fails after 300 s.
set -euo pipefail
cd "$(dirname "$0")"

# Flags of its own mean a target folder of its own, or every ordinary build would start anew.
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$(cargo locate-project --workspace --message-format plain | xargs dirname)/target}/loom"
export RUSTFLAGS="--cfg loom"
export RUST_BACKTRACE="${RUST_BACKTRACE:-0}"
# Linking each model with link-time optimisation would take longer than to run it.
export CARGO_PROFILE_RELEASE_LTO=off

models=(-p hocket-rt -p hocket-kernels --release --test "${1:-loom_*}")
cargo test --no-run "${models[@]}"
timeout 300 cargo test "${models[@]}"
echo "check-loom: passed"
