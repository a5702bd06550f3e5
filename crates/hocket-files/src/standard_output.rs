//! Standard output. A program that runs code of others keeps it for its own results.

use std::fs::{File, Metadata};
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use rustix::stdio;

use crate::links::{self, MOST_LINKS};

/// Where standard output went when the program began; not set: descriptor 1 is standard output.
static KEPT: OnceLock<OwnedFd> = OnceLock::new();

/// Standard output, without a buffer. Lines of several threads need a lock of their own.
#[derive(Debug, Clone, Copy)]
pub struct StandardOutput;

impl StandardOutput {
    /// What it leads to: a file, a pipe, a terminal.
    ///
    /// # Errors
    /// It is closed.
    pub fn metadata(self) -> io::Result<Metadata> {
        file()?.metadata()
    }

    /// Keeps standard output for those who write to [`StandardOutput`]. From now on descriptor 1 leads to standard
    /// error, so a library or a plug-in that prints says it there. Child processes that inherit descriptor 1 do so, too.
    ///
    /// Call it before other threads print. A second call does nothing.
    ///
    /// # Errors
    /// No descriptor is left: nothing is changed.
    pub fn keep() -> io::Result<()> {
        if KEPT.get().is_some() {
            return Ok(());
        }
        io::stdout().flush()?;
        // Closed in child processes: the reader of a pipe sees the end when this process ends.
        let kept = stdio::stdout().try_clone_to_owned()?;
        stdio::dup2_stdout(stdio::stderr())?;
        let _ = KEPT.set(kept);
        Ok(())
    }
}

impl AsFd for StandardOutput {
    fn as_fd(&self) -> BorrowedFd<'_> {
        KEPT.get().map_or_else(stdio::stdout, AsFd::as_fd)
    }
}

impl Write for StandardOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(rustix::io::write(self, bytes)?)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Standard output as a file.
pub(crate) fn file() -> io::Result<File> {
    Ok(File::from(StandardOutput.as_fd().try_clone_to_owned()?))
}

/// Whether this path names standard output: `-`, one of its names in the system, or a link to one.
pub fn is_standard_output(path: &Path) -> bool {
    let mut path = PathBuf::from(path);
    // The system's names are compared as text first: they count where `/proc` is not there, too.
    let names = ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"];
    for _ in 0..MOST_LINKS {
        if names.iter().any(|name| path == Path::new(name)) || is_first_descriptor(&path) {
            return true;
        }
        let Some(next) = links::next(&path) else { return false };
        path = next;
    }
    false
}

/// `/proc/PID/fd/1`, and as a thread has it.
fn is_first_descriptor(path: &Path) -> bool {
    path.ends_with("fd/1")
        && path.parent().and_then(|folder| folder.canonicalize().ok()).is_some_and(|folder| {
            folder.ends_with("fd") && folder.starts_with(format!("/proc/{}", std::process::id()))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn standard_output_is_known_by_its_names() {
        let own = format!("/proc/{}/fd/1", std::process::id());
        let names =
            ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "/proc/thread-self/fd/1", &own];
        names.iter().for_each(|name| assert!(is_standard_output(Path::new(name)), "{name}"));
        let others =
            ["stdout", "fd/1", "/proc/self/fd/2", "/proc/1/fd/1", "/dev/stderr", "./-", ""];
        others.iter().for_each(|name| assert!(!is_standard_output(Path::new(name)), "{name}"));
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let link = |to: &str, name: &str| std::os::unix::fs::symlink(to, at(name)).unwrap();
        link("/dev/stdout", "out.wav");
        link("out.wav", "again.wav");
        link("round.wav", "round.wav");
        link("/dev/null", "null.wav");
        let known = ["out.wav", "again.wav", "round.wav", "null.wav", "new.wav"];
        let is = known.map(|name| is_standard_output(&at(name)));
        assert_eq!(is, [true, true, false, false, false]);
    }
}
