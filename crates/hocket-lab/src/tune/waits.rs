//! What each way of waiting costs.

use hocket_rt::Strategy;

use super::{Evidence, WaitCost};
use crate::harness::Results;

/// Every way that `wake` measured, in the real-time class where it is granted.
pub(super) fn costs(evidence: &Evidence) -> Vec<WaitCost> {
    let Some(wake) = evidence.of("wake") else { return Vec::new() };
    let of =
        |wait: Strategy| ["fifo", "ordinary"].into_iter().find_map(|class| one(wake, wait, class));
    let mut costs: Vec<WaitCost> = Strategy::ALL.into_iter().filter_map(of).collect();
    if let Some(beside) = evidence.of("idle-cost") {
        let all = costs.len();
        for cost in &mut costs {
            cost.sibling_cost_percent = slowdown(beside, cost.wait, all);
        }
    }
    costs
}

fn one(wake: &Results, wait: Strategy, class: &str) -> Option<WaitCost> {
    let variant = format!("{wait} {class} idle");
    let us = |metric| Some(tenths(wake.median(&variant, metric)? / 1e3));
    Some(WaitCost {
        wait,
        class: class.into(),
        wake_us: us("lateness")?,
        wake_p99_us: us("lateness-p99"),
        sibling_cost_percent: None,
    })
}

/// Of the sibling's work, by a thread that waits so, as one of `all` ways: a profile tells those that cost something.
fn slowdown(beside: &Results, wait: Strategy, all: usize) -> Option<f64> {
    let judged = beside.judged_of("empty siblings", &format!("{wait} siblings"), "time", all);
    // What is not shown to cost anything counts as nothing.
    let ratio = if judged.is_shown() { judged.all?.ratio } else { judged.all.map(|_| 1.0)? };
    Some(tenths((ratio - 1.0) * 100.0))
}

fn tenths(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}
