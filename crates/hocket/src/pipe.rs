//! A named pipe as an output waits for its reader.

use std::fs::File;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use hocket_files::is_standard_output;
use rustix::fs::OFlags;
use rustix::io::Errno;

use crate::failure::Failure;

/// How often it looks whether a pipe has a reader.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Waits until somebody reads a named pipe, and opens it; `None` for every other file. To open a pipe for writing waits, too,
/// but Ctrl-C does not end that. Keep it open until all is written, so that the reader sees one end.
///
/// # Errors
/// Ctrl-C came, and the pipe has no reader: exit code 130.
pub(crate) fn reader_of(path: &Path) -> Result<Option<File>, Failure> {
    let is_pipe = std::fs::metadata(path).is_ok_and(|there| there.file_type().is_fifo());
    if !is_pipe || is_standard_output(path) {
        return Ok(None);
    }
    let stop = crate::interrupt::flag()?;
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
            let message =
                format!("{path}: interrupted, and nobody reads this pipe; start its reader first");
            return Err(Failure { message, ..Failure::interrupted() });
        }
        std::thread::sleep(LOOK_EVERY);
    }
}
