#!/usr/bin/env bash
# Makes sure that what a build, the demo or the tests need is there.
#
#   ci/setup.sh demo   Rust and a linker (needed); libhwloc15 (of use)
#   ci/setup.sh test   besides: rustfmt and clippy, a browser and a font for the report's test,
#                      a message bus and RealtimeKit for the tests of rights, a sound server,
#                      networks of this machine's own, systemd,
#                      LV2 and CLAP plug-ins, oneTBB, sox and ecasound for the comparison,
#                      a compiler and an emulator for AArch64
#
# What is needed and cannot be had ends the script with a remedy and exit code 3. What is only of
# use is fetched through apt-get where that is possible without a question, and else named in one
# line together with what goes without it.
. "$(dirname "$0")/lib.sh"
. ci/apt.sh

level=${1:-demo}

stop() { # WHAT REMEDY
  printf 'setup: %s is missing: %s\n' "$1" "$2" >&2
  exit 3
}

# --- needed -----------------------------------------------------------------

need_rust() {
  local wanted found
  wanted=$(sed -nE 's/^rust-version = "(.*)"/\1/p' Cargo.toml)
  have cargo || stop "Rust" "install Rust $wanted or newer (https://rustup.rs) and try again"
  found=$(rustc --version | sed -E 's/^rustc ([0-9]+\.[0-9]+).*/\1/')
  [ "$(printf '%s\n' "$wanted" "$found" | sort -V | head -n 1)" = "$wanted" ] ||
    stop "Rust $wanted" "this is Rust $found; run \`rustup update stable\` and try again"
}

# rustc calls `cc` to link; the C library's start files come with its development package.
need_linker() {
  have cc && return
  apt_install gcc libc6-dev && have cc && return
  stop "a linker (cc)" "as root: apt-get install gcc libc6-dev"
}

# --- of use -----------------------------------------------------------------

has_hwloc() {
  compgen -G '/usr/lib/*/libhwloc.so.15' >/dev/null || compgen -G '/usr/lib*/libhwloc.so.15' >/dev/null
}
has_browser() { have chromium || have chromium-browser || have google-chrome; }
has_bus() { have dbus-daemon && have dbus-send; }
has_rtkit() { [ -x /usr/libexec/rtkit-daemon ] || [ -x /usr/lib/rtkit/rtkit-daemon ]; }
has_jackd() { have jackd && { compgen -G '/usr/lib/*/libjack.so.0' >/dev/null || compgen -G '/usr/lib*/libjack.so.0' >/dev/null; }; }
has_pipewire() { have pipewire && have pw-cli; }
has_pw_jack() { have pw-jack; }
has_pkg_config() { have pkg-config; }
has_jack_headers() { have pkg-config && pkg-config --exists jack; }
has_asound() { compgen -G '/usr/lib/*/libasound.so.2' >/dev/null || compgen -G '/usr/lib*/libasound.so.2' >/dev/null; }
has_asound_headers() { [ -e /usr/include/alsa/asoundlib.h ]; }
has_setsid() { have setsid; }
has_ip() { have ip; }
has_systemd() { have systemd-analyze && [ -x /lib/systemd/systemd ]; }
has_lilv() { compgen -G '/usr/lib/*/liblilv-0.so.0' >/dev/null || compgen -G '/usr/lib*/liblilv-0.so.0' >/dev/null; }
has_mda() { [ -d /usr/lib/lv2/mda.lv2 ]; }
has_swh() { [ -d /usr/lib/lv2/amp-swh.lv2 ]; }
has_lv2_examples() { [ -d /usr/lib/lv2/eg-amp.lv2 ]; }
has_zam() { [ -e /usr/lib/clap/ZamComp.clap ]; }
has_tbb() { [ -e /usr/include/tbb/flow_graph.h ]; }
has_sox() { have sox; }
has_ecasound() { have ecasound; }
has_ladspa_bands() { [ -e /usr/lib/ladspa/single_para_1203.so ]; }
has_qemu_aarch64() { have qemu-aarch64; }
has_gcc_aarch64() { have aarch64-linux-gnu-gcc; }
has_libc_aarch64() { [ -e /usr/aarch64-linux-gnu/lib/Scrt1.o ]; }
has_font() { compgen -G '/usr/share/fonts/*/*' >/dev/null; }

# PACKAGE, how to see that it is there, what goes without it.
want() { # PACKAGE TEST WITHOUT
  "$2" || wanted+=("$1|$2|$3")
}

install_wanted() {
  [ ${#wanted[@]} -gt 0 ] || return 0
  apt_install "${wanted[@]%%|*}" || true
  local entry package seen without
  for entry in "${wanted[@]}"; do
    IFS='|' read -r package seen without <<<"$entry"
    "$seen" || skip "setup $package" "${why_not:-not installable here}; without it, $without"
  done
}

# --- Rust's own tools -------------------------------------------------------

want_component() { # COMPONENT COMMAND WITHOUT
  cargo "$2" --version >/dev/null 2>&1 && return
  have rustup && rustup -q component add "$1" >/dev/null 2>&1 && return
  skip "setup $1" "not part of this toolchain; without it, $3"
}

# ThreadSanitizer needs a standard library that is built with it.
want_std_source() {
  have rustup && rustc +nightly --version >/dev/null 2>&1 || return 0
  rustup -q component add rust-src --toolchain nightly >/dev/null 2>&1 && return
  skip "setup rust-src" "the source of nightly's std is not to be had; without it, nothing runs under ThreadSanitizer"
}

want_aarch64() {
  local target=aarch64-unknown-linux-gnu
  [ "$(uname -m)" = x86_64 ] || return 0
  [ -d "$(rustc --print sysroot)/lib/rustlib/$target" ] && return
  have rustup && rustup -q target add "$target" >/dev/null 2>&1 && return
  skip "setup $target" "its standard library is not to be had; without it, nothing is built and run for AArch64"
}

# Google's own classes for Perfetto traces, in a folder of their own.
want_perfetto() {
  local folder=${CARGO_TARGET_DIR:-target}/perfetto-python
  local import='import perfetto.protos.perfetto.trace.perfetto_trace_pb2'
  "$folder/bin/python" -c "$import" 2>/dev/null && return
  have python3 && python3 -m venv "$folder" >/dev/null 2>&1 &&
    "$folder/bin/python" -m pip install -q perfetto protobuf >/dev/null 2>&1 &&
    "$folder/bin/python" -c "$import" 2>/dev/null && return
  rm -rf "$folder"
  skip "setup perfetto" "Python's package is not to be had; without it, traces are not read with Perfetto's own classes"
}

wanted=()
need_rust
need_linker
want libhwloc15 has_hwloc "topology is read from the kernel's own files only"
case "$level" in
  demo) ;;
  test)
    want chromium has_browser "the tests do not open the report in a browser"
    want fonts-dejavu-core has_font "a browser may draw the report without letters"
    want dbus has_bus "asking the portal and RealtimeKit for rights is not tested"
    want rtkit has_rtkit "rights are not asked of the real RealtimeKit"
    want jackd2 has_jackd "nothing plays through a real sound server, neither an engine nor hocket play"
    want pipewire has_pipewire "nothing plays through a real PipeWire"
    want pipewire-jack has_pw_jack "nothing plays through a real PipeWire"
    want pkg-config has_pkg_config "the example host of JACK is not built"
    want libjack-jackd2-dev has_jack_headers "the example host of JACK is not built"
    want libasound2 has_asound "nothing plays through ALSA"
    want libasound2-dev has_asound_headers "no card of ALSA that the tests make runs empty, sleeps and is unplugged"
    want util-linux has_setsid "the dashboard is not tested on a terminal"
    want iproute2 has_ip "\`hocket split\` does not play on two networks of this machine"
    want systemd has_systemd "systemd neither reads nor runs the units of Hocket"
    want liblilv-0-0 has_lilv "no LV2 plug-in is run"
    want mda-lv2 has_mda "the LV2 plug-ins of mda are not run"
    want swh-lv2 has_swh "the LV2 plug-ins of swh are not run"
    want lv2-examples has_lv2_examples "the example plug-ins of LV2 are not run"
    want zam-plugins has_zam "no CLAP or VST3 plug-in but the tests' own is run"
    want libtbb-dev has_tbb "Hocket is not compared with oneTBB"
    want sox has_sox "renders are not compared with those of sox"
    want ecasound has_ecasound "renders are not compared with those of ecasound"
    want swh-plugins has_ladspa_bands "ecasound has no peaking band, so renders are not compared with its own"
    want qemu-user has_qemu_aarch64 "nothing is run as on AArch64"
    want gcc-aarch64-linux-gnu has_gcc_aarch64 "nothing is built for AArch64"
    want libc6-dev-arm64-cross has_libc_aarch64 "nothing is linked for AArch64"
    want_perfetto
    want_aarch64
    want_component rustfmt fmt "the formatting is not checked"
    want_component clippy clippy "the lints are not checked"
    want_std_source
    ;;
  *)
    echo "usage: ci/setup.sh demo|test" >&2
    exit 2
    ;;
esac
install_wanted
echo "setup: ready for $level ($(rustc --version | cut -d' ' -f1-2))"
