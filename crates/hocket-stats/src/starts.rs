//! Two variants over several starts of the process: rounds within starts.
//!
//! Where code and data lie is drawn anew at every start and then holds for all its rounds, so ever
//! more rounds of one start only measure that start more exactly (Kalibera and Jones, "Rigorous
//! benchmarking in reasonable time", ISMM 2013; Mytkowicz et al., ASPLOS 2009). The interval has to
//! cover what another start would have given.
//!
//! The estimate is the mean over the starts of each start's median paired log-ratio. Its interval
//! is the wider of two:
//! - between starts: Student's, from the spread of the starts' medians with starts - 1 degrees of
//!   freedom. That spread already holds the noise of the rounds, once.
//! - within starts: block bootstrap of the rounds of every start. A lower bound, for the case that
//!   a few starts agree by chance better than their own rounds allow.
//!
//! A bootstrap that draws starts and then rounds inside them would be the obvious third. It counts
//! the noise of the rounds twice (Davison and Hinkley 1997, section 3.8), and with three starts it
//! has ten different outcomes, none of which knows that three points say little about a spread.

use super::paired::{bootstrap, paired_logs};
use super::resample::block_length;
use super::special::student_critical;
use super::{Class, Comparison, Interval, MIN_ROUNDS, RESAMPLES, median, steady};

/// With fewer starts the interval does not cover how starts differ: two points with Student's
/// factor of 12.7 would show nothing on any machine.
pub const MIN_STARTS: usize = 3;

/// How often rounds are drawn anew for the lower bound; its width needs no more.
const WITHIN_RESAMPLES: usize = 2_000;

/// A variant against the reference, over several process starts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StartComparison {
    /// Ratio and interval; `rounds` counts those of all starts, `block_length` is the longest used.
    pub comparison: Comparison,
    /// How many starts had rounds that could be paired.
    pub starts: usize,
    /// Whether the interval covers how starts differ: from [`MIN_STARTS`] starts on.
    pub covers_starts: bool,
    /// Most starts came to no steady ratio ([`compare_steady`]).
    pub unsteady: bool,
    /// Most starts have too few rounds to tell whether their ratio settled: all their rounds count, and nothing says
    /// that they should.
    pub settling_unknown: bool,
}

impl StartComparison {
    /// The interval, where it covers how starts differ.
    pub fn interval(&self) -> Option<Interval> {
        self.comparison.interval.filter(|_| self.covers_starts)
    }
}

/// Compares figures of two variants, `[start][round]`, paired by position.
///
/// `critical` is [`super::Z_95`] for one look, else [`super::Looks::critical`]. Pairs in which a
/// figure is not a positive number are left out, starts without a pair too; `None` where no start
/// is left. With one start this is [`super::compare`]. With two, the interval is that of the
/// rounds but reaches at least to both starts' medians. The starts count alike, however many
/// rounds they have. Same `seed`, same result. O([`RESAMPLES`] x rounds).
pub fn compare_starts(
    reference: &[Vec<f64>],
    candidate: &[Vec<f64>],
    critical: f64,
    seed: u64,
) -> Option<StartComparison> {
    let starts = paired_starts(reference, candidate);
    let medians: Vec<f64> = starts.iter().filter_map(|logs| median(logs)).collect();
    let centre = mean(&medians)?;
    let rounds = starts.iter().map(Vec::len).sum();
    let interval = (rounds >= MIN_ROUNDS).then(|| interval(&starts, &medians, critical, seed));
    let comparison = Comparison {
        ratio: centre.exp(),
        interval,
        rounds,
        block_length: starts.iter().map(|logs| block_length(logs)).max().unwrap_or(1),
    };
    Some(StartComparison {
        comparison,
        starts: starts.len(),
        covers_starts: starts.len() >= MIN_STARTS,
        unsteady: false,
        settling_unknown: false,
    })
}

/// Levels of a ratio that differ by less count as one.
const LEVELS_ALIKE: f64 = 0.02;

/// As [`compare_starts`], without the rounds of each start before its ratio came to its last level. A start that came
/// to none stays whole; one of several that was disturbed for a while does not decide. So does a start with fewer than
/// [`super::FOR_STEADY`] rounds, of which nobody can tell; [`StartComparison::settling_unknown`] says so.
pub fn compare_steady(
    mut reference: Vec<Vec<f64>>,
    mut candidate: Vec<Vec<f64>>,
    critical: f64,
    seed: u64,
) -> Option<StartComparison> {
    let starts = reference.len();
    let settled: Vec<Settled> = reference
        .iter_mut()
        .zip(&mut candidate)
        .map(|(before, after)| settle(before, after))
        .collect();
    let are_most =
        |what: Settled| settled.iter().filter(|settled| **settled == what).count() * 2 > starts;
    Some(StartComparison {
        unsteady: are_most(Settled::No),
        settling_unknown: are_most(Settled::Unknown),
        ..compare_starts(&reference, &candidate, critical, seed)?
    })
}

/// Whether the ratio of a start came to a last level.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Settled {
    Yes,
    No,
    /// Too few rounds to tell.
    Unknown,
}

/// Removes the rounds of one start before its ratio came to its last level, where it came to one.
fn settle(before: &mut Vec<f64>, after: &mut Vec<f64>) -> Settled {
    let ratios: Vec<f64> = before.iter().zip(after.iter()).map(|(a, b)| b / a).collect();
    let steady = steady(&ratios, LEVELS_ALIKE);
    match steady.steady_from() {
        _ if steady.class == Class::TooFew => Settled::Unknown,
        None => Settled::No,
        Some(from) => {
            before.drain(..from);
            after.drain(..from);
            Settled::Yes
        }
    }
}

/// The logarithms of the ratios, of the starts that have some.
pub(super) fn paired_starts(reference: &[Vec<f64>], candidate: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let pairs = reference.iter().zip(candidate).map(|(before, after)| paired_logs(before, after));
    pairs.filter(|logs| !logs.is_empty()).collect()
}

/// How far the estimate may be off: the wider of what starts and rounds leave open.
fn interval(starts: &[Vec<f64>], medians: &[f64], critical: f64, seed: u64) -> Interval {
    let centre = mean(medians).unwrap_or(0.0);
    if let [only] = starts {
        return bootstrap(only, centre, critical, RESAMPLES, seed);
    }
    let within = within(starts, medians, critical, seed);
    let half = match medians {
        [first, second] => within.max((first - second).abs() / 2.0),
        _ => {
            let student = student_critical(critical, medians.len() as f64 - 1.0);
            within.max(student * standard_error(medians))
        }
    };
    Interval { low: (centre - half).exp(), high: (centre + half).exp() }
}

/// The half-width that the rounds alone leave: what all of them, each taken relative to the median
/// of its start, give as one series. Start by start, one start of eight rounds with two disturbed
/// ones would stand for itself and blow up the bound.
fn within(starts: &[Vec<f64>], medians: &[f64], critical: f64, seed: u64) -> f64 {
    let own = starts.iter().zip(medians);
    let rest: Vec<f64> =
        own.flat_map(|(logs, median)| logs.iter().map(move |log| log - median)).collect();
    bootstrap(&rest, 0.0, critical, WITHIN_RESAMPLES, seed).half_width()
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// The standard error of the mean of two or more independent figures.
fn standard_error(values: &[f64]) -> f64 {
    let (n, mean) = (values.len() as f64, mean(values).unwrap_or(0.0));
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (squares / (n - 1.0) / n).sqrt()
}
