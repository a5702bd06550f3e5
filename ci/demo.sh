#!/usr/bin/env bash
# Builds Hocket and shows everything once; the report is out/report.html.
. "$(dirname "$0")/lib.sh"

ci/setup.sh demo
cargo build --locked --release -p hocket
exec "${CARGO_TARGET_DIR:-target}/release/hocket" demo "$@"
