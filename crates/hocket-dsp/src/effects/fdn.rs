//! Hall reverb: a feedback delay network (Stautner and Puckette, Jot).
//!
//! Eight or sixteen delay lines of pairwise different prime lengths feed back through a Hadamard
//! matrix, which loses no energy and spreads every line over all the others. Losses are made in
//! each line alone, by a first-order shelf whose gain at low and at high frequencies is
//! `10^(-3 length / (rate t60))`: a line that is twice as long loses twice as many decibels on a
//! pass, so the whole network decays at the set times (Jot's rule). Since matrix and shelf never
//! amplify, the network is stable for every setting.
//!
//! With `modulation_ms` above zero the lengths swing along sines, each line at another phase; the
//! phases start at zero and are counted in frames, so a render repeats to the bit.

use std::f64::consts::{LN_10, PI, TAU};

use crate::block::{StereoMut, StereoRef};
use crate::delay_line::{DelayLine, Distance, Tap, cubic};
use crate::effects::row_of;
use crate::kinds::{Param, value};
use crate::math::{self, flush};
use crate::ramp::{Ramp, SMOOTHING_S};
use crate::segment::{CONTROL_FRAMES, SegmentEffect};

const LINES: usize = 0;
const SIZE_MS: usize = 1;
const T60_LOW_S: usize = 2;
const T60_HIGH_S: usize = 3;
const CROSSOVER_HZ: usize = 4;
const PRE_DELAY_MS: usize = 5;
const MODULATION_MS: usize = 6;
const MODULATION_HZ: usize = 7;
const MIX: usize = 8;

const MAX_PRE_DELAY_MS: f32 = 250.0;
const MAX_MODULATION_MS: f32 = 1.0;

/// The shortest and the longest line relative to the set size.
const SPREAD: (f64, f64) = (0.55, 1.6);

fn is_prime(n: usize) -> bool {
    n >= 2 && (2..).take_while(|d| d * d <= n).all(|d| !n.is_multiple_of(d))
}

/// Distinct primes in rising, roughly geometric order around `size_frames`.
fn line_lengths<const N: usize>(size_frames: f64) -> [usize; N] {
    let ratio = math::ln(SPREAD.1 / SPREAD.0) / (N - 1) as f64;
    let mut above = 0;
    std::array::from_fn(|n| {
        let wanted = size_frames * SPREAD.0 * math::exp(ratio * n as f64);
        let from = (wanted.round() as usize).max(above + 1);
        above = (from..).find(|n| is_prime(*n)).unwrap_or(from);
        above
    })
}

/// Multiplies by the Hadamard matrix over the square root of its order, in `N log2 N` sums.
#[inline(always)]
fn hadamard<const N: usize>(values: &mut [f32; N], scale: f32) {
    let mut half = 1;
    while half < N {
        for start in (0..N).step_by(2 * half) {
            for n in start..start + half {
                let (a, b) = (values[n], values[n + half]);
                values[n] = a + b;
                values[n + half] = a - b;
            }
        }
        half *= 2;
    }
    for value in values {
        *value *= scale;
    }
}

/// The settings that the network follows at control points.
#[derive(Debug, Clone)]
struct Settings {
    rate_hz: f64,
    t60_low_s: Ramp,
    t60_high_s: Ramp,
    crossover_hz: Ramp,
    depth_frames: Ramp,
    modulation_hz: f32,
    /// In force from the next control point on: the interval that ends there ran at the old one.
    next_modulation_hz: f32,
    /// Position of the modulation in turns.
    turn: f64,
}

impl Settings {
    fn ramps(&mut self) -> [&mut Ramp; 4] {
        [&mut self.t60_low_s, &mut self.t60_high_s, &mut self.crossover_hz, &mut self.depth_frames]
    }

    fn is_gliding(&mut self) -> bool {
        self.ramps().iter().any(|ramp| !ramp.is_still())
    }

    fn turns_in(&self, frames: usize) -> f64 {
        f64::from(self.modulation_hz) / self.rate_hz * frames as f64
    }

    fn skip(&mut self, frames: usize) {
        self.turn = (self.turn + self.turns_in(frames)).fract();
        self.modulation_hz = self.next_modulation_hz;
        for ramp in self.ramps() {
            ramp.skip(frames);
        }
    }

    /// Gain of a line over one pass for a decay time.
    fn pass_gain(&self, length: usize, t60_s: f32) -> f64 {
        math::exp(-3.0 * LN_10 * length as f64 / (self.rate_hz * f64::from(t60_s)))
    }

    /// The shelf of a line, `b0 b1 a1`, by the bilinear transform with the corner kept.
    fn shelf(&self, length: usize) -> [f32; 3] {
        let low = self.pass_gain(length, self.t60_low_s.current());
        let high = self.pass_gain(length, self.t60_high_s.current());
        let corner = f64::from(self.crossover_hz.current()).min(0.49 * self.rate_hz);
        let k = math::tan(PI * corner / self.rate_hz);
        let scale = 1.0 / (1.0 + k);
        [
            ((high + low * k) * scale) as f32,
            ((low * k - high) * scale) as f32,
            ((k - 1.0) * scale) as f32,
        ]
    }

    /// How far a line's length is from its middle, `frames` from now.
    fn swing(&self, line: usize, lines: usize, frames: usize) -> f32 {
        let turn = self.turn + self.turns_in(frames) + line as f64 / lines as f64;
        let (sin, _) = math::sin_cos(TAU * turn);
        self.depth_frames.ahead(frames) * sin as f32
    }
}

/// The lines, turned so that one frame of all lines is one piece of memory.
#[derive(Debug, Clone)]
struct Network<const N: usize> {
    lengths: [usize; N],
    memory: Vec<[f32; N]>,
    mask: usize,
    next: usize,
    b0: [f32; N],
    b1: [f32; N],
    a1: [f32; N],
    shelf_state: [f32; N],
    swing: [f32; N],
    swing_step: [f32; N],
    swinging: bool,
    scale: f32,
}

impl<const N: usize> Network<N> {
    fn new(size_frames: f64, max_swing_frames: f64) -> Network<N> {
        let lengths = line_lengths(size_frames);
        let room = lengths[N - 1] + max_swing_frames.ceil() as usize + 4;
        let memory = vec![[0.0; N]; room.next_power_of_two()];
        Network {
            lengths,
            mask: memory.len() - 1,
            memory,
            next: 0,
            b0: [0.0; N],
            b1: [0.0; N],
            a1: [0.0; N],
            shelf_state: [0.0; N],
            swing: [0.0; N],
            swing_step: [0.0; N],
            swinging: false,
            scale: (1.0 / (N as f64).sqrt()) as f32,
        }
    }

    fn design_shelves(&mut self, settings: &Settings) {
        for (n, length) in self.lengths.into_iter().enumerate() {
            [self.b0[n], self.b1[n], self.a1[n]] = settings.shelf(length);
        }
    }

    fn aim_swing(&mut self, settings: &Settings) {
        let depth = &settings.depth_frames;
        self.swinging = depth.current() != 0.0 || !depth.is_still();
        if !self.swinging {
            self.swing = [0.0; N];
            return;
        }
        for n in 0..N {
            self.swing[n] = settings.swing(n, N, 0);
            let later = settings.swing(n, N, CONTROL_FRAMES);
            self.swing_step[n] = (later - self.swing[n]) / CONTROL_FRAMES as f32;
        }
    }

    #[inline(always)]
    fn at(&self, line: usize, distance: usize) -> f32 {
        self.memory[self.next.wrapping_sub(distance) & self.mask][line]
    }

    #[inline(always)]
    fn outputs(&mut self) -> [f32; N] {
        if !self.swinging {
            return std::array::from_fn(|n| self.at(n, self.lengths[n]));
        }
        std::array::from_fn(|n| {
            let swing = self.swing[n];
            self.swing[n] += self.swing_step[n];
            // Shifted to positive numbers, where cutting off the fraction is rounding down.
            let below = (swing + 4096.0) as i32 as f32 - 4096.0;
            let whole = (self.lengths[n] as isize + below as isize) as usize;
            let around = [
                self.at(n, whole - 1),
                self.at(n, whole),
                self.at(n, whole + 1),
                self.at(n, whole + 2),
            ];
            cubic(around, swing - below)
        })
    }

    /// One frame: what comes out on each side, and the input taken in (even lines left, odd
    /// lines right).
    #[inline(always)]
    fn frame(&mut self, input: [f32; 2]) -> [f32; 2] {
        let mut values = self.outputs();
        for (n, value) in values.iter_mut().enumerate() {
            let x = *value;
            *value = self.b0[n] * x + self.shelf_state[n];
            self.shelf_state[n] = flush(self.b1[n] * x - self.a1[n] * *value);
        }
        let out = gather(&values);
        hadamard(&mut values, self.scale);
        for (n, value) in values.iter_mut().enumerate() {
            *value = flush(*value + input[n % 2]);
        }
        self.memory[self.next & self.mask] = values;
        self.next = self.next.wrapping_add(1);
        out
    }

    /// Replaces each frame of input by what comes out.
    fn run(&mut self, wet: &mut [[f32; 2]]) {
        for frame in wet {
            *frame = self.frame(*frame);
        }
    }

    fn reset(&mut self) {
        self.memory.fill([0.0; N]);
        self.shelf_state = [0.0; N];
    }
}

/// Sums even lines to the left and odd lines to the right, with signs that alternate so that the
/// two sides and the first echoes do not add up to one peak.
#[inline(always)]
fn gather<const N: usize>(values: &[f32; N]) -> [f32; 2] {
    let mut out = [0.0; 2];
    for quad in values.chunks_exact(4) {
        out[0] += quad[0] - quad[2];
        out[1] += quad[1] - quad[3];
    }
    out
}

#[derive(Debug, Clone)]
enum Size {
    Eight(Box<Network<8>>),
    Sixteen(Box<Network<16>>),
}

/// Calls the same method on either network.
macro_rules! either {
    ($size:expr, $network:ident => $call:expr) => {
        match $size {
            Size::Eight($network) => $call,
            Size::Sixteen($network) => $call,
        }
    };
}

/// The reverb.
#[derive(Debug, Clone)]
pub struct Fdn {
    settings: Settings,
    network: Size,
    pre_lines: [DelayLine; 2],
    pre_taps: [Tap; 2],
    max_pre_frames: usize,
    mix: Ramp,
    /// Shares the input among half of the lines each, and the output likewise.
    spread: f32,
    designed: bool,
}

fn ms_to_frames(time_ms: f32, rate_hz: f64) -> f64 {
    f64::from(time_ms) * rate_hz / 1000.0
}

/// 8 or 16.
fn lines(values: &[f32]) -> usize {
    if value(values, LINES) >= 12.0 { 16 } else { 8 }
}

impl Fdn {
    /// The lengths of the lines in frames.
    pub fn line_lengths(&self) -> &[usize] {
        either!(&self.network, network => &network.lengths)
    }

    /// Into `wet`: returned by value it would be copied by the C library.
    fn pre_delay(&mut self, rows: &StereoMut<'_>, wet: &mut [[f32; 2]; CONTROL_FRAMES]) {
        let inputs = rows.left.iter().zip(rows.right.iter());
        for (wet, (left, right)) in wet.iter_mut().zip(inputs) {
            for (side, sample) in [left, right].into_iter().enumerate() {
                self.pre_lines[side].push(*sample);
                wet[side] = self.pre_taps[side].read(&self.pre_lines[side]) * self.spread;
            }
        }
    }

    fn pre_distance(&self, time_ms: f32) -> Distance {
        pre_distance(time_ms, self.settings.rate_hz, self.max_pre_frames)
    }
}

/// A whole number of frames, at least one: nobody hears a fraction of a frame before a hall. The
/// line is read after it is written, so the distance is one more than the delay.
fn pre_distance(time_ms: f32, rate_hz: f64, max_frames: usize) -> Distance {
    Distance::from_frames(ms_to_frames(time_ms, rate_hz).round() + 1.0, max_frames)
}

impl SegmentEffect for Fdn {
    const PARAMS: &'static [Param] = &[
        Param::new("lines", "Delay lines: 8 or 16.", 8.0, 16.0, 8.0).fixed(),
        Param::new("size_ms", "Middle length of the lines.", 10.0, 100.0, 45.0).fixed(),
        Param::new("t60_low_s", "Time to decay by 60 dB at low frequencies.", 0.1, 30.0, 2.5),
        Param::new("t60_high_s", "The same at high frequencies.", 0.1, 30.0, 1.2),
        Param::new("crossover_hz", "Frequency between low and high.", 100.0, 10_000.0, 3000.0),
        Param::new(
            "pre_delay_ms",
            "Time before the hall answers; at least one frame.",
            0.0,
            MAX_PRE_DELAY_MS,
            20.0,
        ),
        Param::new("modulation_ms", "How far line lengths swing.", 0.0, MAX_MODULATION_MS, 0.0),
        Param::new("modulation_hz", "How fast they swing.", 0.01, 5.0, 0.5),
        Param::new("mix", "0 dry, 1 reverb only.", 0.0, 1.0, 0.3),
    ];

    fn new(values: &[f32], sample_rate_hz: u32) -> Fdn {
        let rate = f64::from(sample_rate_hz);
        let size = ms_to_frames(values[SIZE_MS], rate).max(8.0);
        let max_swing = ms_to_frames(MAX_MODULATION_MS, rate);
        let max_pre = ms_to_frames(MAX_PRE_DELAY_MS, rate).ceil() as usize + 2;
        let pre = pre_distance(values[PRE_DELAY_MS], rate, max_pre);
        let tap = Tap::new(pre, (SMOOTHING_S * rate).round() as u32);
        let depth = ms_to_frames(values[MODULATION_MS], rate) as f32;
        Fdn {
            settings: Settings {
                rate_hz: rate,
                t60_low_s: Ramp::smoothing(values[T60_LOW_S], rate),
                t60_high_s: Ramp::smoothing(values[T60_HIGH_S], rate),
                crossover_hz: Ramp::smoothing(values[CROSSOVER_HZ], rate),
                depth_frames: Ramp::smoothing(depth, rate),
                modulation_hz: values[MODULATION_HZ],
                next_modulation_hz: values[MODULATION_HZ],
                turn: 0.0,
            },
            network: match lines(values) {
                8 => Size::Eight(Box::new(Network::new(size, max_swing))),
                _ => Size::Sixteen(Box::new(Network::new(size, max_swing))),
            },
            pre_lines: [DelayLine::new(max_pre), DelayLine::new(max_pre)],
            pre_taps: [tap.clone(), tap],
            max_pre_frames: max_pre,
            mix: Ramp::smoothing(values[MIX], rate),
            spread: (2.0 / lines(values) as f64) as f32,
            designed: false,
        }
    }

    fn set(&mut self, index: usize, value: f32) {
        let rate = self.settings.rate_hz;
        match index {
            T60_LOW_S => self.settings.t60_low_s.set(value),
            T60_HIGH_S => self.settings.t60_high_s.set(value),
            CROSSOVER_HZ => self.settings.crossover_hz.set(value),
            PRE_DELAY_MS => {
                let distance = self.pre_distance(value);
                self.pre_taps.iter_mut().for_each(|tap| tap.set(distance));
            }
            MODULATION_MS => {
                let frames = ms_to_frames(value, rate) as f32;
                self.settings.depth_frames.set(frames);
            }
            MODULATION_HZ => self.settings.next_modulation_hz = value,
            _ => self.mix.set(value),
        }
    }

    fn control(&mut self, elapsed: usize) {
        let gliding = self.settings.is_gliding();
        self.settings.skip(elapsed);
        if gliding || !self.designed {
            either!(&mut self.network, network => network.design_shelves(&self.settings));
            self.designed = true;
        }
        either!(&mut self.network, network => network.aim_swing(&self.settings));
    }

    fn run(&mut self, rows: StereoMut<'_>, _key: Option<StereoRef<'_>>) {
        let frames = rows.left.len();
        let mix = row_of(&mut self.mix, frames);
        let mut wet = [[0.0; 2]; CONTROL_FRAMES];
        self.pre_delay(&rows, &mut wet);
        either!(&mut self.network, network => network.run(&mut wet[..frames]));
        for i in 0..frames {
            rows.left[i] = rows.left[i] * (1.0 - mix[i]) + wet[i][0] * mix[i];
            rows.right[i] = rows.right[i] * (1.0 - mix[i]) + wet[i][1] * mix[i];
        }
    }

    fn reset(&mut self) {
        self.settings.turn = 0.0;
        self.settings.modulation_hz = self.settings.next_modulation_hz;
        self.settings.ramps().into_iter().for_each(Ramp::snap);
        self.mix.snap();
        self.pre_taps.iter_mut().for_each(Tap::snap);
        self.pre_lines.iter_mut().for_each(DelayLine::reset);
        either!(&mut self.network, network => network.reset());
        self.designed = false;
    }
}

/// A line: shelf 5, flushes 4, matrix log2 lines sums and 1 scaling, input 1, output 1;
/// modulated 26 more. Besides: input 2, mix 8.
pub fn flops(values: &[f32], _sample_rate_hz: u32) -> f64 {
    let lines = lines(values) as f64;
    let modulated = if value(values, MODULATION_MS) > 0.0 { 26.0 } else { 0.0 };
    lines * (12.0 + lines.log2() + modulated) + 10.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_distinct_primes() {
        for size in [80.0, 441.0, 2160.0, 19_200.0] {
            let lengths: [usize; 16] = line_lengths(size);
            assert!(lengths.windows(2).all(|pair| pair[0] < pair[1]));
            assert!(lengths.iter().all(|length| is_prime(*length)));
            assert!(lengths[15] as f64 <= size * 1.7 + 60.0);
        }
    }

    #[test]
    fn the_matrix_keeps_the_energy() {
        let mut values: [f32; 16] = std::array::from_fn(|n| (n as f32 * 0.7).sin());
        let energy = |values: &[f32; 16]| values.iter().map(|v| v * v).sum::<f32>();
        let before = energy(&values);
        hadamard(&mut values, 0.25);
        assert!((energy(&values) / before - 1.0).abs() < 1e-5);
        hadamard(&mut values, 0.25);
        assert!((values[3] - (3.0f32 * 0.7).sin()).abs() < 1e-6);
    }
}
