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

/// Why this file is not read, for what the system said when it was opened: a descriptor or a folder that is not there.
pub fn why_unread(path: &Path, error: &io::Error) -> String {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    match (error.kind(), closed_descriptor(path), folder) {
        (io::ErrorKind::NotFound, Some(number), _) => {
            format!(
                "file descriptor {number} is not open; open it in the shell, as in `{number}< FILE`"
            )
        }
        (io::ErrorKind::NotFound, None, Some(folder)) if !folder.exists() => {
            format!("there is no folder {}", folder.display())
        }
        (io::ErrorKind::NotFound, None, _) => "there is no such file".into(),
        _ => error.to_string(),
    }
}

/// The number in `/dev/fd/9`, where nothing is open under it.
pub fn closed_descriptor(path: &Path) -> Option<u32> {
    let folder = path.parent()?;
    let is_own = ["/dev/fd", "/proc/self/fd"].iter().any(|own| folder == Path::new(own));
    let number = path.file_name()?.to_str()?.parse().ok()?;
    (is_own && std::fs::symlink_metadata(path).is_err()).then_some(number)
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
    read_text_like(path, limit, |_| true).map(Known::into_bytes)
}

/// What [`read_text_like`] has read.
#[derive(Debug, PartialEq, Eq)]
pub enum Known {
    /// The whole file.
    Whole(Vec<u8>),
    /// Its beginning, which is not that of such a file. The rest is not read.
    Unlike(Vec<u8>),
}

impl Known {
    /// What was read, whichever it is.
    fn into_bytes(self) -> Vec<u8> {
        match self {
            Self::Whole(bytes) | Self::Unlike(bytes) => bytes,
        }
    }
}

/// As [`read_text`], for files that are known by their beginning: `is_like` sees the first 64 KiB, or all of a shorter file,
/// and where it says no, nothing more is read. The beginning may have zero bytes then.
///
/// # Errors
/// [`ReadError`].
pub fn read_text_like(
    path: &Path,
    limit: u64,
    is_like: impl FnOnce(&[u8]) -> bool,
) -> Result<Known, ReadError> {
    match is_standard_input(path) {
        true => bounded(io::stdin().lock(), limit, is_like),
        false => bounded(File::open(path)?, limit, is_like),
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

fn bounded(
    source: impl Read,
    limit: u64,
    is_like: impl FnOnce(&[u8]) -> bool,
) -> Result<Known, ReadError> {
    let mut source = source.take(limit.saturating_add(1));
    let mut bytes = Vec::new();
    let mut is_like = Some(is_like);
    loop {
        let before = bytes.len();
        let got = source.by_ref().take(CHUNK_BYTES).read_to_end(&mut bytes)?;
        if is_like.take().is_some_and(|is_like| !is_like(&bytes)) {
            return Ok(Known::Unlike(bytes));
        }
        if bytes[before..].contains(&0) {
            return Err(ReadError::Binary);
        }
        if bytes.len() as u64 > limit {
            return Err(ReadError::TooLarge(limit));
        }
        if got == 0 {
            return Ok(Known::Whole(bytes));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(source: impl Read, limit: u64) -> Result<Vec<u8>, ReadError> {
        bounded(source, limit, |_| true).map(Known::into_bytes)
    }

    #[test]
    fn a_text_is_read_up_to_the_limit_and_not_beyond() {
        let text = vec![b'x'; 200_000];
        assert_eq!(whole(&text[..], 200_000).unwrap(), text);
        assert!(matches!(whole(&text[..], 199_999), Err(ReadError::TooLarge(199_999))));
        assert!(matches!(whole(io::repeat(b'x'), 1 << 20), Err(ReadError::TooLarge(_))));
    }

    #[test]
    fn what_is_not_there_is_named() {
        let missing = io::Error::from(io::ErrorKind::NotFound);
        let why = |path: &str| why_unread(Path::new(path), &missing);
        assert_eq!(why("no/such/folder/x.json"), "there is no folder no/such/folder");
        assert_eq!(why("x.json"), "there is no such file");
        // Descriptors are given from the lowest number on, and this process has few.
        let closed =
            "file descriptor 987654 is not open; open it in the shell, as in `987654< FILE`";
        assert_eq!(why("/dev/fd/987654"), closed);
        assert_eq!(closed_descriptor(Path::new("/dev/fd/987654")), Some(987_654));
        assert_eq!(closed_descriptor(Path::new("/dev/fd/x")), None);
        assert_eq!(closed_descriptor(Path::new("/tmp/9")), None);
        let denied = io::Error::from(io::ErrorKind::PermissionDenied);
        assert_eq!(why_unread(Path::new("x"), &denied), denied.to_string());
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
        assert!(matches!(whole(io::repeat(0), u64::MAX), Err(ReadError::Binary)));
        assert!(matches!(read_text(Path::new("/dev/zero"), u64::MAX), Err(ReadError::Binary)));
    }

    /// Counts what is read of it.
    struct Counted<'a>(&'a mut u64);

    impl Read for Counted<'_> {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            into.fill(b'y');
            *self.0 += into.len() as u64;
            Ok(into.len())
        }
    }

    #[test]
    fn what_begins_unlike_the_file_is_read_no_further() {
        let mut read = 0;
        let found = bounded(Counted(&mut read), u64::MAX, |begin| begin[0] == b'{').unwrap();
        assert_eq!(found, Known::Unlike(vec![b'y'; CHUNK_BYTES as usize]));
        assert_eq!(read, CHUNK_BYTES);
        let like = bounded(&b"{}"[..], 9, |begin| begin == b"{}").unwrap();
        assert_eq!(like, Known::Whole(b"{}".into()));
        let binary = bounded(&b"\0"[..], 9, |_| false).unwrap();
        assert_eq!(binary, Known::Unlike(b"\0".into()));
    }
}
