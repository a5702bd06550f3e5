//! The record: the figures of all rounds, and what is needed to believe them.

use hocket_lab::about;
use hocket_lab::stats::median;
use hocket_machine::Topology;
use serde_json::{Value, json};

use crate::checks::{Check, Side};
use crate::theirs;

/// What a record calls itself.
const FORMAT: &str = "hocket-cross-check/1";

/// Everything about a run; `started_at` as [`about::now`] gives it.
pub fn assemble(checks: &[Check], topology: &Topology, started_at: &str) -> Value {
    json!({
        "format": FORMAT,
        "hocket": about::build(),
        "others": theirs::versions(),
        "command": "comparison/cross-check.sh",
        "started_at": started_at,
        "finished_at": about::now(),
        "machine": about::machine(topology),
        "grants": about::grants(),
        "clock": about::clock(),
        "unit": "ns",
        "ratio": "the lab's figure by the other one, median over rounds with its 95 % interval",
        "checks": checks.iter().map(check).collect::<Vec<_>>(),
    })
}

fn check(check: &Check) -> Value {
    let ratio = check.ratio();
    json!({
        "name": check.name,
        "lab": side(&check.ours),
        "other": side(&check.theirs),
        "ratio": ratio.map(|c| c.ratio),
        "interval_95": ratio.and_then(|c| c.interval).map(|i| [i.low, i.high]),
        "rounds": ratio.map(|c| c.rounds),
    })
}

fn side(side: &Side) -> Value {
    json!({ "what": side.what, "median": median(&side.figures), "rounds": side.figures })
}
