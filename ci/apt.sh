# Packages of the system, for scripts that can do with and without: sourced after lib.sh, not run.
#
# Nothing here asks a question or waits for a password; where installing is not possible, `why_not` says why.

have() { command -v "$1" >/dev/null 2>&1; }

why_not=

# Installs packages together, or one by one where some cannot be had. Fails unless all are there.
apt_install() { # PACKAGE...
  local log="$logs/apt.log" package rc=0
  may_install || return 1
  : >"$log"
  echo "setup: apt-get install $*"
  apt install "$@" >>"$log" 2>&1 && return
  apt update >>"$log" 2>&1 || true
  apt install "$@" >>"$log" 2>&1 && return
  for package in "$@"; do
    apt install "$package" >>"$log" 2>&1 || rc=1
  done
  why_not="apt-get could not install it (see $log)"
  return "$rc"
}

may_install() {
  have apt-get || { why_not="not a Debian system" && return 1; }
  [ "$(id -u)" -eq 0 ] || { have sudo && sudo -n true 2>/dev/null; } || {
    why_not="installing needs root"
    return 1
  }
}

apt() { # install|update [PACKAGE...]
  local action=$1 root=()
  shift
  [ "$(id -u)" -eq 0 ] || root=(sudo -n)
  [ "$action" = update ] || set -- -y --no-install-recommends "$@"
  timeout 300 "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q "$action" \
    -o DPkg::Lock::Timeout=120 -o Acquire::Retries=2 -o Acquire::http::Timeout=20 "$@"
}
