#!/usr/bin/env bash
# Builds the guest for the JVM and its benchmarks by their Maven projects, in a copy, so that the tree stays clean.
#
#   ci/guests.sh
#
# The lab itself needs javac alone, so without Maven this stage is left out. What Maven has to fetch (its plug-ins, JMH)
# is fetched once; without a network and without these it is left out, too. A project that does not compile fails.
. "$(dirname "$0")/lib.sh"

# Fetching hangs where the network does.
patience=${GUESTS_SECONDS:-120}

# Whether Maven can fetch all that a project names. Only then is a failing build the project's fault.
can_fetch() { # FOLDER LOG
  timeout "$patience" mvn -B -q -o -f "$1" dependency:go-offline >"$2" 2>&1 ||
    timeout "$patience" mvn -B -q -f "$1" dependency:go-offline >"$2" 2>&1
}

built() { # NAME FOLDER
  local log=$copy/$1.log rc=0
  # First with what is here: that needs no network.
  if timeout "$patience" mvn -B -q -o -f "$2" package >"$log" 2>&1; then return; fi
  timeout "$patience" mvn -B -q -f "$2" package >"$log" 2>&1 || rc=$?
  if [ "$rc" -eq 0 ]; then return; fi
  if grep -q 'COMPILATION ERROR\|Non-parseable POM\|Malformed POM' "$log" || can_fetch "$2" "$copy/fetch.log"; then
    tail -n 30 "$log"
    return "$rc"
  fi
  skip "guests $1" "Maven cannot fetch what the project names: $(grep -m1 ERROR "$copy/fetch.log" | cut -c1-160)"
}

main() {
  local program
  for program in mvn javac; do
    if ! command -v "$program" >/dev/null; then
      skip guests "$program is not installed, so the Maven projects of the JVM guest are not built"
      return
    fi
  done
  copy=$(mktemp -d)
  trap 'rm -rf "$copy"' EXIT
  cp -r guests/jvm "$copy/jvm"
  rm -rf "$copy/jvm/target" "$copy/jvm/jmh/target"
  built jvm "$copy/jvm"
  built jmh "$copy/jvm/jmh"
  if [ ! -f "$copy/jvm/jmh/target/benchmarks.jar" ]; then return; fi
  # Both kinds of kernels are found by JMH; how fast they are is measured elsewhere.
  local found
  found=$(java -jar "$copy/jvm/jmh/target/benchmarks.jar" -l)
  echo "$found"
  grep -q 'hocket.Kernels' <<<"$found"
}

run_logged guests
