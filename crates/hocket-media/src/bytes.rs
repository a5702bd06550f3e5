//! Bytes that can be read at any place.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::sync::{Arc, Mutex, PoisonError};

use symphonia::core::io::MediaSource;

/// Bytes that can be read at any place: a file, or what stands in for one.
///
/// Thread: any that may wait; never the audio thread.
pub trait ReadAt: Send + Sync {
    /// Fills the beginning of `buffer` with what is at `position`; returns how many bytes that is, 0 at the end.
    ///
    /// # Errors
    /// What the system said.
    fn read_at(&self, position: u64, buffer: &mut [u8]) -> io::Result<usize>;

    /// How many bytes there are now.
    ///
    /// # Errors
    /// What the system said.
    fn byte_len(&self) -> io::Result<u64>;
}

impl ReadAt for File {
    fn read_at(&self, position: u64, buffer: &mut [u8]) -> io::Result<usize> {
        FileExt::read_at(self, buffer, position)
    }

    fn byte_len(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }
}

/// Reads until `buffer` is full or the bytes end; returns how many were read.
pub(crate) fn read_full(bytes: &dyn ReadAt, at: u64, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match bytes.read_at(at + filled as u64, &mut buffer[filled..]) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

/// What the system said when a [`Reader`] failed. A decoder may take a failed read for damage; this tells.
pub(crate) type LastFailure = Arc<Mutex<Option<io::Error>>>;

/// Bytes as a file with a position.
pub(crate) struct Reader {
    bytes: Arc<dyn ReadAt>,
    position: u64,
    len: u64,
    failure: LastFailure,
}

impl Reader {
    pub fn new(bytes: Arc<dyn ReadAt>, len: u64, failure: LastFailure) -> Self {
        Self { bytes, position: 0, len, failure }
    }
}

impl Read for Reader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.bytes.read_at(self.position, buffer) {
            Ok(count) => {
                self.position += count as u64;
                Ok(count)
            }
            Err(error) => {
                let kind = error.kind();
                if kind != io::ErrorKind::Interrupted {
                    *self.failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                }
                Err(kind.into())
            }
        }
    }
}

impl Seek for Reader {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let target = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::End(by) => self.len.checked_add_signed(by),
            SeekFrom::Current(by) => self.position.checked_add_signed(by),
        };
        self.position = target.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.position)
    }
}

impl MediaSource for Reader {
    fn is_seekable(&self) -> bool {
        true
    }

    fn byte_len(&self) -> Option<u64> {
        Some(self.len)
    }
}
