//! Other systems, and models: a word with a queue of its own beside it.

#[cfg(not(loom))]
use std::sync::{Condvar, Mutex, MutexGuard};

#[cfg(loom)]
use loom::sync::{Condvar, Mutex, MutexGuard};

use std::sync::atomic::Ordering::Relaxed;

use crate::sync::AtomicU32;

/// The word, and where those wait who sleep on it. Look and queueing are one step, as in a kernel,
/// because both happen under the queue's lock.
#[derive(Debug)]
pub(crate) struct Futex {
    pub(crate) word: AtomicU32,
    queue: Mutex<()>,
    bed: Condvar,
}

impl Futex {
    pub(crate) fn new(value: u32) -> Futex {
        Futex { word: AtomicU32::new(value), queue: Mutex::new(()), bed: Condvar::new() }
    }

    /// Sleeps while the word holds `expected`. May return early, so the caller looks again.
    pub(crate) fn sleep_while(&self, expected: u32) {
        let queue = self.lock();
        // Relaxed: ordered by the queue's lock alone, as a kernel's own look.
        if self.word.load(Relaxed) == expected {
            drop(self.bed.wait(queue));
        }
    }

    /// Wakes at most `count` of those who sleep: one, or all.
    pub(crate) fn wake(&self, count: i32) {
        let _queue = self.lock();
        if count == 1 {
            self.bed.notify_one();
        } else {
            self.bed.notify_all();
        }
    }

    fn lock(&self) -> MutexGuard<'_, ()> {
        // Nothing panics under this lock.
        self.queue.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}
