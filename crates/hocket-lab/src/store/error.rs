//! Why a record file cannot be used.

use std::path::{Path, PathBuf};

use hocket_files::why_unread;
use rusqlite::ErrorCode;
use rusqlite::ffi::{
    SQLITE_IOERR_CHECKRESERVEDLOCK, SQLITE_IOERR_LOCK, SQLITE_IOERR_RDLOCK, SQLITE_IOERR_UNLOCK,
    SQLITE_READONLY_ROLLBACK,
};

use super::shared_on;

/// What SQLite says where the system refuses a lock for another reason than that somebody has it.
const OF_LOCKS: [i32; 4] =
    [SQLITE_IOERR_CHECKRESERVEDLOCK, SQLITE_IOERR_LOCK, SQLITE_IOERR_RDLOCK, SQLITE_IOERR_UNLOCK];

/// Why a record file cannot be used. Each message names the file, the cause and a remedy.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// It cannot be read at all.
    #[error(
        "{}: cannot be read: {}; name a file that `hocket lab run` wrote",
        path.display(),
        why_unread(path, cause)
    )]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        cause: std::io::Error,
    },
    /// It cannot be written.
    #[error("{}: not written: {cause}; name a file in a folder you may write to with --records", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system said.
        cause: String,
    },
    /// The disk is full. Every turn before this one is kept.
    #[error("{}: the disk is full; free some space or name a file on another disk with --records (what was measured before is kept)", path.display())]
    Full {
        /// The file.
        path: PathBuf,
    },
    /// It is no SQLite file.
    #[error("{}: this is not a record file of the lab (not SQLite); nothing was changed, name another file with --records", path.display())]
    NotSqlite {
        /// The file.
        path: PathBuf,
    },
    /// It is a SQLite file of somebody else.
    #[error("{}: this SQLite file is not one of the lab's; nothing was changed, name another file with --records", path.display())]
    NotARecord {
        /// The file.
        path: PathBuf,
    },
    /// It was written by another version.
    #[error("{}: written in format {found}, this hocket reads format {reads}; use the hocket that wrote it, or name a new file with --records", path.display())]
    OtherVersion {
        /// The file.
        path: PathBuf,
        /// The format it has.
        found: i64,
        /// The format that is read here.
        reads: i64,
    },
    /// It is damaged.
    #[error("{}: damaged: {cause}; nothing was changed, fetch the original or name a new file with --records", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        cause: String,
    },
    /// Somebody else is writing it.
    #[error("{}: another run is being written to it; wait for its end or name another file with --records", path.display())]
    Busy {
        /// The file.
        path: PathBuf,
    },
    /// Somebody else is writing it, or its network file system has no locks.
    #[error("{}: another run is being written to it, or {kind} grants no locks; wait for its end or name a file on a local disk with --records", path.display())]
    BusyOnNetwork {
        /// The file.
        path: PathBuf,
        /// The file system.
        kind: String,
    },
    /// Its file system has no locks.
    #[error("{}: its file system has no locks, without which two runs would damage the file; name a file on a local disk with --records", path.display())]
    NoLocks {
        /// The file.
        path: PathBuf,
    },
    /// A run was killed in the middle of a turn, and that turn cannot be taken back here.
    #[error("{}: a run was killed in the middle of a turn, or is being written on another machine; when no run writes it, copy it with its file '-journal' to a local disk where you may write, and name the copy", path.display())]
    CutShort {
        /// The file.
        path: PathBuf,
    },
    /// It has no such run.
    #[error("{}: no run '{asked}': {remedy}", path.display())]
    NoSuchRun {
        /// The file.
        path: PathBuf,
        /// What was asked for.
        asked: String,
        /// What there is.
        remedy: String,
    },
    /// What was to be written is there already.
    #[error("{}: it is there already and nothing was changed; name a new file", path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// Two files have a run of the same id and different contents.
    #[error("{} and {}: both have the run {uuid}, and it is not the same in both; leave out the one that is older or was not copied whole", first.display(), second.display())]
    Differs {
        /// One file.
        first: PathBuf,
        /// The other one.
        second: PathBuf,
        /// The run's id.
        uuid: String,
    },
    /// The same experiment was measured by different definitions.
    #[error("{} and {}: their figures of '{experiment}' do not mean the same (definitions {one} and {other}); measure with one version of hocket, or keep both with --mixed and tell them apart by the column 'definition'", first.display(), second.display())]
    Mixed {
        /// Which experiment.
        experiment: String,
        /// One file.
        first: PathBuf,
        /// The other one (or the same).
        second: PathBuf,
        /// The digest of the definition in the first file.
        one: String,
        /// That in the second file.
        other: String,
    },
    /// The answer to a question does not fit into memory.
    #[error("the query: out of memory: its answer is too large; ask for fewer rows, as with LIMIT")]
    TooMuch,
    /// A question that would change something.
    #[error(
        "the query: it would change or write something; a query only asks, begin it with SELECT"
    )]
    NotAQuestion,
    /// A question that SQLite does not understand.
    #[error("the query: {cause}; the tables are runs, experiments, variants, processes and rows")]
    Query {
        /// What is wrong with it.
        cause: String,
    },
}

impl StoreError {
    /// Sorts what SQLite says.
    pub(super) fn of(path: &Path, error: rusqlite::Error) -> StoreError {
        let (path, cause) = (path.to_path_buf(), error.to_string());
        let code = error.sqlite_error().map(|error| error.extended_code);
        match error.sqlite_error_code() {
            Some(ErrorCode::NotADatabase) => StoreError::NotSqlite { path },
            Some(ErrorCode::DiskFull) => StoreError::Full { path },
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => match shared_on(&path) {
                Some(kind) => StoreError::BusyOnNetwork { path, kind },
                None => StoreError::Busy { path },
            },
            Some(ErrorCode::CannotOpen) => {
                StoreError::Write { path, cause: "it cannot be opened".into() }
            }
            Some(ErrorCode::ReadOnly) if code == Some(SQLITE_READONLY_ROLLBACK) => {
                StoreError::CutShort { path }
            }
            Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => {
                StoreError::Write { path, cause: "it may only be read".into() }
            }
            Some(ErrorCode::SystemIoFailure) if code.is_some_and(|it| OF_LOCKS.contains(&it)) => {
                StoreError::NoLocks { path }
            }
            Some(ErrorCode::SystemIoFailure) => StoreError::Write { path, cause },
            _ => StoreError::Damaged { path, cause },
        }
    }

    /// Whether it is what was asked for that is wrong, and not this machine.
    pub fn is_bad_input(&self) -> bool {
        !matches!(
            self,
            StoreError::Write { .. }
                | StoreError::Full { .. }
                | StoreError::Busy { .. }
                | StoreError::BusyOnNetwork { .. }
                | StoreError::NoLocks { .. }
                | StoreError::CutShort { .. }
                | StoreError::TooMuch
        )
    }
}
