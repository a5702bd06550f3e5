//! How the run goes, as the leader writes it while others read.
//!
//! All accesses are relaxed, because each number stands for itself: a reader may see the frames of one block beside the
//! misses of the block before. The leader alone adds, so it loads and stores.

use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Condvar, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use hocket_engine::{BlockTimes, Engine};
use hocket_machine::pin::ThreadId;

/// Classes of block times; the last one has no upper end.
pub(super) const CLASSES: usize = 30;
/// The width of a class, in percent of the deadline.
pub(super) const CLASS_PERCENT: u64 = 5;
/// How often a second the leader writes what it does not count itself: the workers' totals.
const TOTALS_PER_S: u64 = 20;

/// How far the run is, where the song is, and what the workers do.
pub(super) struct Live {
    pub(super) rate_hz: u32,
    /// The device's, which may change. Where it is another, the device converts.
    device_hz: AtomicU32,
    /// Frames; `None`: for ever.
    pub(super) planned: Option<u64>,
    pub(super) frames: AtomicU64,
    pub(super) blocks: AtomicU64,
    /// Whether the engine rests, as of the last block.
    rests: AtomicBool,
    pub(super) misses: AtomicU64,
    pub(super) took_ns: AtomicU64,
    pub(super) deadline_ns: AtomicU64,
    /// The block with the highest load, in millionths of its deadline.
    pub(super) most_ppm: AtomicU64,
    /// Periods by the time from their planned start to their output.
    pub(super) classes: [AtomicU64; CLASSES],
    pub(super) song: Song,
    /// Every thread that has notes, the leader first.
    pub(super) threads: Box<[Thread]>,
    /// The largest magnitude of each output since somebody took it, as the bits of an `f32`.
    peaks: Box<[AtomicU32]>,
    /// When the totals were written last, in frames.
    totals_at: AtomicU64,
    ended: AtomicBool,
    /// For control threads that rest until something begins or ends.
    change: (Mutex<()>, Condvar),
    /// The user has had enough, which is no interruption.
    has_quit: AtomicBool,
    /// Set once, before the first block.
    leader: OnceLock<ThreadId>,
}

/// The transport after the last block.
#[derive(Default)]
pub(super) struct Song {
    pub(super) position: AtomicI64,
    pub(super) plays: AtomicBool,
    /// Both ends of the loop; 0 and 0 without one.
    pub(super) repeat: [AtomicI64; 2],
}

impl Song {
    /// In frames.
    pub(super) fn position(&self) -> i64 {
        self.position.load(Relaxed)
    }

    /// Both ends of the loop, in frames; `None` without one.
    pub(super) fn repeat(&self) -> Option<[i64; 2]> {
        let ends = [0, 1].map(|end| self.repeat[end].load(Relaxed));
        (ends[0] < ends[1]).then_some(ends)
    }
}

/// Totals of a thread.
#[derive(Default)]
pub(super) struct Thread {
    pub(super) blocks: AtomicU64,
    pub(super) busy_ns: AtomicU64,
}

impl Live {
    /// `outputs`: how many outputs have a meter.
    pub(super) fn new(engine: &Engine, planned: Option<u64>, outputs: usize) -> Live {
        let [frames, blocks, misses, took_ns, deadline_ns, most_ppm, totals_at] =
            std::array::from_fn(|_| AtomicU64::new(0));
        let [ended, has_quit, rests] = std::array::from_fn(|_| AtomicBool::new(false));
        Live {
            rate_hz: engine.settings().rate_hz,
            device_hz: AtomicU32::new(engine.settings().rate_hz),
            planned,
            frames,
            blocks,
            rests,
            misses,
            took_ns,
            deadline_ns,
            most_ppm,
            classes: std::array::from_fn(|_| AtomicU64::new(0)),
            song: Song {
                plays: AtomicBool::new(engine.transport().is_playing()),
                ..Song::default()
            },
            threads: engine.totals().iter().map(|_| Thread::default()).collect(),
            peaks: (0..outputs).map(|_| AtomicU32::new(0)).collect(),
            totals_at,
            ended,
            change: Default::default(),
            has_quit,
            leader: OnceLock::new(),
        }
    }

    /// A block has been processed. Thread: leader, the only one that adds.
    pub(super) fn note_block(&self, engine: &Engine, frames: usize) {
        add(&self.blocks, 1);
        self.rests.store(engine.rests(), Relaxed);
        let transport = engine.transport();
        self.song.position.store(transport.position(), Relaxed);
        self.song.plays.store(transport.is_playing(), Relaxed);
        let ends = transport.loop_range().map_or([0, 0], |range| [range.start(), range.end()]);
        self.song.repeat.iter().zip(ends).for_each(|(to, end)| to.store(end, Relaxed));
        for (output, peak) in self.peaks.iter().enumerate() {
            note_peak(peak, engine, output, frames);
        }
    }

    /// A period is over. Thread: leader.
    pub(super) fn note_period(&self, times: &BlockTimes) {
        add(&self.frames, times.frames as u64);
        add(&self.misses, times.misses().total());
        add(&self.took_ns, times.duration_ns);
        add(&self.deadline_ns, times.deadline_ns);
        let ppm = times.duration_ns.saturating_mul(1_000_000) / times.deadline_ns.max(1);
        self.most_ppm.store(self.most_ppm.load(Relaxed).max(ppm), Relaxed);
        add(&self.classes[class(times.lateness_ns + times.duration_ns, times.deadline_ns)], 1);
    }

    /// A block without a deadline is over. Thread: leader.
    pub(super) fn note_freewheeled(&self, frames: usize) {
        add(&self.frames, frames as u64);
    }

    /// Writes what the engine's threads have counted, if it is time for that. Thread: leader, between blocks.
    pub(super) fn note_threads(&self, engine: &Engine) {
        let now = self.frames.load(Relaxed);
        if now - self.totals_at.load(Relaxed) < u64::from(self.rate_hz) / TOTALS_PER_S {
            return;
        }
        self.totals_at.store(now, Relaxed);
        for (number, thread) in self.threads.iter().enumerate() {
            let Some(totals) = engine.totals_of(number) else { return };
            thread.blocks.store(totals.blocks, Relaxed);
            thread.busy_ns.store(totals.busy_ns, Relaxed);
        }
    }

    /// Thread: control, or the leader's own before its first block: it takes a lock.
    pub(super) fn led_by(&self, leader: ThreadId) {
        let _ = self.leader.set(leader);
        self.tell_change();
    }

    /// The device has another rate now. Thread: control.
    pub(super) fn set_device_rate(&self, rate_hz: u32) {
        self.device_hz.store(rate_hz, Relaxed);
        self.tell_change();
    }

    /// The rate of the device at present.
    pub(super) fn device_hz(&self) -> u32 {
        self.device_hz.load(Relaxed)
    }

    /// The leader's thread, once it is known.
    pub(super) fn leader(&self) -> Option<ThreadId> {
        self.leader.get().copied()
    }

    /// The run is over. Thread: control.
    pub(super) fn end(&self) {
        self.ended.store(true, Relaxed);
        self.tell_change();
    }

    fn tell_change(&self) {
        // Under the lock, so that nobody begins to rest between his look and this.
        let _lock = self.change.0.lock().unwrap_or_else(PoisonError::into_inner);
        self.change.1.notify_all();
    }

    /// Rests for that long, or until the run ends or `enough` is so after the leader has come. Thread: control.
    pub(super) fn rest(&self, time: Duration, enough: impl Fn() -> bool) {
        let lock = self.change.0.lock().unwrap_or_else(PoisonError::into_inner);
        let goes_on = |(): &mut ()| !self.has_ended() && !enough();
        drop(self.change.1.wait_timeout_while(lock, time, goes_on));
    }

    /// Whether the engine rests: then nothing hurries.
    pub(super) fn engine_rests(&self) -> bool {
        self.rests.load(Relaxed)
    }

    pub(super) fn has_ended(&self) -> bool {
        self.ended.load(Relaxed)
    }

    /// The user ends the run.
    pub(super) fn quit(&self) {
        self.has_quit.store(true, Relaxed);
    }

    pub(super) fn has_quit(&self) -> bool {
        self.has_quit.load(Relaxed)
    }

    /// The largest magnitude of each output since the last call. Thread: control, one at a time.
    pub(super) fn take_peaks(&self) -> Vec<f32> {
        self.peaks.iter().map(|peak| f32::from_bits(peak.swap(0, Relaxed))).collect()
    }

    /// Seconds that were played.
    pub(super) fn played_s(&self) -> f64 {
        self.seconds(self.frames.load(Relaxed))
    }

    pub(super) fn seconds(&self, frames: u64) -> f64 {
        frames as f64 / f64::from(self.rate_hz)
    }

    /// Of all periods so far; 1.0 = the whole period.
    pub(super) fn mean_load(&self) -> f64 {
        let deadline_ns = self.deadline_ns.load(Relaxed).max(1) as f64;
        self.took_ns.load(Relaxed) as f64 / deadline_ns
    }

    /// `12.3 of 60.0 s, load 23 % (at most 61 %), 0 misses`.
    pub(super) fn line(&self) -> String {
        let misses = self.misses.load(Relaxed);
        let of = self.planned.map_or(String::new(), |all| format!(" of {:.1}", self.seconds(all)));
        let mean = 100.0 * self.mean_load();
        let most = self.most_ppm.load(Relaxed) as f64 / 1e4;
        let now = self.played_s();
        format!("{now:.1}{of} s, load {mean:.0} % (at most {most:.0} %), {misses} misses")
    }
}

fn add(to: &AtomicU64, more: u64) {
    to.store(to.load(Relaxed).saturating_add(more), Relaxed);
}

/// The class of a time. One that is exactly the deadline is in time, so it is in the class below.
fn class(ready_ns: u64, deadline_ns: u64) -> usize {
    let width_ns = u128::from(deadline_ns.max(1)) * u128::from(CLASS_PERCENT);
    let class = (u128::from(ready_ns) * 100).div_ceil(width_ns).saturating_sub(1);
    class.min(CLASSES as u128 - 1) as usize
}

/// A reader may take the peak in between and see it a second time, which a meter does not show.
fn note_peak(peak: &AtomicU32, engine: &Engine, output: usize, frames: usize) {
    let Some(rows) = engine.output_rows(output, frames) else { return };
    let before = f32::from_bits(peak.load(Relaxed));
    let largest = |most: f32, sample: &f32| most.max(sample.abs());
    let now = (0..rows.len()).fold(before, |most, row| rows.row(row).iter().fold(most, largest));
    peak.store(now.to_bits(), Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ends_at_the_deadline_is_below_it_and_what_ends_later_is_not() {
        let at_deadline = (100 / CLASS_PERCENT) as usize;
        for deadline_ns in [1_333_333, 21_333_333, 100] {
            assert_eq!(class(0, deadline_ns), 0);
            assert_eq!(class(deadline_ns, deadline_ns), at_deadline - 1);
            assert_eq!(class(deadline_ns + 1, deadline_ns), at_deadline);
            assert_eq!(class(u64::MAX, deadline_ns), CLASSES - 1);
        }
        assert_eq!(class(7, 0), CLASSES - 1);
    }
}
