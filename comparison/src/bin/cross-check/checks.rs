//! What is held against what.

use std::path::Path;

use hocket_lab::harness::Host;
use hocket_lab::stats::{Comparison, compare};

use crate::ours::Lab;
use crate::theirs::{
    Criterion, Cyclictest, Dbench, Hackbench, PipeBench, Starting, StressNg, SyscallBench, Tbench,
    twice,
};

/// Something that takes the same figure again and again, in nanoseconds.
pub type Take = Box<dyn FnMut() -> Result<f64, String>>;

/// One of the two who take it.
pub struct Side {
    /// Who, and what exactly.
    pub what: String,
    /// In nanoseconds, by rounds.
    pub figures: Vec<f64>,
    take: Take,
}

impl Side {
    fn new(what: String, take: Take) -> Side {
        Side { what, figures: Vec::new(), take }
    }

    fn turn(&mut self) -> Result<(), String> {
        self.figures.push((self.take)()?);
        Ok(())
    }
}

/// A figure that two take.
pub struct Check {
    /// Short.
    pub name: String,
    /// The lab.
    pub ours: Side,
    /// The other tool.
    pub theirs: Side,
}

impl Check {
    /// So many rounds. What the lab's side has open ends with them.
    pub fn run(&mut self, rounds: u32) -> Result<(), String> {
        let done = (0..rounds).try_for_each(|round| self.round(round));
        let closed = || -> Take { Box::new(|| Err("it has ended".into())) };
        (self.ours.take, self.theirs.take) = (closed(), closed());
        done
    }

    /// Both have a turn; who begins changes from round to round.
    fn round(&mut self, round: u32) -> Result<(), String> {
        let (first, second) = match round % 2 {
            0 => (&mut self.ours, &mut self.theirs),
            _ => (&mut self.theirs, &mut self.ours),
        };
        first.turn()?;
        second.turn()
    }

    /// The lab's figure by the other one.
    pub fn ratio(&self) -> Option<Comparison> {
        compare(&self.theirs.figures, &self.ours.figures, 1)
    }
}

/// Every check that this machine can do.
pub fn all(host: &Host, criterion: &Path) -> Result<Vec<Check>, String> {
    let mut checks = wake_ups(host)?;
    checks.extend(hand_overs(host)?);
    checks.extend(passes(host, criterion)?);
    checks.extend(primitives(host)?);
    checks.extend(loads(host)?);
    Ok(checks)
}

/// A thread that sleeps on the clock, 500 us apart.
fn wake_ups(host: &Host) -> Result<Vec<Check>, String> {
    let mut checks = Vec::new();
    for (class, fifo) in [("fifo", Some(50)), ("ordinary", None)] {
        let name = format!("clock {class} idle");
        let lab = Lab::variant(host, "wake", "lateness", &name, 10)?;
        let other = Cyclictest { cpu: lab.cpus[0], fifo, loops: 1000 };
        checks.push(check(format!("wake-up, {class}"), lab, other.to_string(), other.taker()));
    }
    Ok(checks)
}

/// Two threads that take turns.
fn hand_overs(host: &Host) -> Result<Vec<Check>, String> {
    let mut checks = Vec::new();
    for (relation, (a, b)) in host.pairs_by_relation() {
        for (way, threads) in [("pipe", true), ("pipe", false), ("futex", true)] {
            let lab =
                Lab::variant(host, "ping-pong", "hand-overs", &format!("{way} {relation}"), 5)?;
            let other = PipeBench { cpus: [a, b], threads, loops: 15_000 };
            let who = if threads { "threads" } else { "processes" };
            let name = format!("{way} {relation}, perf {who}");
            checks.push(check(name, lab, other.to_string(), other.taker()));
        }
    }
    Ok(checks)
}

/// One thread and a lock.
fn passes(host: &Host, program: &Path) -> Result<Vec<Check>, String> {
    let mut checks = Vec::new();
    for lock in ["std-mutex", "parking-lot", "atomic"] {
        let lab = Lab::variant(host, "locks", "passes", &format!("{lock} alone"), 10)?;
        let other = Criterion { program: program.into(), cpu: lab.cpus[0], id: lock };
        checks.push(check(format!("pass, {lock}"), lab, other.to_string(), other.taker()));
    }
    Ok(checks)
}

/// The system call that does nothing, a byte to another process and back, a switch of processes, and processes that start.
fn primitives(host: &Host) -> Result<Vec<Check>, String> {
    let lab = Lab::variant(host, "kernel", "time", "null alone", 10)?;
    let call = SyscallBench { cpu: lab.cpus[0], loops: 1_000_000 };
    let null = check("null call".into(), lab, call.to_string(), call.taker());
    let lab = Lab::variant(host, "kernel", "time", "pipe alone", 10)?;
    let cpu = lab.cpus[0];
    let trip = PipeBench { cpus: [cpu, cpu], threads: false, loops: 15_000 };
    let what = format!("twice: {trip}");
    let round_trip = check("pipe round trip".into(), lab, what, twice(trip.taker()));
    let mut checks = vec![null, round_trip];
    for (name, metric) in [("ring hand-over", "time"), ("ring switch", "switch")] {
        let lab = Lab::variant(host, "kernel", metric, "ring-2-0 alone", 10)?;
        let other = PipeBench { cpus: [cpu, cpu], threads: false, loops: 15_000 };
        checks.push(check(format!("{name}, perf pipe"), lab, other.to_string(), other.taker()));
    }
    for (variant, way, times) in
        [("fork-exit", Starting::Fork, 1000), ("fork-exec", Starting::Exec, 200)]
    {
        let lab = Lab::variant(host, "kernel", "time", &format!("{variant} alone"), 10)?;
        let other = StressNg { cpu, way, times };
        checks.push(check(format!("{variant}, stress-ng"), lab, other.to_string(), other.taker()));
    }
    Ok(checks)
}

/// Clients at once, on either side.
const CLIENTS: u32 = 4;

/// Chat and file servers. The figures are nanoseconds of a message and of a megabyte.
fn loads(host: &Host) -> Result<Vec<Check>, String> {
    let lab = Lab::variant(host, "chat", "rate", "threads", 1)?;
    let other = Hackbench { groups: 10, loops: 100 };
    let chat = check("chat, hackbench".into(), lab, other.to_string(), other.taker());
    let variant = format!("current clients-{CLIENTS}");
    let lab = Lab::variant(host, "fileserver", "bandwidth", &variant, 1)?;
    let other = Dbench { clients: CLIENTS, seconds: 3 };
    let files = check("file server, dbench".into(), lab, other.to_string(), other.taker());
    let lab = Lab::variant(host, "tcpstream", "bandwidth", &variant, 1)?;
    let other = Tbench { clients: CLIENTS, seconds: 3 };
    let stream = check("TCP stream, tbench".into(), lab, other.to_string(), other.taker());
    Ok(vec![chat, files, stream])
}

fn check(name: String, lab: Lab, other: String, theirs: Take) -> Check {
    Check { name, ours: Side::new(lab.to_string(), lab.taker()), theirs: Side::new(other, theirs) }
}
