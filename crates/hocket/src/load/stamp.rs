//! Which file a path means, so that what was read of it can be kept.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Which file it is, under whatever name, and since when it has been as it is. So one that was written anew is read anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Stamp {
    device: u64,
    inode: u64,
    bytes: u64,
    /// Seconds and nanoseconds.
    modified: (i64, i64),
}

impl Stamp {
    pub(super) fn of(path: &Path) -> io::Result<Stamp> {
        let found = std::fs::metadata(path)?;
        Ok(Stamp {
            device: found.dev(),
            inode: found.ino(),
            bytes: found.len(),
            modified: (found.mtime(), found.mtime_nsec()),
        })
    }
}
