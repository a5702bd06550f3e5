#!/usr/bin/env bash
# Builds and tests the package in comparison/, where the libraries that Hocket is compared with are there:
# every executor leaves the same bits. It times nothing.
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
  local missing=()
  if ! command -v g++ >/dev/null; then
    missing=("g++ (Debian: g++)")
  else
    compiles_with "" tbb/flow_graph.h tbb || missing+=("oneTBB (Debian: libtbb-dev)")
    compiles_with -fopenmp omp.h gomp || missing+=("OpenMP (Debian: g++ brings it)")
  fi
  if [ ${#missing[@]} -gt 0 ]; then
    skip comparison "not here: ${missing[*]}"
    return
  fi
  CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-target} stage comparison \
    cargo test --locked --manifest-path comparison/Cargo.toml --lib --bins --tests -- --show-output
}

run_logged comparison
