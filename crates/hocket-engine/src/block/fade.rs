//! Fades of an edge's gain. Those from one delay to another have the same curve ([`super::ring`]).
//!
//! What a fade does at a frame follows from how many frames of it are over, so the cut into blocks is not heard.
//!
//! The curves have no corner: they begin and end with slope 0. A fade that is turned round goes on with the slope that it
//! has (a cubic Hermite segment), so it has none there either. It may therefore overshoot, by less than a sixth of that
//! slope.

use std::f64::consts::FRAC_PI_2;

use hocket_dsp::mix;
use hocket_plan::compile::FadeCurve;

/// How long a delay or a gain fades into another: 11 ms at 48 kHz.
pub(crate) const FADE_FRAMES: u32 = 512;

const FRAMES: usize = FADE_FRAMES as usize;

/// A value at each frame of a fade, and at its end.
pub(super) type Table = [f32; FRAMES + 1];

/// How much of a fade is over, 0 to 1: 3 t^2 - 2 t^3. What one side lacks the other side has, so two ways of the same
/// sound stay as loud as one.
pub(super) static FADED: Table = table(Value::Faded);

/// The rising side of a fade with equal power: the sine of a quarter turn, as far as [`FADED`] is. The falling side is
/// this backwards, because [`FADED`] is symmetric: the cosine.
static RISING: Table = table(Value::Rising);

/// What a slope of 1 at the start adds to a fade: t (1 - t)^2. It is 0 at both ends and ends with slope 0.
static TURNING: Table = table(Value::Turning);

#[derive(Clone, Copy)]
enum Value {
    Faded,
    Rising,
    Turning,
}

const fn table(of: Value) -> Table {
    let (mut table, mut frame) = ([0.0; FRAMES + 1], 0);
    while frame <= FRAMES {
        let part = frame as f64 / FRAMES as f64;
        let faded = part * part * (3.0 - 2.0 * part);
        table[frame] = match of {
            Value::Faded => faded,
            Value::Rising => sine(FRAC_PI_2 * faded),
            Value::Turning => part * (1.0 - part) * (1.0 - part),
        } as f32;
        frame += 1;
    }
    table
}

/// Up to a quarter turn: further terms of the series are below the last bit.
const fn sine(angle: f64) -> f64 {
    let (mut sum, mut term, mut order) = (angle, angle, 3.0);
    while order < 24.0 {
        term *= -angle * angle / (order * (order - 1.0));
        sum += term;
        order += 2.0;
    }
    sum
}

/// How much is over of a fade of so many frames, at most [`FADE_FRAMES`]: 0 to 1.
pub(super) fn faded_at(frame: usize, frames: usize) -> f32 {
    FADED[frame * FRAMES / frames]
}

/// How edges that stay get another gain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Gains {
    /// Over [`FADE_FRAMES`].
    Fade,
    /// From one frame to the next. A fade that runs ends.
    Jump,
}

/// From one gain to another.
#[derive(Clone, Copy)]
pub(super) struct GainRamp {
    from: f32,
    /// With which slope it begins, per length of a fade.
    slope: f32,
    curve: FadeCurve,
    /// Frames until it begins.
    wait: u64,
    /// Frames that are over.
    over: u32,
}

impl GainRamp {
    /// `wait`: frames until it begins.
    pub(super) fn from(from: f32, curve: FadeCurve, wait: u64) -> GainRamp {
        GainRamp { from, slope: 0.0, curve, wait, over: 0 }
    }

    /// One that begins at once where this one to `to` is, with its slope.
    pub(super) fn turned(self, to: f32, curve: FadeCurve) -> GainRamp {
        let (from, slope) = (self.gain(to, self.over as usize), self.slope(to));
        GainRamp { from, slope, curve, wait: 0, over: 0 }
    }

    /// The gain at a frame of the fade.
    #[inline]
    fn gain(self, to: f32, frame: usize) -> f32 {
        let gain = match self.curve {
            FadeCurve::EqualGain => self.from + (to - self.from) * FADED[frame],
            FadeCurve::EqualPower => self.from * RISING[FRAMES - frame] + to * RISING[frame],
        };
        gain + self.slope * TURNING[frame]
    }

    /// The slope at the next frame, per length of a fade: the derivative of [`GainRamp::gain`].
    fn slope(self, to: f32) -> f32 {
        let (frame, part) = (self.over as usize, self.over as f32 / FRAMES as f32);
        let faded = 6.0 * part * (1.0 - part);
        let slope = match self.curve {
            FadeCurve::EqualGain => (to - self.from) * faded,
            FadeCurve::EqualPower => {
                let sides = to * RISING[FRAMES - frame] - self.from * RISING[frame];
                FRAC_PI_2 as f32 * faded * sides
            }
        };
        slope + self.slope * (1.0 - part) * (1.0 - 3.0 * part)
    }

    /// Multiplies the row of a block. Cost: up to 7 operations per frame.
    pub(super) fn scale(self, row: &mut [f32], to: f32) {
        let (still, fading) = self.cut(row.len());
        let (begin, rest) = row.split_at_mut(still);
        let (middle, end) = rest.split_at_mut(fading);
        // Nothing is exactly that, whatever came in.
        if self.from == 0.0 {
            mix::clear(begin)
        } else {
            mix::scale(begin, self.from)
        }
        for (sample, frame) in middle.iter_mut().zip(self.over as usize..) {
            *sample *= self.gain(to, frame);
        }
        mix::scale(end, to);
    }

    /// The ramp behind a block of so many frames; `None`: it is over.
    pub(super) fn after(self, frames: usize) -> Option<GainRamp> {
        let (still, fading) = self.cut(frames);
        let (wait, over) = (self.wait - still as u64, self.over + fading as u32);
        (over < FADE_FRAMES).then_some(GainRamp { wait, over, ..self })
    }

    /// Of so many frames: those before it begins, and those of the fade.
    fn cut(self, frames: usize) -> (usize, usize) {
        let still = frames.min(usize::try_from(self.wait).unwrap_or(usize::MAX));
        (still, (frames - still).min((FADE_FRAMES - self.over) as usize))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fade_has_no_corners_and_both_sides_together_stay_as_loud() {
        assert_eq!((FADED[0], FADED[FRAMES / 2], FADED[FRAMES]), (0.0, 0.5, 1.0));
        assert_eq!((RISING[0], RISING[FRAMES]), (0.0, 1.0));
        for frame in 0..=FRAMES {
            let back = FRAMES - frame;
            assert!((FADED[frame] + FADED[back] - 1.0).abs() < 1e-6);
            assert!((RISING[frame].powi(2) + RISING[back].powi(2) - 1.0).abs() < 1e-6);
            let angle = std::f32::consts::FRAC_PI_2 * FADED[frame];
            assert!((RISING[frame] - angle.sin()).abs() < 1e-6);
        }
        for table in [&FADED, &RISING] {
            assert!(table.windows(2).all(|two| two[0] < two[1] || two[1] == 1.0));
            assert!(table[1] < 3e-5 && table[FRAMES - 1] > 1.0 - 3e-5);
        }
    }

    /// The largest second difference of the gains.
    fn bend(gains: &[f32]) -> f32 {
        let bends = gains.windows(3).map(|three| (three[2] - 2.0 * three[1] + three[0]).abs());
        bends.fold(0.0, f32::max)
    }

    /// The gains of a ramp to the first of these targets, of one turned to the second after so many frames, and so on.
    fn gains(from: f32, turns: &[(f32, FadeCurve, usize)]) -> Vec<f32> {
        let mut gains = vec![from; 2];
        let mut ramp: Option<GainRamp> = None;
        let mut last = from;
        for (to, curve, frames) in turns {
            let begin = GainRamp::from(last, *curve, 0);
            ramp = Some(ramp.map_or(begin, |ramp| ramp.turned(last, *curve)));
            last = *to;
            let mut row = vec![1.0; *frames];
            ramp.iter().for_each(|ramp| ramp.scale(&mut row, *to));
            ramp = ramp.and_then(|ramp| ramp.after(*frames));
            gains.extend(row);
        }
        gains
    }

    #[test]
    fn a_fade_that_is_turned_round_has_no_corner() {
        use FadeCurve::{EqualGain, EqualPower};
        // What is bent most: the start of a fade in with equal power.
        let plain = bend(&gains(0.0, &[(1.0, EqualPower, 600)]));
        assert!(plain < 4e-5, "{plain}");
        for first in [EqualGain, EqualPower] {
            for turn in [1, 17, 64, 128, 256, 300, 400, 500, 511] {
                for (to, second) in [(0.0, EqualGain), (0.0, EqualPower), (0.4, EqualGain)] {
                    let turned = gains(0.0, &[(1.0, first, turn), (to, second, 600)]);
                    let bend = bend(&turned);
                    assert!(bend < 1.5 * plain, "{first:?} {turn} {to} {second:?}: {bend}");
                    assert_eq!(turned[turned.len() - 1], to);
                    assert!(turned.iter().all(|gain| (-0.3..1.1).contains(gain)));
                }
                // Again and again, as with an edit before each block.
                let often = [(1.0, first, turn), (0.0, EqualGain, 64), (1.0, EqualGain, 64)];
                let often = [&often[..], &often[1..], &[(0.5, EqualGain, 600)]].concat();
                let bend = bend(&gains(0.0, &often));
                assert!(bend < 1.5 * plain, "{first:?} {turn}, often: {bend}");
            }
        }
    }

    #[test]
    fn a_ramp_in_blocks_of_any_length_is_the_ramp() {
        let whole = |ramp: GainRamp, to| {
            let mut row = [0.75; 700];
            ramp.scale(&mut row, to);
            row
        };
        let plain = |from, wait| GainRamp::from(from, FadeCurve::EqualGain, wait);
        let turned = GainRamp { over: 200, ..GainRamp::from(0.0, FadeCurve::EqualPower, 0) };
        let turned = turned.turned(0.5, FadeCurve::EqualGain);
        for (ramp, to) in [(plain(0.0, 100), 0.7), (plain(1.0, 0), 0.0), (turned, 0.0)] {
            let mut row = [0.75; 700];
            for (i, length) in [1, 7, 64, 3].iter().cycle().enumerate() {
                let (at, ramp) = walked(ramp, i);
                let Some(ramp) = ramp else { break };
                let end = (at + length).min(row.len());
                ramp.scale(&mut row[at..end], to);
            }
            let over = 512 + if to == 0.7 { 100 } else { 0 };
            assert_eq!(row[..over], whole(ramp, to)[..over]);
        }
    }

    /// Where the block of this number begins, and the ramp there.
    fn walked(ramp: GainRamp, number: usize) -> (usize, Option<GainRamp>) {
        let lengths = [1, 7, 64, 3].iter().cycle().take(number);
        lengths.fold((0, Some(ramp)), |(at, ramp), length| {
            (at + length, ramp.and_then(|ramp| ramp.after(*length)))
        })
    }
}
