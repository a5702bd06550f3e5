//! Hardware counters, in user code.
//!
//! Two ways lead to them:
//! - [`WorkCounters`]: cycles, instructions and misses of the first-level data cache of the calling thread. The kernel
//!   knows these events on every processor.
//! - [`CoreEvents`]: groups of events by kind of core ([`Core`]), for any thread of the process, and the ratios that they
//!   make ([`Ratio`]). All events of a group count at the same time, or the reading is refused: nothing is extrapolated
//!   from a part of the time.
//!
//! Virtual machines often have no counters, and some systems keep them from ordinary users. Both ways then say why.

mod events;
mod glance;
mod groups;
mod pmu;
mod ratios;
mod reading;

pub use events::{Core, Event, Group};
pub use glance::{Glance, MOST_EVENTS};
pub use groups::{CoreEvents, CountingPlan, EventSet, OpenEventSet};
pub use ratios::{Measure, Ratio, Sum, Unit};
pub use reading::{Reading, ReadingError};

use crate::kernel_files::plain;
use crate::switches;
use crate::sys::{Counter, OpenCounter};

/// Counters that are open; they belong to the thread that opened them and count on until they are dropped.
pub struct WorkCounters {
    cycles: OpenCounter,
    instructions: OpenCounter,
    /// Some processors have only the two above.
    l1d_misses: Option<OpenCounter>,
}

/// What was counted since the counters were opened, or between two readings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Work {
    /// Cycles in user code.
    pub cycles: u64,
    /// Instructions in user code.
    pub instructions: u64,
    /// Loads in user code that missed the first-level data cache, where the processor counts them.
    pub l1d_misses: Option<u64>,
}

impl WorkCounters {
    /// Opens the counters for the calling thread. Cost: three system calls.
    ///
    /// # Errors
    /// Why there are none, with the remedy where there is one.
    pub fn open() -> Result<Self, String> {
        let open = |counter| OpenCounter::open(counter).map_err(|error| why_not(&error));
        Ok(Self {
            cycles: open(Counter::OwnCycles)?,
            instructions: open(Counter::OwnInstructions)?,
            l1d_misses: OpenCounter::open(Counter::OwnL1dMisses).ok(),
        })
    }

    /// What was counted so far. Cost: three system calls.
    ///
    /// # Errors
    /// A counter that cannot be read, or that stands still although this thread runs.
    pub fn read(&mut self) -> Result<Work, String> {
        let read = |counter: &mut OpenCounter| {
            counter.read().map_err(|e| format!("a counter cannot be read: {}", plain(&e)))
        };
        let cycles = read(&mut self.cycles)?;
        if cycles == 0 {
            return Err("the cycle counter opens but stands still".into());
        }
        let l1d_misses = self.l1d_misses.as_mut().map(read).transpose()?;
        Ok(Work { cycles, instructions: read(&mut self.instructions)?, l1d_misses })
    }
}

impl Work {
    /// What was counted after `before`.
    pub fn since(self, before: Work) -> Work {
        let misses = self.l1d_misses.zip(before.l1d_misses);
        Work {
            cycles: self.cycles.saturating_sub(before.cycles),
            instructions: self.instructions.saturating_sub(before.instructions),
            l1d_misses: misses.map(|(after, before)| after.saturating_sub(before)),
        }
    }
}

fn why_not(error: &std::io::Error) -> String {
    match error.raw_os_error() {
        Some(libc::ENOENT | libc::EOPNOTSUPP | libc::ENODEV) => {
            "this machine offers no cycle counter (a virtual machine without one?)".into()
        }
        Some(libc::EACCES | libc::EPERM) => {
            format!("{}; sysctl kernel.perf_event_paranoid=2, as root", switches::paranoia())
        }
        _ => format!("perf_event_open: {}", plain(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_counted_or_it_is_said_why_not() {
        let mut counters = match WorkCounters::open() {
            Ok(counters) => counters,
            Err(why) => {
                println!("SKIPPED work_is_counted_or_it_is_said_why_not: {why}");
                return;
            }
        };
        let Ok(before) = counters.read() else {
            println!("SKIPPED work_is_counted_or_it_is_said_why_not: the counters stand still");
            return;
        };
        let sum = (0..100_000_u64).fold(0, |sum, x| std::hint::black_box(sum ^ x));
        std::hint::black_box(sum);
        let work = counters.read().unwrap().since(before);
        assert!(work.instructions >= 100_000 && work.cycles > 0, "{work:?}");
    }
}
