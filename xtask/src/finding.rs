//! One broken rule at one place.

use std::fmt;
use std::path::{Path, PathBuf};

/// One broken rule at one place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// File, relative to the workspace root.
    pub file: PathBuf,
    /// Line, from 1; `None`: the file as a whole.
    pub line: Option<usize>,
    /// Short name of the rule, as in the tables.
    pub rule: &'static str,
    /// What is wrong.
    pub what: String,
    /// What to do about it.
    pub remedy: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}", self.file.display())?;
        if let Some(line) = self.line {
            write!(out, ":{line}")?;
        }
        write!(out, ": {} [{}]: {}", self.what, self.rule, self.remedy)
    }
}

/// Prints the findings of `check` and returns the exit code that they ask for.
pub fn report(check: &str, findings: &[Finding]) -> u8 {
    for finding in findings {
        eprintln!("{finding}");
    }
    match findings.len() {
        0 => println!("xtask {check}: nothing found"),
        n => eprintln!("xtask {check}: {n} found"),
    }
    u8::from(!findings.is_empty())
}

/// `file` as seen from `root`, for printing.
pub fn relative(root: &Path, file: &Path) -> PathBuf {
    file.strip_prefix(root).unwrap_or(file).to_path_buf()
}
