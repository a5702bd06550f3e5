//! A measured figure with what it may be off.

use crate::stats::median;

/// A standard error is at least this part of the figure: clocks and rounds repeat no better, and a
/// spread that came out as zero by chance must not make a figure certain.
const LEAST_ERROR: f64 = 0.01;

/// A median and its standard error, in the unit of the figure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Figure {
    /// The median of the samples.
    pub median: f64,
    /// How far it may be off: its standard error.
    pub error: f64,
}

impl Figure {
    /// Median of `samples` (any order) with the standard error that their spread gives: 1.25 times
    /// the deviation by the root of their number, the deviation from the median distance.
    /// `None` for fewer than three samples, which tell no spread.
    pub fn of(samples: &[f64]) -> Option<Figure> {
        if samples.len() < 3 {
            return None;
        }
        let middle = median(samples)?;
        let distances: Vec<f64> = samples.iter().map(|sample| (sample - middle).abs()).collect();
        let deviation = 1.4826 * median(&distances)?;
        let error = 1.2533 * deviation / (samples.len() as f64).sqrt();
        Some(Figure { median: middle, error })
    }

    /// Several measurements of one thing as one. Two are weighted by their certainty; of three or
    /// more the median counts, so that one disturbed measurement does not. Less certain where they
    /// differ by more than they claim (Birge 1932). `None` for no usable one.
    pub fn combined(figures: &[Figure]) -> Option<Figure> {
        let usable = |figure: &&Figure| figure.median > 0.0 && figure.error.is_finite();
        let figures: Vec<Figure> =
            figures.iter().filter(usable).map(|figure| figure.at_least()).collect();
        let weight: f64 = figures.iter().map(|figure| figure.error.powi(-2)).sum();
        let medians: Vec<f64> = figures.iter().map(|figure| figure.median).collect();
        if let Some(spread) = Figure::of(&medians) {
            return Some(Figure { error: spread.error.max(weight.powf(-0.5)), ..spread });
        }
        let sum: f64 = figures.iter().map(|figure| figure.median * figure.error.powi(-2)).sum();
        let middle = sum / weight;
        let off = |figure: &Figure| ((figure.median - middle) / figure.error).powi(2);
        let ratio = figures.iter().map(off).sum::<f64>().sqrt().max(1.0);
        (!figures.is_empty()).then(|| Figure { median: middle, error: ratio / weight.sqrt() })
    }

    fn at_least(self) -> Figure {
        Figure { error: self.error.max(LEAST_ERROR * self.median), ..self }
    }

    /// The lower end of what the figure may be.
    pub(super) fn low(&self) -> f64 {
        self.median - super::CERTAIN * self.error
    }

    /// The upper end.
    pub(super) fn high(&self) -> f64 {
        self.median + super::CERTAIN * self.error
    }
}
