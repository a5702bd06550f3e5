//! When the song plays what: tempos, time signatures and the loop.

use hocket_time::{
    LoopError, LoopRange, MeterPoint, Position, TempoError, TempoMap, TempoPoint, TimeBase,
};

/// The tempo of a song that says nothing of it, in quarter notes per minute.
const USUAL_BPM: f64 = 120.0;

/// Tempos, time signatures and the loop of a song.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SongTime {
    /// Sorted by beats. None: 120 quarter notes per minute.
    pub tempos: Vec<TempoPoint>,
    /// Sorted by beats. None: 4/4.
    pub meters: Vec<MeterPoint>,
    /// What the transport repeats from the first block on.
    pub repeat: Option<LoopPoints>,
}

/// The ends of a loop.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LoopPoints {
    /// The unit of both ends.
    pub base: TimeBase,
    /// Its start.
    pub from: f64,
    /// Its end: what is there is not part of it.
    pub to: f64,
}

impl SongTime {
    /// The tempo map at a sample rate.
    ///
    /// # Errors
    /// [`TempoError`] names the first wrong point.
    pub fn map(&self, rate_hz: u32) -> Result<TempoMap, TempoError> {
        let usual = [TempoPoint::step(0.0, USUAL_BPM)];
        let tempos = if self.tempos.is_empty() { &usual[..] } else { &self.tempos };
        TempoMap::new(rate_hz, tempos, &self.meters)
    }

    /// The loop in frames of `map`.
    ///
    /// # Errors
    /// [`LoopError`] if it is too short or too far.
    pub fn loop_range(&self, map: &TempoMap) -> Result<Option<LoopRange>, LoopError> {
        let range = |points: LoopPoints| {
            let at = |at| -> Position { points.base.position(at) };
            LoopRange::new(map, at(points.from), at(points.to))
        };
        self.repeat.map(range).transpose()
    }
}
