//! A run of the lab, made up.

use hocket_lab::harness::{
    Check, Design, ExperimentRun, Historic, Quantiles, Results, Rounds, Row, Sample, Size, Variant,
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
    let sample = Sample::new("time", value, 1, Check::Passed);
    let distribution = Quantiles::of(&[value, value * 2.0]);
    let row = Row::new(variant, round % 3, round, Sample { distribution, ..sample });
    let flags = if round.is_multiple_of(9) { vec!["steal".into()] } else { Vec::new() };
    Row { cpus: vec![0], unit: "ns".into(), flags, ..row }
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
        definition: "another".into(),
        started_at: "2026-05-01T10:00:00Z".into(),
        design: Some(design.missing(HOSTILE, "there is none")),
        end: "all rounds measured".into(),
        faults: vec![HOSTILE.into(); 40],
        ..ExperimentRun::new(id, Size::Quick)
    };
    Results { run, rows: (0..rounds).flat_map(turns).collect(), seed: 1, historic: vec![OLD] }
}

const OLD: Historic = Historic::new("a processor of 2002", 1.1, "us", "time")
    .beside("a")
    .means("One operation.")
    .printed_in("a book, page 7");
