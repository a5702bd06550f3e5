//! Systems without a futex of their own here: a mutex and a condition variable.

use crate::sync::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// From here on it is cheaper to wake all, which is always allowed.
const FEW: u32 = 8;

/// The queue is the condition variable's; the mutex makes look-and-queue one step.
#[derive(Debug)]
pub(crate) struct Lot {
    door: Mutex<()>,
    queue: Condvar,
}

impl Lot {
    pub(crate) fn new() -> Self {
        let lot = Lot { door: Mutex::new(()), queue: Condvar::new() };
        // Some systems allocate a mutex and a condition variable on first use; that is now.
        drop(lot.lock());
        lot.queue.notify_all();
        lot
    }

    /// Blocks while `word` holds `expected`; `true` if the thread was really queued. May return
    /// early, so the caller looks at the word again.
    pub(crate) fn sleep_while(&self, word: &AtomicU32, expected: u32) -> bool {
        let guard = self.lock();
        // Relaxed: the door orders this look against `wake_all`; data is published by E1.
        if word.load(Relaxed) != expected {
            return false;
        }
        drop(self.queue.wait(guard).unwrap_or_else(PoisonError::into_inner));
        true
    }

    /// Wakes `at_most` so many of those that sleep on the word.
    pub(crate) fn wake(&self, _word: &AtomicU32, at_most: u32) {
        // Through the door: whoever looked before us is queued by now.
        drop(self.lock());
        if at_most < FEW {
            (0..at_most).for_each(|_| self.queue.notify_one());
        } else {
            self.queue.notify_all();
        }
    }

    fn lock(&self) -> MutexGuard<'_, ()> {
        self.door.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
