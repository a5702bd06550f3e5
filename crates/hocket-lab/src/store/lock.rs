//! One run at a time in a record file.
//!
//! A run holds a lock of flock(2) on its file, so that readers may come meanwhile: SQLite's own locks last for a
//! transaction. Where other machines may write the file ([`shared_on`]) SQLite's are held instead, for the whole run, and
//! readers wait. They may fail there; the program warns of that.

use std::fs::{File, TryLockError};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

use super::{Store, StoreError, shared_on};

/// The lock of a run on its record file. It ends with the last value of this lock.
#[derive(Debug)]
pub struct WriteLock {
    /// `None` where SQLite's locks do its work.
    file: Option<File>,
}

impl WriteLock {
    /// Locks a file that this process has just made; `None` if another one took it for a left one and removed it.
    ///
    /// # Errors
    /// The system does not say anything about the file.
    pub fn of_new(file: File, path: &Path) -> io::Result<Option<WriteLock>> {
        let is_locked = shared_on(path).is_none() && file.lock().is_ok();
        let is_there = file.metadata()?.nlink() > 0;
        Ok(is_there.then(|| WriteLock { file: is_locked.then_some(file) }))
    }

    /// Locks a file that nobody writes; `None` if somebody does, or if nobody can tell.
    pub fn of_left(path: &Path) -> Option<WriteLock> {
        let file = File::open(path).ok().filter(|_| shared_on(path).is_none())?;
        file.try_lock().ok()?;
        Some(WriteLock { file: Some(file) })
    }

    /// The same lock once more.
    fn again(&self) -> io::Result<WriteLock> {
        let file = self.file.as_ref().map(File::try_clone).transpose()?;
        Ok(WriteLock { file })
    }
}

impl Store {
    /// Writes under a lock that the caller has already.
    ///
    /// # Errors
    /// The system gives no more open files.
    pub fn write_under(&mut self, lock: &WriteLock) -> Result<(), StoreError> {
        let lock = lock.again().map_err(|cause| self.not_written(&cause))?;
        self.lock = lock.file.is_some().then_some(lock);
        Ok(())
    }

    /// Keeps other runs out of the file for as long as this store is open.
    pub(super) fn keep_others_out(&mut self) -> Result<(), StoreError> {
        if self.lock.is_some() {
            return Ok(());
        }
        if self.shared_on.is_some() {
            return self.keep_sqlites_locks();
        }
        let file = File::open(&self.path).map_err(|cause| self.not_written(&cause))?;
        match lock_soon(&file) {
            Ok(()) => self.lock = Some(WriteLock { file: Some(file) }),
            Err(TryLockError::WouldBlock) => {
                return Err(StoreError::Busy { path: self.path.clone() });
            }
            Err(TryLockError::Error(cause)) if cause.kind() == io::ErrorKind::Unsupported => {
                return self.keep_sqlites_locks();
            }
            Err(TryLockError::Error(cause)) => return Err(self.not_written(&cause)),
        }
        Ok(())
    }

    /// From the next row on, SQLite has the whole file to itself until this store is closed.
    fn keep_sqlites_locks(&self) -> Result<(), StoreError> {
        let kept = self.connection.execute_batch("PRAGMA locking_mode = EXCLUSIVE");
        kept.map_err(|error| self.failure(error))
    }

    /// Whether a run is written to the file right now, by anybody on this machine. False where nobody can tell.
    ///
    /// Call it between transactions: closing the file drops the locks of SQLite in this process.
    pub(super) fn is_being_written(&self) -> bool {
        let is_locked =
            |file: File| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock));
        self.lock.is_some()
            || self.shared_on.is_none() && File::open(&self.path).is_ok_and(is_locked)
    }

    fn not_written(&self, cause: &io::Error) -> StoreError {
        StoreError::Write { path: self.path.clone(), cause: cause.to_string() }
    }
}

/// Locks the file at once, or within a second: a program that another thread starts holds what was locked here for a
/// moment, until it has become that program.
fn lock_soon(file: &File) -> Result<(), TryLockError> {
    for _ in 0..20 {
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => std::thread::sleep(Duration::from_millis(50)),
            result => return result,
        }
    }
    file.try_lock()
}
