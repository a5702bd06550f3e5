//! Two runs of one experiment: by how much do they differ?
//!
//! Rounds of different runs have nothing in common, so nothing is paired and nothing that differs
//! between the runs (load, clock, kernel, machine) cancels. What varies most is the process start, so each start
//! counts once, by the median of its rounds, and the interval is that of two groups of starts ([`crate::stats::welch`]).

use std::collections::BTreeMap;

use super::{Results, same_definition};
use crate::stats::{Evidence, Interval, Judgement, MIN_STARTS, all_at_once, judge, median, welch};

/// A figure of one run against the same figure of another.
#[derive(Debug, Clone, PartialEq)]
pub struct Unpaired {
    /// The first: the geometric mean over its process starts of their medians.
    pub before: f64,
    /// The second.
    pub after: f64,
    /// Second divided by first.
    pub ratio: f64,
    /// Its 95 % interval; `None` with fewer than three process starts in either, or figures
    /// that are not above zero.
    pub interval: Option<Interval>,
    /// Process starts of the run that has fewer.
    pub starts: usize,
}

impl Unpaired {
    /// What it shows on machines where the same differs from itself by up to `floor`, as a ratio minus one.
    pub fn judged(&self, floor: Option<f64>) -> Judgement {
        let Unpaired { ratio, interval, starts, .. } = *self;
        let floor = floor.map(f64::ln_1p);
        let evidence =
            Evidence { floor, starts, enough: MIN_STARTS, unsteady: false, wrong: false };
        judge(ratio, interval, evidence)
    }
}

/// The larger one of the floors of both runs.
pub fn floor_of_both(
    before: &Results,
    after: &Results,
    variant: &str,
    metric: &str,
) -> Option<f64> {
    let of = |results: &Results| results.floor_between([variant, variant], metric);
    Some(of(before)?.max(of(after)?))
}

/// Compares one variant's figure in two runs, as one of `of` comparisons whose intervals hold all at once. `None` where
/// either has none.
pub fn unpaired(
    before: &Results,
    after: &Results,
    variant: &str,
    metric: &str,
    of: usize,
) -> Option<Unpaired> {
    let (a, b) = (by_process(before, variant, metric), by_process(after, variant, metric));
    let starts = a.len().min(b.len());
    let positive = a.iter().chain(&b).all(|median| *median > 0.0);
    if !positive {
        let (first, second) = (median(&a)?, median(&b)?);
        return Some(Unpaired {
            before: first,
            after: second,
            ratio: second / first,
            interval: None,
            starts,
        });
    }
    let logs = |medians: &[f64]| medians.iter().map(|median| median.ln()).collect::<Vec<f64>>();
    let (a, b) = (logs(&a), logs(&b));
    let (first, second) = (mean(&a)?.exp(), mean(&b)?.exp());
    let interval = welch(&a, &b, all_at_once(of))
        .map(|(_, apart)| Interval { low: apart.low.exp(), high: apart.high.exp() });
    Some(Unpaired { before: first, after: second, ratio: second / first, interval, starts })
}

/// The median of each process start.
fn by_process(results: &Results, variant: &str, metric: &str) -> Vec<f64> {
    let mut processes: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for row in results.rows_of(variant, metric) {
        processes.entry(row.process).or_default().push(row.sample.value);
    }
    processes.values().filter_map(|values| median(values)).collect()
}

fn mean(figures: &[f64]) -> Option<f64> {
    (!figures.is_empty()).then(|| figures.iter().sum::<f64>() / figures.len() as f64)
}

/// Why two runs of one experiment cannot be compared, if so.
pub fn incomparable(a: &Results, b: &Results) -> Option<String> {
    if let Some(why) = a.run.not_measurable.as_ref().or(b.run.not_measurable.as_ref()) {
        return Some(format!("not measurable in one of them: {why}"));
    }
    if let Some(wrong) = a.failed_checks().into_iter().chain(b.failed_checks()).next() {
        return Some(format!("a result is wrong ({wrong}), so no figure is to be believed"));
    }
    let (first, second) = (&a.run.definition, &b.run.definition);
    if !same_definition(first, second) {
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
