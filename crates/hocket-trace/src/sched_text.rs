//! Traces of the scheduler that other tools have written as text, read into a [`SystemTrace`].
//!
//! | tool | the text |
//! |---|---|
//! | `perf sched record`, any `perf record` of `sched:*` | `perf script`, `perf sched script` |
//! | ftrace | `/sys/kernel/tracing/trace` |
//! | trace-cmd | `trace-cmd report` |
//!
//! All three print one event per line: who had the CPU, the CPU, the time, the event and its fields. `event.rs` reads a
//! line; this module decides what the lines mean together. It reads the text once and holds what a [`Tally`] holds, however
//! long the text is.
//!
//! A line that cannot be read is left out. [`SystemTrace::limits`] then says how many, and where the first one is.

mod error;
mod event;
mod lines;
mod notes;

use std::collections::HashMap;
use std::io::BufRead;

pub use error::ReadError;

use crate::system::{AboutSystem, Happened, KernelEvent, SystemTrace, Tally};
use event::{Line, Parsed, What, Woke};
pub(crate) use lines::Lines;
use notes::{Bad, Notes};

/// Linux has no more.
const MOST_CPU_NUMBER: u32 = 8191;
/// CPUs that have a place of their own.
const MOST_CPUS: usize = 2048;
/// A week: later events are mistakes. Sums of such times over all CPUs fit their numbers.
const LONGEST_NS: i64 = 7 * 24 * 3600 * 1_000_000_000;
/// Bytes of a line that are read. Events have some 200; call chains, which are passed over, may have more.
const LONGEST_LINE: usize = 4096;
/// Lines between two questions whether to stop.
const STOP_EVERY: u64 = 4096;
/// Lines within which a trace has an event of some kind, with its CPU and its time. In front of it there are a header, which
/// has a line or two for each CPU, and at most a call chain of an event that cannot be read.
pub(crate) const FIRST_LINES: u64 = 10_000;

/// Which threads of a text make up the program.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Choice {
    /// Numbers of threads or processes, and parts of names. Empty: every thread.
    pub threads: Vec<String>,
    /// Whether the threads that these start belong to it, too.
    pub with_children: bool,
}

impl Choice {
    /// A number chooses threads and processes of that number only, not names with that digit.
    fn takes(&self, tid: i32, process: Option<i32>, name: &str) -> bool {
        let is = |wanted: &String| match wanted.parse::<i32>() {
            Ok(number) => number == tid || Some(number) == process,
            Err(_) => name.contains(wanted.as_str()),
        };
        self.threads.is_empty() || self.threads.iter().any(is)
    }
}

/// Reads a text to its end, or until `stop` says true. Fills in the times of `about`.
///
/// Times are those of the text, in nanoseconds. Events that are earlier than the one before are left out.
///
/// A text without an event among its first 10,000 lines is not read on. 16 GiB and 100 million lines of a text are
/// read at most, and a line of it may have 64 MiB, of which the first 4096 bytes count.
///
/// Cost: linear in the text; bounded memory.
///
/// # Errors
/// [`ReadError`]: it is no such text, it is too long, it cannot be read, or it has none of the chosen threads.
pub fn read(
    mut text: impl BufRead,
    about: AboutSystem,
    choice: &Choice,
    stop: impl Fn() -> bool,
) -> Result<SystemTrace, ReadError> {
    // What cannot be read is reported with its line, below.
    error::check_own(text.fill_buf().unwrap_or_default())?;
    let mut lines = Lines::new(text, LONGEST_LINE);
    let mut reading = Reading::new(about, choice);
    while let Some(line) = lines.next()? {
        if line.number.is_multiple_of(STOP_EVERY) && stop() {
            break;
        }
        let text = String::from_utf8_lossy(line.bytes);
        let parsed = if line.is_cut { Parsed::Bad(Bad::Long) } else { event::parse(&text) };
        reading.add(line.number, parsed);
        if line.number >= FIRST_LINES && !reading.has_begun {
            return Err(reading.notes.no_beginning(line.number));
        }
    }
    // A reader that has to stop may have ended the text itself.
    let ended = if stop() { "stopped by the user" } else { "the file ended" };
    reading.finish(lines.number(), ended)
}

/// What has been read so far.
struct Reading<'a> {
    choice: &'a Choice,
    about: AboutSystem,
    /// From the first event on.
    tally: Option<Tally>,
    first_ns: i64,
    last_ns: i64,
    cpus: HashMap<u32, OnCpu>,
    /// Whether there was an event of any kind.
    has_begun: bool,
    /// The waker of `sched_wakeup` may be another one than that of `sched_waking`, which is right.
    has_waking: bool,
    notes: Notes,
}

/// One CPU.
#[derive(Default)]
struct OnCpu {
    last_ns: i64,
    /// Events that the tool says are missing since then.
    lost: u64,
}

impl<'a> Reading<'a> {
    fn new(about: AboutSystem, choice: &'a Choice) -> Reading<'a> {
        Reading {
            choice,
            about,
            tally: None,
            first_ns: 0,
            last_ns: 0,
            cpus: HashMap::new(),
            has_begun: false,
            has_waking: false,
            notes: Notes::default(),
        }
    }

    fn add(&mut self, number: u64, parsed: Parsed<'_>) {
        self.has_begun |= !matches!(parsed, Parsed::Text | Parsed::Bad(_));
        match parsed {
            Parsed::Other | Parsed::Text => {}
            Parsed::Bad(why) => self.notes.bad(why, number),
            Parsed::Lost { cpu, events } => {
                // Of a CPU that had no event before, nothing is known anyway.
                if let Some(on_cpu) = self.cpus.get_mut(&cpu) {
                    on_cpu.lost = on_cpu.lost.saturating_add(events);
                }
            }
            Parsed::Event(line) => match self.check(&line) {
                Ok(()) => self.event(&line),
                Err(why) => self.notes.bad(why, number),
            },
        }
    }

    fn check(&self, line: &Line<'_>) -> Result<(), Bad> {
        let is_new = !self.cpus.contains_key(&line.cpu);
        if line.cpu > MOST_CPU_NUMBER || (is_new && self.cpus.len() >= MOST_CPUS) {
            return Err(Bad::Cpu);
        }
        if self.tally.is_none() {
            return Ok(());
        }
        if line.at_ns < self.last_ns {
            return Err(Bad::Back);
        }
        if line.at_ns - self.first_ns > LONGEST_NS {
            return Err(Bad::Late);
        }
        Ok(())
    }

    fn event(&mut self, line: &Line<'_>) {
        self.notes.saw(line);
        if self.tally.is_none() {
            self.first_ns = line.at_ns;
            self.about.start_ns = line.at_ns;
            self.tally = Some(Tally::new(self.about.clone(), Vec::new(), NO_PROCESS, false));
        }
        self.last_ns = line.at_ns;
        self.lose(line);
        // The head may say to which process a thread belongs; fields never do.
        if let (Some(tid), Some(_)) = (line.tid, line.process)
            && tid > 0
            && self.choice.takes(tid, line.process, "")
        {
            self.tally().add_member(tid, NO_PROCESS);
        }
        self.happened(line);
    }

    fn tally(&mut self) -> &mut Tally {
        self.tally.as_mut().expect("there since the first event")
    }

    /// Tells of events that were missing on the CPU of `line` before it.
    fn lose(&mut self, line: &Line<'_>) {
        let on_cpu = self.cpus.entry(line.cpu).or_default();
        let (after_ns, records) = (on_cpu.last_ns, std::mem::take(&mut on_cpu.lost));
        on_cpu.last_ns = line.at_ns;
        if records > 0 {
            self.pass(line, Happened::Lost { after_ns, records });
        }
    }

    fn pass(&mut self, line: &Line<'_>, what: Happened) {
        self.tally().add(&KernelEvent { at_ns: line.at_ns, cpu: line.cpu, what });
    }

    fn happened(&mut self, line: &Line<'_>) {
        match &line.what {
            What::Switch { out, into, preempted, ended } => {
                self.meet(out);
                self.meet(into);
                if let Some(tid) = out.tid.filter(|_| *ended) {
                    self.tally().ended(tid);
                }
                let (in_tid, out_tid, preempted) = (into.tid, out.tid, *preempted);
                self.pass(line, Happened::Switch { in_tid, out_tid, preempted });
            }
            What::Woken { who, how } => self.woken(line, who, *how),
            What::Moved { who, to } => {
                self.know(who);
                if let Some(tid) = who.tid {
                    self.pass(line, Happened::Moved { tid, to: *to });
                }
            }
            What::Forked { parent, child } => {
                let is_child = parent.tid.is_some_and(|tid| self.tally().is_member(tid));
                if let Some(tid) = child.tid.filter(|_| is_child && self.choice.with_children) {
                    self.tally().add_member(tid, NO_PROCESS);
                }
                self.know(child);
            }
            What::Interrupt { number, is_deferred, begins } => {
                let (number, is_deferred, begins) = (*number, *is_deferred, *begins);
                self.pass(line, Happened::Interrupt { number, is_deferred, begins });
            }
        }
    }

    fn woken(&mut self, line: &Line<'_>, who: &Thread<'_>, how: Woke) {
        self.know(who);
        self.has_waking |= how == Woke::Waking;
        let is_repeated = how == Woke::Wakeup && self.has_waking;
        if let Some(tid) = who.tid.filter(|_| !is_repeated) {
            let by = line.tid.filter(|_| !line.in_interrupt);
            self.pass(line, Happened::Woken { tid, by });
        }
    }

    /// A thread that runs: it has a row, and a name from the start.
    fn meet(&mut self, who: &Thread<'_>) {
        if let Some(tid) = who.tid.filter(|tid| *tid > 0) {
            self.tally().meet(tid, who.name);
            self.know(who);
        }
    }

    /// A thread that is named: it may be one of the chosen.
    fn know(&mut self, who: &Thread<'_>) {
        let Some(tid) = who.tid.filter(|tid| *tid > 0) else { return };
        if self.choice.takes(tid, None, who.name) {
            self.tally().add_member(tid, NO_PROCESS);
        }
        self.tally().name(tid, who.name);
    }

    fn finish(self, lines: u64, ended: &str) -> Result<SystemTrace, ReadError> {
        let Some(tally) = self.tally else { return Err(self.notes.nothing(lines)) };
        let mut system = tally.finish(self.last_ns, ended.into());
        if !system.threads.iter().any(|thread| thread.is_member) {
            return Err(ReadError::nobody(self.choice, &system));
        }
        system.cpus.sort_by_key(|cpu| cpu.number);
        system.limits = self.notes.limits();
        Ok(system)
    }
}

/// Of no process: the text says of threads who they are, not where they belong.
const NO_PROCESS: i32 = -1;

/// A thread as the fields of an event name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Thread<'a> {
    name: &'a str,
    /// `None`: not a number that a thread can have.
    tid: Option<i32>,
}

#[cfg(test)]
mod tests;
