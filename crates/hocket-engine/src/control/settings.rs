//! How an engine plays: its settings.

use std::time::Duration;

use hocket_plan::schedule::Overheads;
use hocket_plan::{ScheduleKind, SiblingPolicy};
use hocket_rt::Strategy;

use crate::block::abreast::Kernel;
use crate::block::times::period_ns;

/// How long `hybrid` usually spins inside a block. A thread that has blocked comes some 25 µs after its
/// signal on a virtual machine (docs/results, lab: `wake`), and the whole block waits for it. So it spins
/// through all but long waits.
const HYBRID_SPIN: Duration = Duration::from_micros(100);

/// How units are assigned, who may sit beside a worker, and how workers wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Policy {
    /// How units are assigned to workers.
    pub schedule: ScheduleKind,
    /// What may run on the other seat of a pair.
    pub sibling: SiblingPolicy,
    /// How workers wait inside a block.
    pub wait: Strategy,
}

impl std::fmt::Display for Policy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} / {} / {}", self.schedule.name(), self.sibling.name(), self.wait)
    }
}

/// What happens to the schedule while the engine measures costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Steer {
    /// It stays.
    Fixed,
    /// The planner makes a new one of the same kind when measured costs move.
    Costs,
    /// Kind and number of workers are chosen by what a block is expected to take, beginning with the
    /// serial walk; the settings' own schedule is not looked at.
    Auto,
}

/// Whether equal effects of two strips run as one, in one vector. The output is the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Couples {
    /// Each chain runs by itself.
    Never,
    /// Where this CPU has registers for it.
    WhereTheyPay,
    /// On every CPU: for tests.
    Always,
}

impl Couples {
    /// Whether plans have couples here.
    pub(crate) fn are_made(self) -> bool {
        match self {
            Couples::Never => false,
            Couples::WhereTheyPay => Kernel::here().pays(),
            Couples::Always => true,
        }
    }
}

/// Which thread frees processors and calls their main sides ([`hocket_dsp::host`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MainThread {
    /// One of the engine's own. It starts when it is needed, and sleeps while nobody needs it.
    Own,
    /// The one that starts the engine: for plug-ins that want to be made there too. It calls
    /// [`Control::service`](crate::Control::service) now and then, and drops the engine's last handle.
    Starting,
}

/// How an engine plays a session.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// The largest block, in frames.
    pub frames: u32,
    /// Sample rate of engine and device.
    pub rate_hz: u32,
    /// Schedule, sibling policy and wait.
    pub policy: Policy,
    /// How an idle thread holds its seat (policies `idle-thread` and `pair-barrier`). A blocking wait gives
    /// the seat up; use it only for comparison.
    pub seat_wait: Strategy,
    /// SCHED_FIFO priority of leader, workers and guards; `None`: stay in the ordinary class.
    pub priority: Option<u8>,
    /// How long `hybrid` spins inside a block before it blocks, where all threads have seats and a real-time class.
    /// Elsewhere it spins for [`Strategy::USUAL_SPIN`] at most, because a thread may hold up the one that it waits for.
    pub hybrid_spin: Duration,
    /// How long a worker spins between two blocks before it blocks, unless it wakes itself early
    /// (`early_wake`). With `futex` it blocks at once.
    pub gate_spin: Duration,
    /// How long before a planned block a worker wakes itself, to be spinning when the signal comes;
    /// zero: it sleeps until it is woken. Not with `futex`, nor without seat and real-time class.
    pub early_wake: Duration,
    /// How long a worker that woke itself spins past the planned time before it blocks.
    pub leader_lateness: Duration,
    /// Notes every worker's spans of the last block, for traces. [`Control::set_spans`](crate::Control::set_spans)
    /// changes it while the engine plays.
    pub spans: bool,
    /// What happens to the schedule while the engine measures costs.
    pub steer: Steer,
    /// Whether a single worker runs the units in order, with any schedule: the same output for less.
    /// Benchmarks of a schedule's own cost turn it off.
    pub alone_is_serial: bool,
    /// Overheads of working together on this machine, in nanoseconds, for plans by cost.
    pub overheads: Overheads,
    /// The kind of schedule with the shortest blocks on this machine, if known. [`Steer::Auto`] uses it
    /// without a trial. `None`: it holds a trial.
    pub found_before: Option<ScheduleKind>,
    /// Which thread frees processors and calls their main sides.
    pub main_thread: MainThread,
    /// Whether equal effects of two strips run as one.
    pub couples: Couples,
    /// Sibling policies besides that of `policy` that may be chosen while the engine plays
    /// ([`Control::set_sibling_policy`](crate::Control::set_sibling_policy)). The threads that each of them needs start with
    /// the engine, and sleep where the present policy does not need them. Not `partition` and not `offline`.
    pub sibling_policies: Vec<SiblingPolicy>,
}

/// Why settings are refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    /// Block length out of range.
    #[error(
        "a block of {0} frames is not possible: choose {min} to {max} frames (64 is usual for live playing)",
        min = Settings::FRAMES.start(),
        max = Settings::FRAMES.end()
    )]
    Frames(u32),
    /// Sample rate out of range.
    #[error(
        "a sample rate of {0} Hz is not possible: choose {min} to {max} Hz (44100 and 48000 are usual)",
        min = Settings::RATES_HZ.start(),
        max = Settings::RATES_HZ.end()
    )]
    Rate(u32),
    /// A way of waiting that this CPU does not have.
    #[error("wait '{0}' is not possible here: {1}")]
    Wait(Strategy, &'static str),
    /// Priority out of range.
    #[error("a real-time priority of {0} is not possible: choose 1 to 99")]
    Priority(u8),
    /// A sibling policy that cannot begin or end while an engine plays.
    #[error(
        "sibling policy {} cannot change while the engine plays, because it changes the system and stops threads for longer \
         than a block: start the engine with it alone",
        .0.name()
    )]
    SiblingPolicy(SiblingPolicy),
}

impl Settings {
    /// Block lengths that are accepted.
    pub const FRAMES: std::ops::RangeInclusive<u32> = 1..=8192;
    /// Sample rates that are accepted.
    pub const RATES_HZ: std::ops::RangeInclusive<u32> = 8_000..=384_000;

    /// The `SCHED_FIFO` priority that threads ask for, unless told otherwise: above ordinary work, below
    /// the kernel's own threads (migration and watchdog at 99) and where JACK's driver usually stands
    /// (70 on Debian).
    pub const PRIORITY: u8 = 60;

    /// Settings for a block length, a rate and a policy; the rest as `hocket bench` uses it.
    pub fn new(frames: u32, rate_hz: u32, policy: Policy) -> Settings {
        Settings {
            frames,
            rate_hz,
            policy,
            seat_wait: Strategy::Pause,
            priority: Some(Settings::PRIORITY),
            hybrid_spin: HYBRID_SPIN,
            gate_spin: Duration::from_micros(50),
            // A timer under SCHED_FIFO is 7 to 10 µs late here, 25 µs at the 99th percentile; the
            // leader's own timer has the same lateness.
            early_wake: Duration::from_micros(40),
            leader_lateness: Duration::from_micros(100),
            spans: true,
            steer: match policy.schedule {
                ScheduleKind::Critical => Steer::Costs,
                _ => Steer::Fixed,
            },
            alone_is_serial: true,
            overheads: Overheads::MEASURED_NS,
            found_before: None,
            main_thread: MainThread::Own,
            couples: Couples::Never,
            sibling_policies: Vec::new(),
        }
    }

    /// Checks the ranges.
    ///
    /// # Errors
    /// [`SettingsError`].
    pub fn check(&self) -> Result<(), SettingsError> {
        if !Self::FRAMES.contains(&self.frames) {
            return Err(SettingsError::Frames(self.frames));
        }
        if !Self::RATES_HZ.contains(&self.rate_hz) {
            return Err(SettingsError::Rate(self.rate_hz));
        }
        for wait in [self.policy.wait, self.seat_wait] {
            if let Some(why) = wait.missing() {
                return Err(SettingsError::Wait(wait, why));
            }
        }
        let mut siblings = self.sibling_policies.iter().copied().chain([self.policy.sibling]);
        let fixed = siblings.find(|policy| !policy.changes_live());
        if let Some(policy) = fixed.filter(|_| !self.sibling_policies.is_empty()) {
            return Err(SettingsError::SiblingPolicy(policy));
        }
        match self.priority {
            Some(priority) if !(1..=99).contains(&priority) => {
                Err(SettingsError::Priority(priority))
            }
            _ => Ok(()),
        }
    }

    /// Time from a block's start to its deadline.
    pub fn period(&self) -> Duration {
        Duration::from_nanos(period_ns(self.frames.into(), self.rate_hz))
    }
}
