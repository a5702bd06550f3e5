//! Record files of many machines as one.
//!
//! The new file is made beside its place and given its name when it is whole; what goes in is only
//! read. Runs are numbered by date, so the same runs give the same file in whatever order they are named.

use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags, params};

use super::{NewFile, RunRecord, Store, StoreError, schema};

/// Whether one experiment may stand there by different definitions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Definitions {
    /// No: figures of one name mean one thing in the whole file.
    One,
    /// Yes: the column `definition` of `experiments` tells them apart.
    Mixed,
}

/// What came together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Merged {
    /// Runs in the new file.
    pub runs: usize,
    /// Runs that were left out because another file has the very same one.
    pub duplicates: usize,
    /// Figures in the new file.
    pub rows: u64,
    /// Files with a run that goes on, or of which nobody can tell: the new file has what it had measured until now.
    pub unended: Vec<PathBuf>,
}

/// A run and the file it is in, as a place in the list of inputs.
struct Found {
    file: usize,
    run: RunRecord,
}

/// Brings the runs of all `inputs` together in `out`, a new file.
///
/// Thread: control; does file I/O. Cost: every row is read and written once.
///
/// # Errors
/// [`StoreError`], naming the file that is to blame; `out` does not exist then.
pub fn merge(
    out: &Path,
    inputs: &[PathBuf],
    definitions: Definitions,
) -> Result<Merged, StoreError> {
    NewFile::check(out)?;
    let stores = inputs.iter().map(|path| Store::open(path)).collect::<Result<Vec<_>, _>>()?;
    let found = runs_of(&stores)?;
    if definitions == Definitions::One {
        refuse_mixed(&found, inputs)?;
    }
    let unended = unended(&found, &stores);
    let (kept, duplicates) = once(found, &stores)?;
    let new = NewFile::beside(out)?;
    let rows = fill(new.path(), &kept, inputs).map_err(|error| named(error, out))?;
    new.finish()?;
    Ok(Merged { runs: kept.len(), duplicates, rows, unended })
}

/// All runs, the oldest first.
fn runs_of(stores: &[Store]) -> Result<Vec<Found>, StoreError> {
    let mut found = Vec::new();
    for (file, store) in stores.iter().enumerate() {
        found.extend(store.runs()?.into_iter().map(|run| Found { file, run }));
    }
    let key = |found: &Found| (found.run.started_at.clone(), found.run.uuid.clone(), found.file);
    found.sort_by_cached_key(key);
    Ok(found)
}

/// Where another machine may write, a run that was killed looks like one that goes on.
fn unended(found: &[Found], stores: &[Store]) -> Vec<PathBuf> {
    let may_go_on = |(file, store): &(usize, &Store)| {
        let mut runs = found.iter().filter(|found| found.file == *file).map(|found| &found.run);
        let on_network = store.on_network().is_some();
        runs.any(|run| run.running || on_network && run.ended_at.is_none())
    };
    let files = stores.iter().enumerate().filter(may_go_on);
    files.map(|(_, store)| store.path.clone()).collect()
}

fn refuse_mixed(found: &[Found], inputs: &[PathBuf]) -> Result<(), StoreError> {
    let mut seen: HashMap<&str, (&str, usize)> = HashMap::new();
    for (file, run) in found.iter().flat_map(|f| f.run.experiments.iter().map(|e| (f.file, e))) {
        let (one, first) = *seen.entry(&run.id).or_insert((&run.definition, file));
        if !crate::harness::same_definition(one, &run.definition) {
            return Err(StoreError::Mixed {
                experiment: run.id.clone(),
                first: inputs[first].clone(),
                second: inputs[file].clone(),
                one: one.into(),
                other: run.definition.clone(),
            });
        }
    }
    Ok(())
}

/// Each run once; a second one with the same id has to be the same.
fn once(found: Vec<Found>, stores: &[Store]) -> Result<(Vec<Found>, usize), StoreError> {
    let (mut kept, mut duplicates): (Vec<Found>, usize) = (Vec::new(), 0);
    let mut by_uuid: HashMap<String, usize> = HashMap::new();
    for next in found {
        let at = *by_uuid.entry(next.run.uuid.clone()).or_insert(kept.len());
        match kept.get(at) {
            None => kept.push(next),
            Some(first) => {
                refuse_different(first, &next, stores)?;
                duplicates += 1;
            }
        }
    }
    Ok((kept, duplicates))
}

fn refuse_different(a: &Found, b: &Found, stores: &[Store]) -> Result<(), StoreError> {
    let about = |found: &Found| RunRecord { run: 0, running: false, ..found.run.clone() };
    let same = about(a) == about(b)
        && contents(&stores[a.file], a.run.run)? == contents(&stores[b.file], b.run.run)?;
    match same {
        true => Ok(()),
        false => Err(StoreError::Differs {
            first: stores[a.file].path.clone(),
            second: stores[b.file].path.clone(),
            uuid: a.run.uuid.clone(),
        }),
    }
}

/// What tells two copies of a run apart: a digest of every column of every row that belongs to it, but for the
/// number that the run has in its file.
fn contents(store: &Store, run: i64) -> Result<Vec<u8>, StoreError> {
    let mut digest = Sha256::new();
    for table in ["experiments", "variants", "processes", "rows"] {
        digest_of(store, table, run, &mut digest).map_err(|error| store.failure(error))?;
    }
    Ok(digest.finalize().to_vec())
}

fn digest_of(store: &Store, table: &str, run: i64, digest: &mut Sha256) -> rusqlite::Result<()> {
    let sql = format!("SELECT * FROM {table} WHERE run = ?1 ORDER BY rowid");
    let mut statement = store.connection.prepare(&sql)?;
    let columns = statement.column_count();
    let mut rows = statement.query([run])?;
    while let Some(row) = rows.next()? {
        for column in 1..columns {
            let value = format!("{:?}", row.get_ref(column)?);
            digest.update((value.len() as u64).to_le_bytes());
            digest.update(value.as_bytes());
        }
    }
    Ok(())
}

/// The temporary file's name says nothing to a user.
fn named(error: StoreError, out: &Path) -> StoreError {
    match error {
        StoreError::Full { .. } => StoreError::Full { path: out.into() },
        StoreError::Write { cause, .. } => StoreError::Write { path: out.into(), cause },
        other => other,
    }
}

/// Copies the runs, numbered from 1, and counts their rows.
fn fill(path: &Path, kept: &[Found], inputs: &[PathBuf]) -> Result<u64, StoreError> {
    let failed = |error| StoreError::of(path, error);
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_URI;
    // Nobody else writes it, so it needs no locks: some file systems have none, and on others those of the part that
    // it is would be in SQLite's way.
    let mut new = Connection::open_with_flags(uri(path, "vfs=unix-none"), flags).map_err(failed)?;
    // What is left of a merge that was cut short has no name and is thrown away: no journal is needed.
    new.execute_batch("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF").map_err(failed)?;
    schema::create(&mut new).map_err(failed)?;
    for (file, input) in inputs.iter().enumerate() {
        let of_file = kept.iter().enumerate().filter(|(_, found)| found.file == file);
        let runs: Vec<(i64, i64)> =
            of_file.map(|(at, found)| (found.run.run, at as i64 + 1)).collect();
        copy(&mut new, input, &runs).map_err(|error| blamed(error, path, input))?;
    }
    let rows = new.query_row("SELECT count(*) FROM rows", [], |row| row.get::<_, i64>(0));
    rows.map(i64::unsigned_abs).map_err(failed)
}

/// A full disk is the new file's, anything else that of the file which is read.
fn blamed(error: rusqlite::Error, new: &Path, input: &Path) -> StoreError {
    match StoreError::of(new, error) {
        full @ StoreError::Full { .. } => full,
        StoreError::Damaged { cause, .. } => StoreError::Damaged { path: input.into(), cause },
        StoreError::NotSqlite { .. } => StoreError::NotSqlite { path: input.into() },
        other => other,
    }
}

/// Copies runs (their number in the file, their number in the new one) with all that belongs to them.
fn copy(new: &mut Connection, input: &Path, runs: &[(i64, i64)]) -> rusqlite::Result<()> {
    new.execute("ATTACH DATABASE ?1 AS other", [uri(input, "vfs=unix&mode=ro")])?;
    let transaction = new.transaction()?;
    for table in tables(&transaction)? {
        let columns = columns(&transaction, &table)?;
        let sql = format!(
            "INSERT INTO main.\"{table}\" (run, {columns})
             SELECT ?2, {columns} FROM other.\"{table}\" WHERE run = ?1 ORDER BY rowid"
        );
        let mut statement = transaction.prepare(&sql)?;
        runs.iter().try_for_each(|(old, new)| statement.execute(params![old, new]).map(drop))?;
    }
    transaction.commit()?;
    new.execute_batch("DETACH DATABASE other")
}

/// A path as SQLite reads it, whatever characters it has (sqlite.org, "Uniform Resource Identifiers").
fn uri(path: &Path, options: &str) -> String {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.into());
    let mut uri = String::from("file://");
    for byte in path.as_os_str().as_bytes() {
        match byte {
            b'/' | b'-' | b'.' | b'_' => uri.push(char::from(*byte)),
            _ if byte.is_ascii_alphanumeric() => uri.push(char::from(*byte)),
            _ => uri += &format!("%{byte:02X}"),
        }
    }
    format!("{uri}?{options}")
}

/// The tables in the order in which they were made: what others refer to comes first.
fn tables(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let mut statement = connection
        .prepare("SELECT name FROM main.sqlite_master WHERE type = 'table' ORDER BY rowid")?;
    statement.query_map([], |row| row.get(0))?.collect()
}

/// All columns of a table but the run's number.
fn columns(connection: &Connection, table: &str) -> rusqlite::Result<String> {
    let sql = "SELECT group_concat('\"' || name || '\"', ', ') FROM pragma_table_info(?1)
               WHERE name <> 'run'";
    connection.query_row(sql, [table], |row| row.get(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// On network file systems the lock of the part counts as such a one.
    #[test]
    fn a_lock_on_the_part_is_not_in_the_way() {
        let part = tempfile::NamedTempFile::new().unwrap();
        let other = Connection::open(part.path()).unwrap();
        other.execute_batch("BEGIN EXCLUSIVE").unwrap();
        assert_eq!(fill(part.path(), &[], &[]).unwrap(), 0);
    }
}
