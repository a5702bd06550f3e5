# The ways into this repository; each is one script or one cargo command.
.DEFAULT_GOAL := help
.PHONY: help demo install uninstall deb site test test-busy bench lint fmt docs loom weakened tsan rtsan test-aarch64 test-smt test-fleet fuzz fresh-debian packages soak records comparison comparison-check clean

PREFIX ?= /usr/local
DESTDIR ?=
CARGO_HOME ?= $(HOME)/.cargo
export PATH := $(PATH):$(CARGO_HOME)/bin

help: ## Lists these targets
	@sed -nE 's/^([a-z0-9-]+): ## (.*)/  make \1|\2/p' Makefile | while IFS='|' read -r target what; \
	  do printf '%-18s %s\n' "$$target" "$$what"; done

demo: ## Shows everything once and writes out/report.html
	@ci/demo.sh

install: ## Installs program, man pages, completions and sessions (PREFIX=/usr/local, DESTDIR=)
	cargo build --locked --profile dist -p hocket
	@packaging/install.sh install "$(DESTDIR)" "$(PREFIX)"

uninstall: ## Removes what `make install` wrote
	@packaging/install.sh uninstall "$(DESTDIR)" "$(PREFIX)"

deb: ## Builds a Debian package in target/debian (needs cargo-deb)
	cargo build --locked --profile dist -p hocket
	@packaging/install.sh stage target/package
	cargo deb --no-build --no-strip --maintainer "$$(packaging/install.sh maintainer)" -p hocket

site: ## Builds the documentation as a site in target/site/html (needs mdbook)
	cargo run --locked -q -p xtask -- site
	mdbook build

test: ## Runs every test and lists what was skipped and why
	@ci/test.sh

test-busy: ## Runs every test program five times beside busy loops, and once on one CPU
	@ci/test-busy.sh

bench: ## Times the building blocks
	cargo bench --locked --workspace --bench '*'

lint: ## Checks formatting and lints
	cargo fmt --all --check
	cargo clippy --locked --workspace --all-targets -- -D warnings

fmt: ## Formats the code
	cargo fmt --all

docs: ## Builds the documentation; a warning is an error
	RUSTDOCFLAGS="-D warnings" cargo doc --locked --no-deps --workspace

loom: ## Explores every interleaving of the protocols between threads
	crates/hocket-rt/check-loom.sh

weakened: ## Breaks each ordering of the protocols in turn and expects its tests to fail
	crates/hocket-rt/check-weakened.sh loom
	crates/hocket-rt/check-weakened.sh tsan

tsan: ## Runs the same protocols under ThreadSanitizer (nightly Rust)
	crates/hocket-rt/check-tsan.sh

rtsan: ## Runs the block path under RealtimeSanitizer
	@ci/rtsan.sh

test-aarch64: ## Runs the tests of the computing crates for AArch64 in an emulator
	@ci/aarch64.sh

test-smt: ## Checks the sibling policies on an emulated machine with SMT
	@ci/smt-vm/run.sh

test-fleet: ## Runs a plan of the lab on a real Slurm on this machine
	@ci/fleet.sh

fuzz: ## Feeds every parser with mutated inputs (FUZZ_SECONDS=3600 per target; a C++ compiler)
	@ci/fuzz.sh

fresh-debian: ## Follows README.md in a fresh Debian (as root)
	@ci/fresh-debian.sh

packages: ## Builds the Debian package and the site and tries them (cargo-deb, mdbook; as root in a fresh Debian)
	@ci/packages.sh

soak: ## Plays for half an hour with edits, a load and recordings (SOAK_SECONDS=1800)
	@ci/soak.sh

records: ## Makes the records of docs/results anew (RECORDS=REGEX: those; about two hours, alone on the machine)
	@ci/records.sh "$(or $(RECORDS),.)"

comparison: ## Runs Hocket beside other engines (a package of its own)
	cargo run --locked --release --manifest-path comparison/Cargo.toml

comparison-check: ## Builds and tests that package, without timing anything
	@ci/comparison.sh

clean: ## Removes everything that was built or written
	cargo clean
	rm -rf out comparison/target fuzz/target examples/rust/target examples/jack/target
