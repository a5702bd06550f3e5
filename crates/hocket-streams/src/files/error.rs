//! Why the audio files of a session cannot be loaded.

use hocket_session::SessionError;

use crate::{DiskError, TooSmall};

/// Why an audio file cannot be loaded: place, cause and remedy.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The file or the session is wrong.
    #[error("{0}")]
    BadInput(String),
    /// It is not possible here: no room, no memory, no right.
    #[error("{0}")]
    NotPossible(String),
    /// It cannot stream.
    #[error(transparent)]
    Disk(DiskError),
}

impl LoadError {
    pub(super) fn bad_input(error: SessionError) -> LoadError {
        LoadError::BadInput(error.to_string())
    }

    pub(super) fn not_possible(error: SessionError) -> LoadError {
        LoadError::NotPossible(error.to_string())
    }

    fn is_bad_input(&self) -> bool {
        match self {
            LoadError::BadInput(_) | LoadError::Disk(DiskError::TooSmall(TooSmall { .. })) => true,
            LoadError::NotPossible(_) | LoadError::Disk(_) => false,
        }
    }
}

/// Why the audio files of a session cannot be loaded: one error at least, in the session's order.
#[derive(Debug)]
pub struct LoadErrors(pub Vec<LoadError>);

impl From<LoadError> for LoadErrors {
    fn from(error: LoadError) -> LoadErrors {
        LoadErrors(vec![error])
    }
}

impl LoadErrors {
    /// Whether any file, or the session, is wrong. Making room would not help then. If none is, all of them are not possible here.
    pub fn is_bad_input(&self) -> bool {
        self.0.iter().any(LoadError::is_bad_input)
    }

    /// A line for each error, each once. `disk` says what is wrong with streams, in the words of the program.
    pub fn text(&self, disk: impl Fn(&DiskError) -> String) -> String {
        let mut lines: Vec<String> = Vec::new();
        for error in &self.0 {
            let line = match error {
                LoadError::Disk(error) => disk(error),
                error => error.to_string(),
            };
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
        lines.join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_errors_are_told_each_once_and_a_wrong_file_decides() {
        let full = |name: &str| LoadError::NotPossible(format!("{name}: full"));
        let streams = || {
            let open = DiskError::OpenFiles { streams: 1, wanted: 300, allowed: 256 };
            LoadError::Disk(open)
        };
        let told = |_: &DiskError| "of the disk".to_owned();
        let errors = LoadErrors(vec![full("a"), streams(), full("b"), streams()]);
        assert_eq!(errors.text(told), "a: full\nof the disk\nb: full");
        assert!(!errors.is_bad_input());
        let wrong = LoadError::BadInput("c: damaged".into());
        assert!(LoadErrors(vec![full("a"), wrong]).is_bad_input());
        let too_small = TooSmall { streams: 1, needs_bytes: 2, has_bytes: 1 };
        assert!(LoadErrors(vec![LoadError::Disk(DiskError::TooSmall(too_small))]).is_bad_input());
    }
}
