//! What a Parquet file says is what the record file says.

use std::path::Path;

use ::parquet::file::reader::{FileReader, SerializedFileReader};
use ::parquet::record::Field;
use serde_json::{Value, json};

use super::super::tests::filled;
use super::*;

/// The rows as the crate's own reader sees them, and in how many groups they are.
fn read(path: &Path) -> (Vec<Vec<(String, Field)>>, usize) {
    let reader = SerializedFileReader::new(File::open(path).unwrap()).unwrap();
    let groups = reader.num_row_groups();
    let rows = reader.get_row_iter(None).unwrap();
    (rows.map(|row| row.unwrap().into_columns()).collect(), groups)
}

/// As SQLite has it.
fn value(field: &Field) -> Value {
    match field {
        Field::Null => Value::Null,
        Field::Bool(yes) => json!(i64::from(*yes)),
        Field::Long(number) => json!(number),
        Field::Double(number) => json!(number),
        Field::Str(text) => json!(text),
        other => panic!("a type that is not written: {other:?}"),
    }
}

#[track_caller]
fn same(store: &Store, run: Option<i64>, file: &Path) -> usize {
    let (rows, groups) = read(file);
    let table = store.export(run).unwrap();
    assert_eq!(rows.len(), table.rows.len());
    for (row, expected) in rows.iter().zip(&table.rows) {
        assert!(row.iter().map(|(name, _)| name).eq(&table.columns));
        assert!(row.iter().map(|(_, field)| value(field)).eq(expected.iter().cloned()), "{row:?}");
    }
    groups
}

#[test]
fn every_value_and_null_comes_back_with_its_type() {
    let (folder, path) = filled();
    let store = Store::open(&path).unwrap();
    let (all, one) = (folder.path().join("sub/all.parquet"), folder.path().join("one.parquet"));
    assert_eq!(store.write_parquet(None, &all).unwrap(), 4);
    assert_eq!(store.write_parquet(Some(2), &one).unwrap(), 2);
    assert_eq!((same(&store, None, &all), same(&store, Some(2), &one)), (1, 1));
    let (rows, _) = read(&one);
    let field = |name: &str| &rows[0].iter().find(|(n, _)| n == name).unwrap().1;
    assert_eq!(field("warm_up"), &Field::Bool(true));
    assert_eq!(field("value"), &Field::Double(1.5));
    assert_eq!(field("wall_ns"), &Field::Long(5));
    assert_eq!(field("faults"), &Field::Long(3));
    assert_eq!(field("steal_ns"), &Field::Null);
    assert_eq!(field("check_note"), &Field::Str("it is 3".into()));
    assert_eq!(field("job_host"), &Field::Null);
}

#[test]
fn a_long_record_is_written_in_groups_and_an_empty_one_too() {
    let (folder, path) = filled();
    let more = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 70000)
                INSERT INTO rows SELECT rows.* FROM n, rows WHERE rows.rowid = 1;
                UPDATE rows SET round = rowid, value = rowid / 3.0,
                                steal_ns = iif(rowid % 3 = 0, rowid, NULL);
                UPDATE runs SET meta = '{\"job\":{\"host\":\"node1\"}}' WHERE run = 1";
    rusqlite::Connection::open(&path).unwrap().execute_batch(more).unwrap();
    let store = Store::open(&path).unwrap();
    let (long, empty) = (folder.path().join("long"), folder.path().join("empty"));
    assert_eq!(store.write_parquet(None, &long).unwrap(), 70_004);
    assert_eq!(same(&store, None, &long), 2);
    assert_eq!(store.write_parquet(Some(9), &empty).unwrap(), 0);
    assert_eq!(same(&store, Some(9), &empty), 0);
}

#[test]
fn a_file_that_is_there_is_kept_and_nothing_is_left_of_a_failure() {
    let (folder, path) = filled();
    let store = Store::open(&path).unwrap();
    let notes = folder.path().join("notes");
    std::fs::write(&notes, "mine").unwrap();
    let refused = store.write_parquet(None, &notes);
    assert!(matches!(refused, Err(StoreError::Exists { .. })), "{refused:?}");
    assert_eq!(std::fs::read_to_string(&notes).unwrap(), "mine");
    let inside = store.write_parquet(None, &notes.join("new.parquet"));
    assert!(matches!(inside, Err(StoreError::Write { .. })), "{inside:?}");
    let left = std::fs::read_dir(folder.path()).unwrap();
    assert!(
        left.flatten().all(|entry| !entry.file_name().to_string_lossy().starts_with(".hocket"))
    );
}
