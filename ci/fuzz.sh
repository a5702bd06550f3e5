#!/usr/bin/env bash
# Feeds every parser with mutated inputs (fuzz/README.md).
#
#   ci/fuzz.sh            each target for FUZZ_SECONDS of CPU time (3600); keeps what it finds in fuzz/
#   ci/fuzz.sh TARGET...  these targets only
#   ci/fuzz.sh brief      each target for two seconds, as a test; keeps nothing
#
# `brief` without names leaves out the targets of fuzz/src/program: they build all of Hocket, which takes minutes more.
#
# It needs a C++ compiler (libFuzzer is compiled) and is skipped without one. The instrumentation is part of every
# Rust compiler; nightly is only needed for sanitizers, which find little here: the parsers have no unsafe code.
# The build takes 3 to 6 minutes once. FUZZ_NICE is the niceness, 19 if unset. FUZZ_RECORD=FILE gets the table.
. "$(dirname "$0")/lib.sh"
. ci/note.sh

host=$(rustc -vV | sed -n 's/^host: //p')
built=${CARGO_TARGET_DIR:-$PWD/target}/fuzz
seconds=${FUZZ_SECONDS:-3600}
# As much of a target's corpus is kept in the repository.
corpus_bytes=65536

main() {
  local why targets=("${asked[@]}") failed=0 target
  why=$(missing)
  if [ -n "$why" ]; then
    skip fuzz "$why"
    return
  fi
  if ! why=$(cargo fetch --locked --manifest-path fuzz/Cargo.toml 2>&1); then
    if grep -q 'lock file' <<<"$why"; then
      echo "fuzz: FAILED: fuzz/Cargo.lock is older than the manifests: cargo fetch --manifest-path fuzz/Cargo.toml"
      return 1
    fi
    skip fuzz "the crates of fuzz/ cannot be downloaded"
    return
  fi
  if [ ${#targets[@]} -eq 0 ]; then
    targets=($(wanted))
    [ -z "$brief" ] || echo "left out, because they build all of Hocket:" $(of_program)
  fi
  build "${targets[@]}"
  self=$BASHPID
  [ -z "${FUZZ_RECORD:-}" ] || begin_record "fuzzers, $seconds s of CPU time per target" "$FUZZ_RECORD"
  scratch=$(mktemp -d)
  trap 'rm -rf "$scratch"; drop_notes' EXIT
  row target executions coverage corpus "CPU s" result
  for target in "${targets[@]}"; do
    run_target "$target" || failed=1
  done
  [ -z "$record" ] || end_record
  return "$failed"
}

missing() {
  if [[ "$host" != *-linux-gnu ]]; then
    echo "set up for Linux with glibc only"
  elif ! command -v c++ >/dev/null; then
    echo "no C++ compiler for libFuzzer (Debian: g++)"
  fi
}

names() {
  basename -s .rs -a fuzz/fuzz_targets/*.rs
}

# Those that build the whole program.
of_program() {
  sed -n 's/^mod \(.*\);$/\1/p' fuzz/src/program/mod.rs
}

# Those that run if none is named.
wanted() {
  if [ -n "$brief" ]; then names | grep -vxFf <(of_program); else names; fi
}

# The flags of cargo-fuzz without a sanitizer. `--target` keeps them away from build scripts.
build() { # TARGETS...
  local features=() flags="-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4"
  flags+=" -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table"
  flags+=" -Cllvm-args=-sanitizer-coverage-trace-compares --cfg fuzzing"
  if printf '%s\n' "$@" | grep -xFf <(of_program) >/dev/null; then features=(--features program); fi
  RUSTFLAGS="$flags" CARGO_TARGET_DIR="$built" cargo build --locked --release \
    --manifest-path fuzz/Cargo.toml --target "$host" "${features[@]}"
}

# Runs the fuzzer of a target in its scratch folder, quietly; $log has what it says.
fuzzer() { # TARGET ARGUMENTS...
  local target=$1
  shift
  (
    export TMPDIR="$scratch"
    [ -w /dev/shm ] && TMPDIR=$(mktemp -d /dev/shm/hocket-fuzz.XXXXXX)
    nice -n "${FUZZ_NICE:-19}" "$built/$host/release/$target" -rss_limit_mb=3072 -timeout=60 -max_len=32768 \
      -artifact_prefix="$scratch/$target-" "$@" >>"$log" 2>&1
    rc=$?
    [ "$TMPDIR" = "$scratch" ] || rm -rf "$TMPDIR"
    exit "$rc"
  )
}

run_target() { # TARGET
  local target=$1 rc=0 used
  log="$scratch/$target.log"
  work="$built/corpus/$target"
  mkdir -p "$work"
  local given=("$work")
  for folder in fuzz/corpus/"$target" fuzz/regressions/"$target"; do
    [ -d "$folder" ] && given+=("$folder")
  done
  words=()
  [ ! -f "fuzz/dictionaries/$target.txt" ] || words=(-dict="fuzz/dictionaries/$target.txt")
  spend_time "$target" || rc=$?
  [ -n "$brief" ] || keep_corpus "$target"
  if [ "$rc" -eq 0 ]; then
    report "$target" "no crash"
    return
  fi
  report "$target" "CRASH"
  keep_crashes "$target"
  # As the log of a failed test shows it.
  grep -aE -A6 'panicked at|ERROR: libFuzzer|memory allocation of' "$log" | head -n 20 || true
  echo "fuzz $target: FAILED"
  return 1
}

# libFuzzer counts wall time, a shared machine gives less: it starts anew until the CPU time is spent.
spend_time() { # TARGET
  local left=$seconds
  used=0
  # A test does the same each time.
  local options=(-max_total_time="$seconds")
  if [ -n "$brief" ]; then options=(-max_total_time=2 -seed=1); fi
  while [ "$left" -gt 0 ]; do
    local before after rc=0
    before=$(cpu_seconds)
    fuzzer "$1" "${options[@]}" -print_final_stats=1 -use_value_profile=1 "${words[@]}" "${given[@]}" || rc=$?
    after=$(cpu_seconds)
    used=$((used + after - before))
    [ "$rc" -eq 0 ] || return "$rc"
    [ -z "$brief" ] || break
    left=$((seconds - used))
    options=(-max_total_time=$((left > 5 ? left : 5)))
  done
}

# Of all children that have ended, in whole seconds.
cpu_seconds() {
  awk '{ sub(/.*\) /, ""); printf "%d", ($14 + $15) / '"$(getconf CLK_TCK)"' }' "/proc/$self/stat"
}

report() { # TARGET RESULT
  local executions coverage inputs
  executions=$(sed -nE 's/^stat::number_of_executed_units: *([0-9]+)$/\1/p' "$log" | awk '{ n += $1 } END { print n + 0 }')
  coverage=$(grep -aoE 'cov: [0-9]+' "$log" | tail -n 1 | cut -d' ' -f2)
  inputs=$(ls "$work" | wc -l)
  row "$1" "$executions" "${coverage:--}" "$inputs" "$used" "$2"
}

row() { # TARGET EXECUTIONS COVERAGE CORPUS SECONDS RESULT
  note "$(printf '%-10s %12s %9s %8s %9s  %s' "$@")"
}

# The inputs that reach every edge of the code, the largest ones left out where there is no room for them.
keep_corpus() { # TARGET
  local kept="fuzz/corpus/$1" merged="$scratch/$1-merged" seeds size=0 file
  mkdir -p "$kept" "$merged"
  fuzzer "$1" -merge=1 -use_counters=0 -use_cmp=0 "$merged" "$kept" "$work" || return 0
  # Seeds have names, found inputs have digests for names.
  seeds=$(find "$kept" -type f | grep -vE '/[0-9a-f]{40}$' || true)
  find "$kept" -type f | grep -E '/[0-9a-f]{40}$' | xargs -r rm
  size=$(cat $seeds /dev/null | wc -c)
  while read -r bytes file; do
    cmp -s "$file" /dev/null && continue
    size=$((size + bytes))
    [ "$size" -le "$corpus_bytes" ] || break
    cp "$file" "$kept/"
  done < <(find "$merged" -type f -printf '%s %p\n' | sort -n)
}

# Smaller inputs that still crash; crates/hocket/tests/corpus.rs fails until they are repaired.
keep_crashes() { # TARGET
  local crash kept="fuzz/regressions/$1"
  [ -z "$brief" ] || kept="$built/crashes/$1"
  mkdir -p "$kept"
  for crash in "$scratch/$1"-{crash,oom,timeout}-*; do
    [ -f "$crash" ] || continue
    fuzzer "$1" -minimize_crash=1 -max_total_time=30 -exact_artifact_path="$scratch/smaller" "$crash" || true
    [ ! -s "$scratch/smaller" ] || mv "$scratch/smaller" "$crash"
    cp "$crash" "$kept/"
    echo "fuzz $1: kept $kept/$(basename "$crash")"
  done
}

brief=
if [ "${1:-}" = brief ]; then
  brief=yes
  shift
fi
asked=("$@")
run_logged fuzz
