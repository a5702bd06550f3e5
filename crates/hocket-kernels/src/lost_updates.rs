//! Counting without synchronisation.
//!
//! The article of 2003 on Hyper-Threading let two threads increment one integer and, beside it, one of their own each:
//! with two siblings of a Pentium 4 at 3.06 GHz the shared one came to 29,339,340 and the own ones together
//! to 47,812,913, a loss of 39 %; on one seat nothing was lost.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use hocket_rt::Padded;

use crate::kernel::Wrong;
use crate::sync::Looks;
use crate::sys::{in_one, in_three, one_instruction_missing};
use crate::thread_group::ThreadGroup;

/// How a counter is incremented.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Increment {
    /// A load, an addition and a store: three instructions.
    ThreeInstructions,
    /// One instruction that does all of that, and yet not in one step for other CPUs.
    OneInstruction,
}

impl Increment {
    /// Both.
    pub const ALL: [Increment; 2] = [Increment::ThreeInstructions, Increment::OneInstruction];

    /// Why this processor cannot do it; `None` where it can.
    pub fn missing(self) -> Option<&'static str> {
        match self {
            Increment::ThreeInstructions => None,
            Increment::OneInstruction => one_instruction_missing(),
        }
    }
}

/// What both kinds of counters came to while all threads counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LostUpdates {
    /// The one that all incremented.
    pub shared: u64,
    /// Those that each thread incremented alone.
    pub private: Vec<u64>,
    /// From the first thread's beginning to the last one's end.
    pub elapsed: Duration,
}

impl LostUpdates {
    /// How many increments were made.
    pub fn made(&self) -> u64 {
        self.private.iter().sum()
    }

    /// How many of them are not in the shared counter.
    pub fn lost(&self) -> u64 {
        self.made().saturating_sub(self.shared)
    }

    /// The same as a share of all, from 0 to 1.
    pub fn lost_share(&self) -> f64 {
        self.lost() as f64 / self.made().max(1) as f64
    }

    /// Whether the counters can be true: the first thread to end made `times`, no thread more, and no increment was counted
    /// twice.
    ///
    /// # Errors
    /// [`Wrong`], if not.
    pub fn check(&self, times: u64) -> Result<(), Wrong> {
        let most = self.private.iter().copied().max().unwrap_or(0);
        Wrong::unless_equal("the private counter of the thread that ended first", most, times)?;
        Wrong::unless_equal(
            "that the shared counter is no larger",
            self.shared <= self.made(),
            true,
        )
    }
}

/// Every thread of `group` increments a shared counter and one of its own, until the first of them has done so `times`
/// times: a thread that counts alone loses nothing, and would dilute the share of what gets lost.
///
/// They begin when all run, and look before each increment whether one has ended: a load of a line that nobody writes
/// until then. Where they share a CPU, some may have made few increments or none.
///
/// An increment is a load, an addition and a store, as compilers make of `i++`, or the one instruction of some
/// processors. All access the counters as `Relaxed` atomics are, so that the race loses updates, but is none in the
/// sense of the language.
///
/// # Errors
/// What the system says when it has no more threads to give.
pub fn lost_updates(
    group: &ThreadGroup<'_>,
    times: u64,
    increment: Increment,
) -> io::Result<LostUpdates> {
    match increment {
        Increment::ThreeInstructions => count(group, times, in_three),
        Increment::OneInstruction => count(group, times, in_one),
    }
}

fn count(
    group: &ThreadGroup<'_>,
    times: u64,
    increment: impl Fn(&AtomicU64) + Sync,
) -> io::Result<LostUpdates> {
    let shared = Padded(AtomicU64::new(0));
    let (missing, ended) =
        (Padded(AtomicUsize::new(group.threads())), Padded::<AtomicBool>::default());
    let finished = group.run(|_| {
        let private = Padded(AtomicU64::new(0));
        together(&missing);
        // Relaxed: the flag publishes nothing, the counter is this thread's own.
        while !ended.load(Relaxed) {
            increment(&shared);
            increment(&private);
            if private.load(Relaxed) >= times {
                ended.store(true, Relaxed);
            }
        }
        private.load(Relaxed)
    })?;
    Ok(LostUpdates {
        // Relaxed: all were joined.
        shared: shared.load(Relaxed),
        private: finished.results,
        elapsed: finished.elapsed,
    })
}

/// Until all run. On a shared CPU, a thread that waits yields to the others.
fn together(missing: &AtomicUsize) {
    // Relaxed: only that all run matters; the counter publishes nothing.
    missing.fetch_sub(1, Relaxed);
    let mut looks = Looks::new();
    // Relaxed: as above.
    while missing.load(Relaxed) > 0 {
        looks.rest();
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn alone_nothing_is_lost() {
        for increment in Increment::ALL {
            let counted = lost_updates(&ThreadGroup::anywhere(1), 10_000, increment).unwrap();
            assert_eq!(counted.check(10_000), Ok(()));
            assert_eq!((counted.shared, counted.lost()), (10_000, 0));
        }
    }

    #[test]
    fn together_nothing_is_counted_twice() {
        for increment in Increment::ALL {
            let counted = lost_updates(&ThreadGroup::anywhere(3), 100_000, increment).unwrap();
            assert_eq!(counted.check(100_000), Ok(()));
            assert!((100_000..=300_000).contains(&counted.made()), "{counted:?}");
            assert!((0.0..1.0).contains(&counted.lost_share()));
        }
    }

    #[test]
    fn a_thread_that_goes_on_alone_is_noticed() {
        let counted = |private: [u64; 2]| LostUpdates {
            shared: 5,
            private: private.to_vec(),
            elapsed: Duration::ZERO,
        };
        assert_eq!(counted([7, 10]).check(10), Ok(()));
        assert!(counted([10, 11]).check(10).is_err(), "nobody goes on after the first has ended");
        assert!(counted([2, 2]).check(2).is_err(), "the shared counter is larger than their sum");
    }
}
