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
hostile="cargo bench --locked --workspace --bench executors --features hocket-lab/hostile --"

# Name, minutes, and the command that is given the file. The quick ones first. A name without an ending is one of JSON.
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
units|1|cargo bench --locked --workspace --bench units -- --record
executors|4|$executors --mode paced --schedule dataflow,steal,critical,auto --blocks 1500 --record
executors-awake|6|$executors --blocks 1500 --keep-awake yes --record
together|2|$executors --together yes --record
graph|3|cargo bench --locked --workspace --bench graph -- --record
kernel-events|2|cargo bench --locked --workspace --bench kernel_events -- --record
trace-page|2|cargo bench --locked --workspace --bench trace_page -- --record
effects|2|cargo bench --locked --workspace --bench effects -- --record
planning|3|cargo bench --locked --workspace --bench planning -- --record
disks-streaming|3|cargo bench --locked --workspace --bench disks -- streaming --record
disks-opening|1|cargo bench --locked --workspace --bench disks -- opening --record
disks-locate|2|cargo bench --locked --workspace --bench disks -- locate --record
reads|3|comparison/reads/reads.py target --record
walk|2|cargo bench --locked --workspace --bench walk -- --record
render|6|comparison/render/render.py --record
references|6|comparison/references/references.py ${HOCKET_SHARED:-../shared}/data/references --record
cross-check|6|comparison/cross-check.sh --rounds 12 --record
voices|10|comparison/voices/voices.py --rounds 2 --seconds 2 --start 60 --step 60 --pair-blocks 1500 --record
versions|15|comparison/versions/versions.py dbc3880 --rounds 30 --record
comparison|4|cargo run --locked --release --manifest-path comparison/Cargo.toml -- --mode paced --blocks 1000 --record
live|22|comparison/live/live.py --record
clients|8|comparison/live/clients.py --record
idle|16|comparison/live/idle.py --record
soak|32|ci/soak.sh
packages.txt|12|ci/packages.sh
fresh-debian.txt|25|ci/fresh-debian.sh
random-graphs|16|$executors --random 200 --seed 1 --record
random-graphs-late|3|$hostile --random 30 --seed 1 --hostile late --record
random-graphs-jumps|3|$executors --random 30 --seed 1 --hostile jumps --record
random-graphs-load|3|$executors --random 30 --seed 1 --hostile load --record
END
}

# Name, minutes, experiments and time, and the guest. The records are what `hocket lab report --json` says of these runs.
lab_records() {
  cat <<END
lab-smt-load|5|smt-load --time 4m
lab-aim9|6|aim9 --time 5m
lab-chat|6|chat --time 5m
lab-tcpstream|14|tcpstream --time 13m
lab-kernel|21|kernel --time 20m
lab-fileserver|11|fileserver --time 10m
lab-guests|13|jvm openmp --time 12m
lab-affinity-xz|5|affinity --time 4m --guest|xz -6kc out/sources.tar
lab-affinity-7zz|11|affinity --time 10m --guest|7zz b 1 -md18 -mmt2
END
}

main() {
  if [ "$chosen" = --list ]; then
    records | awk -F'|' '{ printf "%-26s %3d min  %s FILE\n", $1, $2, $3 }'
    lab_records | awk -F'|' '{ printf "%-26s %3d min  hocket lab run %s %s\n", $1, $2, $3, $4 ? "\"" $4 "\"" : "" }'
    return
  fi
  if [ -n "$(git status --porcelain -- . ':!docs/results' ':!docs/pictures')" ]; then
    echo "the tree has changes: commit them first, or the records would speak of code that nobody can find" >&2
    return 2
  fi
  cargo build --locked --release --workspace --bin hocket
  # Built before anything is measured.
  if records | awk -F'|' -v chosen="$chosen" '$1 ~ chosen { print $3 }' | grep -q '^cargo bench'; then
    cargo bench --locked --workspace --bench '*' --no-run
  fi
  local name minutes command rc=0
  while IFS='|' read -r name minutes command; do
    if ! [[ $name =~ $chosen ]]; then continue; fi
    # A record may tell of misses or slower walks by its exit code; it is one all the same.
    stage "$name" made "$name" "$command" || rc=1
  done < <(records)
  make_lab || rc=1
  local guest
  while IFS='|' read -r name minutes command guest; do
    if ! [[ $name =~ $chosen ]]; then continue; fi
    stage "$name" lab_made "$name" "$command" "$guest" || rc=1
  done < <(lab_records)
  return "$rc"
}

# The run is kept in a folder that goes; its report stays, and its pictures, which docs/lab.md shows.
lab_made() { # NAME WORDS GUEST
  local file=$results/$1-$machine.json words work rc=0
  read -ra words <<<"$2"
  if [ -n "$3" ]; then
    words+=("$3")
    if ! command -v "${3%% *}" >/dev/null; then
      skip "$1" "${3%% *} is not installed"
      return 1
    fi
    mkdir -p out
    git archive -o out/sources.tar HEAD crates/hocket-lab
  fi
  work=$(mktemp -d)
  "$program" lab run "${words[@]}" --records "$work/lab.sqlite" || rc=$?
  # 1: a condition or a wrong result, 3: something was not possible; the report says what.
  case $rc in
    0 | 1 | 3) "$program" lab report --records "$work/lab.sqlite" --json >"$work/report.json" && mv "$work/report.json" "$file" ;;
  esac
  "$program" lab report --records "$work/lab.sqlite" --pictures "$work/pictures"
  local id picture
  for id in "${words[@]}"; do
    # With a guest, the run is another experiment, and two of the records are of it: their pictures have the records' names.
    if [ -n "$3" ]; then
      picture=$work/pictures/affinity-guest.svg
      if [ -e "$picture" ]; then mv "$picture" "docs/pictures/lab/${1#lab-}.svg"; fi
      break
    fi
    if [[ $id == --* ]]; then break; fi
    # The run before may have had more of them.
    if [ -e "$work/pictures/$id.svg" ]; then rm -f docs/pictures/lab/"$id".svg docs/pictures/lab/"$id"-[0-9].svg; fi
    for picture in "$work/pictures/$id".svg "$work/pictures/$id"-[0-9].svg; do
      if [ -e "$picture" ]; then mv "$picture" docs/pictures/lab/; fi
    done
  done
  rm -rf "$work"
  if [ -z "$(git status --porcelain -- "$file")" ]; then
    skip "$1" "no new record was written; the reason is above"
    return 1
  fi
}

made() { # NAME COMMAND
  local ending=json file words
  if [[ $1 == *.* ]]; then ending=${1##*.}; fi
  file=$results/${1%.*}-$machine.$ending
  read -ra words <<<"$2"
  # cargo starts benchmarks in the folders of their crates, and a record names no folder outside of the repository.
  local place=$file
  if [[ $2 == "cargo bench"* ]]; then place=../../$file; fi
  "${words[@]}" "$place" || echo "$1: exit code $?"
  if [ -z "$(git status --porcelain -- "$file")" ]; then
    skip "$1" "no new record was written; the reason is above"
    return 1
  fi
}

# The lab's is no JSON, and has a page.
make_lab() {
  if ! [[ lab-quick =~ $chosen ]]; then return; fi
  local file=$results/lab-quick-$machine.sqlite longer
  longer=$(lab_records | awk -F'|' '$4 == "" { sub(/ --time.*/, "", $3); printf "%s ", $3 }')
  rm -f "$file"
  stage lab-quick "$program" lab run --quick --records "$file"
  "$program" lab report --records "$file" -o "${file%.sqlite}.html" --force
  # The pictures of docs/lab.md, but for those of experiments that have a longer run of their own.
  local work picture id
  work=$(mktemp -d)
  "$program" lab report --records "$file" --pictures "$work"
  for picture in docs/pictures/lab/*.svg; do
    id=$(basename "$picture" .svg)
    if ! [[ " $longer " == *" ${id%-[0-9]} "* ]] && [ -e "$work/$id.svg" ]; then mv "$work/$id.svg" "$picture"; fi
  done
  rm -rf "$work"
}

run_logged records
