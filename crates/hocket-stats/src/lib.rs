//! What samples show: quantiles, shares with their intervals, paired ratios, ranks.
//!
//! How the parts make one judgement: [`compare_steady`] gives ratio and interval of two variants
//! over several process starts, at the critical value of the planned [`Looks`], from the round on at which
//! each start is [`steady`]; [`floor`] says from a variant measured against itself what this machine cannot
//! show today; [`judge`] puts these together, and nothing else calls a difference shown. [`ranks`]
//! orders more than two variants over many cases.
//!
//! Three habits hold throughout. A mean never stands alone. Two variants are compared round by
//! round, because a machine drifts more between two minutes than most variants differ. And every
//! random choice comes from a seed that the record keeps, so a table can be computed again.
//!
//! Limits: nothing here repairs a biased measurement, and an interval only covers what varied
//! while it was measured.
//!
//! Everything here runs on control threads and knows neither clocks nor files.
#![forbid(unsafe_code)]

mod quantile;
mod proportion;
mod poisson;
mod paired;
mod starts;
mod welch;
mod looks;
mod judgement;
mod steady;
mod ranks;

mod resample;
mod special;
mod rng;

pub use judgement::{Direction, Evidence, Judgement, ONE_START, floor, judge};
pub use looks::{Looks, MAX_LOOKS};
pub use paired::{Comparison, MIN_ROUNDS, RESAMPLES, compare, median};
pub use poisson::poisson_most;
pub use proportion::{Proportion, wilson};
pub use quantile::{FOR_P99, FOR_P999, Summary, quantile_sorted};
pub use ranks::{Ranks, nemenyi_critical, ranks};
pub use rng::Rng;
pub use starts::{MIN_STARTS, StartComparison, compare_starts, compare_steady};
pub use steady::{Class, FOR_STEADY, Segment, Steady, steady};
pub use welch::{Starts, Unpaired, between_runs};

/// The 97.5 % quantile of the normal distribution: the critical value of a 95 % interval that is
/// looked at once.
pub const Z_95: f64 = 1.959_963_984_540_054;

/// The critical value with which so many intervals hold all at once in 95 % of cases: 2.50 for four.
///
/// Bonferroni's inequality, as Dunn uses it for intervals ("Multiple comparisons among means", Journal
/// of the American Statistical Association 56, 1961): each interval may miss in 5 % / `comparisons`. It
/// needs nothing of how the comparisons depend on each other, and these share their reference. Holm's
/// procedure shows a little more but has no intervals; Dunnett's needs equal normal spreads.
pub fn all_at_once(comparisons: usize) -> f64 {
    let outside = 0.05 / comparisons.max(1) as f64;
    special::rising(0.0, 40.0, |z| 2.0 * special::normal_below(-z) <= outside)
}

/// A range with the confidence named by the function that returned it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Interval {
    /// Whether `value` lies inside, ends included.
    pub fn contains(&self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }

    /// Half the width of an interval of a ratio, on the logarithmic scale: 0.01 is about 1 %.
    pub fn half_width(&self) -> f64 {
        (self.high / self.low).ln() / 2.0
    }

    /// Whether the two ranges share a value.
    pub fn overlaps(&self, other: &Interval) -> bool {
        self.low <= other.high && other.low <= self.high
    }
}
