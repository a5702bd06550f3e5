//! Adding a run.

use rusqlite::{Connection, params};
use serde_json::Value;

use super::{Store, StoreError};
use crate::harness::layout::Layout;
use crate::harness::{Check, ExperimentRun, Row};

/// Adds one run to a record file.
#[derive(Debug)]
pub struct RunWriter<'a> {
    store: &'a mut Store,
    run: i64,
}

/// What stands about a run.
#[derive(Debug, Clone, PartialEq)]
pub struct RunHead {
    /// Unlike that of any other run.
    pub uuid: String,
    /// RFC 3339, UTC.
    pub started_at: String,
    /// A digest of the machine, the same for every run on it.
    pub host: String,
    /// Where every random choice came from.
    pub seed: u64,
    /// Everything else, see [`crate::about`].
    pub meta: Value,
}

impl Store {
    /// Begins a run. Until this store is closed, no other one can begin a run in the same file.
    ///
    /// # Errors
    /// [`StoreError::Busy`] while another run is written to the file, or why nothing can be written.
    pub fn begin_run(&mut self, head: &RunHead) -> Result<RunWriter<'_>, StoreError> {
        self.keep_others_out()?;
        let inserted = self.connection.execute(
            "INSERT INTO runs (uuid, started_at, host, seed, meta) VALUES (?1, ?2, ?3, ?4, ?5)",
            params![
                head.uuid,
                head.started_at,
                head.host,
                head.seed.to_string(),
                head.meta.to_string()
            ],
        );
        inserted.map_err(|error| self.failure(error))?;
        let run = self.connection.last_insert_rowid();
        Ok(RunWriter { store: self, run })
    }
}

impl RunWriter<'_> {
    /// The run's number in its file.
    pub fn number(&self) -> i64 {
        self.run
    }

    /// Begins an experiment.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn begin(&mut self, run: &ExperimentRun) -> Result<(), StoreError> {
        let number = self.run;
        self.whole(|connection| {
            connection.execute(
                "INSERT INTO experiments VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
                params![
                    number,
                    run.id,
                    run.definition,
                    run.size.name(),
                    run.started_at,
                    run.end,
                    run.not_measurable,
                    json(&run.faults),
                    run.design.as_ref().map(json)
                ],
            )?;
            variants(connection, number, run)
        })
    }

    /// Notes a process start.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn process(
        &mut self,
        id: &str,
        process: u32,
        layout: &Layout,
        seed: u64,
    ) -> Result<(), StoreError> {
        let run = self.run;
        self.whole(|connection| {
            let Layout { environment, stack_frames, heap } = layout;
            let seed = seed.to_string();
            let values = params![run, id, process, environment, stack_frames, heap, seed];
            connection
                .execute("INSERT INTO processes VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)", values)
                .map(drop)
        })
    }

    /// Keeps the figures of one turn, all or none.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn rows(&mut self, id: &str, rows: &[Row]) -> Result<(), StoreError> {
        let run = self.run;
        self.whole(|connection| rows.iter().try_for_each(|row| insert(connection, run, id, row)))
    }

    /// Ends an experiment: why it ended, and what went wrong.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn finish(&mut self, run: &ExperimentRun) -> Result<(), StoreError> {
        let number = self.run;
        self.whole(|connection| {
            connection
                .execute(
                    "UPDATE experiments SET \"end\" = ?3, not_measurable = ?4, faults = ?5
                     WHERE run = ?1 AND experiment = ?2",
                    params![number, run.id, run.end, run.not_measurable, json(&run.faults)],
                )
                .map(drop)
        })
    }

    /// Ends the run; `more` is added to what stands about it.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn end(self, ended_at: &str, more: Value) -> Result<(), StoreError> {
        let ended = self.store.connection.execute(
            "UPDATE runs SET ended_at = ?2, meta = json_patch(meta, ?3) WHERE run = ?1",
            params![self.run, ended_at, more.to_string()],
        );
        ended.map(drop).map_err(|error| self.store.failure(error))
    }

    fn whole(
        &mut self,
        work: impl FnOnce(&Connection) -> rusqlite::Result<()>,
    ) -> Result<(), StoreError> {
        let transaction = self.store.connection.transaction();
        let done = transaction.and_then(|transaction| {
            work(&transaction)?;
            transaction.commit()
        });
        done.map_err(|error| self.store.failure(error))
    }
}

fn variants(connection: &Connection, number: i64, run: &ExperimentRun) -> rusqlite::Result<()> {
    let Some(design) = &run.design else { return Ok(()) };
    for turn in 0..design.turns() {
        let (index, name) = design.turn(turn);
        let variant = &design.variants[index];
        connection.execute(
            "INSERT INTO variants VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            params![
                number,
                run.id,
                turn as i64,
                name,
                json(&variant.factors),
                list(&variant.cpus),
                variant.relation.map(|relation| relation.name())
            ],
        )?;
    }
    Ok(())
}

fn insert(connection: &Connection, run: i64, id: &str, row: &Row) -> rusqlite::Result<()> {
    let (checked, note) = check(&row.sample.check);
    let (ledger, spread) = (&row.ledger, row.sample.distribution.as_ref());
    let mut statement = connection.prepare_cached(
        "INSERT INTO rows VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16,
         ?17, ?18, ?19, ?20, ?21, ?22, ?23, ?24, ?25, ?26, ?27, ?28, ?29, ?30, ?31, ?32, ?33, ?34)",
    )?;
    let inserted = statement.execute(params![
        run,
        id,
        row.process,
        row.round,
        row.turn,
        row.warm_up,
        row.variant,
        list(&row.cpus),
        row.sample.metric,
        row.sample.value,
        row.unit,
        whole(row.sample.ops),
        checked,
        note,
        whole(row.started_ns),
        row.flags.join(","),
        whole(ledger.wall_ns),
        ledger.steal_ns.map(whole),
        ledger.foreign_cpu_ns.map(whole),
        ledger.own_cpu_ns.map(whole),
        ledger.voluntary_switches.map(whole),
        ledger.involuntary_switches.map(whole),
        ledger.migrations.map(whole),
        ledger.faults.map(whole),
        ledger.frequency_khz.map(whole),
        spread.map(|q| whole(q.n)),
        spread.map(|q| q.min),
        spread.map(|q| q.p10),
        spread.map(|q| q.p50),
        spread.map(|q| q.p90),
        spread.map(|q| q.p99),
        spread.map(|q| q.p999),
        spread.map(|q| q.max),
        spread.map(|q| q.mean),
    ]);
    inserted.map(drop)
}

fn check(check: &Check) -> (&'static str, Option<&str>) {
    match check {
        Check::Passed => ("passed", None),
        Check::Failed(what) => ("failed", Some(what)),
        Check::None(why) => ("none", Some(why)),
    }
}

/// SQLite counts in signed numbers; nothing that is counted here comes near their end.
fn whole(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn list(cpus: &[u32]) -> String {
    cpus.iter().map(u32::to_string).collect::<Vec<_>>().join(",")
}

fn json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}
