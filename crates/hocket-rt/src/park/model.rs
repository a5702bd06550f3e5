//! The futex as loom sees it: look-and-queue as one step, no wake-ups out of the blue.
//!
//! A model has no clock. A deadline of `u64::MAX` never passes; any other may pass at any moment after
//! the thread was queued.

use super::Sleep;
use crate::sync::{Arc, AtomicU32};
use loom::sync::{Condvar, Mutex, MutexGuard};
use loom::thread::yield_now;
use std::sync::atomic::Ordering::Relaxed;

/// A queue whose lost wake-up loom reports as a deadlock.
///
/// The last to come is woken first. A kernel wakes by priority, so anybody may overtake anybody, and
/// this is the order that a protocol likes least.
#[derive(Debug)]
pub(crate) struct Lot {
    queue: Mutex<Vec<Arc<Condvar>>>,
}

/// A time before every deadline.
pub fn monotonic_ns() -> u64 {
    0
}

impl Lot {
    pub(crate) fn new() -> Self {
        Lot { queue: Mutex::new(Vec::new()) }
    }

    pub(crate) fn sleep_while(
        &self,
        word: &AtomicU32,
        expected: u32,
        deadline_ns: Option<u64>,
    ) -> Sleep {
        let mut queue = self.lock();
        // Relaxed: as the kernel's own look, ordered by the queue's lock alone.
        if word.load(Relaxed) != expected {
            return Sleep::Refused;
        }
        let bed = Arc::new(Condvar::new());
        queue.push(Arc::clone(&bed));
        if deadline_ns.is_some_and(|deadline| deadline != u64::MAX) {
            drop(queue);
            return self.time_out(&bed);
        }
        drop(bed.wait(queue).unwrap());
        Sleep::Ended
    }

    /// The others go on for as long as the scheduler likes; then the deadline has passed.
    fn time_out(&self, bed: &Arc<Condvar>) -> Sleep {
        yield_now();
        let mut queue = self.lock();
        let place = queue.iter().position(|other| Arc::ptr_eq(other, bed));
        match place {
            Some(place) => {
                queue.remove(place);
                Sleep::TimedOut
            }
            None => Sleep::Ended,
        }
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
