#!/usr/bin/env bash
# Installs what `make install` has built, or removes it again.
#
#   packaging/install.sh install   FOLDER PREFIX   (FOLDER is put before PREFIX; it may be empty)
#   packaging/install.sh uninstall FOLDER PREFIX
#   packaging/install.sh stage     FOLDER          the program and its symbols, man pages and completions, for a package
#
# The program is the one of the profile `dist`. A list of the installed files is kept with the sessions; removing
# follows that list, so it never removes a file that `install` did not write.
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
  copy README.md CHANGELOG.md LICENSE-MIT LICENSE-APACHE packaging/limits.conf 'packaging/hocket@.service' \
    "$root/share/doc/hocket"
  rm -r "$root/made"
}

files_of() { # ROOT: every file below it, relative
  (cd "$1" && find . -type f -printf '%P\n' | LC_ALL=C sort)
}

# make does not expand it.
prefix=${3:-}
prefix=${prefix/#\~/$HOME}
root=${2:-}$prefix

case "${1:-}" in
  install)
    [ -x "$program" ] || fail "$program is missing: run make install"
    staged=$(mktemp -d)
    trap 'rm -rf "$staged"' EXIT
    install_all "$staged"
    touch "$staged/$list"
    files_of "$staged" >"$staged/installed.tmp"
    sed -i '/^installed.tmp$/d' "$staged/installed.tmp"
    mv "$staged/installed.tmp" "$staged/$list"
    mkdir -p "$root"
    cp -R --remove-destination "$staged/." "$root/"
    echo "install: $(wc -l <"$root/$list") files in $root; remove them with: make uninstall PREFIX=$prefix"
    ;;
  uninstall)
    [ -f "$root/$list" ] || fail "$root/$list is missing: nothing was installed there by make install"
    mapfile -t files <"$root/$list"
    for file in "${files[@]}"; do
      rm -f -- "$root/$file"
    done
    # Folders that are empty now; those that others use stay.
    for file in "${files[@]}"; do
      (cd "$root" && rmdir -p --ignore-fail-on-non-empty -- "$(dirname "$file")" 2>/dev/null) || true
    done
    echo "uninstall: ${#files[@]} files removed from $root"
    ;;
  stage)
    [ -x "$program" ] || fail "$program is missing: run make deb"
    rm -rf "$2"
    mkdir -p "$2"
    "$program" generate "$2"
    program_to "$2/hocket" "$2/hocket.debug"
    ;;
  *)
    echo "usage: packaging/install.sh install|uninstall FOLDER PREFIX, or stage FOLDER" >&2
    exit 2
    ;;
esac
