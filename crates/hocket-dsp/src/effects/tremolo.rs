//! Swinging level.
//!
//! One wave of low frequency moves the gain between 1 and `1 - depth`. It starts at its top. The right side may lag behind the
//! left one: at 180 degrees the sound swings between the sides. All shapes are functions of one triangle, so that a change of
//! the shape can fade from one to the other at the same phase.
//!
//! The edge of the square follows from the triangle, too, and never moves faster than at a steady rate. So it does not click
//! where the rate, and with it the edge's height, changes at once.

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

/// How much faster the edge may move than at a steady rate: more than rounding does.
const EDGE_SLACK: f64 = 1.01;

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
    /// How far a side's edge moves per frame, at most.
    edge_step: f32,
    /// Where the edges of both sides are, 0 to 1.
    edges: [f32; 2],
    depth: Ramp,
    shape: Mixture,
    /// How far the right side lags, in cycles.
    spread: Ramp,
}

/// The shapes that sound, and how much of each. Together they are always 1.
#[derive(Debug, Clone)]
struct Mixture {
    /// What sounded when the last change began.
    from: [f32; SHAPES],
    chosen: usize,
    /// How much of the chosen one there is beside that.
    fade: Ramp,
    /// Of the sound.
    rate_hz: f64,
}

impl Mixture {
    /// Rests at one shape.
    fn new(chosen: usize, rate_hz: f64) -> Mixture {
        Mixture { from: [0.0; SHAPES], chosen, fade: Ramp::smoothing(1.0, rate_hz), rate_hz }
    }

    /// Begins to fade from whatever sounds.
    fn set(&mut self, chosen: usize) {
        if chosen == self.chosen {
            return;
        }
        let fade = self.fade.current();
        self.from = std::array::from_fn(|shape| self.share(shape, fade));
        self.chosen = chosen;
        self.fade = Ramp::smoothing(0.0, self.rate_hz);
        self.fade.set(1.0);
    }

    /// How much there is of a shape.
    fn share(&self, shape: usize, fade: f32) -> f32 {
        self.from[shape] * (1.0 - fade) + if shape == self.chosen { fade } else { 0.0 }
    }

    /// The next frames, shape by shape.
    fn shares(&mut self, frames: usize) -> [Row; SHAPES] {
        let fade = row_of(&mut self.fade, frames);
        std::array::from_fn(|shape| fade.map(|fade| self.share(shape, fade)))
    }
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

    /// Where a side's edge is in the next frames.
    fn edge(&mut self, side: usize, triangle: &[f32]) -> Row {
        let mut row = [0.0; CONTROL_FRAMES];
        for (value, height) in row.iter_mut().zip(triangle) {
            let way = edge_at(*height, self.edge) - self.edges[side];
            self.edges[side] += way.clamp(-self.edge_step, self.edge_step);
            *value = self.edges[side];
        }
        row
    }

    /// Both edges where they belong.
    fn settle(&mut self) {
        for (side, lag) in [0.0, self.spread.current()].into_iter().enumerate() {
            self.edges[side] = edge_at(self.triangle(1, &[lag; CONTROL_FRAMES])[0], self.edge);
        }
    }

    fn levels(triangle: &Row, edge: &Row, shares: &[Row; SHAPES]) -> Row {
        std::array::from_fn(|frame| {
            let height = triangle[frame];
            let shapes = [sine(height), height, square(edge[frame])];
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

/// Where the square's edge is at a height of the triangle: 0 or 1, and in between around one half.
fn edge_at(height: f32, edge: f32) -> f32 {
    ((height - 0.5) * edge + 0.5).clamp(0.0, 1.0)
}

/// 0 or 1, and without corners in between.
fn square(part: f32) -> f32 {
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
        let mut tremolo = Tremolo {
            sample_rate_hz: rate,
            phase: 0.0,
            step: 0.0,
            edge: 1.0,
            edge_step: (EDGE_SLACK / (EDGE_S * rate)) as f32,
            edges: [1.0; 2],
            depth: Ramp::smoothing(values[DEPTH], rate),
            shape: Mixture::new(shape_of(values[SHAPE]), rate),
            spread: Ramp::smoothing(values[SPREAD_DEG] / 360.0, rate),
        };
        tremolo.swing(values[RATE_HZ]);
        tremolo.settle();
        tremolo
    }

    fn set(&mut self, index: usize, value: f32) {
        match index {
            // The phase goes on from where it is, so nothing jumps.
            RATE_HZ => self.swing(value),
            DEPTH => self.depth.set(value),
            SHAPE => self.shape.set(shape_of(value)),
            _ => self.spread.set(value / 360.0),
        }
    }

    fn control(&mut self, _elapsed: usize) {}

    fn run(&mut self, rows: StereoMut<'_>, _key: Option<StereoRef<'_>>) {
        let frames = rows.left.len();
        let depth = row_of(&mut self.depth, frames);
        let spread = row_of(&mut self.spread, frames);
        let shares = self.shape.shares(frames);
        let sides = [(rows.left, [0.0; CONTROL_FRAMES]), (rows.right, spread)];
        for (side, (row, lag)) in sides.into_iter().enumerate() {
            let triangle = self.triangle(frames, &lag);
            let edge = self.edge(side, &triangle[..frames]);
            let levels = Tremolo::levels(&triangle, &edge, &shares);
            for ((sample, level), depth) in row.iter_mut().zip(levels).zip(depth) {
                *sample *= 1.0 - depth * (1.0 - level);
            }
        }
        self.phase = (0..frames).fold(self.phase, |phase, _| next(phase, self.step));
    }

    fn reset(&mut self) {
        self.phase = 0.0;
        [&mut self.depth, &mut self.spread, &mut self.shape.fade].into_iter().for_each(Ramp::snap);
        self.settle();
    }
}

/// A side: triangle 8, sine 13, edge 9, square 4, mixture 5, level 4. Both together: phase 2, shares 10.
pub fn flops(_values: &[f32], _sample_rate_hz: u32) -> f64 {
    2.0 * 43.0 + 12.0
}
