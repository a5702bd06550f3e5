//! What disturbed a measurement: counters of the system and of the thread, read before and after, and subtracted.
//!
//! Take a [`SystemSnapshot`] and a [`ThreadSnapshot`] before and after, and keep the differences in the record. If a
//! counter ran backwards (a CPU went off line in between), it is unknown in the difference, not zero.

mod of_thread;

use std::collections::BTreeMap;

use serde::Serialize;

pub(crate) use of_thread::migrations;

use crate::fact::Fact;
use crate::kernel_files::{KernelFiles, plain};
use crate::sys;

/// CPU time by use, in nanoseconds; resolution is one scheduler tick of the kernel (1 to 10 ms).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct CpuTimes {
    /// Ordinary programs.
    pub user_ns: u64,
    /// Programs with a positive nice value.
    pub nice_ns: u64,
    /// The kernel.
    pub system_ns: u64,
    /// Idle.
    pub idle_ns: u64,
    /// Idle, while something waited for a disk.
    pub iowait_ns: u64,
    /// Interrupts.
    pub irq_ns: u64,
    /// Deferred interrupt work.
    pub softirq_ns: u64,
    /// Taken away by the hypervisor for other machines.
    pub steal_ns: u64,
}

impl CpuTimes {
    /// Time in which a program, the kernel or an interrupt ran.
    pub fn busy_ns(&self) -> u64 {
        self.user_ns + self.nice_ns + self.system_ns + self.irq_ns + self.softirq_ns
    }

    fn of(fields: &str, tick_ns: u64) -> Option<Self> {
        let mut numbers = fields.split_whitespace().map(|n| n.parse::<u64>().ok());
        let mut next = || Some(numbers.next()??.saturating_mul(tick_ns));
        Some(Self {
            user_ns: next()?,
            nice_ns: next()?,
            system_ns: next()?,
            idle_ns: next()?,
            iowait_ns: next()?,
            irq_ns: next()?,
            softirq_ns: next()?,
            // Kernels before 2.6.11 have no such column: nothing could be stolen that they knew of.
            steal_ns: next().unwrap_or(0),
        })
    }

    fn since(&self, before: &Self) -> Option<Self> {
        Some(Self {
            user_ns: self.user_ns.checked_sub(before.user_ns)?,
            nice_ns: self.nice_ns.checked_sub(before.nice_ns)?,
            system_ns: self.system_ns.checked_sub(before.system_ns)?,
            // The kernel warns that these two may go back by a tick.
            idle_ns: self.idle_ns.saturating_sub(before.idle_ns),
            iowait_ns: self.iowait_ns.saturating_sub(before.iowait_ns),
            irq_ns: self.irq_ns.checked_sub(before.irq_ns)?,
            softirq_ns: self.softirq_ns.checked_sub(before.softirq_ns)?,
            steal_ns: self.steal_ns.checked_sub(before.steal_ns)?,
        })
    }
}

/// The counters of the whole system at one moment, or their difference over some time.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SystemSnapshot {
    /// CLOCK_MONOTONIC; in a difference: how long.
    pub at_ns: u64,
    /// All CPUs together.
    pub all: Fact<CpuTimes>,
    /// Each CPU that is on line, by the system's number.
    pub cpus: BTreeMap<u32, Fact<CpuTimes>>,
    /// Context switches on all CPUs.
    pub switches: Fact<u64>,
    /// Interrupts on all CPUs.
    pub interrupts: Fact<u64>,
    /// Threads that were running or wanted to, at this moment; in a difference: at its end.
    pub runnable: Fact<u64>,
}

impl SystemSnapshot {
    /// Reads the counters. Thread: control. Cost: one file, tens of microseconds on a large machine.
    pub fn take() -> Self {
        let text = KernelFiles::live().text("proc/stat");
        Self::of(text, sys::monotonic_ns(), tick_ns())
    }

    fn of(text: Result<String, String>, at_ns: u64, tick_ns: u64) -> Self {
        let line = |key: &str| {
            let text = text.as_ref().map_err(Clone::clone)?;
            let find = |line: &str| {
                line.strip_prefix(key)?.strip_prefix(' ').map(|rest| rest.trim().to_string())
            };
            text.lines().find_map(find).ok_or_else(|| format!("/proc/stat has no line {key}"))
        };
        let number = |key: &str| {
            let line = line(key)?;
            let first = line.split_whitespace().next().and_then(|n| n.parse().ok());
            first.ok_or_else(|| format!("/proc/stat: the line {key} has no number"))
        };
        let times = |fields: &str| {
            CpuTimes::of(fields, tick_ns)
                .ok_or_else(|| "/proc/stat: a cpu line is too short".to_string())
        };
        let lines = text.iter().flat_map(|t| t.lines());
        let of_cpu = |line: &str| {
            let (number, fields) = line.strip_prefix("cpu")?.split_once(' ')?;
            Some((number.parse::<u32>().ok()?, times(fields).into()))
        };
        Self {
            at_ns,
            all: line("cpu").and_then(|fields| times(&fields)).into(),
            cpus: lines.filter_map(of_cpu).collect(),
            switches: number("ctxt").into(),
            interrupts: number("intr").into(),
            runnable: number("procs_running").into(),
        }
    }

    /// What happened since `before`. CPUs that were not on line at both ends are unknown.
    pub fn since(&self, before: &Self) -> Self {
        let cpu = |(&cpu, after): (&u32, &Fact<CpuTimes>)| {
            let missing = Fact::Unknown("the CPU was not on line before".into());
            (cpu, difference(after, before.cpus.get(&cpu).unwrap_or(&missing), |a, b| a.since(b)))
        };
        Self {
            at_ns: self.at_ns.saturating_sub(before.at_ns),
            all: difference(&self.all, &before.all, |a, b| a.since(b)),
            cpus: self.cpus.iter().map(cpu).collect(),
            switches: difference(&self.switches, &before.switches, |a, b| a.checked_sub(*b)),
            interrupts: difference(&self.interrupts, &before.interrupts, |a, b| a.checked_sub(*b)),
            runnable: self.runnable.clone(),
        }
    }
}

fn difference<T>(
    after: &Fact<T>,
    before: &Fact<T>,
    subtract: impl Fn(&T, &T) -> Option<T>,
) -> Fact<T> {
    match (after, before) {
        (Fact::Value(after), Fact::Value(before)) => match subtract(after, before) {
            Some(difference) => Fact::Value(difference),
            None => Fact::Unknown("the counter ran backwards".into()),
        },
        (Fact::Unknown(why), _) | (_, Fact::Unknown(why)) => Fact::Unknown(why.clone()),
    }
}

/// `/proc/stat` counts in USER_HZ, which is 100 on every architecture that is served here.
fn tick_ns() -> u64 {
    10_000_000
}

/// The counters of one thread at one moment, or their difference.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ThreadCounters {
    /// CLOCK_MONOTONIC; in a difference: how long.
    pub at_ns: u64,
    /// CPU time, exact.
    pub cpu_ns: u64,
    /// CPU time in user code, as the kernel apportions it.
    pub user_ns: u64,
    /// CPU time in the kernel, as the kernel apportions it.
    pub system_ns: u64,
    /// Times the thread gave the CPU up.
    pub voluntary_switches: u64,
    /// Times the CPU was taken from it.
    pub involuntary_switches: u64,
    /// Page faults that needed no disk.
    pub minor_faults: u64,
    /// Page faults that needed the disk.
    pub major_faults: u64,
    /// Time in which the thread wanted a CPU and had none, if the kernel counts that.
    pub waited_ns: Fact<u64>,
    /// Times the thread changed its CPU, if the kernel counts that.
    pub migrations: Fact<u64>,
}

/// The counters of one thread, or why they cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ThreadSnapshot(pub Fact<ThreadCounters>);

impl ThreadSnapshot {
    /// Reads the counters of the calling thread. Cost: two system calls and two files; not for the block.
    pub fn take() -> Self {
        let read = || {
            let usage = sys::thread_usage().map_err(|e| format!("getrusage: {}", plain(&e)))?;
            let cpu_ns =
                sys::thread_cpu_ns().map_err(|e| format!("clock_gettime: {}", plain(&e)))?;
            Ok(ThreadCounters {
                at_ns: sys::monotonic_ns(),
                cpu_ns,
                user_ns: usage.user_ns,
                system_ns: usage.system_ns,
                voluntary_switches: usage.voluntary_switches,
                involuntary_switches: usage.involuntary_switches,
                minor_faults: usage.minor_faults,
                major_faults: usage.major_faults,
                waited_ns: waited_ns(),
                migrations: of_thread::migrations(&KernelFiles::live(), OWN),
            })
        };
        Self(read().into())
    }

    /// What happened since `before`, which the same thread must have taken.
    pub fn since(&self, before: &Self) -> Self {
        Self(difference(&self.0, &before.0, ThreadCounters::since))
    }
}

impl ThreadCounters {
    fn since(&self, before: &Self) -> Option<Self> {
        Some(Self {
            at_ns: self.at_ns.checked_sub(before.at_ns)?,
            cpu_ns: self.cpu_ns.checked_sub(before.cpu_ns)?,
            user_ns: self.user_ns.saturating_sub(before.user_ns),
            system_ns: self.system_ns.saturating_sub(before.system_ns),
            voluntary_switches: self.voluntary_switches.checked_sub(before.voluntary_switches)?,
            involuntary_switches: self
                .involuntary_switches
                .checked_sub(before.involuntary_switches)?,
            minor_faults: self.minor_faults.checked_sub(before.minor_faults)?,
            major_faults: self.major_faults.checked_sub(before.major_faults)?,
            waited_ns: difference(&self.waited_ns, &before.waited_ns, |a, b| a.checked_sub(*b)),
            migrations: difference(&self.migrations, &before.migrations, |a, b| a.checked_sub(*b)),
        })
    }
}

/// The folder of the calling thread.
const OWN: &str = "proc/thread-self";

/// The second number of `schedstat`.
fn waited_ns() -> Fact<u64> {
    let text = KernelFiles::live().fact(&format!("{OWN}/schedstat"));
    text.and_then(|text| of_thread::nth(&text, 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAT: &str = "cpu  10 1 5 100 2 0 1 7 0 0\ncpu0 6 1 3 50 1 0 1 7 0 0\ncpu1 4 0 2 50 1 0 0 0 0 0\nintr 900 1 2\nctxt 5000\nprocs_running 2\n";

    fn snapshot(text: &str) -> SystemSnapshot {
        SystemSnapshot::of(Ok(text.to_string()), 0, 10_000_000)
    }

    #[test]
    fn differences_are_per_cpu() {
        let before = snapshot(STAT);
        let after = snapshot(
            &STAT
                .replace("cpu0 6 1 3 50 1 0 1 7", "cpu0 9 1 3 50 1 0 1 11")
                .replace("ctxt 5000", "ctxt 5040"),
        );
        let change = after.since(&before);
        let cpu0 = change.cpus[&0].value().expect("known");
        assert_eq!(
            (cpu0.user_ns, cpu0.steal_ns, cpu0.busy_ns()),
            (30_000_000, 40_000_000, 30_000_000)
        );
        assert_eq!(change.cpus[&1], Fact::Value(CpuTimes::default()));
        assert_eq!((change.switches, change.interrupts), (Fact::Value(40), Fact::Value(0)));
    }

    #[test]
    fn what_is_missing_is_unknown_with_a_reason() {
        let before = snapshot("cpu  10 1 5 100 2 0 1 7\n");
        assert!(before.switches.why().is_some_and(|why| why.contains("ctxt")));
        let change = snapshot(STAT).since(&before);
        assert!(change.cpus[&1].why().is_some());
        assert!(
            snapshot("cpu  9 1 5 100 2 0 1 7\n")
                .since(&before)
                .all
                .why()
                .is_some_and(|w| w.contains("backwards"))
        );
        let none = SystemSnapshot::of(Err("no /proc".into()), 0, 1);
        assert_eq!(none.all.why(), Some("no /proc"));
    }

    #[test]
    fn a_busy_thread_uses_cpu_time() {
        let before = ThreadSnapshot::take();
        let until = sys::monotonic_ns() + 3_000_000;
        while sys::monotonic_ns() < until {}
        let change = ThreadSnapshot::take().since(&before).0;
        let counters = change.value().expect("Linux counts for threads");
        assert!(counters.cpu_ns > 0 && counters.at_ns >= 3_000_000);
    }
}
