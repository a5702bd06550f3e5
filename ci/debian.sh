# A fresh Debian in a temporary folder, for scripts that try Hocket as somebody new: sourced after lib.sh, apt.sh and note.sh,
# not run.
#
# It needs root and debootstrap, which is installed where that is possible. KEEP=1 keeps the folder.

# The folder, and the one of the user inside it.
debian= home=
user=listener

# Why there can be none here.
no_debian() {
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

# The folder itself, before `bootstrap`: it goes with the script.
new_folder() {
  debian=$(mktemp -d)
  # The user's way leads through it.
  chmod 755 "$debian"
  trap clean_up EXIT
}

clean_up() {
  drop_notes
  if [ -n "${KEEP:-}" ]; then echo "kept: $debian"; else rm -rf --one-file-system "$debian"; fi
}

# Debian's smallest system with these packages, and an ordinary user.
bootstrap() { # [PACKAGE...]
  local address release include=()
  [ $# -eq 0 ] || include=("--include=$(IFS=, && echo "$*")")
  read -r address release <<<"$(mirror)"
  # What debootstrap mounts in the folder ends with it.
  if ! unshare --mount --propagation private debootstrap --variant=minbase "${include[@]}" "$release" "$debian" "$address" \
    >"$logs/debootstrap.log" 2>&1; then
    tail -n 5 "$logs/debootstrap.log"
    return 1
  fi
  # `stage` sees only the last exit code of a function.
  chroot "$debian" useradd --create-home --home-dir "/$user" "$user" || return 1
  home="$debian/$user"
  note "system: Debian $(cat "$debian/etc/debian_version") made by debootstrap --variant=minbase${*:+, with $*}: $(size_of "$debian")"
}

# Runs a command in a folder of that system, as `root` or as the user. What it mounts ends with it, and so do folders of
# this machine, which are mounted read-only: MOUNTS has a line FROM:TO for each.
inside() { # USER FOLDER COMMAND
  debian=$debian user=$user MOUNTS=${MOUNTS:-} unshare --mount --propagation private bash -euc '
    who=$1 folder=$2
    while IFS= read -r mount; do
      [ -n "$mount" ] || continue
      to=$debian${mount##*:}
      mkdir -p "$to"
      mount --bind "${mount%:*}" "$to"
      mount -o remount,bind,ro "$to"
    done <<<"$MOUNTS"
    mount -t proc proc "$debian/proc"
    mount --rbind /sys "$debian/sys"
    mount --rbind /dev "$debian/dev"
    exec chroot --userspec="$who" "$debian" env -i HOME="/$user" LANG=C.UTF-8 CARGO_NET_OFFLINE=true \
      PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/opt/rust/bin bash -c "cd $folder && $3"
  ' _ "$@"
}
