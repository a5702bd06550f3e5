//! For systems whose futex Hocket does not use: a mutex and a condition variable.

use super::Sleep;
use crate::sync::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// From this number on it is cheaper to wake all threads, which is always allowed.
const FEW: u32 = 8;

/// The clock of deadlines: nanoseconds since the first call, plus one.
///
/// Thread: any. Cost: one read of the clock.
pub fn monotonic_ns() -> u64 {
    static FIRST: OnceLock<Instant> = OnceLock::new();
    let since = FIRST.get_or_init(Instant::now).elapsed();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX).saturating_add(1)
}

/// The condition variable holds the queue. The mutex makes looking and queueing one step.
#[derive(Debug)]
pub(crate) struct Lot {
    door: Mutex<()>,
    queue: Condvar,
}

impl Lot {
    pub(crate) fn new() -> Self {
        let lot = Lot { door: Mutex::new(()), queue: Condvar::new() };
        // Some systems allocate a mutex and a condition variable at first use. Use them now.
        drop(lot.lock());
        lot.queue.notify_all();
        lot
    }

    /// Blocks while `word` holds `expected`, at most until [`monotonic_ns`] reads `deadline_ns`. May
    /// return early, so the caller looks at the word again.
    pub(crate) fn sleep_while(
        &self,
        word: &AtomicU32,
        expected: u32,
        deadline_ns: Option<u64>,
    ) -> Sleep {
        let guard = self.lock();
        // Relaxed: the door orders this look against `wake`. E1 publishes data.
        if word.load(Relaxed) != expected {
            return Sleep::Refused;
        }
        let Some(deadline_ns) = deadline_ns else {
            drop(self.queue.wait(guard).unwrap_or_else(PoisonError::into_inner));
            return Sleep::Ended;
        };
        let left = Duration::from_nanos(deadline_ns.saturating_sub(monotonic_ns()));
        let (_guard, timeout) =
            self.queue.wait_timeout(guard, left).unwrap_or_else(PoisonError::into_inner);
        // A condition variable may report a timeout to a notified thread, or a little too early.
        let over = timeout.timed_out() && monotonic_ns() >= deadline_ns;
        if over { Sleep::TimedOut } else { Sleep::Ended }
    }

    /// Wakes at least `at_most` of the threads that sleep on the word, or all of them.
    pub(crate) fn wake(&self, _word: &AtomicU32, at_most: u32) {
        // Take the door once: every thread that looked before is in the queue afterwards.
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
