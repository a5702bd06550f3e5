//! Record files that are good and bad.

use std::path::PathBuf;

use serde_json::json;
use tempfile::TempDir;

use super::{Definitions, Merged, RunHead, RunRecord, Store, StoreError, merge};
use crate::harness::{
    Check, Design, ExperimentRun, LedgerEntry, Quantiles, Relation, Rounds, Row, Sample, Size,
    Variant,
};

fn head(uuid: &str, started_at: &str) -> RunHead {
    let (uuid, started_at) = (uuid.into(), started_at.into());
    RunHead { uuid, started_at, host: "h".into(), seed: u64::MAX, meta: json!({ "cpus": [0, 1] }) }
}

fn experiment() -> ExperimentRun {
    let variants = vec![Variant::new("a").on(&[0, 1], Some(Relation::Siblings)), Variant::new("b")];
    ExperimentRun {
        id: "wake".into(),
        definition: "0123".into(),
        size: Size::Full,
        started_at: "2026-01-02T03:04:05Z".into(),
        design: Some(Design::against_first(variants, "time", Rounds::usual(Size::Full))),
        end: "all rounds measured".into(),
        not_measurable: None,
        faults: vec!["b, round 3: \"quoted\"".into()],
    }
}

fn row(variant: &str, round: u32, value: f64) -> Row {
    Row {
        process: 1,
        round,
        turn: 0,
        warm_up: round == 0,
        variant: variant.into(),
        cpus: vec![0, 1],
        started_ns: 1_700_000_000_000_000_000,
        unit: "ns".into(),
        sample: Sample {
            metric: "time".into(),
            value,
            ops: 7,
            check: Check::Failed("it is 3".into()),
            distribution: Quantiles::of(&[1.0, 2.0, 9.0]),
        },
        ledger: LedgerEntry { wall_ns: 5, faults: Some(3), ..LedgerEntry::default() },
        flags: vec!["steal".into(), "foreign".into()],
    }
}

pub(super) fn filled() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("new/lab.sqlite");
    let mut store = Store::open_or_create(&path).unwrap();
    for (uuid, date) in [("aaaa1111", "2026-01-01T00:00:00Z"), ("bbbb2222", "2026-01-02T00:00:00Z")]
    {
        let mut run = store.begin_run(&head(uuid, date)).unwrap();
        run.begin(&experiment()).unwrap();
        run.rows("wake", &[row("a", 0, 1.5), row("b", 1, 0.1)]).unwrap();
        run.finish(&experiment()).unwrap();
        run.end("2026-01-02T00:00:01Z", json!({ "load_after": 1.0 })).unwrap();
    }
    (folder, path)
}

/// Rows of two runs at once would each be whole, and each would disturb what the other one measures.
#[test]
fn a_second_run_waits_for_the_first() {
    let (_folder, path) = filled();
    let mut first = Store::open_or_create(&path).unwrap();
    let mut second = Store::open_or_create(&path).unwrap();
    let run = first.begin_run(&head("cccc3333", "2026-01-03T00:00:00Z")).unwrap();
    let refused = second.begin_run(&head("dddd4444", "2026-01-03T00:00:00Z")).unwrap_err();
    assert!(matches!(refused, StoreError::Busy { .. }), "{refused}");
    assert_eq!(Store::open(&path).unwrap().runs().unwrap().len(), 3, "readers may come");
    run.end("2026-01-03T00:00:01Z", json!({ "interrupted": true })).unwrap();
    drop(first);
    second.begin_run(&head("dddd4444", "2026-01-03T00:00:00Z")).unwrap();
    let ends = || -> Vec<String> {
        let runs = Store::open(&path).unwrap().runs().unwrap();
        runs[1..].iter().map(RunRecord::end).collect()
    };
    let (ended, cut) = ("ended 2026-01-02T00:00:01Z", "interrupted 2026-01-03T00:00:01Z");
    assert_eq!(ends(), [ended, cut, "still being measured"]);
    drop(second);
    // A process that another test has just started may hold the lock for a moment.
    let begun = std::time::Instant::now();
    while ends()[2] != "killed before its end" {
        assert!(begun.elapsed().as_secs() < 10, "{:?}", ends());
    }
}

/// Where locks of flock(2) would be in SQLite's way, its own keep the second run out.
#[test]
fn on_a_network_file_system_sqlites_locks_last_for_the_run() {
    let (_folder, path) = filled();
    let open = || {
        let mut store = Store::open_or_create(&path).unwrap();
        store.shared_on = Some("nfs4".into());
        store.connection.busy_timeout(std::time::Duration::ZERO).unwrap();
        store
    };
    let (mut first, mut second) = (open(), open());
    let run = first.begin_run(&head("cccc3333", "2026-01-03T00:00:00Z")).unwrap();
    let refused = second.begin_run(&head("dddd4444", "2026-01-03T00:00:00Z")).unwrap_err();
    assert!(matches!(refused, StoreError::Busy { .. }) && !refused.is_bad_input(), "{refused}");
    assert!(second.lock.is_none());
    run.end("2026-01-03T00:00:01Z", json!({})).unwrap();
    let other = head("dddd4444", "2026-01-03T00:00:00Z");
    assert!(second.begin_run(&other).is_err(), "until the file is closed");
    drop(first);
    second.begin_run(&other).unwrap();
    assert!(!second.runs().unwrap()[3].running, "nobody can tell");
}

#[test]
fn a_file_system_without_locks_is_told() {
    for code in [rusqlite::ffi::SQLITE_IOERR_LOCK, rusqlite::ffi::SQLITE_IOERR_RDLOCK] {
        let error = rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(code), None);
        let told = StoreError::of(std::path::Path::new("lab.sqlite"), error);
        assert!(matches!(told, StoreError::NoLocks { .. }) && !told.is_bad_input(), "{told}");
        assert!(told.to_string().contains("a local disk with --records"), "{told}");
    }
}

/// A copy of a file and its journal in the middle of a transaction, as a killed run leaves them.
fn cut_short() -> (TempDir, PathBuf) {
    let (folder, path) = filled();
    let mut store = Store::open_or_create(&path).unwrap();
    let mut run = store.begin_run(&head("cccc3333", "2026-01-03T00:00:00Z")).unwrap();
    run.rows("wake", &vec![row("a", 0, 1.0); 2000]).unwrap();
    // More pages change than SQLite keeps in memory, so it writes some of them before the end.
    let change = "PRAGMA cache_size = 10; BEGIN; UPDATE rows SET value = -1";
    store.connection.execute_batch(change).unwrap();
    let copy = folder.path().join("copy.sqlite");
    for ending in ["", "-journal"] {
        let of = |path: &std::path::Path| format!("{}{ending}", path.display());
        assert!(std::fs::copy(of(&path), of(&copy)).unwrap() > 0, "{ending}");
    }
    (folder, copy)
}

#[test]
fn a_turn_that_was_cut_short_is_taken_back_by_the_next_reader() {
    let (_folder, path) = cut_short();
    let store = Store::open(&path).unwrap();
    let changed = store.query("SELECT count(*), sum(value < 0) FROM rows").unwrap();
    assert_eq!(changed.rows, [[json!(2004), json!(0)]]);
    assert_eq!(store.choose("last").unwrap().end(), "killed before its end");
}

/// Anybody else's name for a file, and a run that goes on.
#[test]
fn files_of_any_name_are_merged_and_runs_that_go_on_are_named() {
    use std::os::unix::ffi::OsStrExt;
    let (folder, path) = filled();
    let odd = std::ffi::OsStr::from_bytes(b"100% a?b#c \xff.sqlite");
    let odd = folder.path().join(odd);
    std::fs::rename(&path, &odd).unwrap();
    let out = folder.path().join("file: x%20?mode=ro");
    let merged = merge(&out, std::slice::from_ref(&odd), Definitions::One).unwrap();
    let expected = Merged { runs: 2, duplicates: 0, rows: 4, unended: Vec::new() };
    assert_eq!(merged, expected);
    assert_eq!(Store::open(&out).unwrap().runs().unwrap().len(), 2);

    let mut store = Store::open_or_create(&odd).unwrap();
    let _run = store.begin_run(&head("cccc3333", "2026-01-03T00:00:00Z")).unwrap();
    let again = folder.path().join("again.sqlite");
    let merged = merge(&again, std::slice::from_ref(&odd), Definitions::One).unwrap();
    assert_eq!(merged, Merged { runs: 3, unended: vec![odd], ..expected });
}

#[test]
fn what_is_read_equals_what_was_written() {
    let (_folder, path) = filled();
    let store = Store::open(&path).unwrap();
    let run = store.choose("last").unwrap();
    assert_eq!(run.experiments, [experiment()]);
    assert_eq!(
        (run.seed, &run.meta["cpus"][1], &run.meta["load_after"]),
        (u64::MAX, &json!(1), &json!(1.0))
    );
    let results = store.results(&run, &run.experiments[0]).unwrap();
    assert_eq!(results.rows, [row("a", 0, 1.5), row("b", 1, 0.1)]);
    assert_eq!((results.values("a", "time"), results.values("b", "time")), (vec![], vec![0.1]));
}

#[test]
fn runs_are_found_by_number_place_date_and_id() {
    let (_folder, path) = filled();
    let store = Store::open(&path).unwrap();
    let number = |asked| store.choose(asked).map(|run| run.run);
    for (asked, expected) in [
        ("1", 1),
        ("2", 2),
        ("last", 2),
        ("last~1", 1),
        ("2026-01-01", 1),
        ("bbbb", 2),
        ("2026-01", 2),
    ] {
        assert_eq!(number(asked).ok(), Some(expected), "{asked}");
    }
    for asked in ["3", "last~2", "lastly", "2027", "cccc", ""] {
        let told = number(asked).unwrap_err().to_string();
        assert!(told.contains("runs 1 to 2"), "{told}");
    }
}

#[test]
fn a_question_cannot_change_the_file() {
    let (_folder, path) = filled();
    let store = Store::open(&path).unwrap();
    let table =
        store.query("SELECT variant, max(value) AS top FROM rows GROUP BY 1 ORDER BY 1").unwrap();
    assert_eq!(
        (table.columns, &table.rows[0]),
        (vec!["variant".into(), "top".into()], &vec![json!("a"), json!(1.5)])
    );
    for sql in ["DELETE FROM rows", "SELECT nothing", "", "DROP TABLE runs"] {
        let refused = store.query(sql);
        let is = matches!(refused, Err(StoreError::Query { .. } | StoreError::NotAQuestion));
        assert!(is, "{sql}");
    }
    assert_eq!(store.query("SELECT count(*) FROM rows").unwrap().rows, [[json!(4)]]);
}

/// The file is refused, for reading and for writing, and stays as it is.
#[track_caller]
fn refused(path: &std::path::Path, is: fn(&StoreError) -> bool) {
    let before = std::fs::read(path).unwrap();
    for result in [Store::open(path), Store::open_or_create(path)] {
        let error = result.map(drop).expect_err("it must be refused");
        assert!(is(&error) && error.is_bad_input(), "{error:?}");
        assert!(error.to_string().contains("--records"), "{error}");
    }
    assert_eq!(std::fs::read(path).unwrap(), before);
}

#[test]
fn files_of_others_are_refused_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let text = folder.path().join("notes.txt");
    std::fs::write(
        &text,
        "these are the notes of somebody, and they are longer than a header".repeat(9),
    )
    .unwrap();
    refused(&text, |error| matches!(error, StoreError::NotSqlite { .. }));
    let other = folder.path().join("other.sqlite");
    rusqlite::Connection::open(&other).unwrap().execute_batch("CREATE TABLE t (x)").unwrap();
    refused(&other, |error| matches!(error, StoreError::NotARecord { .. }));
}

#[test]
fn another_version_is_refused_with_both_numbers() {
    let (_folder, path) = filled();
    rusqlite::Connection::open(&path).unwrap().execute_batch("PRAGMA user_version = 99").unwrap();
    refused(&path, |error| matches!(error, StoreError::OtherVersion { found: 99, .. }));
}

#[test]
fn a_damaged_file_is_refused() {
    let (_folder, path) = filled();
    let mut bytes = std::fs::read(&path).unwrap();
    let middle = 4096 * 3;
    bytes[middle..].fill(0x5A);
    std::fs::write(&path, &bytes).unwrap();
    refused(&path, |error| matches!(error, StoreError::Damaged { .. }));
}

#[test]
fn a_full_disk_keeps_every_turn_before_it() {
    let (_folder, path) = filled();
    let mut store = Store::open_or_create(&path).unwrap();
    let pages: i64 = store.connection.query_row("PRAGMA page_count", [], |row| row.get(0)).unwrap();
    store
        .connection
        .query_row(&format!("PRAGMA max_page_count = {}", pages + 2), [], |_| Ok(()))
        .unwrap();
    let mut run = store.begin_run(&head("cccc3333", "2026-01-03T00:00:00Z")).unwrap();
    let turns =
        (0..1000).map(|round| run.rows("wake", &[row("a", round, 1.0), row("b", round, 1.0)]));
    let results: Vec<_> = turns.take_while(Result::is_ok).collect();
    let error = run.rows("wake", &vec![row("a", 0, 1.0); 1000]).unwrap_err();
    assert!(matches!(error, StoreError::Full { .. }) && !error.is_bad_input(), "{error:?}");
    let kept =
        Store::open(&path).unwrap().query("SELECT count(*) FROM rows WHERE run = 3").unwrap();
    assert_eq!(kept.rows, [[json!(2 * results.len())]]);
}

#[test]
fn a_folder_that_cannot_be_made_is_told() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("file"), "").unwrap();
    let error = Store::open_or_create(&folder.path().join("file/lab.sqlite")).unwrap_err();
    assert!(matches!(error, StoreError::Write { .. }) && !error.is_bad_input(), "{error:?}");
    let missing = Store::open(&folder.path().join("gone.sqlite")).unwrap_err();
    assert!(missing.to_string().contains("hocket lab run"), "{missing}");
}

/// A file with one run of one experiment.
fn of_one(folder: &TempDir, name: &str, uuid: &str, date: &str, definition: &str) -> PathBuf {
    let path = folder.path().join(name);
    let mut store = Store::open_or_create(&path).unwrap();
    let mut run = store.begin_run(&head(uuid, date)).unwrap();
    let measured = ExperimentRun { definition: definition.into(), ..experiment() };
    run.begin(&measured).unwrap();
    run.rows("wake", &[row("a", 0, 1.5), row("b", 1, 0.1)]).unwrap();
    run.end(date, json!({})).unwrap();
    path
}

#[test]
fn many_files_become_one_whatever_their_order() {
    let (folder, both) = filled();
    let later = of_one(&folder, "later", "cccc", "2026-01-03T00:00:00Z", "0123");
    let first = of_one(&folder, "first", "dddd", "2025-01-03T00:00:00Z", "0123");
    let copy = folder.path().join("copy");
    std::fs::copy(&both, &copy).unwrap();
    let (a, b) = (folder.path().join("deep/a"), folder.path().join("b"));
    let merged =
        merge(&a, &[later.clone(), copy.clone(), first.clone(), both.clone()], Definitions::One);
    assert_eq!(merged.unwrap(), Merged { runs: 4, duplicates: 2, rows: 8, unended: Vec::new() });
    merge(&b, &[both.clone(), first, copy, later], Definitions::One).unwrap();
    let runs = |path| Store::open(path).unwrap().runs().unwrap();
    assert_eq!(runs(&a), runs(&b));
    let order: Vec<_> = runs(&a).iter().map(|run| (run.run, run.uuid.clone())).collect();
    let expected = ["dddd", "aaaa1111", "bbbb2222", "cccc"];
    assert!(
        order
            .iter()
            .zip(expected)
            .enumerate()
            .all(|(at, ((n, uuid), e))| *n == at as i64 + 1 && uuid == e)
    );
    let (old, new) = (Store::open(&both).unwrap(), Store::open(&a).unwrap());
    let results = |store: &Store, run: &str| {
        let run = store.choose(run).unwrap();
        store.results(&run, &run.experiments[0]).unwrap().rows
    };
    assert_eq!(results(&new, "bbbb2222"), results(&old, "bbbb2222"));
}

#[test]
fn what_cannot_be_merged_is_named_and_nothing_is_written() {
    let (folder, good) = filled();
    let date = "2026-01-01T00:00:00Z";
    let other = of_one(&folder, "other", "eeee", date, "4567");
    let twin = of_one(&folder, "twin", "aaaa1111", date, "0123");
    // The same sums, and yet another figure: a variant that bears another name.
    let renamed = folder.path().join("renamed");
    std::fs::copy(&good, &renamed).unwrap();
    let changed = rusqlite::Connection::open(&renamed).unwrap();
    changed
        .execute(
            "UPDATE rows SET variant = 'other' WHERE rowid = (SELECT min(rowid) FROM rows)",
            [],
        )
        .unwrap();
    drop(changed);
    let damaged = folder.path().join("damaged");
    let bytes = std::fs::read(&good).unwrap();
    std::fs::write(&damaged, &bytes[..bytes.len() / 2]).unwrap();
    let text = folder.path().join("text");
    std::fs::write(&text, "no record, but long enough to be looked at by anybody who wants to")
        .unwrap();
    let before = std::fs::read_dir(folder.path()).unwrap().count();
    let out = folder.path().join("out");
    for (input, words) in [
        (&other, &["'wake'", "0123", "4567", "--mixed", "other"][..]),
        (&twin, &["aaaa1111", "twin"]),
        (&renamed, &["aaaa1111", "renamed"]),
        (&damaged, &["damaged: damaged"]),
        (&text, &["text: ", "not SQLite"]),
        (&folder.path().join("nowhere"), &["nowhere: cannot be read"]),
    ] {
        let told = merge(&out, &[good.clone(), input.clone()], Definitions::One);
        let told = told.expect_err(words[0]);
        assert!(told.is_bad_input());
        assert!(words.iter().all(|word| told.to_string().contains(word)), "{told}");
    }
    let onto = merge(&other, std::slice::from_ref(&good), Definitions::One);
    assert!(matches!(onto, Err(StoreError::Exists { .. })), "{onto:?}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), before);
    assert_eq!(merge(&out, &[good, other], Definitions::Mixed).unwrap().runs, 3);
}

#[test]
fn a_question_writes_nothing_anywhere() {
    let (folder, path) = filled();
    let store = Store::open(&path).unwrap();
    let elsewhere = folder.path().join("elsewhere");
    for sql in [
        format!("VACUUM INTO '{}'", elsewhere.display()),
        format!("ATTACH DATABASE '{}' AS x", elsewhere.display()),
        "DELETE FROM rows RETURNING value".into(),
        "PRAGMA user_version = 9".into(),
    ] {
        assert!(matches!(store.query(&sql), Err(StoreError::NotAQuestion)), "{sql}");
    }
    assert!(!elsewhere.exists());
    assert_eq!(store.query("SELECT count(*) FROM rows").unwrap().rows[0][0], 4);
}
