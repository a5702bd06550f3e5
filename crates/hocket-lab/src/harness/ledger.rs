//! What else the machine did during a turn.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
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
    /// CPU time of everybody but this process and its children, on all CPUs; steps of 10 ms.
    pub foreign_cpu_ns: Option<u64>,
    /// CPU time of this process, and of its children that have ended.
    pub own_cpu_ns: Option<u64>,
    /// Times that a thread of the turn gave its CPU up.
    pub voluntary_switches: Option<u64>,
    /// Times that a thread of the turn was put aside although it wanted to go on. Of a team only the members
    /// count: the thread that waits for them loses nothing.
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
    /// Time in which a thread of the turn wanted to run and did not, as a share of the turn.
    pub waited_share: f64,
    /// Involuntary switches of a turn, where the kernel does not count that time.
    pub involuntary_switches: u64,
}

impl Limits {
    /// What is flagged if nothing else is asked for: a tenth of the machine's time used by others, a
    /// hundredth taken by the host, a thread kept waiting for a CPU for a hundredth of the turn.
    pub const USUAL: Limits = Limits {
        foreign_share: 0.10,
        steal_share: 0.01,
        waited_share: 0.01,
        involuntary_switches: 1,
    };
}

/// A turn, and what its flags rest on besides its entry.
#[derive(Debug, Clone, Default)]
pub struct Turn {
    /// What happened.
    pub entry: LedgerEntry,
    /// The longest time in which one of its threads wanted to run and did not; `None` where the kernel does not count it.
    pub waited_ns: Option<u64>,
    /// Shares of all CPUs' time that others and the host had, over a stretch that many ticks fit in.
    pub foreign_share: Option<f64>,
    /// As above, of the host.
    pub steal_share: Option<f64>,
}

/// Why a turn is flagged; empty where it is not. Flagged turns are kept and shown both ways.
pub fn flags_of(turn: &Turn, variant: &Variant, limits: Limits) -> Vec<String> {
    let above = |share: Option<f64>, most: f64| share.is_some_and(|share| share > most);
    let waited = turn.waited_ns.map(|ns| ns as f64 / turn.entry.wall_ns.max(1) as f64);
    let switched =
        |switches: Option<u64>| switches.is_some_and(|n| n >= limits.involuntary_switches);
    let put_aside = match waited {
        Some(share) => share > limits.waited_share,
        None => switched(turn.entry.involuntary_switches),
    };
    let flags = [
        ("foreign", above(turn.foreign_share, limits.foreign_share)),
        ("steal", above(turn.steal_share, limits.steal_share)),
        ("put-aside", put_aside && !variant.crowded),
    ];
    flags.into_iter().filter(|(_, is)| *is).map(|(flag, _)| flag.to_string()).collect()
}

/// The system counts CPU time in ticks of up to 10 ms, so shares are taken over stretches of at least so long: the turn
/// itself, or the turn with those before it.
const STRETCH_NS: u64 = 200_000_000;

/// Readings at the ends of the last turns of a process.
#[derive(Debug, Default)]
pub struct Stretches(VecDeque<Reading>);

#[derive(Debug, Clone, Copy)]
struct Reading {
    at_ns: u64,
    foreign_ns: u64,
    steal_ns: u64,
}

impl Stretches {
    /// Shares of others and of the host since the last reading that is old enough; `None` in the first moments.
    fn shares(&mut self, now: Reading, cpus: usize) -> Option<(f64, f64)> {
        let old = |reading: &Reading| now.at_ns - reading.at_ns >= STRETCH_NS;
        while self.0.get(1).is_some_and(old) {
            self.0.pop_front();
        }
        let since = self.0.front().copied().filter(old);
        self.0.push_back(now);
        let since = since?;
        let all_ns = (now.at_ns - since.at_ns) as f64 * cpus.max(1) as f64;
        let share = |now: u64, before: u64| now.saturating_sub(before) as f64 / all_ns;
        Some((share(now.foreign_ns, since.foreign_ns), share(now.steal_ns, since.steal_ns)))
    }
}

/// What this process has used, and its children that have ended: some experiments measure in those.
fn own_cpu_ns(process: &ProcessCounters) -> Option<u64> {
    Some(process.cpu_ns.value()? + process.children_cpu_ns.value().unwrap_or(&0))
}

/// All that was used since the machine started: by others than this process, and by the host.
fn reading(system: &SystemSnapshot, process: &ProcessCounters) -> Option<Reading> {
    let (times, own) = (system.all.value()?, own_cpu_ns(process)?);
    Some(Reading {
        at_ns: system.at_ns,
        foreign_ns: times.busy_ns().saturating_sub(own),
        steal_ns: times.steal_ns,
    })
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
static MEMBERS: Mutex<Totals> = Mutex::new(Totals::NONE);

#[derive(Debug, Clone, Copy)]
struct Totals {
    members: u32,
    voluntary: u64,
    involuntary: u64,
    migrations: Option<u64>,
    /// The longest of a member.
    waited_ns: Option<u64>,
}

impl Totals {
    const NONE: Totals = Totals {
        members: 0,
        voluntary: 0,
        involuntary: 0,
        migrations: Some(0),
        waited_ns: Some(0),
    };

    fn add(&mut self, counters: &ThreadCounters) {
        self.members += 1;
        self.voluntary += counters.voluntary_switches;
        self.involuntary += counters.involuntary_switches;
        self.migrations = sum(self.migrations, counters.migrations.value().copied());
        let waited = counters.waited_ns.value().copied();
        self.waited_ns = self.waited_ns.zip(waited).map(|(a, b)| a.max(b));
    }
}

/// Adds a member of a team that has done its part of the turn.
pub(super) fn note_thread(counters: &ThreadCounters) {
    MEMBERS.lock().unwrap_or_else(PoisonError::into_inner).add(counters);
}

/// CPU time of guests that live, for turns of this process, since it started. Those that were waited for count among the
/// children and no longer here. Relaxed: the thread that has the turns writes and reads it.
static GUESTS_NS: AtomicU64 = AtomicU64::new(0);

/// Adds CPU time of a guest that worked for this turn and lives on, so that it does not count as foreign.
pub(crate) fn note_guest(cpu_ns: u64) {
    GUESTS_NS.fetch_add(cpu_ns, Relaxed);
}

/// Takes back what was noted of a guest that has been waited for: from now on it counts among the children.
pub(crate) fn forget_guest(noted_ns: u64) {
    GUESTS_NS.fetch_sub(noted_ns, Relaxed);
}

/// What this process has used, with the others that worked for it.
fn counters() -> ProcessCounters {
    let own = process::counters();
    let with_guests = own.cpu_ns.and_then(|ns| Fact::Value(ns + GUESTS_NS.load(Relaxed)));
    ProcessCounters { cpu_ns: with_guests, ..own }
}

fn take_members() -> Totals {
    let mut totals = MEMBERS.lock().unwrap_or_else(PoisonError::into_inner);
    std::mem::replace(&mut *totals, Totals::NONE)
}

fn sum(a: Option<u64>, b: Option<u64>) -> Option<u64> {
    Some(a? + b?)
}

impl Ledger {
    /// Begins a turn; `cpu` is the one whose clock is noted. Cost: some files, tens of microseconds.
    pub fn begin(cpu: Option<u32>) -> Ledger {
        take_members();
        let system = SystemSnapshot::take();
        Ledger { system, process: counters(), thread: ThreadSnapshot::take(), cpu }
    }

    /// What happened since.
    pub fn end(self, cpus: usize, stretches: &mut Stretches) -> Turn {
        let thread = ThreadSnapshot::take().since(&self.thread);
        let mut threads = take_members();
        if let (0, Some(own)) = (threads.members, thread.0.value()) {
            threads.add(own);
        }
        let process = counters();
        let now = SystemSnapshot::take();
        let system = now.since(&self.system);
        let own_cpu_ns = own_cpu_ns(&process).zip(own_cpu_ns(&self.process));
        let own_cpu_ns = own_cpu_ns.map(|(after, before)| after.saturating_sub(before));
        let times = system.all.value();
        let counted = threads.members > 0;
        let shares = reading(&now, &process).and_then(|now| stretches.shares(now, cpus));
        let entry = LedgerEntry {
            wall_ns: system.at_ns,
            steal_ns: times.map(|times| times.steal_ns),
            foreign_cpu_ns: times.zip(own_cpu_ns).map(|(t, own)| t.busy_ns().saturating_sub(own)),
            own_cpu_ns,
            voluntary_switches: counted.then_some(threads.voluntary),
            involuntary_switches: counted.then_some(threads.involuntary),
            migrations: threads.migrations.filter(|_| counted),
            faults: difference(&process.faults, &self.process.faults),
            frequency_khz: self.cpu.and_then(|cpu| frequency_khz(cpu).ok()),
        };
        Turn {
            entry,
            waited_ns: threads.waited_ns.filter(|_| counted),
            foreign_share: shares.map(|(foreign, _)| foreign),
            steal_share: shares.map(|(_, steal)| steal),
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
            involuntary_switches: Some(2),
            ..LedgerEntry::default()
        };
        let turn =
            Turn { entry, foreign_share: Some(0.05), steal_share: Some(0.05), waited_ns: None };
        assert_eq!(flags_of(&turn, &quiet, Limits::USUAL), ["steal", "put-aside"]);
        assert_eq!(flags_of(&turn, &crowded, Limits::USUAL), ["steal"]);
        // A switch that cost next to nothing is none.
        let short = Turn { waited_ns: Some(100_000), steal_share: None, ..turn.clone() };
        assert!(flags_of(&short, &quiet, Limits::USUAL).is_empty());
        let long = Turn { waited_ns: Some(2_000_000), ..short };
        assert_eq!(flags_of(&long, &quiet, Limits::USUAL), ["put-aside"]);
        assert!(flags_of(&Turn::default(), &quiet, Limits::USUAL).is_empty());
    }

    #[test]
    fn a_single_tick_of_others_is_no_share_of_a_short_turn() {
        let mut stretches = Stretches::default();
        let mut at = |at_ms: u64, foreign_ms: u64| {
            let (at_ns, foreign_ns) = (at_ms * 1_000_000, foreign_ms * 1_000_000);
            stretches.shares(Reading { at_ns, foreign_ns, steal_ns: 0 }, 2)
        };
        assert_eq!((at(0, 0), at(10, 10)), (None, None));
        assert_eq!(at(210, 20), Some((10.0 / 400.0, 0.0)));
        assert_eq!(at(400, 400), Some((390.0 / 780.0, 0.0)));
        // Long turns stand for themselves.
        assert_eq!(at(1_400, 500), Some((100.0 / 2_000.0, 0.0)));
    }

    #[test]
    fn members_count_and_who_waits_for_them_does_not() {
        let mut totals = Totals::NONE;
        let unknown = || Fact::Unknown("not counted".into());
        let counters = |waited| ThreadCounters {
            at_ns: 0,
            cpu_ns: 0,
            user_ns: 0,
            system_ns: 0,
            voluntary_switches: 3,
            involuntary_switches: 1,
            minor_faults: 0,
            major_faults: 0,
            waited_ns: Fact::Value(waited),
            migrations: unknown(),
        };
        totals.add(&counters(5));
        totals.add(&counters(9));
        assert_eq!((totals.members, totals.involuntary, totals.waited_ns), (2, 2, Some(9)));
    }

    #[test]
    fn work_stands_in_the_ledger() {
        let ledger = Ledger::begin(None);
        let start = hocket_machine::clock::monotonic_ns();
        while hocket_machine::clock::monotonic_ns() < start + 2_000_000 {}
        let turn = ledger.end(1, &mut Stretches::default());
        assert!(turn.entry.wall_ns >= 2_000_000 && turn.entry.own_cpu_ns.is_none_or(|ns| ns > 0));
        assert!(turn.entry.frequency_khz.is_none() && turn.foreign_share.is_none());
    }
}
