//! Reading a whole file, of text or of bytes, up to a limit.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// How much is read before the bytes are looked at.
const CHUNK_BYTES: u64 = 1 << 16;

/// Why a file was not read. No retry helps unless the file changes.
#[derive(Debug)]
pub enum ReadError {
    /// What the system said.
    Io(io::Error),
    /// The file has more bytes than this.
    TooLarge(u64),
    /// The file has a zero byte, as no text has.
    Binary,
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => error.fmt(f),
            Self::TooLarge(limit) => write!(f, "it is larger than {} MiB", limit >> 20),
            Self::Binary => f.write_str("it is a binary file, not text"),
        }
    }
}

impl std::error::Error for ReadError {}

impl From<io::Error> for ReadError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<ReadError> for io::Error {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Io(error) => error,
            other => io::Error::new(io::ErrorKind::InvalidData, other.to_string()),
        }
    }
}

/// Whether this path names standard input: `-`, or one of its names in the system.
pub fn is_standard_input(path: &Path) -> bool {
    ["-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"].iter().any(|name| path == Path::new(name))
}

/// Reads a file of text; `-` is standard input.
///
/// The first zero byte ends it, so a device that never ends is refused at once.
/// Thread: control; waits for a pipe. Memory: at most `limit` bytes.
///
/// # Errors
/// [`ReadError`].
pub fn read_text(path: &Path, limit: u64) -> Result<Vec<u8>, ReadError> {
    match is_standard_input(path) {
        true => bounded(io::stdin().lock(), limit),
        false => bounded(File::open(path)?, limit),
    }
}

/// Reads a file of any content.
///
/// Thread: control; waits for a pipe. Memory: at most `limit` bytes.
///
/// # Errors
/// [`ReadError`]; never [`ReadError::Binary`].
pub fn read_bytes(path: &Path, limit: u64) -> Result<Vec<u8>, ReadError> {
    let mut bytes = Vec::new();
    File::open(path)?.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > limit {
        true => Err(ReadError::TooLarge(limit)),
        false => Ok(bytes),
    }
}

fn bounded(source: impl Read, limit: u64) -> Result<Vec<u8>, ReadError> {
    let mut source = source.take(limit.saturating_add(1));
    let mut bytes = Vec::new();
    loop {
        let before = bytes.len();
        let got = source.by_ref().take(CHUNK_BYTES).read_to_end(&mut bytes)?;
        if bytes[before..].contains(&0) {
            return Err(ReadError::Binary);
        }
        if bytes.len() as u64 > limit {
            return Err(ReadError::TooLarge(limit));
        }
        if got == 0 {
            return Ok(bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_read_up_to_the_limit_and_not_beyond() {
        let text = vec![b'x'; 200_000];
        assert_eq!(bounded(&text[..], 200_000).unwrap(), text);
        assert!(matches!(bounded(&text[..], 199_999), Err(ReadError::TooLarge(199_999))));
        assert!(matches!(bounded(io::repeat(b'x'), 1 << 20), Err(ReadError::TooLarge(_))));
    }

    #[test]
    fn bytes_are_read_up_to_the_limit_whatever_they_are() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        io::Write::write_all(&mut file, &[0, 1, 255, 0]).unwrap();
        assert_eq!(read_bytes(file.path(), 4).unwrap(), [0, 1, 255, 0]);
        assert!(matches!(read_bytes(file.path(), 3), Err(ReadError::TooLarge(3))));
        assert!(matches!(read_bytes(Path::new("/dev/zero"), 99), Err(ReadError::TooLarge(99))));
        assert!(matches!(read_bytes(Path::new("/none"), 9), Err(ReadError::Io(_))));
    }

    #[test]
    fn what_never_ends_is_refused_at_its_first_zero() {
        assert!(matches!(bounded(io::repeat(0), u64::MAX), Err(ReadError::Binary)));
        assert!(matches!(read_text(Path::new("/dev/zero"), u64::MAX), Err(ReadError::Binary)));
    }
}
