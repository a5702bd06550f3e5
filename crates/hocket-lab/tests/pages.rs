//! Pages of runs that are ordinary, empty, odd and hostile.

use hocket_lab::harness::{
    Check, Design, ExperimentRun, Historic, LedgerEntry, Plot, Quantiles, Results, Rounds, Row,
    Sample, Size, Variant,
};
use hocket_lab::pages::{Lab, html, text};
use hocket_lab::store::RunRecord;
use serde_json::{Value, json};

const HOSTILE: &str = "</title><script>alert(1)</script> & \"x\"\u{1b}[31m";

fn record(meta: Value) -> RunRecord {
    RunRecord {
        run: 3,
        uuid: "1a2b3c4d5e6f".into(),
        started_at: "2026-05-01T10:00:00Z".into(),
        ended_at: None,
        host: HOSTILE.into(),
        seed: u64::MAX,
        meta,
        experiments: Vec::new(),
    }
}

fn row(variant: &str, round: u32, value: f64) -> Row {
    Row {
        process: 0,
        round,
        turn: 0,
        warm_up: false,
        variant: variant.into(),
        cpus: vec![0],
        started_ns: 0,
        unit: "ns".into(),
        sample: Sample {
            metric: "time".into(),
            value,
            ops: 1,
            check: Check::Passed,
            distribution: Quantiles::of(&[value, value * 2.0]),
        },
        ledger: LedgerEntry::default(),
        flags: if round.is_multiple_of(9) { vec!["steal".into()] } else { Vec::new() },
    }
}

/// `rounds` of `a`, of `b` that takes `by` as long, and of `a` again.
fn results(id: &str, rounds: u32, by: f64) -> Results {
    let variants = vec![Variant::new("a"), Variant::new(HOSTILE)];
    let design = Design::against_first(variants, "time", Rounds::usual(Size::Quick));
    let value = |round: u32| 100.0 + f64::from(round % 7);
    let turns = |round| {
        let twin = value(round) * if round % 2 == 0 { 1.004 } else { 0.997 };
        [
            row("a", round, value(round)),
            row(HOSTILE, round, value(round) * by),
            row("a (again)", round, twin),
        ]
    };
    let run = ExperimentRun {
        id: id.into(),
        definition: "another".into(),
        size: Size::Quick,
        started_at: "2026-05-01T10:00:00Z".into(),
        design: Some(design.missing(HOSTILE, "there is none")),
        end: "all rounds measured".into(),
        not_measurable: None,
        faults: vec![HOSTILE.into(); 40],
    };
    Results { run, rows: (0..rounds).flat_map(turns).collect(), seed: 1, historic: vec![OLD] }
}

const OLD: Historic = Historic {
    label: "a processor of 2002",
    value: 1.1,
    unit: "us",
    metric: "time",
    variant: Some("a"),
    definition: "One operation.",
    source: "a book, page 7",
};

fn not_measurable(id: &str) -> Results {
    let mut results = results(id, 0, 1.0);
    results.run.design = None;
    results.run.not_measurable = Some("the machine has one CPU".into());
    results
}

/// Page and text, after checking what must hold of every one.
fn both(record: &RunRecord, all: &[Results]) -> (String, String) {
    let lab = Lab::of(record, all);
    let (page, text) = (html(&lab), text(&lab));
    assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>"));
    assert!(!page.contains("<script") && !page.contains("http-equiv=\"refresh\""));
    assert!(!page.contains("src=") && !page.contains("url("), "it would load something");
    assert!(!page.contains('\u{1b}') && !text.contains('\u{1b}'));
    assert!(!page.contains("=\"NaN") && !page.contains("NaN ") && text.ends_with('\n'));
    (page, text)
}

#[test]
fn a_difference_stands_first_and_what_is_below_the_floor_is_grey() {
    let record = record(json!({}));
    let all =
        [results("aa", 60, 1.0), results("false-sharing", 60, 1.5), results("wake", 60, 1.0005)];
    let (page, text) = both(&record, &all);
    let opening = page
        .find("The smallest difference that this machine can show today")
        .expect("it opens with it");
    let verdicts = page.find("Verdicts").expect("a summary");
    assert!(opening < verdicts && verdicts < page.find("Clock").expect("a clock"));
    assert!(page.contains("+50.0 %") && text.contains("+50.0 %"));
    assert!(page.contains("class=\"not-shown\"") && page.contains("no difference shown"));
    assert!(page.contains("run 3 (1a2b3c4d) of 2026-05-01"), "every figure names its record");
    assert!(text.contains("steal"), "{text}");
}

#[test]
fn then_stands_beside_now_with_its_source() {
    let record = record(json!({}));
    let all = [results("false-sharing", 60, 2.0)];
    let (page, text) = both(&record, &all);
    for told in [&page, &text] {
        assert!(
            told.contains("a book, page 7")
                && told.contains("1.10 µs")
                && told.contains("a processor of 2002")
        );
    }
    assert!(page.contains("1.10 µs → 103 ns"), "in one unit");
}

#[test]
fn what_cannot_be_measured_is_told_with_its_reason() {
    let record = record(json!({}));
    let (page, text) = both(&record, &[not_measurable("false-sharing")]);
    assert!(page.contains("the machine has one CPU") && text.contains("the machine has one CPU"));
}

#[test]
fn runs_with_little_or_odd_figures_are_reported() {
    let odd = [json!(null), json!({"clock": 7, "grants": {}, "machine": [], "limits": "x"})];
    for record in odd.map(record) {
        both(&record, &[]);
        for (rounds, by) in [(0, 1.0), (1, 1.0), (20, 0.0), (20, f64::NAN), (20, -1.0), (20, 1e300)]
        {
            both(&record, &[results("aa", rounds, by), results("no such experiment", rounds, by)]);
        }
    }
}

#[test]
fn every_plot_of_a_chapter_is_on_the_page_with_its_table() {
    let record = record(json!({}));
    let all = [results("false-sharing", 12, 1.5)];
    let mut lab = Lab::of(&record, &all);
    let names = vec!["CPU 0".to_string(), "CPU 1".into()];
    let cells = vec![vec![None, Some(42.0)], vec![Some(43.0), None]];
    let heat = Plot::Heat {
        title: "hand-over".into(),
        unit: "ns".into(),
        rows: names.clone(),
        columns: names,
        cells,
        borders: vec![],
    };
    lab.chapters[0].plots = vec![heat];
    assert!(html(&lab).contains("CPU 0, CPU 1: 42.0 ns") && text(&lab).contains("42.00"));
}
