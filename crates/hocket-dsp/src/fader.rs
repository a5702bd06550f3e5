//! The fader of a channel strip.

use crate::block::{Block, Change, Processor, StereoMut};
use crate::level;
use crate::mix;
use crate::ramp::Ramp;

/// Gain, pan and mute of a stereo row, smoothed frame by frame.
///
/// The first setting comes without a ramp; later ones take [`crate::ramp::SMOOTHING_S`]. The
/// result does not depend on how time is cut into blocks. The pan law is that of
/// [`level::pan_gains`]: it balances a stereo row and does not mix its sides.
///
/// As a [`Processor`] it takes events for [`Fader::GAIN_DB`], [`Fader::PAN`] and [`Fader::MUTE`].
///
/// Thread: setters and processing belong to one thread at a time. Cost: 1 operation a sample at
/// rest, 2 while moving.
#[derive(Debug, Clone)]
pub struct Fader {
    gain_lin: f32,
    pan: f32,
    muted: bool,
    left: Ramp,
    right: Ramp,
}

impl Fader {
    /// Parameter index of the gain in decibels; minus infinity is silence.
    pub const GAIN_DB: u16 = 0;
    /// Parameter index of the pan position, -1 to +1.
    pub const PAN: u16 = 1;
    /// Parameter index of mute: on from 0.5.
    pub const MUTE: u16 = 2;
    /// Operations a stereo frame at rest.
    pub const FLOPS_PER_FRAME: f64 = 2.0;

    /// A fader at rest. `gain_lin` is linear, `pan` from -1 to +1.
    pub fn new(gain_lin: f32, pan: f32, muted: bool, sample_rate_hz: u32) -> Fader {
        let rate = f64::from(sample_rate_hz);
        let mut fader = Fader {
            gain_lin: if gain_lin.is_finite() { gain_lin } else { 0.0 },
            pan: if pan.is_nan() { 0.0 } else { pan },
            muted,
            left: Ramp::smoothing(0.0, rate),
            right: Ramp::smoothing(0.0, rate),
        };
        fader.aim();
        fader.snap();
        fader
    }

    /// Heads for a linear gain. A value that is not finite is ignored.
    pub fn set_gain_lin(&mut self, gain_lin: f32) {
        if gain_lin.is_finite() {
            self.gain_lin = gain_lin;
            self.aim();
        }
    }

    /// Heads for a gain in decibels; minus infinity is silence.
    pub fn set_gain_db(&mut self, gain_db: f32) {
        self.set_gain_lin(level::db_to_lin(gain_db));
    }

    /// Heads for a pan position from -1 to +1. A value that is not a number is ignored.
    pub fn set_pan(&mut self, pan: f32) {
        if !pan.is_nan() {
            self.pan = pan.clamp(-1.0, 1.0);
            self.aim();
        }
    }

    /// Heads for silence or back.
    pub fn set_mute(&mut self, muted: bool) {
        self.muted = muted;
        self.aim();
    }

    /// Left and right gain that the fader is heading for.
    pub fn target_gains(&self) -> (f32, f32) {
        (self.left.target(), self.right.target())
    }

    /// Whether no gain is moving.
    pub fn is_still(&self) -> bool {
        self.left.is_still() && self.right.is_still()
    }

    /// Ends all ramps at their targets.
    pub fn snap(&mut self) {
        self.left.snap();
        self.right.snap();
    }

    /// Applies the fader in place and moves on by the length of the rows.
    pub fn apply(&mut self, rows: &mut StereoMut<'_>) {
        scale_side(&mut self.left, rows.left);
        scale_side(&mut self.right, rows.right);
    }

    /// Adds the faded input to `out` and moves on; the input stays as it is (send taps, mixing).
    pub fn add_to(&mut self, out: &mut StereoMut<'_>, left: &[f32], right: &[f32]) {
        add_side(&mut self.left, out.left, left);
        add_side(&mut self.right, out.right, right);
    }

    fn take(&mut self, change: Change) {
        let Change::Param { index, value } = change;
        match index {
            Fader::GAIN_DB => self.set_gain_db(value),
            Fader::PAN => self.set_pan(value),
            Fader::MUTE => self.set_mute(value >= 0.5),
            _ => {}
        }
    }

    fn aim(&mut self) {
        let gain = if self.muted { 0.0 } else { self.gain_lin };
        let (left, right) = level::pan_gains(self.pan);
        self.left.set(gain * left);
        self.right.set(gain * right);
    }
}

impl Processor for Fader {
    fn process(&mut self, block: &mut Block<'_>) {
        let mut at = 0;
        for event in block.events {
            let due = (event.frame as usize).clamp(at, block.main.left.len());
            self.apply(&mut block.main.part(at, due));
            self.take(event.change);
            at = due;
        }
        let frames = block.frames();
        self.apply(&mut block.main.part(at, frames));
    }

    fn rests(&self) -> bool {
        true
    }

    fn reset(&mut self) {
        self.snap();
    }

    fn preset(&mut self, change: Change) {
        self.take(change);
    }
}

fn scale_side(ramp: &mut Ramp, row: &mut [f32]) {
    if ramp.is_still() {
        return mix::scale(row, ramp.current());
    }
    for sample in row {
        *sample *= ramp.advance();
    }
}

fn add_side(ramp: &mut Ramp, out: &mut [f32], input: &[f32]) {
    if ramp.is_still() {
        return mix::add_scaled(out, input, ramp.current());
    }
    for (out, input) in out.iter_mut().zip(input) {
        *out += input * ramp.advance();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(fader: &mut Fader, frames: usize) -> (Vec<f32>, Vec<f32>) {
        let (mut left, mut right) = (vec![1.0; frames], vec![1.0; frames]);
        fader.apply(&mut StereoMut { left: &mut left, right: &mut right });
        (left, right)
    }

    #[test]
    fn the_first_setting_has_no_ramp_and_the_centre_changes_no_bit() {
        let mut fader = Fader::new(1.0, 0.0, false, 48_000);
        assert_eq!(run(&mut fader, 5), (vec![1.0; 5], vec![1.0; 5]));
        let mut muted = Fader::new(1.0, 0.0, true, 48_000);
        assert_eq!(run(&mut muted, 5).0, [0.0; 5]);
    }

    #[test]
    fn a_move_is_free_of_jumps_and_of_block_sizes() {
        let mut whole = Fader::new(1.0, 0.0, false, 48_000);
        let mut parts = whole.clone();
        for fader in [&mut whole, &mut parts] {
            fader.set_gain_db(-12.0);
            fader.set_pan(0.5);
        }
        let (left, right) = run(&mut whole, 2000);
        assert!(left.windows(2).all(|pair| (pair[1] - pair[0]).abs() < 2e-3));
        assert!(whole.is_still());
        assert_eq!((left[1999], right[1999]), whole.target_gains());
        let mut joined = Vec::new();
        for frames in [1, 7, 64, 441, 1000, 487] {
            joined.extend(run(&mut parts, frames).0);
        }
        assert_eq!(left, joined);
    }

    #[test]
    fn adding_equals_scaling() {
        let mut one = Fader::new(0.5, -0.3, false, 44_100);
        let mut two = one.clone();
        one.set_mute(true);
        two.set_mute(true);
        let (left, right) = run(&mut one, 300);
        let (mut out_left, mut out_right) = (vec![0.0; 300], vec![0.0; 300]);
        let ones = vec![1.0; 300];
        let mut out = StereoMut { left: &mut out_left, right: &mut out_right };
        two.add_to(&mut out, &ones, &ones);
        assert_eq!((left, right), (out_left, out_right));
    }

    #[test]
    fn bad_settings_are_ignored() {
        let mut fader = Fader::new(0.5, 0.0, false, 48_000);
        fader.set_gain_lin(f32::NAN);
        fader.set_pan(f32::NAN);
        fader.set_gain_db(f32::INFINITY);
        assert_eq!(fader.target_gains(), (0.5, 0.5));
    }
}
