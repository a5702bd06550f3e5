//! A parameter's values over the song.

use std::ops::Deref;

use thiserror::Error;

use crate::math::exp_m1;
use crate::position::{Position, PositionError, TimeBase};
use crate::tempo::TempoMap;

/// The most points of a lane, of which each takes 32 bytes.
pub const MAX_LANE_POINTS: usize = 1 << 21;

/// The steepest curve; see [`Shape::Curve`].
pub const MAX_CURVE: f32 = 20.0;

/// The distance of the values on a ramp, in frames, unless a lane says otherwise.
///
/// The built-in effects compute their coefficients as often (`hocket_dsp::segment`).
pub const CONTROL_GRID_FRAMES: u32 = 32;

/// The way from a point to the next.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Shape {
    /// The value stays until the next point (DAWproject `hold`).
    Hold,
    /// A straight line (DAWproject `linear`).
    Linear,
    /// An exponential curve: from value a to b, at the part x of the way, it is
    /// `a + (b - a) * (1 - exp(c * x)) / (1 - exp(c))`.
    ///
    /// c > 0 starts slowly, c < 0 starts fast, near 0 it is a line; from -[`MAX_CURVE`] to [`MAX_CURVE`]. This is
    /// the curve of Csound's GEN16 and `transeg`, and of SuperCollider's `Env`.
    Curve(f32),
}

/// A value at a place.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LanePoint {
    /// Where, in the unit of the lane.
    pub at: f64,
    /// The value, in the parameter's unit.
    pub value: f64,
    /// The way to the next point. Behind the last point the value stays.
    pub shape: Shape,
}

/// What is wrong with a lane, where, and what to do. Indices count from 0. A retry needs other points.
#[derive(Debug, Clone, Copy, PartialEq, Error)]
pub enum LaneError {
    /// There is no point.
    #[error("the lane has no points: give it one, or remove the lane")]
    Empty,
    /// More points than [`MAX_LANE_POINTS`].
    #[error("the lane has {0} points: thin them out to at most {MAX_LANE_POINTS}")]
    TooMany(usize),
    /// A position is NaN, infinite or too far.
    #[error("automation point {index}: {why}")]
    Position {
        /// Which point.
        index: usize,
        /// What is wrong with its position.
        why: PositionError,
    },
    /// A point is before its predecessor.
    #[error("automation point {index} at {at} is before its predecessor at {before}: sort them")]
    Order {
        /// Which point.
        index: usize,
        /// Its position.
        at: f64,
        /// The position of its predecessor.
        before: f64,
    },
    /// A value is NaN, infinite, or larger than a single-precision number.
    #[error("automation point {index} has the value {value}: give it a finite one")]
    Value {
        /// Which point.
        index: usize,
        /// Its value.
        value: f64,
    },
    /// A curve is NaN or too steep.
    #[error("automation point {index} has the curve {curve}: use -{MAX_CURVE} to {MAX_CURVE}")]
    Curve {
        /// Which point.
        index: usize,
        /// Its curve.
        curve: f32,
    },
    /// The control grid is 0.
    #[error("the control grid has 0 frames: use at least 1, normally {CONTROL_GRID_FRAMES}")]
    Grid,
}

/// A point at its frame.
#[derive(Debug, Clone, Copy)]
pub(super) struct Knot {
    pub frame: i64,
    pub value: f64,
    shape: Shape,
    /// Whether the way to the next knot is measured in frames. If not, it is measured in beats, because the tempo
    /// changes on it.
    in_frames: bool,
}

/// The values of one parameter over the song, checked and brought to frames.
///
/// A point lies at the frame nearest to its place. Before the first point its value holds, behind the last one that
/// of the last. In a lane in beats, values between two points follow beats, also where the tempo changes. Of several
/// points at one frame the first ends the way to it, and the last holds from there on; those between are dropped and
/// counted.
///
/// A lane belongs to the tempo map it was made with: after a change of the map, make it anew.
///
/// Thread: made on a control thread; read by any. Memory: 32 bytes per point.
#[derive(Debug, Clone)]
pub struct Lane {
    knots: Box<[Knot]>,
    grid_frames: u32,
    dropped: usize,
}

impl Lane {
    /// A lane of sorted points, which count in `base`.
    ///
    /// # Errors
    /// [`LaneError`] names the first wrong point, what is wrong with it, and the remedy.
    ///
    /// Thread: control; allocates. Cost: O(points), with a lookup in the map for each.
    pub fn new(map: &TempoMap, base: TimeBase, points: &[LanePoint]) -> Result<Lane, LaneError> {
        if points.is_empty() {
            return Err(LaneError::Empty);
        }
        if points.len() > MAX_LANE_POINTS {
            return Err(LaneError::TooMany(points.len()));
        }
        let mut before = f64::NEG_INFINITY;
        let mut knots: Vec<Knot> = Vec::with_capacity(points.len());
        let mut dropped = 0;
        for (index, point) in points.iter().enumerate() {
            let knot = knot(map, base, index, point, before)?;
            before = point.at;
            // Three at one frame: nothing shows the middle one.
            if let [.., first, middle] = knots.as_slice()
                && first.frame == knot.frame
                && middle.frame == knot.frame
            {
                knots.pop();
                dropped += 1;
            }
            knots.push(knot);
        }
        if base == TimeBase::Beats {
            for index in 1..knots.len() {
                let (from, to) = (knots[index - 1].frame, knots[index].frame);
                knots[index - 1].in_frames = map.is_steady(from, to);
            }
        }
        Ok(Lane { knots: knots.into(), grid_frames: CONTROL_GRID_FRAMES, dropped })
    }

    /// Gives the values on ramps another distance, in frames.
    ///
    /// # Errors
    /// [`LaneError::Grid`] if it is 0.
    pub fn with_grid(self, grid_frames: u32) -> Result<Lane, LaneError> {
        if grid_frames == 0 { Err(LaneError::Grid) } else { Ok(Lane { grid_frames, ..self }) }
    }

    /// The distance of the values on a ramp, in frames.
    pub fn grid_frames(&self) -> u32 {
        self.grid_frames
    }

    /// How many points were dropped because others lie at the same frame.
    pub fn dropped(&self) -> usize {
        self.dropped
    }

    /// The value at a song position, in frames. `map` is the one that the lane was made with.
    ///
    /// Thread: any. Cost: O(log points), and lookups in the map where the tempo changes; no allocation.
    pub fn value_at(&self, map: &TempoMap, frame: i64) -> f64 {
        let passed = self.knots_until(frame);
        let resting = self.knots[passed.saturating_sub(1)].value;
        self.way(passed, map).map_or(resting, |way| way.value(&map, frame))
    }

    pub(super) fn knots(&self) -> &[Knot] {
        &self.knots
    }

    /// How many knots lie at or before a frame.
    pub(super) fn knots_until(&self, frame: i64) -> usize {
        self.knots.partition_point(|knot| knot.frame <= frame)
    }

    /// The way from knot `next - 1` to knot `next`, if the value moves on it.
    pub(super) fn way(&self, next: usize, map: &TempoMap) -> Option<Way> {
        let (from, to) = (self.knots.get(next.checked_sub(1)?)?, self.knots.get(next)?);
        if from.value == to.value || from.frame == to.frame {
            return None;
        }
        let curve = match from.shape {
            Shape::Hold => return None,
            Shape::Linear => 0.0,
            Shape::Curve(curve) => f64::from(curve),
        };
        let (start, length) = if from.in_frames {
            (from.frame as f64, (to.frame - from.frame) as f64)
        } else {
            let start = map.beats_at_frame(from.frame);
            (start, map.beats_at_frame(to.frame) - start)
        };
        Some(Way {
            frame: from.frame,
            in_frames: from.in_frames,
            start,
            length,
            from: from.value,
            to: to.value,
            curve,
            grid_frames: self.grid_frames,
            rise: exp_m1(curve),
        })
    }
}

/// The way between two points with different values.
#[derive(Debug, Clone)]
#[repr(C)]
pub(super) struct Way {
    // What every value on a line needs comes first (`LaneCursor`).
    start: f64,
    length: f64,
    from: f64,
    to: f64,
    /// 0: a line.
    curve: f64,
    /// The distance of its values.
    grid_frames: u32,
    /// Whether it is measured in frames; else in beats.
    in_frames: bool,
    /// exp(curve) - 1.
    rise: f64,
    /// Its first frame.
    frame: i64,
}

impl Way {
    /// The value at a frame on it. It looks at the map only where the tempo changes.
    #[inline]
    pub fn value(&self, map: &impl Deref<Target = TempoMap>, frame: i64) -> f64 {
        let at = if self.in_frames { frame as f64 } else { map.beats_at_frame(frame) };
        let part = (at - self.start) / self.length;
        let part = if self.curve == 0.0 { part } else { exp_m1(self.curve * part) / self.rise };
        // Rounding must not overshoot.
        let (low, high) = (self.from.min(self.to), self.from.max(self.to));
        (self.from + (self.to - self.from) * part).clamp(low, high)
    }

    /// The first frame behind `frame` that lies a whole number of grid steps behind the way's beginning.
    pub fn next_step(&self, frame: i64) -> i64 {
        let grid = self.grid_frames();
        self.frame + ((frame - self.frame) / grid + 1) * grid
    }

    /// The distance of its values, in frames.
    #[inline]
    pub fn grid_frames(&self) -> i64 {
        self.grid_frames.into()
    }
}

/// Checks a point and finds its frame.
fn knot(
    map: &TempoMap,
    base: TimeBase,
    index: usize,
    point: &LanePoint,
    before: f64,
) -> Result<Knot, LaneError> {
    let LanePoint { at, value, shape } = *point;
    let position: Position = base.position(at);
    let frame = map.song_frame(position).map_err(|why| LaneError::Position { index, why })?;
    if at < before {
        return Err(LaneError::Order { index, at, before });
    }
    if value.is_nan() || value.abs() > f64::from(f32::MAX) {
        return Err(LaneError::Value { index, value });
    }
    let shape = match shape {
        // A NaN is in no range.
        Shape::Curve(curve) if !(-MAX_CURVE..=MAX_CURVE).contains(&curve) => {
            return Err(LaneError::Curve { index, curve });
        }
        Shape::Curve(0.0) => Shape::Linear,
        shape => shape,
    };
    Ok(Knot { frame, value, shape, in_frames: true })
}
