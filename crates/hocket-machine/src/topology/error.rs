//! Why a topology could not be read: place, cause and remedy.

use std::fmt;

/// A topology that could not be read.
///
/// The message is one line: file, line and column where there is one, the cause, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct TopologyError {
    /// The file or folder.
    pub file: String,
    /// Line and column, both from 1, where the trouble has a place in the file.
    pub place: Option<(u32, u32)>,
    /// What is wrong.
    pub cause: String,
    /// What helps.
    pub remedy: String,
}

impl fmt::Display for TopologyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file)?;
        if let Some((line, column)) = self.place {
            write!(f, ":{line}:{column}")?;
        }
        write!(f, ": {}; {}", self.cause, self.remedy)
    }
}
