//! Who takes notes of every block, in the leader's thread.

use std::sync::Arc;

use hocket_devices::BlockObserver;
use hocket_engine::{BlockTimes, Engine, FlightRecorder};
use hocket_machine::pin::ThreadId;

use super::meter::Meter;
use super::takes::Takes;
use super::watcher::Live;

/// Everything that is told or kept of blocks.
pub(super) struct Notes {
    pub(super) recorder: FlightRecorder,
    pub(super) meter: Meter,
    pub(super) takes: Takes,
    pub(super) live: Arc<Live>,
    /// Frames that are still to play; `None`: for ever.
    pub(super) left: Option<u64>,
}

impl BlockObserver for Notes {
    fn led_by(&mut self, leader: ThreadId) {
        self.live.led_by(leader);
    }

    fn block(&mut self, times: &BlockTimes, engine: &Engine) -> bool {
        self.takes.note(engine, times.frames);
        self.recorder.note(engine, times);
        self.meter.blocks += 1;
        self.left = self.left.map(|left| left.saturating_sub(times.frames as u64));
        self.left != Some(0)
    }

    fn period(&mut self, times: &BlockTimes) {
        self.meter.note(times);
        self.live.note(times);
    }
}
