//! Record files of the lab, and their pages.

use std::ops::ControlFlow;

use hocket_lab::harness::Results;
use hocket_lab::pages::{Lab, html, pictures, short, text};
use hocket_lab::store::{Csv, RunRecord, Store, StoreError};

use super::scratch;

pub fn check(bytes: &[u8]) {
    let path = scratch::file("lab.sqlite", bytes);
    if let Err(error) = Store::open(&path).and_then(|store| look(&store)) {
        assert!(!error.to_string().is_empty());
    }
    assert_eq!(std::fs::read(&path).expect("it is there"), bytes, "reading changed the file");
}

/// Everything that is shown of a file.
fn look(store: &Store) -> Result<(), StoreError> {
    for run in store.runs()? {
        show(store, &run)?;
        let mut rows = String::new();
        let mut csv = Csv::new(|line: &str| {
            rows += line;
            ControlFlow::Continue(())
        });
        store.export(Some(run.run), &mut csv)?;
        assert!(rows.starts_with("uuid,"));
    }
    Ok(())
}

fn show(store: &Store, run: &RunRecord) -> Result<(), StoreError> {
    let results = run.experiments.iter().map(|experiment| store.results(run, experiment));
    let all: Vec<Results> = results.collect::<Result<_, _>>()?;
    let lab = Lab::of(run, &all);
    let page = html(&lab);
    assert!(!page.contains("<script"), "a record brings a script");
    for text in [text(&lab), short(&lab)] {
        assert!(!text.contains('\u{1b}'), "a record drives the terminal");
    }
    assert!(pictures(&lab).iter().all(|picture| !picture.svg.contains("<script")));
    Ok(())
}
