//! How a thread takes its seat: it requests a CPU and a class, and reports what the system granted.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use hocket_machine::class::{self, Class, ClassGuard};
use hocket_machine::float_mode::{FlushDenormals, denormals_flushed};
use hocket_machine::pin::{self, CpuSet, PinError, ThreadId};
use hocket_machine::rights::{self, Way};

/// What a thread requested, and what the system reports afterwards.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadReport {
    /// For example `leader`, `worker 1` or `guard of worker 0`.
    pub name: String,
    /// The kernel's thread id, for tools outside the process.
    pub tid: ThreadId,
    /// The CPU that it requested.
    pub cpu_asked: Option<u32>,
    /// The CPUs that the system reports for it.
    pub cpus_got: String,
    /// The scheduling class that it requested.
    pub class_asked: String,
    /// The class that the system reports.
    pub class_got: String,
    /// Whether the reported class is a real-time class.
    pub real_time: bool,
    /// Why the system refused a request, and what would help. `None`: it granted all.
    pub why: Option<String>,
    /// Whether the thread flushes denormal numbers to zero, checked by a computation.
    pub denormals_flushed: bool,
}

/// Pins a thread to the CPU that it requested, unless it is still pinned there.
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

/// The class that a thread requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rank {
    /// The one that it has.
    Unchanged,
    /// SCHED_FIFO with this priority.
    RealTime(u8),
    /// An ordinary one.
    Ordinary,
}

impl From<Option<u8>> for Rank {
    fn from(priority: Option<u8>) -> Rank {
        priority.map_or(Rank::Unchanged, Rank::RealTime)
    }
}

impl std::fmt::Display for Rank {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Rank::Unchanged => f.write_str("unchanged"),
            Rank::RealTime(priority) => write!(f, "SCHED_FIFO {priority}"),
            Rank::Ordinary => f.write_str("SCHED_OTHER"),
        }
    }
}

/// Pins the calling thread, requests its class, and returns what the system reports afterwards.
pub(crate) fn settle(name: &str, cpu: Option<u32>, priority: Option<u8>) -> ThreadReport {
    let flushed = denormals_flushed();
    settle_thread(pin::current_thread(), name, cpu, priority.into(), flushed)
}

/// Gives a thread of the engine another seat and class, and returns what the system reports afterwards.
///
/// Thread: control. The thread itself may be inside a block: the system moves it.
pub(crate) fn resettle(before: &ThreadReport, cpu: Option<u32>, rank: Rank) -> ThreadReport {
    settle_thread(before.tid, &before.name, cpu, rank, before.denormals_flushed)
}

/// Whether the system still reports for a thread what it reported then.
pub(crate) fn is_still(report: &ThreadReport) -> bool {
    cpus_of(report.tid) == report.cpus_got
        && class::now_of(report.tid).to_string() == report.class_got
}

fn cpus_of(thread: ThreadId) -> String {
    pin::affinity_of_thread(thread).map_or_else(|error| error.to_string(), |set| set.to_string())
}

fn settle_thread(
    thread: ThreadId,
    name: &str,
    cpu: Option<u32>,
    rank: Rank,
    denormals_flushed: bool,
) -> ThreadReport {
    let mut why = Vec::new();
    if let Some(Err(error)) = cpu.map(|cpu| pin::pin_thread(thread, &CpuSet::single(cpu))) {
        why.push(error.to_string());
    }
    match rank {
        Rank::Unchanged => {}
        Rank::RealTime(priority) => why.extend(obtain(thread, priority)),
        Rank::Ordinary => why.extend(give_up_real_time(thread)),
    }
    let class = class::now_of(thread);
    ThreadReport {
        name: name.to_owned(),
        tid: thread,
        cpu_asked: cpu,
        cpus_got: cpus_of(thread),
        class_asked: rank.to_string(),
        class_got: class.to_string(),
        real_time: class.value().is_some_and(|now| now.priority > 0),
        why: (!why.is_empty()).then(|| why.join("; ")),
        denormals_flushed,
    }
}

/// Makes a thread an ordinary one, unless it is one. Returns why not.
fn give_up_real_time(thread: ThreadId) -> Option<String> {
    let is_real_time = class::now_of(thread).value().is_some_and(|now| now.is_real_time());
    is_real_time.then(|| class::request_of(thread, Class::Other { nice: 0 }).why).flatten()
}

/// Requests real-time scheduling: first directly, then from the desktop's services, then a short time slice.
///
/// Returns nothing if the direct request succeeds. Otherwise returns every answer.
fn obtain(thread: ThreadId, priority: u8) -> Vec<String> {
    // A service that refused one thread refuses the next one too, and may take seconds to answer.
    // Relaxed: a hint. At worst the thread asks again.
    static SERVICES_REFUSED: AtomicBool = AtomicBool::new(false);
    let direct = class::request_of(thread, Class::Fifo { priority });
    let Some(refusal) = direct.why else { return Vec::new() };
    let ways: &[Way] = match SERVICES_REFUSED.load(Relaxed) {
        true => &[Way::Slice],
        false => &[Way::Portal, Way::Rtkit, Way::Slice],
    };
    let mut answers = vec![refusal];
    answers.extend(direct.remedy);
    for obtained in rights::obtain_by(ways, &[thread], priority) {
        let served = matches!(obtained.way, Way::Portal | Way::Rtkit);
        SERVICES_REFUSED.store(!served, Relaxed);
        answers
            .extend(obtained.tried.iter().map(|it| format!("{}: {}", it.way.label(), it.outcome)));
    }
    answers
}

/// The CPUs and class of a thread before it became the leader. A drop restores them.
#[must_use = "dropping it gives the old seat and class back at once"]
pub struct LeaderSeat {
    cpus: Option<CpuSet>,
    class: Option<ClassGuard>,
}

impl LeaderSeat {
    /// Restores nothing, because the thread has ended.
    pub(crate) fn forget(mut self) {
        self.cpus = None;
        // Its drop would change the calling thread. It holds no memory, so nothing leaks.
        std::mem::forget(self.class.take());
    }
}

impl Drop for LeaderSeat {
    fn drop(&mut self) {
        if let Some(cpus) = &self.cpus {
            // The system granted this set before. If some of its CPUs are offline now, the rest remain.
            let _ = pin::pin_current_thread(cpus);
        }
    }
}

/// Makes the calling thread a leader without an engine: pins it and requests its class.
pub fn settle_leader(
    name: &str,
    cpu: Option<u32>,
    priority: Option<u8>,
) -> (LeaderSeat, ThreadReport) {
    settle_leader_from(pin::current_affinity().ok(), name, cpu, priority)
}

/// The same. `cpus`: what a drop restores, because the thread may have been moved already.
pub(crate) fn settle_leader_from(
    cpus: Option<CpuSet>,
    name: &str,
    cpu: Option<u32>,
    priority: Option<u8>,
) -> (LeaderSeat, ThreadReport) {
    let class = Some(ClassGuard::remember());
    let seat = LeaderSeat { cpus, class };
    // For this call only, as in each of its blocks: the thread belongs to the host.
    let _float = FlushDenormals::enter();
    (seat, settle(name, cpu, priority))
}
