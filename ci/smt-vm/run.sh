#!/usr/bin/env bash
# Boots a small machine with three cores of two hardware threads each and a kernel that knows core
# scheduling, and checks there what the sibling policies do. README.md beside this file tells more.
#
#   ci/smt-vm/run.sh [POLICY...]   everything, or these policies alone
#
# It is skipped only where its tools do not exist and cannot be installed. A machine that runs out of time is
# booted once more; after that the check has failed, because nothing was proven.
#
# Exit code 0: everything is as promised, or the check was skipped; 1: it is not.
# HOCKET_CACHE keeps the kernel (default: the user's cache folder); HOCKET_KERNEL_SOURCE is another
# place of the kernel's source; HOCKET_SMT_VM_SECONDS bounds the time of one boot (default: 900).
. "$(dirname "$0")/../lib.sh"
. ci/apt.sh

here=ci/smt-vm
cache=${HOCKET_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/hocket}/smt-vm
bound=${HOCKET_SMT_VM_SECONDS:-900}
console="$logs/smt-vm-console.log"

# The check needs an emulator, and for the first time what a kernel is built with.
emulator=qemu-system-x86_64
builders=(linux-source-6.1 make gcc flex bison bc libelf-dev xz-utils)

smt_vm() {
  if [ "$(uname -sm)" != "Linux x86_64" ]; then
    skip smt-vm "it needs Linux on x86-64" && return
  fi
  want_emulator || { skip smt-vm "$emulator: $why_not" && return; }
  local kernel rc=0
  kernel=$(make_kernel) || rc=$?
  if [ "$rc" -eq 3 ]; then skip smt-vm "the lines above say what a kernel is missing" && return; fi
  [ "$rc" -eq 0 ] || return "$rc"
  echo "smt-vm: Linux $(cat "$kernel/version") with core scheduling"
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  programs
  pack "$kernel"
  boot "$kernel"
  if out_of_time; then
    echo "smt-vm: out of time: $(starved), load $(cut -d' ' -f1-3 /proc/loadavg); once more"
    boot "$kernel"
    if out_of_time; then
      echo "smt-vm: FAILED: out of time twice: $(starved); nothing is proven. A host that is busy elsewhere leaves" \
        "the emulated machine no CPU: run make test-smt when it is free, or set HOCKET_SMT_VM_SECONDS above $bound"
    fi
  fi
  judge
}

# No end of the machine, or of one check in it. A wrong figure is a failure at once.
out_of_time() {
  ! grep -q '^smt-vm: the check ended with exit status: ' "$console" ||
    grep -q '^smt-vm: FAILED .*: no end after ' "$console"
}

starved() {
  grep -m 1 -o 'FAILED .*: no end after .* s' "$console" || echo "no end after $bound s"
}

want_emulator() {
  have "$emulator" || { apt_install qemu-system-x86 && have "$emulator"; }
}

# The tools for a kernel are large, so they are fetched only where none was kept.
make_kernel() {
  if ! "$here/kernel.sh" --kept "$cache"; then
    apt_install "${builders[@]}" >&2 || echo "smt-vm: $why_not; trying with what is there" >&2
    "$here/kernel.sh" "$cache"
  fi
}

# --- the machine --------------------------------------------------------------

# Tests of hocket-machine that elsewhere mostly lack what they need.
suites=(cookies partition smt)

# The probe, which is the first process, and the tests it runs. As for the whole workspace, so that
# nothing is compiled with other features than before.
programs() {
  local suite
  mkdir "$work/suites"
  cargo build --locked --workspace --example smt_probe
  strip --strip-debug -o "$work/init" "${CARGO_TARGET_DIR:-target}/debug/examples/smt_probe"
  cargo test --locked --workspace --no-run "${suites[@]/#/--test=}" \
    --message-format=json-render-diagnostics >"$work/built"
  for suite in "${suites[@]}"; do
    strip --strip-debug -o "$work/suites/$suite" "$(built_from "hocket-machine/tests/$suite.rs")"
  done
}

# Other crates have tests of the same name.
built_from() { # SOURCE
  sed -nE "s,.*\"src_path\":\"[^\"]*/$1\".*\"executable\":\"([^\"]+)\".*,\1,p" "$work/built"
}

# They bring the libraries they are linked with, and nothing else is there.
pack() { # KERNEL-FOLDER
  contents >"$work/contents"
  "$1/gen_init_cpio" "$work/contents" | gzip -1 >"$work/initrd"
}

contents() {
  local library folder program
  printf 'dir /%s 755 0 0\n' dev proc run suites sys tmp
  echo "nod /dev/console 600 0 0 c 5 1"
  echo "nod /dev/null 666 0 0 c 1 3"
  echo "file /init $work/init 755 0 0"
  for program in "${suites[@]}"; do
    echo "file /suites/$program $work/suites/$program 755 0 0"
  done
  for library in $(ldd "$work/init" "$work/suites"/* | grep -oE '/lib[^ ]+' | sort -u); do
    for folder in $(folders_of "$library"); do echo "dir $folder 755 0 0"; done
    echo "file $library $library 755 0 0"
  done
}

folders_of() { # PATH
  local path=
  for part in $(dirname "$1" | tr / ' '); do
    path+=/$part
    echo "$path"
  done
}

# QEMU's own model is AMD's, and tells siblings of that maker only with an extension it lacks.
# Without `monitor` a CPU that is off line halts; `mwait` the emulator would run as a loop.
processor=max,vendor=GenuineIntel,family=6,model=94,stepping=3,monitor=off

# The time stamp counter is the only clock that costs no way out of the emulated CPU. The kernel
# numbers cookies by a hash that needs its random numbers to be ready; a real machine has them by then.
# On a busy host ticks come too late for the kernel's test of its timer, which ends the boot.
options="console=ttyS0 quiet panic=-1 mitigations=off tsc=reliable no_timer_check random.trust_cpu=on rdinit=/init $*"

# Emulated, so it needs no rights and no support by the host. Each virtual CPU is a thread of the host.
boot() { # KERNEL-FOLDER
  timeout --foreground "$bound" "$emulator" -nodefaults -display none -no-reboot \
    -machine pc -accel tcg,thread=multi -cpu "$processor" \
    -smp 6,sockets=1,cores=3,threads=2 -m 512 \
    -kernel "$1/bzImage" -initrd "$work/initrd" -serial stdio \
    -append "$options" |
    sed -u 's/\r//g' | tee "$console" | grep --line-buffered '^smt-vm:' || true
}

# A machine that stops half-way has no last line, and so has not passed.
judge() {
  if grep -q '^smt-vm: the check ended with exit status: 0$' "$console"; then return; fi
  echo "smt-vm: FAILED; the machine's last lines ($console):"
  tail -n 30 "$console"
  return 1
}

smt_vm
