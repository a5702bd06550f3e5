//! Counters of this process, its threads and its children, for the ledger; and groups of processes that end with it.

use serde::Serialize;

use std::io;

use crate::fact::Fact;
use crate::kernel_files::{KernelFiles, field, plain};
use crate::noise;
use crate::pin::ThreadId;
use crate::sys::{self, Caretaker, Deed};

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
    ProcessCounters {
        cpu_ns: cpu_ns.into(),
        children_cpu_ns: children().and_then(|used| Fact::Value(used.cpu_ns)),
        faults: faults(),
        switches: switches.into(),
    }
}

/// CPU time of the calling thread. Cost: one system call.
pub fn thread_cpu_ns() -> Fact<u64> {
    sys::thread_cpu_ns().map_err(|e| format!("clock_gettime: {}", plain(&e))).into()
}

/// The same without a reason where the system does not tell: for threads that must not allocate. Cost: one system call.
pub fn own_cpu_ns() -> Option<u64> {
    sys::thread_cpu_ns().ok()
}

/// What the children of this process have used that ended and were waited for; with what their own children used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChildrenUsage {
    /// CPU time, in user and kernel code.
    pub cpu_ns: u64,
    /// Context switches, voluntary and involuntary.
    pub switches: u64,
}

/// The counters of the children that ended. Cost: one system call.
pub fn children() -> Fact<ChildrenUsage> {
    let used = sys::children_usage().map(|usage| ChildrenUsage {
        cpu_ns: usage.user_ns + usage.system_ns,
        switches: usage.voluntary_switches + usage.involuntary_switches,
    });
    used.map_err(|e| format!("getrusage: {}", plain(&e))).into()
}

/// CPU time of another process, of all its threads, those that have ended included. Cost: two system calls.
pub fn cpu_ns_of(process: u32) -> Fact<u64> {
    let process = i32::try_from(process).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput));
    let used = process.and_then(sys::cpu_ns_of);
    used.map_err(|e| format!("clock_gettime: {}", plain(&e))).into()
}

/// How often the threads of another process, those that live now, have changed their CPU: a number for each thread.
///
/// Also of a process that has ended and was not waited for: then of its first thread alone. Cost: a file per thread.
pub fn migrations(process: u32) -> Vec<(u32, u64)> {
    let files = KernelFiles::live();
    let Ok(threads) = std::fs::read_dir(format!("/proc/{process}/task")) else { return Vec::new() };
    let of = |entry: io::Result<std::fs::DirEntry>| {
        let thread: u32 = entry.ok()?.file_name().to_str()?.parse().ok()?;
        let folder = format!("proc/{process}/task/{thread}");
        Some((thread, noise::migrations(&files, &folder).value().copied()?))
    };
    threads.filter_map(of).collect()
}

/// From now on a write beyond the limit of a file's size (`ulimit -f`) is an error like that of a full disk. Without
/// this it ends the process, and nothing can be said or cleaned up. Child processes inherit it.
///
/// # Errors
/// What the system said; then such a write still ends the process.
pub fn outlive_file_size_limit() -> io::Result<()> {
    sys::ignore_file_size_signal()
}

/// Kills a group of processes when it is dropped, and when this process ends, however it ends.
///
/// The group is that of a child which was started as its leader (`CommandExt::process_group(0)`). Drop this before the
/// child is waited for: until then nobody else can have the number. A process that left the group stays.
#[derive(Debug)]
pub struct GroupEnd {
    /// Its deed is done when it is dropped.
    _caretaker: Caretaker,
}

impl GroupEnd {
    /// For the group that the process of this number leads. Cost: a copy of this process's page tables.
    ///
    /// # Errors
    /// There can be no further process. The group goes on.
    pub fn of(leader: u32) -> io::Result<Self> {
        // The groups 0 and 1 are our own and everybody's.
        let leader = i32::try_from(leader).ok().filter(|leader| *leader > 1);
        let leader = leader.ok_or(io::ErrorKind::InvalidInput)?;
        Caretaker::start(vec![Deed::end_group(leader)]).map(|_caretaker| Self { _caretaker })
    }
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
    use std::io::Read;
    use std::os::unix::process::CommandExt;
    use std::process::{Command, Stdio};

    use super::*;
    use crate::pin::current_thread;

    #[test]
    fn a_group_ends_with_its_keeper_and_so_do_the_children_of_its_leader() {
        let mut leader = Command::new("sh")
            .args(["-c", "sleep 1000 & sleep 1000"])
            .stdout(Stdio::piped())
            .process_group(0)
            .spawn()
            .expect("a shell");
        let keeper = GroupEnd::of(leader.id()).expect("a child");
        let mut stdout = leader.stdout.take().expect("a pipe");
        drop(keeper);
        // It ends only when everybody who had the other end is gone.
        let mut said = String::new();
        stdout.read_to_string(&mut said).expect("read");
        assert!(!leader.wait().expect("waited for").success());
        assert!(GroupEnd::of(0).is_err() && GroupEnd::of(1).is_err());
    }

    #[test]
    fn work_of_children_shows_when_they_were_waited_for() {
        let before = children().value().copied().expect("counted");
        let work = "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done";
        assert!(Command::new("sh").args(["-c", work]).status().expect("a shell").success());
        let after = children().value().copied().expect("counted");
        assert!(after.cpu_ns > before.cpu_ns && after.switches >= before.switches);
        assert!(counters().children_cpu_ns.value() >= Some(&after.cpu_ns));
        let own = counters().cpu_ns.value().copied();
        assert!(cpu_ns_of(std::process::id()).value().copied() >= own && own.is_some());
    }

    #[test]
    fn migrations_are_those_of_living_threads() {
        let counted = noise::ThreadSnapshot::take().0.value().map(|own| own.migrations.clone());
        let is_counted = counted.is_some_and(|migrations| migrations.value().is_some());
        assert_eq!(migrations(std::process::id()).is_empty(), !is_counted);
        assert!(migrations(u32::MAX).is_empty());
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
