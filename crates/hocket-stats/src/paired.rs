//! Two variants measured side by side in rounds: by how much do they differ?
//!
//! Each round gives one figure per variant (its median block time, or its 99 % quantile), taken
//! within moments of each other. The logarithm of their quotient cancels whatever slowed the whole
//! round down. The estimate is the median of these over the rounds; its interval comes from a
//! circular block bootstrap (Politis and Romano 1992), because neighbouring rounds resemble each
//! other and resampling them one by one would promise too much.

use super::resample::{Urn, block_length};
use super::{Interval, Rng, Z_95};

/// How often the rounds are drawn anew.
pub const RESAMPLES: usize = 10_000;

/// With fewer rounds no verdict is given: even if all of five rounds agree, chance alone does that
/// in one of sixteen cases, which is more than the 5 % a verdict may be wrong.
pub const MIN_ROUNDS: usize = 6;

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

/// Compares per-round figures of two variants, paired by position.
///
/// Pairs in which a figure is not a positive number are left out. `None` where no pair is left.
/// Same `seed`, same result. O([`RESAMPLES`] x rounds), about a millisecond for 30 rounds.
pub fn compare(reference: &[f64], candidate: &[f64], seed: u64) -> Option<Comparison> {
    let logs = paired_logs(reference, candidate);
    let centre = median(&logs)?;
    let block_length = block_length(&logs);
    let interval =
        (logs.len() >= MIN_ROUNDS).then(|| bootstrap(&logs, centre, Z_95, RESAMPLES, seed));
    Some(Comparison { ratio: centre.exp(), interval, rounds: logs.len(), block_length })
}

/// The logarithms of candidate over reference, of the pairs in which both are positive numbers.
pub(super) fn paired_logs(reference: &[f64], candidate: &[f64]) -> Vec<f64> {
    let both =
        reference.iter().zip(candidate).filter(|(before, after)| **before > 0.0 && **after > 0.0);
    both.map(|(before, after)| (after / before).ln()).filter(|log| log.is_finite()).collect()
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

/// The percentile interval, widened for the small number of rounds, as a ratio. `critical` is the
/// normal quantile of the confidence: [`Z_95`], or more where several looks are taken.
pub(super) fn bootstrap(
    logs: &[f64],
    centre: f64,
    critical: f64,
    resamples: usize,
    seed: u64,
) -> Interval {
    let block_length = block_length(logs);
    let (mut rng, mut urn) = (Rng::new(seed), Urn::new(logs, block_length));
    let mut medians: Vec<f64> = (0..resamples).map(|_| urn.median(&mut rng)).collect();
    medians.sort_unstable_by(f64::total_cmp);
    let end = |q: f64| super::quantile_sorted(&medians, q).unwrap_or(centre);
    let wide = widening(logs.len(), block_length) * (critical / Z_95);
    Interval {
        low: (centre + wide * (end(0.025) - centre)).exp(),
        high: (centre + wide * (end(0.975) - centre)).exp(),
    }
}

/// How much too narrow the percentile interval of few blocks is: the bootstrap divides by n where
/// an estimate of the spread from n / l blocks has only n / l - 1 degrees of freedom, and takes
/// the normal quantile where Student's is due (here by the first terms of its expansion).
/// tests/stats.rs holds the coverage this gives.
pub(super) fn widening(rounds: usize, block_length: usize) -> f64 {
    let blocks = (rounds as f64 / block_length as f64).max(2.0);
    let freedom = blocks - 1.0;
    (blocks / freedom).sqrt() * (1.0 + 1.21 / freedom + 1.44 / (freedom * freedom))
}
