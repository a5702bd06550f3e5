//! Pulses and frames of a song, each from the other.

use std::sync::Arc;

use hocket_engine::time::TempoMap;

/// Pulses per quarter note.
pub(super) const PER_QUARTER: i64 = 24;
/// Pulses per unit of a song position.
pub(super) const PER_SIXTEENTH: i64 = 6;

/// The pulses of a song, from 0 at its start.
///
/// Pulse `n` has the frame that is nearest to `n` 24ths of a quarter note; of two, the later one
/// ([`TempoMap::frame_at_beats`]). Neighbours have different frames, because the fastest tempo at the lowest rate has two
/// frames per pulse. So the pulses of a stretch of frames are the same however it is cut into blocks.
///
/// Thread: any. Cost of a call: a few lookups in the map; no allocation, lock or system call.
pub(super) struct Pulses {
    map: Arc<TempoMap>,
}

impl Pulses {
    pub(super) fn of(map: Arc<TempoMap>) -> Pulses {
        Pulses { map }
    }

    /// Frames per second.
    pub(super) fn rate_hz(&self) -> u32 {
        self.map.rate_hz()
    }

    /// The frame of a pulse.
    pub(super) fn frame(&self, pulse: i64) -> i64 {
        self.map.frame_at_beats(pulse as f64 / PER_QUARTER as f64)
    }

    /// The first pulse at a frame or behind it. A frame before the song's start counts as the start.
    pub(super) fn first_from(&self, frame: i64) -> i64 {
        let frame = frame.max(0);
        let mut pulse = (self.map.beats_at_frame(frame) * PER_QUARTER as f64).floor() as i64;
        // A pulse of this frame may lie up to half a frame before or behind it.
        while pulse > 0 && self.frame(pulse - 1) >= frame {
            pulse -= 1;
        }
        while self.frame(pulse) < frame {
            pulse += 1;
        }
        pulse
    }
}
