//! The tables.

use std::path::Path;

use rusqlite::Connection;

use super::StoreError;

/// `HkLb`, by which `file` and this program know whose SQLite file it is.
const APPLICATION_ID: i64 = 0x486B_4C62;
/// Raised when a table changes its meaning.
pub(super) const VERSION: i64 = 1;

/// One row of `rows` is one figure of one turn; everything else is what that figure needs to be
/// believed. Columns that the machine does not count are NULL.
const TABLES: &str = "
CREATE TABLE runs (
  run INTEGER PRIMARY KEY,
  uuid TEXT NOT NULL UNIQUE,
  started_at TEXT NOT NULL,
  ended_at TEXT,
  host TEXT NOT NULL,
  seed TEXT NOT NULL,
  meta TEXT NOT NULL
) STRICT;
CREATE TABLE experiments (
  run INTEGER NOT NULL REFERENCES runs,
  experiment TEXT NOT NULL,
  definition TEXT NOT NULL,
  size TEXT NOT NULL,
  started_at TEXT NOT NULL,
  \"end\" TEXT NOT NULL,
  not_measurable TEXT,
  faults TEXT NOT NULL,
  design TEXT,
  PRIMARY KEY (run, experiment)
) STRICT;
CREATE TABLE variants (
  run INTEGER NOT NULL REFERENCES runs,
  experiment TEXT NOT NULL,
  position INTEGER NOT NULL,
  variant TEXT NOT NULL,
  factors TEXT NOT NULL,
  cpus TEXT NOT NULL,
  relation TEXT,
  PRIMARY KEY (run, experiment, variant)
) STRICT;
CREATE TABLE processes (
  run INTEGER NOT NULL REFERENCES runs,
  experiment TEXT NOT NULL,
  process INTEGER NOT NULL,
  environment_bytes INTEGER NOT NULL,
  stack_frames INTEGER NOT NULL,
  heap_bytes INTEGER NOT NULL,
  seed TEXT NOT NULL,
  PRIMARY KEY (run, experiment, process)
) STRICT;
CREATE TABLE rows (
  run INTEGER NOT NULL REFERENCES runs,
  experiment TEXT NOT NULL,
  process INTEGER NOT NULL,
  round INTEGER NOT NULL,
  turn INTEGER NOT NULL,
  warm_up INTEGER NOT NULL,
  variant TEXT NOT NULL,
  cpus TEXT NOT NULL,
  metric TEXT NOT NULL,
  value REAL NOT NULL,
  unit TEXT NOT NULL,
  ops INTEGER NOT NULL,
  checked TEXT NOT NULL,
  check_note TEXT,
  started_ns INTEGER NOT NULL,
  flags TEXT NOT NULL,
  wall_ns INTEGER NOT NULL,
  steal_ns INTEGER,
  foreign_cpu_ns INTEGER,
  own_cpu_ns INTEGER,
  voluntary_switches INTEGER,
  involuntary_switches INTEGER,
  migrations INTEGER,
  faults INTEGER,
  frequency_khz INTEGER,
  n INTEGER, min REAL, p10 REAL, p50 REAL, p90 REAL, p99 REAL, p999 REAL, max REAL, mean REAL
) STRICT;
CREATE INDEX rows_of ON rows (run, experiment, variant, metric);
";

/// Makes the tables in an empty file, all or none.
pub(super) fn create(connection: &mut Connection) -> rusqlite::Result<()> {
    let transaction =
        connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    // Another program may have made them while this one waited for the file.
    let version: i64 = transaction.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    if version == 0 {
        transaction.execute_batch(TABLES)?;
        transaction.execute_batch(&format!(
            "PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {VERSION};"
        ))?;
    }
    transaction.commit()
}

/// That the file is one of the lab's, of this version, and whole.
pub(super) fn check(connection: &Connection, path: &Path) -> Result<(), StoreError> {
    let pragma = |name: &str| {
        let value = connection.query_row(&format!("PRAGMA {name}"), [], |row| row.get::<_, i64>(0));
        value.map_err(|error| StoreError::of(path, error))
    };
    let (owner, found) = (pragma("application_id")?, pragma("user_version")?);
    if owner != APPLICATION_ID {
        return Err(StoreError::NotARecord { path: path.into() });
    }
    if found != VERSION {
        return Err(StoreError::OtherVersion { path: path.into(), found, reads: VERSION });
    }
    let verdict: String = connection
        .query_row("PRAGMA quick_check(1)", [], |row| row.get(0))
        .map_err(|error| StoreError::of(path, error))?;
    if verdict == "ok" {
        Ok(())
    } else {
        Err(StoreError::Damaged { path: path.into(), cause: verdict })
    }
}
