//! What an output may replace: the file that was seen at its place, and none that came later.
//!
//! A command looks at the places of its outputs before the work, and the work may take hours. What it saw is remembered
//! here, for the process, until [`OutputFile::commit`](crate::OutputFile::commit) looks again. What comes between that
//! look and the rename is still lost: no system call replaces one file and no other.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

static EXPECTED: Mutex<BTreeMap<PathBuf, Found>> = Mutex::new(BTreeMap::new());

/// What is at a path. A file that was changed or replaced is another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Found {
    Nothing,
    File { device: u64, inode: u64, bytes: u64, modified: (i64, i64) },
}

impl Found {
    /// Links are followed.
    pub fn at(path: &Path) -> Found {
        std::fs::metadata(path).map_or(Found::Nothing, |there| Found::File {
            device: there.dev(),
            inode: there.ino(),
            bytes: there.len(),
            modified: (there.mtime(), there.mtime_nsec()),
        })
    }
}

/// From now on an output of this path replaces only what is there now.
pub fn expect_present(path: &Path) {
    expected().insert(key(path), Found::at(path));
}

/// From now on an output of this path replaces whatever is there, as it does where nothing is expected.
pub fn expect_anything(path: &Path) {
    expected().remove(&key(path));
}

/// `None`: anything.
pub(crate) fn expected_at(path: &Path) -> Option<Found> {
    expected().get(&key(path)).copied()
}

/// By its name, so that a link that leads elsewhere by then has the old expectation.
fn key(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.into())
}

fn expected() -> MutexGuard<'static, BTreeMap<PathBuf, Found>> {
    EXPECTED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Why a file has not got its name: another one came there meanwhile, which stays.
#[derive(Debug)]
pub struct Displaced {
    /// Where the file is instead, complete.
    pub kept: PathBuf,
}

impl Displaced {
    /// If that is the error.
    pub fn of(error: &io::Error) -> Option<&Displaced> {
        error.get_ref()?.downcast_ref()
    }
}

impl fmt::Display for Displaced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kept = self.kept.display();
        write!(
            f,
            "a file came here or changed during the work, and it stays; the new file is {kept}"
        )
    }
}

impl std::error::Error for Displaced {}
