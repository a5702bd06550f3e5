//! Where runs are kept: one SQLite file, one row for each figure of each turn.
//!
//! A file is only ever added to. Rows are written in one transaction a turn, so that whatever ends a
//! run leaves every whole turn. The tables are told in `schema.rs`, and `hocket lab query` asks them
//! anything.

mod error;
mod schema;
mod sharing;
mod lock;
mod write;
mod read;
mod find_run;
mod query;
mod new_file;
mod export;
mod merge;
mod bench;

pub use bench::{BenchRun, BenchSeries, is_store};
pub use error::StoreError;
pub use export::{Csv, Json};
pub use lock::WriteLock;
pub use merge::{Definitions, Merged, merge};
pub use new_file::NewFile;
pub use query::{Table, TakeRows};
pub use read::RunRecord;
pub use sharing::shared_on;
pub use write::{RunHead, RunWriter};

use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags};

/// A record file.
#[derive(Debug)]
pub struct Store {
    connection: Connection,
    path: PathBuf,
    /// Keeps a second run out of the file. It stays behind `connection` and so is closed later: closing any
    /// descriptor of a file drops the locks that SQLite holds on it.
    lock: Option<WriteLock>,
    /// See [`shared_on`].
    shared_on: Option<String>,
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
        match store.check() {
            // A run was killed in the middle of a turn. Where another machine may still write the file, and its locks
            // may not be seen, it is left alone.
            Err(StoreError::CutShort { .. }) if store.shared_on.is_none() => {
                Store::connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?.check()?;
                store.check()?;
            }
            checked => checked?,
        }
        Ok(store)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The network file system it is on, where other machines may write it and locks may fail.
    pub fn on_network(&self) -> Option<&str> {
        self.shared_on.as_deref()
    }

    fn connect(path: &Path, flags: OpenFlags) -> Result<Store, StoreError> {
        let flags = flags | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags)
            .map_err(|error| StoreError::of(path, error))?;
        let patient = connection.busy_timeout(std::time::Duration::from_secs(5));
        patient.map_err(|error| StoreError::of(path, error))?;
        Ok(Store { connection, path: path.into(), lock: None, shared_on: shared_on(path) })
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

#[cfg(test)]
mod tests;
