#!/usr/bin/env bash
# Installs what `make install` has built, or removes it again.
#
#   packaging/install.sh install   FOLDER PREFIX   (FOLDER is put before PREFIX; it may be empty)
#   packaging/install.sh uninstall FOLDER PREFIX
#   packaging/install.sh stage     FOLDER          the program and its symbols, man pages, completions and Debian's changelog,
#                                                  for a package
#   packaging/install.sh maintainer                who maintains that package, as its fields say it
#
# The program is the one of the profile `dist`. A list of the installed files and their checksums is kept with the
# sessions. By this list, files of others and files that were edited stay as they are:
#
# - An example (a session, its audio, a text) that was edited is kept. If the new version of it is another one than the
#   version that was edited, the new one is put beside it as NAME.new.
# - Any other file that `install` did not write is no example to keep: nothing is installed then.
# - `uninstall` removes what is still as it was installed, and names what it leaves.
#
# As for Debian's own tools, DEBFULLNAME and DEBEMAIL name the maintainer of the package, and SOURCE_DATE_EPOCH its date.
#
# Exit code: 0 done, 2 bad usage, 3 not possible here.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

program=${CARGO_TARGET_DIR:-target}/dist/hocket
list=share/hocket/installed.txt

fail() {
  printf 'install: %s\n' "$1" >&2
  exit 3
}

# Splits the symbols off, where there is objcopy; debuggers and profilers look for them in `.debug` beside a program.
program_to() { # FILE SYMBOLS
  mkdir -p "$(dirname "$1")"
  if command -v objcopy >/dev/null; then
    mkdir -p "$(dirname "$2")"
    objcopy --only-keep-debug --compress-debug-sections "$program" "$2"
    objcopy --strip-all --add-gnu-debuglink="$2" "$program" "$1"
    chmod 644 "$2"
  else
    cp "$program" "$1"
  fi
  chmod 755 "$1"
}

copy() { # FILE... FOLDER
  local folder=${!#}
  mkdir -p "$folder"
  install -m644 "${@:1:$#-1}" "$folder"
}

install_all() { # ROOT
  local root=$1
  "$program" generate "$root/made"
  program_to "$root/bin/hocket" "$root/bin/.debug/hocket.debug"
  copy "$root"/made/man/*.1 "$root/share/man/man1"
  copy "$root/made/bash/hocket" "$root/share/bash-completion/completions"
  copy "$root/made/zsh/_hocket" "$root/share/zsh/site-functions"
  copy "$root/made/fish/hocket.fish" "$root/share/fish/vendor_completions.d"
  copy sessions/*.toml sessions/*.dawproject "$root/share/hocket/sessions"
  copy sessions/plugins/*.toml "$root/share/hocket/sessions/plugins"
  copy sessions/audio/* "$root/share/hocket/sessions/audio"
  copy sessions/midi/* "$root/share/hocket/sessions/midi"
  copy sessions/impulses/* "$root/share/hocket/sessions/impulses"
  copy sessions/soundfonts/* "$root/share/hocket/sessions/soundfonts"
  copy README.md CHANGELOG.md LICENSE-MIT LICENSE-APACHE packaging/limits.conf 'packaging/hocket@.service' \
    "$root/share/doc/hocket"
  copy 'packaging/user/hocket@.service' "$root/share/doc/hocket/user"
  rm -r "$root/made"
}

files_of() { # ROOT: every file below it, relative
  (cd "$1" && find . -type f -printf '%P\n' | LC_ALL=C sort)
}

# What earlier installs wrote: file -> checksums, separated by spaces. An install that was interrupted has left a list
# with those before and after it.
declare -A written=()

read_list() {
  local line
  [ -f "$root/$list" ] || return 0
  while IFS= read -r line; do
    if [[ $line =~ ^([0-9a-f]{64})\ \ (.+)$ ]]; then
      written[${BASH_REMATCH[2]}]+=" ${BASH_REMATCH[1]}"
    elif [ -n "$line" ]; then
      read_name "$line"
    fi
  done <"$root/$list"
  unset "written[$list]"
}

# The first versions of this script kept names alone, so nobody knows whether such an example was edited.
read_name() { # FILE
  written[$1]+=
  is_example "$1" || ! is_file "$root/$1" || written[$1]+=" $(sum_of "$root/$1")"
}

# The list that `read_list` reads in the same way.
print_list() {
  local file sum
  for file in "${!written[@]}"; do
    [ -n "${written[$file]}" ] || printf '%s\n' "$file"
    for sum in ${written[$file]}; do
      printf '%s  %s\n' "$sum" "$file"
    done
  done
}

# The lines of the list for these files.
sums_of() { # ROOT FILE...
  (cd "$1" && shift && sha256sum -- "$@")
}

sum_of() { # FILE
  sha256sum <"$1" | cut -d' ' -f1
}

# Whether people edit such files where they are installed.
is_example() { # FILE
  [[ $1 == share/hocket/sessions/* || $1 == share/doc/hocket/* ]]
}

is_file() { # FILE: a link may lead to a file of somebody
  [ -f "$1" ] && [ ! -L "$1" ]
}

is_free() { # FILE
  [ ! -e "$1" ] && [ ! -L "$1" ]
}

# Whether a file is still as it was installed.
is_ours() { # FILE
  is_file "$root/$1" && [[ "${written[$1]-} " == *" $(sum_of "$root/$1") "* ]]
}

may_replace() { # FILE
  is_free "$root/$1" || is_ours "$1" || { is_file "$root/$1" && cmp -s "$root/$1" "$staged/$1"; }
}

# Nothing is changed before this has passed.
refuse_what_others_wrote() {
  local file
  for file in "${files[@]}"; do
    is_example "$file" || may_replace "$file" ||
      fail "$root/$file: this is not as \`make install\` wrote it, and nothing was changed; move it away, or choose another PREFIX"
  done
}

# Under another name first, so that a file is whole or not there.
put() { # FROM TO
  local part
  mkdir -p "$(dirname "$2")" && part=$(mktemp "$(dirname "$2")/.install-XXXXXX") ||
    fail "$2: you may not write there; run it as root, or choose another PREFIX"
  cp -- "$1" "$part" && chmod --reference="$1" "$part" && mv -fT -- "$part" "$2" || {
    rm -f -- "$part"
    fail "$2: it is not written; see the line above, and run it again"
  }
}

install_one() { # FILE
  if may_replace "$1"; then
    put "$staged/$1" "$root/$1"
  elif [[ "${written[$1]-} " != *" $(sum_of "$staged/$1") "* ]]; then
    offer "$1"
  elif is_ours "$1.new"; then
    # It is from an earlier install, and still the newest.
    offered+=("$1.new")
  fi
}

# The new version of an example that was edited, beside it.
offer() { # FILE
  if is_free "$root/$1.new" || is_ours "$1.new"; then
    put "$staged/$1" "$root/$1.new"
    offered+=("$1.new")
    echo "install: $root/$1 $(verb "$1") edited and is kept; the new one is $1.new"
  else
    echo "install: $root/$1 and $1.new were edited and are kept; the new one is not installed"
  fi
}

# Files of an earlier version that this one no longer has.
remove_obsolete() {
  local file
  for file in "${!written[@]}"; do
    grep -qxF -- "$file" <(printf '%s\n' "${files[@]}" "${offered[@]}") || remove "$file"
  done
}

# Removes a file that is as it was installed, and the folders that are empty now.
remove() { # FILE
  if is_ours "$1"; then
    rm -f -- "$root/$1"
    removed=$((removed + 1))
    remove_empty_folders "$1"
  elif ! is_free "$root/$1"; then
    echo "$what: $root/$1 $(verb "$1") edited and is kept"
  fi
}

verb() { # FILE
  [ -n "${written[$1]-}" ] && echo "was" || echo "may have been"
}

remove_empty_folders() { # FILE
  (cd "$root" && rmdir -p --ignore-fail-on-non-empty -- "$(dirname "$1")" 2>/dev/null) || true
}

# A folder is staged anew only if nothing but an earlier stage is in it.
refuse_other_stage() { # FOLDER
  local other
  other=$(find "$1" -mindepth 1 -maxdepth 1 -printf '%P\n' 2>/dev/null |
    grep -vxE 'hocket|hocket\.debug|changelog|man|bash|zsh|fish' | head -n 1) || true
  [ -z "$other" ] || fail "$1/$other: it is not from an earlier stage, and nothing was changed; name another folder"
}

# Debian's tools take the address of the user on this machine, too, where none is named.
maintainer() {
  local address=${DEBEMAIL:-${EMAIL:-$(id -un)@$(hostname -f 2>/dev/null || hostname)}}
  printf '%s <%s>\n' "${DEBFULLNAME:-The Hocket authors}" "$address"
}

# Debian's own changelog tells what changed in the package itself. UNRELEASED: it is uploaded to no archive.
print_changelog() {
  local version
  version=$("$program" --version) || fail "$program: it does not say its version: run make deb"
  printf 'hocket (%s-1) UNRELEASED; urgency=medium\n\n' "${version#hocket }"
  printf '  * New version; its changes are in /usr/share/doc/hocket/changelog.gz.\n\n'
  printf ' -- %s  %s\n' "$(maintainer)" "$(LC_ALL=C date -u -R -d "@${SOURCE_DATE_EPOCH:-$(date +%s)}")"
}

# Keeps what it reads as the list.
save_list() {
  cat >"$staged/list"
  put "$staged/list" "$root/$list"
}

what=${1:-}
# make does not expand it.
prefix=${3:-}
prefix=${prefix/#\~/$HOME}
root=${2:-}$prefix
removed=0
offered=()

case "$what" in
  install)
    [ -x "$program" ] || fail "$program is missing: run make install"
    mkdir -p "$root" 2>/dev/null && [ -w "$root" ] ||
      fail "$root: you may not write there; run it as root, or choose another PREFIX"
    staged=$(mktemp -d)
    trap 'rm -rf "$staged"' EXIT
    install_all "$staged"
    mapfile -t files < <(files_of "$staged")
    read_list
    refuse_what_others_wrote
    # Whatever interrupts the rest, the list knows each file in its old and its new form.
    { print_list && sums_of "$staged" "${files[@]}"; } | save_list
    for file in "${files[@]}"; do
      install_one "$file"
    done
    remove_obsolete
    { sums_of "$staged" "${files[@]}" && [ ${#offered[@]} -eq 0 ] || sums_of "$root" "${offered[@]}"; } | save_list
    echo "install: ${#files[@]} files in $root; remove them with: make uninstall PREFIX=$prefix"
    ;;
  uninstall)
    [ -f "$root/$list" ] || fail "$root/$list is missing: nothing was installed there by make install"
    read_list
    for file in "${!written[@]}"; do
      remove "$file"
    done
    rm -f -- "$root/$list"
    remove_empty_folders "$list"
    echo "uninstall: $removed files removed from $root"
    ;;
  stage)
    [ -x "$program" ] || fail "$program is missing: run make deb"
    refuse_other_stage "$2"
    rm -rf "$2"
    mkdir -p "$2"
    "$program" generate "$2"
    program_to "$2/hocket" "$2/hocket.debug"
    print_changelog >"$2/changelog"
    ;;
  maintainer)
    maintainer
    ;;
  *)
    echo "usage: packaging/install.sh install|uninstall FOLDER PREFIX, or stage FOLDER, or maintainer" >&2
    exit 2
    ;;
esac
