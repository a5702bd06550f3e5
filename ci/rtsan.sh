#!/usr/bin/env bash
# The block path under RealtimeSanitizer: any allocation, lock or system call inside of it ends the
# test with the stack that made it. The engine's own waits and wakes are exempt, at the places that
# are marked as edges; what happens there is the sentry's affair (stage `sentry` of ci/test.sh).
#
# The runtime library comes with the Rust toolchain, stable included, so nothing is downloaded;
# a toolchain without it skips the job. RTSAN_LIB_PATH is read by the build script of
# rtsan-standalone-sys, RTSAN_ENABLE switches its calls on.
. "$(dirname "$0")/lib.sh"

runtime_library() {
  local libs
  libs="$(rustc --print sysroot)/lib/rustlib/$(rustc -vV | sed -n 's/^host: //p')/lib"
  compgen -G "$libs/librustc*_rt.rtsan.a" | head -n 1
}

library=$(runtime_library || true)
if [ -z "$library" ]; then
  skip rtsan "$(rustc --version) comes without RealtimeSanitizer's runtime library"
  exit 0
fi
# The whole workspace is named so that all but the engine is the build that other tests use.
RTSAN_ENABLE=1 RTSAN_LIB_PATH="$library" cargo test --locked --workspace \
  --features hocket/rtsan,hocket-engine/rtsan --test realtime -- --show-output
