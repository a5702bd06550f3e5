#!/usr/bin/env bash
# Makes records of docs/results anew on this machine, one after the other:
#
#   ci/records.sh [REGEX]   those whose names match; default: all
#   ci/records.sh --list    the names, the minutes each takes on 2 CPUs, and the commands
#
# The tree must have no changes, or Hocket refuses the place; and nothing else should run. A record that cannot be made
# here is named with the reason, and the others go on. Look at each of them, and at what docs/ says of it, before you
# commit.
#
#   HOCKET_MACHINE=2cpu-vm    the end of the names; default: from the number of CPUs, and whether they are virtual
#   HOCKET_SHARED=../shared   the renders of others, for `references`
. "$(dirname "$0")/lib.sh"

chosen=${1:-.}
machine=${HOCKET_MACHINE:-$(nproc)cpu-$(if grep -q '^flags.* hypervisor' /proc/cpuinfo; then echo vm; else echo pc; fi)}
results=docs/results
program=${CARGO_TARGET_DIR:-target}/release/hocket
disturbed="--disturb compute:2 --seed 2026"
lanes="--no-profile --policy off --lanes off,auto --blocks 15000 --seed 2026"
executors="cargo bench --locked --workspace --bench executors --"

# Name, minutes, and the command that is given the file. The quick ones first.
records() {
  cat <<END
bench-band|2|$program bench sessions/band.toml --no-profile $disturbed --record
bench-best-case|2|$program bench sessions/best-case.toml --no-profile $disturbed --record
bench-worst-case-4|2|$program bench sessions/worst-case-4.toml --no-profile --disturb preview,compute:2 --seed 2026 --record
bench-worst-case-8|2|$program bench sessions/worst-case-8.toml --no-profile --disturb preview,compute:2 --seed 2026 --record
bench-tail-worst-case-4|2|$program bench sessions/worst-case-4.toml --no-profile --schedule serial,dataflow,critical,auto --policy off $disturbed --record
bench-waits|2|$program bench sessions/worst-case-8.toml --no-profile --schedule critical --policy off --wait spin,pause,yield,hybrid,futex --seed 2026 --record
bench-lanes-band|2|$program bench sessions/band.toml $lanes --record
bench-lanes-best-case|2|$program bench sessions/best-case.toml $lanes --record
bench-lanes-pulse|2|$program bench sessions/pulse.dawproject $lanes --record
bench-lanes-notes|2|$program bench sessions/notes.toml $lanes --record
abreast|1|cargo bench --locked --workspace --bench abreast -- --record
executors|4|$executors --mode paced --schedule dataflow,steal,critical,auto --blocks 1500 --record
executors-awake|6|$executors --blocks 1500 --keep-awake yes --record
together|2|$executors --together yes --record
graph|3|cargo bench --locked --workspace --bench graph -- --record
trace-page|2|cargo bench --locked --workspace --bench trace_page -- --record
effects|2|cargo bench --locked --workspace --bench effects -- --record
planning|3|cargo bench --locked --workspace --bench planning -- --record
disks-streaming|3|cargo bench --locked --workspace --bench disks -- streaming --record
disks-opening|1|cargo bench --locked --workspace --bench disks -- opening --record
disks-locate|2|cargo bench --locked --workspace --bench disks -- locate --record
reads|3|comparison/reads/reads.py target --record
render|6|comparison/render/render.py --record
references|6|comparison/references/references.py ${HOCKET_SHARED:-../shared}/data/references --record
cross-check|6|comparison/cross-check.sh --rounds 15 --record
voices|10|comparison/voices/voices.py --rounds 2 --seconds 2 --start 60 --step 60 --pair-blocks 1500 --record
versions|15|comparison/versions/versions.py dbc3880 --rounds 30 --record
comparison|4|cargo run --locked --release --manifest-path comparison/Cargo.toml -- --mode paced --blocks 1000 --record
live|21|comparison/live/live.py --record
random-graphs|16|$executors --random 200 --seed 1 --record
END
}

main() {
  if [ "$chosen" = --list ]; then
    records | awk -F'|' '{ printf "%-26s %3d min  %s FILE\n", $1, $2, $3 }'
    return
  fi
  if [ -n "$(git status --porcelain -- . ':!docs/results')" ]; then
    echo "the tree has changes: commit them first, or the records would speak of code that nobody can find" >&2
    return 2
  fi
  cargo build --locked --release --workspace --bin hocket
  # Built before anything is measured.
  cargo bench --locked --workspace --bench '*' --no-run
  local name minutes command rc=0
  while IFS='|' read -r name minutes command; do
    if ! [[ $name =~ $chosen ]]; then continue; fi
    # A record may tell of misses or slower walks by its exit code; it is one all the same.
    stage "$name" made "$name" "$command" || rc=1
  done < <(records)
  make_lab || rc=1
  return "$rc"
}

made() { # NAME COMMAND
  local file=$results/$1-$machine.json words
  read -ra words <<<"$2"
  # cargo starts benchmarks in the folders of their crates, and a record names no folder outside of the repository.
  local place=$file
  if [ "${words[0]} ${words[1]}" = "cargo bench" ]; then place=../../$file; fi
  "${words[@]}" "$place" || echo "$1: exit code $?"
  if [ -z "$(git status --porcelain -- "$file")" ]; then
    skip "$1" "no new record was written; the reason is above"
    return 1
  fi
}

# The lab's is no JSON, and has a page.
make_lab() {
  if ! [[ lab-quick =~ $chosen ]]; then return; fi
  local file=$results/lab-quick-$machine.sqlite
  rm -f "$file"
  stage lab-quick "$program" lab run --quick --records "$file"
  "$program" lab report --records "$file" --html "${file%.sqlite}.html"
}

run_logged records
