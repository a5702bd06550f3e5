//! Who takes notes of every block, in the leader's thread.

use std::sync::Arc;
use std::time::{Duration, Instant};

use hocket_devices::{BlockObserver, Xrun};
use hocket_engine::time::Transport;
use hocket_engine::{BlockTimes, Engine, FlightRecorder};
use hocket_machine::pin::ThreadId;
use hocket_plugins::isolate::Group;

use super::incidents::IncidentWriter;
use super::live::Live;
use super::meter::Meter;
use super::takes::Takes;
use crate::load::streams::DiskBuffer;
use crate::plugin::isolated;

/// How long blocks of a server that freewheels wait for the disks of takes. After such a wait none does until the server freewheels
/// again: it waits no longer for its clients, and a disk that has not answered may never do.
const PATIENCE: Duration = DiskBuffer::PATIENCE;

/// Everything that is told or kept of blocks.
pub(super) struct Notes {
    pub(super) recorder: FlightRecorder,
    pub(super) meter: Meter,
    pub(super) incidents: IncidentWriter,
    pub(super) takes: Takes,
    pub(super) live: Arc<Live>,
    pub(super) until: Until,
    /// It is enough, but for what takes wait for.
    pub(super) is_enough: bool,
    pub(super) freewheel: Freewheel,
}

/// What waits while a server freewheels.
#[derive(Default)]
pub(super) struct Freewheel {
    /// Plug-ins in processes of their own.
    plugins: Option<Group>,
    /// Clips that play from the disk.
    disk: Option<Arc<DiskBuffer>>,
    /// What is left for takes.
    patience: Duration,
}

impl Freewheel {
    pub(super) fn of(disk: Option<&Arc<DiskBuffer>>) -> Freewheel {
        Freewheel { plugins: isolated::group(), disk: disk.cloned(), patience: Duration::ZERO }
    }

    fn set(&mut self, freewheels: bool) {
        self.plugins.iter().for_each(|plugins| plugins.wait_for_answers(freewheels));
        self.disk.iter().for_each(|disk| disk.wait_for_the_disk(freewheels));
        self.patience = if freewheels { PATIENCE } else { Duration::ZERO };
    }
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

impl Notes {
    /// Whether another block is wanted.
    fn goes_on(&mut self, frames: usize, engine: &Engine) -> bool {
        if !self.is_enough && self.until.is_reached(frames, engine.transport()) {
            self.is_enough = true;
            self.takes.end_song();
        }
        // What is played to the end of the song comes in behind it.
        !self.is_enough || self.takes.remaining() > 0
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
        self.goes_on(times.frames, engine)
    }

    fn freewheels(&mut self, freewheels: bool) {
        self.freewheel.set(freewheels);
        if freewheels {
            // The block behind it is no neighbour of the one before.
            self.recorder.end_run();
        }
    }

    fn freewheeled(&mut self, times: &BlockTimes, engine: &Engine) -> bool {
        let (patience, begun) = (&mut self.freewheel.patience, Instant::now());
        self.takes.keep_for(engine, times.frames, *patience);
        *patience = patience.saturating_sub(begun.elapsed());
        self.meter.note_freewheeled(times.frames);
        // Nothing went wrong, but blocks are counted.
        self.incidents.block(times);
        self.live.note_block(engine, times.frames);
        self.live.note_freewheeled(times.frames);
        self.live.note_threads(engine);
        self.goes_on(times.frames, engine)
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
