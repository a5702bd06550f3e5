//! Windows of a file and their spectra, of both sides at once.
//!
//! Left is the real part and right the imaginary one. So one transform does for both, and what weights a bin and its mirror
//! alike treats both sides alike.

use std::sync::Arc;

use hocket_media::Audio;
use rustfft::num_complex::Complex;
use rustfft::{Fft, FftPlannerScalar};

use super::sample;

/// Left and right of a frame. In a spectrum: a bin of the left side plus i times that of the right one.
pub(super) type Pair = Complex<f32>;

/// A frame of the file. A file of one side is silent at the right.
pub(super) fn pair(audio: &Audio, at: i64) -> Pair {
    let side = |side: usize| audio.channels.get(side).map_or(0.0, |row| sample(row, at));
    Pair::new(side(0), side(1))
}

/// Where a spectrum has the negative frequency of a bin.
pub(super) fn mirror(bin: usize, length: usize) -> usize {
    (length - bin) % length
}

/// What both sides have at a frequency, in the order of their power.
pub(super) fn power(spectrum: &[Pair], bin: usize) -> f32 {
    spectrum[bin].norm_sqr() + spectrum[mirror(bin, spectrum.len())].norm_sqr()
}

/// Hann's window, whose halves add up to one.
pub(super) fn hann(length: usize) -> Vec<f32> {
    let turn = std::f64::consts::TAU / length as f64;
    (0..length).map(|at| (0.5 - 0.5 * (turn * at as f64).cos()) as f32).collect()
}

/// Transforms of windows that overlap.
pub(super) struct Transform {
    forward: Arc<dyn Fft<f32>>,
    backward: Arc<dyn Fft<f32>>,
    scratch: Vec<Pair>,
    window: Vec<f32>,
    /// What makes a sum of all windows that were weighted twice as loud as the file.
    scale: f32,
}

impl Transform {
    /// A window of `length` frames begins every `step` frames.
    pub(super) fn new(length: usize, step: usize) -> Transform {
        // Without instructions that only some CPUs have, so another machine gives the same bits.
        let mut planner = FftPlannerScalar::new();
        let (forward, backward) =
            (planner.plan_fft_forward(length), planner.plan_fft_inverse(length));
        let scratch = forward.get_inplace_scratch_len().max(backward.get_inplace_scratch_len());
        let window = hann(length);
        let weight: f32 = window.iter().step_by(step).map(|weight| weight * weight).sum();
        let scratch = vec![Pair::default(); scratch];
        Transform { forward, backward, scratch, window, scale: 1.0 / (weight * length as f32) }
    }

    /// Frames become their spectrum.
    pub(super) fn spectrum(&mut self, frames: &mut [Pair]) {
        frames.iter_mut().zip(&self.window).for_each(|(frame, weight)| *frame *= *weight);
        self.forward.process_with_scratch(frames, &mut self.scratch);
    }

    /// A spectrum becomes frames that are ready to be added up.
    pub(super) fn frames(&mut self, spectrum: &mut [Pair]) {
        self.backward.process_with_scratch(spectrum, &mut self.scratch);
        let weights = self.window.iter().map(|weight| weight * self.scale);
        spectrum.iter_mut().zip(weights).for_each(|(frame, weight)| *frame *= weight);
    }
}
