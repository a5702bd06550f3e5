//! The simplest lock.

use std::sync::atomic::Ordering::{Acquire, Release};

use super::Lock;
use crate::sync::{AtomicBool, Looks};

/// Test-and-set: every look of a waiter writes, and so takes the line away from whoever holds the
/// lock. A PAUSE between two looks.
#[derive(Debug)]
pub struct TestAndSet {
    held: AtomicBool,
}

impl TestAndSet {
    /// A free lock.
    pub fn new() -> TestAndSet {
        TestAndSet { held: AtomicBool::new(false) }
    }

    #[inline]
    fn acquire(&self) {
        let mut looks = Looks::new();
        while self.take() {
            looks.rest();
        }
    }

    /// Marks it as held; whether it was before.
    #[inline]
    fn take(&self) -> bool {
        self.held.swap(true, Acquire) // E3 (load)
    }

    #[inline]
    fn release(&self) {
        self.held.store(false, Release); // E3 (store)
    }
}

impl Default for TestAndSet {
    fn default() -> TestAndSet {
        TestAndSet::new()
    }
}

impl Lock for TestAndSet {
    #[inline]
    fn with<R>(&self, work: impl FnOnce() -> R) -> R {
        self.acquire();
        let _held = Held(self);
        work()
    }
}

struct Held<'a>(&'a TestAndSet);

impl Drop for Held<'_> {
    #[inline]
    fn drop(&mut self) {
        self.0.release();
    }
}
