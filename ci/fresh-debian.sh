#!/usr/bin/env bash
# Follows README.md by its own words in a fresh Debian, from the tree of the last commit to the report.
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

section='## Two commands'
packages=git,make,gcc,libc6-dev
user=listener

main() {
  local why
  why=$(missing)
  if [ -n "$why" ]; then
    skip fresh-debian "$why"
    return
  fi
  debian=$(mktemp -d)
  # The user's way leads through it.
  chmod 755 "$debian"
  trap clean_up EXIT
  stage debootstrap bootstrap
  stage tree unpack_tree
  stage toolchain as "$user" cargo --version
  follow
  stage report test -s "$home/hocket/out/report.html"
  stage size is_small "$debian/usr/local/bin/hocket"
}

# The installed program, whose symbols lie beside it.
is_small() { # FILE
  local bytes most=15000000
  bytes=$(stat -c %s "$1") || return 1
  echo "fresh-debian: the program has $bytes bytes, of at most $most"
  [ "$bytes" -lt "$most" ] || {
    echo "fresh-debian: $1 is too large; see what \`cargo bloat --profile dist\` names, or give crates opt-level \"s\" in Cargo.toml: FAILED"
    return 1
  }
}

missing() {
  if [ "$(id -u)" -ne 0 ]; then
    echo "making a Debian in a folder needs root"
  elif ! have debootstrap && ! apt_install debootstrap >/dev/null; then
    echo "debootstrap is missing: ${why_not:-not installable here}"
  elif [ -z "$(mirror)" ]; then
    echo "apt on this machine knows no Debian"
  elif ! unshare --mount true 2>/dev/null; then
    echo "this process may not mount anything"
  fi
}

# Where apt fetches Debian's main packages from: address and release.
mirror() {
  apt-get indextargets --format '$(REPO_URI) $(CODENAME) $(COMPONENT) $(LABEL)' \
    'Created-By: Packages' 2>/dev/null | awk '$3 == "main" && $4 == "Debian" { print $1, $2; exit }'
}

clean_up() {
  if [ -n "${KEEP:-}" ]; then echo "kept: $debian"; else rm -rf --one-file-system "$debian"; fi
}

bootstrap() {
  local address release
  read -r address release <<<"$(mirror)"
  if ! debootstrap --variant=minbase --include="$packages" "$release" "$debian" "$address" >"$logs/debootstrap.log" 2>&1; then
    tail -n 5 "$logs/debootstrap.log"
    return 1
  fi
  # `stage` sees only the last exit code of a function.
  chroot "$debian" useradd --create-home --home-dir "/$user" "$user" || return 1
  home="$debian/$user"
  echo "fresh-debian: Debian $(cat "$debian/etc/debian_version") with ${packages//,/ }"
}

unpack_tree() {
  mkdir "$home/hocket" && git archive HEAD | tar -x -C "$home/hocket" || return 1
  mkdir -p "$debian"/opt/{rust,registry} "$home/.cargo" || return 1
  # The name of a registry is part of where its crates lie.
  cp "${CARGO_HOME:-$HOME/.cargo}"/config.toml "$home/.cargo/" 2>/dev/null || true
  ln -s /opt/registry "$home/.cargo/registry" || return 1
  chroot "$debian" chown -R "$user:" "/$user"
}

# Runs a command in the folder of the tree, as `root` or as the user. The mounts end with it.
as() { # USER COMMAND...
  local who=$1
  shift
  rust=$(rustc --print sysroot) registry=${CARGO_HOME:-$HOME/.cargo}/registry debian=$debian user=$user \
    unshare --mount --propagation private bash -euc '
      who=$1
      shift
      mount --bind "$rust" "$debian/opt/rust"
      mount -o remount,bind,ro "$debian/opt/rust"
      mount --bind "$registry" "$debian/opt/registry"
      mount -o remount,bind,ro "$debian/opt/registry"
      mount -t proc proc "$debian/proc"
      mount --rbind /sys "$debian/sys"
      mount --rbind /dev "$debian/dev"
      exec chroot --userspec="$who" "$debian" env -i HOME="/$user" LANG=C.UTF-8 CARGO_NET_OFFLINE=true \
        PATH=/usr/local/bin:/usr/bin:/bin:/opt/rust/bin bash -c "cd ~/hocket && $*"
    ' _ "$who" "$@"
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
    stage "readme-$number" as "$who" "$command"
  done
}

# The indented lines of the section, without their remarks.
commands() {
  awk -v section="$section" '/^## / { inside = $0 == section } inside && /^    / { print }' README.md |
    sed -E 's/^ +//; s/ +#.*$//'
}

run_logged fresh-debian
