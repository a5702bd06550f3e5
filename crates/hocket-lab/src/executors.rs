//! The `executors` bench: how close the engine comes to dividing the time by the workers.

mod measure;
mod options;
mod output;

pub use measure::{Cell, Mode};
pub use options::{Options, Variant};

use std::process::ExitCode;

use crate::graphs::GRAPHS;

/// Runs what `options` ask for, prints the table, writes the record if asked.
///
/// Thread: control; becomes the leader while it measures.
pub fn run(options: &Options) -> ExitCode {
    if let Some(why) = options.missing_wait() {
        eprintln!("executors: {why}");
        return ExitCode::from(3);
    }
    let mut cells = Vec::new();
    output::head(options);
    for mode in &options.modes {
        for graph in GRAPHS.iter().filter(|graph| options.wants(graph.name)) {
            for variant in options.variants() {
                match measure::measure(graph, *mode, variant, options) {
                    Ok(cell) => {
                        output::row(&cell);
                        cells.push(cell);
                    }
                    Err(message) => {
                        eprintln!("executors: {message}");
                        return ExitCode::from(3);
                    }
                }
            }
        }
    }
    match output::save(options, &cells) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("executors: {message}");
            ExitCode::from(3)
        }
    }
}
