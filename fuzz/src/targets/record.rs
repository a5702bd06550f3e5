//! Records of `hocket bench`, and their report.

use std::path::Path;
use std::sync::OnceLock;

use hocket_lab::record::{BenchRecord, fixture};
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
    *COUNT.get_or_init(|| scripts(&html(&fixture::example(1))))
}
