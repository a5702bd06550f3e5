//! Writes down which commit and compiler a record comes from; unknown where git is not at hand.

use std::process::Command;

/// Records that were just made, and their pictures, are no changes of the program (`provenance.rs` says the same).
const BUT_RECORDS: [&str; 2] = [":(top,exclude)docs/results", ":(top,exclude)docs/pictures"];

fn main() {
    println!("cargo::rerun-if-changed=../../.git/HEAD");
    // The branch of this tree alone: commits to others build nothing anew.
    if let Some(branch) = output("git", &["symbolic-ref", "HEAD"]) {
        println!("cargo::rerun-if-changed=../../.git/{branch}");
    }
    let commit = output("git", &["rev-parse", "--short=12", "HEAD"]);
    let status = ["status", "--porcelain", "--untracked-files=no", "--", ":/"];
    let dirty = output("git", &[&status[..], &BUT_RECORDS].concat());
    let rustc = output(&std::env::var("RUSTC").unwrap_or("rustc".into()), &["--version"]);
    println!("cargo::rustc-env=HOCKET_COMMIT={}", commit.unwrap_or_default());
    let dirty = dirty.is_some_and(|changes| !changes.is_empty());
    println!("cargo::rustc-env=HOCKET_DIRTY={}", if dirty { "yes" } else { "no" });
    println!("cargo::rustc-env=HOCKET_RUSTC={}", rustc.unwrap_or_default());
}

fn output(program: &str, args: &[&str]) -> Option<String> {
    let output = Command::new(program).args(args).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}
