//! Places on the song's time line, and their bounds.

use thiserror::Error;

/// The furthest song position in frames, on both sides of zero: 2^40, which is 33 days at 384 kHz.
///
/// Up to here frames, seconds and beats convert into each other without losing a frame.
pub const MAX_FRAME: i64 = 1 << 40;

/// A place on the song's time line, in one of three units.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Position {
    /// Frames since the start of the song; negative before it.
    Frame(i64),
    /// Seconds since the start of the song.
    Seconds(f64),
    /// Quarter notes since the start of the song, whatever the time signature.
    Beats(f64),
}

/// A position that no song has.
#[derive(Debug, Clone, Copy, PartialEq, Error)]
pub enum PositionError {
    /// NaN or infinite.
    #[error("the position {0:?} is no finite number: give frames, seconds or beats")]
    NotFinite(Position),
    /// Beyond [`MAX_FRAME`].
    #[error(
        "the position {0:?} is more than {MAX_FRAME} frames from the song's start: choose a nearer one"
    )]
    TooFar(Position),
}

/// The unit of a list of points: of a lane's points or of a clip's warps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeBase {
    /// Quarter notes: points follow the tempo.
    Beats,
    /// Seconds: points stay where they are when the tempo changes.
    Seconds,
}

impl TimeBase {
    /// The position `at`, counted in this unit.
    pub fn position(self, at: f64) -> Position {
        match self {
            TimeBase::Beats => Position::Beats(at),
            TimeBase::Seconds => Position::Seconds(at),
        }
    }
}
