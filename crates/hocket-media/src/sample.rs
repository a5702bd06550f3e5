//! Samples on their way into a file.

use crate::Written;

/// The sample, or silence where it is not a finite number.
pub(crate) fn finite(sample: f32, written: &mut Written) -> f32 {
    if sample.is_finite() {
        return sample;
    }
    written.not_finite += 1;
    0.0
}

/// A finite sample as an integer from `-full_scale` to `full_scale - 1`, halves rounded to even.
pub(crate) fn integer(sample: f32, full_scale: f32, written: &mut Written) -> i32 {
    let rounded = (sample * full_scale).round_ties_even();
    let clamped = rounded.clamp(-full_scale, full_scale - 1.0);
    written.clipped += u64::from(rounded != clamped);
    clamped as i32
}
