//! Counting without synchronisation.
//!
//! The article of 2003 on Hyper-Threading let two threads increment one integer and, beside it, one of their own each:
//! with two siblings of a Pentium 4 at 3.06 GHz the shared one came to 29,339,340 and the own ones together
//! to 47,812,913, a loss of 39 %; on one seat nothing was lost.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use hocket_rt::Padded;

use crate::kernel::Wrong;
use crate::thread_group::ThreadGroup;

/// What both kinds of counters came to.
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

    /// Whether the counters can be true: each thread made `times`, and no increment was counted twice.
    ///
    /// # Errors
    /// [`Wrong`], if not.
    pub fn check(&self, times: u64) -> Result<(), Wrong> {
        let whole = self.private.iter().all(|made| *made == times);
        Wrong::unless_equal("that each thread counted all of its own", whole, true)?;
        Wrong::unless_equal(
            "that the shared counter is no larger",
            self.shared <= self.made(),
            true,
        )
    }
}

/// Every thread of `group` increments a shared counter and one of its own, `times` times.
///
/// An increment is a load, an addition and a store, as compilers make of `i++`; the counters are `Relaxed`
/// atomics, so that the race loses updates, but is none in the sense of the language.
///
/// # Errors
/// What the system says when it has no more threads to give.
pub fn lost_updates(group: &ThreadGroup<'_>, times: u64) -> io::Result<LostUpdates> {
    let shared = Padded(AtomicU64::new(0));
    let finished = group.run(|_| {
        let private = Padded(AtomicU64::new(0));
        for _ in 0..times {
            increment(&shared);
            increment(&private);
        }
        // Relaxed: this thread's own.
        private.load(Relaxed)
    })?;
    Ok(LostUpdates {
        // Relaxed: all were joined.
        shared: shared.load(Relaxed),
        private: finished.results,
        elapsed: finished.elapsed,
    })
}

#[inline(always)]
fn increment(counter: &AtomicU64) {
    // Relaxed, and not one step: that is the point.
    counter.store(counter.load(Relaxed).wrapping_add(1), Relaxed);
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn alone_nothing_is_lost() {
        let counted = lost_updates(&ThreadGroup::anywhere(1), 10_000).unwrap();
        assert_eq!(counted.check(10_000), Ok(()));
        assert_eq!((counted.shared, counted.lost()), (10_000, 0));
    }

    #[test]
    fn together_nothing_is_counted_twice() {
        let counted = lost_updates(&ThreadGroup::anywhere(3), 100_000).unwrap();
        assert_eq!(counted.check(100_000), Ok(()));
        assert_eq!(counted.made(), 300_000);
        assert!((0.0..1.0).contains(&counted.lost_share()));
    }
}
