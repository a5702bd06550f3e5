//! The `executors` bench: how close the engine comes to dividing the time by the workers, and whether `auto`
//! keeps up with the serial walk and with every fixed schedule.
//!
//! `measure` takes one cell after the other: a graph, a schedule, serial and parallel blocks in turns.
//! `contest` lets the serial walk, all fixed schedules and `auto` take turns in one run, on the named
//! graphs or on random ones, on a host as it is or on one that `hostile` makes worse.

mod options;
mod measure;
mod contest;
mod hostile;
mod output;
mod rows;

pub use hostile::Hostility;
pub use measure::{Cell, Mode};
pub use options::{Options, Variant};

use std::path::Path;
use std::process::ExitCode;

use crate::graphs::GRAPHS;
use crate::provenance;
use crate::store::{Store, is_store};

/// Runs what `options` ask for, prints the table, writes the record if asked.
///
/// Thread: control; becomes the leader while it measures.
pub fn run(options: &Options) -> ExitCode {
    if let Some(why) = options.missing_wait() {
        eprintln!("executors: {why}");
        return ExitCode::from(3);
    }
    if let Some(Err(why)) = options.record.as_deref().map(|path| check_place(path, options.force)) {
        eprintln!("executors: {why}");
        return ExitCode::from(2);
    }
    let done = if options.is_contest() { contest::run(options) } else { cells(options) };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("executors: {message}");
            ExitCode::from(3)
        }
    }
}

/// A file of the lab is added to, if it is one. JSON takes the place of an older record.
fn check_place(path: &Path, force: bool) -> Result<(), String> {
    if !is_store(path) {
        return provenance::check_place(path, force);
    }
    provenance::check(path)?;
    Store::open_or_create(path).map(drop).map_err(|error| error.to_string())
}

/// Every graph with every schedule, a cell after the other.
fn cells(options: &Options) -> Result<(), String> {
    let begun = rows::Begun::now();
    let mut cells = Vec::new();
    output::head(options);
    for mode in &options.modes {
        for graph in GRAPHS.iter().filter(|graph| options.wants(graph.name)) {
            for variant in options.variants() {
                let cell = measure::measure(graph, *mode, variant, options)?;
                output::row(&cell);
                cells.push(cell);
            }
        }
    }
    output::save(options, &begun, &cells)
}
