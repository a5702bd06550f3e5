//! Has the machine settled? Change points in a series of rounds.
//!
//! A figure summarises a series only if the series has a level to summarise. The classes are those
//! of Barrett et al., "Virtual machine warmup blows hot and cold", OOPSLA 2017; so is the demand
//! that the last part of the series be one segment. The change points are exact ("optimal
//! partitioning", Jackson et al. 2005, which PELT only speeds up): of all ways to cut the series
//! they minimise the distances from each segment's median, with a price for every cut. Medians and
//! a cap on each distance, because one disturbed round is not a change.
//!
//! Limits: changes smaller than the noise, or shorter than [`SHORTEST`] rounds, are not seen.

use super::median;

/// The fewest rounds that make a segment.
const SHORTEST: usize = 3;

/// With fewer rounds nobody can tell whether a series settled: they are less than two segments.
pub const FOR_STEADY: usize = 2 * SHORTEST;

/// Longer series are reduced to so many medians of neighbours first; the search is quadratic.
const MOST_POINTS: usize = 240;

/// What a cut costs, in mean distances, times the logarithm of the length. Chosen with
/// tests/stats_noise.rs: of series whose rounds have a correlation of 0.5, at most one in ten is cut.
const PRICE: f64 = 4.0;

/// A distance counts at most so many mean distances.
const CAP: f64 = 4.0;

/// A stretch of rounds on one level.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Segment {
    /// The first round.
    pub first: usize,
    /// One past the last round.
    pub end: usize,
    /// The median of its figures.
    pub level: f64,
}

/// What a series looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Class {
    /// One level throughout.
    Flat,
    /// The last level is the lowest: it became faster and stayed so.
    WarmUp,
    /// The last level is not the lowest: it became slower and stayed so.
    SlowDown,
    /// The last half of the rounds is not on one level.
    NoSteadyState,
    /// Too few rounds to tell: fewer than two segments could have.
    TooFew,
}

impl Class {
    /// Whether a verdict may be drawn from the last segment.
    pub fn is_steady(self) -> bool {
        matches!(self, Class::Flat | Class::WarmUp | Class::SlowDown)
    }
}

/// A series and its levels.
#[derive(Debug, Clone, PartialEq)]
pub struct Steady {
    /// What it looks like.
    pub class: Class,
    /// The levels in order; neighbours differ by more than the tolerance.
    pub segments: Vec<Segment>,
}

impl Steady {
    /// The round from which the series is on its last level: what comes before is warm-up.
    pub fn steady_from(&self) -> Option<usize> {
        self.class.is_steady().then(|| self.segments.last().map_or(0, |last| last.first))
    }
}

/// Cuts `figures`, in the order of the rounds, where their level changes.
///
/// Figures are times or quotients of times: positive, less is faster; others are skipped over by
/// taking the median. Levels whose quotient is below `1 + tolerance` count as one (0.01: changes
/// under one per cent do not matter). O(n^2 log n) up to 240 rounds, constant beyond.
pub fn steady(figures: &[f64], tolerance: f64) -> Steady {
    let logs: Vec<f64> = filled(figures);
    if logs.len() < FOR_STEADY {
        let level = median(figures).unwrap_or(f64::NAN);
        let segments = vec![Segment { first: 0, end: figures.len(), level }];
        return Steady { class: Class::TooFew, segments };
    }
    let bin = logs.len().div_ceil(MOST_POINTS);
    let points: Vec<f64> = logs.chunks(bin).filter_map(median).collect();
    let cuts: Vec<usize> = cuts(&points).iter().map(|cut| (cut * bin).min(logs.len())).collect();
    let segments = merged(&logs, cuts, tolerance.ln_1p());
    Steady { class: class(&segments, logs.len()), segments: segments.iter().map(raised).collect() }
}

/// The logarithms, with the median in place of what has none.
fn filled(figures: &[f64]) -> Vec<f64> {
    let log = |figure: &f64| Some(figure.ln()).filter(|log| log.is_finite());
    let known: Vec<f64> = figures.iter().filter_map(log).collect();
    let Some(middle) = median(&known) else { return Vec::new() };
    figures.iter().map(|figure| log(figure).unwrap_or(middle)).collect()
}

fn raised(segment: &Segment) -> Segment {
    Segment { level: segment.level.exp(), ..*segment }
}

/// Where segments end, the end of the series included: the cheapest of all partitions.
fn cuts(points: &[f64]) -> Vec<usize> {
    let n = points.len();
    let scale = noise(points);
    let price = PRICE * (n as f64).ln();
    // The cheapest way to cut the first `end` points, and where its last segment begins.
    let mut best = vec![(f64::INFINITY, 0); n + 1];
    best[0].0 = -price;
    for first in 0..n {
        if best[first].0 == f64::INFINITY {
            continue;
        }
        let mut sorted: Vec<f64> = Vec::with_capacity(n - first);
        for end in first + 1..=n {
            insert(&mut sorted, points[end - 1]);
            let cost = best[first].0 + price + distance(&sorted, scale);
            if sorted.len() >= SHORTEST && cost < best[end].0 {
                best[end] = (cost, first);
            }
        }
    }
    walk_back(&best)
}

fn walk_back(best: &[(f64, usize)]) -> Vec<usize> {
    let (mut ends, mut end) = (Vec::new(), best.len() - 1);
    while end > 0 {
        ends.push(end);
        end = best[end].1;
    }
    ends.reverse();
    ends
}

fn insert(sorted: &mut Vec<f64>, value: f64) {
    let place = sorted.partition_point(|other| *other < value);
    sorted.insert(place, value);
}

/// The capped distances of ascending figures from their median, in units of the noise.
fn distance(sorted: &[f64], scale: f64) -> f64 {
    let middle = (sorted[(sorted.len() - 1) / 2] + sorted[sorted.len() / 2]) / 2.0;
    sorted.iter().map(|value| ((value - middle).abs() / scale).min(CAP)).sum()
}

/// The mean distance that noise alone gives, whatever the levels do: from the changes between
/// neighbours and between every second round, the larger of both, since rounds with memory change
/// little from one to the next.
fn noise(points: &[f64]) -> f64 {
    let changes = |lag: usize| {
        let sizes: Vec<f64> =
            points.iter().zip(&points[lag..]).map(|(a, b)| (b - a).abs()).collect();
        median(&sizes).unwrap_or(0.0)
    };
    // Normal noise: the median change is 0.954 deviations, the mean distance 0.798 of one.
    let scale = 0.798 / 0.954 * changes(1).max(changes(2));
    scale.max(1e-6)
}

/// Segments with their levels, neighbours on nearly one level made one, the nearest first.
fn merged(logs: &[f64], mut ends: Vec<usize>, tolerance: f64) -> Vec<Segment> {
    loop {
        let segments = segments(logs, &ends);
        let step = |pair: &[Segment]| (pair[1].level - pair[0].level).abs();
        let steps: Vec<f64> = segments.windows(2).map(step).collect();
        let nearest = (0..steps.len()).min_by(|a, b| steps[*a].total_cmp(&steps[*b]));
        match nearest {
            Some(at) if steps[at] < tolerance => ends.remove(at),
            _ => return segments,
        };
    }
}

fn segments(logs: &[f64], ends: &[usize]) -> Vec<Segment> {
    let firsts = std::iter::once(0).chain(ends.iter().copied());
    let segment = |(first, end): (usize, usize)| {
        let level = median(&logs[first..end]).unwrap_or(f64::NAN);
        Segment { first, end, level }
    };
    firsts.zip(ends.iter().copied()).map(segment).collect()
}

fn class(segments: &[Segment], rounds: usize) -> Class {
    let Some((last, before)) = segments.split_last() else { return Class::TooFew };
    if before.is_empty() {
        return Class::Flat;
    }
    if last.first > rounds / 2 {
        return Class::NoSteadyState;
    }
    if before.iter().all(|segment| segment.level > last.level) {
        Class::WarmUp
    } else {
        Class::SlowDown
    }
}
