//! Echoes.
//!
//! Two delay lines with cubic interpolation. What comes out is low-passed (`damping`), scaled
//! (`feedback`) and fed back into its own line, or with `ping_pong` into the other one while the
//! input enters on the left only. A changed time fades from the old place in the line to the new
//! one (see [`Tap`]).

use crate::block::{StereoMut, StereoRef};
use crate::delay_line::{DelayLine, Distance, Tap};
use crate::effects::{is_on, row_of};
use crate::kinds::Param;
use crate::math::flush;
use crate::ramp::{Ramp, SMOOTHING_S};
use crate::segment::SegmentEffect;

const TIME_LEFT_MS: usize = 0;
const TIME_RIGHT_MS: usize = 1;
const FEEDBACK: usize = 2;
const DAMPING: usize = 3;
const MIX: usize = 4;
const PING_PONG: usize = 5;

const MAX_TIME_MS: f32 = 2000.0;

/// The echo.
#[derive(Debug, Clone)]
pub struct Delay {
    rate_hz: f64,
    max_frames: usize,
    lines: [DelayLine; 2],
    taps: [Tap; 2],
    damped: [f32; 2],
    feedback: Ramp,
    damping: Ramp,
    mix: Ramp,
    /// 0 straight, 1 ping-pong; fades between the two routings.
    crossing: Ramp,
}

fn distance(time_ms: f32, rate_hz: f64, max_frames: usize) -> Distance {
    Distance::from_frames(f64::from(time_ms) * rate_hz / 1000.0, max_frames)
}

impl Delay {
    /// The sums that enter the lines: input and feedback, each straight or crossed.
    #[inline(always)]
    fn entering(input: [f32; 2], back: [f32; 2], crossing: f32) -> [f32; 2] {
        let [left, right] = input;
        let middle = 0.5 * (left + right);
        [
            (left + (middle - left) * crossing) + (back[0] + (back[1] - back[0]) * crossing),
            (right - right * crossing) + (back[1] + (back[0] - back[1]) * crossing),
        ]
    }
}

impl SegmentEffect for Delay {
    const PARAMS: &'static [Param] = &[
        Param::new("time_left_ms", "Time of the left echo.", 1.0, MAX_TIME_MS, 375.0),
        Param::new("time_right_ms", "Time of the right echo.", 1.0, MAX_TIME_MS, 500.0),
        Param::new("feedback", "Part of each echo that is repeated.", 0.0, 0.98, 0.4),
        Param::new(
            "damping",
            "Loss of treble at each repeat: coefficient of a one-pole low pass.",
            0.0,
            0.98,
            0.2,
        ),
        Param::new("mix", "0 dry, 1 echoes only.", 0.0, 1.0, 0.3),
        Param::new("ping_pong", "1: echoes change sides.", 0.0, 1.0, 0.0),
    ];

    fn new(values: &[f32], sample_rate_hz: u32) -> Delay {
        let rate = f64::from(sample_rate_hz);
        let max_frames = (f64::from(MAX_TIME_MS) * rate / 1000.0).ceil() as usize;
        let fade_frames = (SMOOTHING_S * rate).round() as u32;
        let tap = |time_ms| Tap::new(distance(time_ms, rate, max_frames), fade_frames);
        Delay {
            rate_hz: rate,
            max_frames,
            lines: [DelayLine::new(max_frames), DelayLine::new(max_frames)],
            taps: [tap(values[TIME_LEFT_MS]), tap(values[TIME_RIGHT_MS])],
            damped: [0.0; 2],
            feedback: Ramp::smoothing(values[FEEDBACK], rate),
            damping: Ramp::smoothing(values[DAMPING], rate),
            mix: Ramp::smoothing(values[MIX], rate),
            crossing: Ramp::smoothing(f32::from(is_on(values[PING_PONG])), rate),
        }
    }

    fn set(&mut self, index: usize, value: f32) {
        match index {
            TIME_LEFT_MS | TIME_RIGHT_MS => {
                self.taps[index].set(distance(value, self.rate_hz, self.max_frames));
            }
            FEEDBACK => self.feedback.set(value),
            DAMPING => self.damping.set(value),
            MIX => self.mix.set(value),
            _ => self.crossing.set(f32::from(is_on(value))),
        }
    }

    fn control(&mut self, _elapsed: usize) {}

    fn run(&mut self, rows: StereoMut<'_>, _key: Option<StereoRef<'_>>) {
        let frames = rows.left.len();
        let feedback = row_of(&mut self.feedback, frames);
        let damping = row_of(&mut self.damping, frames);
        let mix = row_of(&mut self.mix, frames);
        let crossing = row_of(&mut self.crossing, frames);
        for i in 0..frames {
            let dry = [rows.left[i], rows.right[i]];
            let mut wet = [0.0; 2];
            let mut back = [0.0; 2];
            for side in 0..2 {
                wet[side] = self.taps[side].read(&self.lines[side]);
                let damped = wet[side] + (self.damped[side] - wet[side]) * damping[i];
                self.damped[side] = flush(damped);
                back[side] = self.damped[side] * feedback[i];
            }
            let entering = Delay::entering(dry, back, crossing[i]);
            self.lines[0].push(entering[0]);
            self.lines[1].push(entering[1]);
            rows.left[i] = dry[0] * (1.0 - mix[i]) + wet[0] * mix[i];
            rows.right[i] = dry[1] * (1.0 - mix[i]) + wet[1] * mix[i];
        }
    }

    fn reset(&mut self) {
        self.lines.iter_mut().for_each(DelayLine::reset);
        self.taps.iter_mut().for_each(Tap::snap);
        self.damped = [0.0; 2];
        for ramp in [&mut self.feedback, &mut self.damping, &mut self.mix, &mut self.crossing] {
            ramp.snap();
        }
    }
}

/// A side: interpolation 22 (where the time is no whole frame), damping 3, flush 2, feedback 1,
/// mix 4. Both together: routing 15.
pub fn flops(values: &[f32], sample_rate_hz: u32) -> f64 {
    let max_frames = usize::MAX >> 12;
    let interpolation = |index| {
        let time_ms = crate::kinds::value(values, index);
        let distance = distance(time_ms, f64::from(sample_rate_hz), max_frames);
        if distance.part == 0.0 { 0.0 } else { 22.0 }
    };
    interpolation(TIME_LEFT_MS) + interpolation(TIME_RIGHT_MS) + 2.0 * 10.0 + 15.0
}
