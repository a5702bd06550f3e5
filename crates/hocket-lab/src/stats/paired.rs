//! Two variants measured side by side in rounds: by how much do they differ?
//!
//! Each round gives one figure per variant (its median block time, or its 99 % quantile), taken
//! within moments of each other. The logarithm of their quotient cancels whatever slowed the whole
//! round down. The estimate is the median of these over the rounds; its interval comes from a
//! circular block bootstrap (Politis and Romano 1992), because neighbouring rounds resemble each
//! other and resampling them one by one would promise too much.

use super::{Interval, Rng};

/// How often the rounds are drawn anew.
pub const RESAMPLES: usize = 10_000;

/// With fewer rounds no verdict is given: even if all of five rounds agree, chance alone does that
/// in one of sixteen cases, which is more than the 5 % a verdict may be wrong.
pub const MIN_ROUNDS: usize = 6;

/// What the rounds show about a variant against the reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The whole interval lies below one.
    Faster,
    /// The whole interval lies above one.
    Slower,
    /// The interval holds one: a difference may exist, but this run does not show it.
    NoDifferenceShown,
    /// Fewer than [`MIN_ROUNDS`] rounds were measured in both.
    TooFewRounds,
}

impl Verdict {
    /// In words, for tables.
    pub fn words(self) -> &'static str {
        match self {
            Verdict::Faster => "faster",
            Verdict::Slower => "slower",
            Verdict::NoDifferenceShown => "no difference shown",
            Verdict::TooFewRounds => "too few rounds",
        }
    }
}

/// A variant against the reference.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Comparison {
    /// Candidate divided by reference; below one: the candidate is faster.
    pub ratio: f64,
    /// Its 95 % interval; `None` with fewer than [`MIN_ROUNDS`] rounds.
    pub interval: Option<Interval>,
    /// How many rounds were compared.
    pub rounds: usize,
    /// How many neighbouring rounds the bootstrap drew together.
    pub block_length: usize,
}

impl Comparison {
    /// What the interval says.
    pub fn verdict(&self) -> Verdict {
        match self.interval {
            None => Verdict::TooFewRounds,
            Some(interval) if interval.high < 1.0 => Verdict::Faster,
            Some(interval) if interval.low > 1.0 => Verdict::Slower,
            Some(_) => Verdict::NoDifferenceShown,
        }
    }
}

/// Compares per-round figures of two variants, paired by position.
///
/// Pairs in which a figure is not a positive number are left out. `None` where no pair is left.
/// Same `seed`, same result. O([`RESAMPLES`] x rounds), some milliseconds for 30 rounds.
pub fn compare(reference: &[f64], candidate: &[f64], seed: u64) -> Option<Comparison> {
    let logs: Vec<f64> = reference
        .iter()
        .zip(candidate)
        .map(|(before, after)| (after / before).ln())
        .filter(|log| log.is_finite())
        .collect();
    let centre = median(&logs)?;
    let block_length = block_length(&logs);
    let interval = (logs.len() >= MIN_ROUNDS).then(|| bootstrap(&logs, centre, block_length, seed));
    Some(Comparison { ratio: centre.exp(), interval, rounds: logs.len(), block_length })
}

/// The median; `None` for no values.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    (!sorted.is_empty()).then(|| median_in_place(&mut sorted))
}

/// Median of a non-empty slice, which is reordered. O(n).
fn median_in_place(values: &mut [f64]) -> f64 {
    let middle = values.len() / 2;
    let odd = values.len() % 2 == 1;
    let (below, upper, _) = values.select_nth_unstable_by(middle, f64::total_cmp);
    if odd {
        return *upper;
    }
    let lower = below.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    (lower + *upper) / 2.0
}

/// The percentile interval, widened for the small number of rounds, as a ratio.
fn bootstrap(logs: &[f64], centre: f64, block_length: usize, seed: u64) -> Interval {
    let mut rng = Rng::new(seed);
    let mut draw = Vec::with_capacity(logs.len());
    let mut medians: Vec<f64> =
        (0..RESAMPLES).map(|_| resample(logs, block_length, &mut rng, &mut draw)).collect();
    medians.sort_unstable_by(f64::total_cmp);
    let end = |q: f64| super::quantile_sorted(&medians, q).unwrap_or(centre);
    let wide = widening(logs.len(), block_length);
    Interval {
        low: (centre + wide * (end(0.025) - centre)).exp(),
        high: (centre + wide * (end(0.975) - centre)).exp(),
    }
}

/// The median of as many rounds as there are, drawn in blocks that wrap around the end.
fn resample(logs: &[f64], block_length: usize, rng: &mut Rng, draw: &mut Vec<f64>) -> f64 {
    draw.clear();
    while draw.len() < logs.len() {
        let start = rng.below(logs.len());
        let left = logs.len() - draw.len();
        draw.extend((0..block_length.min(left)).map(|step| logs[(start + step) % logs.len()]));
    }
    median_in_place(draw)
}

/// How much too narrow the percentile interval of few blocks is: the bootstrap divides by n where
/// an estimate of the spread from n / l blocks has only n / l - 1 degrees of freedom, and takes
/// the normal quantile where Student's is due (here by the first terms of its expansion).
/// tests/stats.rs holds the coverage this gives.
fn widening(rounds: usize, block_length: usize) -> f64 {
    let blocks = (rounds as f64 / block_length as f64).max(2.0);
    let freedom = blocks - 1.0;
    (blocks / freedom).sqrt() * (1.0 + 1.21 / freedom + 1.44 / (freedom * freedom))
}

/// The block length of Politis and White (2004, corrected 2009) for the circular bootstrap:
/// one for rounds that do not resemble their neighbours, longer the longer the memory.
fn block_length(logs: &[f64]) -> usize {
    let n = logs.len();
    let (shortest, longest) = ((n as f64).cbrt().round() as usize, n / 4);
    let correlation = autocorrelation(&tamed(logs));
    if correlation.len() < 2 {
        return shortest.min(longest).max(1);
    }
    let reach = (2 * memory(&correlation, n)).min(correlation.len() - 1);
    let (mut spread, mut bias) = (1.0, 0.0);
    for (lag, rho) in correlation.iter().enumerate().take(reach + 1).skip(1) {
        let weight = flat_top(lag as f64 / reach as f64);
        spread += 2.0 * weight * rho;
        bias += 2.0 * weight * lag as f64 * rho;
    }
    let length = (1.5 * (bias / spread).powi(2) * n as f64).cbrt();
    let length = if length.is_finite() { length.ceil() as usize } else { 1 };
    length.max(shortest).min(longest).max(1)
}

/// The same rounds with outliers pulled in to three times the usual distance: one disturbed round
/// would otherwise hide how much the others resemble each other, and the median ignores it anyway.
fn tamed(logs: &[f64]) -> Vec<f64> {
    let centre = median(logs).unwrap_or(0.0);
    let distances: Vec<f64> = logs.iter().map(|log| (log - centre).abs()).collect();
    let reach = 3.0 * median(&distances).unwrap_or(0.0);
    logs.iter().map(|log| log.clamp(centre - reach, centre + reach)).collect()
}

/// Correlation of the rounds with those `lag` later, for lag 0 up to half the rounds.
fn autocorrelation(logs: &[f64]) -> Vec<f64> {
    let mean = logs.iter().sum::<f64>() / logs.len() as f64;
    let around: Vec<f64> = logs.iter().map(|log| log - mean).collect();
    let power: f64 = around.iter().map(|x| x * x).sum();
    if power <= 0.0 {
        return Vec::new();
    }
    let at =
        |lag: usize| around.iter().zip(&around[lag..]).map(|(a, b)| a * b).sum::<f64>() / power;
    (0..=logs.len() / 2).map(at).collect()
}

/// The last lag after which some lags in a row are within what chance gives.
fn memory(correlation: &[f64], n: usize) -> usize {
    let (digits, run) = ((n as f64).log10(), 5.max((n as f64).log10().sqrt() as usize));
    let chance = 2.0 * (digits / n as f64).sqrt();
    let quiet = |lag: usize| {
        let window = &correlation[lag + 1..(lag + 1 + run).min(correlation.len())];
        window.iter().all(|rho| rho.abs() < chance)
    };
    (0..correlation.len() - 1).find(|lag| quiet(*lag)).unwrap_or(correlation.len() - 1).max(1)
}

/// One up to a half, then falling to zero at one.
fn flat_top(x: f64) -> f64 {
    (2.0 * (1.0 - x.abs())).clamp(0.0, 1.0)
}
