//! A lock whose waiters only read.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use super::Lock;
use crate::sync::{AtomicBool, Looks};

/// Test-and-test-and-set (Rudolph and Segall 1984): a waiter reads until the lock looks free, and only
/// then tries to take it, so that the line stays where it is while somebody holds the lock. A PAUSE
/// between two looks.
#[derive(Debug)]
pub struct TestAndTestAndSet {
    held: AtomicBool,
}

impl TestAndTestAndSet {
    /// A free lock.
    pub fn new() -> TestAndTestAndSet {
        TestAndTestAndSet { held: AtomicBool::new(false) }
    }

    #[inline]
    fn acquire(&self) {
        let mut looks = Looks::new();
        while self.take() {
            // Relaxed: only a hint that trying might help.
            while self.held.load(Relaxed) {
                looks.rest();
            }
        }
    }

    /// Marks it as held; whether it was before.
    #[inline]
    fn take(&self) -> bool {
        self.held.swap(true, Acquire) // E4 (load)
    }

    #[inline]
    fn release(&self) {
        self.held.store(false, Release); // E4 (store)
    }
}

impl Default for TestAndTestAndSet {
    fn default() -> TestAndTestAndSet {
        TestAndTestAndSet::new()
    }
}

impl Lock for TestAndTestAndSet {
    #[inline]
    fn with<R>(&self, work: impl FnOnce() -> R) -> R {
        self.acquire();
        let _held = Held(self);
        work()
    }
}

struct Held<'a>(&'a TestAndTestAndSet);

impl Drop for Held<'_> {
    #[inline]
    fn drop(&mut self) {
        self.0.release();
    }
}
