#!/usr/bin/env bash
# The lab's figures beside those of cyclictest, perf bench, criterion, stress-ng, hackbench, dbench and tbench, in turns of
# one run.
#
#   comparison/cross-check.sh [--rounds N] [--only WORD] [--record FILE [--force]]
#
# Needs the Debian packages rt-tests, linux-perf, stress-ng, dbench and iproute2, taskset, setpriv and unshare, and the right
# to FIFO; what is missing ends it with exit code 3. The server of tbench listens on every address, so it runs in a network of
# its own. Figures mean something on a machine that does nothing else.
set -euo pipefail
# FILE is seen from where the caller is.
caller=$PWD
cd "$(dirname "${BASH_SOURCE[0]}")"

for program in cyclictest hackbench perf stress-ng taskset setpriv unshare dbench tbench tbench_srv ip; do
  command -v "$program" >/dev/null && continue
  echo "cross-check: $program is missing: as root: apt-get install rt-tests linux-perf stress-ng util-linux dbench iproute2" >&2
  exit 3
done

# One build, so that both have the same dependencies.
built=$(cargo build --locked --release --bin cross-check --bench passes --message-format=json |
  sed -nE 's/.*"executable":"([^"]+)".*/\1/p')
program=$(grep -E '/cross-check$' <<<"$built")
passes=$(grep -E '/passes-[0-9a-f]+$' <<<"$built")
cd "$caller"
# A record names no folder outside of the repository.
passes=./$(realpath --relative-to=. "$passes")
exec "$program" --criterion "$passes" "$@"
