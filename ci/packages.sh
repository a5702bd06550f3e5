#!/usr/bin/env bash
# Builds the Debian package and the site, and tries both.
#
#   ci/packages.sh [FILE]   FILE gets the record; target/packages.txt if not said
#
# package   `make deb`. lintian looks at it where that is installed. A fresh Debian gets it by apt, as docs/install.md says,
#           and an ordinary user there copies, checks and renders the examples, and gets the right to real-time priority as
#           docs/live.md says. Then it is purged: no file may be left.
# site      `make site`. Each page of docs/SUMMARY.md has to be there.
#
# What lacks its tool is named as skipped, in the record too: cargo-deb, mdbook, and for the fresh Debian root and debootstrap.
# Without cargo-deb and mdbook there is nothing to tell, so an earlier record stays.
. "$(dirname "$0")/lib.sh"
. ci/apt.sh
. ci/note.sh
. ci/debian.sh

file=${1:-${CARGO_TARGET_DIR:-target}/packages.txt}
target=${CARGO_TARGET_DIR:-target}
examples=/usr/share/hocket/sessions

main() {
  local no_deb= no_site=
  have cargo-deb || no_deb="cargo-deb is missing: cargo install cargo-deb"
  have mdbook || no_site="mdbook is missing: cargo install mdbook"
  if [ -n "$no_deb" ] && [ -n "$no_site" ]; then
    skip packages-deb "$no_deb"
    skip packages-site "$no_site"
    return
  fi
  begin_record "package and site" "$file"
  if [ -z "$no_deb" ]; then package; else note_skip packages-deb "$no_deb"; fi
  if [ -z "$no_site" ]; then site; else note_skip packages-site "$no_site"; fi
  end_record
}

package() {
  local why
  rm -f "$target"/debian/hocket_*.deb
  # Nobody maintains a package that is thrown away.
  export DEBEMAIL=${DEBEMAIL:-nobody@example.org}
  noted deb "make deb, with $(cargo deb --version | head -n 1)" make deb
  deb=$(compgen -G "$target/debian/hocket_*.deb")
  stage contents contents
  stage lintian lint
  why=$(no_debian)
  if [ -n "$why" ]; then
    note_skip packages-debian "$why"
    return
  fi
  new_folder
  stage debootstrap bootstrap
  stage before all_files "$logs/before.txt"
  noted install "root: apt install ./$(basename "$deb")" install_package
  noted version "$user: hocket --version" inside "$user" "~" "hocket --version"
  noted check "$user: hocket check $examples/band.toml" inside "$user" "~" "hocket check $examples/band.toml"
  noted render "$user: hocket render $examples/band.toml -o band.wav" \
    inside "$user" "~" "hocket render $examples/band.toml -o band.wav"
  note "band.wav: $(size_of "$home/band.wav")"
  noted copy "$user: cp -r $examples ." inside "$user" "~" "cp -r $examples . && hocket check sessions/band.toml"
  stage right right_of_members
  noted purge "root: apt purge hocket" inside root / "DEBIAN_FRONTEND=noninteractive apt-get -qy purge hocket"
  stage after nothing_left
}

# What is in it: sizes, what it depends on, and how many files of which kind.
contents() {
  local list=$logs/deb.txt kind
  dpkg-deb --contents "$deb" | awk '$1 !~ /^d/ { print $6 }' >"$list" || return 1
  note "$(basename "$deb"): $(size_of "$deb"), installed $(dpkg-deb -f "$deb" Installed-Size) KiB, $(wc -l <"$list") files"
  note "depends on: $(dpkg-deb -f "$deb" Depends)"
  note "the program: $(stat -c %s "$target/package/hocket") bytes, its symbols: $(size_of "$target/package/hocket.debug")"
  for kind in usr/bin/ usr/share/man/man1/ usr/share/bash-completion/ usr/share/zsh/ usr/share/fish/ \
    usr/share/hocket/sessions/ etc/security/limits.d/ usr/share/doc/hocket/; do
    note "  $kind: $(grep -c "^./$kind" "$list")"
    grep -q "^./$kind" "$list" || return 1
  done
}

# What lintian finds is printed, and does not fail the run: its versions differ, and some of its demands are those of Debian's own archive.
lint() {
  if ! have lintian; then
    note_skip packages-lintian "lintian is not installed"
    return
  fi
  local found=$logs/lintian.txt
  lintian --no-tag-display-limit --allow-root "$deb" >"$found" 2>&1 || true
  note "lintian $(lintian --version | grep -oE '[0-9.]+' | head -n 1): $(grep -c '^E:' "$found" || true) errors, $(grep -c '^W:' "$found" || true) warnings"
  grep -E '^[EW]:' "$found" | sort | uniq -c | sort -rn | while read -r count tag; do note "  $tag ($count)"; done || true
}

# What a system has: every path but those that apt and dpkg keep for themselves.
all_files() { # FILE
  (cd "$debian" && find . -xdev \( -path ./proc -o -path ./sys -o -path ./dev -o -path "./$user" -o -path ./var/log \
    -o -path ./var/cache -o -path ./var/lib/apt -o -path ./var/lib/dpkg -o -path ./tmp \) -prune -o -print | LC_ALL=C sort) >"$1"
}

# No network: what it depends on is in every Debian.
install_package() {
  cp "$deb" "$debian/tmp/" &&
    inside root /tmp "DEBIAN_FRONTEND=noninteractive apt-get -qy --no-install-recommends install ./$(basename "$deb")"
}

# The right to real-time priority: a member of the group `audio` has it after the next login, and nobody before.
right_of_members() {
  local before after wanted="95 unlimited"
  if ! (ulimit -r 95) 2>/dev/null; then
    note_skip packages-right "this process may not raise limits (CAP_SYS_RESOURCE), so no login here can have more"
    return
  fi
  before=$(limits_of_login) || return 1
  if [ "$before" = "$wanted" ]; then
    note_skip packages-right "a login on this machine has $wanted without the group audio"
    return
  fi
  inside root / "usermod -aG audio $user" || return 1
  after=$(limits_of_login) || return 1
  note "limits of a login of $user, real-time priority and locked memory: $before; in the group audio: $after"
  [ "$after" = "$wanted" ] || {
    echo "packages: the limits of a member are not $wanted: FAILED"
    return 1
  }
}

# PAM reads limits.d for a login.
limits_of_login() {
  inside root / "su - $user -c 'echo \$(ulimit -r) \$(ulimit -l)'"
}

nothing_left() {
  all_files "$logs/after.txt" || return 1
  diff "$logs/before.txt" "$logs/after.txt" || {
    echo "packages: these files are left after a purge: FAILED"
    return 1
  }
  note "left after the purge: no file"
}

site() {
  local html=$target/site/html page pages=0
  rm -rf "$html"
  noted site "make site, with $(mdbook --version)" make site
  for page in $(sed -nE 's/.*\]\(([^)#]+)\.md\).*/\1/p' docs/SUMMARY.md); do
    page=$(realpath -m --relative-to=. "docs/$page.html")
    test -s "$html/$page" || test -s "$html/${page#docs/}" || {
      echo "packages: the site has no $page: FAILED"
      return 1
    }
    pages=$((pages + 1))
  done
  note "the site: $pages pages of docs/SUMMARY.md, $(find "$html" -type f | wc -l) files, $(size_of "$html")"
}

run_logged packages
