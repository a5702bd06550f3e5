#!/usr/bin/env bash
# Makes the guest's kernel, or finds the one that was made before, and prints the folder that holds
# it: `bzImage`, its `config`, the `version` of its source and `gen_init_cpio`, which packs RAM disks.
#
#   ci/smt-vm/kernel.sh FOLDER          keeps kernels below FOLDER, one for each kernel.config
#   ci/smt-vm/kernel.sh --kept FOLDER   only looks; exit code 3: there is none yet
#
# The source is Debian's package linux-source-6.1; which of its point releases makes no difference to
# what is checked, so an update alone does not cost a new build. HOCKET_KERNEL_SOURCE is another place
# of such an archive. Exit codes: 1 the kernel does not build, 3 something is missing for it.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
source=${HOCKET_KERNEL_SOURCE:-/usr/src/linux-source-6.1.tar.xz}

main() { # [--kept] FOLDER
  local look=false
  if [ "${1:-}" = --kept ]; then look=true && shift; fi
  kept=${1:?a folder to keep kernels in}/kernel-$(wanted | sha256sum | cut -c 1-12)
  if [ ! -e "$kept/bzImage" ]; then
    if $look; then exit 3; fi
    make_kernel >&2
  fi
  echo "$kept"
}

# The options of kernel.config without its comments.
wanted() {
  grep -E '^(CONFIG_|# CONFIG_.* is not set$)' "$here/kernel.config"
}

make_kernel() {
  need_tools
  mkdir -p "$(dirname "$kept")"
  work=$(mktemp -d "$kept.XXXXXX")
  trap 'rm -rf "$work"' EXIT
  echo "smt-vm: building a kernel, once; on two CPUs this takes 5 to 15 minutes"
  build >"$work/log" 2>&1 || {
    tail -n 20 "$work/log"
    stop 1 "the kernel does not build"
  }
  keep
}

need_tools() {
  local missing=() tool
  for tool in make gcc flex bison bc xz; do
    command -v "$tool" >/dev/null || missing+=("$tool")
  done
  [ -r "$source" ] || missing+=("$source")
  echo '#include <gelf.h>' | gcc -E -xc - >/dev/null 2>&1 || missing+=(libelf-dev)
  [ ${#missing[@]} -eq 0 ] || stop 3 "a kernel cannot be built without ${missing[*]}"
}

# Documentation and other architectures' boards are much of the source and of no use here.
build() {
  tar -C "$work" -xf "$source" --strip-components=1 --exclude='*/Documentation/*/*' \
    --exclude='*/arch/[a-wyz]*/boot/*' --exclude='*/tools/testing/*' &&
    in_tree tinyconfig &&
    (cd "$work" && scripts/kconfig/merge_config.sh -m .config "$here/kernel.config") &&
    in_tree olddefconfig &&
    check_config &&
    in_tree -j"$(nproc)" bzImage
}

# An hour is only there to end a hang.
in_tree() { # MAKE-ARGUMENTS...
  timeout 3600 make -C "$work" ARCH=x86 KBUILD_BUILD_TIMESTAMP=@0 "$@"
}

# An option that another one rules out vanishes without a word.
check_config() {
  local lost
  lost=$(wanted | grep -vxFf "$work/.config" || true)
  [ -z "$lost" ] || { echo "the configuration lacks: ${lost//$'\n'/, }" && return 1; }
}

# The folder appears under its name only when it is complete.
keep() {
  local done="$work/done"
  mkdir "$done"
  cp "$work/arch/x86/boot/bzImage" "$work/usr/gen_init_cpio" "$done/"
  cp "$work/.config" "$done/config"
  make -s -C "$work" kernelversion >"$done/version"
  # Another run may have been faster; its kernel is as good.
  mv -T "$done" "$kept" 2>/dev/null || [ -e "$kept/bzImage" ]
}

stop() { # EXIT-CODE WHY
  echo "smt-vm: $2" >&2
  exit "$1"
}

main "$@"
