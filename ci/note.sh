# Records of what a script did, as text for docs/results: sourced after lib.sh, not run.
#
# A record names no folder outside of the repository, and no address. It appears under its name at `end_record`, so a script
# that fails leaves the last one as it is. A script that sets a trap on EXIT after `begin_record` calls `drop_notes` in it.

# The file that the notes go to, and the one that they become.
notes= record=

begin_record() { # TITLE FILE
  record=$2
  notes=$(mktemp)
  trap drop_notes EXIT
  local changes=
  [ -z "$(git status --porcelain -- . ':!docs/results' ':!docs/pictures')" ] || changes=", with changes"
  note "$1: commit $(git rev-parse --short=8 HEAD)$changes, $(date -u +%F)"
  note "machine: $(nproc) CPUs, $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1), Linux $(uname -r)"
}

# Prints a line, and keeps it if a record was begun.
note() { # TEXT
  printf '%s\n' "$1" | tee -a "${notes:-/dev/null}"
}

# The file of notes, if there is one.
drop_notes() {
  [ -z "$notes" ] || rm -f "$notes"
}

# A skip that the record tells of, too.
note_skip() { # NAME WHY
  skip "$1" "$2"
  note "not done: $1: $2"
}

# A stage that the record tells of: how it ended and how long it took.
noted() { # NAME WHAT COMMAND...
  local name=$1 what=$2 start=$SECONDS rc=0 end=ok
  shift 2
  stage "$name" "$@" || rc=$?
  [ "$rc" -eq 0 ] || end="exit code $rc"
  note "$(printf '%s, %d s: %s' "$end" $((SECONDS - start)) "$what")"
  return "$rc"
}

end_record() {
  mkdir -p "$(dirname "$record")" && cp "$notes" "$record" || return 1
  drop_notes
  echo "record: $record"
}

size_of() { # FILE or folder, without what is mounted there
  numfmt --to=si --suffix=B "$(du -sbx "$1" | cut -f1)"
}
