//! Who takes notes of every block, in the leader's thread.

use std::sync::Arc;

use hocket_devices::{BlockObserver, Xrun};
use hocket_engine::time::Transport;
use hocket_engine::{BlockTimes, Engine, FlightRecorder};
use hocket_machine::pin::ThreadId;

use super::incidents::IncidentWriter;
use super::live::Live;
use super::meter::Meter;
use super::takes::Takes;

/// Everything that is told or kept of blocks.
pub(super) struct Notes {
    pub(super) recorder: FlightRecorder,
    pub(super) meter: Meter,
    pub(super) incidents: IncidentWriter,
    pub(super) takes: Takes,
    pub(super) live: Arc<Live>,
    pub(super) until: Until,
}

/// When the observer has had enough.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Until {
    /// So many frames are still to play.
    Left(u64),
    /// The song has reached this frame: it may be stopped, moved and looped before.
    Song(i64),
    /// For ever.
    Never,
}

impl Until {
    /// A block is over. Returns whether that is enough.
    fn is_reached(&mut self, frames: usize, song: &Transport) -> bool {
        match self {
            Until::Left(left) => {
                *left = left.saturating_sub(frames as u64);
                *left == 0
            }
            Until::Song(end) => song.is_playing() && song.position() >= *end,
            Until::Never => false,
        }
    }
}

/// Who looks on while the leader takes notes, in builds for tests. The engine has the same for its own part of a block.
#[must_use = "it watches while it lives"]
struct Watch {
    #[cfg(feature = "rtsan")]
    _rtsan: rtsan_standalone::ScopedSanitizeRealtime,
    // Last, so that it ends last.
    #[cfg(feature = "sentry")]
    _sentry: hocket_engine::sentry::SentryWatch,
}

impl Watch {
    fn begin() -> Watch {
        Watch {
            #[cfg(feature = "sentry")]
            _sentry: hocket_engine::sentry::SentryWatch::begin(),
            #[cfg(feature = "rtsan")]
            _rtsan: rtsan_standalone::ScopedSanitizeRealtime::default(),
        }
    }
}

impl BlockObserver for Notes {
    fn led_by(&mut self, leader: ThreadId) {
        self.live.led_by(leader);
    }

    fn missed(&mut self, frames: u64) {
        self.takes.miss(frames);
    }

    fn block(&mut self, times: &BlockTimes, engine: &Engine) -> bool {
        let _watch = Watch::begin();
        self.takes.note(engine, times.frames);
        self.recorder.note(engine, times);
        self.meter.blocks += 1;
        self.incidents.block(times);
        self.live.note_block(engine, times.frames);
        self.live.note_threads(engine);
        !self.until.is_reached(times.frames, engine.transport())
    }

    fn period(&mut self, times: &BlockTimes) {
        let _watch = Watch::begin();
        self.meter.note(times);
        self.live.note_period(times);
        self.incidents.period(times);
    }

    fn changed_rate(&mut self, device_hz: u32) {
        self.live.set_device_rate(device_hz);
    }

    fn xrun(&mut self, xrun: &Xrun) {
        self.incidents.xrun(xrun);
    }
}
