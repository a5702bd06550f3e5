//! Reading runs.

use rusqlite::Row as SqlRow;
use serde_json::Value;

use super::{Store, StoreError};
use crate::harness::{Check, ExperimentRun, LedgerEntry, Quantiles, Results, Row, Sample, Size};

/// What stands about a run that was kept.
#[derive(Debug, Clone, PartialEq)]
pub struct RunRecord {
    /// Its number in the file.
    pub run: i64,
    /// Unlike that of any other run.
    pub uuid: String,
    /// RFC 3339, UTC.
    pub started_at: String,
    /// The same; `None` where the run was killed, or goes on.
    pub ended_at: Option<String>,
    /// Whether it was being measured when this was read. Where other machines may write the file, nobody can tell: false.
    pub running: bool,
    /// A digest of the machine.
    pub host: String,
    /// Where every random choice came from.
    pub seed: u64,
    /// Everything else.
    pub meta: Value,
    /// Its experiments, in the order in which they were begun.
    pub experiments: Vec<ExperimentRun>,
}

impl RunRecord {
    /// How the run came to its end, in words: `ended` or `interrupted` with the time and how long it took, or that it was
    /// killed or goes on.
    pub fn end(&self) -> String {
        let interrupted = self.meta.get("interrupted").and_then(Value::as_bool) == Some(true);
        let after = self.wall_s().map_or(String::new(), |wall_s| format!(" after {wall_s:.0} s"));
        match (&self.ended_at, interrupted) {
            (Some(at), true) => format!("interrupted {at}{after}"),
            (Some(at), false) => format!("ended {at}{after}"),
            (None, _) if self.running => "still being measured".into(),
            (None, _) => "killed before its end".into(),
        }
    }

    /// How long it took; `None` in records of earlier versions.
    pub fn wall_s(&self) -> Option<f64> {
        self.meta.get("wall_s").and_then(Value::as_f64)
    }

    /// The machine in words: the processor's model, or the digest where that is not known.
    pub fn machine(&self) -> String {
        let model = self.meta.pointer("/machine/facts/cpu_model/value").and_then(Value::as_str);
        model.unwrap_or(&self.host).to_string()
    }
}

impl Store {
    /// All runs, the oldest first.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn runs(&self) -> Result<Vec<RunRecord>, StoreError> {
        let read = || -> rusqlite::Result<Vec<RunRecord>> {
            let mut statement = self.connection.prepare(
                "SELECT run, uuid, started_at, ended_at, host, seed, meta FROM runs ORDER BY run",
            )?;
            let runs: Vec<RunRecord> = statement.query_map([], run)?.collect::<Result<_, _>>()?;
            runs.into_iter().map(|run| self.with_experiments(run)).collect()
        };
        let mut runs = read().map_err(|error| self.failure(error))?;
        // Every new run has the highest number.
        if let Some(last) = runs.last_mut().filter(|run| run.ended_at.is_none()) {
            last.running = self.is_being_written();
        }
        Ok(runs)
    }

    fn with_experiments(&self, run: RunRecord) -> rusqlite::Result<RunRecord> {
        let mut statement = self.connection.prepare_cached(
            "SELECT experiment, definition, size, started_at, \"end\", design, not_measurable, faults
             FROM experiments WHERE run = ?1 ORDER BY rowid",
        )?;
        let experiments = statement.query_map([run.run], experiment)?.collect::<Result<_, _>>()?;
        Ok(RunRecord { experiments, ..run })
    }

    /// The rows of one experiment of a run.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn results(
        &self,
        run: &RunRecord,
        experiment: &ExperimentRun,
    ) -> Result<Results, StoreError> {
        let read = || {
            let mut statement = self.connection.prepare_cached(
                "SELECT * FROM rows WHERE run = ?1 AND experiment = ?2 ORDER BY rowid",
            )?;
            let rows = statement.query_map((run.run, &experiment.id), row)?;
            rows.collect::<rusqlite::Result<Vec<Row>>>()
        };
        let rows = read().map_err(|error| self.failure(error))?;
        let known = crate::experiments::find(&experiment.id);
        let historic = known.map(|known| known.historic()).unwrap_or_default();
        Ok(Results { run: experiment.clone(), rows, seed: run.seed, historic })
    }
}

fn run(row: &SqlRow<'_>) -> rusqlite::Result<RunRecord> {
    Ok(RunRecord {
        run: row.get("run")?,
        uuid: row.get("uuid")?,
        started_at: row.get("started_at")?,
        ended_at: row.get("ended_at")?,
        running: false,
        host: row.get("host")?,
        seed: row.get::<_, String>("seed")?.parse().map_err(|e| damaged(5, e))?,
        meta: parsed(row, "meta", 6)?,
        experiments: Vec::new(),
    })
}

fn experiment(row: &SqlRow<'_>) -> rusqlite::Result<ExperimentRun> {
    let size: String = row.get("size")?;
    let design: Option<String> = row.get("design")?;
    Ok(ExperimentRun {
        id: row.get("experiment")?,
        definition: row.get("definition")?,
        size: if size == Size::Full.name() { Size::Full } else { Size::Quick },
        started_at: row.get("started_at")?,
        end: row.get("end")?,
        design: design
            .map(|text| serde_json::from_str(&text))
            .transpose()
            .map_err(|e| damaged(5, e))?,
        not_measurable: row.get("not_measurable")?,
        faults: parsed(row, "faults", 7)?,
    })
}

fn row(row: &SqlRow<'_>) -> rusqlite::Result<Row> {
    let flags: String = row.get("flags")?;
    let cpus: String = row.get("cpus")?;
    Ok(Row {
        process: row.get("process")?,
        round: row.get("round")?,
        turn: row.get("turn")?,
        warm_up: row.get("warm_up")?,
        variant: row.get("variant")?,
        cpus: cpus.split(',').filter_map(|cpu| cpu.parse().ok()).collect(),
        started_ns: count(row, "started_ns")?.unwrap_or(0),
        unit: row.get("unit")?,
        sample: Sample {
            metric: row.get("metric")?,
            value: row.get("value")?,
            ops: count(row, "ops")?.unwrap_or(0),
            check: check(row)?,
            distribution: distribution(row)?,
        },
        ledger: ledger(row)?,
        flags: flags.split(',').filter(|flag| !flag.is_empty()).map(str::to_string).collect(),
    })
}

fn check(row: &SqlRow<'_>) -> rusqlite::Result<Check> {
    let (checked, note): (String, Option<String>) = (row.get("checked")?, row.get("check_note")?);
    let note = note.unwrap_or_default();
    Ok(match checked.as_str() {
        "passed" => Check::Passed,
        "failed" => Check::Failed(note),
        _ => Check::None(note),
    })
}

fn distribution(row: &SqlRow<'_>) -> rusqlite::Result<Option<Quantiles>> {
    let Some(n) = count(row, "n")? else { return Ok(None) };
    Ok(Some(Quantiles {
        n,
        min: row.get("min")?,
        p10: row.get("p10")?,
        p50: row.get("p50")?,
        p90: row.get("p90")?,
        p99: row.get("p99")?,
        p999: row.get("p999")?,
        max: row.get("max")?,
        mean: row.get("mean")?,
    }))
}

fn ledger(row: &SqlRow<'_>) -> rusqlite::Result<LedgerEntry> {
    Ok(LedgerEntry {
        wall_ns: count(row, "wall_ns")?.unwrap_or(0),
        steal_ns: count(row, "steal_ns")?,
        foreign_cpu_ns: count(row, "foreign_cpu_ns")?,
        own_cpu_ns: count(row, "own_cpu_ns")?,
        voluntary_switches: count(row, "voluntary_switches")?,
        involuntary_switches: count(row, "involuntary_switches")?,
        migrations: count(row, "migrations")?,
        faults: count(row, "faults")?,
        frequency_khz: count(row, "frequency_khz")?,
    })
}

fn count(row: &SqlRow<'_>, column: &str) -> rusqlite::Result<Option<u64>> {
    Ok(row.get::<_, Option<i64>>(column)?.map(i64::unsigned_abs))
}

fn parsed<T: serde::de::DeserializeOwned>(
    row: &SqlRow<'_>,
    column: &str,
    index: usize,
) -> rusqlite::Result<T> {
    let text: String = row.get(column)?;
    serde_json::from_str(&text).map_err(|error| damaged(index, error))
}

fn damaged(
    column: usize,
    error: impl std::error::Error + Send + Sync + 'static,
) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(column, rusqlite::types::Type::Text, Box::new(error))
}
