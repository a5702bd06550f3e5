//! A process of its own for foreign code: it writes lines into a file, and is ended when no line comes for too long.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, ExitStatus};
use std::time::{Duration, Instant};

/// How often a process is looked at.
const LOOK: Duration = Duration::from_millis(2);

/// Waits for the end of a process. `None`: no line came within the limit, and the process was ended.
pub fn wait(child: &mut Child, file: &Path, limit: Duration) -> io::Result<Option<ExitStatus>> {
    let (mut since, mut length) = (Instant::now(), 0);
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        let now = std::fs::metadata(file).map_or(0, |file| file.len());
        if now != length {
            (since, length) = (Instant::now(), now);
        }
        if since.elapsed() > limit {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        std::thread::sleep(LOOK);
    }
}

/// How a process ended that had more to say.
pub struct Early {
    /// In words, behind the library's name.
    pub why: String,
    /// Whether it may be none of the library's doing, such as a full disk.
    pub is_passing: bool,
}

impl Early {
    /// `None`: it was ended after the limit.
    pub fn of(ended: Option<ExitStatus>) -> Early {
        let (why, is_passing) = match ended.map(|status| (status.signal(), status.code())) {
            None => ("took too long".into(), false),
            Some((Some(signal), _)) => (format!("crashed (signal {signal})"), false),
            Some((None, Some(code))) => (format!("ended the process (exit code {code})"), true),
            Some((None, None)) => ("ended the process".into(), true),
        };
        Early { why, is_passing }
    }
}
