//! What else the machine did during a turn.

use std::sync::{Mutex, PoisonError};

use hocket_machine::Fact;
use hocket_machine::noise::{SystemSnapshot, ThreadCounters, ThreadSnapshot};
use hocket_machine::process::{self, ProcessCounters};
use serde::{Deserialize, Serialize};

use super::Variant;

/// What happened during one turn; `None` where the system does not count it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct LedgerEntry {
    /// How long the turn took.
    pub wall_ns: u64,
    /// Time that the host gave to other machines although a CPU of this one wanted to run; steps of
    /// 10 ms.
    pub steal_ns: Option<u64>,
    /// CPU time of everybody but this process, on all CPUs; steps of 10 ms.
    pub foreign_cpu_ns: Option<u64>,
    /// CPU time of this process.
    pub own_cpu_ns: Option<u64>,
    /// Times that a thread of the turn gave its CPU up.
    pub voluntary_switches: Option<u64>,
    /// Times that a thread of the turn was put aside although it wanted to go on.
    pub involuntary_switches: Option<u64>,
    /// Times that a thread of the turn changed its CPU.
    pub migrations: Option<u64>,
    /// Page faults of the process.
    pub faults: Option<u64>,
    /// The clock of the first CPU that is measured on, at the end, as the kernel believes.
    pub frequency_khz: Option<u64>,
}

/// From which amount a turn is flagged.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Limits {
    /// Foreign CPU time as a share of all CPUs' time.
    pub foreign_share: f64,
    /// Steal as a share of all CPUs' time.
    pub steal_share: f64,
    /// Involuntary switches of a turn.
    pub involuntary_switches: u64,
}

impl Limits {
    /// What is flagged if nothing else is asked for: a tenth of the machine's time used by others, a
    /// hundredth taken by the host, any thread put aside.
    pub const USUAL: Limits =
        Limits { foreign_share: 0.10, steal_share: 0.01, involuntary_switches: 1 };
}

/// Why a turn is flagged; empty where it is not. Flagged turns are kept and shown both ways.
pub fn flags_of(
    entry: &LedgerEntry,
    cpus: usize,
    variant: &Variant,
    limits: Limits,
) -> Vec<String> {
    let all_ns = (entry.wall_ns * cpus.max(1) as u64).max(1) as f64;
    let above = |part: Option<u64>, share: f64| part.is_some_and(|ns| ns as f64 / all_ns > share);
    let put_aside = entry.involuntary_switches.is_some_and(|n| n >= limits.involuntary_switches);
    let flags = [
        ("foreign", above(entry.foreign_cpu_ns, limits.foreign_share)),
        ("steal", above(entry.steal_ns, limits.steal_share)),
        ("put-aside", put_aside && !variant.crowded),
    ];
    flags.into_iter().filter(|(_, is)| *is).map(|(flag, _)| flag.to_string()).collect()
}

/// Readings at the start of a turn, on the thread that has it.
#[derive(Debug)]
pub struct Ledger {
    system: SystemSnapshot,
    process: ProcessCounters,
    thread: ThreadSnapshot,
    cpu: Option<u32>,
}

/// What the members of teams have used since the turn began.
static MEMBERS: Mutex<Totals> =
    Mutex::new(Totals { voluntary: 0, involuntary: 0, migrations: Some(0) });

#[derive(Debug, Clone, Copy)]
struct Totals {
    voluntary: u64,
    involuntary: u64,
    migrations: Option<u64>,
}

/// Adds a member of a team that has done its part of the turn.
pub(super) fn note_thread(counters: &ThreadCounters) {
    let mut totals = MEMBERS.lock().unwrap_or_else(PoisonError::into_inner);
    totals.voluntary += counters.voluntary_switches;
    totals.involuntary += counters.involuntary_switches;
    totals.migrations = sum(totals.migrations, counters.migrations.value().copied());
}

fn take_members() -> Totals {
    let mut totals = MEMBERS.lock().unwrap_or_else(PoisonError::into_inner);
    std::mem::replace(&mut *totals, Totals { voluntary: 0, involuntary: 0, migrations: Some(0) })
}

fn sum(a: Option<u64>, b: Option<u64>) -> Option<u64> {
    Some(a? + b?)
}

impl Ledger {
    /// Begins a turn; `cpu` is the one whose clock is noted. Cost: some files, tens of microseconds.
    pub fn begin(cpu: Option<u32>) -> Ledger {
        take_members();
        let system = SystemSnapshot::take();
        Ledger { system, process: process::counters(), thread: ThreadSnapshot::take(), cpu }
    }

    /// What happened since.
    pub fn end(self) -> LedgerEntry {
        let thread = ThreadSnapshot::take().since(&self.thread);
        let members = take_members();
        let process = process::counters();
        let system = SystemSnapshot::take().since(&self.system);
        let own_cpu_ns = difference(&process.cpu_ns, &self.process.cpu_ns);
        let times = system.all.value();
        let own = thread.0.value();
        let migrations = own.and_then(|own| own.migrations.value().copied());
        LedgerEntry {
            wall_ns: system.at_ns,
            steal_ns: times.map(|times| times.steal_ns),
            foreign_cpu_ns: times.zip(own_cpu_ns).map(|(t, own)| t.busy_ns().saturating_sub(own)),
            own_cpu_ns,
            voluntary_switches: own.map(|own| own.voluntary_switches + members.voluntary),
            involuntary_switches: own.map(|own| own.involuntary_switches + members.involuntary),
            migrations: sum(migrations, members.migrations),
            faults: difference(&process.faults, &self.process.faults),
            frequency_khz: self.cpu.and_then(|cpu| frequency_khz(cpu).ok()),
        }
    }
}

fn difference(after: &Fact<u64>, before: &Fact<u64>) -> Option<u64> {
    after.value().zip(before.value()).map(|(after, before)| after.saturating_sub(*before))
}

/// The clock that the kernel believes a CPU to have.
fn frequency_khz(cpu: u32) -> Result<u64, String> {
    let path = format!("/sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_cur_freq");
    let text = std::fs::read_to_string(&path).map_err(|error| format!("{path}: {error}"))?;
    text.trim().parse().map_err(|_| format!("{path}: not a number"))
}

/// What the ledger cannot hold on this machine, and why; for the record.
pub(super) fn absent(cpu: u32) -> Vec<(&'static str, String)> {
    let system = SystemSnapshot::take();
    let process = process::counters();
    let thread = ThreadSnapshot::take();
    let why = |fact: Option<&str>| fact.map(str::to_string);
    let migrations = match thread.0.value() {
        Some(thread) => why(thread.migrations.why()),
        None => why(thread.0.why()),
    };
    [
        ("steal_ns", why(system.all.why())),
        ("foreign_cpu_ns", why(system.all.why()).or_else(|| why(process.cpu_ns.why()))),
        ("own_cpu_ns", why(process.cpu_ns.why())),
        ("involuntary_switches", why(thread.0.why())),
        ("migrations", migrations),
        ("faults", why(process.faults.why())),
        ("frequency_khz", frequency_khz(cpu).err()),
    ]
    .into_iter()
    .filter_map(|(name, why)| Some((name, why?)))
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_name_what_disturbed() {
        let (quiet, crowded) = (Variant::new("v"), Variant::new("v").crowded());
        let entry = LedgerEntry {
            wall_ns: 100_000_000,
            steal_ns: Some(10_000_000),
            foreign_cpu_ns: Some(10_000_000),
            involuntary_switches: Some(2),
            ..LedgerEntry::default()
        };
        assert_eq!(flags_of(&entry, 2, &quiet, Limits::USUAL), ["steal", "put-aside"]);
        assert_eq!(flags_of(&entry, 2, &crowded, Limits::USUAL), ["steal"]);
        let unknown = LedgerEntry { wall_ns: 5, ..LedgerEntry::default() };
        assert!(flags_of(&unknown, 2, &quiet, Limits::USUAL).is_empty());
    }

    #[test]
    fn work_stands_in_the_ledger() {
        let ledger = Ledger::begin(None);
        let start = hocket_machine::clock::monotonic_ns();
        while hocket_machine::clock::monotonic_ns() < start + 2_000_000 {}
        let entry = ledger.end();
        assert!(entry.wall_ns >= 2_000_000 && entry.own_cpu_ns.is_none_or(|ns| ns > 0));
        assert!(entry.frequency_khz.is_none());
    }
}
