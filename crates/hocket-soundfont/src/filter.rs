//! The low-pass filter of a voice.

use hocket_dsp::math::{flush, tan};

use crate::envelope::{KEY_0_HZ, factor, lin};

/// A cutoff from here on is open, in absolute cents: 20 kHz.
pub(crate) const OPEN_CENTS: i16 = 13_500;
/// The filter stays below this part of the sample rate.
const HIGHEST: f64 = 0.45;
/// The resonance, in tenths of a decibel, of a filter without a peak.
const NO_PEAK_CB: f64 = 30.103;

/// A state-variable low pass with trapezoidal integration (Zavalishin, *The Art of VA Filter Design*, 2012): it stays calm
/// when its cutoff moves.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct LowPass {
    damping: f32,
    a1: f32,
    a2: f32,
    a3: f32,
    low: [f32; 2],
}

impl LowPass {
    /// At rest; `resonance_cb` is how high its peak is, in tenths of a decibel.
    pub(crate) fn start(&mut self, resonance_cb: f64) {
        self.damping = lin(NO_PEAK_CB - resonance_cb) as f32;
        self.low = [0.0; 2];
    }

    /// Moves the cutoff, in absolute cents.
    pub(crate) fn set(&mut self, cents: f64, rate_hz: f64) {
        let cutoff = (KEY_0_HZ * factor(cents) / rate_hz).min(HIGHEST);
        let g = tan(std::f64::consts::PI * cutoff) as f32;
        self.a1 = 1.0 / (1.0 + g * (g + self.damping));
        self.a2 = g * self.a1;
        self.a3 = g * self.a2;
    }

    #[inline]
    pub(crate) fn run(&mut self, sample: f32) -> f32 {
        let [first, second] = self.low;
        let rest = sample - second;
        let band = self.a1 * first + self.a2 * rest;
        let low = second + self.a2 * first + self.a3 * rest;
        self.low = [flush(2.0 * band - first), flush(2.0 * low - second)];
        low
    }
}
