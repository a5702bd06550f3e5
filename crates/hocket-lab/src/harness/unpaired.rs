//! Two runs of one experiment: by how much do they differ?
//!
//! Rounds of different runs have nothing in common, so nothing is paired and nothing that differs
//! between the runs (load, clock, kernel, machine) cancels. What varies most is usually the process
//! start, so the figure is the median over process starts of their medians, and the bootstrap draws
//! process starts first and rounds within them second (Davison and Hinkley 1997, section 3.8).

use std::collections::BTreeMap;

use super::Results;
use crate::stats::{Interval, Rng, median, quantile_sorted};

/// How often both runs are drawn anew.
const RESAMPLES: usize = 2_000;

/// With fewer process starts on either side no interval is given: it would show the rounds of a process
/// only, which vary less than processes do.
pub const MIN_PROCESSES: usize = 3;

/// A figure of one run against the same figure of another.
#[derive(Debug, Clone, PartialEq)]
pub struct Unpaired {
    /// The median of the first.
    pub before: f64,
    /// The median of the second.
    pub after: f64,
    /// Second divided by first.
    pub ratio: f64,
    /// Its 95 % interval; `None` with fewer than [`MIN_PROCESSES`] process starts in either, or figures
    /// that are not above zero.
    pub interval: Option<Interval>,
}

/// Compares one variant's figure in two runs. `None` where either has none.
pub fn unpaired(
    before: &Results,
    after: &Results,
    variant: &str,
    metric: &str,
) -> Option<Unpaired> {
    let (a, b) = (by_process(before, variant, metric), by_process(after, variant, metric));
    let (first, second) = (level(&a)?, level(&b)?);
    let positive = a.iter().chain(&b).flatten().all(|value| *value > 0.0);
    let enough = a.len().min(b.len()) >= MIN_PROCESSES;
    let interval =
        (positive && enough).then(|| bootstrap(&a, &b, before.seed ^ after.seed)).flatten();
    Some(Unpaired { before: first, after: second, ratio: second / first, interval })
}

fn by_process(results: &Results, variant: &str, metric: &str) -> Vec<Vec<f64>> {
    let mut processes: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for row in results.rows_of(variant, metric) {
        processes.entry(row.process).or_default().push(row.sample.value);
    }
    processes.into_values().collect()
}

fn level(processes: &[Vec<f64>]) -> Option<f64> {
    median(&processes.iter().filter_map(|values| median(values)).collect::<Vec<_>>())
}

fn bootstrap(a: &[Vec<f64>], b: &[Vec<f64>], seed: u64) -> Option<Interval> {
    let mut rng = Rng::new(seed);
    let mut ratios: Vec<f64> =
        (0..RESAMPLES).filter_map(|_| Some(drawn(b, &mut rng)? / drawn(a, &mut rng)?)).collect();
    ratios.sort_unstable_by(f64::total_cmp);
    Some(Interval { low: quantile_sorted(&ratios, 0.025)?, high: quantile_sorted(&ratios, 0.975)? })
}

/// The figure of process starts drawn anew, each with rounds drawn anew.
fn drawn(processes: &[Vec<f64>], rng: &mut Rng) -> Option<f64> {
    let again: Vec<Vec<f64>> = (0..processes.len())
        .map(|_| {
            let values = &processes[rng.below(processes.len())];
            (0..values.len()).map(|_| values[rng.below(values.len())]).collect()
        })
        .collect();
    level(&again)
}

/// Why two runs of one experiment cannot be compared, if so.
pub fn incomparable(a: &Results, b: &Results) -> Option<String> {
    if let Some(why) = a.run.not_measurable.as_ref().or(b.run.not_measurable.as_ref()) {
        return Some(format!("not measurable in one of them: {why}"));
    }
    let (first, second) = (&a.run.definition, &b.run.definition);
    if first != second {
        return Some(format!(
            "their figures mean different things (definitions {first} and {second}); repeat the older run with \
             this version"
        ));
    }
    let variants = |results: &Results| results.design().map_or(Vec::new(), |d| d.variants.clone());
    let (mine, theirs) = (variants(a), variants(b));
    let other = mine.iter().find(|own| {
        theirs.iter().any(|other| other.name == own.name && other.factors != own.factors)
    });
    other.map(|variant| {
        format!("'{}' is not the same in both: another pattern or another setting", variant.name)
    })
}
