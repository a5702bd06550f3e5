//! What can go wrong with audio files.

use std::io;
use std::path::{Path, PathBuf};

use hocket_files::Displaced;

/// Why a file could not be decoded. No retry helps unless the file changes.
#[derive(Debug, thiserror::Error)]
pub enum MediaError {
    /// The file could not be opened or read.
    #[error("{}: cannot read the file: {source}; check the path and its permissions", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A folder, pipe, socket or device.
    #[error("{}: is {what}, not an audio file; name a regular file", path.display())]
    NotAFile {
        /// The path.
        path: PathBuf,
        /// What it is instead.
        what: &'static str,
    },
    /// The file has no bytes.
    #[error("{}: the file is empty; copy or record it again", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// The content is no audio format that is known here, whatever the name says.
    #[error(
        "{}: not an audio file that is known here ({found}); use WAV, AIFF, AU, CAF, FLAC, MP3, \
         Ogg Vorbis or AAC",
        path.display()
    )]
    Unrecognised {
        /// The file.
        path: PathBuf,
        /// What the first bytes look like.
        found: String,
    },
    /// The format is recognised but cannot be decoded.
    #[error("{}: unsupported format: {format}; convert it to WAV or FLAC", path.display())]
    Unsupported {
        /// The file.
        path: PathBuf,
        /// The format by content.
        format: String,
    },
    /// The file claims a format and breaks its rules, so that no audio can be had from it.
    #[error("{}: damaged {format} file: {cause}; copy or export it again", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// The format by content.
        format: String,
        /// Which rule it breaks.
        cause: String,
    },
    /// More audio than is kept in memory.
    #[error(
        "{}: more than {limit_samples} samples of audio; split the file into shorter ones",
        path.display()
    )]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// How many samples (frames times channels) are allowed.
        limit_samples: usize,
    },
    /// The decoder failed on this file in a way its authors did not foresee.
    #[error(
        "{}: the {format} decoder failed on this file ({cause}); convert it to WAV or FLAC",
        path.display()
    )]
    Decoder {
        /// The file.
        path: PathBuf,
        /// The format by content.
        format: String,
        /// What the decoder said.
        cause: String,
    },
}

impl MediaError {
    /// The file this is about.
    pub fn path(&self) -> &Path {
        match self {
            Self::Io { path, .. }
            | Self::NotAFile { path, .. }
            | Self::Empty { path }
            | Self::Unrecognised { path, .. }
            | Self::Unsupported { path, .. }
            | Self::Malformed { path, .. }
            | Self::TooLarge { path, .. }
            | Self::Decoder { path, .. } => path,
        }
    }

    pub(crate) fn io(path: &Path, source: io::Error) -> Self {
        Self::Io { path: path.into(), source }
    }
}

/// Why a file could not be written. Nothing is left under its final name, and what was there
/// before is untouched.
#[derive(Debug, thiserror::Error)]
#[error("{}: cannot write the file: {cause}; {remedy}", path.display())]
pub struct WriteError {
    /// The file that was to be written.
    pub path: PathBuf,
    /// What went wrong.
    pub cause: String,
    /// What the user can do.
    pub remedy: &'static str,
    /// What the system said, if it was the system.
    #[source]
    pub source: Option<io::Error>,
}

impl WriteError {
    /// A refusal of our own, before the system was asked.
    pub fn refused(path: &Path, cause: impl Into<String>, remedy: &'static str) -> Self {
        Self { path: path.into(), cause: cause.into(), remedy, source: None }
    }

    /// A failed system call, with the remedy that fits it.
    pub fn io(path: &Path, error: io::Error) -> Self {
        let (cause, remedy) = match Displaced::of(&error) {
            Some(_) => (None, "compare the two, and keep the one you want"),
            None => explain(&error),
        };
        let cause = cause.map_or_else(|| error.to_string(), str::to_owned);
        Self { path: path.into(), cause, remedy, source: Some(error) }
    }
}

/// Plain words for the failures a user can do something about.
fn explain(error: &io::Error) -> (Option<&'static str>, &'static str) {
    use io::ErrorKind::*;
    match error.kind() {
        StorageFull => (Some("the disk is full"), "free some space or choose another disk"),
        QuotaExceeded => (Some("the disk quota is used up"), "free some space or raise the quota"),
        FileTooLarge => (
            Some("the file would exceed the largest size allowed here"),
            "raise the limit (ulimit -f) or choose another file system",
        ),
        PermissionDenied => {
            (Some("no permission"), "choose a folder that you may write to, or change its rights")
        }
        ReadOnlyFilesystem => {
            (Some("the file system is read-only"), "choose a folder on a writable file system")
        }
        AlreadyExists => (Some("a file has this name already"), "choose another name"),
        NotFound => (Some("the folder does not exist"), "create the folder first"),
        NotADirectory => {
            (Some("a part of the path is a file, not a folder"), "check the path's spelling")
        }
        IsADirectory => (Some("a folder has this name"), "choose another file name"),
        InvalidFilename => (Some("the file name is not allowed here"), "choose a shorter name"),
        _ => (None, "check the disk and try again"),
    }
}
