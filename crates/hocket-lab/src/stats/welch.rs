//! Two groups of starts that have nothing in common.

use super::special::student_critical;
use super::{Interval, MIN_STARTS};

/// How far two means are apart, second less first, with the interval of Welch (1947): the groups may differ in spread and
/// number, and each start counts once. `None` with fewer than [`MIN_STARTS`] figures in either group.
///
/// A bootstrap of three starts has ten different outcomes, none of which knows that three points say little about a
/// spread: it misses the truth in more than one of ten cases.
pub fn welch(first: &[f64], second: &[f64], critical: f64) -> Option<(f64, Interval)> {
    let (a, b) = (Group::of(first)?, Group::of(second)?);
    let variance = a.variance + b.variance;
    let apart = b.mean - a.mean;
    if variance <= 0.0 {
        return Some((apart, Interval { low: apart, high: apart }));
    }
    // Satterthwaite's degrees of freedom.
    let freedom =
        variance.powi(2) / (a.variance.powi(2) / a.freedom + b.variance.powi(2) / b.freedom);
    let half = student_critical(critical, freedom) * variance.sqrt();
    Some((apart, Interval { low: apart - half, high: apart + half }))
}

/// A mean with its variance.
struct Group {
    mean: f64,
    variance: f64,
    freedom: f64,
}

impl Group {
    fn of(figures: &[f64]) -> Option<Group> {
        let n = figures.len() as f64;
        let mean = figures.iter().sum::<f64>() / n;
        let squares: f64 = figures.iter().map(|figure| (figure - mean).powi(2)).sum();
        let enough = figures.len() >= MIN_STARTS;
        enough.then_some(Group { mean, variance: squares / (n - 1.0) / n, freedom: n - 1.0 })
    }
}
