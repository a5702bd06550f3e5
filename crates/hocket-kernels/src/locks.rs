//! Ways to let one thread at a time do something.
//!
//! All stand behind [`Lock`], so that a counter or a picture can be written under any of them without
//! a choice at run time within the loop. [`LockKind`] is the choice by name; it makes a [`Counter`]
//! whose inner loop knows its lock.

mod std_mutex;

mod parking;

#[cfg(unix)]
mod pthread;

mod spin_then_block;

mod test_and_set;

mod test_and_test_and_set;

mod ticket;

mod mcs;

mod counter;

#[cfg(unix)]
mod kernel;

mod kind;

pub use counter::{AtomicCounter, Counter, LockedCounter};
#[cfg(unix)]
pub use kernel::KernelLock;
pub use kind::{LockKind, ParseLockKindError};
pub use mcs::Mcs;
pub use parking::ParkingLot;
#[cfg(unix)]
pub use pthread::Pthread;
pub use spin_then_block::SpinThenBlock;
pub use std_mutex::StdMutex;
pub use test_and_set::TestAndSet;
pub use test_and_test_and_set::TestAndTestAndSet;
pub use ticket::Ticket;

/// Mutual exclusion.
pub trait Lock: Send + Sync {
    /// Runs `work` while no other thread runs anything under this lock. What was done under it before
    /// is visible to `work`. If `work` panics, the lock is free again.
    ///
    /// Thread: any, but not one that already is under this lock: it would wait for itself.
    fn with<R>(&self, work: impl FnOnce() -> R) -> R;
}
