//! What `--from` reads: a file, a pipe or standard input. Ctrl-C ends the wait for what a pipe does not bring.

use std::fs::File;
use std::io::{self, Read, stdin};
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;
use rustix::io::Errno;

/// How long it waits until it looks again whether to stop.
const LOOK_EVERY: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };

/// Whether this is standard input.
pub(super) fn is_stdin(from: &Path) -> bool {
    from == Path::new("-")
}

/// Reads until the end, or until `stopped` says true: that is its end then.
pub(super) struct Incoming<'a> {
    file: File,
    stopped: &'a dyn Fn() -> bool,
}

impl<'a> Incoming<'a> {
    /// Opens it. A named pipe that nobody writes yet is opened at once, and waited for when it is read.
    ///
    /// # Errors
    /// The system refuses it.
    pub(super) fn open(from: &Path, stopped: &'a dyn Fn() -> bool) -> io::Result<Incoming<'a>> {
        let file: File = match is_stdin(from) {
            true => stdin().as_fd().try_clone_to_owned()?.into(),
            false => {
                let flags = OFlags::NONBLOCK.bits().cast_signed();
                File::options().read(true).custom_flags(flags).open(from)?
            }
        };
        Ok(Incoming { file, stopped })
    }

    /// Whether something has come, or the end.
    fn is_ready(&self) -> io::Result<bool> {
        let mut fds = [PollFd::new(&self.file, PollFlags::IN)];
        match poll(&mut fds, Some(&LOOK_EVERY)) {
            // A signal.
            Err(Errno::INTR) => Ok(false),
            ready => Ok(ready? > 0),
        }
    }
}

impl Read for Incoming<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if (self.stopped)() {
                return Ok(0);
            }
            if !self.is_ready()? {
                continue;
            }
            match self.file.read(buffer) {
                // Another reader of the same pipe was faster.
                Err(why) if why.kind() == io::ErrorKind::WouldBlock => {}
                read => return read,
            }
        }
    }
}
