//! What it takes to merge ten million events of a kernel's scheduler:
//! `cargo bench -p hocket --bench kernel_events -- [--events N] [--record FILE [--force]]`.
//!
//! Four CPUs, half a million threads, and two threads of a program among them. The events are made while they are read, as
//! a watch collects them, and none is kept by the benchmark.
//!
//! - *watched*: as `hocket trace --attach` takes them in: batches in which CPUs lie up to 50 µs apart.
//! - *text*: as `hocket trace --from` reads them: the lines that `perf script --ns` prints.
//!
//! Of each: the time until all are counted, the time to write the page, and the most memory that the program had in its life
//! until then (VmHWM), which the kernel is asked to forget before. Every event has to be counted, or there is no record; those
//! that are not drawn are in the record.
//!
//! Nothing is judged. Without `--bench` twenty thousand events go through all of it, to see that it works.

use std::fmt::Write as _;
use std::io::{BufReader, Read};
use std::process::ExitCode;
use std::time::Instant;

use hocket_lab::provenance::{BenchCommand, bench_exit};
use hocket_lab::threads_page;
use hocket_trace::sched_text::{self, Choice};
use hocket_trace::system::{AboutSystem, Cpu, Happened, KernelEvent, Merge, SystemTrace, Tally};
use serde_json::{Value, json};

const CPUS: u32 = 4;
/// The program's, and strangers from `FIRST` on.
const PROGRAM: [i32; 2] = [101, 102];
const FIRST: i32 = 1000;
const STRANGERS: u64 = 500_000;
/// From one event to the next.
const EACH_NS: u64 = 1000;
/// How far CPUs lie apart that are read one after the other.
const APART_NS: u64 = 50_000;
/// Events that a watch collects at a time.
const BATCH: usize = 100_000;

fn main() -> ExitCode {
    bench_exit("kernel_events", run())
}

fn run() -> Result<(), String> {
    let command = BenchCommand::read()?;
    let usual = if command.measures() { 10_000_000 } else { 20_000 };
    let events = match command.value("--events") {
        Some(text) => text.parse().map_err(|_| format!("--events {text}: this is no number"))?,
        None => usual,
    };
    if !(1..=1_000_000_000).contains(&events) {
        return Err(format!("--events {events}: give 1 to 1000000000"));
    }
    let result = json!({
        "events": events, "cpus": CPUS, "threads": STRANGERS,
        "watched": stage("watched", events, watched)?,
        "text": stage("text", events, read)?,
    });
    command.keep("hocket-kernel-events/1", result)
}

/// Makes a trace of so many events, then its page.
fn stage(
    name: &str,
    events: u64,
    make: impl Fn(u64) -> Result<SystemTrace, String>,
) -> Result<Value, String> {
    let before_kib = forget()?;
    let begun = Instant::now();
    let system = make(events)?;
    let merged_s = begun.elapsed().as_secs_f64();
    let merged_kib = most_kib()?;
    if system.events != events {
        return Err(format!("{name}: {} of {events} events are counted", system.events));
    }
    let begun = Instant::now();
    let page_bytes = threads_page::html(&system).len();
    let page_s = begun.elapsed().as_secs_f64();
    let page_kib = most_kib()?;
    println!(
        "{name}: {events} events in {merged_s:.1} s, {} MiB at most; a page of {page_bytes} bytes in {page_s:.1} s, {} MiB at \
         most; {} pieces are drawn, {} are not",
        merged_kib / 1024,
        page_kib / 1024,
        system.pieces.len(),
        system.not_drawn,
    );
    Ok(json!({
        "before_kib": before_kib, "merged_s": merged_s, "merged_kib": merged_kib, "page_s": page_s, "page_kib": page_kib,
        "page_bytes": page_bytes, "drawn": system.pieces.len(), "not_drawn": system.not_drawn, "limits": system.limits,
    }))
}

/// Lets the kernel begin anew with the most memory. What there is now.
fn forget() -> Result<u64, String> {
    std::fs::write("/proc/self/clear_refs", "5")
        .map_err(|why| format!("/proc/self/clear_refs: {why}; the memory cannot be measured"))?;
    most_kib()
}

fn most_kib() -> Result<u64, String> {
    let status = std::fs::read_to_string("/proc/self/status").map_err(|why| why.to_string())?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let number = line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse().ok());
    number.ok_or_else(|| "/proc/self/status has no VmHWM".into())
}

fn about() -> AboutSystem {
    AboutSystem { program: "two threads among many".into(), ..AboutSystem::default() }
}

/// As `hocket trace --attach`.
fn watched(count: u64) -> Result<SystemTrace, String> {
    // Two CPUs share a core.
    let cpu = |number: u32| Cpu { number, beside: vec![number ^ 1], ..Cpu::default() };
    let mut tally = Tally::new(about(), (0..CPUS).map(cpu).collect(), PROGRAM[0], false);
    PROGRAM.iter().for_each(|tid| tally.add_member(*tid, PROGRAM[0]));
    let (mut merge, mut made) = (Merge::default(), Made::new(APART_NS));
    let mut left = count as usize;
    while left > 0 {
        let batch = left.min(BATCH);
        left -= batch;
        let events = (0..batch).map(|_| made.next());
        let complete_ns = (count - left as u64) * EACH_NS;
        merge.add(events, complete_ns as i64, |event| tally.add(event));
    }
    merge.add([], i64::MAX, |event| tally.add(event));
    Ok(tally.finish((count * EACH_NS + APART_NS) as i64, "the end".into()))
}

/// As `hocket trace --from`.
fn read(count: u64) -> Result<SystemTrace, String> {
    let threads = PROGRAM.iter().map(ToString::to_string).collect();
    let choice = Choice { threads, with_children: false };
    let lines = Lines { made: Made::new(1), left: count, held: String::new(), given: 0 };
    sched_text::read(BufReader::new(lines), about(), &choice, || false)
        .map_err(|why| why.to_string())
}

/// Events that look like chance and are the same each time (a linear congruential generator).
struct Made {
    state: u64,
    apart_ns: u64,
    number: u64,
    running: [i32; CPUS as usize],
}

impl Made {
    fn new(apart_ns: u64) -> Made {
        Made { state: 1, apart_ns, number: 0, running: [0; CPUS as usize] }
    }

    fn chance(&mut self, below: u64) -> u64 {
        let next = self.state.wrapping_mul(6_364_136_223_846_793_005);
        self.state = next.wrapping_add(1_442_695_040_888_963_407);
        (self.state >> 33) % below
    }

    fn next(&mut self) -> KernelEvent {
        let at_ns = (self.number * EACH_NS + self.chance(self.apart_ns)) as i64;
        self.number += 1;
        let cpu = self.chance(CPUS.into()) as u32;
        let tid = match self.chance(4) {
            0 => PROGRAM[0],
            1 => PROGRAM[1],
            _ => FIRST + self.chance(STRANGERS) as i32,
        };
        let what = match self.chance(3) {
            0 => Happened::Woken { tid, by: Some(PROGRAM[0]) },
            _ => {
                let out = std::mem::replace(&mut self.running[cpu as usize], tid);
                Happened::Switch { in_tid: Some(tid), out_tid: Some(out), preempted: true }
            }
        };
        KernelEvent { at_ns, cpu, what }
    }
}

/// The same as lines of perf.
struct Lines {
    made: Made,
    left: u64,
    held: String,
    /// Bytes of `held` that have been read.
    given: usize,
}

impl Lines {
    fn more(&mut self) {
        self.held.clear();
        self.given = 0;
        // Some lines at a time.
        for _ in 0..self.left.min(256) {
            let KernelEvent { at_ns, cpu, what } = self.made.next();
            let time = format!("{}.{:09}", at_ns / 1_000_000_000, at_ns % 1_000_000_000);
            let name = |tid: i32| if tid == 0 { "swapper".to_owned() } else { format!("t{tid}") };
            // A string takes every line.
            let _ = match what {
                Happened::Switch { in_tid: Some(into), out_tid: Some(out), .. } => writeln!(
                    self.held,
                    "{} {out} [{cpu:03}] {time}: sched:sched_switch: prev_comm={} prev_pid={out} prev_prio=120 prev_state=R \
                     ==> next_comm={} next_pid={into} next_prio=120",
                    name(out),
                    name(out),
                    name(into)
                ),
                Happened::Woken { tid, .. } => writeln!(
                    self.held,
                    "t101 101 [{cpu:03}] {time}: sched:sched_waking: comm={} pid={tid} prio=120 target_cpu={cpu:03}",
                    name(tid)
                ),
                _ => Ok(()),
            };
            self.left -= 1;
        }
    }
}

impl Read for Lines {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        if self.given == self.held.len() {
            self.more();
        }
        let rest = &self.held.as_bytes()[self.given..];
        let length = rest.len().min(out.len());
        out[..length].copy_from_slice(&rest[..length]);
        self.given += length;
        Ok(length)
    }
}
