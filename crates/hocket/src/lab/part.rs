//! The record of a job while it grows: a *part* beside its place, `.NAME-….part`, which is a record file, too.
//!
//! A part is locked from its first moment until it has its name, so a free one is that of a killed job. What such a job
//! measured is named, never removed.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{File, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use hocket_lab::store::{Store, StoreError, WriteLock, shared_on};
use tempfile::TempPath;

use super::{failure, open};
use crate::failure::Failure;
use crate::files::folder_of;
use crate::output::note;

/// How a record ends that is not whole yet.
const ENDING: &str = ".part";
/// How many random letters and digits stand before that.
const RANDOM: usize = 6;

/// A record that is being written.
#[derive(Debug)]
pub(super) struct Part {
    path: TempPath,
    lock: WriteLock,
}

impl Part {
    /// A new one; makes the folder where there is none.
    pub(super) fn beside(records: &Path) -> Result<Part, Failure> {
        let folder = folder_of(records);
        let begun = std::fs::create_dir_all(folder).and_then(|()| {
            loop {
                let (file, path) = new_file(records, folder)?;
                if let Some(lock) = WriteLock::of_new(file, &path)? {
                    return Ok(Part { path, lock });
                }
            }
        });
        begun.map_err(|error| not_written(records, &error))
    }

    /// Opens it to add a run.
    pub(super) fn store(&self) -> Result<Store, Failure> {
        let mut store = Store::open_or_create(&self.path).map_err(failure)?;
        store.write_under(&self.lock).map_err(failure)?;
        Ok(store)
    }

    /// Gives it its name, unless something has that name by now.
    pub(super) fn finish(self, records: &Path) -> Result<(), Failure> {
        match hocket_files::rename_new(&self.path, records) {
            Ok(()) => {
                // There is nothing under the old name any more.
                let _ = self.path.keep();
                Ok(())
            }
            Err(error) => Err(self.keep_turns(not_written(records, &error))),
        }
    }

    /// What was measured before something failed is not thrown away.
    pub(super) fn keep_turns(self, failure: Failure) -> Failure {
        let runs = open(&self.path).map(|store| store.runs());
        let has_begun = runs.is_ok_and(|runs| runs.is_ok_and(|runs| !runs.is_empty()));
        match has_begun.then(|| self.path.keep()) {
            Some(Ok(path)) => {
                // Nobody says later that a killed job has left it.
                is_named_first(&path);
                let message = format!("{failure}; what was measured is in {}", path.display());
                Failure { message, ..failure }
            }
            _ => failure,
        }
    }
}

fn new_file(records: &Path, folder: &Path) -> io::Result<(File, TempPath)> {
    let made = tempfile::Builder::new()
        .permissions(Permissions::from_mode(0o666))
        .prefix(&begin_of_parts(records))
        .rand_bytes(RANDOM)
        .suffix(ENDING)
        .tempfile_in(folder)?;
    Ok(made.into_parts())
}

fn begin_of_parts(records: &Path) -> String {
    format!(".{}-", records.file_name().unwrap_or_default().to_string_lossy())
}

fn not_written(records: &Path, error: &io::Error) -> Failure {
    failure(match error.kind() {
        ErrorKind::AlreadyExists => StoreError::Exists { path: records.into() },
        _ => StoreError::Write { path: records.into(), cause: error.to_string() },
    })
}

/// Names what killed jobs of these records have measured, and removes the parts in which nothing was measured.
pub(super) fn name_killed(records: &Path) {
    let begin = begin_of_parts(records);
    let is_part = |name: &str| name.starts_with(&begin) && name.ends_with(ENDING);
    let entries = std::fs::read_dir(folder_of(records)).into_iter().flatten().flatten();
    let parts = entries.filter(|entry| entry.file_name().to_str().is_some_and(is_part));
    parts.for_each(|part| name_if_killed(&part.path()));
}

fn name_if_killed(part: &Path) {
    let (lock, kind) = (WriteLock::of_left(part), shared_on(part));
    if lock.is_none() && kind.is_none() {
        return;
    }
    let whose = match (contents(part), kind) {
        (Contents::Nothing, None) => return remove(part),
        // It may have begun just now, on another machine.
        (Contents::Nothing, Some(_)) | (Contents::InUse, _) => return,
        (Contents::Turns, None) => "a killed job".to_owned(),
        (Contents::Turns, Some(kind)) => {
            format!("a job that was killed, or runs elsewhere on {kind},")
        }
    };
    name(part, &whose);
}

/// Names what killed jobs of any record in this folder have measured. It removes nothing: without the name of a record,
/// nothing tells an empty part from somebody's empty file.
pub(crate) fn name_killed_in(folder: &Path) {
    killed_in(folder).iter().for_each(|part| name(part, "a killed job"));
}

fn killed_in(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let files = entries.filter(|entry| entry.file_type().is_ok_and(|what| what.is_file()));
    let parts = files.filter(|file| is_of_a_job(&file.file_name())).map(|file| file.path());
    let mut killed: Vec<PathBuf> = parts.filter(|part| is_of_a_killed_job(part)).collect();
    killed.sort();
    killed
}

/// `.NAME-XXXXXX.part`
fn is_of_a_job(name: &OsStr) -> bool {
    let inner = name.to_str().and_then(|name| name.strip_prefix('.')?.strip_suffix(ENDING));
    let random = inner.and_then(|inner| inner.rsplit_once('-'));
    random.is_some_and(|(_, random)| {
        random.len() == RANDOM && random.bytes().all(|byte| byte.is_ascii_alphanumeric())
    })
}

/// Whether nobody writes it, and a run was begun in it.
fn is_of_a_killed_job(part: &Path) -> bool {
    // Held while it is read.
    let lock = WriteLock::of_left(part);
    let runs = || Store::open(part).and_then(|store| store.runs());
    lock.is_some() && runs().is_ok_and(|runs| !runs.is_empty())
}

/// Says what is in a part, once in a command.
fn name(part: &Path, whose: &str) {
    if is_named_first(part) {
        note(format_args!(
            "{0} holds what {whose} measured; see it with `hocket lab report --records {0}`, or remove it if no job writes \
             it",
            part.display()
        ));
    }
}

/// Whether this part was not named before.
fn is_named_first(part: &Path) -> bool {
    static NAMED: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());
    let place = part.canonicalize().unwrap_or_else(|_| part.into());
    NAMED.lock().unwrap_or_else(PoisonError::into_inner).insert(place)
}

/// What is in a part.
enum Contents {
    /// No run was begun.
    Nothing,
    /// A run, or something that cannot be read and may be one.
    Turns,
    /// SQLite keeps it for its writer.
    InUse,
}

fn contents(part: &Path) -> Contents {
    if std::fs::metadata(part).is_ok_and(|about| about.len() == 0) {
        return Contents::Nothing;
    }
    match Store::open(part).and_then(|store| store.runs()) {
        Ok(runs) if runs.is_empty() => Contents::Nothing,
        Err(StoreError::Busy { .. } | StoreError::BusyOnNetwork { .. }) => Contents::InUse,
        _ => Contents::Turns,
    }
}

/// With what SQLite kept to take back the making of its tables.
fn remove(part: &Path) {
    let mut journal = part.as_os_str().to_owned();
    journal.push("-journal");
    let _ = std::fs::remove_file(journal);
    if std::fs::remove_file(part).is_ok() {
        crate::leftovers::tell_removed(vec![PathBuf::from(part)]);
    }
}

#[cfg(test)]
mod tests {
    use hocket_lab::store::RunHead;

    use super::*;

    fn begin(store: &mut Store) {
        let head = RunHead {
            uuid: "aaaa1111".into(),
            started_at: "2026-01-01T00:00:00Z".into(),
            host: "h".into(),
            seed: 1,
            meta: serde_json::json!({}),
        };
        store.begin_run(&head).unwrap();
    }

    fn parts(folder: &Path) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        entries.filter(|path| path.extension().is_some_and(|ending| ending == "part")).collect()
    }

    #[test]
    fn a_job_that_has_just_begun_is_no_killed_one() {
        let folder = tempfile::tempdir().unwrap();
        let records = folder.path().join("r.sqlite");
        let part = Part::beside(&records).unwrap();
        assert!(WriteLock::of_left(&part.path).is_none());
        name_killed(&records);
        assert_eq!(parts(folder.path()).len(), 1, "it is not removed");
        let mut store = part.store().unwrap();
        assert!(WriteLock::of_left(&part.path).is_none());
        begin(&mut store);
        drop(store);
        assert!(WriteLock::of_left(&part.path).is_none(), "until it has its name");
        part.finish(&records).unwrap();
        assert!(parts(folder.path()).is_empty());
        assert!(open(&records).unwrap().runs().unwrap()[0].ended_at.is_none());
    }

    #[test]
    fn an_empty_part_of_a_killed_job_is_removed_and_one_with_a_run_stays() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at(".r.sqlite-empty.part"), "").unwrap();
        std::fs::write(at(".r.sqlite-empty.part-journal"), "").unwrap();
        drop(Store::open_or_create(&at(".r.sqlite-tables.part")).unwrap());
        begin(&mut Store::open_or_create(&at(".r.sqlite-run.part")).unwrap());
        std::fs::write(at(".r.sqlite-odd.part"), "something that is no record at all".repeat(9))
            .unwrap();
        std::fs::write(at(".other.sqlite-empty.part"), "").unwrap();
        name_killed(&at("r.sqlite"));
        let stay = [".other.sqlite-empty.part", ".r.sqlite-odd.part", ".r.sqlite-run.part"];
        let mut left: Vec<_> =
            std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
        left.sort();
        assert_eq!(left, stay.map(at));
    }

    #[test]
    fn what_killed_jobs_of_other_records_measured_is_found_in_their_folder() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let killed = at(".r.sqlite-aB3dE6.part");
        begin(&mut Store::open_or_create(&killed).unwrap());
        // Nothing was measured, it is no record, and it is nobody's part.
        drop(Store::open_or_create(&at(".r.sqlite-tables.part")).unwrap());
        std::fs::write(at(".r.sqlite-empty0.part"), "").unwrap();
        std::fs::write(at(".mine-aB3dE6.part"), "something that is no record at all".repeat(9))
            .unwrap();
        begin(&mut Store::open_or_create(&at(".r.sqlite-1.part")).unwrap());
        let part = Part::beside(&at("other.sqlite")).unwrap();
        begin(&mut part.store().unwrap());
        let before = std::fs::read_dir(folder.path()).unwrap().count();
        assert_eq!(killed_in(folder.path()), [killed]);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), before);
    }

    #[test]
    fn what_was_measured_stays_if_somebody_takes_the_name() {
        let folder = tempfile::tempdir().unwrap();
        let records = folder.path().join("r.sqlite");
        let part = Part::beside(&records).unwrap();
        begin(&mut part.store().unwrap());
        std::fs::write(&records, "somebody's").unwrap();
        let told = part.finish(&records).unwrap_err();
        let left = parts(folder.path());
        let [kept] = &left[..] else { panic!("it is thrown away: {told}") };
        assert!(told.message.contains(kept.to_str().unwrap()), "{told}");
        assert_eq!(std::fs::read_to_string(&records).unwrap(), "somebody's");
        assert_eq!(open(kept).unwrap().runs().unwrap().len(), 1);
    }
}
