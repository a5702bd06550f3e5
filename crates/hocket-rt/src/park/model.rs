//! The futex for loom: looking and queueing are one step, and there are no spurious wake-ups.
//!
//! A model has no clock. A deadline of `u64::MAX` never passes. Any other may pass at any moment after the
//! thread was queued.

use super::Sleep;
use crate::sync::{Arc, AtomicU32};
use loom::sync::{Condvar, Mutex, MutexGuard};
use loom::thread::yield_now;
use std::sync::atomic::Ordering::Relaxed;

/// A queue. loom reports a lost wake-up as a deadlock.
///
/// It wakes the latest thread first. A kernel wakes by priority, so any thread may overtake any other. This
/// order is the hardest for a protocol.
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
        // Relaxed: like the kernel's own look, which only the queue's lock orders.
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

    /// The other threads go on as long as the scheduler chooses. Then the deadline has passed.
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
