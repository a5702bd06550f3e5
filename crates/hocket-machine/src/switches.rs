//! Which thread ran on a CPU and when: the kernel's record of thread switches. It helps to explain late blocks.
//!
//! A [`SwitchWatch`] has one ring for each watched CPU (or thread). The kernel writes a record at every switch, and
//! [`SwitchWatch::drain`] collects them from an ordinary thread now and then. The watched threads call nothing, wait for
//! nothing and allocate nothing. They pay only for the two records (80 bytes) that the kernel writes per switch. Times
//! are CLOCK_MONOTONIC, the clock of [`crate::clock`].
//!
//! Watching every thread on a CPU takes CAP_PERFMON or `kernel.perf_event_paranoid` below 1. Up to level 2, which most
//! distributions have, a process may watch its own threads. Then the record says *when* a thread was put aside, not for
//! which other one. [`SwitchWatch::limits`] says in words what a watch cannot see.
//!
//! A full ring loses records; each [`Gap`] says where and how many, so that missing records do not look like an idle CPU.

mod error;
mod names;
mod records;
pub mod system;
mod tracefs;

use serde::Serialize;

use crate::pin::ThreadId;
use crate::sys::{self, SwitchRing, Watched};
pub use error::SwitchError;
pub(crate) use error::paranoia;
use names::Names;
use records::{Record, What};
use tracefs::{Formats, Point, Traced};

/// The longest ring for one CPU or thread.
pub const MAX_RING_BYTES: usize = 64 << 20;

/// One switch on one CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Switch {
    /// The CPU, by the system's number.
    pub cpu: u32,
    /// CLOCK_MONOTONIC.
    pub at_ns: u64,
    /// The thread that runs from now on; 0: none, the CPU is idle; `None`: not reported.
    pub in_tid: Option<i32>,
    /// The thread that ran until now; 0: none; `None`: not reported, or it has ended.
    pub out_tid: Option<i32>,
    /// Whether the thread that ran until now wanted to go on.
    pub preempted: bool,
}

/// Records that are missing because a ring was full.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Gap {
    /// The CPU on which the loss was noticed.
    pub cpu: u32,
    /// The last record before; CLOCK_MONOTONIC.
    pub after_ns: u64,
    /// The first record after.
    pub until_ns: u64,
    /// How many are missing; about two for each switch.
    pub records: u64,
}

/// A thread was made ready to run.
///
/// A kernel may leave some out. Linux 6.18 was seen to lose all that interrupts do on one idle CPU, for hours (docs/live.md).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Wake {
    /// CLOCK_MONOTONIC.
    pub at_ns: u64,
    /// Who.
    pub tid: i32,
    /// The thread that did it; `None`: an interrupt, for example that of a timer.
    pub by: Option<i32>,
}

/// What [`SwitchWatch::drain`] found, in order of time.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Drained {
    /// The switches.
    pub switches: Vec<Switch>,
    /// Wake-ups of the threads of which [`SwitchWatch::add_wakes`] was asked.
    pub wakes: Vec<Wake>,
    /// Where records are missing; noticed when the ring has room again, so perhaps only in a later call.
    pub gaps: Vec<Gap>,
}

/// What is being watched.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// Every thread on these CPUs.
    Cpus(Vec<u32>),
    /// These threads, wherever they run.
    Threads {
        /// Their numbers.
        tids: Vec<i32>,
        /// Why not the CPUs, if those were requested.
        why: Option<String>,
    },
}

/// A running watch. Ends when it is dropped.
///
/// Thread: control; may move between threads.
#[derive(Debug)]
pub struct SwitchWatch {
    rings: Vec<Ring>,
    names: Names,
    scope: Scope,
    /// What the tracepoints write; none without [`SwitchWatch::add_wakes`].
    formats: Formats,
    lost: u64,
    /// Kept between calls, so that a drain allocates for its answer only.
    bytes: Vec<u8>,
}

impl SwitchWatch {
    /// Watches every thread on `cpus`, each with a ring of at least `ring_bytes` (rounded up to a power of two of pages).
    ///
    /// A switch takes 80 bytes: 64 KiB hold 800, a tenth of a second on a very busy CPU. Cost: two system calls and a
    /// ring of locked memory for each CPU.
    ///
    /// # Errors
    /// See [`SwitchError`]; none is being watched then.
    pub fn start(cpus: &[u32], ring_bytes: usize) -> Result<Self, SwitchError> {
        let mut cpus = cpus.to_vec();
        cpus.sort_unstable();
        cpus.dedup();
        Self::open(cpus.iter().map(|&cpu| Watched::Cpu(cpu)), ring_bytes, Scope::Cpus(cpus.clone()))
    }

    /// Watches some threads of this process, wherever they run. Says when each was put aside, not for whom.
    ///
    /// # Errors
    /// See [`SwitchError`].
    pub fn start_threads(threads: &[ThreadId], ring_bytes: usize) -> Result<Self, SwitchError> {
        Self::threads(threads, ring_bytes, None)
    }

    /// Watches `cpus`, or `threads` if that is not allowed. [`Self::scope`] says which it is, and why.
    ///
    /// # Errors
    /// See [`SwitchError`]; the one about `cpus` if neither is allowed.
    pub fn start_best(
        cpus: &[u32],
        threads: &[ThreadId],
        ring_bytes: usize,
    ) -> Result<Self, SwitchError> {
        match Self::start(cpus, ring_bytes) {
            Err(refused @ SwitchError::NotAllowed { .. }) => {
                Self::threads(threads, ring_bytes, Some(refused.to_string())).map_err(|_| refused)
            }
            other => other,
        }
    }

    fn threads(
        threads: &[ThreadId],
        ring_bytes: usize,
        why: Option<String>,
    ) -> Result<Self, SwitchError> {
        let mut tids: Vec<i32> = threads.iter().map(|thread| thread.number()).collect();
        tids.sort_unstable();
        tids.dedup();
        let watched: Vec<_> = tids.iter().map(|&tid| Watched::Thread(tid)).collect();
        Self::open(watched.into_iter(), ring_bytes, Scope::Threads { tids, why })
    }

    fn open(
        watched: impl Iterator<Item = Watched>,
        ring_bytes: usize,
        scope: Scope,
    ) -> Result<Self, SwitchError> {
        if ring_bytes > MAX_RING_BYTES {
            return Err(SwitchError::RingTooLong { bytes: ring_bytes });
        }
        let rings: Vec<Ring> =
            watched.map(|who| Ring::open(who, ring_bytes)).collect::<Result<_, _>>()?;
        if rings.is_empty() {
            return Err(SwitchError::Nobody);
        }
        let (names, formats) = Default::default();
        Ok(Self { rings, names, scope, formats, lost: 0, bytes: Vec::new() })
    }

    /// Records also when `thread` is woken up by whatever runs on the watched CPUs. The kernel leaves out all other threads.
    ///
    /// Thread: control. Cost: some files; three system calls for each CPU, and from then on some 80 bytes for each wake-up.
    ///
    /// # Errors
    /// In words: only threads are watched, or tracepoints cannot be read or opened here. The rest of the watch goes on.
    pub fn add_wakes(&mut self, thread: ThreadId) -> Result<(), String> {
        let Scope::Cpus(cpus) = &self.scope else { return Err("no CPUs are watched".into()) };
        if hidden_processes() {
            // Tracepoints number threads as the whole machine does, switches as this namespace does.
            return Err("this process lives in a process namespace (a container)".into());
        }
        let formats = Formats::find(&[Point::Waking])?;
        let filter = format!("pid == {}", thread.number());
        let before = self.rings.first().map_or(0, |ring| ring.ring.tracepoints());
        for (ring, cpu) in self.rings.iter_mut().zip(cpus) {
            for format in formats.each() {
                if let Err(why) = ring.ring.add_filtered_tracepoint(format.number, *cpu, &filter) {
                    self.rings.iter_mut().for_each(|ring| ring.ring.keep_tracepoints(before));
                    return Err(error::refusal(&why));
                }
            }
        }
        self.formats = formats;
        Ok(())
    }

    /// Collects what was recorded since the last call, and learns the names of those who appear in it.
    ///
    /// Thread: control. Cost: no system call but for threads whose names are not known yet (three each).
    pub fn drain(&mut self) -> Drained {
        let mut found = Drained::default();
        for ring in &mut self.rings {
            ring.drain(&mut self.bytes, &self.formats, &mut self.names, &mut found);
        }
        found.switches.sort_by_key(|switch| switch.at_ns);
        found.wakes.sort_by_key(|wake| wake.at_ns);
        found.gaps.sort_by_key(|gap| gap.until_ns);
        self.lost += found.gaps.iter().map(|gap| gap.records).sum::<u64>();
        self.names.look_up(found.switches.iter().flat_map(|s| [s.in_tid, s.out_tid]).flatten());
        found
    }

    /// The name of a thread that has appeared in a drain; `None` if it ended before the drain could read it.
    pub fn name_of(&self, tid: i32) -> Option<&str> {
        self.names.get(tid)
    }

    /// What is being watched.
    pub fn scope(&self) -> &Scope {
        &self.scope
    }

    /// Records that were lost since the start, as far as the drains have seen.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// What this watch cannot see, one sentence each; empty if it sees everything.
    pub fn limits(&self) -> Vec<String> {
        let mut limits = Vec::new();
        if let Scope::Threads { why, .. } = &self.scope {
            let why = why.as_ref().map_or(String::new(), |why| format!(" ({why})"));
            let told = "the record says when each was put aside, not for whom";
            limits.push(format!("only own threads are watched: {told}{why}"));
        } else if hidden_processes() {
            let told = "threads outside it appear as if the CPU were idle";
            limits.push(format!("this process lives in a process namespace (a container): {told}"));
        }
        limits
    }
}

/// Whether every thread on `cpu` may be watched; leaves nothing behind.
pub(crate) fn probe(cpu: u32) -> Result<(), SwitchError> {
    SwitchWatch::start(&[cpu], 1).map(drop)
}

/// Whether there are processes that this one cannot number: the kernel then says 0, as it does for an idle CPU.
fn hidden_processes() -> bool {
    // The number of the first namespace is fixed in the kernel (PROC_PID_INIT_INO, 0xEFFFFFFC).
    let own = std::fs::read_link("/proc/self/ns/pid");
    own.is_ok_and(|link| link.as_os_str() != "pid:[4026531836]")
}

/// The ring of one CPU or thread, with what must be remembered between two drains.
#[derive(Debug)]
struct Ring {
    ring: SwitchRing,
    history: History,
}

impl Ring {
    fn open(watched: Watched, bytes: usize) -> Result<Self, SwitchError> {
        let ring = SwitchRing::open(watched, bytes);
        let ring = ring.map_err(|e| SwitchError::of(&e, watched, bytes))?;
        Ok(Self { ring, history: History { last_ns: sys::monotonic_ns(), announced: None } })
    }

    fn drain(
        &mut self,
        bytes: &mut Vec<u8>,
        formats: &Formats,
        names: &mut Names,
        found: &mut Drained,
    ) {
        bytes.clear();
        self.ring.take(bytes);
        for record in records::records(bytes, formats) {
            names.learn(&record);
            if let What::Traced(Traced::Waking { tid, by_interrupt }) = record.what {
                let by = record.tid.filter(|_| !by_interrupt);
                found.wakes.push(Wake { at_ns: record.at_ns, tid, by });
            }
            self.history.add(&record, found);
        }
    }
}

/// Where the reading of one ring stands.
#[derive(Debug)]
struct History {
    /// The time of the last record.
    last_ns: u64,
    /// Whom the last record let in, if it was one of the two that tell a switch.
    announced: Option<i32>,
}

impl History {
    fn add(&mut self, record: &Record, found: &mut Drained) {
        match record.what {
            What::Lost(records) => found.gaps.push(self.gap(record, records)),
            What::Out { next, preempted } => {
                found.switches.push(Switch {
                    cpu: record.cpu,
                    at_ns: record.at_ns,
                    in_tid: next,
                    out_tid: record.tid,
                    preempted,
                });
                self.announced = next;
            }
            What::In { before } => self.came_in(record, before, found),
            _ => {}
        }
        self.last_ns = record.at_ns;
    }

    /// On a CPU the kernel reports every switch twice: for the thread that goes and for the one that comes. The second
    /// is needed only if the first is lost, and for a single watched thread, which reports only its own half.
    fn came_in(&mut self, record: &Record, before: Option<i32>, found: &mut Drained) {
        let told = self.announced.take();
        if told.is_none() || told != record.tid {
            found.switches.push(Switch {
                cpu: record.cpu,
                at_ns: record.at_ns,
                in_tid: record.tid,
                out_tid: before,
                preempted: false,
            });
        }
    }

    fn gap(&self, record: &Record, records: u64) -> Gap {
        Gap { cpu: record.cpu, after_ns: self.last_ns, until_ns: record.at_ns, records }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(at_ns: u64, tid: i32, what: What) -> Record {
        Record { at_ns, cpu: 1, tid: Some(tid), what }
    }

    fn drained(records: &[Record]) -> Drained {
        let mut history = History { last_ns: 0, announced: None };
        let mut found = Drained::default();
        records.iter().for_each(|record| history.add(record, &mut found));
        found
    }

    fn out(at_ns: u64, tid: i32, next: i32) -> Record {
        record(at_ns, tid, What::Out { next: Some(next), preempted: true })
    }

    fn came(at_ns: u64, tid: i32, before: i32) -> Record {
        record(at_ns, tid, What::In { before: Some(before) })
    }

    fn pairs(found: &Drained) -> Vec<(Option<i32>, Option<i32>)> {
        found.switches.iter().map(|s| (s.out_tid, s.in_tid)).collect()
    }

    #[test]
    fn a_switch_that_is_told_twice_counts_once() {
        let found = drained(&[out(10, 7, 8), came(11, 8, 7), out(20, 8, 0), came(21, 0, 8)]);
        assert_eq!(pairs(&found), [(Some(7), Some(8)), (Some(8), Some(0))]);
        assert!(found.switches[0].preempted && found.switches[0].at_ns == 10);
    }

    #[test]
    fn either_half_alone_is_a_switch() {
        let lost = record(29, 9, What::Lost(3));
        let found = drained(&[out(10, 7, 8), lost, came(30, 9, 6), out(40, 9, 7)]);
        let expected = [(Some(7), Some(8)), (Some(6), Some(9)), (Some(9), Some(7))];
        assert_eq!(pairs(&found), expected);
        assert_eq!(found.gaps, [Gap { cpu: 1, after_ns: 10, until_ns: 29, records: 3 }]);
    }

    #[test]
    fn a_single_thread_tells_its_own_half() {
        let gone = record(10, 7, What::Out { next: None, preempted: true });
        let back = record(90, 7, What::In { before: None });
        assert_eq!(pairs(&drained(&[gone, back])), [(Some(7), None), (None, Some(7))]);
    }

    #[test]
    fn errors_say_what_would_help() {
        assert_eq!(SwitchWatch::start(&[], 1).err(), Some(SwitchError::Nobody));
        let long = SwitchWatch::start(&[0], usize::MAX).expect_err("refused");
        assert!(long.to_string().contains("shorter"), "{long}");
        let refused = SwitchError::NotAllowed { what: "CPU 0".into(), setting: "level 2".into() };
        assert!(refused.to_string().contains("CAP_PERFMON"));
    }
}
