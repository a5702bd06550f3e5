//! How often a site says that something changed from one record to the next, of simulated machines on which nothing did.
//! The records are files, and the pages are read.

mod fixture;
mod noise;
mod noisy_bench;

use std::collections::BTreeMap;
use std::path::Path;

use hocket_lab::harness::{Results, Variant};
use hocket_lab::site;
use hocket_lab::store::{RunHead, Store};
use serde_json::json;

/// All pages of a folder, by name.
fn pages(folder: &Path) -> BTreeMap<String, String> {
    let mut pages = BTreeMap::new();
    let put = |name: &str, text: &str| {
        pages.insert(name.to_string(), text.to_string());
        Ok::<(), String>(())
    };
    let made = site::make(&[folder.to_path_buf()], &folder.join("site"), put).expect("pages");
    assert_eq!(made.unread, 0);
    pages
}

/// Of the pages of changes, in the order of their names: whether each says that something differs.
fn changes(pages: &BTreeMap<String, String>) -> Vec<bool> {
    let own = pages.iter().filter(|(name, _)| name.starts_with("change-to-"));
    let differs = |(name, page): (&String, &String)| {
        let differs = page.contains("figure differs") || page.contains("figures differ");
        assert!(differs || page.contains("No difference shown in "), "{name}");
        differs
    };
    own.map(differs).collect()
}

/// Records of a series.
const RECORDS: u64 = 6;

/// Puts the benches of one session into the folder; from `since` on they take so many times as long.
fn put_series(folder: &Path, noise: noisy_bench::Noise, series: u64, since: u64, slowdown: f64) {
    for at in 0..RECORDS {
        let slowdown = if at < since { 1.0 } else { slowdown };
        let mut record = noisy_bench::run_of(noise, slowdown, series * RECORDS + at);
        record.started_at = format!("2026-11-{:02}T20:14:07Z", at + 1);
        record.session.name = format!("series {series}");
        record.write_atomic(folder.join(format!("{series}-{at}.json"))).expect("a record");
    }
}

#[test]
fn series_that_did_not_change_are_called_changed_in_at_most_five_per_cent_of_steps() {
    const SERIES: u64 = 4;
    let (mut all, mut steps) = (0, 0);
    for noise in noisy_bench::NOISES {
        let folder = tempfile::tempdir().expect("a folder");
        (0..SERIES).for_each(|series| put_series(folder.path(), noise, series, 0, 1.0));
        let pages = pages(folder.path());
        let changes = changes(&pages);
        assert_eq!(changes.len() as u64, SERIES * (RECORDS - 1));
        let own = changes.iter().filter(|differs| **differs).count();
        println!("{:15} {own} of {} steps", noise.name, changes.len());
        assert!(own as f64 <= noisy_bench::tolerated(changes.len() as f64), "{}", noise.name);
        (all, steps) = (all + own, steps + changes.len());
        // The page of trends says of each step what its own page says.
        assert_eq!(pages["trends.html"].matches("figure differs</a>").count(), own);
    }
    assert!(all as f64 <= noisy_bench::tolerated(steps as f64), "{all} of {steps}");
}

#[test]
fn a_step_in_a_series_is_found() {
    const SERIES: u64 = 8;
    let folder = tempfile::tempdir().expect("a folder");
    let noise = noisy_bench::PLACES;
    (0..SERIES).for_each(|series| put_series(folder.path(), noise, series, 3, 1.2));
    let found = changes(&pages(folder.path())).into_iter().filter(|differs| *differs).count();
    println!("{found} of {SERIES} steps are found");
    assert!(found as u64 > 7 * SERIES / 10, "{found}");
}

/// Runs of the lab.
const RUNS: u64 = 8;

/// Writes runs of one experiment on one machine; the last one with `effect`.
fn put_runs(path: &Path, noise: noise::Noise, store: u64, effect: f64) {
    let size = noise::Size { rounds: 6, ..noise::QUICK };
    let design = noise::design(size, 12);
    let mut file = Store::open_or_create(path).expect("a store");
    for at in 0..RUNS {
        let last = at + 1 == RUNS;
        let truth = |variant: &Variant| if last && variant.name == "b3" { effect } else { 1.0 };
        let Results { run, rows, .. } =
            noise::results(noise, "none", &design, truth, store * RUNS + at);
        let head = RunHead {
            uuid: format!("{store}-{at}"),
            started_at: format!("2026-11-{:02}T20:14:07Z", at + 1),
            host: format!("host {store}"),
            seed: at,
            meta: json!({}),
        };
        let mut writer = file.begin_run(&head).expect("a run");
        writer.begin(&run).and_then(|()| writer.rows("none", &rows)).expect("rows");
        writer.finish(&run).expect("an end");
        writer.end(&head.started_at, json!({})).expect("an end");
    }
}

/// Fourteen figures of each run: some are shown alone, and the page must not count those.
#[test]
fn runs_of_the_lab_that_did_not_change_are_called_changed_in_at_most_five_per_cent() {
    let (mut all, mut steps) = (0, 0);
    for (store, noise) in
        (0..).zip([noise::WHITE, noise::NOISES[2], noise::STARTS, noise::NOISES[7]])
    {
        let folder = tempfile::tempdir().expect("a folder");
        put_runs(&folder.path().join("runs.sqlite"), noise, store, 1.0);
        let pages = pages(folder.path());
        let changes = changes(&pages);
        assert_eq!(changes.len() as u64, RUNS - 1);
        let own = changes.iter().filter(|differs| **differs).count();
        let alone = pages.values().filter(|page| page.contains("er, alone<")).count();
        println!("{:12} {own} of {} steps, {alone} with a figure alone", noise.name, changes.len());
        (all, steps) = (all + own, steps + changes.len());
    }
    assert!(all as f64 <= noise::tolerated(steps as f64), "{all} of {steps}");
}

#[test]
fn a_run_of_the_lab_that_changed_is_found() {
    let folder = tempfile::tempdir().expect("a folder");
    put_runs(&folder.path().join("runs.sqlite"), noise::WHITE, 9, 1.3);
    let pages = pages(folder.path());
    assert_eq!(changes(&pages).into_iter().filter(|differs| *differs).count(), 1);
    assert!(pages.values().any(|page| page.contains("1 of 14 figures differs")));
}
