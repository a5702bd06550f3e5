//! What this machine cannot show today, and the judgement that respects it.
//!
//! Before anything is compared, the reference is measured against itself (an A/A run) with the same
//! design. Any difference it shows is false; what is not larger cannot be told from it later,
//! however narrow an interval claims to be.

use super::starts::paired_starts;
use super::{Interval, Rng, StartComparison, compare_starts, median};

/// How often the rounds of the A/A run are split for [`Floor::typical_false`].
const SPLITS: usize = 400;

/// What an A/A run shows. All figures are differences on the logarithmic scale: 0.01 is about 1 %.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Floor {
    /// The false difference of the whole run, with its sign; small unless the order of
    /// measuring matters.
    pub offset: f64,
    /// Half the width of the run's interval.
    pub half_width: f64,
    /// The median size of the false difference over many random halves of the rounds: what a run
    /// of half the length typically gets wrong.
    pub typical_false: f64,
    /// The smallest difference that may be called shown: the farther end of the interval.
    pub smallest: f64,
    /// How many starts the run had.
    pub starts: usize,
}

/// The floor from an A/A run, figures `[start][round]` of the same thing measured twice a round.
///
/// `critical` is that of the comparisons to be judged ([`super::Z_95`], or
/// [`super::Looks::critical`]), so that floor and intervals are of one measure. `None` where there
/// are too few rounds for an interval.
pub fn floor(first: &[Vec<f64>], second: &[Vec<f64>], critical: f64, seed: u64) -> Option<Floor> {
    let StartComparison { comparison, starts, .. } = compare_starts(first, second, critical, seed)?;
    let Interval { low, high } = comparison.interval?;
    let logs = paired_starts(first, second);
    Some(Floor {
        offset: comparison.ratio.ln(),
        half_width: (high / low).ln() / 2.0,
        typical_false: typical_false(&logs, seed),
        smallest: low.ln().abs().max(high.ln().abs()),
        starts,
    })
}

/// The median over random halves of |mean over the starts of the median of half their rounds|.
fn typical_false(starts: &[Vec<f64>], seed: u64) -> f64 {
    let mut rng = Rng::new(seed);
    let mut starts = starts.to_vec();
    let mut split = || {
        let halves = starts.iter_mut().filter_map(|rounds| half_median(rounds, &mut rng));
        halves.sum::<f64>().abs()
    };
    let sums: Vec<f64> = (0..SPLITS).map(|_| split()).collect();
    median(&sums).unwrap_or(0.0) / starts.len().max(1) as f64
}

/// The median of a random half of the rounds, at least one.
fn half_median(rounds: &mut [f64], rng: &mut Rng) -> Option<f64> {
    rng.shuffle(rounds);
    median(&rounds[..rounds.len().div_ceil(2)])
}

/// What may be said about a candidate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Judgement {
    /// The interval lies below one and the difference is larger than the floor.
    ShownFaster,
    /// The interval lies above one and the difference is larger than the floor.
    ShownSlower,
    /// The interval excludes one, but the same code differs from itself as much.
    BelowFloor,
    /// The interval holds one: a difference may exist, but this run does not show it.
    NotShown,
    /// Too few rounds for an interval, of the candidate or of the A/A run.
    TooFew,
    /// Fewer than [`super::MIN_STARTS`] process starts: a difference may be that of their memory layout.
    TooFewStarts,
}

impl Judgement {
    /// In words, for tables.
    pub fn words(self) -> &'static str {
        match self {
            Judgement::ShownFaster => "faster",
            Judgement::ShownSlower => "slower",
            Judgement::BelowFloor => "within the noise",
            Judgement::NotShown => "no difference shown",
            Judgement::TooFew => "too few rounds",
            Judgement::TooFewStarts => "too few starts",
        }
    }

    /// Whether a difference was shown.
    pub fn is_shown(self) -> bool {
        matches!(self, Judgement::ShownFaster | Judgement::ShownSlower)
    }
}

/// What a comparison shows on a machine with this floor; nothing without one. Below one is faster, as
/// in [`super::Comparison::ratio`]: the figures are times.
pub fn judge(compared: &StartComparison, floor: Option<&Floor>) -> Judgement {
    let StartComparison { comparison, covers_starts, .. } = compared;
    if !covers_starts {
        return Judgement::TooFewStarts;
    }
    let (Some(interval), Some(floor)) = (comparison.interval, floor) else {
        return Judgement::TooFew;
    };
    let size = comparison.ratio.ln().abs();
    match (interval.contains(1.0), size > floor.smallest) {
        (true, _) => Judgement::NotShown,
        (false, false) => Judgement::BelowFloor,
        (false, true) if comparison.ratio < 1.0 => Judgement::ShownFaster,
        (false, true) => Judgement::ShownSlower,
    }
}
