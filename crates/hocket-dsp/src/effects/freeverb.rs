//! Room reverb of parallel combs and serial all-passes (Schroeder, Moorer).
//!
//! The arrangement and its tuning are those of the public-domain Freeverb: per side eight
//! feedback combs with a low pass in the loop, summed, then four all-passes. The lengths are given
//! at 44.1 kHz and grow with the sample rate, and the loop's low pass keeps its corner, so a room
//! sounds alike at every rate. The right side's lines are a little longer than the left's.
//!
//! A comb of length L with loop gain g decays by 60 dB in `L / rate * ln 0.001 / ln g`; with
//! `room` the loop gain goes from 0.7 to 0.98.

use crate::block::{StereoMut, StereoRef};
use crate::effects::row_of;
use crate::kinds::Param;
use crate::math::{self, flush};
use crate::ramp::Ramp;
use crate::segment::SegmentEffect;

const ROOM: usize = 0;
const DAMP: usize = 1;
const WIDTH: usize = 2;
const MIX: usize = 3;

const COMBS: usize = 8;
const ALL_PASSES: usize = 4;
const COMB_FRAMES: [usize; COMBS] = [1116, 1188, 1277, 1356, 1422, 1491, 1557, 1617];
const ALL_PASS_FRAMES: [usize; ALL_PASSES] = [556, 441, 341, 225];
const SPREAD_FRAMES: usize = 23;
const TUNING_RATE_HZ: f64 = 44_100.0;
const INPUT_GAIN: f32 = 0.015;
const WET_GAIN: f32 = 3.0;
const ALL_PASS_GAIN: f32 = 0.5;

/// Rings of several lengths in one piece of memory.
#[derive(Debug, Clone)]
struct Rings<const N: usize> {
    memory: Vec<f32>,
    start: [usize; N],
    end: [usize; N],
    at: [usize; N],
}

impl<const N: usize> Rings<N> {
    fn new(lengths: [usize; N]) -> Rings<N> {
        let mut end = [0; N];
        let mut total = 0;
        for (end, length) in end.iter_mut().zip(lengths) {
            total += length;
            *end = total;
        }
        let start = std::array::from_fn(|n| end[n] - lengths[n]);
        Rings { memory: vec![0.0; total], start, end, at: start }
    }

    #[inline(always)]
    fn oldest(&self, n: usize) -> f32 {
        self.memory[self.at[n]]
    }

    /// Puts a sample in the place of the oldest.
    #[inline(always)]
    fn replace(&mut self, n: usize, sample: f32) {
        self.memory[self.at[n]] = sample;
        let next = self.at[n] + 1;
        self.at[n] = if next == self.end[n] { self.start[n] } else { next };
    }

    fn reset(&mut self) {
        self.memory.fill(0.0);
        self.at = self.start;
    }
}

/// The combs and all-passes of one side.
#[derive(Debug, Clone)]
struct Side {
    combs: Rings<COMBS>,
    damped: [f32; COMBS],
    all_passes: Rings<ALL_PASSES>,
}

impl Side {
    fn new(spread_frames: usize, rate_hz: f64) -> Side {
        let scaled = |frames: usize| {
            let frames = (frames + spread_frames) as f64 * rate_hz / TUNING_RATE_HZ;
            (frames.round() as usize).max(1)
        };
        Side {
            combs: Rings::new(COMB_FRAMES.map(scaled)),
            damped: [0.0; COMBS],
            all_passes: Rings::new(ALL_PASS_FRAMES.map(scaled)),
        }
    }

    #[inline(always)]
    fn frame(&mut self, input: f32, feedback: f32, damp: f32) -> f32 {
        let echoes: [f32; COMBS] = std::array::from_fn(|n| self.combs.oldest(n));
        for (damped, echo) in self.damped.iter_mut().zip(echoes) {
            *damped = flush(echo + (*damped - echo) * damp);
        }
        for n in 0..COMBS {
            self.combs.replace(n, input + self.damped[n] * feedback);
        }
        let [a, b, c, d, e, f, g, h] = echoes;
        let mut signal = ((a + b) + (c + d)) + ((e + f) + (g + h));
        for n in 0..ALL_PASSES {
            let echo = self.all_passes.oldest(n);
            self.all_passes.replace(n, flush(signal + echo * ALL_PASS_GAIN));
            signal = echo - signal;
        }
        signal
    }

    fn reset(&mut self) {
        self.combs.reset();
        self.all_passes.reset();
        self.damped = [0.0; COMBS];
    }
}

/// The reverb.
#[derive(Debug, Clone)]
pub struct Freeverb {
    rate_hz: f64,
    left: Side,
    right: Side,
    feedback: Ramp,
    damp: Ramp,
    width: Ramp,
    mix: Ramp,
}

/// The loop gain of a room size.
pub fn feedback(room: f32) -> f32 {
    room * 0.28 + 0.7
}

/// The low pass coefficient of a damping at a rate: the same corner as at the tuning rate.
fn damp_coefficient(damp: f32, rate_hz: f64) -> f32 {
    let tuned = f64::from(damp) * 0.4;
    math::exp(math::ln(tuned) * TUNING_RATE_HZ / rate_hz) as f32
}

impl SegmentEffect for Freeverb {
    const PARAMS: &'static [Param] = &[
        Param::new("room", "Size of the room: loop gain from 0.7 to 0.98.", 0.0, 1.0, 0.5),
        Param::new("damp", "How fast treble decays.", 0.0, 1.0, 0.5),
        Param::new("width", "0 mono, 1 wide.", 0.0, 1.0, 1.0),
        Param::new("mix", "0 dry, 1 reverb only.", 0.0, 1.0, 0.3),
    ];

    fn new(values: &[f32], sample_rate_hz: u32) -> Freeverb {
        let rate = f64::from(sample_rate_hz);
        Freeverb {
            rate_hz: rate,
            left: Side::new(0, rate),
            right: Side::new(SPREAD_FRAMES, rate),
            feedback: Ramp::smoothing(feedback(values[ROOM]), rate),
            damp: Ramp::smoothing(damp_coefficient(values[DAMP], rate), rate),
            width: Ramp::smoothing(values[WIDTH], rate),
            mix: Ramp::smoothing(values[MIX], rate),
        }
    }

    fn set(&mut self, index: usize, value: f32) {
        match index {
            ROOM => self.feedback.set(feedback(value)),
            DAMP => self.damp.set(damp_coefficient(value, self.rate_hz)),
            WIDTH => self.width.set(value),
            _ => self.mix.set(value),
        }
    }

    fn control(&mut self, _elapsed: usize) {}

    fn run(&mut self, rows: StereoMut<'_>, _key: Option<StereoRef<'_>>) {
        let frames = rows.left.len();
        let feedback = row_of(&mut self.feedback, frames);
        let damp = row_of(&mut self.damp, frames);
        let width = row_of(&mut self.width, frames);
        let mix = row_of(&mut self.mix, frames);
        for i in 0..frames {
            let (dry_left, dry_right) = (rows.left[i], rows.right[i]);
            let input = (dry_left + dry_right) * INPUT_GAIN;
            let left = self.left.frame(input, feedback[i], damp[i]);
            let right = self.right.frame(input, feedback[i], damp[i]);
            let wet = WET_GAIN * mix[i];
            let own = wet * (0.5 + 0.5 * width[i]);
            let other = wet * (0.5 - 0.5 * width[i]);
            rows.left[i] = dry_left * (1.0 - mix[i]) + (left * own + right * other);
            rows.right[i] = dry_right * (1.0 - mix[i]) + (right * own + left * other);
        }
    }

    fn reset(&mut self) {
        self.left.reset();
        self.right.reset();
        for ramp in [&mut self.feedback, &mut self.damp, &mut self.width, &mut self.mix] {
            ramp.snap();
        }
    }
}

/// A side: combs 8 x (low pass 3, flush 2, loop 2) + 7 sums, all-passes 4 x 5, mix 6. Both
/// together: input 2, gains 7.
pub fn flops(_values: &[f32], _sample_rate_hz: u32) -> f64 {
    let side = COMBS as f64 * 7.0 + 7.0 + ALL_PASSES as f64 * 5.0 + 6.0;
    2.0 * side + 9.0
}
