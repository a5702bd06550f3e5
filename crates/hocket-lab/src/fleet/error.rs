//! What is wrong with a file of hosts or a job file.

use std::ops::Range;
use std::path::{Path, PathBuf};

use hocket_files::{ReadError, read_text};

/// One message with place, cause and remedy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}{}: {cause}; {remedy}", path.display(), place(*line, *column))]
pub struct FleetError {
    /// The file.
    pub path: PathBuf,
    /// From 1; 0 where the whole file is meant.
    pub line: usize,
    /// From 1; 0 where the whole file is meant.
    pub column: usize,
    /// What is wrong.
    pub cause: String,
    /// What to do.
    pub remedy: String,
}

fn place(line: usize, column: usize) -> String {
    if line == 0 { String::new() } else { format!(":{line}:{column}") }
}

impl FleetError {
    /// About a whole file.
    pub fn whole(path: &Path, cause: impl Into<String>, remedy: impl Into<String>) -> FleetError {
        let (cause, remedy) = (cause.into(), remedy.into());
        FleetError { path: path.into(), line: 0, column: 0, cause, remedy }
    }
}

/// The text of a file and its name.
pub(super) struct Source<'a> {
    pub path: &'a Path,
    pub text: &'a str,
}

impl Source<'_> {
    /// About a place in the text, in bytes.
    pub fn error(&self, at: usize, cause: impl Into<String>, remedy: &str) -> FleetError {
        let before = self.text.get(..at).unwrap_or(self.text);
        let line_start = before.rfind('\n').map_or(0, |end| end + 1);
        FleetError {
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
            ..FleetError::whole(self.path, cause, remedy)
        }
    }

    /// What the reader of TOML found.
    pub fn toml(&self, error: &toml::de::Error, remedy: &str) -> FleetError {
        let at = error.span().unwrap_or(Range { start: 0, end: 0 }).start;
        self.error(at, error.message().replace('\n', ", "), remedy)
    }
}

/// A file that is small by its nature.
pub(super) fn read(path: &Path, what: &str) -> Result<String, FleetError> {
    const MAX_BYTES: u64 = 16 << 20;
    let remedy = format!("name a {what} (text)");
    let text = read_text(path, MAX_BYTES).map_err(|error| match error {
        ReadError::Io(error) => format!("cannot be read: {error}"),
        other => other.to_string(),
    });
    let text = text.and_then(|bytes| {
        String::from_utf8(bytes).map_err(|error| format!("cannot be read: {error}"))
    });
    text.map_err(|cause| FleetError::whole(path, cause, remedy))
}
