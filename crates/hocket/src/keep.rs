//! Results that took time are kept, if not where they were wanted, then somewhere else.

use std::path::{Path, PathBuf};

use hocket_lab::record::{BenchRecord, RecordError};

use crate::failure::Failure;

/// Writes the record.
///
/// # Errors
/// Where it was not written at `path`, exit code 3; the message says where it is instead.
pub(crate) fn record(record: &BenchRecord, path: &Path) -> Result<(), Failure> {
    record.write_atomic(path).map_err(|error| elsewhere(record, &error))
}

fn elsewhere(record: &BenchRecord, error: &RecordError) -> Failure {
    let places = [PathBuf::from("."), std::env::temp_dir()];
    let kept = places.iter().find_map(|folder| new_file(record, folder));
    Failure::not_possible(match kept {
        Some(kept) => format!("{error}; the record is in {} instead", kept.display()),
        None => format!("{error}; there was no room for the record anywhere else, and it is lost"),
    })
}

/// A new file in `folder`; `None` where none can be written.
fn new_file(record: &BenchRecord, folder: &Path) -> Option<PathBuf> {
    let new = tempfile::Builder::new().prefix("hocket-record-").suffix(".json").tempfile_in(folder);
    let (_, path) = new.ok()?.keep().ok()?;
    match record.write_atomic(&path) {
        Ok(()) => Some(path),
        Err(_) => {
            let _ = std::fs::remove_file(&path);
            None
        }
    }
}
