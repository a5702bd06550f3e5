//! `unsafe` stands only where it may, and every other crate forbids it.
//!
//! The compiler enforces `forbid(unsafe_code)`; this check makes sure that the line is there, and
//! looks at tests, benches and examples too, which are crates of their own to the compiler.

use std::path::Path;

use crate::finding::{Finding, relative};
use crate::manifest::{self, Package};
use crate::repo;
use crate::tokens::{Token, tokens};

/// Where unsafe code may stand, and what for.
const ALLOWED: [(&str, &str); 20] = [
    ("crates/hocket-rt/", "cells shared between threads, futex calls and CPU hints"),
    ("crates/hocket-machine/", "system calls"),
    ("crates/hocket-kernels/src/sys", "system calls and instructions of the lab's kernels"),
    ("crates/hocket-kernels/src/system/", "processes that the lab's primitives fork"),
    ("crates/hocket-kernels/src/locks/pthread.rs", "the C library's mutexes"),
    ("crates/hocket-kernels/src/locks/mcs.rs", "a lock's list of places on their threads' stacks"),
    ("crates/hocket-c/src/", "what programs in C hand in and get"),
    ("crates/hocket-c/tests/", "calls of that interface"),
    ("crates/hocket-engine/src/block/", "the block runner's access to rows"),
    ("crates/hocket-dsp/tests/abreast/kernel.rs", "calls of kernels that only some CPUs have"),
    ("crates/hocket-devices/src/alsa/libasound", "calls of libasound"),
    ("crates/hocket-devices/src/library.rs", "loading libraries at run time"),
    ("crates/hocket-devices/src/jack/libjack", "calls of libjack, and a cancellation by it"),
    ("crates/hocket-plugins/src/lv2/ffi", "calls of liblilv and of LV2 plug-ins"),
    ("crates/hocket-plugins/src/clap/ffi.rs", "loading CLAP files, lending a call's helpers"),
    ("crates/hocket-plugins/src/vst3/ffi", "calls of VST3 plug-ins, and what they call"),
    ("crates/hocket-plugins/src/check/calls/ffi.rs", "counting a plug-in's calls of the C library"),
    ("crates/hocket-plugins/src/isolate/memory.rs", "memory that two processes share"),
    ("crates/hocket-plugins/examples/", "plug-ins for tests"),
    ("crates/hocket-engine/src/sentry", "the watchman of the block path in test builds"),
];

/// A test may count allocations or system calls with unsafe code in a file or folder of this name
/// below a `tests` folder.
const SENTRY: &str = "sentry";

/// Crates whose library is not closed to unsafe code as a whole.
const OPEN: [(&str, Closing); 7] = [
    ("hocket-rt", Closing::None),
    ("hocket-machine", Closing::None),
    ("hocket-c", Closing::None),
    ("hocket-engine", Closing::DenyOutsideBlock),
    ("hocket-kernels", Closing::DenyOutsideBlock),
    ("hocket-devices", Closing::DenyOutsideBlock),
    ("hocket-plugins", Closing::DenyOutsideBlock),
];

/// How a crate keeps unsafe code out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Closing {
    /// It does not.
    None,
    /// `deny`, which the modules above lift for themselves.
    DenyOutsideBlock,
    /// `forbid`, which nothing below can lift.
    Forbid,
}

/// Checks every package of the workspace at `root`.
pub fn check(root: &Path) -> Result<Vec<Finding>, String> {
    let root = &root.canonicalize().map_err(|error| format!("{}: {error}", root.display()))?;
    let mut findings = Vec::new();
    for package in manifest::packages(root)? {
        findings.extend(check_lints(root, &package));
        findings.extend(check_roots(root, &package)?);
        for file in repo::rust_files(package.folder())? {
            findings.extend(check_file(root, &file)?);
        }
    }
    Ok(findings)
}

/// The workspace's lints hold for the package, among them the one that asks for SAFETY comments.
fn check_lints(root: &Path, package: &Package) -> Option<Finding> {
    let manifest = std::fs::read_to_string(&package.manifest).unwrap_or_default();
    let mut lines = manifest.lines().map(str::trim);
    let inherits = lines.any(|line| line == "[lints]") && lines.next() == Some("workspace = true");
    (!inherits).then(|| Finding {
        file: relative(root, &package.manifest),
        line: None,
        rule: "workspace-lints",
        what: format!("{} does not inherit the workspace's lints", package.name),
        remedy: "add `[lints]` with `workspace = true`".into(),
    })
}

fn check_roots(root: &Path, package: &Package) -> Result<Vec<Finding>, String> {
    let closing = closing_of(&package.name);
    let Some(level) = level(closing) else {
        return Ok(Vec::new());
    };
    let mut findings = Vec::new();
    for file in &package.roots {
        let closed = closes(&tokens(&read(file)?), level);
        findings.extend((!closed).then(|| Finding {
            file: relative(root, file),
            line: None,
            rule: "unsafe-is-closed-out",
            what: format!("{} leaves unsafe code open", package.name),
            remedy: format!("add `#![{level}(unsafe_code)]` below the crate's documentation"),
        }));
    }
    Ok(findings)
}

fn check_file(root: &Path, file: &Path) -> Result<Option<Finding>, String> {
    let file_in_repo = relative(root, file);
    if may_be_unsafe(&file_in_repo) {
        return Ok(None);
    }
    let tokens = tokens(&read(file)?);
    let first = tokens.iter().find(|token| token.text == "unsafe");
    Ok(first.map(|token| Finding {
        file: file_in_repo,
        line: Some(token.line),
        rule: "unsafe-has-its-place",
        what: "unsafe code outside of its place".into(),
        remedy: format!("it may stand in {}", places()),
    }))
}

fn may_be_unsafe(file: &Path) -> bool {
    let text = file.to_string_lossy();
    ALLOWED.iter().any(|(place, _)| text.starts_with(place)) || is_sentry(file)
}

fn is_sentry(file: &Path) -> bool {
    let mut names = file.iter().map(|name| name.to_string_lossy());
    names.any(|name| name == "tests")
        && names.any(|name| name == SENTRY || name == format!("{SENTRY}.rs"))
}

fn closing_of(package: &str) -> Closing {
    let open = OPEN.iter().find(|(name, _)| *name == package);
    open.map_or(Closing::Forbid, |(_, closing)| *closing)
}

fn level(closing: Closing) -> Option<&'static str> {
    match closing {
        Closing::None => None,
        Closing::DenyOutsideBlock => Some("deny"),
        Closing::Forbid => Some("forbid"),
    }
}

/// Whether `#![level(.., unsafe_code, ..)]` stands in the file.
fn closes(tokens: &[Token], level: &str) -> bool {
    let starts = |at: &usize| {
        let texts = tokens[*at..].iter().take(5).map(|token| token.text.as_str());
        texts.eq(["#", "!", "[", level, "("])
    };
    (0..tokens.len()).filter(starts).any(|at| {
        let mut inside = tokens[at + 5..].iter().take_while(|token| token.text != ")");
        inside.any(|token| token.text == "unsafe_code")
    })
}

fn places() -> String {
    let places: Vec<String> =
        ALLOWED.iter().map(|(place, what)| format!("{place} ({what})")).collect();
    format!("{}, and in a test's {SENTRY}.rs", places.join(", "))
}

fn read(file: &Path) -> Result<String, String> {
    std::fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lint_list_closes_and_another_level_does_not() {
        let closed = |source: &str| closes(&tokens(source), "forbid");
        assert!(closed("//! doc\n#![forbid(unsafe_code)]"));
        assert!(closed("#![forbid(missing_docs, unsafe_code)]"));
        assert!(!closed("#![deny(unsafe_code)]"));
        assert!(!closed("// #![forbid(unsafe_code)]"));
        assert!(!closed("#[forbid(unsafe_code)] mod a {}"));
    }

    #[test]
    fn sentries_live_below_tests_only() {
        assert!(may_be_unsafe(Path::new("crates/hocket-engine/tests/sentry.rs")));
        assert!(may_be_unsafe(Path::new("crates/hocket-lab/tests/sentry/mod.rs")));
        assert!(!may_be_unsafe(Path::new("crates/hocket-lab/src/sentry.rs")));
        assert!(!may_be_unsafe(Path::new("crates/hocket-engine/src/worker/life.rs")));
    }
}
