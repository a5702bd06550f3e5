//! Where the song is, in the form that plug-ins get.
//!
//! A process of its own has no map of tempos. It gets what a run needs of it: the song at the first frame and behind the
//! last one.

use hocket_time::{BarPosition, BlockTime, TimeSignature};

/// The song at one frame.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SongPoint {
    /// In frames of the song.
    pub frame: i64,
    pub playing: bool,
    pub seconds: f64,
    /// In quarter notes, as `bar_start`.
    pub beats: f64,
    pub bpm: f64,
    pub bar: BarPosition,
    /// Where this bar begins.
    pub bar_start: f64,
    pub signature: TimeSignature,
}

impl SongPoint {
    /// At a frame of the block.
    pub fn at(time: &BlockTime<'_>, offset: u32) -> SongPoint {
        let bar = time.bar_at(offset);
        SongPoint {
            frame: time.position_at(offset),
            playing: time.is_playing_at(offset),
            seconds: time.seconds_at(offset),
            beats: time.beats_at(offset),
            bpm: time.bpm_at(offset),
            bar,
            bar_start: time.map.beats_at_bar(BarPosition { beat: 0, tick: 0, ..bar }),
            signature: time.signature_at(offset),
        }
    }
}

/// The song during a block.
#[derive(Debug, Clone, Copy)]
pub enum SongClock<'a> {
    /// In the engine's process.
    Block(&'a BlockTime<'a>),
    /// In a process of its own: at the block's first frame and behind its last. Such a block is one run.
    Told { start: SongPoint, end: SongPoint },
}

impl SongClock<'_> {
    /// As [`SongClock::at`] where that is known: a process of its own knows the first frame of a block alone.
    pub fn known_at(&self, offset: u32) -> Option<SongPoint> {
        match self {
            SongClock::Block(_) => Some(self.at(offset)),
            SongClock::Told { start, .. } => (offset == 0).then_some(*start),
        }
    }

    pub fn at(&self, offset: u32) -> SongPoint {
        match self {
            SongClock::Block(time) => SongPoint::at(time, offset),
            SongClock::Told { start, .. } if offset == 0 => *start,
            SongClock::Told { end, .. } => *end,
        }
    }
}
