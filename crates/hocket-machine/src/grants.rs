//! What this process may do on this machine: a table of grants, each probed, each with reason and remedy.
//!
//! Probing leaves no trace. A probe that must try something uses a short-lived thread or process, or one page, and
//! undoes it. For what changes the system (SMT switch, governors, partitions) it only checks the right to write.

use std::io;
use std::thread::JoinHandle;

use serde::Serialize;

use crate::class::{self, Class};
use crate::cookie::{self, Cookie};
use crate::fact::Fact;
use crate::kernel_files::{KernelFiles, plain};
use crate::memory;
use crate::partition::{Cgroups, Holds};
use crate::rights::{self, Offer, Way};
use crate::smt;
use crate::switches;
use crate::sys::{self, Counter, OpenCounter, Resource};

const CPU: &str = "sys/devices/system/cpu";

/// The names of the grants, in the order of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum GrantName {
    /// Real-time priority for threads.
    RealTimePriority,
    /// Real-time priority by the desktop's realtime portal.
    RealTimePortal,
    /// Real-time priority by RealtimeKit.
    Rtkit,
    /// CPU time without limit for real-time threads.
    RealTimeBudget,
    /// Short slices in the ordinary class.
    ShortSlices,
    /// More CPU time in the ordinary class (negative nice).
    NegativeNice,
    /// Locked memory.
    MemoryLock,
    /// Exact timers.
    TimerSlack,
    /// Core cookies: keeping strangers off the siblings of a core.
    CoreCookies,
    /// Cpuset partitions of control groups.
    CpusetPartitions,
    /// Switching SMT off and on.
    SmtSwitch,
    /// Choosing the CPU frequency governor.
    FrequencyGovernor,
    /// Keeping the processor out of deep sleep.
    SleepLimit,
    /// Hardware counters for the process's own threads.
    HardwareCounters,
    /// Watching every thread switch on a CPU.
    SchedulerTracing,
}

impl GrantName {
    /// The name for people.
    pub fn label(self) -> &'static str {
        match self {
            Self::RealTimePriority => "real-time priority (SCHED_FIFO)",
            Self::RealTimePortal => "real-time priority (portal)",
            Self::Rtkit => "real-time priority (RealtimeKit)",
            Self::RealTimeBudget => "unlimited real-time CPU time",
            Self::ShortSlices => "short slices (SCHED_OTHER)",
            Self::NegativeNice => "negative nice",
            Self::MemoryLock => "memory lock",
            Self::TimerSlack => "exact timers (timer slack)",
            Self::CoreCookies => "core cookies (core scheduling)",
            Self::CpusetPartitions => "cpuset partitions (cgroup v2)",
            Self::SmtSwitch => "SMT switch",
            Self::FrequencyGovernor => "CPU frequency governor",
            Self::SleepLimit => "CPU sleep limit (PM QoS)",
            Self::HardwareCounters => "hardware counters",
            Self::SchedulerTracing => "scheduler tracing",
        }
    }
}

/// One grant: yes or no, why, and what would help.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Grant {
    /// Which one.
    pub name: GrantName,
    /// Whether this process has it now.
    pub granted: bool,
    /// What was found, or why not.
    pub detail: String,
    /// What would grant it, if anything would.
    pub remedy: Option<String>,
}

impl Grant {
    fn yes(name: GrantName, detail: impl Into<String>) -> Self {
        Self { name, granted: true, detail: detail.into(), remedy: None }
    }

    fn no(name: GrantName, detail: impl Into<String>, remedy: Option<&str>) -> Self {
        Self { name, granted: false, detail: detail.into(), remedy: remedy.map(String::from) }
    }
}

/// Probes every grant. Thread: control; helper threads come and go. Cost: milliseconds, up to 1.5 s if a bus does not
/// answer.
pub fn probe() -> Vec<Grant> {
    // Both buses at once and beside the rest: a silent one may use up the patience for it.
    let rtkit = aside(GrantName::Rtkit, real_time_by_rtkit);
    let portal = aside(GrantName::RealTimePortal, real_time_by_portal);
    let files = KernelFiles::live();
    let mut table = vec![elsewhere(GrantName::RealTimePriority, real_time_priority)];
    let rest = without_services(&files);
    table.extend([portal.grant(), rtkit.grant()]);
    table.extend(rest);
    table
}

fn without_services(files: &KernelFiles) -> Vec<Grant> {
    vec![
        real_time_budget(),
        elsewhere(GrantName::ShortSlices, short_slices),
        elsewhere(GrantName::NegativeNice, negative_nice),
        memory_lock(),
        elsewhere(GrantName::TimerSlack, timer_slack),
        core_cookies(),
        cpuset_partitions(files),
        smt_switch(files),
        frequency_governor(files),
        sleep_limit(files),
        hardware_counters(),
        scheduler_tracing(),
    ]
}

/// Runs a probe that changes its thread on a thread that ends afterwards.
fn elsewhere(name: GrantName, probe: fn() -> Grant) -> Grant {
    aside(name, probe).grant()
}

/// A probe on a thread of its own.
struct Aside {
    name: GrantName,
    thread: io::Result<JoinHandle<Grant>>,
}

fn aside(name: GrantName, probe: fn() -> Grant) -> Aside {
    let thread = std::thread::Builder::new().name("grant probe".into()).spawn(probe);
    Aside { name, thread }
}

impl Aside {
    /// Waits for it.
    fn grant(self) -> Grant {
        let name = self.name;
        match self.thread.map(JoinHandle::join) {
            Ok(Ok(grant)) => grant,
            Ok(Err(_)) => Grant::no(name, "the probe failed", None),
            Err(e) => {
                let detail = format!("no thread could be started to try it: {}", plain(&e));
                Grant::no(name, detail, None)
            }
        }
    }
}

// ---- scheduling ---------------------------------------------------------------------------------------------------

/// The highest of a few priorities that is granted.
fn real_time_priority() -> Grant {
    let name = GrantName::RealTimePriority;
    let limit =
        sys::limit(Resource::RealTimePriority).ok().and_then(|l| l.soft).unwrap_or(99).clamp(1, 99)
            as u8;
    let first = class::request(Class::Fifo { priority: 95 });
    if first.granted {
        return Grant::yes(name, "up to priority 95 at least");
    }
    let second = class::request(Class::Fifo { priority: limit.min(94) });
    if second.granted {
        return Grant::yes(name, format!("up to priority {limit} (RLIMIT_RTPRIO)"));
    }
    let report = if limit < 95 { second } else { first };
    Grant {
        name,
        granted: false,
        detail: report.why.unwrap_or_else(|| "refused".into()),
        remedy: report.remedy,
    }
}

fn real_time_by_portal() -> Grant {
    let remedy = "run it inside the desktop session, with xdg-desktop-portal and rtkit installed";
    by_service(GrantName::RealTimePortal, Way::Portal, remedy)
}

fn real_time_by_rtkit() -> Grant {
    let remedy = "install rtkit; it grants local sessions, others need a polkit rule that allows \
                  org.freedesktop.RealtimeKit1.acquire-real-time";
    by_service(GrantName::Rtkit, Way::Rtkit, remedy)
}

fn by_service(name: GrantName, way: Way, remedy: &str) -> Grant {
    match rights::probe(way) {
        Fact::Value(Offer { max_priority, rttime_us, got }) => {
            let policy = got.policy;
            let detail = format!(
                "{policy} up to priority {max_priority}; a thread that then does not block for {rttime_us} µs ends the \
                 process (RLIMIT_RTTIME)"
            );
            Grant::yes(name, detail)
        }
        Fact::Unknown(why) => Grant::no(name, why, Some(remedy)),
    }
}

fn real_time_budget() -> Grant {
    let name = GrantName::RealTimeBudget;
    match class::budget() {
        Fact::Value(class::RealTimeBudget { soft_us: None, .. }) => {
            Grant::yes(name, "RLIMIT_RTTIME is unlimited")
        }
        Fact::Value(class::RealTimeBudget { soft_us: Some(us), .. }) => {
            let detail = format!(
                "a real-time thread that does not block for {us} µs gets SIGXCPU (RLIMIT_RTTIME)"
            );
            Grant::no(
                name,
                detail,
                Some("workers that block once a block are safe; else raise LimitRTTIME"),
            )
        }
        Fact::Unknown(why) => Grant::no(name, why, None),
    }
}

fn short_slices() -> Grant {
    let asked = std::time::Duration::from_micros(500);
    match class::request_slice(asked) {
        Fact::Value(ns) => {
            Grant::yes(GrantName::ShortSlices, format!("asked for 500 µs, got {} µs", ns / 1000))
        }
        Fact::Unknown(why) => Grant::no(GrantName::ShortSlices, why, None),
    }
}

fn negative_nice() -> Grant {
    let name = GrantName::NegativeNice;
    let report = class::request(Class::Other { nice: -11 });
    match report.granted {
        true => Grant::yes(name, "nice -11"),
        false => Grant {
            name,
            granted: false,
            detail: report.why.unwrap_or_else(|| "refused".into()),
            remedy: report.remedy,
        },
    }
}

fn timer_slack() -> Grant {
    let name = GrantName::TimerSlack;
    let try_one = || {
        let before = sys::timer_slack_ns()?;
        sys::set_timer_slack_ns(1)?;
        Ok::<_, io::Error>((before, sys::timer_slack_ns()?))
    };
    match try_one() {
        Ok((before, 1)) => Grant::yes(name, format!("{before} ns by default, 1 ns when asked")),
        Ok((before, got)) => {
            Grant::no(name, format!("{before} ns by default, {got} ns when 1 ns was asked"), None)
        }
        Err(e) => Grant::no(name, format!("prctl: {}", plain(&e)), None),
    }
}

// ---- memory -------------------------------------------------------------------------------------------------------

/// Tries one page (the limit on a few KiB is common), then says what the limit is.
fn memory_lock() -> Grant {
    let name = GrantName::MemoryLock;
    let limit =
        Fact::from(sys::limit(Resource::LockedBytes).map(|l| l.soft).map_err(|e| plain(&e)));
    if let Err(e) = try_to_lock() {
        return Grant {
            name,
            granted: false,
            detail: memory::reason(&e, &limit),
            remedy: Some(memory::remedy()),
        };
    }
    let unlimited =
        class::has_capability(class::CAP_IPC_LOCK) == Some(true) || limit.value() == Some(&None);
    let enough = limit.value().is_some_and(|l| l.is_none_or(|bytes| bytes >= ENOUGH_LOCKED));
    match limit.value().copied().flatten() {
        _ if unlimited => Grant::yes(name, "without limit"),
        Some(bytes) if enough => {
            Grant::yes(name, format!("up to {} MiB (RLIMIT_MEMLOCK)", bytes >> 20))
        }
        Some(bytes) => Grant {
            name,
            granted: false,
            detail: format!("only {} KiB (RLIMIT_MEMLOCK), too little for a session", bytes >> 10),
            remedy: Some(memory::remedy()),
        },
        None => Grant::yes(name, "one page was locked; the limit is unknown"),
    }
}

/// Locks a page and unlocks it again, unless the process holds locks already: then the page may be among them, and
/// unlocking it would undo what somebody else asked for.
fn try_to_lock() -> io::Result<()> {
    let held_before = memory::locked_bytes().value().is_none_or(|&bytes| bytes > 0);
    let page = vec![1_u8; 4096];
    sys::lock_buffer(&page)?;
    if held_before { Ok(()) } else { sys::unlock_buffer(&page) }
}

/// A session with its buffers, code and stacks takes less than this.
const ENOUGH_LOCKED: u64 = 256 << 20;

// ---- siblings -----------------------------------------------------------------------------------------------------

fn core_cookies() -> Grant {
    let name = GrantName::CoreCookies;
    match cookie::current() {
        Ok(Cookie::NONE) => Grant::yes(name, "the kernel offers them; this thread has none yet"),
        Ok(_) => Grant::yes(name, "the kernel offers them; this thread has one"),
        Err(error) => Grant::no(name, error.why(), error.remedy()),
    }
}

/// Where control groups of version 2 are mounted, and the group of this process below that.
pub(crate) fn cgroup_v2(files: &KernelFiles) -> Option<(String, String)> {
    let mounts = files.text("proc/self/mountinfo").ok()?;
    let mount = mounts.lines().find_map(|line| {
        let (left, right) = line.split_once(" - ")?;
        right.starts_with("cgroup2 ").then(|| left.split(' ').nth(4).map(String::from))?
    })?;
    let groups = files.text("proc/self/cgroup").ok()?;
    let group = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
    Some((mount, group.to_string()))
}

fn cpuset_partitions(files: &KernelFiles) -> Grant {
    let name = GrantName::CpusetPartitions;
    match Cgroups::of(files).may_partition(Holds::Process) {
        Ok(place) => Grant::yes(name, format!("cpuset controller at {place}, writable")),
        Err(error) => Grant::no(name, error.why(), error.remedy()),
    }
}

fn smt_switch(files: &KernelFiles) -> Grant {
    let name = GrantName::SmtSwitch;
    match smt::Root::of(files).may_switch() {
        Ok(control) => {
            Grant::yes(name, format!("the switch says `{control}`, and this process may write it"))
        }
        Err(error) => Grant::no(name, error.why(), error.remedy()),
    }
}

// ---- clocks and sleep ---------------------------------------------------------------------------------------------

fn frequency_governor(files: &KernelFiles) -> Grant {
    let name = GrantName::FrequencyGovernor;
    let governed = |cpu: &u32| files.exists(&format!("{CPU}/cpu{cpu}/cpufreq/scaling_governor"));
    let Some(cpu) = files.numbered(CPU, "cpu").into_iter().find(governed) else {
        return Grant::no(
            name,
            "the kernel does not control the clocks here (no cpufreq driver; a virtual machine?)",
            None,
        );
    };
    let path = format!("{CPU}/cpu{cpu}/cpufreq/scaling_governor");
    let governor = files.text(&path).unwrap_or_else(|why| why);
    match sys::may_write(&files.path(&path)) {
        Ok(()) => Grant::yes(name, format!("`{governor}` now, and this process may choose")),
        Err(e) => {
            let detail = format!("`{governor}` now; choosing: {}", plain(&e));
            Grant::no(
                name,
                detail,
                Some("`cpupower frequency-set -g performance` as root before the show"),
            )
        }
    }
}

fn sleep_limit(files: &KernelFiles) -> Grant {
    let name = GrantName::SleepLimit;
    let path = "dev/cpu_dma_latency";
    if !files.exists(path) {
        return Grant::no(name, "there is no /dev/cpu_dma_latency", None);
    }
    match sys::may_write(&files.path(path)) {
        Ok(()) => Grant::yes(name, "/dev/cpu_dma_latency may be held open"),
        Err(e) => Grant::no(
            name,
            format!("/dev/cpu_dma_latency: {}", plain(&e)),
            Some("a udev rule: KERNEL==\"cpu_dma_latency\", GROUP=\"audio\", MODE=\"0660\""),
        ),
    }
}

// ---- measuring ----------------------------------------------------------------------------------------------------

fn hardware_counters() -> Grant {
    let name = GrantName::HardwareCounters;
    let counter = OpenCounter::open(Counter::OwnCycles).map_err(|e| (e.raw_os_error(), e));
    let mut counter = match counter {
        Ok(counter) => counter,
        Err((Some(libc::ENOENT | libc::EOPNOTSUPP | libc::ENODEV), _)) => {
            return Grant::no(
                name,
                "this machine offers no cycle counter (a virtual machine without one?)",
                None,
            );
        }
        Err((Some(libc::EACCES | libc::EPERM), _)) => {
            return Grant::no(
                name,
                switches::paranoia(),
                Some("sysctl kernel.perf_event_paranoid=2, as root"),
            );
        }
        Err((_, e)) => return Grant::no(name, format!("perf_event_open: {}", plain(&e)), None),
    };
    for turn in 0..10_000_u32 {
        std::hint::black_box(turn);
    }
    match counter.read() {
        Ok(0) => Grant::no(name, "the cycle counter opens but stands still", None),
        Ok(_) => Grant::yes(name, format!("cycles of own threads ({})", switches::paranoia())),
        Err(e) => Grant::no(
            name,
            format!("the cycle counter opens but cannot be read: {}", plain(&e)),
            None,
        ),
    }
}

/// Every thread on a CPU, or at least the process's own.
fn scheduler_tracing() -> Grant {
    let name = GrantName::SchedulerTracing;
    let cpu = sys::affinity(0).ok().and_then(|set| set.first()).unwrap_or(0);
    let Err(error) = switches::probe(cpu) else {
        return Grant::yes(name, "switches of all threads can be recorded");
    };
    let own = switches::SwitchWatch::start_threads(&[crate::pin::current_thread()], 1);
    let detail = match own {
        Ok(_) => format!("{}; switches of own threads can be recorded", error.why()),
        Err(_) => error.why(),
    };
    Grant::no(name, detail, error.remedy())
}
