//! What the system's records mean for a trace, and what the rest of the machine did during blocks.

use hocket_machine::clock::monotonic_ns;
use hocket_machine::switches::system::{Happened as Told, SystemEvent, SystemWatch};
use hocket_trace::BlockTrace;
use hocket_trace::system::{Happened, KernelEvent, Recent, Surroundings};

/// The same event in the words of traces.
pub(super) fn event(event: &SystemEvent) -> KernelEvent {
    let what = match event.what {
        Told::Switch { in_tid, out_tid, preempted } => {
            Happened::Switch { in_tid, out_tid, preempted }
        }
        Told::Lost { after_ns, records } => Happened::Lost { after_ns: after_ns as i64, records },
        Told::Woken { tid, by } => Happened::Woken { tid, by },
        Told::Moved { tid, to } => Happened::Moved { tid, to },
        Told::Born { tid, process, parent_process } => {
            Happened::Born { tid, process, parent_process }
        }
        Told::Ended { tid } => Happened::Ended { tid },
        Told::Interrupt { number, begins } => {
            Happened::Interrupt { number, is_deferred: false, begins }
        }
        Told::Deferred { number, begins } => {
            Happened::Interrupt { number, is_deferred: true, begins }
        }
    };
    KernelEvent { at_ns: event.at_ns as i64, cpu: event.cpu, what }
}

/// Follows every CPU while blocks are played. Thread: the collector's.
pub(super) struct Beside {
    watch: SystemWatch,
    recent: Recent,
    events: Vec<SystemEvent>,
}

impl Beside {
    /// `None` if the system does not allow it; `limits` says why, and what else cannot be seen.
    pub(super) fn start(interrupts: bool, limits: &mut Vec<String>) -> Option<Beside> {
        match SystemWatch::start(interrupts) {
            Ok(watch) => {
                limits.extend(watch.limits().iter().map(|limit| format!("--system: {limit}")));
                let recent = Recent::new(watch.cpus(), monotonic_ns() as i64);
                Some(Beside { watch, recent, events: Vec::new() })
            }
            Err(error) => {
                limits.push(format!("--system: what the other CPUs did is not known: {error}"));
                None
            }
        }
    }

    /// Takes in what happened since the last look.
    pub(super) fn look(&mut self) {
        self.watch.drain(&mut self.events);
        self.events.drain(..).for_each(|told| self.recent.add(&event(&told)));
    }

    /// What the CPUs did during a block that was planned for `start_ns`, until its end or its deadline.
    pub(super) fn during(&self, start_ns: u64, trace: &BlockTrace, tids: &[i32]) -> Surroundings {
        let start_ns = start_ns as i64;
        let end_ns = start_ns.saturating_add(trace.finished_ns.max(trace.deadline_ns));
        let name = |tid| self.watch.name_of(tid).map(str::to_owned);
        self.recent.during(&(start_ns..end_ns), tids, name)
    }
}
