//! The thread beside the leader: explains late blocks and tells how it goes.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use hocket_engine::{BlockTimes, FlightDrain, FlightLog};
use indicatif::ProgressBar;

use crate::output::line;

/// How often it looks. Counters are read as often, so this is how closely they enclose a late block.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// Explanations that are kept for the end.
const EXPLANATIONS: usize = 5;

/// How far the run is. Written by the leader, read by the watcher; all accesses are relaxed, because
/// each number stands for itself.
pub(super) struct Live {
    period: Duration,
    /// `None`: for ever.
    planned: Option<u64>,
    blocks: AtomicU64,
    misses: AtomicU64,
    took_ns: AtomicU64,
    longest_ns: AtomicU64,
    ended: AtomicBool,
}

impl Live {
    pub(super) fn new(period: Duration, planned: Option<u64>) -> Live {
        let [blocks, misses, took_ns, longest_ns] = std::array::from_fn(|_| AtomicU64::new(0));
        let ended = AtomicBool::new(false);
        Live { period, planned, blocks, misses, took_ns, longest_ns, ended }
    }

    /// Thread: leader, the only one that writes.
    pub(super) fn note(&self, times: &BlockTimes) {
        let add = |to: &AtomicU64, more| to.store(to.load(Relaxed).saturating_add(more), Relaxed);
        add(&self.blocks, 1);
        add(&self.misses, times.misses().total());
        add(&self.took_ns, times.duration_ns);
        self.longest_ns.store(self.longest_ns.load(Relaxed).max(times.duration_ns), Relaxed);
    }

    pub(super) fn end(&self) {
        self.ended.store(true, Relaxed);
    }

    /// `12.3 of 60.0 s, load 23 % (at most 61 %), 0 misses`.
    fn line(&self) -> String {
        let blocks = self.blocks.load(Relaxed);
        let misses = self.misses.load(Relaxed);
        let seconds = |blocks: u64| blocks as f64 * self.period.as_secs_f64();
        let of = self.planned.map_or(String::new(), |all| format!(" of {:.1}", seconds(all)));
        let part = |ns: f64| 100.0 * ns / self.period.as_nanos() as f64;
        let mean = part(self.took_ns.load(Relaxed) as f64 / blocks.max(1) as f64);
        let most = part(self.longest_ns.load(Relaxed) as f64);
        let now = seconds(blocks);
        format!("{now:.1}{of} s, load {mean:.0} % (at most {most:.0} %), {misses} misses")
    }
}

/// Looks until the run has ended; returns what was found out.
pub(super) fn watch(mut drain: FlightDrain, live: &Live) -> FlightLog {
    let bar = line();
    let mut log = FlightLog::new(EXPLANATIONS);
    while !live.ended.load(Relaxed) {
        pause(live);
        log.add(drain.collect());
        tell(&bar, live);
    }
    // What was handed over between the last look and the end.
    log.add(drain.collect());
    bar.finish_and_clear();
    log
}

/// A look's time, or less where the run ends.
fn pause(live: &Live) {
    let begun = Instant::now();
    while begun.elapsed() < LOOK_EVERY && !live.ended.load(Relaxed) {
        std::thread::sleep(LOOK_EVERY / 10);
    }
}

fn tell(bar: &ProgressBar, live: &Live) {
    bar.set_message(live.line());
    bar.tick();
}
