//! One stretch of a tempo map: a constant tempo, or a straight line over beats.
//!
//! With the tempo T(b) = bpm + slope * b, b beats behind the start, time passes as dt = 60 / T(b) db. So
//! - t(b) = 60 / slope * ln(1 + slope * b / bpm), and
//! - b(t) = bpm / slope * (exp(slope * t / 60) - 1).

use super::point::{Glide, TempoPoint};
use crate::math::{exp_m1, ln_1p};

/// Lines shorter than this count as steps: their slope might not be finite.
const SHORTEST_LINE_BEATS: f64 = 1e-9;

/// Constant or linear tempo from a beat on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Segment {
    /// Where it begins, in beats.
    pub beats: f64,
    /// Where it begins, in seconds.
    pub seconds: f64,
    /// Where it ends, in beats. Infinite for the last one.
    pub end_beats: f64,
    /// Tempo at its beginning.
    bpm: f64,
    /// Tempo at its end.
    end_bpm: f64,
    /// How much the tempo grows per beat. 0: constant.
    slope: f64,
}

impl Segment {
    /// The tempo `bpm` from `beats` and `seconds` until `end_beats`.
    pub fn constant(beats: f64, seconds: f64, end_beats: f64, bpm: f64) -> Segment {
        Segment { beats, seconds, end_beats, bpm, end_bpm: bpm, slope: 0.0 }
    }

    /// The way from one point to the next, which is later.
    pub fn between(point: &TempoPoint, next: &TempoPoint, seconds: f64) -> Segment {
        let constant = Segment::constant(point.beats, seconds, next.beats, point.bpm);
        let length = next.beats - point.beats;
        let is_line = point.glide == Glide::Linear && length >= SHORTEST_LINE_BEATS;
        if !is_line || next.bpm == point.bpm {
            return constant;
        }
        Segment { end_bpm: next.bpm, slope: (next.bpm - point.bpm) / length, ..constant }
    }

    /// How long it lasts, in seconds. Infinite for the last one.
    pub fn length_s(&self) -> f64 {
        self.seconds_after(self.end_beats - self.beats)
    }

    /// Whether the tempo is the same everywhere in it.
    pub fn is_constant(&self) -> bool {
        self.slope == 0.0
    }

    /// The tempo at a beat. Before its beginning it is the first one.
    pub fn bpm_at(&self, beats: f64) -> f64 {
        let after = (beats - self.beats).max(0.0);
        let (low, high) = (self.bpm.min(self.end_bpm), self.bpm.max(self.end_bpm));
        (self.bpm + self.slope * after).clamp(low, high)
    }

    /// The beat at a time. Never behind its end.
    pub fn beats_at(&self, seconds: f64) -> f64 {
        let after = seconds - self.seconds;
        if self.slope == 0.0 || after < 0.0 {
            return (self.beats + after * self.bpm / 60.0).min(self.end_beats);
        }
        let beats = self.bpm / self.slope * exp_m1((self.slope * after / 60.0).min(MOST_GROWTH));
        (self.beats + beats).min(self.end_beats)
    }

    /// The time at a beat.
    pub fn seconds_at(&self, beats: f64) -> f64 {
        self.seconds + self.seconds_after(beats - self.beats)
    }

    fn seconds_after(&self, beats: f64) -> f64 {
        if self.slope == 0.0 || beats < 0.0 {
            return beats * 60.0 / self.bpm;
        }
        60.0 / self.slope * ln_1p(self.slope * beats / self.bpm)
    }
}

/// Above the logarithm of the ratio of any two tempos, 9.3. Inside a segment the exponent never reaches it.
const MOST_GROWTH: f64 = 10.0;
