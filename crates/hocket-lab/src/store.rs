//! Where runs are kept: one SQLite file, one row for each figure of each turn.
//!
//! A file is only ever added to. Rows are written in one transaction a turn, so that whatever ends a
//! run leaves every whole turn. The tables are told in `schema.rs`, and `hocket lab query` asks them
//! anything.

mod error;
mod schema;
mod write;
mod read;
mod find_run;
mod query;
mod new_file;
mod export;
#[cfg(feature = "parquet")]
mod parquet;
mod merge;

pub use error::StoreError;
pub use export::{csv, json};
pub use merge::{Definitions, Merged, merge};
pub use new_file::NewFile;
pub use query::Table;
pub use read::RunRecord;
pub use write::{RunHead, RunWriter};

use std::fs::TryLockError;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags};

/// A record file.
#[derive(Debug)]
pub struct Store {
    connection: Connection,
    path: PathBuf,
    /// Keeps a second run out of the file. It stays behind `connection` and so is closed later: closing any
    /// descriptor of a file drops the locks that SQLite holds on it.
    lock: Option<std::fs::File>,
}

impl Store {
    /// Opens a record file to add to it; makes it, and the folder it is in, where there is none.
    ///
    /// # Errors
    /// [`StoreError`]; nothing that is there is changed then.
    pub fn open_or_create(path: &Path) -> Result<Store, StoreError> {
        if is_new(path) {
            make_folder(path)?;
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
        let mut store = Store::connect(path, flags)?;
        if is_new(path) {
            schema::create(&mut store.connection).map_err(|error| StoreError::of(path, error))?;
        }
        store.check()?;
        Ok(store)
    }

    /// Opens a record file to read it.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn open(path: &Path) -> Result<Store, StoreError> {
        if let Err(cause) = std::fs::File::open(path) {
            return Err(StoreError::Read { path: path.into(), cause });
        }
        let store = Store::connect(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        store.check()?;
        Ok(store)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn connect(path: &Path, flags: OpenFlags) -> Result<Store, StoreError> {
        let flags = flags | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags)
            .map_err(|error| StoreError::of(path, error))?;
        let patient = connection.busy_timeout(std::time::Duration::from_secs(5));
        patient.map_err(|error| StoreError::of(path, error))?;
        Ok(Store { connection, path: path.into(), lock: None })
    }

    /// Keeps other runs out of the file for as long as this store is open; readers may come.
    fn keep_others_out(&mut self) -> Result<(), StoreError> {
        if self.lock.is_some() {
            return Ok(());
        }
        let failed = |cause: std::io::Error| StoreError::Write {
            path: self.path.clone(),
            cause: cause.to_string(),
        };
        let file = std::fs::File::open(&self.path).map_err(failed)?;
        match lock_soon(&file) {
            Ok(()) => self.lock = Some(file),
            Err(TryLockError::WouldBlock) => {
                return Err(StoreError::Busy { path: self.path.clone() });
            }
            // Some network file systems have no locks; each turn is one transaction there, too.
            Err(TryLockError::Error(cause)) if cause.kind() == std::io::ErrorKind::Unsupported => {}
            Err(TryLockError::Error(cause)) => return Err(failed(cause)),
        }
        Ok(())
    }

    /// That it is a record file, of this version, and whole.
    fn check(&self) -> Result<(), StoreError> {
        schema::check(&self.connection, &self.path)
    }

    fn failure(&self, error: rusqlite::Error) -> StoreError {
        StoreError::of(&self.path, error)
    }
}

fn is_new(path: &Path) -> bool {
    std::fs::metadata(path).map_or(true, |what| what.is_file() && what.len() == 0)
}

fn make_folder(path: &Path) -> Result<(), StoreError> {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => std::fs::create_dir_all(folder)
            .map_err(|cause| StoreError::Write { path: path.into(), cause: cause.to_string() }),
        _ => Ok(()),
    }
}

/// Locks the file at once, or within a second: a program that another thread starts holds what was locked here for a
/// moment, until it has become that program.
fn lock_soon(file: &std::fs::File) -> Result<(), TryLockError> {
    for _ in 0..20 {
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => {
                std::thread::sleep(std::time::Duration::from_millis(50));
            }
            result => return result,
        }
    }
    file.try_lock()
}

#[cfg(test)]
mod tests;
