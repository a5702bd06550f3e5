//! The time of one block, as processors see it.

use crate::tempo::{BarPosition, TempoMap, TimeSignature};
use crate::transport::{Segment, Segments};

/// When a block plays: on the steady clock, in the song, and in bars.
///
/// Offsets count frames from the block's beginning. One behind the block counts on in its last segment.
///
/// Thread: any, inside a block. Cost: O(log segments) per question, and a lookup in the map for those in beats; no
/// allocation.
///
/// ```
/// use hocket_time::{BlockTime, Segments, TempoMap};
///
/// let map = TempoMap::constant(48_000, 120.0).unwrap();
/// let segments = Segments::playing(48_000, 64);
/// let time = BlockTime { steady_frame: 7_000, segments: &segments, map: &map };
/// assert_eq!((time.beats_at(0), time.bpm_at(0)), (2.0, 120.0));
/// assert_eq!(time.bar_at(0).to_string(), "1.3.000");
/// ```
#[derive(Debug, Clone, Copy)]
pub struct BlockTime<'a> {
    /// Frames from the engine's start to the block's first frame. It never goes back.
    pub steady_frame: u64,
    /// Where the song is, from the block's first frame to its last.
    pub segments: &'a Segments,
    /// Tempos and time signatures.
    pub map: &'a TempoMap,
}

/// The song where nothing says anything else.
const NOWHERE: Segment =
    Segment { offset: 0, frames: 0, position: 0, playing: false, jumped: false };

impl<'a> BlockTime<'a> {
    /// Length of the block in frames.
    pub fn frames(&self) -> u32 {
        self.segments.frames()
    }

    /// The segment of a frame. A block of no frames has one of length 0 at the song's start.
    pub fn segment_at(&self, offset: u32) -> &'a Segment {
        self.segments.at(offset).unwrap_or(&NOWHERE)
    }

    /// The song position of a frame, in frames.
    pub fn position_at(&self, offset: u32) -> i64 {
        self.segment_at(offset).position_at(offset)
    }

    /// Whether the song plays at a frame.
    pub fn is_playing_at(&self, offset: u32) -> bool {
        self.segment_at(offset).playing
    }

    /// The song position of a frame, in seconds.
    pub fn seconds_at(&self, offset: u32) -> f64 {
        self.map.seconds_at_frame(self.position_at(offset))
    }

    /// The song position of a frame, in quarter notes.
    pub fn beats_at(&self, offset: u32) -> f64 {
        self.map.beats_at_frame(self.position_at(offset))
    }

    /// The tempo at a frame, in quarter notes per minute.
    pub fn bpm_at(&self, offset: u32) -> f64 {
        self.map.bpm_at_frame(self.position_at(offset))
    }

    /// Bar, beat and tick at a frame.
    pub fn bar_at(&self, offset: u32) -> BarPosition {
        self.map.bar_at_frame(self.position_at(offset))
    }

    /// The time signature at a frame.
    pub fn signature_at(&self, offset: u32) -> TimeSignature {
        self.map.signature_at_frame(self.position_at(offset))
    }

    /// The segments that begin with a jump.
    pub fn jumps(&self) -> impl Iterator<Item = &'a Segment> + use<'a> {
        self.segments.as_slice().iter().filter(|segment| segment.jumped)
    }
}
