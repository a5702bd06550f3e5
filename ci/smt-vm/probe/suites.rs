//! Tests of other crates that came along on the RAM disk, because they need what this machine has.

use std::path::{Path, PathBuf};
use std::process::Command;

const FOLDER: &str = "/suites";

/// A program with tests.
pub struct Suite(PathBuf);

/// Every program of the folder, in the order of their names.
pub fn all() -> Vec<Suite> {
    let Ok(entries) = std::fs::read_dir(FOLDER) else { return Vec::new() };
    let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    paths.into_iter().map(Suite).collect()
}

impl Suite {
    /// For reports.
    pub fn name(&self) -> String {
        let stem = self.0.file_name().unwrap_or_default().to_string_lossy();
        format!("tests of hocket-machine: {stem}")
    }

    /// A test that skips itself has no place here: this machine has what it needs.
    ///
    /// # Errors
    /// The tests that failed, or were skipped, in words.
    pub fn run(&self) -> Result<String, String> {
        run(&self.0)
    }
}

fn run(path: &Path) -> Result<String, String> {
    let output = Command::new(path)
        .args(["--test-threads=1", "--nocapture"])
        .env("HOCKET_TEST_WHOLE_MACHINE", "1")
        .output()
        .map_err(|error| error.to_string())?;
    let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    let skipped = said.lines().find(|line| line.contains("SKIPPED"));
    match (output.status.success(), skipped) {
        (true, None) => Ok(summary(&said)),
        (true, Some(line)) => Err(line.trim().to_owned()),
        (false, _) => Err(format!("{}\n{}", output.status, said.trim_end())),
    }
}

/// The line in which the harness counts.
fn summary(said: &str) -> String {
    let line = said.lines().find(|line| line.starts_with("test result:"));
    line.unwrap_or("no result").split(';').next().unwrap_or_default().to_owned()
}
