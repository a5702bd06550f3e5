# Shared by the scripts of this folder: sourced, not run.
#
# A script defines `main` and calls `run_logged`. What `main` prints goes to the terminal and into
# a log; at the end every line that starts with `SKIPPED` is repeated, so that no test can be left
# out unseen, followed by the time each stage took and, after a failure, by the lines that tell of
# it: whoever sees only the end of the log sees why. The exit code is that of `main`.

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
exec </dev/null

if ! command -v cargo >/dev/null && [ -x "${CARGO_HOME:-$HOME/.cargo}/bin/cargo" ]; then
  PATH="${CARGO_HOME:-$HOME/.cargo}/bin:$PATH"
fi

mkdir -p "${CARGO_TARGET_DIR:-target}/ci"
logs=$(cd "${CARGO_TARGET_DIR:-target}/ci" && pwd)

# What could not be done and what that means, in the form that tests use too.
skip() { # NAME WHY
  printf 'SKIPPED %s: %s\n' "$1" "$2"
}

# Runs a command as a stage of its own; a failing one ends `main`.
stage() { # NAME COMMAND...
  local name=$1 start=$SECONDS rc=0
  shift
  printf '\n== %s: %s\n' "$name" "$*"
  "$@" || rc=$?
  note_time "$name" $((SECONDS - start)) "$rc"
  return "$rc"
}

# The same, unless the run has a time limit in minutes (HOCKET_TEST_MINUTES) and would probably exceed it. MINUTES: what the
# stage takes on a slow host.
stage_in_time() { # MINUTES NAME COMMAND...
  local minutes=$1 spent=$((($(date +%s) - HOCKET_STAGES_BEGAN) / 60))
  shift
  if [ -n "${HOCKET_TEST_MINUTES:-}" ] && [ $((spent + minutes)) -gt "$HOCKET_TEST_MINUTES" ]; then
    skip "stage $1" "this host is slow: $spent of $HOCKET_TEST_MINUTES minutes are over, and it may take $minutes; run: ${*:2}"
    return
  fi
  stage "$@"
}

# Megabytes that an ordinary user may still write there.
free_mb() { # FOLDER
  df -Pm "$1" | awk 'NR == 2 { print $4 }'
}

# One row of the table. Scripts that a stage calls add theirs, with a prefix of its choice.
note_time() { # NAME SECONDS RC
  local verdict=passed
  [ "$3" -eq 0 ] || verdict="FAILED $3"
  printf '%4d:%02d  %-11s %s\n' $(($2 / 60)) $(($2 % 60)) "$verdict" "${HOCKET_STAGE_PREFIX:-}$1" \
    >>"$HOCKET_STAGE_TIMES"
}

# Runs `main`, then prints what was skipped and, in the outermost script, how long it all took.
run_logged() { # NAME
  local name=$1 rc inside_of=${HOCKET_STAGE_TIMES:-}
  local log="$logs/$name.log"
  if [ -z "$inside_of" ]; then
    export HOCKET_STAGE_TIMES="$logs/$name.times"
    HOCKET_STAGES_BEGAN=$(date +%s)
    export HOCKET_STAGES_BEGAN
    : >"$HOCKET_STAGE_TIMES"
  fi
  set +e
  (set -e && main) 2>&1 | tee "$log"
  rc=${PIPESTATUS[0]}
  set -e
  if [ -n "$inside_of" ]; then exit "$rc"; fi
  print_skips "$log"
  print_times "$name" "$rc"
  if [ "$rc" -ne 0 ]; then print_failures "$log"; fi
  exit "$rc"
}

print_skips() { # LOG
  local skips
  skips=$({
    grep -aoE '(^|[[:space:]])SKIPPED .+' "$1" | sed -E 's/^[[:space:]]*SKIPPED /skipped: /' || true
    sed -nE -e 's/^test (.+) \.\.\. ignored$/skipped: \1: ignored, no reason given/p' \
      -e 's/^test (.+) \.\.\. ignored, (.*)$/skipped: \1: \2/p' "$1"
  } | sort -u)
  printf '\n%s\n' "${skips:-nothing was skipped}"
}

# Errors of compilers and sanitizers, then what each failed test printed: the last lines are those that some readers see
# alone. A passed test may panic on purpose, so its panics are not listed.
print_failures() { # LOG
  printf '\n%s\n' "what failed (line of the log: text):"
  grep -anE -A12 "$failure" "$1" | cut -c1-400 | tail -n 60 || true
  print_failed_tests "$1" | tail -n 120
  echo "room left: $(free_mb .) MB on this disk, $(free_mb "${TMPDIR:-/tmp}") MB for temporary files"
}
failure='WARNING: ThreadSanitizer|^error(\[|:)|: FAILED'

# Below its heading `failures:` a test program prints what each failed test printed.
print_failed_tests() { # LOG
  awk '
    /^(failures|successes):$/ { failures = $1 == "failures:"; told = 0 }
    /^test result:/ { failures = 0 }
    failures && /^---- / { told = 30 }
    failures && (told-- > 0 || /^    [^ ]+$/) { print FNR ": " substr($0, 1, 300) }
  ' "$1" || true
}

print_times() { # NAME RC
  printf '\n%s\n' "time per stage:"
  cat "$HOCKET_STAGE_TIMES"
  printf '%4d:%02d  in all\n' $((SECONDS / 60)) $((SECONDS % 60))
  if [ "$2" -eq 0 ]; then echo "$1: passed"; else echo "$1: FAILED with exit code $2"; fi
}
