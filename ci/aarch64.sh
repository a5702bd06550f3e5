#!/usr/bin/env bash
# The tests of what computes and meets, built for AArch64 and run in QEMU's user mode: the bits of all effects, plans, time,
# waits and whole blocks.
#
# The emulator orders memory as the host does, so this says nothing about the orderings of atomics, for which there are the
# models (make loom), and nothing about times. Tests that start other programs or ask the kernel for rights cannot run in it;
# hocket-machine's are left out for that reason.
#
#   ci/aarch64.sh         all of it: the build takes ten minutes of a CPU, the tests fifteen
#   ci/aarch64.sh brief   the bits of effects alone and abreast, which have to be those of x86-64, and whether the engine
#                         compiles: a few minutes
#
# Needs the target (rustup target add aarch64-unknown-linux-gnu) and Debian's qemu-user, gcc-aarch64-linux-gnu and
# libc6-dev-arm64-cross, which the compiler's package only recommends. Without them it is skipped.
. "$(dirname "$0")/lib.sh"

target=aarch64-unknown-linux-gnu

# The compiler prints the path of a file that it finds, and else the bare name.
has_libc() { [ -e "$(aarch64-linux-gnu-gcc -print-file-name=Scrt1.o)" ]; }

missing() {
  if [ "$(uname -m)" != x86_64 ]; then
    echo "set up for x86-64 hosts only"
  elif ! command -v qemu-aarch64 >/dev/null || ! command -v aarch64-linux-gnu-gcc >/dev/null; then
    echo "no emulator or no linker (Debian: qemu-user gcc-aarch64-linux-gnu)"
  elif ! has_libc; then
    echo "no C library to link with (Debian: libc6-dev-arm64-cross)"
  elif [ ! -d "$(rustc --print sysroot)/lib/rustlib/$target" ]; then
    echo "no standard library (rustup target add $target)"
  fi
}

why=$(missing)
if [ -n "$why" ]; then
  skip aarch64 "$why"
  exit 0
fi
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER="qemu-aarch64 -L /usr/aarch64-linux-gnu"
if [ "${1:-}" = brief ]; then
  cargo test --locked --target "$target" -p hocket-dsp --lib --test abreast
  cargo check --locked --target "$target" -p hocket-engine
  exit 0
fi
cargo test --locked --target "$target" -p hocket-dsp -p hocket-plan -p hocket-rt -p hocket-time --tests --no-fail-fast
cargo test --locked --target "$target" -p hocket-engine --lib --no-fail-fast
cargo test --locked --target "$target" -p hocket-engine --test graphs abreast
