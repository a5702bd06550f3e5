//! Guitar amplifier.
//!
//! Signal path:
//! 1. high pass (second order, `high_pass_hz`) and drive gain;
//! 2. up to 2, 4 or 8 times the sample rate ([`crate::oversample`]);
//! 3. first stage: `u / sqrt(1 + u^2)` around a working point off the middle (`bias`), which makes
//!    even harmonics as a single tube does;
//! 4. coupling: a first-order high pass at 20 Hz that takes the working point's shift away;
//! 5. second stage: the same curve around the middle, as a push-pull pair;
//! 6. back to the sample rate;
//! 7. tone stack: the passive circuit of the 1959 Bassman, from its component values, after Yeh
//!    and Smith (DAFx-06), by the bilinear transform; [`MAKEUP_DB`] make up for its loss;
//! 8. cabinet: six fixed second-order sections after the usual shape of a closed 12-inch cabinet;
//! 9. level.
//!
//! The curve bends the signal at every rate, so harmonics above half of the sample rate fold back;
//! a higher `oversampling` leaves less of them. It decides the latency and is fixed when built.

mod abreast;

use crate::abreast::{Abreast, AbreastKey, Lane};
use crate::biquad::{BothSides, Coefficients, Shape, flush_sides, step_both};
use crate::block::{StereoMut, StereoRef};
use crate::effects::{Row, row_of};
use crate::kinds::{Param, value};
use crate::level;
use crate::math;
use crate::oversample::Oversampler;
use crate::ramp::{Morph, Ramp};
use crate::segment::{CONTROL_FRAMES, SegmentEffect, Segmented};

const OVERSAMPLING: usize = 0;
const HIGH_PASS_HZ: usize = 1;
const DRIVE_DB: usize = 2;
const BIAS: usize = 3;
const BASS: usize = 4;
const MIDDLE: usize = 5;
const TREBLE: usize = 6;
const CABINET: usize = 7;
const LEVEL_DB: usize = 8;

/// What the tone stack loses in its middle setting, roughly.
pub const MAKEUP_DB: f32 = 8.0;

/// Gain between the stages.
const SECOND_DRIVE: f32 = 2.5;
const COUPLING_HZ: f64 = 20.0;

/// The three delayed sums of the tone stack, each for left and right, as [`BothSides`].
type ToneState = [[f64; 2]; 3];

/// The curve of both stages: odd, smooth, between -1 and 1. 4 operations.
#[inline(always)]
fn bend(u: f32) -> f32 {
    u / (1.0 + u * u).sqrt()
}

/// The passive tone stack as `b1 b2 b3 a1 a2 a3` of s, with `a0 = 1` and `b0 = 0`.
///
/// Positions of the three controls from 0 to 1. Yeh and Smith give the sums; the circuit is: a
/// treble path through 250 pF, a bass path through 56 kOhm and 20 nF, a middle path through
/// 20 nF, and potentiometers of 250 kOhm, 1 MOhm and 25 kOhm.
fn tone_circuit(bass: f64, middle: f64, treble: f64) -> ([f64; 3], [f64; 3]) {
    let (r1, r2, r3, r4) = (250e3, 1e6, 25e3, 56e3);
    let (c1, c2, c3) = (250e-12, 20e-9, 20e-9);
    let (l, m, t) = (bass, middle, treble);
    let c123 = c1 * c2 * c3;
    let bend = (c1 + c2) * c3 * r3 * r3;
    let b1 = t * c1 * r1 + m * c3 * r3 + l * (c1 + c2) * r2 + (c1 + c2) * r3;
    let b2 = t * (c2 + c3) * c1 * r1 * r4 - m * m * bend
        + m * (c1 * c3 * r1 * r3 + bend)
        + l * (c1 * c2 * r1 * r2 + c1 * c2 * r2 * r4 + c1 * c3 * r2 * r4)
        + l * m * (c1 + c2) * c3 * r2 * r3
        + (c1 * c2 * r1 * r3 + c1 * c2 * r3 * r4 + c1 * c3 * r3 * r4);
    let b3 = c123
        * (l * m * r2 * r3 * (r1 + r4) - m * m * r3 * r3 * (r1 + r4)
            + m * r3 * r3 * (r1 + r4)
            + t * r1 * r3 * r4
            - t * m * r1 * r3 * r4
            + t * l * r1 * r2 * r4);
    let a1 = (c1 * r1 + c1 * r3 + c2 * r3 + c2 * r4 + c3 * r4) + m * c3 * r3 + l * (c1 + c2) * r2;
    let a2 = m * (c1 * c3 * r1 * r3 - c2 * c3 * r3 * r4 + bend) + l * m * (c1 + c2) * c3 * r2 * r3
        - m * m * bend
        + l * (c1 * c2 * r2 * r4 + c1 * c2 * r1 * r2 + c1 * c3 * r2 * r4 + c2 * c3 * r2 * r4)
        + (c1 * c2 * r1 * r4
            + c1 * c3 * r1 * r4
            + c1 * c2 * r3 * r4
            + c1 * c2 * r1 * r3
            + c1 * c3 * r3 * r4
            + c2 * c3 * r3 * r4);
    let a3 = c123
        * (l * m * r2 * r3 * (r1 + r4) - m * m * r3 * r3 * (r1 + r4)
            + m * (r3 * r3 * r4 + r1 * r3 * r3 - r1 * r3 * r4)
            + l * r1 * r2 * r4
            + r1 * r3 * r4);
    ([b1, b2, b3], [a1, a2, a3])
}

/// The tone stack at a sample rate: `b0 b1 b2 b3 a1 a2 a3` of z, by the bilinear transform.
fn tone_coefficients(bass: f32, middle: f32, treble: f32, rate_hz: f64) -> [f64; 7] {
    // The bass potentiometer is logarithmic: a turn in the middle is a tenth of its resistance.
    let bass = math::exp((f64::from(bass) - 1.0) * 3.4);
    let (b, a) = tone_circuit(bass, f64::from(middle), f64::from(treble));
    let c = 2.0 * rate_hz;
    let (c2, c3) = (c * c, c * c * c);
    let top = |n0: f64, [n1, n2, n3]: [f64; 3]| {
        let (n1, n2, n3) = (n1 * c, n2 * c2, n3 * c3);
        [
            n0 + n1 + n2 + n3,
            3.0 * n0 + n1 - n2 - 3.0 * n3,
            3.0 * n0 - n1 - n2 + 3.0 * n3,
            n0 - n1 + n2 - n3,
        ]
    };
    let (top, bottom) = (top(0.0, b), top(1.0, a));
    let [b0, b1, b2, b3] = top.map(|value| value / bottom[0]);
    let [_, a1, a2, a3] = bottom.map(|value| value / bottom[0]);
    [b0, b1, b2, b3, a1, a2, a3]
}

/// The cabinet: resonance of the box, no deep bass, a dip in the low middle, the cone's presence,
/// and a steep end of the treble.
fn cabinet_sections(rate_hz: f64) -> [[f64; 5]; 6] {
    let section = |shape, freq_hz: f64, q, gain_db| {
        let freq_hz = freq_hz.min(0.45 * rate_hz);
        Coefficients::design(shape, freq_hz, q, gain_db, rate_hz).to_array()
    };
    [
        section(Shape::HighPass, 75.0, 0.8, 0.0),
        section(Shape::Peaking, 110.0, 1.2, 3.0),
        section(Shape::Peaking, 420.0, 0.8, -3.5),
        section(Shape::Peaking, 2600.0, 1.3, 5.0),
        // Fourth-order Butterworth.
        section(Shape::LowPass, 4800.0, 0.541_196_1, 0.0),
        section(Shape::LowPass, 4800.0, 1.306_563, 0.0),
    ]
}

/// Stages 3 to 5 for both sides at the high rate.
#[derive(Debug, Clone)]
struct Stages {
    factor: usize,
    coupling: f64,
    /// The slow part that the coupling takes away.
    slow: [f64; 2],
}

impl Stages {
    fn new(factor: usize, rate_hz: f64) -> Stages {
        let high_rate = rate_hz * factor as f64;
        Stages {
            factor,
            coupling: 1.0 - math::exp(-std::f64::consts::TAU * COUPLING_HZ / high_rate),
            slow: [0.0; 2],
        }
    }

    /// First stage: silence stays silence, whatever the working point.
    #[inline(always)]
    fn first_stage(&self, row: &mut [f32], bias: &Row, still: bool) {
        if still {
            Stages::first_still(row, bias[0]);
        } else {
            self.first(row, bias);
        }
    }

    #[inline(always)]
    fn first(&self, row: &mut [f32], bias: &[f32]) {
        for (frame, bias) in row.chunks_exact_mut(self.factor).zip(bias) {
            let rest = bend(*bias);
            for sample in frame {
                *sample = bend(*sample + bias) - rest;
            }
        }
    }

    /// The first stage while the working point rests: one loop over the whole row.
    #[inline(always)]
    fn first_still(row: &mut [f32], bias: f32) {
        let rest = bend(bias);
        for sample in row {
            *sample = bend(*sample + bias) - rest;
        }
    }

    /// Both sides in one loop: they wait for their own feedback only, and overlap.
    fn couple(&mut self, left: &mut [f32], right: &mut [f32]) {
        let ([mut a, mut b], k) = (self.slow, self.coupling);
        let keep = 1.0 - k;
        for (left, right) in left.iter_mut().zip(right) {
            let (x, y) = (f64::from(*left), f64::from(*right));
            *left = math::narrow(x - a);
            *right = math::narrow(y - b);
            a = a * keep + x * k;
            b = b * keep + y * k;
        }
        self.slow = [a, b];
    }

    #[inline(always)]
    fn second(row: &mut [f32]) {
        for sample in row {
            *sample = bend(*sample * SECOND_DRIVE);
        }
    }
}

/// The amplifier.
#[derive(Debug, Clone)]
pub struct Amp {
    rate_hz: f64,
    high_pass_hz: Ramp,
    high_pass: Morph<5>,
    high_pass_state: BothSides,
    drive: Ramp,
    bias: Ramp,
    over: [Oversampler; 2],
    stages: Stages,
    tone: [Ramp; 3],
    tone_stack: Morph<7>,
    tone_state: ToneState,
    cabinet: [[f64; 5]; 6],
    cabinet_states: [BothSides; 6],
    cabinet_part: Ramp,
    level: Ramp,
}

fn factor(values: &[f32]) -> u32 {
    let wanted = value(values, OVERSAMPLING).clamp(1.0, 8.0) as u32;
    1 << wanted.ilog2()
}

fn level_gain(level_db: f32) -> f32 {
    level::db_to_lin(level_db + MAKEUP_DB)
}

/// One frame of the tone stack for both sides, transposed direct form II.
#[inline(always)]
fn tone_step(c: &[f64; 7], [first, second, third]: &mut ToneState, y: &mut [f64; 2]) {
    let x = *y;
    for side in 0..2 {
        y[side] = c[0] * x[side] + first[side];
    }
    for side in 0..2 {
        first[side] = (c[1] * x[side] + second[side]) - c[4] * y[side];
    }
    for side in 0..2 {
        second[side] = (c[2] * x[side] + third[side]) - c[5] * y[side];
    }
    for side in 0..2 {
        third[side] = c[3] * x[side] - c[6] * y[side];
    }
}

impl Amp {
    fn design_high_pass(&self, frames: usize) -> [f64; 5] {
        let freq_hz = f64::from(self.high_pass_hz.ahead(frames));
        let q = std::f64::consts::FRAC_1_SQRT_2;
        Coefficients::design(Shape::HighPass, freq_hz, q, 0.0, self.rate_hz).to_array()
    }

    fn design_tone(&self, frames: usize) -> [f64; 7] {
        let [bass, middle, treble] = [0, 1, 2].map(|n: usize| self.tone[n].ahead(frames));
        tone_coefficients(bass, middle, treble, self.rate_hz)
    }

    fn rest_filters(&mut self) {
        self.high_pass = Morph::at(self.design_high_pass(0));
        self.tone_stack = Morph::at(self.design_tone(0));
    }

    fn control_high_pass(&mut self, elapsed: usize) {
        self.high_pass_hz.skip(elapsed);
        if !self.high_pass_hz.is_still() {
            let target = self.design_high_pass(CONTROL_FRAMES);
            self.high_pass.head_for(target, CONTROL_FRAMES);
        } else if self.high_pass.is_moving() {
            self.high_pass = Morph::at(self.design_high_pass(0));
        }
    }

    fn control_tone(&mut self, elapsed: usize) {
        self.tone.iter_mut().for_each(|ramp| ramp.skip(elapsed));
        if self.tone.iter().any(|ramp| !ramp.is_still()) {
            let target = self.design_tone(CONTROL_FRAMES);
            self.tone_stack.head_for(target, CONTROL_FRAMES);
        } else if self.tone_stack.is_moving() {
            self.tone_stack = Morph::at(self.design_tone(0));
        }
    }

    fn flush(&mut self) {
        math::flush_together(&mut self.stages.slow);
        math::flush_together(self.tone_state.as_flattened_mut());
        flush_sides(&mut self.high_pass_state);
        self.cabinet_states.iter_mut().for_each(flush_sides);
    }

    fn high_pass_and_drive(&mut self, rows: &mut StereoMut<'_>, drive: &Row) {
        let moving = self.high_pass.is_moving();
        let frames = rows.left.iter_mut().zip(rows.right.iter_mut());
        for ((left, right), drive) in frames.zip(drive) {
            if moving {
                self.high_pass.advance();
            }
            let mut y = [f64::from(*left), f64::from(*right)];
            step_both(&self.high_pass.current, &mut self.high_pass_state, &mut y);
            *left = math::narrow(y[0]) * drive;
            *right = math::narrow(y[1]) * drive;
        }
    }

    fn distort(&mut self, rows: &mut StereoMut<'_>) {
        let still = self.bias.is_still();
        let bias = row_of(&mut self.bias, rows.left.len());
        let [over_left, over_right] = &mut self.over;
        let left = over_left.raise(rows.left);
        let right = over_right.raise(rows.right);
        for row in [&mut *left, &mut *right] {
            self.stages.first_stage(row, &bias, still);
        }
        self.stages.couple(left, right);
        Stages::second(left);
        Stages::second(right);
        over_left.lower(rows.left);
        over_right.lower(rows.right);
    }

    fn tone_cabinet_level(&mut self, rows: &mut StereoMut<'_>) {
        let frames = rows.left.len();
        let cabinet_part = row_of(&mut self.cabinet_part, frames);
        let level = row_of(&mut self.level, frames);
        let moving = self.tone_stack.is_moving();
        for i in 0..frames {
            if moving {
                self.tone_stack.advance();
            }
            let mut plain = [f64::from(rows.left[i]), f64::from(rows.right[i])];
            tone_step(&self.tone_stack.current, &mut self.tone_state, &mut plain);
            let mut boxed = plain;
            for (c, state) in self.cabinet.iter().zip(&mut self.cabinet_states) {
                step_both(c, state, &mut boxed);
            }
            let part = f64::from(cabinet_part[i]);
            for (side, row) in [&mut *rows.left, &mut *rows.right].into_iter().enumerate() {
                let mixed = plain[side] + (boxed[side] - plain[side]) * part;
                row[i] = math::narrow(mixed) * level[i];
            }
        }
    }
}

impl SegmentEffect for Amp {
    const PARAMS: &'static [Param] = &[
        Param::new(
            "oversampling",
            "It distorts at this many times the sample rate: 1, 2, 4 or 8.",
            1.0,
            8.0,
            4.0,
        )
        .fixed(),
        Param::new("high_pass_hz", "Corner before the drive.", 20.0, 1000.0, 90.0),
        Param::new("drive_db", "Level into the first stage.", 0.0, 60.0, 30.0),
        Param::new(
            "bias",
            "Working point of the first stage: 0 even, more is asymmetric.",
            0.0,
            1.0,
            0.3,
        ),
        Param::new("bass", "Tone control.", 0.0, 1.0, 0.5),
        Param::new("middle", "Tone control.", 0.0, 1.0, 0.5),
        Param::new("treble", "Tone control.", 0.0, 1.0, 0.5),
        Param::new("cabinet", "Part of the cabinet: 0 none, 1 all.", 0.0, 1.0, 1.0),
        Param::new("level_db", "Level after it.", -48.0, 24.0, -12.0),
    ];

    fn new(values: &[f32], sample_rate_hz: u32) -> Amp {
        let rate = f64::from(sample_rate_hz);
        let over = Oversampler::new(factor(values));
        let smooth = |value| Ramp::smoothing(value, rate);
        let mut amp = Amp {
            rate_hz: rate,
            high_pass_hz: smooth(values[HIGH_PASS_HZ]),
            high_pass: Morph::at([0.0; 5]),
            high_pass_state: [[0.0; 2]; 2],
            drive: smooth(level::db_to_lin(values[DRIVE_DB])),
            bias: smooth(values[BIAS]),
            stages: Stages::new(over.factor(), rate),
            over: [over.clone(), over],
            tone: [values[BASS], values[MIDDLE], values[TREBLE]].map(smooth),
            tone_stack: Morph::at([0.0; 7]),
            tone_state: [[0.0; 2]; 3],
            cabinet: cabinet_sections(rate),
            cabinet_states: [[[0.0; 2]; 2]; 6],
            cabinet_part: smooth(values[CABINET]),
            level: smooth(level_gain(values[LEVEL_DB])),
        };
        amp.rest_filters();
        amp
    }

    fn set(&mut self, index: usize, value: f32) {
        match index {
            HIGH_PASS_HZ => self.high_pass_hz.set(value),
            DRIVE_DB => self.drive.set(level::db_to_lin(value)),
            BIAS => self.bias.set(value),
            BASS | MIDDLE | TREBLE => self.tone[index - BASS].set(value),
            CABINET => self.cabinet_part.set(value),
            _ => self.level.set(level_gain(value)),
        }
    }

    fn control(&mut self, elapsed: usize) {
        self.control_high_pass(elapsed);
        self.control_tone(elapsed);
        self.flush();
    }

    fn run(&mut self, mut rows: StereoMut<'_>, _key: Option<StereoRef<'_>>) {
        let drive = row_of(&mut self.drive, rows.left.len());
        self.high_pass_and_drive(&mut rows, &drive);
        self.distort(&mut rows);
        self.tone_cabinet_level(&mut rows);
    }

    fn reset(&mut self) {
        let settings = [
            &mut self.high_pass_hz,
            &mut self.drive,
            &mut self.bias,
            &mut self.cabinet_part,
            &mut self.level,
        ];
        settings.into_iter().chain(&mut self.tone).for_each(Ramp::snap);
        self.rest_filters();
        self.over.iter_mut().for_each(Oversampler::reset);
        self.stages.slow = [0.0; 2];
        self.high_pass_state = [[0.0; 2]; 2];
        self.tone_state = [[0.0; 2]; 3];
        self.cabinet_states = [[[0.0; 2]; 2]; 6];
    }

    fn abreast_key(&self) -> Option<AbreastKey> {
        Some(AbreastKey::amp(self.over[0].factor()))
    }

    fn abreast(this: &mut Segmented<Amp>) -> Option<Abreast<'_>> {
        Some(Lane::Amp(this).into())
    }

    fn latency_frames(&self) -> u32 {
        self.over[0].latency_frames()
    }
}

/// A side and frame: high pass 9, drive 1, tone stack 13, cabinet 6 x 9 + 3, level 1, flushes 4. A
/// side and high-rate frame: first stage 6, coupling 4 and flush 2, second stage 5. Oversampling: see
/// [`Oversampler::flops_per_frame`].
pub fn flops(values: &[f32], _sample_rate_hz: u32) -> f64 {
    let factor = factor(values);
    let high_rate = f64::from(factor) * 17.0;
    2.0 * (9.0 + 1.0 + 13.0 + 57.0 + 1.0 + 4.0 + high_rate + Oversampler::flops_per_frame(factor))
}

#[cfg(test)]
mod tests {
    use super::*;

    type Complex = (f64, f64);

    fn mul(a: Complex, b: Complex) -> Complex {
        (a.0 * b.0 - a.1 * b.1, a.0 * b.1 + a.1 * b.0)
    }

    fn sub(a: Complex, b: Complex) -> Complex {
        (a.0 - b.0, a.1 - b.1)
    }

    fn div(a: Complex, b: Complex) -> Complex {
        let size = b.0 * b.0 + b.1 * b.1;
        let (re, im) = mul(a, (b.0, -b.1));
        (re / size, im / size)
    }

    /// Kirchhoff's sums at the nodes of the circuit, solved by elimination: an independent way to
    /// the response. Nodes: top of the treble control, its wiper's lower end joined with the top
    /// of the bass control, the middle of the slope resistor, top of the middle control, its wiper.
    fn by_nodes(bass: f64, middle: f64, treble: f64, freq_hz: f64) -> f64 {
        let w = std::f64::consts::TAU * freq_hz;
        let mut m = [[(0.0, 0.0); 6]; 5];
        let mut join = |a: usize, b: Option<usize>, y: Complex| {
            let add = |cell: &mut Complex, sign: f64| {
                *cell = (cell.0 + sign * y.0, cell.1 + sign * y.1);
            };
            add(&mut m[a][a], 1.0);
            if let Some(b) = b {
                add(&mut m[b][b], 1.0);
                add(&mut m[a][b], -1.0);
                add(&mut m[b][a], -1.0);
            }
        };
        let (input, slope) = ((0.0, w * 250e-12), (1.0 / 56e3, 0.0));
        join(0, None, input);
        join(2, None, slope);
        join(0, Some(1), (1.0 / 250e3, 0.0));
        join(2, Some(1), (0.0, w * 20e-9));
        join(1, Some(3), (1.0 / (bass * 1e6), 0.0));
        join(2, Some(4), (0.0, w * 20e-9));
        join(3, Some(4), (1.0 / ((1.0 - middle) * 25e3), 0.0));
        join(4, None, (1.0 / (middle * 25e3), 0.0));
        m[0][5] = input;
        m[2][5] = slope;
        for pivot in 0..5 {
            for row in 0..5 {
                if row != pivot {
                    let (source, factor) = (m[pivot], div(m[row][pivot], m[pivot][pivot]));
                    for (cell, source) in m[row].iter_mut().zip(source) {
                        *cell = sub(*cell, mul(factor, source));
                    }
                }
            }
        }
        let node = |n: usize| div(m[n][5], m[n][n]);
        let (top, bottom) = (node(0), node(1));
        let out = (
            treble * top.0 + (1.0 - treble) * bottom.0,
            treble * top.1 + (1.0 - treble) * bottom.1,
        );
        (out.0 * out.0 + out.1 * out.1).sqrt()
    }

    fn by_formula(bass: f64, middle: f64, treble: f64, freq_hz: f64) -> f64 {
        let w = std::f64::consts::TAU * freq_hz;
        let (b, a) = tone_circuit(bass, middle, treble);
        let top = (-b[1] * w * w, b[0] * w - b[2] * w * w * w);
        let bottom = (1.0 - a[1] * w * w, a[0] * w - a[2] * w * w * w);
        let (re, im) = div(top, bottom);
        (re * re + im * im).sqrt()
    }

    #[test]
    fn the_tone_stack_is_the_circuit() {
        for bass in [0.02, 0.3, 0.9] {
            for middle in [0.1, 0.5, 0.95] {
                for treble in [0.0, 0.4, 1.0] {
                    for freq in [30.0, 200.0, 700.0, 3000.0, 12_000.0] {
                        let nodes = by_nodes(bass, middle, treble, freq);
                        let formula = by_formula(bass, middle, treble, freq);
                        assert!(
                            (nodes / formula - 1.0).abs() < 1e-9,
                            "{bass} {middle} {treble} {freq}: {nodes} {formula}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn the_digital_tone_stack_follows_the_circuit() {
        let c = tone_coefficients(0.5, 0.5, 0.5, 192_000.0);
        let bass = math::exp(-1.7);
        for freq in [50.0, 300.0, 1000.0, 5000.0] {
            let angle = std::f64::consts::TAU * freq / 192_000.0;
            let sum = |terms: &[f64]| {
                let parts = terms.iter().enumerate().map(|(n, value)| {
                    let (sin, cos) = math::sin_cos(angle * n as f64);
                    (value * cos, -value * sin)
                });
                parts.fold((0.0, 0.0), |sum, part| (sum.0 + part.0, sum.1 + part.1))
            };
            let (re, im) = div(sum(&c[..4]), sum(&[1.0, c[4], c[5], c[6]]));
            let got = (re * re + im * im).sqrt();
            let expected = by_formula(bass, 0.5, 0.5, freq);
            assert!((got / expected - 1.0).abs() < 0.01, "{freq}: {got} {expected}");
        }
    }
}
