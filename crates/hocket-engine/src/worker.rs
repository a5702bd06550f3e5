//! Threads: workers and guards, from birth to joining.
//!
//! A thread pins itself, asks for its class and sets its float mode before it says that it is
//! ready; only then may the leader become a real-time thread. (A worker born on a CPU where a
//! SCHED_FIFO leader spins would never get to run: docs/results has the figure.)

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use hocket_machine::class::{self, Class, ClassGuard};
use hocket_machine::clock::{monotonic_ns, sleep_until_ns};
use hocket_machine::float_mode::{FlushDenormals, denormals_flushed};
use hocket_machine::pin::{self, CpuSet, PinError, ThreadId};
use hocket_machine::rights::{self, Way};

use hocket_rt::Wait;

use crate::block::runner::Runner;

/// What a thread does in a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// Runs units; the desk's index is the worker's.
    Worker,
    /// Keeps a seat busy beside a worker.
    Guard,
}

/// A thread to be started.
#[derive(Debug, Clone)]
pub(crate) struct Job {
    pub name: String,
    pub role: Role,
    pub desk: usize,
    pub cpu: Option<u32>,
    pub priority: Option<u8>,
}

/// What a thread asked for and what the system says it has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadReport {
    /// `leader`, `worker 1`, `guard of worker 0`.
    pub name: String,
    /// Kernel thread id, for whoever wants to look from outside.
    pub tid: ThreadId,
    /// The CPU it asked for.
    pub cpu_asked: Option<u32>,
    /// The CPUs that the system reports for it.
    pub cpus_got: String,
    /// The scheduling class it asked for.
    pub class_asked: String,
    /// The class that the system reports.
    pub class_got: String,
    /// Why something was refused, with what would help; `None`: nothing was.
    pub why: Option<String>,
    /// Whether tiny numbers are flushed to zero, found out by computing one.
    pub denormals_flushed: bool,
}

/// A running thread.
pub(crate) struct Started {
    pub handle: JoinHandle<()>,
    pub report: ThreadReport,
}

/// Starts all threads and waits until each has said what it got.
///
/// # Errors
/// Where the system gives no more threads; those already started are stopped.
pub(crate) fn start_all(runner: &Arc<Runner>, jobs: &[Job]) -> std::io::Result<Vec<Started>> {
    let mut started = Vec::with_capacity(jobs.len());
    for job in jobs {
        match start(runner, job) {
            Ok(thread) => started.push(thread),
            Err(error) => {
                join_all(runner, &mut started);
                return Err(error);
            }
        }
    }
    Ok(started)
}

/// Ends all threads; safe to call twice.
pub(crate) fn join_all(runner: &Runner, threads: &mut Vec<Started>) {
    runner.stop();
    for thread in threads.drain(..) {
        // A worker that panicked has said so on stderr; there is nothing to save here.
        let _ = thread.handle.join();
    }
}

fn start(runner: &Arc<Runner>, job: &Job) -> std::io::Result<Started> {
    let (ready, report): (Sender<ThreadReport>, Receiver<ThreadReport>) = channel();
    let (runner, own) = (Arc::clone(runner), job.clone());
    let handle = std::thread::Builder::new()
        .name(job.name.clone())
        .spawn(move || live(&runner, &own, &ready))?;
    let report = report.recv().map_err(|_| std::io::Error::other("a worker ended at once"))?;
    Ok(Started { handle, report })
}

fn live(runner: &Runner, job: &Job, ready: &Sender<ThreadReport>) {
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
        let asleep = sleep_before(runner, next_ns);
        (seen, waited) = runner.gate.wait_past(seen, &gate_wait(runner, next_ns));
        budget.keep(asleep || waited.blocked > 0);
        // Relaxed: the gate's value orders it (see `Runner::stop`).
        if runner.stopping.load(Relaxed) {
            return;
        }
        next_ns = match job.role {
            Role::Worker => runner.help(job.desk),
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

/// Where the next block's time is known, the thread first sleeps until shortly before: then it is awake
/// when the signal comes, instead of some 10 to 20 us later, and the leader needs no system call to wake
/// it. Returns whether it slept.
fn sleep_before(runner: &Runner, next_ns: u64) -> bool {
    let Some((early_ns, _)) = runner.waits.early.filter(|_| next_ns > 0) else { return false };
    let until = next_ns.saturating_sub(early_ns);
    let ahead = until > monotonic_ns();
    if ahead {
        sleep_until_ns(until);
    }
    ahead
}

/// How to wait at the gate: having slept until shortly before, for as long as a leader may be late.
fn gate_wait(runner: &Runner, next_ns: u64) -> Wait {
    match runner.waits.early {
        Some((_, wait)) if next_ns > 0 => wait,
        _ => runner.waits.at_gate,
    }
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

/// Puts a thread back on the CPU that it asked for, where it is not there any more.
///
/// # Errors
/// The system refuses.
pub(crate) fn keep_seat(report: &ThreadReport) -> Result<(), PinError> {
    let Some(cpu) = report.cpu_asked else { return Ok(()) };
    let seat = CpuSet::single(cpu);
    match pin::affinity_of_thread(report.tid) {
        Ok(now) if now == seat => Ok(()),
        _ => pin::pin_thread(report.tid, &seat).map(drop),
    }
}

/// Pins the calling thread, asks for its class, and reports what the system says afterwards.
pub(crate) fn settle(name: &str, cpu: Option<u32>, priority: Option<u8>) -> ThreadReport {
    let mut why = Vec::new();
    if let Some(Err(error)) = cpu.map(|cpu| pin::pin_current_thread(&CpuSet::single(cpu))) {
        why.push(error.to_string());
    }
    if let Some(priority) = priority {
        why.extend(obtain(priority));
    }
    ThreadReport {
        name: name.to_owned(),
        tid: pin::current_thread(),
        cpu_asked: cpu,
        cpus_got: pin::current_affinity().map_or_else(|e| e.to_string(), |set| set.to_string()),
        class_asked: priority.map_or("unchanged".into(), |p| format!("SCHED_FIFO {p}")),
        class_got: class::now().to_string(),
        why: (!why.is_empty()).then(|| why.join("; ")),
        denormals_flushed: denormals_flushed(),
    }
}

/// Asks for real-time scheduling, directly or through the desktop's services, at last for a short slice.
/// Returns what was answered where it is not SCHED_FIFO with this priority.
fn obtain(priority: u8) -> Vec<String> {
    // Services that refused one thread refuse the next one too, and may take seconds to say so.
    // Relaxed: a hint; at worst they are asked again.
    static SERVICES_REFUSED: AtomicBool = AtomicBool::new(false);
    let direct = class::request(Class::Fifo { priority });
    let Some(refusal) = direct.why else { return Vec::new() };
    let ways: &[Way] = match SERVICES_REFUSED.load(Relaxed) {
        true => &[Way::Slice],
        false => &[Way::Portal, Way::Rtkit, Way::Slice],
    };
    let mut answers = vec![refusal];
    answers.extend(direct.remedy);
    for obtained in rights::obtain_by(ways, &[pin::current_thread()], priority) {
        let served = matches!(obtained.way, Way::Portal | Way::Rtkit);
        SERVICES_REFUSED.store(!served, Relaxed);
        answers
            .extend(obtained.tried.iter().map(|it| format!("{}: {}", it.way.label(), it.outcome)));
    }
    answers
}

/// Where and what the calling thread was before it became the leader; given back when dropped.
#[must_use = "dropping it gives the old seat and class back at once"]
pub struct LeaderSeat {
    cpus: Option<CpuSet>,
    class: Option<ClassGuard>,
}

impl LeaderSeat {
    /// Gives nothing back: the thread whose seat it was has ended.
    pub(crate) fn forget(mut self) {
        self.cpus = None;
        // It holds no memory; its drop would change the calling thread.
        std::mem::forget(self.class.take());
    }
}

impl Drop for LeaderSeat {
    fn drop(&mut self) {
        if let Some(cpus) = &self.cpus {
            // Its own earlier set was granted once; if CPUs went off line since, what is left stays.
            let _ = pin::pin_current_thread(cpus);
        }
    }
}

/// Makes the calling thread a leader without an engine: pinned, in the class asked for.
pub fn settle_leader(
    name: &str,
    cpu: Option<u32>,
    priority: Option<u8>,
) -> (LeaderSeat, ThreadReport) {
    let class = Some(ClassGuard::remember());
    let seat = LeaderSeat { cpus: pin::current_affinity().ok(), class };
    // As each of its blocks does, and no longer: the thread is somebody else's.
    let _float = FlushDenormals::enter();
    (seat, settle(name, cpu, priority))
}
