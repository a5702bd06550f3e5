//! What is counted under a lock.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use hocket_rt::Padded;

use super::Lock;

/// Increments between two looks at the stop flag: a look costs nothing beside as many increments.
const BATCH: u64 = 16;

/// A number that several threads increment, one at a time.
pub trait Counter: Send + Sync {
    /// Increments `times` times, each time under the lock anew.
    fn add(&self, times: u64);

    /// Increments until `stop` is set; returns how often. Looks every 16 increments.
    fn add_until(&self, stop: &AtomicBool) -> u64 {
        let mut added = 0;
        // Relaxed: a request that publishes nothing.
        while !stop.load(Relaxed) {
            self.add(BATCH);
            added += BATCH;
        }
        added
    }

    /// The loop of the article of 2003: until `stop` is set, each pass increments the number under the lock and
    /// then `own`, the calling thread's private counter, which others may read meanwhile.
    fn count_passes(&self, stop: &AtomicBool, own: &AtomicU64) {
        // Relaxed: a request that publishes nothing; `own` is written by this thread alone.
        while !stop.load(Relaxed) {
            self.add(1);
            own.store(own.load(Relaxed) + 1, Relaxed);
        }
    }

    /// The number; exact once all who increment were joined.
    fn value(&self) -> u64;
}

/// A counter under a lock. Lock and number have lines of their own.
#[derive(Debug, Default)]
pub struct LockedCounter<L> {
    lock: Padded<L>,
    number: Padded<AtomicU64>,
}

impl<L: Lock> LockedCounter<L> {
    /// Begins at 0.
    pub fn new(lock: L) -> LockedCounter<L> {
        LockedCounter { lock: Padded(lock), number: Padded(AtomicU64::new(0)) }
    }
}

impl<L: Lock> Counter for LockedCounter<L> {
    fn add(&self, times: u64) {
        for _ in 0..times {
            self.lock.with(|| {
                // Relaxed, and not one step: an ordinary increment, which only the lock keeps whole.
                self.number.store(self.number.load(Relaxed) + 1, Relaxed);
            });
        }
    }

    fn value(&self) -> u64 {
        // Relaxed: joining the threads orders it.
        self.number.load(Relaxed)
    }
}

/// One atomic instruction in place of a lock: the reference for all of them.
#[derive(Debug, Default)]
pub struct AtomicCounter {
    number: Padded<AtomicU64>,
}

impl Counter for AtomicCounter {
    fn add(&self, times: u64) {
        for _ in 0..times {
            // Relaxed: one step by itself; publishes nothing else.
            self.number.fetch_add(1, Relaxed);
        }
    }

    fn value(&self) -> u64 {
        // Relaxed: joining the threads orders it.
        self.number.load(Relaxed)
    }
}
