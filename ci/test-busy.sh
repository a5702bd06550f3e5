#!/usr/bin/env bash
# Runs the test programs on a machine that is busy, and on one CPU: no test may depend on how fast or how free a
# machine is.
#
#   ci/test-busy.sh [TIMES] [PACKAGE...]   TIMES runs (default 5) beside two busy loops on each CPU, then one run on
#                                          one CPU alone; of these packages, or of all of them
#
# `parity` takes ten minutes of a CPU and waits for no clock, so it takes part in the first run and in the one on one CPU.
#
# The test programs are built once and then run without cargo. Runs side by side are printed when they have ended; until
# then target/ci/busy-run-N.log grows. At the end each test that failed is named with how often it did.
# HOCKET_TEST_SECONDS bounds the time of one test program in one run (default: 3600).
# HOCKET_TEST_PROGRAMS, a regular expression, names the programs that are run: cli|rights. Default: all.
#
# Root's runs go side by side, which takes a third of the time and makes the machine busier still: each in a mount
# namespace of its own, with its own copy of all that it writes here, in TMPDIR and in /dev/shm. Control groups are
# read-only there, because a partition takes its CPUs from everybody; tests of partitions are skipped, but for the
# run on one CPU. HOCKET_BUSY_APART=no runs them one after the other.
# Exit code 0: every test passed in every run; 1: one did not.
. "$(dirname "$0")/lib.sh"

times=${1:-5}
packages=("${@:2}")
bound=${HOCKET_TEST_SECONDS:-3600}
busy=()
failed="$logs/busy.failed"

main() {
  built "${packages[@]}"
  : >"$failed"
  keep_busy
  if can_stand_apart; then
    stage busy side_by_side
  else
    local run
    for run in $(seq "$times"); do
      stage "busy-$run" all_programs
      parity=no
    done
    parity=yes
  fi
  leave_alone
  stage one-cpu on_one_cpu
  tell
}

# --- what is run --------------------------------------------------------------

# Every test program with the folder cargo would run it in, one a line. As in ci/test.sh, the programs `realtime` have
# what watches the block path, and the plug-in that tests load is built, which is an example.
built() { # PACKAGE...
  local which=(--workspace) features=,hocket/sentry,hocket-engine/sentry,hocket-engine/hostile package
  if [ $# -gt 0 ]; then which=() features=; fi
  for package in "$@"; do
    which+=(-p "$package")
    case $package in
      hocket) features+=,hocket/sentry ;;
      hocket-engine) features+=,hocket-engine/sentry,hocket-engine/hostile ;;
    esac
  done
  : >"$logs/busy.programs"
  # First, so that the program `hocket` that other tests start is the one without the sentry.
  if [ -n "$features" ]; then
    test_programs "${which[@]}" --features "${features#,}" --test realtime
    cat "$logs/busy.found" >>"$logs/busy.programs"
  fi
  cargo build --locked "${which[@]}" --examples
  test_programs "${which[@]}" --tests
  grep -vE '/realtime-[0-9a-f]+$' "$logs/busy.found" >>"$logs/busy.programs" || true
  if [ -n "${HOCKET_TEST_PROGRAMS:-}" ]; then
    { grep -E "/($HOCKET_TEST_PROGRAMS)-[0-9a-f]+$" "$logs/busy.programs" || true; } >"$logs/busy.chosen"
    mv "$logs/busy.chosen" "$logs/busy.programs"
  fi
  [ -s "$logs/busy.programs" ] || { echo "test-busy: FAILED: there is no test program" && return 1; }
}

# Builds tests, and notes the folder and path of each program.
test_programs() { # OPTION...
  cargo test --locked "$@" --no-run --message-format=json-render-diagnostics >"$logs/busy.built"
  sed -nE 's#.*"manifest_path":"([^"]+)/Cargo.toml".*"overflow_checks":[a-z]+,"test":true.*"executable":"([^"]+)".*#\1 \2#p' "$logs/busy.built" \
    >"$logs/busy.found"
}

all_programs() {
  local folder program
  while read -r folder program; do
    case $program in */parity-*) [ "${parity:-yes}" = yes ] || continue ;; esac
    one_program "$folder" "$program"
  done <"$logs/busy.programs"
}

# A failure is noted and the others still run.
one_program() { # FOLDER PROGRAM
  local log="${apart:-$logs}/busy.log" rc=0 begun=$SECONDS
  (cd "$1" && CARGO_MANIFEST_DIR=$1 timeout "$bound" ${only:-} "$2") >"$log" 2>&1 || rc=$?
  printf '%s: exit code %s, %s s\n' "$(basename "$2")" "$rc" $((SECONDS - begun))
  if [ "$rc" -eq 0 ]; then return; fi
  tail -n 60 "$log"
  if ! sed -nE "s,^test (.+) \.\.\. FAILED\$,$(basename "$2" | sed 's/-[0-9a-f]*$//') \1,p" "$log" | tee -a "$failed" |
    grep -q .; then
    echo "$(basename "$2") as a whole (exit code $rc)" >>"$failed"
  fi
}

on_one_cpu() {
  only="taskset -c $(first_cpu)"
  all_programs
}

first_cpu() {
  taskset -cp $$ | sed -E 's/.*: ([0-9]+).*/\1/'
}

# --- runs side by side ----------------------------------------------------------

can_stand_apart() {
  [ "${HOCKET_BUSY_APART:-yes}" != no ] && [ "$times" -gt 1 ] && [ -z "${CARGO_TARGET_DIR:-}" ] || return 1
  scratch=$(mktemp -d)
  # Some tests start programs as another user.
  chmod 755 "$scratch"
  stand_apart "$scratch/try" true 2>/dev/null
}

side_by_side() {
  local run runs=() rc=0
  for run in $(seq "$times"); do
    stand_apart "$scratch/$run" ci/test-busy.sh --apart "$scratch/$run" >"$logs/busy-run-$run.log" 2>&1 &
    runs+=($!)
  done
  for run in $(seq "$times"); do
    wait "${runs[run - 1]}" || rc=$?
    printf '\n-- run %s\n' "$run"
    cat "$logs/busy-run-$run.log"
    cat "$scratch/$run/failed" >>"$failed"
  done
  rm -rf "$scratch"
  return "$rc"
}

# Runs a command where what it writes in this folder goes to FOLDER.
stand_apart() { # FOLDER COMMAND...
  mkdir -p "$1/above" "$1/work" "$1/tmp" "$1/shm"
  chmod 1777 "$1/tmp" "$1/shm"
  # shellcheck disable=SC2016 # the inner shell's
  TMPDIR="$1/tmp" unshare --mount --ipc bash -euc '
    mount -t overlay hocket -o "lowerdir=$PWD,upperdir=$0/above,workdir=$0/work" "$PWD"
    mount --bind "$0/shm" /dev/shm
    if [ -d /sys/fs/cgroup ]; then mount -o remount,bind,ro /sys/fs/cgroup; fi
    cd "$PWD"
    "$@"' "$@"
}

# One run, inside.
run_apart() { # FOLDER
  apart=$1
  if [ "$(basename "$1")" != 1 ]; then parity=no; fi
  failed="$apart/failed"
  : >"$failed"
  all_programs
}

tell() {
  local runs=$((times + 1))
  if [ ! -s "$failed" ]; then
    echo "test-busy: every test passed in each of $times runs beside load and in one on one CPU"
    return
  fi
  sort "$failed" | uniq -c | sort -rn | while read -r count name; do
    echo "test-busy: FAILED $count of $runs times: $name"
  done
  return 1
}

# --- the load -----------------------------------------------------------------

keep_busy() {
  local i
  trap leave_alone EXIT INT TERM HUP
  for i in $(seq $((2 * $(nproc)))); do
    # It ends by itself if this script is killed too hard for its trap.
    (while kill -0 $$ 2>/dev/null; do for ((i = 0; i < 2000000; i++)); do :; done; done) &
    busy+=($!)
  done
  echo "test-busy: ${#busy[@]} busy loops on $(nproc) CPUs"
}

leave_alone() {
  if [ ${#busy[@]} -gt 0 ]; then kill "${busy[@]}" 2>/dev/null || true; fi
  busy=()
}

if [ "${1:-}" = --apart ]; then
  run_apart "$2"
else
  run_logged test-busy
fi
