//! Counters of this process and its threads, for the ledger.

use serde::Serialize;

use crate::fact::Fact;
use crate::kernel_files::{KernelFiles, field, plain};
use crate::pin::ThreadId;
use crate::sys;

/// What the whole process has used so far.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ProcessCounters {
    /// CPU time of all its threads, those that have ended included.
    pub cpu_ns: Fact<u64>,
    /// CPU time of its children that have ended and were waited for, with theirs.
    pub children_cpu_ns: Fact<u64>,
    /// Page faults, with and without the disk.
    pub faults: Fact<u64>,
    /// Context switches of all its threads, those that have ended included, voluntary and involuntary.
    pub switches: Fact<u64>,
}

/// The counters of this process. Cost: three system calls and one file; not for the block.
pub fn counters() -> ProcessCounters {
    let cpu_ns = sys::process_cpu_ns().map_err(|e| format!("clock_gettime: {}", plain(&e)));
    let switches = sys::process_usage()
        .map(|usage| usage.voluntary_switches + usage.involuntary_switches)
        .map_err(|e| format!("getrusage: {}", plain(&e)));
    let children = sys::children_usage().map(|usage| usage.user_ns + usage.system_ns);
    let children = children.map_err(|e| format!("getrusage: {}", plain(&e)));
    ProcessCounters {
        cpu_ns: cpu_ns.into(),
        children_cpu_ns: children.into(),
        faults: faults(),
        switches: switches.into(),
    }
}

/// CPU time of the calling thread. Cost: one system call.
pub fn thread_cpu_ns() -> Fact<u64> {
    sys::thread_cpu_ns().map_err(|e| format!("clock_gettime: {}", plain(&e))).into()
}

/// How often a thread of this process lost the CPU although it wanted to go on.
pub fn involuntary_switches(thread: ThreadId) -> Fact<u64> {
    let path = format!("proc/self/task/{thread}/status");
    KernelFiles::live().fact(&path).and_then(|text| {
        let count = field(&text, "nonvoluntary_ctxt_switches").and_then(|text| text.parse().ok());
        count.ok_or_else(|| format!("/{path} does not count switches")).into()
    })
}

/// Minor and major faults: fields 10 and 12 of proc(5)'s `stat`, counted after the name, which may
/// contain blanks and brackets.
fn faults() -> Fact<u64> {
    KernelFiles::live().fact("proc/self/stat").and_then(|text| {
        let after_name = text.rsplit_once(')').map_or("", |(_, rest)| rest);
        let field =
            |number: usize| after_name.split_whitespace().nth(number - 3)?.parse::<u64>().ok();
        let sum = field(10).zip(field(12)).map(|(minor, major)| minor + major);
        sum.ok_or_else(|| "/proc/self/stat has no fault counts".to_owned()).into()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pin::current_thread;

    #[test]
    fn work_of_a_child_shows_once_it_was_waited_for() {
        let before = counters();
        let work = "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done";
        let mut child = std::process::Command::new("sh").args(["-c", work]).spawn().unwrap();
        assert!(child.wait().unwrap().success());
        assert!(counters().children_cpu_ns.value() > before.children_cpu_ns.value());
    }

    #[test]
    fn work_shows_in_the_counters() {
        let (before, thread_before) = (counters(), thread_cpu_ns());
        let pages: Vec<u8> = std::hint::black_box(vec![1; 8 << 20]);
        let sum: u64 = (0..200)
            .map(|i| pages.iter().step_by(997).map(|b| u64::from(*b) + i).sum::<u64>())
            .sum();
        assert!(std::hint::black_box(sum) > 0);
        let (after, thread_after) = (counters(), thread_cpu_ns());
        assert!(after.cpu_ns.value() > before.cpu_ns.value());
        assert!(after.faults.value() > before.faults.value());
        assert!(thread_after.value() > thread_before.value());
        assert!(involuntary_switches(current_thread()).value().is_some());
    }
}
