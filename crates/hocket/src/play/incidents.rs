//! What the leader notes of periods that went wrong, on its way to the thread that explains them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use hocket_devices::Xrun;
use hocket_engine::{BlockTimes, Misses};
use hocket_rt::{Ring, RingReader, RingWriter};

/// Incidents that wait at most. They are taken ten times a second, so this is enough for every period of 3 frames at
/// 96 kHz to be late.
const ROOM: usize = 4096;

/// Something that went wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Incident {
    /// A period with misses.
    Miss(Miss),
    /// The server or the card has reported an xrun. Its block counts as those of misses do.
    Xrun(Xrun),
}

/// A period that was late, or before which others were skipped. Blocks count from the first one that is heard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Miss {
    /// The period's first block.
    pub first: u64,
    /// The period's last block.
    pub last: u64,
    pub frames: usize,
    /// When the period was due, on the monotonic clock.
    pub due_ns: u64,
    /// By how much it was late; 0: it was in time.
    pub late_ns: u64,
    /// Periods that passed without a block.
    pub skipped: u64,
}

impl Miss {
    /// As [`Misses`] counts.
    pub(super) fn misses(&self) -> Misses {
        Misses { late: u64::from(self.late_ns > 0), skipped: self.skipped }
    }
}

/// The leader's end.
pub(super) struct IncidentWriter {
    ring: RingWriter<Incident>,
    /// Those that found no room. Relaxed: the number stands for itself.
    lost: Arc<AtomicU64>,
    /// The first block that is heard, as the engine counts.
    first: Option<u64>,
    /// The last one.
    last: u64,
}

/// The other end.
pub(super) struct IncidentReader {
    ring: RingReader<Incident>,
    lost: Arc<AtomicU64>,
}

/// Both ends.
pub(super) fn incidents() -> (IncidentWriter, IncidentReader) {
    let (writer, reader) = Ring::new(ROOM);
    let lost = Arc::new(AtomicU64::new(0));
    let reader = IncidentReader { ring: reader, lost: Arc::clone(&lost) };
    (IncidentWriter { ring: writer, lost, first: None, last: 0 }, reader)
}

impl IncidentWriter {
    /// A block is over. Thread: leader. No allocation, lock or system call; so of all of these.
    pub(super) fn block(&mut self, times: &BlockTimes) {
        self.first.get_or_insert(times.block);
        self.last = times.block;
    }

    /// A period is over.
    pub(super) fn period(&mut self, times: &BlockTimes) {
        if times.misses().total() == 0 {
            return;
        }
        self.put(Incident::Miss(Miss {
            first: self.heard(times.block),
            last: self.heard(self.last),
            frames: times.frames,
            due_ns: times.signaled_ns,
            late_ns: times.slack_ns().min(0).unsigned_abs(),
            skipped: times.skipped,
        }));
    }

    /// An xrun was reported.
    pub(super) fn xrun(&mut self, xrun: &Xrun) {
        let mut xrun = *xrun;
        if let Some(cycle) = &mut xrun.cycle {
            cycle.block = cycle.block.map(|block| self.heard(block));
        }
        self.put(Incident::Xrun(xrun));
    }

    fn heard(&self, block: u64) -> u64 {
        block.saturating_sub(self.first.unwrap_or(block))
    }

    fn put(&mut self, incident: Incident) {
        if self.ring.push(incident).is_err() {
            self.lost.store(self.lost.load(Relaxed) + 1, Relaxed);
        }
    }
}

impl IncidentReader {
    pub(super) fn pop(&mut self) -> Option<Incident> {
        self.ring.pop()
    }

    /// How many found no room.
    pub(super) fn lost(&self) -> u64 {
        self.lost.load(Relaxed)
    }
}
