//! The thread beside the leader: explains late blocks, makes plug-ins anew that ask for it, and tells how it goes.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use hocket_engine::{BlockTimes, FlightDrain, FlightLog};
use hocket_machine::pin::ThreadId;
use indicatif::ProgressBar;

use super::restarts::Restarts;
use crate::output::line;

/// How often it looks. Counters are read as often, so this is how closely they enclose a late block.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// Explanations that are kept for the end.
const EXPLANATIONS: usize = 5;
/// Room for 3200 thread switches of a CPU between two looks.
const SWITCH_RING_BYTES: usize = 1 << 18;

/// How far the run is. Written by the leader, read by the watcher; all accesses are relaxed, because
/// each number stands for itself.
pub(super) struct Live {
    rate_hz: u32,
    /// Frames; `None`: for ever.
    planned: Option<u64>,
    frames: AtomicU64,
    misses: AtomicU64,
    took_ns: AtomicU64,
    deadline_ns: AtomicU64,
    /// The block with the highest load, in millionths of its deadline.
    most_ppm: AtomicU64,
    ended: AtomicBool,
    /// Set once, before the first block.
    leader: OnceLock<ThreadId>,
}

impl Live {
    pub(super) fn new(rate_hz: u32, planned: Option<u64>) -> Live {
        let [frames, misses, took_ns, deadline_ns, most_ppm] =
            std::array::from_fn(|_| AtomicU64::new(0));
        let (ended, leader) = (AtomicBool::new(false), OnceLock::new());
        Live { rate_hz, planned, frames, misses, took_ns, deadline_ns, most_ppm, ended, leader }
    }

    /// Thread: leader, the only one that writes.
    pub(super) fn note(&self, times: &BlockTimes) {
        let add = |to: &AtomicU64, more| to.store(to.load(Relaxed).saturating_add(more), Relaxed);
        add(&self.frames, times.frames as u64);
        add(&self.misses, times.misses().total());
        add(&self.took_ns, times.duration_ns);
        add(&self.deadline_ns, times.deadline_ns);
        let ppm = times.duration_ns.saturating_mul(1_000_000) / times.deadline_ns.max(1);
        self.most_ppm.store(self.most_ppm.load(Relaxed).max(ppm), Relaxed);
    }

    /// Thread: control, before the first block.
    pub(super) fn led_by(&self, leader: ThreadId) {
        let _ = self.leader.set(leader);
    }

    pub(super) fn end(&self) {
        self.ended.store(true, Relaxed);
    }

    /// `12.3 of 60.0 s, load 23 % (at most 61 %), 0 misses`.
    fn line(&self) -> String {
        let misses = self.misses.load(Relaxed);
        let seconds = |frames: u64| frames as f64 / f64::from(self.rate_hz);
        let of = self.planned.map_or(String::new(), |all| format!(" of {:.1}", seconds(all)));
        let deadline_ns = self.deadline_ns.load(Relaxed).max(1) as f64;
        let mean = 100.0 * self.took_ns.load(Relaxed) as f64 / deadline_ns;
        let most = self.most_ppm.load(Relaxed) as f64 / 1e4;
        let now = seconds(self.frames.load(Relaxed));
        format!("{now:.1}{of} s, load {mean:.0} % (at most {most:.0} %), {misses} misses")
    }
}

/// Looks until the run has ended; returns what was found out, and what cannot be seen here.
pub(super) fn watch(
    mut drain: FlightDrain,
    live: &Live,
    mut restarts: Restarts,
) -> (FlightLog, Vec<String>) {
    let bar = line();
    let (mut log, mut limits) = (FlightLog::new(EXPLANATIONS), None);
    while !live.ended.load(Relaxed) {
        if let Some(leader) = live.leader.get().filter(|_| limits.is_none()) {
            limits = Some(drain.watch(*leader, SWITCH_RING_BYTES));
        }
        pause(live, limits.is_some());
        log.add(drain.collect());
        restarts.look();
        tell(&bar, live);
    }
    // What was handed over between the last look and the end.
    log.add(drain.collect());
    bar.finish_and_clear();
    (log, limits.unwrap_or_default())
}

/// A look's time, or less where the run ends or the leader has just come.
fn pause(live: &Live, knows_leader: bool) {
    let begun = Instant::now();
    let has_come = || !knows_leader && live.leader.get().is_some();
    while begun.elapsed() < LOOK_EVERY && !live.ended.load(Relaxed) && !has_come() {
        std::thread::sleep(LOOK_EVERY / 10);
    }
}

fn tell(bar: &ProgressBar, live: &Live) {
    bar.set_message(live.line());
    bar.tick();
}
