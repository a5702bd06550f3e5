//! What a worker or guard does between blocks: sleep, wait at the gate, go in.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::Sender;

use hocket_machine::clock::{monotonic_ns, sleep_until_ns};
use hocket_machine::float_mode::FlushDenormals;
use hocket_rt::Waited;

use super::seat::{ThreadReport, settle};
use super::start::{Job, Role};
use crate::block::runner::Runner;

/// The life of a thread, from its seat to `stopping`.
pub(super) fn live(runner: &Runner, job: &Job, ready: &Sender<ThreadReport>) {
    let _float = FlushDenormals::enter();
    // The gate is read before `ready` is sent: every block opened afterwards is past this value.
    let mut seen = runner.gate.value();
    let report = settle(&job.name, job.cpu, job.priority);
    if ready.send(report).is_err() {
        return;
    }
    let mut next_ns = 0;
    let mut budget = Budget::new();
    loop {
        if job.role == Role::Worker {
            await_need(runner, job.desk);
        }
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

/// Sleeps as long as the plan does without this worker.
fn await_need(runner: &Runner, desk: usize) {
    loop {
        // Read, look, wait (PROTOCOL.md, Signal): whoever makes one of the two true advances afterwards.
        let seen = runner.reserve.value();
        // Relaxed: the advance of `reserve` orders both.
        let needed = desk < runner.needed.load(Relaxed) as usize;
        if needed || runner.stopping.load(Relaxed) {
            return;
        }
        runner.reserve.wait_past(seen, &runner.waits.at_gate);
    }
}

/// Waits until the gate has left `seen`.
///
/// Where the next block's time is known, the thread first sleeps until shortly before: then it is awake
/// when the signal comes, instead of some 10 to 20 us later, and the leader needs no system call to wake
/// it. A block that comes sooner, or the engine's end, moves the gate and so ends that sleep.
fn await_gate(runner: &Runner, seen: u32, next_ns: u64) -> (u32, Waited) {
    let Some(early) = runner.waits.early.filter(|_| next_ns > 0) else {
        return runner.gate.wait_past(seen, &runner.waits.at_gate);
    };
    let wake_ns = next_ns.saturating_sub(early.ns);
    let (value, asleep) = runner.gate.wait_past_by(seen, &early.asleep, wake_ns);
    if value != seen {
        return (value, asleep);
    }
    // For as long as a leader may be late.
    let (value, mut waited) = runner.gate.wait_past(seen, &early.awake);
    waited += asleep;
    (value, waited)
}

/// The time since a thread has truly blocked.
///
/// Under full load one block follows upon the other and nobody sleeps in between. A real-time thread that
/// never blocks is ended by the system where its rights came with a limit (RealtimeKit: 200 ms of
/// RLIMIT_RTTIME), so after a quarter of that it blocks for a moment, which costs one block a worker.
struct Budget {
    blocked_ns: u64,
}

/// Longest time without blocking.
const UNBLOCKED_NS: u64 = 50_000_000;
/// How long it then sleeps: any sleep starts the system's count anew.
const MOMENT_NS: u64 = 10_000;

impl Budget {
    fn new() -> Budget {
        Budget { blocked_ns: monotonic_ns() }
    }

    /// Thread: its own, between two blocks; `blocked`: since the last call.
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
