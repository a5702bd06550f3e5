//! Quantiles and the summary of one row of a table.

/// Quantile `q` (0 to 1) of values in ascending order, linearly between the two neighbours
/// (type 7 of Hyndman and Fan, the default of R and NumPy). `None` for no values.
pub fn quantile_sorted(sorted: &[f64], q: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    let place = q.clamp(0.0, 1.0) * last as f64;
    let below = place.floor() as usize;
    let above = (below + 1).min(last);
    Some(sorted[below] + (place - below as f64) * (sorted[above] - sorted[below]))
}

/// The 99 % quantile is shown of so many samples and more: of fewer it is hardly less than the largest one.
pub const FOR_P99: usize = 100;
/// The same of the 99.9 % quantile.
pub const FOR_P999: usize = 1000;

/// One row of a table: what a set of samples looks like. In the unit of the samples.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Summary {
    /// How many samples.
    pub n: usize,
    /// The smallest: how good it can get.
    pub min: f64,
    /// The mean; says little alone, is kept because historic tables print it.
    pub mean: f64,
    /// The median.
    pub p50: f64,
    /// 99 of 100 are at most this; what is shown is [`Summary::shown_p99`].
    pub p99: f64,
    /// 999 of 1000 are at most this; what is shown is [`Summary::shown_p999`].
    pub p999: f64,
    /// The largest.
    pub max: f64,
}

impl Summary {
    /// Summary of `samples` in any order; `None` for no samples. O(n log n), one allocation.
    pub fn of(samples: impl IntoIterator<Item = i64>) -> Option<Summary> {
        let mut sorted: Vec<f64> = samples.into_iter().map(|sample| sample as f64).collect();
        sorted.sort_unstable_by(f64::total_cmp);
        Summary::of_sorted(&sorted)
    }

    /// The same for samples that are in ascending order already.
    pub fn of_sorted(sorted: &[f64]) -> Option<Summary> {
        Some(Summary {
            n: sorted.len(),
            min: *sorted.first()?,
            mean: sorted.iter().sum::<f64>() / sorted.len() as f64,
            p50: quantile_sorted(sorted, 0.5)?,
            p99: quantile_sorted(sorted, 0.99)?,
            p999: quantile_sorted(sorted, 0.999)?,
            max: *sorted.last()?,
        })
    }

    /// The 99 % quantile; `None` of fewer than [`FOR_P99`] samples.
    pub fn shown_p99(&self) -> Option<f64> {
        (self.n >= FOR_P99).then_some(self.p99)
    }

    /// The 99.9 % quantile; `None` of fewer than [`FOR_P999`] samples.
    pub fn shown_p999(&self) -> Option<f64> {
        (self.n >= FOR_P999).then_some(self.p999)
    }

    /// How many samples lie beyond the 99.9 % quantile: what the figure rests on.
    pub fn beyond_p999(&self) -> usize {
        (self.n.saturating_sub(1) as f64 * 0.001).ceil() as usize
    }

    /// In words, what the 99.9 % quantile of this many samples means, or why it is not shown.
    pub fn p999_meaning(&self) -> String {
        const SAME: &str = "hardly less than the maximum";
        match (self.n, self.beyond_p999()) {
            (0..FOR_P99, _) => format!(
                "p99 of fewer than {FOR_P99} blocks and p99.9 of fewer than {FOR_P999} are {SAME}, and not shown"
            ),
            (0..FOR_P999, _) => {
                format!("p99.9 of fewer than {FOR_P999} blocks is {SAME}, and not shown")
            }
            (n, 1) => format!("p99.9 of {n} blocks rests on the slowest one"),
            (n, beyond @ 2..=9) => format!("p99.9 of {n} blocks rests on the {beyond} slowest"),
            (n, beyond) => format!("p99.9 of {n} blocks leaves {beyond} beyond it"),
        }
    }
}
