//! A benchmark's samples as a run of the record file, so that they are asked for as those of experiments are.

use std::path::Path;

use hocket_machine::Topology;
use serde_json::{Value, json};

use super::{RunHead, Store, StoreError};
use crate::about;
use crate::harness::{
    Check, Design, ExperimentRun, LedgerEntry, Rounds, Row, Sample, Size, Variant, fresh_uuid,
    host_digest,
};

/// Figures of one way, in the order in which they were measured.
#[derive(Debug, Clone, PartialEq)]
pub struct BenchSeries {
    /// The way, with what was varied.
    pub variant: Variant,
    /// What was measured.
    pub metric: &'static str,
    /// In nanoseconds: what was measured is how long it took.
    pub values_ns: Vec<f64>,
}

/// What stands about a benchmark's run.
#[derive(Debug, Clone, PartialEq)]
pub struct BenchRun {
    /// The benchmark's name; in the file it stands where experiments have theirs.
    pub name: &'static str,
    /// What its figures mean, and in which version.
    pub definition: String,
    /// When it began.
    pub started_at: String,
    /// When it began, nanoseconds since 1970. No figure has a time of its own.
    pub started_ns: u64,
    /// Where random choices came from.
    pub seed: u64,
    /// The words of the command.
    pub command: Vec<String>,
    /// Everything else.
    pub more: Value,
}

impl Store {
    /// Adds a whole run of a benchmark that has ended. Its results were checked, or it would have failed. It is one process
    /// start, so nothing is compared.
    ///
    /// Thread: control. Cost: a row for each figure.
    ///
    /// # Errors
    /// [`StoreError`]; after one there may be a run without an end in the file.
    pub fn add_bench(
        &mut self,
        bench: &BenchRun,
        topology: &Topology,
        series: &[BenchSeries],
    ) -> Result<(), StoreError> {
        let host = host_digest(topology);
        let meta = json!({
            "build": about::build(),
            "command": bench.command,
            "machine": about::machine(topology),
            "bench": bench.more,
        });
        let head = RunHead {
            uuid: fresh_uuid(bench.seed, &host),
            started_at: bench.started_at.clone(),
            host,
            seed: bench.seed,
            meta,
        };
        let experiment = experiment(bench, series);
        let mut run = self.begin_run(&head)?;
        run.begin(&experiment)?;
        for (turn, one) in (0..).zip(series) {
            run.rows(bench.name, &rows(bench, turn, one))?;
        }
        run.finish(&ExperimentRun { end: "all rounds measured".into(), ..experiment })?;
        run.end(&about::now(), json!({}))
    }
}

fn experiment(bench: &BenchRun, series: &[BenchSeries]) -> ExperimentRun {
    let longest = series.iter().map(|one| one.values_ns.len()).max().unwrap_or(0);
    let rounds = Rounds { processes: 1, per_process: longest as u32, warm_up: 0 };
    let variants = series.iter().map(|one| one.variant.clone()).collect();
    ExperimentRun {
        definition: bench.definition.clone(),
        started_at: bench.started_at.clone(),
        design: Some(Design::facts(variants, rounds)),
        ..ExperimentRun::new(bench.name, Size::Full)
    }
}

fn rows(bench: &BenchRun, turn: u32, series: &BenchSeries) -> Vec<Row> {
    let row = |(round, value): (u32, &f64)| {
        let sample = Sample::new(series.metric, *value, 1, Check::Passed);
        Row {
            turn,
            cpus: series.variant.cpus.clone(),
            started_ns: bench.started_ns,
            unit: "ns".into(),
            ledger: LedgerEntry { wall_ns: *value as u64, ..LedgerEntry::default() },
            ..Row::new(&series.variant.name, 0, round, sample)
        }
    };
    (0..).zip(&series.values_ns).map(row).collect()
}

/// Whether a record is to be one of the lab's files: its name ends as theirs.
pub fn is_store(path: &Path) -> bool {
    path.extension().is_some_and(|end| end == "sqlite")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bench() -> BenchRun {
        BenchRun {
            name: "executors",
            definition: "hocket-executors/2".into(),
            started_at: "2026-11-30T05:00:00Z".into(),
            started_ns: 1_795_000_000_000_000_000,
            seed: 1,
            command: vec!["cargo".into(), "bench".into()],
            more: json!({ "frames": 64 }),
        }
    }

    fn series(name: &str, values_ns: &[f64]) -> BenchSeries {
        let variant = Variant::new(name).with("graph", "light");
        BenchSeries { variant, metric: "block", values_ns: values_ns.to_vec() }
    }

    #[test]
    fn a_benchmarks_rows_are_read_and_asked_for_as_those_of_experiments() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("records.sqlite");
        assert!(is_store(&path) && !is_store(Path::new("record.json")));
        let topology = crate::harness::Host::described_with_smt().topology;
        let all = [series("light serial", &[10.0, 11.0, 12.0]), series("light auto", &[6.0, 7.0])];
        for _ in 0..2 {
            let mut store = Store::open_or_create(&path).unwrap();
            store.add_bench(&bench(), &topology, &all).unwrap();
        }
        let store = Store::open(&path).unwrap();
        let runs = store.runs().unwrap();
        assert_eq!(runs.len(), 2, "a file is only ever added to");
        assert_ne!(runs[0].uuid, runs[1].uuid);
        assert!(runs[1].ended_at.is_some());
        let results = store.results(&runs[1], &runs[1].experiments[0]).unwrap();
        assert_eq!(results.values("light serial", "block"), [10.0, 11.0, 12.0]);
        assert_eq!(results.median("light auto", "block"), Some(6.5));
        assert!(results.contrasts().is_empty(), "one process start shows no difference");
        let asked = "SELECT variant, count(*), min(value) FROM rows WHERE experiment = 'executors'
                     AND run = 1 GROUP BY variant ORDER BY variant";
        let table = store.query(asked).unwrap();
        assert_eq!(
            table.rows,
            [
                [json!("light auto"), json!(2), json!(6.0)],
                [json!("light serial"), json!(3), json!(10.0)]
            ]
        );
        let mut table = crate::store::Table::default();
        store.export(Some(2), &mut table).unwrap();
        assert_eq!(table.rows.len(), 5);
    }
}
