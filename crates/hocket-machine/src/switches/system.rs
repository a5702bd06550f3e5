//! What all CPUs did: switches, wake-ups, moves, interrupts, threads that begin and end, in order of time.
//!
//! A [`SystemWatch`] has one ring per CPU. Switches need no tracepoint, so they come on every kernel that lets this process
//! watch CPUs. Wake-ups, moves and interrupts are tracepoints, whose numbers and fields tracefs names; where it cannot be
//! read, [`SystemWatch::limits`] says so and what would help. Nothing here stops or slows a watched thread, other than
//! by the records that the kernel writes: 80 bytes per switch, about 80 per tracepoint.
//!
//! Without the right to watch CPUs, [`SystemWatch::of_threads`] watches single threads of the same user. Then the records
//! say when each ran and where, but not who ran instead.

use super::names::Names;
use super::records::{self, Record, What};
use super::tracefs::{Formats, Point, Traced};
use super::{Drained, Ring, SwitchError, hidden_processes};
use crate::kernel_files::KernelFiles;
use crate::sys::{self, Watched};

/// Memory of all rings together, shared by the CPUs.
const ALL_RINGS_BYTES: usize = 32 << 20;
/// The longest and the shortest ring of one CPU.
const RING_BYTES: [usize; 2] = [4 << 20, 64 << 10];
/// The ring of one thread.
const THREAD_RING_BYTES: usize = 64 << 10;

/// Something that a CPU did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SystemEvent {
    /// CLOCK_MONOTONIC.
    pub at_ns: u64,
    /// The CPU, by the system's number.
    pub cpu: u32,
    /// What.
    pub what: Happened,
}

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Happened {
    /// One thread left the CPU and another one got it; see [`super::Switch`].
    Switch {
        /// Runs from now on; 0: none; `None`: not reported.
        in_tid: Option<i32>,
        /// Ran until now; 0: none; `None`: not reported, or it has ended.
        out_tid: Option<i32>,
        /// Whether it wanted to go on.
        preempted: bool,
    },
    /// Records are missing because the ring was full.
    Lost {
        /// The last record before.
        after_ns: u64,
        /// How many.
        records: u64,
    },
    /// A thread was woken up.
    Woken {
        /// Who.
        tid: i32,
        /// By which thread; `None`: by an interrupt, a timer for example.
        by: Option<i32>,
    },
    /// A thread will run on another CPU.
    Moved {
        /// Who.
        tid: i32,
        /// To which CPU.
        to: u32,
    },
    /// A thread begins.
    Born {
        /// Who.
        tid: i32,
        /// In which process.
        process: i32,
        /// The process that started it.
        parent_process: i32,
    },
    /// A thread ends.
    Ended {
        /// Who.
        tid: i32,
    },
    /// A device's interrupt begins, or ends.
    Interrupt {
        /// The number in `/proc/interrupts`.
        number: i32,
        /// Whether it begins.
        begins: bool,
    },
    /// Work that an interrupt has put off begins, or ends.
    Deferred {
        /// Which kind: the row in `/proc/softirqs`, from 0.
        number: i32,
        /// Whether it begins.
        begins: bool,
    },
}

/// A running watch of all CPUs, or of some threads. Ends when it is dropped.
///
/// Thread: control; may move between threads.
#[derive(Debug)]
pub struct SystemWatch {
    rings: Vec<Ring>,
    /// For threads: whose ring it is, in the same order.
    tids: Vec<i32>,
    cpus: Vec<u32>,
    names: Names,
    formats: Formats,
    limits: Vec<String>,
    /// Kept between calls.
    bytes: Vec<u8>,
    found: Drained,
}

impl SystemWatch {
    /// Watches every CPU that is on line; `interrupts`, too, if asked.
    ///
    /// Cost: per CPU and kind of event two system calls, and a ring of locked memory: 4 MiB at most, 32 MiB for all.
    ///
    /// # Errors
    /// See [`SwitchError`]; none is being watched then. Missing wake-ups, moves or interrupts are no error, but a limit.
    pub fn start(interrupts: bool) -> Result<SystemWatch, SwitchError> {
        let cpus = KernelFiles::live().cpu_list("sys/devices/system/cpu/online");
        let cpus = cpus.map_err(|why| SwitchError::Refused { what: "the CPUs".into(), why })?;
        let cpus: Vec<u32> = cpus.iter().collect();
        let rings = open_all(&cpus)?;
        let mut watch = SystemWatch::new(rings, Vec::new(), cpus);
        watch.add_points(&Point::THREADS, "wake-ups and moves between CPUs");
        if interrupts {
            watch.add_points(&Point::INTERRUPTS, "interrupts");
        }
        if hidden_processes() {
            let hidden = "threads outside it appear as if the CPU were idle";
            let namespace = "this process lives in a process namespace (a container)";
            watch.limits.push(format!("{namespace}: {hidden}"));
        }
        Ok(watch)
    }

    /// Watches these threads, wherever they run. More may be [added](Self::add_thread).
    ///
    /// # Errors
    /// See [`SwitchError`]. A thread that has ended already is passed over, unless there is no other.
    pub fn of_threads(tids: &[i32]) -> Result<SystemWatch, SwitchError> {
        let mut watch = SystemWatch::new(Vec::new(), Vec::new(), Vec::new());
        let mut ended = SwitchError::Nobody;
        for tid in tids {
            match watch.add_thread(*tid) {
                Err(gone @ SwitchError::NoSuchThread { .. }) => ended = gone,
                other => other?,
            }
        }
        match watch.rings.is_empty() {
            true => Err(ended),
            false => Ok(watch),
        }
    }

    /// Watches one more thread, unless it is watched.
    ///
    /// # Errors
    /// See [`SwitchError`].
    pub fn add_thread(&mut self, tid: i32) -> Result<(), SwitchError> {
        if !self.tids.contains(&tid) {
            self.rings.push(Ring::open(Watched::Thread(tid), THREAD_RING_BYTES)?);
            self.tids.push(tid);
        }
        Ok(())
    }

    fn new(rings: Vec<Ring>, tids: Vec<i32>, cpus: Vec<u32>) -> SystemWatch {
        SystemWatch {
            rings,
            tids,
            cpus,
            names: Names::default(),
            formats: Formats::default(),
            limits: Vec::new(),
            bytes: Vec::new(),
            found: Drained::default(),
        }
    }

    /// Lets tracepoints write into the rings of all CPUs, or notes why not.
    fn add_points(&mut self, points: &[Point], what: &str) {
        if let Err(why) = self.try_points(points) {
            self.limits.push(format!("{what} are not recorded: {why}"));
        }
    }

    fn try_points(&mut self, points: &[Point]) -> Result<(), String> {
        if hidden_processes() {
            // Tracepoints number threads as the whole machine does, switches as this namespace does.
            return Err("this process lives in a process namespace (a container)".into());
        }
        let formats = Formats::find(points)?;
        for (ring, cpu) in self.rings.iter_mut().zip(&self.cpus) {
            for format in formats.each() {
                let added = ring.ring.add_tracepoint(format.number, *cpu);
                added.map_err(|error| refusal(&error))?;
            }
        }
        self.formats.extend(formats);
        Ok(())
    }

    /// The CPUs that are watched; none where threads are.
    pub fn cpus(&self) -> &[u32] {
        &self.cpus
    }

    /// What this watch cannot see, one sentence each.
    pub fn limits(&self) -> &[String] {
        &self.limits
    }

    /// Appends what happened since the last call, in order of time, and learns the names of those who appear in it.
    /// Returns a time on CLOCK_MONOTONIC: everything before it has now been collected.
    ///
    /// Thread: control. Cost: no system call but for threads whose names are not known yet (three each).
    pub fn drain(&mut self, into: &mut Vec<SystemEvent>) -> u64 {
        /// A record is stamped a moment before it is in the ring.
        const IN_WRITING_NS: u64 = 1_000_000;
        let complete_ns = sys::monotonic_ns().saturating_sub(IN_WRITING_NS);
        let first = into.len();
        for ring in &mut self.rings {
            self.bytes.clear();
            ring.ring.take(&mut self.bytes);
            for record in records::records(&self.bytes, &self.formats) {
                self.names.learn(&record);
                into.extend(event(&record));
                ring.history.add(&record, &mut self.found);
                take_switches(&mut self.found, into);
            }
        }
        let new = &mut into[first..];
        new.sort_by_key(|event| event.at_ns);
        self.names.look_up(new.iter().filter_map(|event| match event.what {
            Happened::Switch { in_tid, .. } => in_tid,
            _ => None,
        }));
        complete_ns
    }

    /// The name of a thread that has appeared in a drain; `None` if it ended before it could be read.
    pub fn name_of(&self, tid: i32) -> Option<&str> {
        self.names.get(tid)
    }
}

/// A ring for each CPU: as long as the system grants.
fn open_all(cpus: &[u32]) -> Result<Vec<Ring>, SwitchError> {
    let [longest, shortest] = RING_BYTES;
    let mut bytes = (ALL_RINGS_BYTES / cpus.len().max(1)).clamp(shortest, longest);
    loop {
        let rings = cpus.iter().map(|cpu| Ring::open(Watched::Cpu(*cpu), bytes)).collect();
        match rings {
            Err(SwitchError::NoMemory { .. }) if bytes > shortest => bytes /= 2,
            other => return other,
        }
    }
}

fn refusal(error: &std::io::Error) -> String {
    let why = crate::kernel_files::plain(error);
    match error.raw_os_error() {
        Some(libc::EACCES | libc::EPERM) => {
            format!("{why} ({}); give the program CAP_PERFMON", super::paranoia())
        }
        Some(libc::EMFILE) => format!("{why}; raise the limit of open files (ulimit -n)"),
        _ => why,
    }
}

fn take_switches(found: &mut Drained, into: &mut Vec<SystemEvent>) {
    into.extend(found.switches.drain(..).map(|switch| SystemEvent {
        at_ns: switch.at_ns,
        cpu: switch.cpu,
        what: Happened::Switch {
            in_tid: switch.in_tid,
            out_tid: switch.out_tid,
            preempted: switch.preempted,
        },
    }));
    into.extend(found.gaps.drain(..).map(|gap| SystemEvent {
        at_ns: gap.until_ns,
        cpu: gap.cpu,
        what: Happened::Lost { after_ns: gap.after_ns, records: gap.records },
    }));
}

/// What a record says besides switches and losses.
fn event(record: &Record) -> Option<SystemEvent> {
    let what = match record.what {
        What::Born { tid, process, parent_process, .. } => {
            Happened::Born { tid, process, parent_process }
        }
        What::Ended { tid } => Happened::Ended { tid },
        What::Traced(Traced::Waking { tid, by_interrupt }) => {
            Happened::Woken { tid, by: record.tid.filter(|_| !by_interrupt) }
        }
        What::Traced(Traced::Moved { tid, from, to }) if from != to => Happened::Moved { tid, to },
        What::Traced(Traced::Interrupt { number, begins }) => {
            Happened::Interrupt { number, begins }
        }
        What::Traced(Traced::Deferred { number, begins }) => Happened::Deferred { number, begins },
        _ => return None,
    };
    Some(SystemEvent { at_ns: record.at_ns, cpu: record.cpu, what })
}
