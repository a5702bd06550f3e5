//! What a transport can be asked to do.

use thiserror::Error;

use crate::position::{MAX_FRAME, Position, PositionError};
use crate::tempo::TempoMap;

/// The shortest loop, in frames: 5.3 ms at 48 kHz.
///
/// A block holds a fixed number of segments, and each pass of a loop begins one. So the shortest loop bounds the
/// memory of a block. A shorter one would be heard as a tone of more than 187 Hz (at 48 kHz), not as a loop.
pub const MIN_LOOP_FRAMES: i64 = 256;

/// The part of the song that a loop repeats, at least [`MIN_LOOP_FRAMES`] long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoopRange {
    start: i64,
    end: i64,
}

/// Why a loop is refused.
#[derive(Debug, Clone, Copy, PartialEq, Error)]
pub enum LoopError {
    /// An end of it is no position.
    #[error("the loop's {end}: {why}")]
    Position {
        /// `start` or `end`.
        end: &'static str,
        /// What is wrong with it.
        why: PositionError,
    },
    /// Empty, reversed or too short.
    #[error("the loop from frame {start} to {end} is shorter than {MIN_LOOP_FRAMES} frames, which would sound as a \
             tone: move its end to frame {least} or later", least = start.saturating_add(MIN_LOOP_FRAMES))]
    Short {
        /// First frame.
        start: i64,
        /// The frame behind the last one.
        end: i64,
    },
}

impl LoopRange {
    /// From a position up to but not including another one.
    ///
    /// # Errors
    /// [`LoopError`] if an end is no position, or if it is shorter than [`MIN_LOOP_FRAMES`].
    ///
    /// Thread: control. Cost: two lookups in the map.
    pub fn new(map: &TempoMap, start: Position, end: Position) -> Result<LoopRange, LoopError> {
        let frame = |name, position| {
            map.song_frame(position).map_err(|why| LoopError::Position { end: name, why })
        };
        LoopRange::from_frames(frame("start", start)?, frame("end", end)?)
    }

    /// From a frame up to but not including another one.
    ///
    /// # Errors
    /// As [`LoopRange::new`].
    pub fn from_frames(start: i64, end: i64) -> Result<LoopRange, LoopError> {
        for (name, frame) in [("start", start), ("end", end)] {
            if frame.unsigned_abs() > MAX_FRAME as u64 {
                let why = PositionError::TooFar(Position::Frame(frame));
                return Err(LoopError::Position { end: name, why });
            }
        }
        if end - start < MIN_LOOP_FRAMES {
            return Err(LoopError::Short { start, end });
        }
        Ok(LoopRange { start, end })
    }

    /// Its first frame.
    pub fn start(self) -> i64 {
        self.start
    }

    /// The frame behind its last one.
    pub fn end(self) -> i64 {
        self.end
    }
}

/// A change of the transport. Every value is valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TransportCommand {
    /// The song runs from where it is.
    Play,
    /// The song stays where it is.
    Stop,
    /// The song is at a frame, playing or not as before. Beyond [`MAX_FRAME`] it is at that.
    Locate(i64),
    /// From now on, when the song reaches the loop's end from before it, it goes on at the loop's start. Behind the
    /// loop it plays on.
    Loop(LoopRange),
    /// No loop.
    LoopOff,
}

/// A command and when it takes effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimedCommand {
    /// The steady frame before which it takes effect. A frame in the past counts as the next one: 0 is "at once".
    pub at_steady: u64,
    /// What changes.
    pub command: TransportCommand,
}
