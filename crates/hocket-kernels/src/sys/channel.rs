//! A descriptor that one thread writes to and another reads from: an eventfd or a pipe.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// Tokens that are put and taken; taking waits for one.
#[derive(Debug)]
pub(crate) struct Channel {
    reader: OwnedFd,
    /// `None`: the reader's descriptor is written, too.
    writer: Option<OwnedFd>,
    /// Bytes of a token.
    token: usize,
}

impl Channel {
    /// A pipe; a token is one byte.
    pub(crate) fn pipe() -> io::Result<Channel> {
        let mut ends = [-1; 2];
        // SAFETY: the call writes two descriptors into the array.
        if unsafe { libc::pipe(ends.as_mut_ptr()) } != 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: both were just opened and belong to nobody else.
        let [reader, writer] = ends.map(|end| unsafe { OwnedFd::from_raw_fd(end) });
        Ok(Channel { reader, writer: Some(writer), token: 1 })
    }

    /// An eventfd; a token is a count of one, and taking takes all that were put.
    #[cfg(target_os = "linux")]
    pub(crate) fn eventfd() -> io::Result<Channel> {
        // SAFETY: takes no pointer.
        let descriptor = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC) };
        if descriptor < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: it was just opened and belongs to nobody else.
        let reader = unsafe { OwnedFd::from_raw_fd(descriptor) };
        Ok(Channel { reader, writer: None, token: size_of::<u64>() })
    }

    /// An eventfd exists on Linux alone.
    #[cfg(not(target_os = "linux"))]
    pub(crate) fn eventfd() -> io::Result<Channel> {
        Err(io::Error::new(io::ErrorKind::Unsupported, "only Linux has eventfd"))
    }

    /// Puts a token.
    pub(crate) fn put(&self) {
        let writer = self.writer.as_ref().unwrap_or(&self.reader).as_raw_fd();
        let one = 1u64.to_ne_bytes();
        // SAFETY: at most eight bytes of the array are read.
        again(|| unsafe { libc::write(writer, one.as_ptr().cast(), self.token) });
    }

    /// Waits for a token and takes it.
    pub(crate) fn take(&self) {
        let mut bytes = [0u8; 8];
        let reader = self.reader.as_raw_fd();
        // SAFETY: at most eight bytes are written to the array.
        again(|| unsafe { libc::read(reader, bytes.as_mut_ptr().cast(), self.token) });
    }
}

/// Repeats a call that a signal handler has interrupted. The descriptors are open, blocking and
/// never full, so there is no other failure.
fn again(mut call: impl FnMut() -> isize) {
    while call() < 0 && io::Error::last_os_error().kind() == io::ErrorKind::Interrupted {}
}
