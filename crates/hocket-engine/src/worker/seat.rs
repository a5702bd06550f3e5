//! A thread takes its seat: pinned, in its class, and what the system granted of that.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use hocket_machine::class::{self, Class, ClassGuard};
use hocket_machine::float_mode::{FlushDenormals, denormals_flushed};
use hocket_machine::pin::{self, CpuSet, PinError, ThreadId};
use hocket_machine::rights::{self, Way};

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
