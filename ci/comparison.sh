#!/usr/bin/env bash
# Builds and tests the package in comparison/: every executor leaves the same bits. It times nothing.
# Executors whose library is not here are left out and named; the others are always built and tested.
#
# The package has a lock file of its own. It shares the target folder, so what other tests have built is
# not built again.
. "$(dirname "$0")/lib.sh"

# FLAGS HEADER LIBRARY: as comparison/build.rs asks for them.
compiles_with() {
  printf '#include <%s>\nint main() {}\n' "$2" |
    g++ -std=c++17 $1 -x c++ - -o /dev/null "-l$3" 2>/dev/null
}

main() {
  if ! command -v g++ >/dev/null; then
    skip comparison "the executors in C++ are left out: no g++ (Debian: g++)"
  else
    compiles_with "" tbb/flow_graph.h tbb || skip comparison "oneTBB is left out (Debian: libtbb-dev)"
    compiles_with -fopenmp omp.h gomp || skip comparison "OpenMP is left out (Debian: g++ brings it)"
  fi
  CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-target} \
    cargo test --locked --manifest-path comparison/Cargo.toml --lib --bins --tests -- --show-output
}

run_logged comparison
