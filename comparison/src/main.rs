//! `cargo run --release --manifest-path comparison/Cargo.toml -- --help`
#![forbid(unsafe_code)]

use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use hocket_comparison::measure::{Cell, Failure, measure};
use hocket_comparison::options::Options;
use hocket_comparison::rivals::{Library, Rivals};
use hocket_comparison::seats::Seats;
use hocket_comparison::setup::Setup;
use hocket_comparison::{record, spinning, table};
use hocket_lab::{about, provenance};
use hocket_machine::Topology;

fn main() -> ExitCode {
    let options = Options::parse();
    let place = |path| provenance::check_place(path, options.force);
    if let Some(Err(message)) = options.record.as_deref().map(place) {
        eprintln!("comparison: {message}");
        return ExitCode::from(2);
    }
    match run(&options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure::Differs(message)) => {
            eprintln!("comparison: {message}");
            ExitCode::from(1)
        }
        Err(Failure::NotHere(message)) => {
            eprintln!("comparison: {message}");
            ExitCode::from(3)
        }
    }
}

/// Every cell, the table, the record. The calling thread becomes the leader while it measures.
fn run(options: &Options) -> Result<(), Failure> {
    let not_here = |error: String| Failure::NotHere(error);
    if options.rival.contains(&Library::Openmp) {
        spinning::bound(Duration::from_micros(options.omp_spin.into())).map_err(not_here)?;
    }
    let started_at = about::now();
    let topology = Topology::discover().map_err(|error| not_here(error.to_string()))?;
    let workers = options.workers.map(usize::from);
    let setup =
        Setup::here(&topology, workers, options.fuse, options.schedule).map_err(not_here)?;
    let rivals =
        Rivals::start(&options.rival, &Seats::of(&setup), options.leader).map_err(not_here)?;
    table::head(&setup, &rivals, options.blocks.get());
    let cells = cells(options, &setup, &rivals)?;
    let Some(path) = &options.record else { return Ok(()) };
    let record = record::assemble(options, &setup, &rivals, &topology, &cells, &started_at);
    provenance::write(path, &record).map_err(not_here)
}

fn cells(options: &Options, setup: &Setup, rivals: &Rivals) -> Result<Vec<Cell>, Failure> {
    let mut cells: Vec<Cell> = Vec::new();
    for mode in &options.mode {
        for graph in options.graphs() {
            // A seed of its own for each cell: equal orders would repeat the same luck.
            let seed = options.seed.wrapping_add(cells.len() as u64);
            let cell = measure(graph, *mode, options.blocks.get(), setup, rivals, seed)?;
            if cells.is_empty() {
                table::threads(cell.threads.iter().chain(&rivals.reports()));
                table::columns();
            }
            table::rows(&cell);
            cells.push(cell);
        }
    }
    Ok(cells)
}
