//! Table and record of the bench.

use hocket_engine::ThreadReport;
use serde_json::json;

use super::measure::Cell;
use super::options::Options;
use super::rows::{self, Begun};
use crate::numbers::NONE;
use crate::provenance;
use crate::stats::{FOR_P999, ONE_START, quantile_sorted};
use crate::store::is_store;

pub(super) fn head(options: &Options) {
    println!(
        "executors: blocks of {} frames at {} Hz, {} parallel blocks a cell, serial blocks between them{}",
        options.frames,
        options.rate_hz,
        options.blocks,
        if options.keep_awake { "; CPUs kept awake" } else { "" }
    );
    println!("{ONE_START}");
    println!(
        "{:<7} {:<6} {:<26} {:>2}  {:>9} {:>9} {:>9} {:>9}  {:>5} {:<16} {:>5} {:>5}  each",
        "graph",
        "mode",
        "policy",
        "w",
        "serial µs",
        "par. p50",
        "p99.9",
        "max",
        "eff.",
        "95 %",
        "cap",
        "came"
    );
}

pub(super) fn row(cell: &Cell) {
    let interval = cell.efficiency.and_then(|e| e.interval);
    let interval = interval.map_or("-".into(), |i| format!("[{:.3}, {:.3}]", i.low, i.high));
    let efficiency = cell.efficiency.map_or(f64::NAN, |e| e.ratio);
    let parallel = Sorted::new(&cell.parallel_ns);
    let p999 = match cell.parallel_ns.len() {
        0..FOR_P999 => NONE.into(),
        _ => format!("{:.1}", parallel.us(0.999)),
    };
    println!(
        "{:<7} {:<6} {:<26} {:>2}  {:>9.1} {:>9.1} {:>9} {:>9.1}  {:>5.3} {:<16} {:>5.2} {:>5.2}  {}",
        cell.graph,
        cell.mode.name(),
        cell.variant.to_string(),
        cell.workers,
        Sorted::new(&cell.serial_ns).us(0.5),
        parallel.us(0.5),
        p999,
        parallel.us(1.0),
        efficiency,
        interval,
        cell.cap,
        cell.all_came,
        comes(&cell.came),
    );
    if cell.used != cell.workers {
        println!("{:<15}(the plan uses {} of {} workers)", "", cell.used, cell.workers);
    }
}

struct Sorted(Vec<f64>);

impl Sorted {
    fn new(samples: &[f64]) -> Sorted {
        let mut sorted = samples.to_vec();
        sorted.sort_by(f64::total_cmp);
        Sorted(sorted)
    }

    fn us(&self, q: f64) -> f64 {
        quantile_sorted(&self.0, q).unwrap_or(f64::NAN) / 1000.0
    }
}

const FORMAT: &str = "hocket-executors/2";

pub(super) fn save(options: &Options, begun: &Begun, cells: &[Cell]) -> Result<(), String> {
    let Some(path) = &options.record else { return Ok(()) };
    let topology = hocket_machine::Topology::discover().map_err(|error| error.to_string())?;
    if is_store(path) {
        return rows::add(path, options, (begun, FORMAT), &topology, &rows::of_cells(cells));
    }
    let cells: Vec<_> = cells.iter().map(cell_json).collect();
    let record = json!({
        "format": FORMAT,
        "hocket": crate::about::build(),
        "command": command(),
        "machine": crate::about::machine(&topology),
        "frames": options.frames,
        "rate_hz": options.rate_hz,
        "blocks": options.blocks,
        "keep_awake": options.keep_awake,
        "cells": cells,
    });
    provenance::write(path, &record)
}

/// As it can be typed again, wherever the program was built.
pub(super) fn command() -> Vec<String> {
    let how = ["cargo", "bench", "--bench", "executors", "--"].map(String::from);
    how.into_iter().chain(std::env::args().skip(1).filter(|arg| arg != "--bench")).collect()
}

/// What threads asked for and got.
pub(super) fn threads_json(threads: &[ThreadReport]) -> serde_json::Value {
    let thread = |t: &ThreadReport| {
        json!({
            "name": t.name,
            "cpu_asked": t.cpu_asked,
            "cpus_got": t.cpus_got,
            "class_asked": t.class_asked,
            "class_got": t.class_got,
            "why": t.why,
        })
    };
    threads.iter().map(thread).collect()
}

/// `0.97 0.95`: the share of blocks to which each worker beside the leader came.
pub(super) fn comes(came: &[f64]) -> String {
    let others: Vec<String> = came.iter().skip(1).map(|share| format!("{share:.2}")).collect();
    if others.is_empty() { "-".into() } else { others.join(" ") }
}

fn cell_json(cell: &Cell) -> serde_json::Value {
    let ints = |samples: &[f64]| samples.iter().map(|ns| *ns as u64).collect::<Vec<_>>();
    let interval = cell.efficiency.and_then(|e| e.interval).map(|i| [i.low, i.high]);
    json!({
        "graph": cell.graph,
        "mode": cell.mode.name(),
        "policy": cell.variant.to_string(),
        "workers": cell.workers,
        "workers_used": cell.used,
        "units": cell.units,
        "efficiency": cell.efficiency.map(|e| e.ratio),
        "interval_95": interval,
        "cap": cell.cap,
        "all_came": cell.all_came,
        "came": cell.came,
        "threads": threads_json(&cell.threads),
        "serial_ns": ints(&cell.serial_ns),
        "parallel_ns": ints(&cell.parallel_ns),
    })
}
