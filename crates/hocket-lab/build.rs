//! Writes down which commit and compiler a record comes from; unknown where git is not at hand.

use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=../../.git/HEAD");
    println!("cargo::rerun-if-changed=../../.git/refs/heads");
    let commit = output("git", &["rev-parse", "--short=12", "HEAD"]);
    let dirty = output("git", &["status", "--porcelain", "--untracked-files=no"]);
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
