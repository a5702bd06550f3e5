//! Log time axes and the shape of a distribution on them.

use crate::stats::quantile_sorted;

/// A logarithmic axis of times.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct LogScale {
    low: f64,
    high: f64,
}

/// How finely a distribution is drawn.
const BINS: usize = 240;

/// Steps within a decade, from coarse to fine.
const STEPS: [&[f64]; 4] = [
    &[1.0],
    &[1.0, 2.0, 5.0],
    &[1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0],
    &[1.0, 1.2, 1.4, 1.6, 1.8, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 6.0, 7.0, 8.0, 9.0],
];

impl LogScale {
    /// An axis from `low` to `high`, both in nanoseconds; made sane where they are not.
    pub(super) fn new(low: f64, high: f64) -> LogScale {
        let low = if low.is_finite() { low.max(100.0) } else { 100.0 };
        let high = if high.is_finite() { high } else { low };
        LogScale { low, high: high.max(low * 1.5) }
    }

    /// Place on the axis, 0 at its left end and 1 at its right; outside of these for times that
    /// are not on it.
    pub(super) fn at(&self, ns: f64) -> f64 {
        (ns.max(1.0) / self.low).ln() / (self.high / self.low).ln()
    }

    /// Whether the time is on the axis.
    pub(super) fn shows(&self, ns: f64) -> bool {
        (self.low..=self.high).contains(&ns)
    }

    /// Round times on the axis, seven or a little more of them where the axis allows.
    pub(super) fn ticks(&self) -> Vec<f64> {
        let with = |steps: &[f64]| -> Vec<f64> {
            let (first, last) = (self.low.log10().floor() as i32, self.high.log10().ceil() as i32);
            (first..=last)
                .flat_map(|power| steps.iter().map(move |step| step * 10f64.powi(power)))
                .filter(|ns| self.shows(*ns))
                .collect()
        };
        STEPS
            .iter()
            .map(|steps| with(steps))
            .find(|ticks| ticks.len() >= 5)
            .unwrap_or_else(|| with(STEPS[3]))
    }

    /// Density of ascending samples along the axis as heights from 0 to 1, at equal distances.
    ///
    /// A Gaussian kernel on the logarithms; its width is Silverman's rule from the quartiles, so a
    /// handful of very late blocks does not smear the bulk. They are drawn as dots instead.
    pub(super) fn density(&self, sorted: &[f64]) -> Vec<f64> {
        let mut counts = vec![0.0; BINS];
        for ns in sorted.iter().filter(|ns| self.shows(**ns)) {
            counts[((self.at(*ns) * BINS as f64) as usize).min(BINS - 1)] += 1.0;
        }
        let smooth = convolve(&counts, self.kernel_bins(sorted));
        let peak = smooth.iter().copied().fold(0.0, f64::max);
        smooth.iter().map(|height| if peak > 0.0 { height / peak } else { 0.0 }).collect()
    }

    fn kernel_bins(&self, sorted: &[f64]) -> f64 {
        let quartile = |q: f64| quantile_sorted(sorted, q).map_or(0.0, |ns| self.at(ns));
        let spread = (quartile(0.75) - quartile(0.25)) / 1.34 * BINS as f64;
        (0.9 * spread * (sorted.len() as f64).powf(-0.2)).clamp(0.9, 10.0)
    }
}

fn convolve(counts: &[f64], sigma: f64) -> Vec<f64> {
    let reach = (3.5 * sigma).ceil() as isize;
    let weight = |step: isize| (-0.5 * (step as f64 / sigma).powi(2)).exp();
    (0..counts.len() as isize)
        .map(|at| {
            let near = (-reach..=reach).filter_map(|step| {
                Some(counts.get(usize::try_from(at + step).ok()?)? * weight(step))
            });
            near.sum()
        })
        .collect()
}

/// Round places on a linear axis from zero to `high`, about `wanted` of them.
pub(super) fn linear_ticks(high: f64, wanted: usize) -> Vec<f64> {
    let rough = high / wanted.max(1) as f64;
    if !rough.is_finite() || rough <= 0.0 {
        return vec![0.0];
    }
    let power = 10f64.powf(rough.log10().floor());
    let step =
        [1.0, 2.0, 5.0, 10.0].into_iter().map(|m| m * power).find(|s| *s >= rough).unwrap_or(rough);
    (0..).map(|i| f64::from(i) * step).take_while(|at| *at <= high).collect()
}

/// A filled outline of heights in a box of 1000 by 100, without its flat parts.
pub(super) fn outline(heights: &[f64]) -> String {
    let step = 1000.0 / heights.len().max(1) as f64;
    let visible = |at: &usize| heights[*at] > 0.002;
    let Some(first) = (0..heights.len()).find(visible) else { return String::new() };
    let last = (0..heights.len()).rfind(visible).unwrap_or(first);
    let x = |at: usize| (at as f64 + 0.5) * step;
    let mut path = format!("M{:.1} 100", x(first));
    for (at, height) in heights.iter().enumerate().take(last + 1).skip(first) {
        path.push_str(&format!("L{:.1} {:.1}", x(at), 100.0 - 100.0 * height));
    }
    path.push_str(&format!("L{:.1} 100Z", x(last)));
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axis_is_logarithmic() {
        let axis = LogScale::new(1e3, 1e6);
        assert!(
            (axis.at(1e4) - 1.0 / 3.0).abs() < 1e-12 && axis.at(1e6) == 1.0 && axis.at(500.0) < 0.0
        );
    }

    #[test]
    fn ticks_are_enough_but_not_too_many() {
        for (low, high) in [(1e3, 1e6), (3.4e5, 2.1e6), (4.8e5, 5.4e5), (2e3, 4e7), (9e5, 1.4e6)] {
            let ticks = LogScale::new(low, high).ticks();
            assert!((2..=18).contains(&ticks.len()), "{low} {high}: {ticks:?}");
            assert!(
                ticks
                    .iter()
                    .all(|tick| (low * 0.999..=(high * 1.001).max(low * 1.5)).contains(tick))
            );
        }
    }

    #[test]
    fn nonsense_still_gives_an_axis() {
        for (low, high) in [(f64::NAN, 1.0), (0.0, 0.0), (-5.0, f64::INFINITY), (1e6, 1e3)] {
            let axis = LogScale::new(low, high);
            assert!(axis.at(1e5).is_finite() && axis.high > axis.low);
        }
    }

    #[test]
    fn density_peaks_where_the_samples_are() {
        let axis = LogScale::new(1e3, 1e6);
        let heights = axis.density(&[1e4; 500]);
        let peak = heights.iter().position(|height| *height == 1.0).expect("normalised");
        assert!((peak as f64 / BINS as f64 - 1.0 / 3.0).abs() < 0.01);
        assert_eq!(axis.density(&[]).iter().sum::<f64>(), 0.0);
        assert_eq!(outline(&[0.0; 10]), "");
    }

    #[test]
    fn linear_ticks_are_round() {
        assert_eq!(linear_ticks(1333.0, 6), [0.0, 500.0, 1000.0]);
        assert_eq!(linear_ticks(0.0, 6), [0.0]);
    }
}
