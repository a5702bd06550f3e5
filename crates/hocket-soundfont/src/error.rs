//! What is wrong with a file.

use std::fmt;

/// Why a file cannot be played. It names the place in the file, where there is one.
///
/// `Display` gives cause and remedy in one line. Retrying does not help unless the file changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FontError {
    cause: String,
    remedy: &'static str,
}

/// It lacks its end.
pub(crate) const COPY_AGAIN: &str = "copy or download the file again";
/// What is in it makes no sense.
pub(crate) const EXPORT_AGAIN: &str = "export it again, or use another SoundFont";
/// It is something else.
pub(crate) const NAME_ANOTHER: &str = "name a SoundFont 2 file (.sf2)";

impl FontError {
    /// A mistake at a byte of the file, counted from 0.
    pub(crate) fn at(byte: u64, cause: impl fmt::Display, remedy: &'static str) -> FontError {
        FontError { cause: format!("at byte {byte}: {cause}"), remedy }
    }

    /// A mistake of the file as a whole.
    pub(crate) fn whole(cause: impl fmt::Display, remedy: &'static str) -> FontError {
        FontError { cause: cause.to_string(), remedy }
    }

    /// What is wrong and where, without a full stop.
    pub fn cause(&self) -> &str {
        &self.cause
    }

    /// What to do about it, one sentence without a full stop.
    pub fn remedy(&self) -> &str {
        self.remedy
    }
}

impl fmt::Display for FontError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.cause, self.remedy)
    }
}

impl std::error::Error for FontError {}
