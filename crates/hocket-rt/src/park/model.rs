//! The futex as loom sees it: look-and-queue as one step, no wake-ups out of the blue.

use crate::sync::AtomicU32;
use loom::sync::{Condvar, Mutex, MutexGuard};
use std::sync::atomic::Ordering::Relaxed;

/// A queue whose lost wake-up loom reports as a deadlock.
#[derive(Debug)]
pub(crate) struct Lot {
    door: Mutex<()>,
    queue: Condvar,
}

impl Lot {
    pub(crate) fn new() -> Self {
        Lot { door: Mutex::new(()), queue: Condvar::new() }
    }

    pub(crate) fn sleep_while(&self, word: &AtomicU32, expected: u32) -> bool {
        let guard = self.lock();
        // Relaxed: as the kernel's own look, ordered by the door alone.
        if word.load(Relaxed) != expected {
            return false;
        }
        drop(self.queue.wait(guard).unwrap());
        true
    }

    pub(crate) fn wake_all(&self, _word: &AtomicU32) {
        drop(self.lock());
        self.queue.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, ()> {
        self.door.lock().unwrap()
    }
}
