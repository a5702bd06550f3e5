//! Busy threads that are not the engine's, one for each CPU, and the times at which they ran.
//!
//! A thread runs as long as its own CPU time grows as fast as the clock. That tells the kernel's
//! decisions from those of a host that takes a virtual CPU away: the latter the guest's kernel
//! does not see, and both clocks go on.
//!
//! They sleep until they are told to be busy, and again before the engine leaves its seats. What a policy
//! changes for a whole process (memory locked again, CPUs off line) calls every CPU on which a thread of
//! the process runs, thousands of times; on a host with fewer CPUs than the machine each call waits until
//! the host runs that virtual CPU, and some 8000 of them took minutes.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Command, ExitCode, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering::Relaxed};
use std::thread::JoinHandle;
use std::time::Duration;

use hocket_machine::clock::monotonic_ns;
use hocket_machine::pin::{self, CpuSet};
use hocket_machine::process::thread_cpu_ns;

use crate::stretch::Stretch;

/// Clock time without CPU time from which on the thread counts as having been away.
const AWAY_NS: i64 = 50_000;
/// Bounds the notes of one thread; a run of a second holds some hundred stretches.
const MAX_STRETCHES: usize = 1 << 14;
/// How often and for how long busy threads are waited for; under some policies not all of them get to run.
const LOOKS: u32 = 250;
const BETWEEN_LOOKS: Duration = Duration::from_millis(1);

/// To whom the busy threads belong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whose {
    /// Another process's.
    Stranger,
    /// The engine's own process's.
    Own,
}

impl Whose {
    /// For reports.
    pub fn name(self) -> &'static str {
        match self {
            Whose::Stranger => "another process",
            Whose::Own => "a thread of the own process",
        }
    }
}

/// Busy threads at work.
pub enum Strangers {
    /// In a process of their own, which is told by lines and answers with one.
    Stranger(Child, ChildStdin),
    /// In this one.
    Own(Threads),
}

impl Strangers {
    /// Starts one on each CPU, and waits until all of them are there and sleep.
    ///
    /// # Errors
    /// What the system says.
    pub fn start(whose: Whose, cpus: &[u32]) -> Result<Strangers, String> {
        match whose {
            Whose::Own => Ok(Strangers::Own(Threads::start(cpus)?)),
            Whose::Stranger => start_process(cpus),
        }
    }

    /// Has them busy from now on; waits a moment until they are.
    ///
    /// # Errors
    /// A process that ended early.
    pub fn go(&mut self) -> Result<(), String> {
        match self {
            Strangers::Own(threads) => {
                threads.go();
                Ok(())
            }
            Strangers::Stranger(child, stdin) => tell(stdin, GO).and_then(|()| answer(child)),
        }
    }

    /// Has them sleep again; does not wait until they do.
    ///
    /// # Errors
    /// A process that ended early.
    pub fn rest(&mut self) -> Result<(), String> {
        match self {
            Strangers::Own(threads) => {
                threads.tell(Phase::Rest);
                Ok(())
            }
            Strangers::Stranger(_, stdin) => tell(stdin, REST),
        }
    }

    /// Ends them and says when they ran.
    ///
    /// # Errors
    /// A process that ended early or wrote what it should not.
    pub fn stop(self) -> Result<Vec<Stretch>, String> {
        match self {
            Strangers::Own(threads) => threads.stop(),
            Strangers::Stranger(mut child, stdin) => {
                drop(stdin);
                let mut text = String::new();
                let read = child.stdout.take().map(|mut out| out.read_to_string(&mut text));
                read.transpose().map_err(|error| error.to_string())?;
                child.wait().map_err(|error| error.to_string())?;
                text.lines().map(str::parse).collect()
            }
        }
    }
}

fn start_process(cpus: &[u32]) -> Result<Strangers, String> {
    let said = |error: std::io::Error| format!("the other process: {error}");
    let mut child = Command::new("/proc/self/exe")
        .arg("strangers")
        .args(cpus.iter().map(u32::to_string))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(said)?;
    let stdin = child.stdin.take().ok_or("the other process has no input")?;
    answer(&mut child)?;
    Ok(Strangers::Stranger(child, stdin))
}

const GO: &str = "go";
const REST: &str = "rest";
const READY: &str = "ready";

fn tell(stdin: &mut ChildStdin, word: &str) -> Result<(), String> {
    let told = writeln!(stdin, "{word}").and_then(|()| stdin.flush());
    told.map_err(|error| format!("the other process: {error}"))
}

/// Waits until it has done what it was told.
fn answer(child: &mut Child) -> Result<(), String> {
    let out = child.stdout.as_mut().ok_or("the other process has no output")?;
    let mut line = String::new();
    // One byte at a time: what follows belongs to `stop`.
    let read = BufReader::with_capacity(1, out).read_line(&mut line);
    match read {
        Ok(_) if line.trim_end() == READY => Ok(()),
        Ok(_) => Err("the other process did not get ready".into()),
        Err(error) => Err(format!("the other process: {error}")),
    }
}

/// The other process: busy and asleep as it is told until its input ends, then writes down its stretches.
pub fn serve(cpus: &[&str]) -> ExitCode {
    let cpus: Result<Vec<u32>, _> = cpus.iter().map(|cpu| cpu.parse()).collect();
    let run = || -> Result<(), String> {
        let threads = Threads::start(&cpus.map_err(|error| format!("{error}"))?)?;
        let mut out = std::io::stdout().lock();
        let said = |error: std::io::Error| error.to_string();
        let mut ready = || writeln!(out, "{READY}").and_then(|()| out.flush()).map_err(said);
        ready()?;
        for word in std::io::stdin().lines() {
            match word.map_err(said)?.as_str() {
                GO => {
                    threads.go();
                    ready()?;
                }
                _ => threads.tell(Phase::Rest),
            }
        }
        for stretch in threads.stop()? {
            writeln!(out, "{stretch}").map_err(said)?;
        }
        Ok(())
    };
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("smt_probe strangers: {why}");
            ExitCode::from(2)
        }
    }
}

/// Busy threads of this process.
pub struct Threads {
    orders: Arc<Orders>,
    running: Vec<JoinHandle<Vec<Stretch>>>,
}

/// What threads are to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Rest = 0,
    Busy = 1,
    End = 2,
}

/// Hints, all of them relaxed: what threads hand over, they hand over when they are joined.
#[derive(Debug, Default)]
struct Orders {
    phase: AtomicU8,
    /// How many threads have been busy.
    begun: AtomicUsize,
}

impl Orders {
    fn are(&self, phase: Phase) -> bool {
        self.phase.load(Relaxed) == phase as u8
    }
}

impl Threads {
    fn start(cpus: &[u32]) -> Result<Threads, String> {
        let mut threads = Threads { orders: Arc::default(), running: Vec::new() };
        let (ready, all_ready) = std::sync::mpsc::channel();
        for cpu in cpus.iter().copied() {
            let (orders, ready) = (Arc::clone(&threads.orders), ready.clone());
            let body = move || {
                let pinned = pin::pin_current_thread(&CpuSet::single(cpu));
                // The receiver waits for as many as were started.
                let _ = ready.send(pinned.map_err(|error| error.to_string()));
                live(&orders)
            };
            let thread = std::thread::Builder::new().name(format!("busy {cpu}")).spawn(body);
            threads.running.push(thread.map_err(|error| error.to_string())?);
        }
        for _ in cpus {
            all_ready.recv().map_err(|_| "a busy thread ended at once")??;
        }
        Ok(threads)
    }

    fn tell(&self, phase: Phase) {
        self.orders.phase.store(phase as u8, Relaxed);
        self.running.iter().for_each(|thread| thread.thread().unpark());
    }

    /// Sleeps between its looks: the caller is a real-time thread on the CPU of one of them.
    fn go(&self) {
        self.tell(Phase::Busy);
        for _ in 0..LOOKS {
            if self.orders.begun.load(Relaxed) == self.running.len() {
                return;
            }
            std::thread::sleep(BETWEEN_LOOKS);
        }
    }

    fn stop(self) -> Result<Vec<Stretch>, String> {
        self.tell(Phase::End);
        let mut stretches = Vec::new();
        for thread in self.running {
            stretches.extend(thread.join().map_err(|_| "a busy thread panicked")?);
        }
        Ok(stretches)
    }
}

/// Asleep and busy as it is told, until the end.
fn live(orders: &Orders) -> Vec<Stretch> {
    let mut log = Log(Vec::with_capacity(MAX_STRETCHES));
    while !orders.are(Phase::End) {
        if orders.are(Phase::Rest) {
            std::thread::park();
            continue;
        }
        orders.begun.fetch_add(1, Relaxed);
        while orders.are(Phase::Busy) {
            let (Some(now), Some(cpu)) = (Sample::take(), pin::current_cpu()) else { break };
            log.note(now, cpu);
        }
    }
    log.0.into_iter().map(|(stretch, _)| stretch).collect()
}

/// The clock, and for how much of it the thread has not run.
#[derive(Debug, Clone, Copy)]
struct Sample {
    now_ns: u64,
    away_ns: i64,
}

impl Sample {
    fn take() -> Option<Sample> {
        let now_ns = monotonic_ns();
        let used_ns = *thread_cpu_ns().value()?;
        Some(Sample { now_ns, away_ns: now_ns as i64 - used_ns as i64 })
    }
}

/// Stretches, each with the time away before it.
struct Log(Vec<(Stretch, i64)>);

impl Log {
    fn note(&mut self, now: Sample, cpu: u32) {
        let goes_on = |&(stretch, away_ns): &(Stretch, i64)| {
            stretch.cpu == cpu && now.away_ns < away_ns + AWAY_NS
        };
        // CPU time stands still until the next tick when a host stops the virtual CPU, and then
        // makes up for it: gaps that have closed again were none.
        while self.0.len() > 1 && self.0.get(self.0.len() - 2).is_some_and(goes_on) {
            self.0.pop();
        }
        let full = self.0.len() == MAX_STRETCHES;
        match self.0.last_mut() {
            Some(last) if goes_on(last) => last.0.to_ns = now.now_ns,
            _ if full => {}
            _ => {
                let stretch = Stretch { cpu, from_ns: now.now_ns, to_ns: now.now_ns };
                self.0.push((stretch, now.away_ns));
            }
        }
    }
}
