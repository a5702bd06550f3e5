#!/usr/bin/env bash
# Builds and tests the example hosts in examples/. Each is a package of its own, outside the workspace and with a lock
# file of its own, as a host's is: it sees the public API and nothing else. The C programs are built by hocket-c's tests.
#
# They share the target folder, so what other tests have built is not built again where the features agree.
. "$(dirname "$0")/lib.sh"

export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$PWD/target}

# Format and lints: those of the workspace do not reach a package outside.
lint() { # FOLDER
  local manifest=$1/Cargo.toml
  if cargo fmt --version >/dev/null 2>&1; then cargo fmt --manifest-path "$manifest" --check; fi
  if cargo clippy --version >/dev/null 2>&1; then
    cargo clippy --locked --manifest-path "$manifest" --all-targets -- -D warnings
  fi
}

main() {
  lint examples/rust
  cargo test --locked --manifest-path examples/rust/Cargo.toml --bins --tests -- --show-output
  # The code of docs/embedding.md, which is documentation of this package.
  cargo test --locked --manifest-path examples/rust/Cargo.toml --doc
  if pkg-config --exists jack 2>/dev/null; then
    lint examples/jack
    cargo build --locked --manifest-path examples/jack/Cargo.toml
  else
    skip examples/jack "no headers of JACK (Debian: libjack-jackd2-dev pkg-config)"
  fi
}

run_logged examples
