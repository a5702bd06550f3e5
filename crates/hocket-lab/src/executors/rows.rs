//! The samples as rows of the lab's record file.

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use hocket_machine::Topology;
use serde_json::{Value, json};

use super::measure::Cell;
use super::options::Options;
use super::output;
use crate::harness::Variant;
use crate::store::{BenchRun, BenchSeries, Store};

/// Serial and parallel blocks of every cell.
pub(super) fn of_cells(cells: &[Cell]) -> Vec<BenchSeries> {
    cells.iter().flat_map(of_cell).collect()
}

fn of_cell(cell: &Cell) -> [BenchSeries; 2] {
    let policy = cell.variant.to_string();
    let series = |walk: &str, values_ns: &[f64]| {
        let name = format!("{} {} {policy} {walk}", cell.graph, cell.mode.name());
        let variant = Variant::new(name)
            .with("graph", cell.graph)
            .with("mode", cell.mode.name())
            .with("policy", &policy)
            .with("walk", walk)
            .with("workers", if walk == "serial" { 1 } else { cell.workers });
        block_times(variant, values_ns)
    };
    [series("serial", &cell.serial_ns), series("parallel", &cell.parallel_ns)]
}

/// How long blocks took.
pub(super) fn block_times(variant: Variant, values_ns: &[f64]) -> BenchSeries {
    BenchSeries { variant, metric: "block", values_ns: values_ns.to_vec() }
}

/// What the run began with.
pub(super) struct Begun {
    pub(super) at: String,
    at_ns: u64,
}

impl Begun {
    pub(super) fn now() -> Begun {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Begun { at: crate::about::now(), at_ns: since.as_nanos() as u64 }
    }
}

/// Adds them to the file as a run of its own.
///
/// # Errors
/// In words: a place where this record may not be, or a file that cannot be written.
pub(super) fn add(
    path: &Path,
    options: &Options,
    (begun, format): (&Begun, &str),
    topology: &Topology,
    series: &[BenchSeries],
) -> Result<(), String> {
    crate::provenance::check(path)?;
    let bench = BenchRun {
        name: "executors",
        definition: format.into(),
        started_at: begun.at.clone(),
        started_ns: begun.at_ns,
        seed: options.seed,
        command: output::command(),
        more: about(options),
    };
    let mut store = Store::open_or_create(path).map_err(|error| error.to_string())?;
    store.add_bench(&bench, topology, series).map_err(|error| error.to_string())
}

fn about(options: &Options) -> Value {
    json!({
        "frames": options.frames,
        "rate_hz": options.rate_hz,
        "keep_awake": options.keep_awake,
        "random": options.random,
        "hostile": options.hostile.map(|hostile| hostile.words()),
    })
}
