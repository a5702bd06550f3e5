//! What is toggled: asked for, read back, and put back.

use std::time::Duration;

use hocket_machine::changes::{Change, Changed, Keeper, Root};
use hocket_machine::class::{self, Reservation};
use hocket_machine::clock;
use hocket_machine::idle_latency::{self, IdleLatency};
use hocket_machine::memory::{self, LockScope, MemoryLock};

/// The least that a thread can ask for.
pub(super) const SLACK_NS: u64 = 1;
/// The shortest slice that the kernel keeps.
pub(super) const SLICE: Duration = Duration::from_micros(100);
/// Far more than a wake-up takes, and little enough for any kernel to grant it.
pub(super) const RESERVED: Duration = Duration::from_micros(200);
/// Leaves a CPU the state that HLT or WFI enters, and forbids those that switch parts of it off.
pub(super) const IDLE_US: u32 = 2;
pub(super) const GOVERNOR: &str = "performance";
pub(super) const PREEMPTION: &str = "full";

/// One thing that a system may let a program set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Toggle {
    /// Nothing: as the system has it.
    AsIs,
    /// The thread's timer slack (prctl).
    TimerSlack,
    /// The thread's slice in the ordinary class (sched_setattr).
    Slice,
    /// CPU time set aside for the thread (SCHED_DEADLINE).
    Deadline,
    /// All memory of the process locked (mlockall).
    MemoryLock,
    /// No deep sleep for idle CPUs (/dev/cpu_dma_latency).
    IdleLatency,
    /// The frequency governor of every CPU.
    Governor,
    /// No interrupts for the thread's CPU (/proc/irq/*/smp_affinity_list).
    Interrupts,
    /// The kernel's preemption mode.
    Preemption,
}

impl Toggle {
    const ALL: [Toggle; 9] = [
        Toggle::AsIs,
        Toggle::TimerSlack,
        Toggle::Slice,
        Toggle::Deadline,
        Toggle::MemoryLock,
        Toggle::IdleLatency,
        Toggle::Governor,
        Toggle::Interrupts,
        Toggle::Preemption,
    ];
    /// Those that help a thread of any class.
    pub(super) const OF_ANY_CLASS: [Toggle; 5] = [
        Toggle::MemoryLock,
        Toggle::IdleLatency,
        Toggle::Governor,
        Toggle::Interrupts,
        Toggle::Preemption,
    ];

    /// As in names of variants.
    pub(super) fn name(self) -> &'static str {
        match self {
            Toggle::AsIs => "as-is",
            Toggle::TimerSlack => "timer-slack",
            Toggle::Slice => "slice",
            Toggle::Deadline => "deadline",
            Toggle::MemoryLock => "memory-lock",
            Toggle::IdleLatency => "idle-latency",
            Toggle::Governor => "governor",
            Toggle::Interrupts => "interrupts",
            Toggle::Preemption => "preemption",
        }
    }

    pub(super) fn named(name: &str) -> Option<Toggle> {
        Toggle::ALL.into_iter().find(|toggle| toggle.name() == name)
    }

    /// What to do, for somebody who wants to play.
    pub(super) fn advice(self) -> String {
        match self {
            Toggle::AsIs => "a real-time priority (SCHED_FIFO)".into(),
            Toggle::TimerSlack => {
                "the least timer slack for threads without real-time priority (prctl)".into()
            }
            Toggle::Slice => {
                "a short slice for threads without real-time priority (sched_setattr)".into()
            }
            Toggle::Deadline => "SCHED_DEADLINE instead of SCHED_FIFO".into(),
            Toggle::MemoryLock => "locked memory (mlockall)".into(),
            Toggle::IdleLatency => format!("/dev/cpu_dma_latency, held at {IDLE_US} µs"),
            Toggle::Governor => format!("the frequency governor `{GOVERNOR}`"),
            Toggle::Interrupts => "interrupts kept off the CPU (smp_affinity)".into(),
            Toggle::Preemption => format!("the kernel's preemption mode `{PREEMPTION}`"),
        }
    }

    /// Whether it concerns every program of the machine, so that the user has to ask for it.
    pub(super) fn is_system_wide(self) -> bool {
        matches!(
            self,
            Toggle::IdleLatency | Toggle::Governor | Toggle::Interrupts | Toggle::Preemption
        )
    }

    /// What of the calling thread is set; it ends with the thread.
    ///
    /// # Errors
    /// Why it is not what was asked for.
    pub(super) fn in_thread(self, period: Duration) -> Result<(), String> {
        let got = match self {
            Toggle::TimerSlack => clock::request_timer_slack(SLACK_NS).map(|ns| ns == SLACK_NS),
            Toggle::Slice => {
                class::request_slice(SLICE).map(|ns| Duration::from_nanos(ns) == SLICE)
            }
            Toggle::Deadline => {
                let asked = Reservation { runtime: RESERVED, period };
                class::request_reservation(asked).map(|got| got == asked)
            }
            _ => return Ok(()),
        };
        match (got.value(), got.why()) {
            (Some(true), _) => Ok(()),
            (_, Some(why)) => Err(why.into()),
            _ => Err("the system accepted it, and reports another value".into()),
        }
    }
}

/// The machine whose settings are changed, for one CPU that is measured.
#[derive(Debug, Clone)]
pub(super) struct Machine {
    pub root: Root,
    pub cpu: u32,
    pub cpus: Vec<u32>,
}

impl Machine {
    /// What a toggle changes about the whole machine; none for most of them.
    ///
    /// # Errors
    /// Why there is nothing to change.
    pub(super) fn changes(&self, toggle: Toggle) -> Result<Vec<Change>, String> {
        match toggle {
            Toggle::Governor => self.root.governors(&self.cpus, GOVERNOR),
            Toggle::Interrupts => self.root.interrupts_away_from(self.cpu, &self.cpus),
            Toggle::Preemption => self.root.preemption(PREEMPTION),
            _ => Ok(Vec::new()),
        }
    }

    /// Asks for a toggle, reads back what was granted, and puts it back.
    ///
    /// # Errors
    /// [`Refusal`].
    pub(super) fn probe(&self, toggle: Toggle, period: Duration) -> Result<(), Refusal> {
        let asked = std::thread::Builder::new().spawn(move || toggle.in_thread(period));
        match asked.map(std::thread::JoinHandle::join) {
            Ok(Ok(granted)) => granted.map_err(Refusal::NotHere)?,
            _ => {
                return Err(Refusal::NotHere("no thread could be started to ask for it".into()));
            }
        }
        let changes = self.changes(toggle).map_err(Refusal::NotHere)?;
        let keeper = match changes.is_empty() {
            true => None,
            false => Some(self.root.keep(&changes).map_err(Refusal::not_here)?),
        };
        let held = Held::ask(toggle, &changes, keeper.as_ref()).map_err(Refusal::NotHere)?;
        held.put_back().map_err(Refusal::NotPutBack)?;
        keeper.map_or(Ok(()), |keeper| {
            keeper.finish().map_err(|e| Refusal::NotPutBack(e.to_string()))
        })
    }
}

/// Why a toggle is not measured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Refusal {
    /// It is not available here.
    NotHere(String),
    /// It is, and something could not be put back.
    NotPutBack(String),
}

impl Refusal {
    fn not_here(why: impl std::fmt::Display) -> Refusal {
        Refusal::NotHere(why.to_string())
    }
}

/// What is set for a turn beside its threads. Dropping it puts it back as well, for turns that panic.
#[derive(Debug)]
pub(super) enum Held<'a> {
    Nothing,
    Memory(#[expect(dead_code, reason = "held for its end")] MemoryLock),
    Idle(#[expect(dead_code, reason = "held for its end")] IdleLatency),
    Settings(Changed<'a>),
}

impl<'a> Held<'a> {
    /// Asks, and reads back.
    ///
    /// # Errors
    /// Why it is not granted; then nothing is held.
    pub(super) fn ask(
        toggle: Toggle,
        changes: &[Change],
        keeper: Option<&'a Keeper>,
    ) -> Result<Held<'a>, String> {
        match (toggle, keeper) {
            (Toggle::MemoryLock, _) => lock_memory().map(Held::Memory),
            (Toggle::IdleLatency, _) => {
                idle_latency::hold(IDLE_US).map(Held::Idle).map_err(|e| e.to_string())
            }
            (_, Some(keeper)) if !changes.is_empty() => {
                keeper.change(changes).map(Held::Settings).map_err(|e| e.to_string())
            }
            _ => Ok(Held::Nothing),
        }
    }

    /// Puts it back, and reads it back.
    ///
    /// # Errors
    /// What could not be put back, and what to do.
    pub(super) fn put_back(self) -> Result<(), String> {
        match self {
            Held::Settings(changed) => changed.put_back().map_err(|e| e.to_string()),
            // The kernel ends them with their value, and cannot refuse.
            Held::Nothing | Held::Memory(_) | Held::Idle(_) => Ok(()),
        }
    }
}

/// Other code of this process may unlock everything between the request and the look at it; then it is asked for again.
const LOCK_ATTEMPTS: u32 = 3;

fn lock_memory() -> Result<MemoryLock, String> {
    for _ in 0..LOCK_ATTEMPTS {
        let lock = memory::lock(LockScope::PresentAndFuture);
        let report = lock.report();
        if !report.granted {
            let why = report.why.as_deref().unwrap_or("the system refuses");
            let remedy = report.remedy.as_ref().map(|remedy| format!("; {remedy}"));
            return Err(format!("{why}{}", remedy.unwrap_or_default()));
        }
        if report.locked_bytes.value() != Some(&0) {
            return Ok(lock);
        }
    }
    Err("the system accepted it, and reports no locked memory".into())
}
