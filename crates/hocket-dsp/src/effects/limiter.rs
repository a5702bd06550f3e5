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
use crate::effects::row_of;
use crate::kinds::{Param, value};
use crate::level;
use crate::math;
use crate::ramp::Ramp;
use crate::segment::Effect;

const INPUT_DB: usize = 0;
const CEILING_DB: usize = 1;
const RELEASE_MS: usize = 2;
const LOOKAHEAD_MS: usize = 3;

/// Full gain in fixed point.
const UNITY: u32 = 1 << 30;

/// The smallest of the last values, by a queue that keeps only values which can still become the
/// smallest: rising from front to back.
#[derive(Debug, Clone)]
struct SlidingMinimum {
    queue: Vec<(u32, u32)>,
    front: usize,
    length: usize,
    window: u32,
    now: u32,
}

impl SlidingMinimum {
    fn new(window: usize) -> SlidingMinimum {
        SlidingMinimum {
            queue: vec![(0, 0); window + 1],
            front: 0,
            length: 0,
            window: window as u32,
            now: 0,
        }
    }

    fn place(&self, n: usize) -> usize {
        let place = self.front + n;
        if place >= self.queue.len() { place - self.queue.len() } else { place }
    }

    /// Adds a value and returns the smallest of the window. Amortised constant cost.
    fn push(&mut self, value: u32) -> u32 {
        while self.length > 0 && self.queue[self.place(self.length - 1)].1 >= value {
            self.length -= 1;
        }
        let back = self.place(self.length);
        self.queue[back] = (self.now, value);
        self.length += 1;
        if self.now.wrapping_sub(self.queue[self.front].0) >= self.window {
            self.front = self.place(1);
            self.length -= 1;
        }
        self.now = self.now.wrapping_add(1);
        self.queue[self.front].1
    }

    fn reset(&mut self) {
        self.front = 0;
        self.length = 0;
        self.now = 0;
    }
}

/// The mean of the last values, exact.
#[derive(Debug, Clone)]
struct SlidingMean {
    ring: Vec<u32>,
    at: usize,
    sum: u64,
}

impl SlidingMean {
    fn new(window: usize) -> SlidingMean {
        SlidingMean { ring: vec![UNITY; window], at: 0, sum: u64::from(UNITY) * window as u64 }
    }

    fn push(&mut self, value: u32) -> u32 {
        self.sum = self.sum + u64::from(value) - u64::from(self.ring[self.at]);
        self.ring[self.at] = value;
        self.at = (self.at + 1) % self.ring.len();
        (self.sum / self.ring.len() as u64) as u32
    }

    fn reset(&mut self) {
        *self = SlidingMean { ring: std::mem::take(&mut self.ring), at: 0, sum: 0 };
        self.ring.fill(UNITY);
        self.sum = u64::from(UNITY) * self.ring.len() as u64;
    }
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
    mean: SlidingMean,
    delayed: Vec<[f32; 2]>,
    at: usize,
    gain: u32,
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
fn need(peak: f32) -> u32 {
    if peak <= 1.0 { UNITY } else { (f64::from(UNITY) / f64::from(peak)) as u32 }
}

fn finite_or_silence(sample: f32) -> f32 {
    if sample.is_finite() { sample } else { 0.0 }
}

impl Limiter {
    /// Step 2: falls at once, rises by its part of the way and at least one unit.
    fn ease(&mut self, held: u32) -> u32 {
        let way = u64::from(UNITY - self.eased);
        let step = ((way * self.recovery) >> 32) as u32 + 1;
        self.eased = held.min(self.eased + step);
        self.eased
    }

    /// One frame against a ceiling of 1.
    #[inline(always)]
    fn frame(&mut self, frame: [f32; 2]) -> [f32; 2] {
        let peak = frame[0].abs().max(frame[1].abs());
        let held = self.held.push(need(peak));
        let eased = self.ease(held);
        self.gain = self.mean.push(eased);
        let late = std::mem::replace(&mut self.delayed[self.at], frame);
        self.at = (self.at + 1) % self.delayed.len();
        let gain = self.gain as f32 * (1.0 / UNITY as f32);
        late.map(|sample| (sample * gain).clamp(-1.0, 1.0))
    }
}

impl Effect for Limiter {
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
            mean: SlidingMean::new(lookahead + 1),
            delayed: vec![[0.0; 2]; lookahead],
            at: 0,
            gain: UNITY,
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
        let frames = rows.left.len();
        let input = row_of(&mut self.input, frames);
        let ceiling = row_of(&mut self.ceiling, frames);
        for i in 0..frames {
            let scale = input[i] / ceiling[i];
            let frame = [rows.left[i], rows.right[i]];
            let out = self.frame(frame.map(|sample| finite_or_silence(sample * scale)));
            rows.left[i] = out[0] * ceiling[i];
            rows.right[i] = out[1] * ceiling[i];
        }
    }

    fn reset(&mut self) {
        self.input.snap();
        self.ceiling.snap();
        self.held.reset();
        self.eased = UNITY;
        self.mean.reset();
        self.delayed.fill([0.0; 2]);
        self.at = 0;
        self.gain = UNITY;
    }

    fn latency_frames(&self) -> u32 {
        self.delayed.len() as u32
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
            for (n, value) in values.iter().enumerate() {
                let from = (n + 1).saturating_sub(window);
                let expected = values[from..=n].iter().min();
                assert_eq!(Some(&sliding.push(*value)), expected, "{window} {n}");
            }
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
            let late = limiter.delayed[limiter.at];
            limiter.frame([sample, -0.3 * sample]);
            let gain = limiter.gain as f32 / UNITY as f32;
            assert!((late[0] * gain).abs() < 1.0 + 1e-6);
        }
    }
}
