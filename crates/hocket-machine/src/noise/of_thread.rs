//! The counters of another thread of this process, from its files in `/proc`.

use super::{ThreadCounters, ThreadSnapshot, tick_ns};
use crate::fact::Fact;
use crate::kernel_files::{KernelFiles, field};
use crate::pin::ThreadId;
use crate::sys;

impl ThreadSnapshot {
    /// Reads the counters of a thread of this process. The thread notices nothing.
    ///
    /// Cost: four files, tens of microseconds; not for the block. `user_ns` and `system_ns` come in steps of 10 ms here;
    /// the CPU time is exact where the kernel keeps `schedstat`, else their sum.
    pub fn of(thread: ThreadId) -> Self {
        Self(read(&KernelFiles::live(), &format!("proc/self/task/{thread}")).into())
    }
}

fn read(files: &KernelFiles, folder: &str) -> Result<ThreadCounters, String> {
    let stat = files.text(&format!("{folder}/stat"))?;
    let status = files.text(&format!("{folder}/status"))?;
    let schedstat = files.fact(&format!("{folder}/schedstat"));
    let number = |at| stat_field(&stat, at).ok_or(format!("/{folder}/stat has no field {at}"));
    let count = |key: &str| {
        let count = field(&status, key).and_then(|text| text.parse().ok());
        count.ok_or_else(|| format!("/{folder}/status has no {key}"))
    };
    let (user_ns, system_ns) = (number(14)? * tick_ns(), number(15)? * tick_ns());
    let cpu_ns = schedstat.clone().and_then(|text| nth(&text, 0));
    Ok(ThreadCounters {
        at_ns: sys::monotonic_ns(),
        cpu_ns: cpu_ns.value().copied().unwrap_or(user_ns + system_ns),
        user_ns,
        system_ns,
        voluntary_switches: count("voluntary_ctxt_switches")?,
        involuntary_switches: count("nonvoluntary_ctxt_switches")?,
        minor_faults: number(10)?,
        major_faults: number(12)?,
        waited_ns: schedstat.and_then(|text| nth(&text, 1)),
        migrations: migrations(files, folder),
    })
}

/// How often the thread in `folder` has changed its CPU; the file is there where the kernel keeps debugging figures of
/// its scheduler (CONFIG_SCHED_DEBUG).
pub(crate) fn migrations(files: &KernelFiles, folder: &str) -> Fact<u64> {
    files.fact(&format!("{folder}/sched")).and_then(|text| {
        let count = field(&text, "se.nr_migrations").and_then(|text| text.parse().ok());
        count.ok_or_else(|| format!("/{folder}/sched has no se.nr_migrations")).into()
    })
}

/// The number at `at` in the text of `schedstat`.
pub(super) fn nth(text: &str, at: usize) -> Fact<u64> {
    let number = text.split_whitespace().nth(at).and_then(|n| n.parse().ok());
    number.ok_or_else(|| format!("schedstat has no number {}", at + 1)).into()
}

/// A field of proc(5)'s `stat`, counted after the name, which may hold blanks and brackets itself.
fn stat_field(stat: &str, number: usize) -> Option<u64> {
    let (_, after_name) = stat.rsplit_once(')')?;
    after_name.split_whitespace().nth(number.checked_sub(3)?)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_saved_thread_is_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let write =
            |name: &str, text: &str| fs::write(folder.path().join(name), text).expect("written");
        write("stat", "7 (a) name) S 1 2 3 4 5 6 70 8 90 10 11 12 13 14 15 16\n");
        write("status", "Name:\tx\nvoluntary_ctxt_switches:\t5\nnonvoluntary_ctxt_switches:\t6\n");
        write("schedstat", "1234 56 7\n");
        write("sched", "x (7, #threads: 1)\n---\nse.nr_migrations   :     3\n");
        let files = KernelFiles::at(folder.path());
        let read = |files| read(files, ".").map(|c| ThreadCounters { at_ns: 0, ..c });
        let counters = read(&files).expect("complete");
        assert_eq!((counters.minor_faults, counters.major_faults), (70, 90));
        assert_eq!((counters.voluntary_switches, counters.involuntary_switches), (5, 6));
        assert_eq!((counters.user_ns, counters.system_ns), (110_000_000, 120_000_000));
        assert_eq!((counters.cpu_ns, counters.waited_ns), (1234, Fact::Value(56)));
        assert_eq!(counters.migrations, Fact::Value(3));
        fs::remove_file(folder.path().join("sched")).expect("removed");
        fs::remove_file(folder.path().join("schedstat")).expect("removed");
        let counters = read(&files).expect("still enough");
        assert_eq!(counters.cpu_ns, 230_000_000);
        assert!(counters.migrations.why().is_some() && counters.waited_ns.why().is_some());
    }
}
