//! What all CPUs did: switches, wake-ups, moves, interrupts, threads that begin and end, in order of time.
//!
//! A [`SystemWatch`] has one ring per CPU. Switches need no tracepoint, so they come on every kernel that lets this process
//! watch CPUs. Wake-ups, moves and interrupts are tracepoints, whose numbers and fields tracefs names; where it cannot be
//! read, [`SystemWatch::limits`] says so and what would help. Nothing here stops or slows a watched thread, other than
//! by the records that the kernel writes: 80 bytes per switch, about 80 per tracepoint.
//!
//! Without the right to watch CPUs, [`SystemWatch::of_threads`] watches single threads of the same user. Then the records
//! say when each ran and where, but not who ran instead.

use std::io;

use super::error::refusal;
use super::names::Names;
use super::records::{self, Record, What};
use super::tracefs::{Formats, Point, Traced};
use super::{Drained, Ring, SwitchError, hidden_processes};
use crate::kernel_files::KernelFiles;
use crate::sys::{self, Limit, Resource, RingError, SwitchRing, Watched};

/// Memory of all rings together, shared by the CPUs.
const ALL_RINGS_BYTES: usize = 32 << 20;
/// The longest and the shortest ring of one CPU.
const RING_BYTES: [usize; 2] = [4 << 20, 64 << 10];
/// The longest and the shortest ring of one thread.
const THREAD_RING_BYTES: [usize; 2] = [64 << 10, 4 << 10];
/// Files that the process can still open beside those of a watch: it has to write what was seen.
const SPARE_FILES: u64 = 32;

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
    /// The length of the next thread's ring.
    thread_bytes: usize,
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
    /// It raises the process's limit of open files as far as the system allows, because it opens up to eight for each CPU.
    ///
    /// Cost: per CPU and kind of event three system calls, and a ring of locked memory: 4 MiB at most, 32 MiB for all.
    ///
    /// # Errors
    /// See [`SwitchError`]; none is being watched then. Missing wake-ups, moves or interrupts are no error, but a limit.
    pub fn start(interrupts: bool) -> Result<SystemWatch, SwitchError> {
        let cpus = KernelFiles::live().cpu_list("sys/devices/system/cpu/online");
        let cpus = cpus.map_err(|why| SwitchError::Refused { what: "the CPUs".into(), why })?;
        let cpus: Vec<u32> = cpus.iter().collect();
        raise_open_files();
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
    /// It raises the process's limit of open files as [`SystemWatch::start`] does. All rings are shorter if there is not enough
    /// memory for them: 64 KiB for each thread at most, and 4 KiB at least.
    ///
    /// # Errors
    /// See [`SwitchError`]; no thread can be watched then. If some can, the others are a limit. A thread that has ended
    /// already is passed over, unless there is no other.
    pub fn of_threads(tids: &[i32]) -> Result<SystemWatch, SwitchError> {
        raise_open_files();
        let [mut bytes, shortest] = THREAD_RING_BYTES;
        loop {
            let mut watch = SystemWatch::new(Vec::new(), Vec::new(), Vec::new());
            watch.thread_bytes = bytes;
            match watch.open_threads(tids) {
                Err(SwitchError::NoMemory { .. }) if bytes > shortest => bytes /= 2,
                Err(why) if watch.rings.is_empty() => return Err(why),
                _ => return Ok(watch),
            }
        }
    }

    /// Opens a ring for each, unless there is not enough memory: shorter ones may still fit. The error is the last one.
    fn open_threads(&mut self, tids: &[i32]) -> Result<(), SwitchError> {
        let mut last = if tids.is_empty() { Err(SwitchError::Nobody) } else { Ok(()) };
        for tid in tids {
            if let Err(why) = self.open_thread(*tid) {
                self.note_unwatched(&why);
                last = Err(why);
                if matches!(last, Err(SwitchError::NoMemory { .. })) {
                    break;
                }
            }
        }
        last
    }

    fn open_thread(&mut self, tid: i32) -> Result<(), SwitchError> {
        if !self.tids.contains(&tid) {
            self.rings.push(open(Watched::Thread(tid), self.thread_bytes)?);
            self.tids.push(tid);
        }
        Ok(())
    }

    /// Watches one more thread, unless it is watched. Its ring is shorter than those before if the memory has become scarce.
    ///
    /// # Errors
    /// See [`SwitchError`]. Unless the thread has ended, it is a [limit](Self::limits), too.
    pub fn add_thread(&mut self, tid: i32) -> Result<(), SwitchError> {
        let [_, shortest] = THREAD_RING_BYTES;
        loop {
            match self.open_thread(tid) {
                Err(SwitchError::NoMemory { .. }) if self.thread_bytes > shortest => {
                    self.thread_bytes /= 2;
                }
                other => return other.inspect_err(|why| self.note_unwatched(why)),
            }
        }
    }

    /// Says once that threads are missing: a program may have thousands.
    fn note_unwatched(&mut self, why: &SwitchError) {
        const MISSING: &str = "not all threads of the program were watched";
        let has_ended = matches!(why, SwitchError::NoSuchThread { .. });
        if !has_ended && !self.limits.iter().any(|limit| limit.starts_with(MISSING)) {
            self.limits.push(format!("{MISSING}: {why}"));
        }
    }

    /// Closes the rings of these threads. Their numbers may be given to others.
    fn forget(&mut self, ended: &[i32]) {
        for tid in ended {
            if let Some(at) = self.tids.iter().position(|watched| watched == tid) {
                self.tids.swap_remove(at);
                self.rings.swap_remove(at);
            }
        }
    }

    fn new(rings: Vec<Ring>, tids: Vec<i32>, cpus: Vec<u32>) -> SystemWatch {
        SystemWatch {
            rings,
            tids,
            thread_bytes: THREAD_RING_BYTES[0],
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
        let before = self.rings.first().map_or(0, |ring| ring.ring.tracepoints());
        if let Err(why) = self.open_points(&formats) {
            // Half of them would use up files, and fill the rings with records that nobody reads.
            self.rings.iter_mut().for_each(|ring| ring.ring.keep_tracepoints(before));
            return Err(refusal(&why));
        }
        self.formats.extend(formats);
        Ok(())
    }

    /// On an error, some are open.
    fn open_points(&mut self, formats: &Formats) -> io::Result<()> {
        for (ring, cpu) in self.rings.iter_mut().zip(&self.cpus) {
            for format in formats.each() {
                ring.ring.add_tracepoint(format.number, *cpu)?;
                leaves_files(&ring.ring)?;
            }
        }
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
    /// A thread that has ended is no longer watched after this.
    ///
    /// Thread: control. Cost: three system calls for each thread whose name is not known yet, and one for each watched thread;
    /// none for a CPU.
    pub fn drain(&mut self, into: &mut Vec<SystemEvent>) -> u64 {
        /// A record is stamped a moment before it is in the ring.
        const IN_WRITING_NS: u64 = 1_000_000;
        let complete_ns = sys::monotonic_ns().saturating_sub(IN_WRITING_NS);
        let first = into.len();
        let mut ended = Vec::new();
        for (index, ring) in self.rings.iter_mut().enumerate() {
            // Before its records are taken, so that none is left behind.
            ended.extend(self.tids.get(index).filter(|_| ring.ring.has_ended()));
            self.bytes.clear();
            ring.ring.take(&mut self.bytes);
            for record in records::records(&self.bytes, &self.formats) {
                self.names.learn(&record);
                into.extend(event(&record));
                ring.history.add(&record, &mut self.found);
                take_switches(&mut self.found, into);
            }
        }
        self.forget(&ended);
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
        let rings = cpus.iter().map(|cpu| open(Watched::Cpu(*cpu), bytes)).collect();
        match rings {
            Err(SwitchError::NoMemory { .. }) if bytes > shortest => bytes /= 2,
            other => return other,
        }
    }
}

/// A ring, unless it is one of the last files that the process may open.
fn open(watched: Watched, bytes: usize) -> Result<Ring, SwitchError> {
    let ring = Ring::open(watched, bytes)?;
    let few = |error| SwitchError::of(&RingError::Open(error), watched, bytes);
    leaves_files(&ring.ring).map_err(few)?;
    Ok(ring)
}

/// An error if the ring's newest file leaves fewer than [`SPARE_FILES`]: every lower number is taken.
fn leaves_files(ring: &SwitchRing) -> io::Result<()> {
    let most = sys::limit(Resource::OpenFiles)?.soft;
    match most.is_some_and(|most| ring.newest_file() + SPARE_FILES >= most) {
        true => Err(io::Error::from_raw_os_error(libc::EMFILE)),
        false => Ok(()),
    }
}

/// Many files are open during a watch. Systems usually allow 1024, and a program may raise that up to a hard limit.
fn raise_open_files() {
    if let Ok(limit) = sys::limit(Resource::OpenFiles)
        && limit.soft != limit.hard
    {
        // Where this is refused, the files that may be opened have to do.
        let _ = sys::set_limit(0, Resource::OpenFiles, Limit { soft: limit.hard, ..limit });
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
