//! Why a tempo map is refused.

use thiserror::Error;

use super::point::{MAX_POINT_BEATS, MAX_POINTS, RATES_HZ, TEMPO_BPM};
use crate::position::MAX_FRAME;

/// Which list of points an error speaks of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PointKind {
    /// Tempo points.
    Tempo,
    /// Time signatures.
    TimeSignature,
}

impl std::fmt::Display for PointKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            PointKind::Tempo => "tempo point",
            PointKind::TimeSignature => "time signature",
        })
    }
}

/// What is wrong with a tempo map, where, and what to do. Indices count from 0. A retry needs other points.
#[derive(Debug, Clone, Copy, PartialEq, Error)]
pub enum TempoError {
    /// The sample rate is out of range.
    #[error("the sample rate {0} Hz is not possible: use {lowest} to {highest} Hz",
            lowest = RATES_HZ.start(), highest = RATES_HZ.end())]
    Rate(u32),
    /// There is no tempo.
    #[error("the tempo map is empty: give it a tempo point at beat 0")]
    Empty,
    /// More points than [`MAX_POINTS`].
    #[error("there are {count} {kind}s: thin them out to at most {MAX_POINTS}")]
    TooMany {
        /// Which list.
        kind: PointKind,
        /// Its length.
        count: usize,
    },
    /// A position is NaN, negative or too large.
    #[error("{kind} {index} is at beat {beats}: move it between 0 and {MAX_POINT_BEATS}")]
    Beats {
        /// Which list.
        kind: PointKind,
        /// Which point.
        index: usize,
        /// Its position.
        beats: f64,
    },
    /// A point is before its predecessor, or two time signatures are at one beat.
    #[error(
        "{kind} {index} at beat {beats} is not behind the one before it, at beat {before}: sort them"
    )]
    Order {
        /// Which list.
        kind: PointKind,
        /// Which point.
        index: usize,
        /// Its position.
        beats: f64,
        /// The position of its predecessor.
        before: f64,
    },
    /// A tempo is zero, negative, NaN, infinite or absurd.
    #[error("tempo point {index} at beat {beats} has {bpm} beats per minute: use {lowest} to {highest}",
            lowest = TEMPO_BPM.start(), highest = TEMPO_BPM.end())]
    Tempo {
        /// Which point.
        index: usize,
        /// Its position.
        beats: f64,
        /// Its tempo.
        bpm: f64,
    },
    /// A time signature such as 0/4 or 4/3.
    #[error(
        "time signature {index} at beat {beats} is {numerator}/{denominator}: use 1 to 255 over 1, 2, 4, 8, \
             16, 32 or 64"
    )]
    Signature {
        /// Which time signature.
        index: usize,
        /// Its position.
        beats: f64,
        /// Its upper number.
        numerator: u16,
        /// Its lower number.
        denominator: u16,
    },
    /// A tempo point is later than any position.
    #[error(
        "tempo point {index} at beat {beats} is more than {MAX_FRAME} frames from the start: remove it, or \
             raise the tempo before it"
    )]
    TooLate {
        /// Which point.
        index: usize,
        /// Its position.
        beats: f64,
    },
}
