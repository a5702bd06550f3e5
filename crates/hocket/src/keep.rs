//! Results that took time are kept, if not where they were wanted, then somewhere else.

use std::fmt::Display;
use std::io::Write;
use std::path::{Path, PathBuf};

use hocket_files::OutputFile;
use hocket_lab::record::BenchRecord;

use crate::failure::Failure;

/// Writes the record.
///
/// # Errors
/// Where it was not written at `path`, exit code 3; the message says where it is instead.
pub(crate) fn record(record: &BenchRecord, path: &Path) -> Result<(), Failure> {
    Kept { what: "record", ending: ".json" }.write(path, |path| record.write_atomic(path))
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
            let path = path.display();
            format!("{path}: cannot be written: {error}; name a file elsewhere")
        })
    })
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
    fn write<E: Display>(
        &self,
        path: &Path,
        write: impl Fn(&Path) -> Result<(), E>,
    ) -> Result<(), Failure> {
        write(path).map_err(|error| self.elsewhere(&error, &write))
    }

    fn elsewhere<E>(
        &self,
        error: &impl Display,
        write: &impl Fn(&Path) -> Result<(), E>,
    ) -> Failure {
        let places = [PathBuf::from("."), std::env::temp_dir()];
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
    fn new_file<E>(
        &self,
        folder: &Path,
        write: &impl Fn(&Path) -> Result<(), E>,
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
