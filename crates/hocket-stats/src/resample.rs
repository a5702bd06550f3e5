//! Medians of rounds drawn anew in blocks, and how long the blocks have to be.

use super::{Rng, median};

/// Rounds prepared for many draws: a draw counts how often each place of the order came, so its
/// median needs no sorting.
pub(super) struct Urn {
    sorted: Vec<f64>,
    /// The place in `sorted` of each round.
    place: Vec<usize>,
    counts: Vec<u32>,
    block_length: usize,
}

impl Urn {
    /// `figures` in the order of the rounds; not empty, all finite.
    pub(super) fn new(figures: &[f64], block_length: usize) -> Self {
        let mut order: Vec<usize> = (0..figures.len()).collect();
        order.sort_by(|a, b| figures[*a].total_cmp(&figures[*b]));
        let mut place = vec![0; figures.len()];
        for (rank, round) in order.iter().enumerate() {
            place[*round] = rank;
        }
        let sorted = order.iter().map(|round| figures[*round]).collect();
        Urn { sorted, place, counts: vec![0; figures.len()], block_length: block_length.max(1) }
    }

    /// The median of as many rounds as there are, drawn in blocks that wrap around the end
    /// (Politis and Romano 1992). O(rounds).
    pub(super) fn median(&mut self, rng: &mut Rng) -> f64 {
        let n = self.place.len();
        self.counts.fill(0);
        let mut left = n;
        while left > 0 {
            let start = rng.below(n);
            for step in 0..self.block_length.min(left) {
                self.counts[self.place[(start + step) % n]] += 1;
            }
            left -= self.block_length.min(left);
        }
        self.middle()
    }

    /// The median of what `counts` holds: the mean of the two middle figures.
    fn middle(&self) -> f64 {
        let n = self.counts.len() as u32;
        let (mut seen, mut lower) = (0, None);
        for (count, figure) in self.counts.iter().zip(&self.sorted) {
            seen += count;
            if lower.is_none() && seen > (n - 1) / 2 {
                lower = Some(*figure);
            }
            if seen > n / 2 {
                return (lower.unwrap_or(*figure) + figure) / 2.0;
            }
        }
        f64::NAN
    }
}

/// The block length of Politis and White (2004, corrected 2009) for the circular bootstrap:
/// one for rounds that do not resemble their neighbours, longer the longer the memory.
pub(super) fn block_length(logs: &[f64]) -> usize {
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
