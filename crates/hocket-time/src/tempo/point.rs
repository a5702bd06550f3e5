//! What a tempo map is made of.

use std::ops::RangeInclusive;

/// Tempos that a map accepts, in quarter notes per minute.
pub const TEMPO_BPM: RangeInclusive<f64> = 1.0..=10_000.0;

/// Sample rates that a map accepts, in Hz.
pub const RATES_HZ: RangeInclusive<u32> = 8_000..=384_000;

/// The latest beat at which a tempo or a time signature may change.
///
/// Up to here a frame is at least ten times as long as the rounding error of a position in beats, even at the
/// lowest tempo and the highest rate. So no two frames share a beat.
pub const MAX_POINT_BEATS: f64 = 1e7;

/// The most tempo points, and the most time signatures, of one map (50 MB and 25 MB).
pub const MAX_POINTS: usize = 1 << 20;

/// How the tempo goes from one point to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Glide {
    /// It keeps the tempo of the point (DAWproject `hold`, MIDI).
    Step,
    /// It moves to the tempo of the next point in a straight line over beats (DAWproject `linear`). Behind the
    /// last point it keeps the tempo.
    Linear,
}

/// A tempo from a beat on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TempoPoint {
    /// Quarter notes since the start of the song, 0 to [`MAX_POINT_BEATS`].
    pub beats: f64,
    /// Quarter notes per minute, within [`TEMPO_BPM`].
    pub bpm: f64,
    /// The way to the next point.
    pub glide: Glide,
}

impl TempoPoint {
    /// A tempo that holds until the next point.
    pub fn step(beats: f64, bpm: f64) -> TempoPoint {
        TempoPoint { beats, bpm, glide: Glide::Step }
    }

    /// A tempo that moves in a straight line to that of the next point.
    pub fn linear(beats: f64, bpm: f64) -> TempoPoint {
        TempoPoint { beats, bpm, glide: Glide::Linear }
    }

    /// The tempo event of a MIDI file: its tick, the file's ticks per quarter note, and the event's microseconds
    /// per quarter note. Zeros give values that [`TempoMap::new`](crate::TempoMap::new) refuses.
    pub fn from_midi(tick: u64, ticks_per_quarter: u16, us_per_quarter: u32) -> TempoPoint {
        let beats = tick as f64 / f64::from(ticks_per_quarter);
        TempoPoint::step(beats, 60e6 / f64::from(us_per_quarter))
    }
}

/// A time signature, such as 6/8.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeSignature {
    /// Beats per bar, 1 to 255.
    pub numerator: u16,
    /// The note that counts as a beat: 1, 2, 4, 8, 16, 32 or 64.
    pub denominator: u16,
}

impl TimeSignature {
    /// Four quarter notes per bar: what holds where nothing else is said.
    pub const COMMON: TimeSignature = TimeSignature { numerator: 4, denominator: 4 };

    /// The length of a bar in quarter notes.
    pub fn bar_beats(self) -> f64 {
        f64::from(self.numerator) * self.beat_beats()
    }

    /// The length of one of its beats in quarter notes: 0.5 in 6/8.
    pub fn beat_beats(self) -> f64 {
        4.0 / f64::from(self.denominator)
    }
}

/// A time signature from a beat on, which begins a bar there.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MeterPoint {
    /// Quarter notes since the start of the song, 0 to [`MAX_POINT_BEATS`]. If this is inside a bar, that bar ends
    /// early.
    pub beats: f64,
    /// What holds from here on.
    pub signature: TimeSignature,
}
