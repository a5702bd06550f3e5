#!/usr/bin/env bash
# A session plays for 30 minutes (SOAK_SECONDS) while edits come at random by OSC, a load computes beside it and two takes
# are recorded. Then the recordings are read to their end. The exit code is 1 if anything of Hocket's failed; a machine that
# is late, or a disk that is slow, fails nothing.
#
#   SOAK_SECONDS=1800   how long, 5 to 10800
#   SOAK_DEVICE=jack    jack: a server with the dummy driver, the default where jackd is installed; or virtual
#   SOAK_SEED=1         other numbers give other edits
#   SOAK_RECORD=FILE    where the record goes, as JSON; target/soak/record.json if not said. `ci/soak.sh FILE` is the same
. "$(dirname "$0")/lib.sh"

named=${1:-}

main() {
  local target=${CARGO_TARGET_DIR:-target}
  local folder=$target/soak/session seconds=${SOAK_SECONDS:-1800} device=${SOAK_DEVICE:-}
  local record=${named:-${SOAK_RECORD:-$target/soak/record.json}}
  cargo build --locked --workspace --bin hocket --example soak
  mkdir -p "$target/soak"
  rm -rf "$folder"
  if [ -z "$device" ]; then
    device=virtual
    if command -v jackd >/dev/null; then device=jack; fi
  fi
  if [ "$device" = jack ]; then start_jack "$target/debug/hocket"; fi
  local rc=0
  stage soak "$target/debug/examples/soak" --program "$target/debug/hocket" --seconds "$seconds" --device "$device" \
    --seed "${SOAK_SEED:-1}" --folder "$folder" --record "$record" || rc=$?
  # The recordings of half an hour are large; after a failure somebody looks at them.
  if [ "$rc" -eq 0 ]; then rm -rf "$folder"; fi
  stop_jack
  return "$rc"
}

server=
# A server of its own, so that nobody else hears it. It answers when a client can play.
start_jack() { # PROGRAM
  export JACK_DEFAULT_SERVER=hocket-soak-$$
  jackd --name "$JACK_DEFAULT_SERVER" --no-realtime -d dummy --rate 48000 --period 256 >/dev/null 2>&1 &
  server=$!
  trap stop_jack EXIT
  for _ in $(seq 100); do
    if HOCKET_PROFILE=none "$1" play sessions/automation.toml --device jack --length 0.05 --quiet >/dev/null 2>&1; then
      return
    fi
    sleep 0.1
  done
  echo "ci/soak.sh: jackd does not answer; choose SOAK_DEVICE=virtual"
  return 3
}

stop_jack() {
  if [ -n "$server" ]; then
    kill "$server" 2>/dev/null || true
    wait "$server" 2>/dev/null || true
    server=
  fi
}

run_logged soak
