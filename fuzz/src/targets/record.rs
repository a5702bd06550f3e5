//! Records of `hocket bench`, and their report.

use std::path::Path;
use std::sync::OnceLock;

use hocket_lab::record::BenchRecord;
use hocket_lab::report::{html, text_table};

pub fn check(bytes: &[u8]) {
    let path = Path::new("record.json");
    let record = match BenchRecord::parse(bytes, path) {
        Ok(record) => record,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    let mut text = Vec::new();
    record.write_json(&mut text).expect("memory takes everything");
    assert_eq!(BenchRecord::parse(&text, path).expect("what Hocket writes"), record);
    assert!(!text_table(&record).is_empty());
    assert!(scripts(&html(&record)) <= honest_scripts(), "a record brings a script");
}

fn scripts(page: &str) -> usize {
    page.matches("<script").count()
}

fn honest_scripts() -> usize {
    static COUNT: OnceLock<usize> = OnceLock::new();
    let record = include_bytes!("../../corpus/record/three-starts.json");
    let honest = || BenchRecord::parse(record, Path::new("record.json")).expect("a record");
    *COUNT.get_or_init(|| scripts(&html(&honest())))
}
