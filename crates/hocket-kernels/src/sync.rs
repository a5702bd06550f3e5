//! Atomics, from `std` or from loom, and what a spinning thread does between two looks.
//!
//! With `--cfg loom` the locks run on loom's atomics. What is not modelled names `std` directly.

#[cfg(loom)]
pub(crate) use loom::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32};
#[cfg(not(loom))]
pub(crate) use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32};

/// Looks after which a spinning thread offers its CPU: about a millisecond of PAUSE. Locks that only
/// spin would otherwise stand still for whole time slices where threads are more than CPUs, and an
/// experiment must come to its end there, too.
#[cfg(not(loom))]
const YIELD_AFTER: u32 = 10_000;

/// Counts one thread's looks during one wait.
#[derive(Debug, Default)]
pub(crate) struct Looks {
    #[cfg(not(loom))]
    made: u32,
}

impl Looks {
    pub(crate) fn new() -> Looks {
        Looks::default()
    }

    /// Tells the core that this thread only waits; after many looks, the system.
    #[cfg(not(loom))]
    #[inline(always)]
    pub(crate) fn rest(&mut self) {
        if self.made < YIELD_AFTER {
            self.made += 1;
            std::hint::spin_loop();
        } else {
            std::thread::yield_now();
        }
    }

    /// In a model the other threads go on.
    #[cfg(loom)]
    pub(crate) fn rest(&mut self) {
        loom::thread::yield_now();
    }
}
