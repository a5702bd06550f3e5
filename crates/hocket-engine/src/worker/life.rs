//! What a worker or guard does between blocks: it sleeps, waits at the gate and enters.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::Sender;

use hocket_machine::clock::{monotonic_ns, sleep_until_ns};
use hocket_machine::float_mode::FlushDenormals;
use hocket_rt::Waited;

use super::seat::{ThreadReport, settle};
use crate::block::runner::Runner;

/// What a thread does in a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// Runs units. The desk's index is the worker's.
    Worker,
    /// Keeps a seat busy beside a worker.
    Guard,
}

/// A thread to start.
#[derive(Debug, Clone)]
pub(crate) struct Job {
    pub name: String,
    pub role: Role,
    pub desk: usize,
    pub cpu: Option<u32>,
    pub priority: Option<u8>,
}

/// Runs a worker or guard: takes its seat, then serves blocks until `stopping`.
pub(super) fn live(runner: &Runner, job: &Job, ready: &Sender<ThreadReport>) {
    let _float = FlushDenormals::enter();
    // Read the gate before sending `ready`: the leader opens no block before `ready`, so every block
    // moves the gate past this value.
    let mut seen = runner.gate.value();
    runner.sits_at(job.desk);
    let report = settle(&job.name, job.cpu, job.priority);
    if ready.send(report).is_err() {
        return;
    }
    let mut next_ns = 0;
    let mut budget = Budget::new();
    loop {
        await_need(runner, job.desk);
        let waited;
        (seen, waited) = await_gate(runner, seen, next_ns);
        budget.keep(waited.blocked > 0);
        // Relaxed: the gate's value orders it (see `Runner::stop`).
        if runner.stopping.load(Relaxed) {
            return;
        }
        next_ns = match job.role {
            Role::Worker => {
                #[cfg(feature = "hostile")]
                crate::hostile::hold_up(job.desk);
                runner.help(job.desk)
            }
            Role::Guard => {
                runner.guard(job.desk);
                0
            }
        };
    }
}

/// Sleeps while the plan does not need this thread.
fn await_need(runner: &Runner, desk: usize) {
    loop {
        // Read, look, wait (PROTOCOL.md, Signal): the thread that makes one of the two conditions true
        // advances `reserve` afterwards.
        let seen = runner.reserve.value();
        // Relaxed: the advance of `reserve` publishes both.
        if runner.needs(desk) || runner.stopping.load(Relaxed) {
            return;
        }
        runner.reserve.wait_past(seen, &runner.waits.asleep);
    }
}

/// Waits until the gate has left `seen`.
///
/// If the next block's time is known, the thread first sleeps until shortly before it. So it is awake when
/// the signal comes, not 10 to 20 µs later, and the leader needs no system call to wake it. If the block
/// comes sooner, or the engine stops, the gate moves and ends the sleep.
fn await_gate(runner: &Runner, seen: u32, next_ns: u64) -> (u32, Waited) {
    let waits = runner.waits.now();
    let Some(early) = waits.early.filter(|_| next_ns > 0) else {
        return runner.gate.wait_past(seen, &waits.at_gate);
    };
    let wake_ns = next_ns.saturating_sub(early.ns);
    let (value, asleep) = runner.gate.wait_past_by(seen, &early.asleep, wake_ns);
    if value != seen {
        return (value, asleep);
    }
    // This wait spins for as long as the leader may be late.
    let (value, mut waited) = runner.gate.wait_past(seen, &early.awake);
    waited += asleep;
    (value, waited)
}

/// The time since a thread really blocked.
///
/// Under full load, one block follows another and no thread sleeps in between. If a thread obtained its
/// real-time class with a limit, the system ends it when it never blocks. (RealtimeKit sets RLIMIT_RTTIME to
/// 200 ms.) So the thread blocks for a moment after a quarter of that time. One block then lacks a worker.
struct Budget {
    blocked_ns: u64,
}

/// The longest time without blocking.
const UNBLOCKED_NS: u64 = 50_000_000;
/// How long the thread then sleeps. Any sleep restarts the system's count.
const MOMENT_NS: u64 = 10_000;

impl Budget {
    fn new() -> Budget {
        Budget { blocked_ns: monotonic_ns() }
    }

    /// Blocks for a moment if the thread has not blocked for too long. `blocked` says whether it has blocked
    /// since the last call.
    ///
    /// Thread: its own, between two blocks.
    fn keep(&mut self, blocked: bool) {
        let now = monotonic_ns();
        if !blocked && now - self.blocked_ns < UNBLOCKED_NS {
            return;
        }
        if !blocked {
            sleep_until_ns(now + MOMENT_NS);
        }
        self.blocked_ns = now;
    }
}
