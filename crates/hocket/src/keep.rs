//! Results that took time are kept, if not where they were wanted, then somewhere else.

use std::io::Write;
use std::path::{Path, PathBuf};

use hocket_files::{Displaced, OutputFile};
use hocket_lab::channels::CapacityRecord;
use hocket_lab::record::{BenchRecord, RecordError};

use crate::failure::Failure;
use crate::pipe::reader_of;

/// Writes the record.
///
/// # Errors
/// Where it was not written at `path`, exit code 3, or 130 where Ctrl-C ended the wait for the reader of a pipe; the message says
/// where it is instead.
pub(crate) fn record(record: &BenchRecord, path: &Path) -> Result<(), Failure> {
    RECORD.write(path, |path| record.write_atomic(path).map_err(not_written))
}

/// Writes the record of `hocket capacity`.
///
/// # Errors
/// As [`record`].
pub(crate) fn capacity(record: &CapacityRecord, path: &Path) -> Result<(), Failure> {
    RECORD.write(path, |path| record.write_atomic(path).map_err(not_written))
}

const RECORD: Kept<'static> = Kept { what: "record", ending: ".json" };

fn not_written(error: RecordError) -> NotWritten {
    let cause = match &error {
        RecordError::Write { cause, .. } => Displaced::of(cause),
        _ => None,
    };
    NotWritten { is_kept: cause.is_some(), why: error.to_string() }
}

/// Writes a trace.
///
/// # Errors
/// As [`record`].
pub(crate) fn trace(bytes: &[u8], path: &Path) -> Result<(), Failure> {
    let ending = path.extension().map_or(String::new(), |it| format!(".{}", it.to_string_lossy()));
    Kept { what: "trace", ending: &ending }.write(path, |path| {
        let write = || {
            let mut output = OutputFile::create(path)?;
            output.file().write_all(bytes)?;
            output.commit()
        };
        write().map_err(|error: std::io::Error| {
            let (path, is_kept) = (path.display(), Displaced::of(&error).is_some());
            let remedy = if is_kept { "compare the two" } else { "name a file elsewhere" };
            NotWritten { why: format!("{path}: cannot be written: {error}; {remedy}"), is_kept }
        })
    })
}

/// Why a result is not where it was wanted.
struct NotWritten {
    /// For people.
    why: String,
    /// Whether it lies beside its place already.
    is_kept: bool,
}

/// What is kept.
struct Kept<'a> {
    /// In words.
    what: &'static str,
    /// The ending of its files.
    ending: &'a str,
}

impl Kept<'_> {
    /// `write` writes it whole or not at all.
    fn write(
        &self,
        path: &Path,
        write: impl Fn(&Path) -> Result<(), NotWritten>,
    ) -> Result<(), Failure> {
        let _open = match reader_of(path) {
            Ok(open) => open,
            Err(why) => {
                return Err(Failure { exit: why.exit, ..self.elsewhere(&why.message, &write) });
            }
        };
        write(path).map_err(|error| match error.is_kept {
            true => Failure::not_possible(error.why),
            false => self.elsewhere(&error.why, &write),
        })
    }

    fn elsewhere(&self, error: &str, write: &impl Fn(&Path) -> Result<(), NotWritten>) -> Failure {
        // Where the present folder is gone, nothing can be written to it either.
        let here = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("."));
        let places = [here, std::env::temp_dir()];
        let kept = places.iter().find_map(|folder| self.new_file(folder, write));
        let what = self.what;
        Failure::not_possible(match kept {
            Some(kept) => format!("{error}; the {what} is in {} instead", kept.display()),
            None => {
                format!("{error}; there was no room for the {what} anywhere else, and it is lost")
            }
        })
    }

    /// A new file in `folder`; `None` where none can be written.
    fn new_file(
        &self,
        folder: &Path,
        write: &impl Fn(&Path) -> Result<(), NotWritten>,
    ) -> Option<PathBuf> {
        let prefix = format!("hocket-{}-", self.what);
        let new = tempfile::Builder::new().prefix(&prefix).suffix(self.ending).tempfile_in(folder);
        let (_, path) = new.ok()?.keep().ok()?;
        match write(&path) {
            Ok(()) => Some(path),
            Err(_) => {
                let _ = std::fs::remove_file(&path);
                None
            }
        }
    }
}
