//! Writes the C header.
//!
//! A test of hocket-c generates the header and compares it. Here that test writes it instead. So only the tests
//! of that crate need the tool that reads the sources, and the checks build without it.

use std::path::Path;
use std::process::Command;

/// Writes the header of the checkout at `root`.
pub fn write(root: &Path) -> Result<(), String> {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()));
    cargo.args(["test", "--locked", "-q", "-p", "hocket-c", "--test", "header"]);
    let status = cargo.current_dir(root).env("HOCKET_RENEW_HEADER", "1").status();
    match status.map_err(|error| format!("cargo test: {error}"))? {
        status if status.success() => Ok(()),
        status => Err(format!("cargo test: {status}")),
    }
}
