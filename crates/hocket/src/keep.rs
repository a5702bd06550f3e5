//! Results that took time are kept, if not where they were wanted, then somewhere else.

use std::fmt::Display;
use std::fs::File;
use std::io::Write;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use hocket_files::{OutputFile, is_standard_output};
use hocket_lab::record::BenchRecord;
use rustix::fs::OFlags;
use rustix::io::Errno;

use crate::failure::{Exit, Failure};

/// How often it looks whether a pipe has a reader.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Writes the record.
///
/// # Errors
/// Where it was not written at `path`, exit code 3, or 130 where Ctrl-C ended the wait for the reader of a pipe; the message says
/// where it is instead.
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

/// Waits until somebody reads a named pipe, and opens it; `None` for every other file. To open a pipe for writing waits, too,
/// but Ctrl-C does not end that.
///
/// # Errors
/// Ctrl-C came, and the pipe has no reader.
fn reader_of(path: &Path) -> Result<Option<File>, String> {
    let is_pipe = std::fs::metadata(path).is_ok_and(|there| there.file_type().is_fifo());
    if !is_pipe || is_standard_output(path) {
        return Ok(None);
    }
    let stop = crate::interrupt::flag().map_err(|why| why.message)?;
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    loop {
        match File::options().write(true).custom_flags(flags).open(path) {
            Err(error) if Errno::from_io_error(&error) == Some(Errno::NXIO) => {}
            // Another error is told when the pipe is opened to be written.
            opened => return Ok(opened.ok()),
        }
        // Relaxed: the flag stands for itself.
        if stop.load(Relaxed) {
            let path = path.display();
            return Err(format!(
                "{path}: interrupted, and nobody reads this pipe; start its reader first"
            ));
        }
        std::thread::sleep(LOOK_EVERY);
    }
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
        // Open until all is written, so that the reader sees one end.
        let _open = match reader_of(path) {
            Ok(open) => open,
            Err(why) => {
                let kept = self.elsewhere(&why, &write);
                return Err(Failure { exit: Exit::Interrupted, ..kept });
            }
        };
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
