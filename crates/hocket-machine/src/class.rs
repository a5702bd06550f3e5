//! Scheduling class and priority of the calling thread: requested, then read back.
//!
//! A refusal is an answer, not an error. [`request`] always returns what the thread has now. If that is not what was
//! requested, it adds why, and what would help. A real-time thread starts ordinary threads (`SCHED_RESET_ON_FORK`): a
//! plug-in that starts a helper from the audio thread must not get a real-time helper.

use std::fmt;
use std::io;
use std::time::Duration;

use serde::Serialize;

use crate::fact::Fact;
use crate::kernel_files::{KernelFiles, field};
use crate::pin::ThreadId;
use crate::sys::{self, Limit, Resource, SchedAttr};

/// A scheduling class to request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "class")]
pub enum Class {
    /// SCHED_FIFO: runs until it blocks or a higher priority wants the CPU.
    Fifo {
        /// 1 (lowest) to 99.
        priority: u8,
    },
    /// SCHED_RR: like FIFO, but threads of one priority take turns.
    RoundRobin {
        /// 1 (lowest) to 99.
        priority: u8,
    },
    /// SCHED_OTHER: the ordinary class.
    Other {
        /// -20 (most CPU time) to 19.
        nice: i8,
    },
    /// SCHED_BATCH: ordinary, but never urgent.
    Batch {
        /// -20 (most CPU time) to 19.
        nice: i8,
    },
    /// SCHED_IDLE: runs only if nobody else wants to.
    Idle,
}

/// A scheduling policy as the system names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Policy {
    /// SCHED_OTHER.
    Other,
    /// SCHED_FIFO.
    Fifo,
    /// SCHED_RR.
    RoundRobin,
    /// SCHED_BATCH.
    Batch,
    /// SCHED_IDLE.
    Idle,
    /// SCHED_DEADLINE.
    Deadline,
    /// An unknown one, by number.
    Unknown(u32),
}

/// What the system reports about the calling thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct ClassNow {
    /// Its policy.
    pub policy: Policy,
    /// Its real-time priority, 1 to 99; 0 for the ordinary classes.
    pub priority: u8,
    /// Its nice value; 0 for the real-time classes.
    pub nice: i8,
    /// Whether threads it starts begin as ordinary ones.
    pub reset_on_fork: bool,
    /// The slice that it requested of the ordinary class, if any.
    pub slice_ns: Option<u64>,
}

/// The budget of CPU time that a real-time thread may use without blocking, in microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct RealTimeBudget {
    /// At this limit the thread gets SIGXCPU, every second again; none is unlimited.
    pub soft_us: Option<u64>,
    /// At this limit the kernel kills the process; none is unlimited.
    pub hard_us: Option<u64>,
}

/// A request and its result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ClassReport {
    /// The request.
    pub asked: Class,
    /// What the system reports now, read back after the request.
    pub got: Fact<ClassNow>,
    /// Whether `got` is what was requested.
    pub granted: bool,
    /// If not: why.
    pub why: Option<String>,
    /// What would help, if anything would.
    pub remedy: Option<String>,
    /// The budget of CPU time for real-time threads of this process.
    pub budget: Fact<RealTimeBudget>,
}

/// Requests `class` for the calling thread.
///
/// Thread: any, for itself. Cost: two or three system calls; reasons are looked up only after a refusal. Not for the block.
pub fn request(class: Class) -> ClassReport {
    request_of(ThreadId(0), class)
}

/// Like [`request`], for another thread of this process.
pub fn request_of(thread: ThreadId, class: Class) -> ClassReport {
    let before = sys::sched_attr_of(thread.0);
    let keep_reset = before.as_ref().is_ok_and(|a| a.flags & sys::RESET_ON_FORK != 0);
    let attr = attributes(class, keep_reset);
    let result = sys::set_sched_attr_of(thread.0, &attr);
    let got: Fact<ClassNow> = now_of(thread);
    let granted = result.is_ok() && got.value().is_some_and(|got| got.is(class));
    let (why, remedy) = match &result {
        Err(e) => refusal(class, e),
        Ok(()) if granted => (None, None),
        Ok(()) => (Some(format!("the system accepted the request but reports {got}")), None),
    };
    ClassReport { asked: class, got, granted, why, remedy, budget: budget() }
}

/// What the system reports about the calling thread. Cost: one system call.
pub fn now() -> Fact<ClassNow> {
    now_of(ThreadId(0))
}

/// What the system reports about a thread. Cost: one system call.
pub fn now_of(thread: ThreadId) -> Fact<ClassNow> {
    match sys::sched_attr_of(thread.0) {
        Ok(attr) => Fact::Value(ClassNow::of(&attr)),
        Err(e) => Fact::Unknown(format!("sched_getattr: {}", crate::kernel_files::plain(&e))),
    }
}

/// The limit on CPU time without blocking for real-time threads (RLIMIT_RTTIME).
pub fn budget() -> Fact<RealTimeBudget> {
    let limit =
        sys::limit(Resource::RealTimeMicroseconds).map_err(|e| crate::kernel_files::plain(&e));
    Fact::from(limit).map(|Limit { soft, hard }| RealTimeBudget { soft_us: soft, hard_us: hard })
}

/// Requests a slice of this length of the ordinary class: shorter slices run sooner after waking up.
///
/// Needs no rights. Returns what the system then reports: kernels before 6.12 ignore it, later ones keep it between
/// 0.1 and 100 ms.
pub fn request_slice(slice: Duration) -> Fact<u64> {
    let asked = |mut attr: SchedAttr| {
        attr.runtime = u64::try_from(slice.as_nanos()).unwrap_or(u64::MAX);
        attr.flags &= sys::RESET_ON_FORK;
        sys::set_sched_attr(&attr)?;
        sys::sched_attr()
    };
    match sys::sched_attr().and_then(asked).map(|attr| ClassNow::of(&attr).slice_ns) {
        Ok(Some(ns)) => Fact::Value(ns),
        Ok(None) => Fact::Unknown(
            "this kernel does not take slices from threads (it does from 6.12 on)".into(),
        ),
        Err(e) => Fact::Unknown(format!("sched_setattr: {}", crate::kernel_files::plain(&e))),
    }
}

/// CPU time that the kernel sets aside for a thread (SCHED_DEADLINE): this much in each period.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Reservation {
    /// CPU time in each period; a thread that uses it up waits for the next one.
    pub runtime: Duration,
    /// The period, which is the deadline as well.
    pub period: Duration,
}

/// Requests CPU time of the class SCHED_DEADLINE for the calling thread, and returns what the system then reports. Threads
/// that it starts are ordinary ones. The kernel grants it only to threads that may run on every CPU of their cpuset.
///
/// Thread: any, for itself. Cost: two system calls. Not for the block.
pub fn request_reservation(asked: Reservation) -> Fact<Reservation> {
    let ns = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    let attr = SchedAttr {
        policy: sys::SCHED_DEADLINE,
        flags: sys::RESET_ON_FORK,
        runtime: ns(asked.runtime),
        deadline: ns(asked.period),
        period: ns(asked.period),
        ..SchedAttr::default()
    };
    match sys::set_sched_attr(&attr).and_then(|()| sys::sched_attr()) {
        Ok(got) if got.policy == sys::SCHED_DEADLINE => Fact::Value(Reservation {
            runtime: Duration::from_nanos(got.runtime),
            period: Duration::from_nanos(got.period),
        }),
        Ok(got) => {
            Fact::Unknown(format!("it was accepted, and {} is reported", ClassNow::of(&got)))
        }
        Err(e) => Fact::Unknown(no_reservation(&e)),
    }
}

fn no_reservation(error: &io::Error) -> String {
    match (error.raw_os_error(), has_capability(CAP_SYS_NICE)) {
        (Some(libc::EPERM), Some(false)) => {
            "SCHED_DEADLINE takes CAP_SYS_NICE, which the process lacks; run as root".into()
        }
        (Some(libc::EPERM), _) => {
            "the kernel refuses SCHED_DEADLINE, as it does for a thread that may not run on every CPU of its cpuset"
                .into()
        }
        (Some(libc::EBUSY), _) => {
            "the kernel has no CPU time left for SCHED_DEADLINE (kernel.sched_rt_runtime_us)".into()
        }
        _ => format!("sched_setattr: {}", crate::kernel_files::plain(error)),
    }
}

/// Restores the calling thread's class when dropped.
///
/// For short stays in another class. It must be dropped by the thread that made it, so it cannot be sent away.
#[derive(Debug)]
#[must_use = "dropping it gives the old class back at once"]
pub struct ClassGuard {
    before: Option<SchedAttr>,
    _not_send: std::marker::PhantomData<*const ()>,
}

impl ClassGuard {
    /// Remembers the class of the calling thread.
    pub fn remember() -> Self {
        Self { before: sys::sched_attr().ok(), _not_send: std::marker::PhantomData }
    }
}

impl Drop for ClassGuard {
    fn drop(&mut self) {
        let Some(before) = &self.before else { return };
        let kept = sys::sched_attr().map_or(0, |now| now.flags & sys::RESET_ON_FORK);
        // Taking RESET_ON_FORK away again needs a right that the thread may lack; then it stays, which harms nothing.
        let exact = SchedAttr { flags: before.flags & sys::RESET_ON_FORK, ..*before };
        if sys::set_sched_attr(&exact).is_err() {
            let _ = sys::set_sched_attr(&SchedAttr { flags: kept, ..*before });
        }
    }
}

pub(crate) fn attributes(class: Class, keep_reset: bool) -> SchedAttr {
    let flags = if keep_reset { sys::RESET_ON_FORK } else { 0 };
    let ordinary = SchedAttr { flags, ..SchedAttr::default() };
    let real_time = SchedAttr { flags: sys::RESET_ON_FORK, ..SchedAttr::default() };
    match class {
        Class::Fifo { priority } => {
            SchedAttr { policy: sys::SCHED_FIFO, priority: priority.into(), ..real_time }
        }
        Class::RoundRobin { priority } => {
            SchedAttr { policy: sys::SCHED_RR, priority: priority.into(), ..real_time }
        }
        Class::Other { nice } => {
            SchedAttr { policy: sys::SCHED_OTHER, nice: nice.into(), ..ordinary }
        }
        Class::Batch { nice } => {
            SchedAttr { policy: sys::SCHED_BATCH, nice: nice.into(), ..ordinary }
        }
        Class::Idle => SchedAttr { policy: sys::SCHED_IDLE, ..ordinary },
    }
}

impl ClassNow {
    pub(crate) fn of(attr: &SchedAttr) -> Self {
        let policy = match attr.policy {
            sys::SCHED_OTHER => Policy::Other,
            sys::SCHED_FIFO => Policy::Fifo,
            sys::SCHED_RR => Policy::RoundRobin,
            sys::SCHED_BATCH => Policy::Batch,
            sys::SCHED_IDLE => Policy::Idle,
            sys::SCHED_DEADLINE => Policy::Deadline,
            other => Policy::Unknown(other),
        };
        let takes_slices = matches!(policy, Policy::Other | Policy::Batch);
        Self {
            policy,
            priority: attr.priority.min(99) as u8,
            nice: attr.nice.clamp(-20, 19) as i8,
            reset_on_fork: attr.flags & sys::RESET_ON_FORK != 0,
            slice_ns: (takes_slices && attr.runtime > 0).then_some(attr.runtime),
        }
    }

    /// Whether a thread with this class is real-time and gets the CPU from a thread with `other` as soon as it wakes.
    /// An unknown policy is outranked by nobody.
    pub fn outranks(&self, other: &Self) -> bool {
        let first = match other.policy {
            Policy::Other | Policy::Batch | Policy::Idle => true,
            Policy::Fifo | Policy::RoundRobin => {
                self.policy == Policy::Deadline || self.priority > other.priority
            }
            Policy::Deadline | Policy::Unknown(_) => false,
        };
        self.is_real_time() && first
    }

    /// Whether this is `class`.
    pub fn is(&self, class: Class) -> bool {
        match class {
            Class::Fifo { priority } => self.policy == Policy::Fifo && self.priority == priority,
            Class::RoundRobin { priority } => {
                self.policy == Policy::RoundRobin && self.priority == priority
            }
            Class::Other { nice } => self.policy == Policy::Other && self.nice == nice,
            Class::Batch { nice } => self.policy == Policy::Batch && self.nice == nice,
            Class::Idle => self.policy == Policy::Idle,
        }
    }

    /// Whether the thread runs before all ordinary ones.
    pub fn is_real_time(&self) -> bool {
        matches!(self.policy, Policy::Fifo | Policy::RoundRobin | Policy::Deadline)
    }
}

// ---- reasons ------------------------------------------------------------------------------------------------------

pub(crate) type Reason = (Option<String>, Option<String>);

pub(crate) fn refusal(class: Class, error: &io::Error) -> Reason {
    match (error.raw_os_error(), class) {
        (Some(libc::EPERM), Class::Fifo { priority } | Class::RoundRobin { priority }) => {
            no_real_time(priority)
        }
        (Some(libc::EPERM), Class::Other { nice } | Class::Batch { nice }) => no_nice(nice),
        (Some(libc::EINVAL), Class::Fifo { priority } | Class::RoundRobin { priority }) => {
            let remedy = "request a priority from 1 to 99".to_string();
            (Some(format!("{priority} is not a real-time priority")), Some(remedy))
        }
        (Some(libc::ENOSYS), _) => {
            (Some("the kernel has no sched_setattr (it came with Linux 3.14)".into()), None)
        }
        _ => (Some(format!("sched_setattr: {}", crate::kernel_files::plain(error))), None),
    }
}

/// EPERM for a real-time class: the limit, else group scheduling.
fn no_real_time(priority: u8) -> Reason {
    let limit = sys::limit(Resource::RealTimePriority).ok();
    let allowed = limit.is_some_and(|l| l.soft.is_none_or(|soft| soft >= priority.into()));
    if allowed || has_capability(CAP_SYS_NICE) == Some(true) {
        return group_scheduling();
    }
    let shown = limit.map_or("unknown".to_string(), |l| show(l.soft));
    let hard = limit.map_or("unknown".to_string(), |l| show(l.hard));
    let why = format!(
        "the limit on real-time priority (RLIMIT_RTPRIO) is {shown} (hard {hard}), {priority} was asked, and the \
         process has no CAP_SYS_NICE"
    );
    (Some(why), Some(rtprio_remedy()))
}

fn rtprio_remedy() -> String {
    "put the line `@audio - rtprio 95` in /etc/security/limits.d/audio.conf, join the group `audio` and log in again; \
     a service needs LimitRTPRIO=95"
        .into()
}

fn group_scheduling() -> Reason {
    let built = match kernel_option("CONFIG_RT_GROUP_SCHED") {
        Some(true) => "this kernel is built with CONFIG_RT_GROUP_SCHED",
        Some(false) => {
            "this kernel is built without CONFIG_RT_GROUP_SCHED, so something else forbids it"
        }
        None => {
            "probably this kernel is built with CONFIG_RT_GROUP_SCHED (its configuration cannot be read)"
        }
    };
    let group = KernelFiles::live().text("proc/self/cgroup").unwrap_or_default().replace('\n', " ");
    let why = format!(
        "the limits allow it, yet the kernel refuses: {built}, and the control group of this process ({group}) has no \
         real-time budget"
    );
    let remedy = "start the program in the root control group, or give its group a budget (cpu.rt_runtime_us), or boot \
                  with rt_group_sched=0";
    (Some(why), Some(remedy.into()))
}

fn no_nice(nice: i8) -> Reason {
    let limit = sys::limit(Resource::Nice).ok().map(|l| l.soft);
    // The limit counts the other way round: 20 - nice.
    let least = match limit {
        Some(Some(ceiling)) if ceiling <= 1 => "nice cannot be lowered at all".to_string(),
        Some(Some(ceiling)) => format!("the least is {}", 20 - ceiling.min(40) as i64),
        Some(None) => "the least is -20".into(),
        None => "the least is unknown".into(),
    };
    let why = format!("nice {nice} was requested; without CAP_SYS_NICE {least} (RLIMIT_NICE)");
    let remedy = "put the line `@audio - nice -15` in /etc/security/limits.d/audio.conf and log in again; a service needs LimitNICE=-15";
    (Some(why), Some(remedy.into()))
}

fn show(limit: Option<u64>) -> String {
    limit.map_or("unlimited".into(), |l| l.to_string())
}

/// The number of CAP_SYS_NICE.
pub(crate) const CAP_SYS_NICE: u32 = 23;
/// The number of CAP_IPC_LOCK.
pub(crate) const CAP_IPC_LOCK: u32 = 14;

/// Whether this process has a capability in force.
pub(crate) fn has_capability(number: u32) -> Option<bool> {
    let status = KernelFiles::live().text("proc/self/status").ok()?;
    let mask = u64::from_str_radix(field(&status, "CapEff")?, 16).ok()?;
    Some(mask >> number & 1 == 1)
}

/// Whether the kernel was built with an option; none if its configuration is not there as plain text.
pub(crate) fn kernel_option(option: &str) -> Option<bool> {
    let (release, ..) = sys::kernel_names().ok()?;
    let files = KernelFiles::live();
    let places = [
        format!("boot/config-{release}"),
        format!("lib/modules/{release}/config"),
        "proc/config".into(),
    ];
    let config = places.iter().find_map(|place| files.text(place).ok())?;
    Some(config.lines().any(|line| line == format!("{option}=y")))
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fifo { priority } => write!(f, "SCHED_FIFO {priority}"),
            Self::RoundRobin { priority } => write!(f, "SCHED_RR {priority}"),
            Self::Other { nice } => write!(f, "SCHED_OTHER nice {nice}"),
            Self::Batch { nice } => write!(f, "SCHED_BATCH nice {nice}"),
            Self::Idle => f.write_str("SCHED_IDLE"),
        }
    }
}

impl fmt::Display for ClassNow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { policy, priority, nice, .. } = self;
        match policy {
            Policy::Fifo | Policy::RoundRobin => write!(f, "{policy} {priority}"),
            Policy::Other | Policy::Batch => write!(f, "{policy} nice {nice}"),
            _ => policy.fmt(f),
        }
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Other => f.write_str("SCHED_OTHER"),
            Self::Fifo => f.write_str("SCHED_FIFO"),
            Self::RoundRobin => f.write_str("SCHED_RR"),
            Self::Batch => f.write_str("SCHED_BATCH"),
            Self::Idle => f.write_str("SCHED_IDLE"),
            Self::Deadline => f.write_str("SCHED_DEADLINE"),
            Self::Unknown(number) => write!(f, "scheduling policy {number}"),
        }
    }
}

impl fmt::Display for ClassReport {
    /// One line: the request, what the thread has, and the reason if they differ.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.granted {
            return write!(f, "{} (asked and got)", self.got);
        }
        write!(f, "asked for {}, got {}", self.asked, self.got)?;
        if let Some(why) = &self.why {
            write!(f, ": {why}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_outranks_those_from_which_the_system_takes_the_cpu_for_it() {
        let class = |policy, priority| ClassNow {
            policy,
            priority,
            nice: 0,
            reset_on_fork: false,
            slice_ns: None,
        };
        // Ordinary classes share the CPU among each other.
        let ascending = [
            class(Policy::Other, 0),
            class(Policy::Fifo, 10),
            class(Policy::RoundRobin, 60),
            class(Policy::Deadline, 0),
        ];
        for (i, one) in ascending.iter().enumerate() {
            for (j, other) in ascending.iter().enumerate() {
                assert_eq!(one.outranks(other), i > j, "{one} and {other}");
            }
        }
        let [other, fifo, ..] = ascending;
        assert!(fifo.outranks(&class(Policy::Idle, 0)) && !other.outranks(&class(Policy::Idle, 0)));
        assert!(!fifo.outranks(&fifo), "a thread waits for another of its priority");
        assert!(!ascending[3].outranks(&class(Policy::Unknown(9), 0)), "nobody knows");
    }
}
