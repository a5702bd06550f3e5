//! What samples show: quantiles, shares with their intervals, paired ratios.
//!
//! Three habits hold throughout. A mean never stands alone. Two variants are compared round by
//! round, because a machine drifts more between two minutes than most variants differ. And every
//! random choice comes from a seed that the record keeps, so a table can be computed again.
//!
//! Limits: nothing here repairs a biased measurement, and an interval only covers what varied
//! while it was measured.

mod paired;
mod proportion;
mod quantile;
mod rng;

pub use paired::{Comparison, MIN_ROUNDS, RESAMPLES, Verdict, compare, median};
pub use proportion::{Proportion, wilson};
pub use quantile::{Summary, quantile_sorted};
pub use rng::Rng;

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

    /// Whether the two ranges share a value.
    pub fn overlaps(&self, other: &Interval) -> bool {
        self.low <= other.high && other.low <= self.high
    }
}
