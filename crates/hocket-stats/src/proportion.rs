//! Shares of blocks.

use super::{Interval, Z_95};

/// So many of so many, for instance late blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Proportion {
    /// How many.
    pub count: u64,
    /// Of how many.
    pub of: u64,
}

impl Proportion {
    /// The share, 0 to 1; 0 where there was nothing to count.
    pub fn share(&self) -> f64 {
        if self.of == 0 { 0.0 } else { self.count as f64 / self.of as f64 }
    }

    /// The 95 % Wilson interval of the share.
    pub fn interval(&self) -> Interval {
        wilson(self.count, self.of)
    }
}

/// The 95 % interval of Wilson (1927) for the share behind `count` of `of`.
///
/// Chosen because it stays inside 0 to 1 and still says something for a count of zero: none of
/// 3000 means "below 0.13 %", not "never". It takes the blocks as independent; late blocks come
/// in bursts, so the true range is wider. `0..1` where nothing was counted.
pub fn wilson(count: u64, of: u64) -> Interval {
    if of == 0 {
        return Interval { low: 0.0, high: 1.0 };
    }
    let (n, z2) = (of as f64, Z_95 * Z_95);
    let p = count.min(of) as f64 / n;
    let centre = (p + z2 / (2.0 * n)) / (1.0 + z2 / n);
    let half = Z_95 / (1.0 + z2 / n) * (p * (1.0 - p) / n + z2 / (4.0 * n * n)).sqrt();
    // Exact ends where the formula gives them up to rounding only.
    let low = if count == 0 { 0.0 } else { (centre - half).max(0.0) };
    let high = if count >= of { 1.0 } else { (centre + half).min(1.0) };
    Interval { low, high }
}
