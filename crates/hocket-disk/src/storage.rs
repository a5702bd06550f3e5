//! Where the bytes of a stream come from.

use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hocket_media::ReadAt;

/// A place that bytes can be opened at, again and again: a disk may go and come back.
///
/// Thread: control, then the preloader's; it may wait for a disk.
pub trait Storage: Send + Sync {
    /// The name in messages.
    fn path(&self) -> &Path;

    /// Opens the bytes, once more after a failure.
    ///
    /// # Errors
    /// What the system said.
    fn open(&self) -> io::Result<Arc<dyn ReadAt>>;

    /// The device that answers or stalls. Streams of one device wait for each other; those of others do not.
    fn device(&self) -> u64;
}

/// A file.
///
/// A file that is deleted while it plays plays on, because it stays open. After a failed read the file is opened anew
/// by its name.
#[derive(Debug, Clone)]
pub struct FileStorage {
    path: PathBuf,
    device: u64,
}

impl FileStorage {
    /// A regular file; it need not exist later on. Opens nothing.
    ///
    /// # Errors
    /// There is no such file, or it is no regular one.
    pub fn new(path: &Path) -> io::Result<FileStorage> {
        let metadata = std::fs::metadata(path)?;
        if !metadata.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
        }
        Ok(FileStorage { path: path.into(), device: metadata.dev() })
    }
}

impl Storage for FileStorage {
    fn path(&self) -> &Path {
        &self.path
    }

    fn open(&self) -> io::Result<Arc<dyn ReadAt>> {
        Ok(Arc::new(File::open(&self.path)?))
    }

    fn device(&self) -> u64 {
        self.device
    }
}
