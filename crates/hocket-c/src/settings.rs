//! The settings of an engine.

use std::ffi::c_char;
use std::time::Duration;

use hocket_engine::{
    MainThread, Policy, ScheduleKind, Seating, Settings as EngineSettings, SiblingPolicy, Steer,
    Strategy, Topology,
};

use crate::border::text;
use crate::failure::Failure;

/// The settings of an engine. Start with `hocket_settings_for` and change what you need. The names are those of
/// `hocket bench`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Settings {
    /// The largest block, 1 to 8192 frames.
    pub frames: u32,
    /// The sample rate, 8000 to 384000 Hz. 0: that of the session.
    pub rate_hz: u32,
    /// The number of workers, including the leader. 0: one per seat that the policy uses.
    pub workers: u32,
    /// The SCHED_FIFO priority of leader, workers and guards, 1 to 99. 0: ordinary threads.
    pub priority: u32,
    /// How units go to workers: "serial", "lists", "dataflow", "steal", "critical".
    pub schedule: *const c_char,
    /// What may run beside a worker on its core: "off", "all", "process-affinity", "idle-thread",
    /// "reserve-core", "pair-barrier", "cookie", "cookie-worker", "cookie-pair", "partition", "offline".
    pub policy: *const c_char,
    /// How workers wait inside a block: "spin", "pause", "yield", "tpause", "umwait", "mwaitx", "wfe",
    /// "hybrid", "futex". Hocket refuses one that the CPU lacks.
    pub wait: *const c_char,
    /// What happens to the schedule while the engine measures costs: "fixed", "costs", "auto". NULL: "costs"
    /// for the schedule "critical", otherwise "fixed".
    pub steer: *const c_char,
    /// How an idle thread holds its seat (policies "idle-thread" and "pair-barrier"): one of the names of
    /// `wait`. A wait that blocks gives the seat up; use it only for comparison. NULL: "pause".
    pub seat_wait: *const c_char,
    /// How long "hybrid" spins inside a block before it blocks, where all threads have seats and a real-time
    /// class. Elsewhere it spins for 20 µs at most, because a thread may hold up the one that it waits for.
    pub hybrid_spin_ns: u64,
    /// How long a worker spins between two blocks before it blocks, unless it wakes itself early
    /// (`early_wake_ns`). With "futex" it blocks at once.
    pub gate_spin_ns: u64,
    /// How long before a planned block (`hocket_engine_expect_next`) a worker wakes itself. 0: it sleeps
    /// until the leader wakes it.
    pub early_wake_ns: u64,
    /// How long a worker that woke itself spins past the planned time before it blocks.
    pub leader_lateness_ns: u64,
    /// Whether the engine notes what each thread does in a block, so that it can explain late blocks
    /// (`hocket_engine_explain`). The leader then copies these notes after each block, about 25 bytes per
    /// unit. They need memory for 256 blocks.
    pub explain_late: bool,
    /// Which thread frees processors and calls their main sides (`hocket_main_side`). "own": one of the engine's, which
    /// starts when it is needed. "starting": the one that starts the engine. It calls `hocket_engine_service` regularly,
    /// and stops the engine. NULL: "own".
    pub main_thread: *const c_char,
    /// Names of `policy`, separated by commas, to which `hocket_engine_set_sibling_policy` may change while the engine plays:
    /// "all,cookie". The threads that each of them needs start with the engine, and sleep where the present policy does not need
    /// them. Hocket refuses "partition" and "offline" here, and also as `policy` beside others. NULL: the policy stays.
    pub sibling_policies: *const c_char,
}

/// Settings for a block length and a rate. The rest are the defaults of `hocket bench`: "dataflow", "off",
/// "hybrid", SCHED_FIFO 60.
///
/// Thread: any. Cost: none.
#[unsafe(no_mangle)]
pub extern "C" fn hocket_settings_for(frames: u32, rate_hz: u32) -> Settings {
    let policy = Policy {
        schedule: ScheduleKind::Dataflow,
        sibling: SiblingPolicy::Off,
        wait: Strategy::Hybrid,
    };
    let usual = EngineSettings::new(frames, rate_hz, policy);
    let ns = |time: Duration| time.as_nanos() as u64;
    Settings {
        frames,
        rate_hz,
        workers: 0,
        priority: usual.priority.map_or(0, u32::from),
        schedule: c"dataflow".as_ptr(),
        policy: c"off".as_ptr(),
        wait: c"hybrid".as_ptr(),
        steer: std::ptr::null(),
        hybrid_spin_ns: ns(usual.hybrid_spin),
        gate_spin_ns: ns(usual.gate_spin),
        early_wake_ns: ns(usual.early_wake),
        leader_lateness_ns: ns(usual.leader_lateness),
        seat_wait: std::ptr::null(),
        explain_late: false,
        main_thread: std::ptr::null(),
        sibling_policies: std::ptr::null(),
    }
}

impl Settings {
    /// Converts the settings for the engine. `session_hz` replaces a rate of 0.
    ///
    /// # Safety
    /// P for the names.
    pub(crate) unsafe fn read(&self, session_hz: u32) -> Result<EngineSettings, Failure> {
        let rate_hz = if self.rate_hz == 0 { session_hz } else { self.rate_hz };
        // SAFETY: the caller's obligation.
        let policy = unsafe { self.policy() }?;
        let usual = EngineSettings::new(self.frames, rate_hz, policy);
        // SAFETY: the caller's obligation.
        let steer = unsafe { self.steer(usual.steer) }?;
        let settings = EngineSettings {
            priority: priority(self.priority)?,
            hybrid_spin: short("hybrid_spin_ns", self.hybrid_spin_ns)?,
            gate_spin: short("gate_spin_ns", self.gate_spin_ns)?,
            early_wake: short("early_wake_ns", self.early_wake_ns)?,
            leader_lateness: short("leader_lateness_ns", self.leader_lateness_ns)?,
            // SAFETY: the caller's obligation.
            seat_wait: unsafe { self.seat_wait(usual.seat_wait) }?,
            spans: self.explain_late,
            // SAFETY: the caller's obligation.
            main_thread: unsafe { self.main_thread(usual.main_thread) }?,
            // SAFETY: the caller's obligation.
            sibling_policies: unsafe { self.sibling_policies() }?,
            steer,
            ..usual
        };
        settings.check()?;
        Ok(settings)
    }

    /// # Safety
    /// P for the names.
    unsafe fn policy(&self) -> Result<Policy, Failure> {
        // SAFETY: the caller's obligation, for all three.
        let (schedule, sibling, wait) = unsafe {
            (
                text(self.schedule, "settings.schedule")?,
                text(self.policy, "settings.policy")?,
                text(self.wait, "settings.wait")?,
            )
        };
        Ok(Policy {
            schedule: schedule_named(schedule)?,
            sibling: sibling_named(sibling)?,
            wait: wait_named(wait)?,
        })
    }

    /// # Safety
    /// P for the names.
    unsafe fn sibling_policies(&self) -> Result<Vec<SiblingPolicy>, Failure> {
        if self.sibling_policies.is_null() {
            return Ok(Vec::new());
        }
        // SAFETY: the caller's obligation.
        let names = unsafe { text(self.sibling_policies, "settings.sibling_policies") }?;
        names.split(',').map(|name| sibling_named(name.trim())).collect()
    }

    /// # Safety
    /// P for the name.
    unsafe fn steer(&self, usual: Steer) -> Result<Steer, Failure> {
        if self.steer.is_null() {
            return Ok(usual);
        }
        // SAFETY: the caller's obligation.
        let name = unsafe { text(self.steer, "settings.steer") }?;
        let known = [("fixed", Steer::Fixed), ("costs", Steer::Costs), ("auto", Steer::Auto)];
        named("steer", name, &known)
    }

    /// # Safety
    /// P for the name.
    unsafe fn seat_wait(&self, usual: Strategy) -> Result<Strategy, Failure> {
        if self.seat_wait.is_null() {
            return Ok(usual);
        }
        // SAFETY: the caller's obligation.
        let name = unsafe { text(self.seat_wait, "settings.seat_wait") }?;
        named("seat_wait", name, &waits())
    }

    /// # Safety
    /// P for the name.
    unsafe fn main_thread(&self, usual: MainThread) -> Result<MainThread, Failure> {
        if self.main_thread.is_null() {
            return Ok(usual);
        }
        // SAFETY: the caller's obligation.
        let name = unsafe { text(self.main_thread, "settings.main_thread") }?;
        let known = [("own", MainThread::Own), ("starting", MainThread::Starting)];
        named("main_thread", name, &known)
    }

    /// The seats of all threads on this machine.
    pub(crate) fn seating(&self, policy: SiblingPolicy) -> Result<Seating, Failure> {
        let workers = (self.workers > 0).then_some(self.workers as usize);
        Seating::here(&topology()?, policy, workers).map_err(Failure::bad_input)
    }
}

/// This machine.
pub(crate) fn topology() -> Result<Topology, Failure> {
    Topology::discover().map_err(Failure::not_possible)
}

/// The longest allowed spin. A longer one is probably given in a wrong unit of time.
fn short(what: &str, ns: u64) -> Result<Duration, Failure> {
    let refused = || Failure::bad_input(format!("settings.{what} of {ns} is more than a second"));
    (ns <= 1_000_000_000).then_some(Duration::from_nanos(ns)).ok_or_else(refused)
}

fn priority(asked: u32) -> Result<Option<u8>, Failure> {
    let no = |_| format!("a real-time priority of {asked} is not possible: choose 1 to 99");
    let priority = u8::try_from(asked).map_err(no).map_err(Failure::bad_input)?;
    Ok((priority > 0).then_some(priority))
}

pub(crate) fn schedule_named(name: &str) -> Result<ScheduleKind, Failure> {
    named("schedule", name, &ScheduleKind::ALL.map(|kind| (kind.name(), kind)))
}

pub(crate) fn sibling_named(name: &str) -> Result<SiblingPolicy, Failure> {
    named("policy", name, &SiblingPolicy::ALL.map(|policy| (policy.name(), policy)))
}

pub(crate) fn wait_named(name: &str) -> Result<Strategy, Failure> {
    named("wait", name, &waits())
}

fn waits() -> [(&'static str, Strategy); Strategy::ALL.len()] {
    Strategy::ALL.map(|wait| (wait.name(), wait))
}

fn named<T: Copy>(what: &str, name: &str, known: &[(&str, T)]) -> Result<T, Failure> {
    let found = known.iter().find(|(own, _)| *own == name).map(|(_, value)| *value);
    found.ok_or_else(|| {
        let names: Vec<&str> = known.iter().map(|(own, _)| *own).collect();
        Failure::bad_input(format!("there is no {what} '{name}': choose {}", names.join(", ")))
    })
}
