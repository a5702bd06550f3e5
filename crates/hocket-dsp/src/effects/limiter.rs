//! Look-ahead limiter: no output sample exceeds the ceiling.
//!
//! Per frame it computes the gain that would bring the larger side to the ceiling (`need`). With a
//! look-ahead of L frames:
//!
//! 1. `held[n]` is the smallest `need` of frames n-L to n (sliding minimum).
//! 2. `eased[n]` falls with `held` at once and rises with the release time; never above `held`.
//! 3. `gain[n]` is the mean of `eased` over frames n-L to n, a ramp instead of a step.
//! 4. The output at frame n is the input of frame n-L times `gain[n]`.
//!
//! Each of the L+1 values averaged in step 3 is a minimum over a window that contains frame n-L
//! (step 1), so each of them, and their mean, is at most `need[n-L]`: the ceiling holds. Gains are
//! whole multiples of 2^-30 and the mean's sum is kept in integers, so it neither drifts nor rounds
//! upwards over hours. What `f32` rounding of the last product could add is cut off, a millionth
//! at most.
//!
//! The core works against 1.0: the signal is divided by the ceiling before and multiplied by it
//! after, with the same smoothed value, so a moved ceiling holds at every frame too. Samples that
//! are not finite are replaced by silence: what protects loudspeakers must not pass them on.

use crate::block::{StereoMut, StereoRef};
use crate::effects::{Row, row_of};
use crate::kinds::{Param, value};
use crate::level;
use crate::math;
use crate::ramp::Ramp;
use crate::segment::{CONTROL_FRAMES, SegmentEffect};

const INPUT_DB: usize = 0;
const CEILING_DB: usize = 1;
const RELEASE_MS: usize = 2;
const LOOKAHEAD_MS: usize = 3;

/// Full gain in fixed point.
const UNITY: u32 = 1 << 30;

/// The smallest of the last values, without a branch that depends on them.
///
/// The values come in turns of a window's length. The window holds the end of the turn before and the beginning of this one:
/// the smallest of the beginning is `least`. Of the turn before, each place holds the smallest from there on.
#[derive(Debug, Clone)]
struct SlidingMinimum {
    /// A window, and one place behind it.
    places: Vec<u32>,
    at: usize,
    least: u32,
}

impl SlidingMinimum {
    fn new(window: usize) -> SlidingMinimum {
        SlidingMinimum { places: vec![u32::MAX; window + 1], at: 0, least: u32::MAX }
    }

    /// Replaces each value by the smallest of the window that ends with it. Constant cost per value, and once per window one
    /// that grows with it.
    fn run(&mut self, mut values: &mut [u32]) {
        while !values.is_empty() {
            let turn = self.places.len() - 1 - self.at;
            let (now, later) = values.split_at_mut(values.len().min(turn));
            let places = &mut self.places[self.at..self.at + now.len() + 1];
            for (i, value) in now.iter_mut().enumerate() {
                self.least = self.least.min(*value);
                places[i] = *value;
                *value = self.least.min(places[i + 1]);
            }
            self.at += now.len();
            if self.at + 1 == self.places.len() {
                self.turn();
            }
            values = later;
        }
    }

    fn turn(&mut self) {
        (self.at, self.least) = (0, u32::MAX);
        let mut smallest = u32::MAX;
        for value in self.places.iter_mut().rev() {
            smallest = smallest.min(*value);
            *value = smallest;
        }
    }

    fn reset(&mut self) {
        self.places.fill(u32::MAX);
        (self.at, self.least) = (0, u32::MAX);
    }
}

/// The sum of the last values, exact.
#[derive(Debug, Clone)]
struct SlidingSum {
    places: Vec<u32>,
    at: usize,
    sum: u64,
}

impl SlidingSum {
    /// All values are full gain.
    fn new(window: usize) -> SlidingSum {
        SlidingSum { places: vec![UNITY; window], at: 0, sum: u64::from(UNITY) * window as u64 }
    }

    fn run(&mut self, mut values: &[u32], mut sums: &mut [u64]) {
        while !values.is_empty() {
            let places = &mut self.places[self.at..];
            let (now, later) = values.split_at(values.len().min(places.len()));
            let (sums_now, sums_later) = sums.split_at_mut(now.len());
            for ((value, place), sum) in now.iter().zip(places).zip(sums_now) {
                self.sum = self.sum + u64::from(*value) - u64::from(*place);
                *place = *value;
                *sum = self.sum;
            }
            self.at = next(self.at, now.len(), self.places.len());
            (values, sums) = (later, sums_later);
        }
    }

    fn reset(&mut self) {
        self.places.fill(UNITY);
        (self.at, self.sum) = (0, u64::from(UNITY) * self.places.len() as u64);
    }
}

/// The place `by` behind this one in a ring of so many, at most at its end.
#[inline(always)]
fn next(place: usize, by: usize, places: usize) -> usize {
    if place + by == places { 0 } else { place + by }
}

/// The limiter.
#[derive(Debug, Clone)]
pub struct Limiter {
    rate_hz: f64,
    input: Ramp,
    ceiling: Ramp,
    /// Part of the way to full gain that is recovered in a frame, times 2^32.
    recovery: u64,
    held: SlidingMinimum,
    eased: u32,
    mean: SlidingSum,
    delayed: [Vec<f32>; 2],
    /// The place of the oldest delayed frame.
    at: usize,
    gain: u32,
    piece: Piece,
}

fn recovery(release_ms: f32, rate_hz: f64) -> u64 {
    let part = 1.0 - math::exp(-1000.0 / (f64::from(release_ms) * rate_hz));
    (part * 4_294_967_296.0) as u64
}

fn lookahead_frames(values: &[f32], rate_hz: f64) -> usize {
    let frames = f64::from(value(values, LOOKAHEAD_MS)) * rate_hz / 1000.0;
    (frames.round() as usize).max(1)
}

/// The largest gain that keeps `peak` at or below 1.
#[inline(always)]
fn need(peak: f32) -> u32 {
    // Not a selection behind the division, around which a compiler would jump.
    whole(f64::from(UNITY) / f64::from(peak.max(1.0)))
}

/// 2^52: the low bits of a number from there on are its whole units.
const WHOLE: f64 = 4_503_599_627_370_496.0;

/// What `x`, which is not negative and below 2^31, has left of the point. A cast would check for numbers out of range, and no
/// vector does that.
#[inline(always)]
fn whole(x: f64) -> u32 {
    let nearest = (x + WHOLE) - WHOLE;
    let whole = if nearest > x { nearest - 1.0 } else { nearest };
    (whole + WHOLE).to_bits() as u32
}

/// `sum` divided by the window and cut to a whole number.
///
/// The division of `f64` rounds, but never up to a whole number. An exact quotient that is not whole lacks at least one
/// window-th of a unit. That is much more than the rounding, which is 2^-23 at most. So it needs no division of integers, for
/// which there are no vectors.
#[inline(always)]
fn mean(sum: u64, window: f64) -> u32 {
    let sum = f64::from_bits(WHOLE.to_bits() | sum) - WHOLE;
    whole(sum / window)
}

#[inline(always)]
fn finite_or_silence(sample: f32) -> f32 {
    if sample.is_finite() { sample } else { 0.0 }
}

/// Rows of a segment. They stay in the limiter, because a segment would begin with filling new ones.
#[derive(Debug, Clone)]
struct Piece {
    /// What comes in, divided by the ceiling; then what is due.
    sides: [Row; 2],
    ceiling: Row,
    /// What each frame needs, then what is held, then what is eased.
    gains: [u32; CONTROL_FRAMES],
}

/// Means that are computed at once. Loops of fixed length fill vectors to the end.
const TILE: usize = 8;

impl Limiter {
    /// Up to step 1.
    fn hold(&mut self, rows: &StereoMut<'_>) {
        let length = rows.left.len();
        let Piece { sides, ceiling, gains } = &mut self.piece;
        self.ceiling.fill(&mut ceiling[..length]);
        let mut scale = row_of(&mut self.input, length);
        for (scale, ceiling) in scale[..length].iter_mut().zip(&*ceiling) {
            *scale /= ceiling;
        }
        for (side, row) in sides.iter_mut().zip([&*rows.left, &*rows.right]) {
            for ((sample, given), scale) in side.iter_mut().zip(row).zip(&scale) {
                *sample = finite_or_silence(given * scale);
            }
        }
        let [left, right] = sides;
        let gains = &mut gains[..length];
        for ((gain, left), right) in gains.iter_mut().zip(left).zip(right) {
            *gain = need(left.abs().max(right.abs()));
        }
        self.held.run(gains);
    }

    /// Step 2: falls at once, rises by its part of the way and at least one unit.
    fn ease(&mut self, length: usize) {
        // Out of the memory of the limiter, so that the loop keeps it in a register.
        let mut eased = self.eased;
        for gain in &mut self.piece.gains[..length] {
            let way = u64::from(UNITY - eased);
            let step = ((way * self.recovery) >> 32) as u32 + 1;
            eased = (*gain).min(eased + step);
            *gain = eased;
        }
        self.eased = eased;
    }

    /// From step 3 on.
    fn put_out(&mut self, rows: StereoMut<'_>) {
        let length = rows.left.len();
        let Piece { sides, ceiling, gains } = &mut self.piece;
        let window = self.mean.places.len() as f64;
        let mut factors = [[0.0; TILE]; CONTROL_FRAMES / TILE];
        let tiles = gains[..length].chunks_mut(TILE);
        for (gains, factors) in tiles.zip(&mut factors) {
            let mut sums = [0; TILE];
            self.mean.run(gains, &mut sums[..gains.len()]);
            for i in 0..TILE {
                let mean = mean(sums[i], window);
                factors[i] = mean as i32 as f32 * (1.0 / UNITY as f32);
            }
            self.gain = mean(sums[gains.len() - 1], window);
        }
        self.at = delay(&mut self.delayed, self.at, sides, length);
        let factors = factors.as_flattened();
        for (row, side) in [rows.left, rows.right].into_iter().zip(&*sides) {
            for (((sample, late), factor), ceiling) in
                row.iter_mut().zip(side).zip(factors).zip(&*ceiling)
            {
                *sample = (late * factor).clamp(-1.0, 1.0) * ceiling;
            }
        }
    }
}

/// Exchanges the first `length` frames for those that are due. Returns where the oldest delayed frame then is.
#[inline(always)]
fn delay(delayed: &mut [Vec<f32>; 2], at: usize, sides: &mut [Row; 2], length: usize) -> usize {
    let mut place = at;
    for (places, side) in delayed.iter_mut().zip(sides) {
        let mut frames = &mut side[..length];
        place = at;
        while !frames.is_empty() {
            let due = &mut places[place..];
            let (now, later) = frames.split_at_mut(frames.len().min(due.len()));
            for (frame, due) in now.iter_mut().zip(due) {
                std::mem::swap(frame, due);
            }
            place = next(place, now.len(), places.len());
            frames = later;
        }
    }
    place
}

impl SegmentEffect for Limiter {
    const PARAMS: &'static [Param] = &[
        Param::new("input_db", "Level change before it.", -24.0, 24.0, 0.0),
        Param::new("ceiling_db", "No sample passes this level.", -24.0, 0.0, -1.0),
        Param::new("release_ms", "Time to recover by 63 %.", 1.0, 2000.0, 80.0),
        Param::new("lookahead_ms", "Time to fade into a reduction; the latency.", 0.1, 10.0, 2.0)
            .fixed(),
    ];

    fn new(values: &[f32], sample_rate_hz: u32) -> Limiter {
        let rate = f64::from(sample_rate_hz);
        let lookahead = lookahead_frames(values, rate);
        Limiter {
            rate_hz: rate,
            input: Ramp::smoothing(level::db_to_lin(values[INPUT_DB]), rate),
            ceiling: Ramp::smoothing(level::db_to_lin(values[CEILING_DB]), rate),
            recovery: recovery(values[RELEASE_MS], rate),
            held: SlidingMinimum::new(lookahead + 1),
            eased: UNITY,
            mean: SlidingSum::new(lookahead + 1),
            delayed: [vec![0.0; lookahead], vec![0.0; lookahead]],
            at: 0,
            gain: UNITY,
            piece: Piece {
                sides: [[0.0; CONTROL_FRAMES]; 2],
                ceiling: [1.0; CONTROL_FRAMES],
                gains: [UNITY; CONTROL_FRAMES],
            },
        }
    }

    fn set(&mut self, index: usize, value: f32) {
        match index {
            INPUT_DB => self.input.set(level::db_to_lin(value)),
            CEILING_DB => self.ceiling.set(level::db_to_lin(value)),
            _ => self.recovery = recovery(value, self.rate_hz),
        }
    }

    fn control(&mut self, _elapsed: usize) {}

    fn run(&mut self, rows: StereoMut<'_>, _key: Option<StereoRef<'_>>) {
        self.hold(&rows);
        self.ease(rows.left.len());
        self.put_out(rows);
    }

    fn reset(&mut self) {
        self.input.snap();
        self.ceiling.snap();
        self.held.reset();
        self.eased = UNITY;
        self.mean.reset();
        self.delayed.iter_mut().for_each(|places| places.fill(0.0));
        self.at = 0;
        self.gain = UNITY;
    }

    fn latency_frames(&self) -> u32 {
        self.delayed[0].len() as u32
    }

    fn reading(&self) -> Option<f32> {
        Some(-level::lin_to_db((self.gain as f32 / UNITY as f32).max(1e-9)))
    }
}

/// Both sides: scale 1 + 2, peak 3, need 2, gain 1 + 2, clamp 4, ceiling 2. The sliding minimum
/// and mean are integer work and count nothing.
pub fn flops(_values: &[f32], _sample_rate_hz: u32) -> f64 {
    17.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sliding_minimum_is_the_minimum_of_the_window() {
        for window in [1, 2, 7, 64] {
            let values: Vec<u32> =
                (0..1000u32).map(|n| n.wrapping_mul(2_654_435_761) >> 20).collect();
            let mut sliding = SlidingMinimum::new(window);
            let mut got = values.clone();
            // In pieces of every length up to more than a window.
            let (mut rest, mut length) = (&mut got[..], 1);
            while !rest.is_empty() {
                let (piece, later) = rest.split_at_mut(length.min(rest.len()));
                sliding.run(piece);
                (rest, length) = (later, length % 130 + 1);
            }
            for (n, got) in got.iter().enumerate() {
                let from = (n + 1).saturating_sub(window);
                let expected = values[from..=n].iter().min();
                assert_eq!(Some(got), expected, "{window} {n}");
            }
        }
    }

    #[test]
    fn a_mean_is_the_quotient_of_integers() {
        for window in [2u64, 3, 6, 97, 481, 1921, 7681] {
            let most = u64::from(UNITY) * window;
            let near_whole = (0..2000).flat_map(|n| {
                let whole = (most / window - n * 536_870) * window;
                [whole, whole.saturating_sub(1), whole + 1]
            });
            for sum in near_whole.filter(|sum| *sum <= most) {
                assert_eq!(u64::from(mean(sum, window as f64)), sum / window, "{sum} {window}");
            }
        }
    }

    #[test]
    fn a_need_is_the_quotient_cut_off() {
        let peaks = (0..4000u32).map(|n| f32::from_bits(0x3f80_0000 + n * 262_144).abs());
        for peak in peaks.filter(|peak| peak.is_finite()).chain([0.0, 1e-40, 0.5, f32::MAX]) {
            let exact = (f64::from(UNITY) / f64::from(peak)) as u32;
            assert_eq!(need(peak), if peak <= 1.0 { UNITY } else { exact }, "{peak}");
        }
    }

    #[test]
    fn only_rounding_is_cut_off() {
        let mut limiter = Limiter::new(&[0.0, 0.0, 5.0, 1.0], 48_000);
        let mut seed = 1u32;
        for n in 0..200_000u32 {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let loud = if n % 977 < 40 { 40.0 } else { 0.5 };
            let sample = ((seed >> 8) as f32 / 8_388_608.0 - 1.0) * loud;
            let late = limiter.delayed[0][limiter.at];
            let (mut left, mut right) = ([sample], [-0.3 * sample]);
            limiter.run(StereoMut { left: &mut left, right: &mut right }, None);
            let gain = limiter.gain as f32 / UNITY as f32;
            assert!((late * gain).abs() < 1.0 + 1e-6);
        }
    }
}
