//! `hocket trace --attach`: what the threads of a running program did, and who ran beside them.
//!
//! The program is only watched: by the kernel's records of switches, and by files in `/proc`.

mod program;

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use hocket_machine::Topology;
use hocket_machine::clock::monotonic_ns;
use hocket_machine::switches::SwitchError;
use hocket_machine::switches::system::{SystemEvent, SystemWatch};
use hocket_trace::system::{AboutSystem, Cpu, Merge, SystemTrace, Tally};
use hocket_trace::write;

use super::format::Format;
use super::system::event;
use super::{SECONDS, kind};
use crate::cli::TraceArgs;
use crate::failure::{Exit, Failure};
use crate::files::Files;
use crate::load::topology;
use crate::output::{note, print};
use crate::render::check_length;
use program::Program;

/// How often records are taken out of their rings. A ring holds those of some 50,000 switches.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Runs the command.
///
/// # Errors
/// [`Failure`]: there is no such process, or it may not be watched.
pub(super) fn run(args: &TraceArgs, process: i32, format: Format) -> Result<Exit, Failure> {
    check_length(args.length)?;
    let topology = topology()?;
    let program = Program::find(process, args.children)?;
    let mut files = Files::new(args.force);
    files.writes("--output", &args.output, kind(format))?;
    let stop = crate::interrupt::flag()?;
    let watching = Watching::start(program, args, &topology)?;
    files.make_folders()?;
    let length_ns = (args.length.unwrap_or(SECONDS) * 1e9) as u64;
    let (system, is_stopped) = watching.watch(length_ns, &stop);
    print(&write::system_summary(&system));
    crate::keep::trace(&format.bytes_of_system(&system), &args.output)?;
    crate::written::wrote(&args.output);
    note(format.hint());
    Ok(if is_stopped { Exit::Interrupted } else { Exit::Done })
}

/// A watch that has begun.
struct Watching {
    program: Program,
    watch: SystemWatch,
    /// Why only the program's threads are watched.
    alone: Option<String>,
    tally: Tally,
    merge: Merge,
    events: Vec<SystemEvent>,
    start_ns: u64,
}

impl Watching {
    fn start(program: Program, args: &TraceArgs, topology: &Topology) -> Result<Watching, Failure> {
        let (watch, alone) = watch(&program, args.interrupts)?;
        let start_ns = monotonic_ns();
        let about = AboutSystem {
            hocket: env!("CARGO_PKG_VERSION").into(),
            program: program.title(),
            start_ns: start_ns as i64,
            ..AboutSystem::default()
        };
        let cpus = cpus(watch.cpus(), topology);
        let mut tally = Tally::new(about, cpus, program.process, args.children);
        // Again: whatever began since the watch did is there twice, and counts once.
        for (tid, process) in program.threads() {
            tally.add_member(tid, process);
            // It may sleep all the time, or end before its name is asked for.
            if let Some(name) = program::name_of(tid) {
                tally.name(tid, &name);
            }
        }
        let (merge, events) = (Merge::default(), Vec::new());
        Ok(Watching { program, watch, alone, tally, merge, events, start_ns })
    }

    /// Looks until the time is over, the program ends or the user stops it, which the answer says.
    fn watch(mut self, length_ns: u64, stop: &AtomicBool) -> (SystemTrace, bool) {
        let end_ns = self.start_ns.saturating_add(length_ns);
        let ended = loop {
            let now_ns = monotonic_ns();
            // Relaxed: the flag publishes nothing.
            if stop.load(Relaxed) {
                break "stopped by the user";
            }
            if now_ns >= end_ns {
                break "the time was over";
            }
            if !self.program.lives() {
                break "the program ended";
            }
            std::thread::sleep(LOOK_EVERY.min(Duration::from_nanos(end_ns - now_ns)));
            self.look();
        };
        let is_stopped = stop.load(Relaxed);
        self.look();
        self.merge.add([], i64::MAX, |event| self.tally.add(event));
        self.name();
        let limits = self.limits();
        let mut system = self.tally.finish(monotonic_ns() as i64, ended.into());
        system.limits = limits;
        (system, is_stopped)
    }

    fn look(&mut self) {
        if self.alone.is_some() {
            self.add_threads();
        }
        let complete_ns = self.watch.drain(&mut self.events);
        // Before their ends are counted: a thread that is new has its parent's name until it takes its own.
        for tid in self.tally.living() {
            if let Some(name) = self.watch.name_of(tid) {
                self.tally.name(tid, name);
            }
        }
        let events = self.events.drain(..).map(|told| event(&told));
        self.merge.add(events, complete_ns as i64, |event| self.tally.add(event));
        for (index, tid) in self.tally.nameless() {
            if let Some(name) = self.watch.name_of(tid) {
                self.tally.name_at(index, name);
            }
        }
    }

    /// The program's threads have the names that they have now, and those that were only woken up have one, too.
    fn name(&mut self) {
        for (index, tid) in self.tally.nameless() {
            if let Some(name) = program::name_of(tid) {
                self.tally.name_at(index, &name);
            }
        }
        for tid in self.tally.living() {
            if let Some(name) = program::name_of(tid) {
                self.tally.name(tid, &name);
            }
        }
    }

    /// Where CPUs are not watched, nothing says that a thread begins.
    fn add_threads(&mut self) {
        for (tid, process) in self.program.threads() {
            // One that has ended meanwhile is not seen. The watch's limits say why others are not.
            if self.watch.add_thread(tid).is_ok() {
                self.tally.add_member(tid, process);
                if let Some(name) = program::name_of(tid) {
                    self.tally.name(tid, &name);
                }
            }
        }
    }

    fn limits(&self) -> Vec<String> {
        let mut limits = self.watch.limits().to_vec();
        if let Some(why) = &self.alone {
            limits.push(format!(
                "only the program's own threads are watched, so nobody knows who woke them, who ran beside them \
                 or instead of them, and threads shorter than {} ms: {why}",
                LOOK_EVERY.as_millis()
            ));
        }
        limits
    }
}

/// All CPUs, or the program's threads where that is all that is allowed, and why.
fn watch(program: &Program, interrupts: bool) -> Result<(SystemWatch, Option<String>), Failure> {
    match SystemWatch::start(interrupts) {
        Ok(watch) => Ok((watch, None)),
        Err(refused @ SwitchError::NotAllowed { .. }) => {
            let tids: Vec<i32> = program.threads().into_iter().map(|(tid, _)| tid).collect();
            let own = SystemWatch::of_threads(&tids).map_err(|error| {
                let process = program.process;
                Failure::not_possible(format!("--attach {process}: {error}"))
            })?;
            Ok((own, Some(refused.to_string())))
        }
        Err(error) => Err(Failure::not_possible(error)),
    }
}

/// The CPUs with the others of their cores.
fn cpus(watched: &[u32], topology: &Topology) -> Vec<Cpu> {
    let beside = |number: u32| -> Vec<u32> {
        let seats = topology.seat_of_cpu(number).map_or_else(Vec::new, |it| topology.siblings(it));
        topology.cpus_of(&seats).iter().filter(|cpu| *cpu != number).collect()
    };
    let cpu = |number: &u32| Cpu { number: *number, beside: beside(*number), ..Cpu::default() };
    watched.iter().map(cpu).collect()
}
