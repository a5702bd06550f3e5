//! Two groups of starts that have nothing in common.

use super::special::student_critical;
use super::{Evidence, Interval, Judgement, MIN_STARTS, all_at_once, judge, median};

/// A figure of one run against the same figure of another.
///
/// Rounds of different runs have nothing in common, so nothing is paired and nothing that differs between the runs
/// (load, clock, kernel, machine) cancels. What varies most is the process start, so each start counts once.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Unpaired {
    /// The first: the geometric mean over its process starts of their figures.
    pub before: f64,
    /// The second.
    pub after: f64,
    /// Second divided by first.
    pub ratio: f64,
    /// Its 95 % interval; `None` with fewer than [`MIN_STARTS`] process starts in either, or figures that are not
    /// above zero.
    pub interval: Option<Interval>,
    /// Process starts of the run that has fewer.
    pub starts: usize,
}

impl Unpaired {
    /// Compares a figure of each process start of two runs, as one of `of` comparisons whose intervals hold all at
    /// once. `None` where either has none.
    pub fn of(before: &[f64], after: &[f64], of: usize) -> Option<Unpaired> {
        let starts = before.len().min(after.len());
        let whole = |before: f64, after: f64, interval| Unpaired {
            before,
            after,
            ratio: after / before,
            interval,
            starts,
        };
        if before.iter().chain(after).any(|figure| *figure <= 0.0) {
            return Some(whole(median(before)?, median(after)?, None));
        }
        let logs = |of: &[f64]| of.iter().map(|figure| figure.ln()).collect::<Vec<f64>>();
        let (a, b) = (logs(before), logs(after));
        let interval = welch(&a, &b, all_at_once(of))
            .map(|apart| Interval { low: apart.low.exp(), high: apart.high.exp() });
        Some(whole(mean(&a)?.exp(), mean(&b)?.exp(), interval))
    }

    /// What it shows on machines where the same differs from itself by up to `floor` on the logarithmic scale, if a
    /// verdict needs `enough` process starts.
    pub fn judged(&self, floor: Option<f64>, enough: usize) -> Judgement {
        let Unpaired { ratio, interval, starts, .. } = *self;
        let evidence = Evidence { floor, starts, enough, unsteady: false, wrong: false };
        judge(ratio, interval, evidence)
    }
}

fn mean(figures: &[f64]) -> Option<f64> {
    (!figures.is_empty()).then(|| figures.iter().sum::<f64>() / figures.len() as f64)
}

/// How far two means are apart, second less first: the interval of Welch (1947). The groups may differ in spread and
/// number. `None` with fewer than [`MIN_STARTS`] figures in either group.
///
/// A bootstrap of three starts has ten different outcomes, none of which knows that three points say little about a
/// spread: it misses the truth in more than one of ten cases.
fn welch(first: &[f64], second: &[f64], critical: f64) -> Option<Interval> {
    let (a, b) = (Group::of(first)?, Group::of(second)?);
    let variance = a.variance + b.variance;
    let apart = b.mean - a.mean;
    if variance <= 0.0 {
        return Some(Interval { low: apart, high: apart });
    }
    // Satterthwaite's degrees of freedom.
    let freedom =
        variance.powi(2) / (a.variance.powi(2) / a.freedom + b.variance.powi(2) / b.freedom);
    let half = student_critical(critical, freedom) * variance.sqrt();
    Some(Interval { low: apart - half, high: apart + half })
}

/// A mean with its variance.
struct Group {
    mean: f64,
    variance: f64,
    freedom: f64,
}

impl Group {
    fn of(figures: &[f64]) -> Option<Group> {
        let (n, mean) = (figures.len() as f64, mean(figures)?);
        let squares: f64 = figures.iter().map(|figure| (figure - mean).powi(2)).sum();
        let enough = figures.len() >= MIN_STARTS;
        enough.then_some(Group { mean, variance: squares / (n - 1.0) / n, freedom: n - 1.0 })
    }
}
