//! A run of the lab, made up.

use hocket_lab::harness::{
    Check, Design, ExperimentRun, Historic, LedgerEntry, Quantiles, Results, Rounds, Row, Sample,
    Size, Variant,
};
use hocket_lab::store::RunRecord;
use serde_json::Value;

/// A name that tries to leave its place.
pub const HOSTILE: &str = "</title><script>alert(1)</script> & \"x\"\u{1b}[31m";

/// A run that holds nothing yet.
pub fn record(meta: Value) -> RunRecord {
    RunRecord {
        run: 3,
        uuid: "1a2b3c4d5e6f".into(),
        started_at: "2026-05-01T10:00:00Z".into(),
        ended_at: None,
        running: false,
        host: HOSTILE.into(),
        seed: u64::MAX,
        meta,
        experiments: Vec::new(),
    }
}

fn row(variant: &str, round: u32, value: f64) -> Row {
    Row {
        process: round % 3,
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
pub fn results(id: &str, rounds: u32, by: f64) -> Results {
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
    differs: None,
    source: "a book, page 7",
};
