//! Correlation meter.
//!
//! For each window it keeps the sums of `left * left`, `right * right` and `left * right` with
//! exponentially falling weights, in `f64`, updated every frame. The correlation is the last over
//! the root of the product of the first two: +1 for equal sides, -1 for opposite, 0 for unrelated.
//! A sliding rectangle would need the window's samples and would collect rounding errors when
//! loud samples leave; a falling weight forgets its errors too.
//!
//! Each further window is twice as long. The sound passes through unchanged.

mod abreast;

use crate::abreast::{Abreast, AbreastKey, Lane};
use crate::block::{StereoMut, StereoRef};
use crate::kinds::{Param, value};
use crate::math;
use crate::segment::{SegmentEffect, Segmented};

const WINDOW_MS: usize = 0;
const WINDOWS: usize = 1;

const MAX_WINDOWS: usize = 16;

/// Mean squares below this (-120 dB) count as silence, whose correlation is 0.
const SILENCE: f64 = 1e-12;

/// Windows are computed in groups that fill vectors.
const GROUP: usize = 4;

/// The weighted sums of one group of windows.
#[derive(Debug, Clone, Default)]
struct Sums {
    weight: [f64; GROUP],
    left: [f64; GROUP],
    right: [f64; GROUP],
    cross: [f64; GROUP],
}

impl Sums {
    #[inline(always)]
    fn frame(&mut self, left: f64, right: f64) {
        for n in 0..GROUP {
            self.left[n] += (left * left - self.left[n]) * self.weight[n];
            self.right[n] += (right * right - self.right[n]) * self.weight[n];
            self.cross[n] += (left * right - self.cross[n]) * self.weight[n];
        }
    }

    fn correlation(&self, n: usize) -> f32 {
        let (left, right) = (self.left[n], self.right[n]);
        if !(left > SILENCE && right > SILENCE) {
            return 0.0;
        }
        let value = self.cross[n] / (left.sqrt() * right.sqrt());
        if value.is_nan() { 0.0 } else { value.clamp(-1.0, 1.0) as f32 }
    }

    fn flush(&mut self) {
        for n in 0..GROUP {
            let mut state = [self.left[n], self.right[n], self.cross[n]];
            math::flush_together(&mut state);
            [self.left[n], self.right[n], self.cross[n]] = state;
        }
    }

    fn reset(&mut self) {
        self.left = [0.0; GROUP];
        self.right = [0.0; GROUP];
        self.cross = [0.0; GROUP];
    }
}

/// The meter.
#[derive(Debug, Clone)]
pub struct Correlation {
    rate_hz: f64,
    windows: usize,
    groups: Vec<Sums>,
}

fn windows(values: &[f32]) -> usize {
    (value(values, WINDOWS).round() as usize).clamp(1, MAX_WINDOWS)
}

impl Correlation {
    /// The correlation over the window of this number (0 is the shortest) after the last frame,
    /// or `None` where there is no such window.
    pub fn value(&self, window: usize) -> Option<f32> {
        let group = self.groups.get(window / GROUP)?;
        (window < self.windows).then(|| group.correlation(window % GROUP))
    }

    /// Weights of windows that are not there stay 0: their sums stay 0.
    fn set_window(&mut self, window_ms: f32) {
        for n in 0..self.windows {
            let frames = f64::from(window_ms) * self.rate_hz / 1000.0 * (1u32 << n) as f64;
            self.groups[n / GROUP].weight[n % GROUP] = 1.0 - math::exp(-1.0 / frames);
        }
    }
}

impl SegmentEffect for Correlation {
    const PARAMS: &'static [Param] = &[
        Param::new("window_ms", "Time constant of the shortest window.", 1.0, 5000.0, 300.0),
        Param::new(
            "windows",
            "How many windows, each twice as long.",
            1.0,
            MAX_WINDOWS as f32,
            1.0,
        )
        .fixed(),
    ];

    fn new(values: &[f32], sample_rate_hz: u32) -> Correlation {
        let windows = windows(values);
        let mut meter = Correlation {
            rate_hz: f64::from(sample_rate_hz),
            windows,
            groups: vec![Sums::default(); windows.div_ceil(GROUP)],
        };
        meter.set_window(values[WINDOW_MS]);
        meter
    }

    fn set(&mut self, _index: usize, value: f32) {
        self.set_window(value);
    }

    fn control(&mut self, _elapsed: usize) {
        self.groups.iter_mut().for_each(Sums::flush);
    }

    fn run(&mut self, rows: StereoMut<'_>, _key: Option<StereoRef<'_>>) {
        for group in &mut self.groups {
            let mut sums = group.clone();
            for (left, right) in rows.left.iter().zip(rows.right.iter()) {
                sums.frame(f64::from(*left), f64::from(*right));
            }
            *group = sums;
        }
    }

    fn reset(&mut self) {
        self.groups.iter_mut().for_each(Sums::reset);
    }

    fn abreast_key(&self) -> Option<AbreastKey> {
        Some(AbreastKey::correlation(self.groups.len()))
    }

    fn abreast(this: &mut Segmented<Correlation>) -> Option<Abreast<'_>> {
        Some(Lane::Correlation(this).into())
    }

    fn reading(&self) -> Option<f32> {
        self.value(0)
    }
}

/// A window: three sums of 3 operations each, in groups of four. Each group: 3 products.
pub fn flops(values: &[f32], _sample_rate_hz: u32) -> f64 {
    let groups = windows(values).div_ceil(GROUP) as f64;
    groups * (GROUP as f64 * 9.0 + 3.0)
}
