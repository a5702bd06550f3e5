//! The futex as loom sees it: look-and-queue as one step, no wake-ups out of the blue.

use crate::sync::{Arc, AtomicU32};
use loom::sync::{Condvar, Mutex, MutexGuard};
use std::sync::atomic::Ordering::Relaxed;

/// A queue whose lost wake-up loom reports as a deadlock.
///
/// The last to come is woken first. A kernel wakes by priority, so anybody may overtake anybody, and
/// this is the order that a protocol likes least.
#[derive(Debug)]
pub(crate) struct Lot {
    queue: Mutex<Vec<Arc<Condvar>>>,
}

impl Lot {
    pub(crate) fn new() -> Self {
        Lot { queue: Mutex::new(Vec::new()) }
    }

    pub(crate) fn sleep_while(&self, word: &AtomicU32, expected: u32) -> bool {
        let mut queue = self.lock();
        // Relaxed: as the kernel's own look, ordered by the queue's lock alone.
        if word.load(Relaxed) != expected {
            return false;
        }
        let bed = Arc::new(Condvar::new());
        queue.push(Arc::clone(&bed));
        drop(bed.wait(queue).unwrap());
        true
    }

    pub(crate) fn wake(&self, _word: &AtomicU32, at_most: u32) {
        let mut queue = self.lock();
        for _ in 0..at_most {
            let Some(bed) = queue.pop() else { break };
            bed.notify_one();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Arc<Condvar>>> {
        self.queue.lock().unwrap()
    }
}
