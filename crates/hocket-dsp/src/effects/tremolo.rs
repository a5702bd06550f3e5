//! Swinging level.
//!
//! One wave of low frequency moves the gain between 1 and `1 - depth`. It starts at its top. The right side may lag behind the
//! left one: at 180 degrees the sound swings between the sides. All shapes are functions of one triangle, so that a change of
//! the shape can fade from one to the other at the same phase.

use crate::block::{StereoMut, StereoRef};
use crate::effects::{Row, row_of};
use crate::kinds::Param;
use crate::ramp::Ramp;
use crate::segment::{CONTROL_FRAMES, SegmentEffect};

const RATE_HZ: usize = 0;
const DEPTH: usize = 1;
const SHAPE: usize = 2;
const SPREAD_DEG: usize = 3;

/// How many shapes there are: sine, triangle, square.
const SHAPES: usize = 3;

/// How long the square takes from one level to the other, so that it does not click.
const EDGE_S: f64 = 0.005;

/// The sine of `x` in a quarter turn, 0 to half of pi, by its series. What it leaves out is below 6e-8.
const SINE: [f32; 6] =
    [1.0, -1.0 / 6.0, 1.0 / 120.0, -1.0 / 5040.0, 1.0 / 362_880.0, -1.0 / 39_916_800.0];

/// The tremolo.
#[derive(Debug, Clone)]
pub struct Tremolo {
    sample_rate_hz: f64,
    /// Cycles that are over, 0 to 1. Kept in double precision: it adds up for hours.
    phase: f64,
    /// Cycles per frame.
    step: f64,
    /// One over the height of the square's edge, in heights of the triangle.
    edge: f32,
    depth: Ramp,
    /// The share of each shape; together 1.
    shapes: [Ramp; SHAPES],
    /// How far the right side lags, in cycles.
    spread: Ramp,
}

fn shape_of(value: f32) -> usize {
    (value.round() as usize).min(SHAPES - 1)
}

impl Tremolo {
    fn swing(&mut self, rate_hz: f32) {
        self.step = f64::from(rate_hz) / self.sample_rate_hz;
        // The triangle passes its height of 1 twice per cycle.
        self.edge = (1.0 / (2.0 * f64::from(rate_hz) * EDGE_S)) as f32;
    }

    /// The triangle of the next frames: 1 at the start of a cycle, 0 in its middle.
    fn triangle(&self, frames: usize, lag: &Row) -> Row {
        let mut row = [0.0; CONTROL_FRAMES];
        let mut phase = self.phase;
        for (value, lag) in row[..frames].iter_mut().zip(lag) {
            let lagging = phase - f64::from(*lag);
            let lagging = if lagging < 0.0 { lagging + 1.0 } else { lagging };
            *value = (1.0 - 2.0 * lagging).abs() as f32;
            phase = next(phase, self.step);
        }
        row
    }

    fn levels(&self, triangle: &Row, shares: &[Row; SHAPES]) -> Row {
        std::array::from_fn(|frame| {
            let height = triangle[frame];
            let shapes = [sine(height), height, square(height, self.edge)];
            shapes[0] * shares[0][frame]
                + shapes[1] * shares[1][frame]
                + shapes[2] * shares[2][frame]
        })
    }
}

fn next(phase: f64, step: f64) -> f64 {
    let phase = phase + step;
    phase - f64::from(u8::from(phase >= 1.0))
}

/// Half a cosine between 0 and 1: the square of a quarter of a sine.
fn sine(height: f32) -> f32 {
    let x = height * std::f32::consts::FRAC_PI_2;
    let square = x * x;
    let [a, b, c, d, e, f] = SINE;
    let sine = x * (a + square * (b + square * (c + square * (d + square * (e + square * f)))));
    sine * sine
}

/// 0 or 1, with an edge around a height of one half.
fn square(height: f32, edge: f32) -> f32 {
    let part = ((height - 0.5) * edge + 0.5).clamp(0.0, 1.0);
    part * part * (3.0 - 2.0 * part)
}

impl SegmentEffect for Tremolo {
    const PARAMS: &'static [Param] = &[
        Param::new("rate_hz", "How often the level swings per second.", 0.05, 20.0, 5.0),
        Param::new("depth", "0 none, 1 down to silence.", 0.0, 1.0, 0.5),
        Param::new("shape", "0 sine, 1 triangle, 2 square with edges of 5 ms.", 0.0, 2.0, 0.0),
        Param::new(
            "spread_deg",
            "How far the right side lags in its cycle; 180 swings between the sides.",
            0.0,
            180.0,
            0.0,
        ),
    ];

    fn new(values: &[f32], sample_rate_hz: u32) -> Tremolo {
        let rate = f64::from(sample_rate_hz);
        let share = |shape| f32::from(u8::from(shape == shape_of(values[SHAPE])));
        let mut tremolo = Tremolo {
            sample_rate_hz: rate,
            phase: 0.0,
            step: 0.0,
            edge: 1.0,
            depth: Ramp::smoothing(values[DEPTH], rate),
            shapes: std::array::from_fn(|shape| Ramp::smoothing(share(shape), rate)),
            spread: Ramp::smoothing(values[SPREAD_DEG] / 360.0, rate),
        };
        tremolo.swing(values[RATE_HZ]);
        tremolo
    }

    fn set(&mut self, index: usize, value: f32) {
        match index {
            // The phase goes on from where it is, so nothing jumps.
            RATE_HZ => self.swing(value),
            DEPTH => self.depth.set(value),
            SHAPE => {
                let chosen = shape_of(value);
                let shapes = self.shapes.iter_mut().enumerate();
                shapes.for_each(|(shape, share)| share.set(f32::from(u8::from(shape == chosen))));
            }
            _ => self.spread.set(value / 360.0),
        }
    }

    fn control(&mut self, _elapsed: usize) {}

    fn run(&mut self, rows: StereoMut<'_>, _key: Option<StereoRef<'_>>) {
        let frames = rows.left.len();
        let depth = row_of(&mut self.depth, frames);
        let spread = row_of(&mut self.spread, frames);
        let shares = self.shapes.each_mut().map(|share| row_of(share, frames));
        for (row, lag) in [(rows.left, [0.0; CONTROL_FRAMES]), (rows.right, spread)] {
            let levels = self.levels(&self.triangle(frames, &lag), &shares);
            for ((sample, level), depth) in row.iter_mut().zip(levels).zip(depth) {
                *sample *= 1.0 - depth * (1.0 - level);
            }
        }
        self.phase = (0..frames).fold(self.phase, |phase, _| next(phase, self.step));
    }

    fn reset(&mut self) {
        self.phase = 0.0;
        let ramps = [&mut self.depth, &mut self.spread];
        ramps.into_iter().chain(&mut self.shapes).for_each(Ramp::snap);
    }
}

/// A side: triangle 8, sine 13, square 9, shares 5, level 4. Both together: phase 2.
pub fn flops(_values: &[f32], _sample_rate_hz: u32) -> f64 {
    2.0 * 39.0 + 2.0
}
