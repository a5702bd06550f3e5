//! The record: all samples, and what is needed to believe them.

use serde_json::{Value, json};

use hocket_engine::ThreadReport;
use hocket_lab::about;
use hocket_lab::stats::Comparison;
use hocket_machine::Topology;

use crate::figures::Figures;
use crate::measure::{Cell, Samples};
use crate::network::FRAMES;
use crate::options::Options;
use crate::rivals::Rivals;
use crate::setup::{RATE_HZ, Setup};
use crate::spinning;

/// What a record calls itself.
pub const FORMAT: &str = "hocket-comparison/3";

/// Everything about a run; `started_at` as [`about::now`] gives it.
pub fn assemble(
    options: &Options,
    setup: &Setup,
    rivals: &Rivals,
    topology: &Topology,
    cells: &[Cell],
    started_at: &str,
) -> Value {
    json!({
        "format": FORMAT,
        "hocket": about::build(),
        "rivals": rivals.versions(),
        "rivals_missing": rivals.missing,
        // Without its folder: the program starts itself again by its full path.
        "command": std::iter::once("hocket-comparison".into()).chain(std::env::args().skip(1)).collect::<Vec<String>>(),
        "started_at": started_at,
        "finished_at": about::now(),
        "machine": about::machine(topology),
        "grants": about::grants(),
        "clock": about::clock(),
        "frames": FRAMES,
        "rate_hz": RATE_HZ,
        "blocks": options.blocks,
        "seed": options.seed,
        "workers": setup.workers(),
        "policy": setup.policy.to_string(),
        "fuse": format!("{:?}", setup.fuse).to_lowercase(),
        "rayon_leader": format!("{:?}", options.leader).to_lowercase(),
        "omp_spin_passes": spinning::passes().map(|passes| passes.to_string_lossy().into_owned()),
        "rival_threads": threads(&rivals.reports()),
        "cells": cells.iter().map(cell_json).collect::<Vec<_>>(),
    })
}

fn cell_json(cell: &Cell) -> Value {
    json!({
        "graph": cell.graph,
        "mode": cell.mode.name(),
        "workers": cell.workers,
        "threads": threads(&cell.threads),
        "executors": cell.figures().iter().zip(&cell.runs).map(executor_json).collect::<Vec<_>>(),
    })
}

fn executor_json((figures, run): (&Figures, &Samples)) -> Value {
    let samples: Vec<u64> = run.block_ns.iter().map(|ns| *ns as u64).collect();
    json!({
        "name": figures.who.name(),
        "efficiency": figures.efficiency.map(comparison_json),
        "hocket_ratio": figures.hocket_ratio.map(comparison_json),
        "auto_ratio": figures.auto_ratio.map(comparison_json),
        "came": run.came,
        "chose": run.chose,
        "periods_a_turn": run.periods,
        "awake_between_blocks": { "looks": run.between.taken, "found": run.between.awake },
        "block_ns": samples,
    })
}

fn comparison_json(comparison: Comparison) -> Value {
    json!({
        "ratio": comparison.ratio,
        "interval_95": comparison.interval.map(|i| [i.low, i.high]),
        "stretches": comparison.rounds,
    })
}

fn threads(reports: &[ThreadReport]) -> Vec<Value> {
    let thread = |t: &ThreadReport| {
        json!({
            "name": t.name,
            "cpu_asked": t.cpu_asked,
            "cpus_got": t.cpus_got,
            "class_asked": t.class_asked,
            "class_got": t.class_got,
            "why": t.why,
            "denormals_flushed": t.denormals_flushed,
        })
    };
    reports.iter().map(thread).collect()
}

/// `rayon 1.12.0, rayon-core 1.13.0`, as the lock file has them.
pub fn rayon_versions() -> String {
    let lock = include_str!("../Cargo.lock");
    let version = |name: &str| {
        let of = lock.split("[[package]]").find(|p| p.contains(&format!("name = \"{name}\"\n")));
        let line = of?.lines().find_map(|line| line.strip_prefix("version = \""))?;
        Some(format!("{name} {}", line.trim_end_matches('"')))
    };
    ["rayon", "rayon-core"].into_iter().filter_map(version).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lock_file_names_rayon() {
        let versions = rayon_versions();
        assert!(versions.starts_with("rayon 1.") && versions.contains(", rayon-core 1."));
    }
}
