#!/usr/bin/env bash
# Follows README.md by its own words in a fresh Debian, from the tree of the last commit to the report.
#
#   ci/fresh-debian.sh [FILE]   FILE gets the record; target/fresh-debian.txt if not said
#
# Debian's smallest system is made in a temporary folder, with git, make and a linker, which README.md asks for, and
# nothing else. The Rust toolchain and the crates are this machine's, mounted read-only: where they come from is the
# user's choice, and the network is not what is tested. Then each command of the section "Two commands" runs as it
# stands there: `make install` as root, all others as an ordinary user. Last, the installed program must be small.
#
# It needs root, debootstrap (installed where that is possible) and 3 GB. It takes 10 to 30 minutes.
# KEEP=1 keeps the folder.
. "$(dirname "$0")/lib.sh"
. ci/apt.sh
. ci/note.sh
. ci/debian.sh

section='## Two commands'
packages=(git make gcc libc6-dev)
file=${1:-${CARGO_TARGET_DIR:-target}/fresh-debian.txt}

main() {
  local why
  why=$(no_debian)
  if [ -n "$why" ]; then
    skip fresh-debian "$why"
    return
  fi
  begin_record "README.md in a fresh Debian" "$file"
  new_folder
  stage debootstrap bootstrap "${packages[@]}"
  stage tree unpack_tree
  stage toolchain has_toolchain
  follow
  stage report has_report
  stage size is_small "$debian/usr/local/bin/hocket"
  stage installed is_installed
  end_record
}

unpack_tree() {
  mkdir "$home/hocket" && git archive HEAD | tar -x -C "$home/hocket" || return 1
  mkdir -p "$debian"/opt/{rust,registry} "$home/.cargo" || return 1
  # The name of a registry is part of where its crates lie.
  cp "${CARGO_HOME:-$HOME/.cargo}"/config.toml "$home/.cargo/" 2>/dev/null || true
  ln -s /opt/registry "$home/.cargo/registry" || return 1
  chroot "$debian" chown -R "$user:" "/$user"
}

# Runs a command in the folder of the tree.
as() { # USER COMMAND
  MOUNTS="$(rustc --print sysroot):/opt/rust
${CARGO_HOME:-$HOME/.cargo}/registry:/opt/registry" inside "$1" "~/hocket" "$2"
}

has_toolchain() {
  local version
  version=$(as "$user" "rustc --version") || return 1
  note "toolchain: $version and the crates, both of this machine and read-only; no network"
}

follow() {
  local commands command who number=0
  mapfile -t commands < <(commands)
  if [ "${#commands[@]}" -eq 0 ]; then
    echo "fresh-debian: README.md has no commands under '$section': FAILED"
    return 1
  fi
  for command in "${commands[@]}"; do
    number=$((number + 1))
    who=$user
    [ "$command" != "make install" ] || who=root
    noted "readme-$number" "$who: $command" as "$who" "$command"
  done
}

# The indented lines of the section, without their remarks.
commands() {
  awk -v section="$section" '/^## / { inside = $0 == section } inside && /^    / { print }' README.md |
    sed -E 's/^ +//; s/ +#.*$//'
}

has_report() {
  local name
  for name in out/report.html band.wav; do
    test -s "$home/hocket/$name" || return 1
    note "$name: $(size_of "$home/hocket/$name")"
  done
}

# The installed program, whose symbols lie beside it.
is_small() { # FILE
  local bytes most=15000000
  bytes=$(stat -c %s "$1") || return 1
  note "the program: $bytes bytes, of at most $most"
  [ "$bytes" -lt "$most" ] || {
    echo "fresh-debian: $1 is too large; see what \`cargo bloat --profile dist\` names, or give crates opt-level \"s\" in Cargo.toml: FAILED"
    return 1
  }
}

# What `make install` wrote is all there, and is what its list says.
is_installed() {
  local root=$debian/usr/local list bytes
  list=$root/share/hocket/installed.txt
  (cd "$root" && sha256sum --quiet --check "$list") || return 1
  bytes=$(cd "$root" && sed -E 's/^[0-9a-f]{64}  //' "$list" | xargs -d '\n' cat | wc -c)
  note "make install: $(wc -l <"$list") files, $(numfmt --to=si --suffix=B "$bytes"); with symbols of $(size_of "$root/bin/.debug")"
}

run_logged fresh-debian
