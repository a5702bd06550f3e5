//! Systems without a futex of their own here: a mutex and a condition variable.

use super::Sleep;
use crate::sync::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// From here on it is cheaper to wake all, which is always allowed.
const FEW: u32 = 8;

/// The clock of deadlines: nanoseconds since the first question, plus one.
///
/// Thread: any. Cost: a read of the clock.
pub fn monotonic_ns() -> u64 {
    static FIRST: OnceLock<Instant> = OnceLock::new();
    let since = FIRST.get_or_init(Instant::now).elapsed();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX).saturating_add(1)
}

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

    /// Blocks while `word` holds `expected`, at most until [`monotonic_ns`] reads `deadline_ns`. May
    /// return early, so the caller looks at the word again.
    pub(crate) fn sleep_while(
        &self,
        word: &AtomicU32,
        expected: u32,
        deadline_ns: Option<u64>,
    ) -> Sleep {
        let guard = self.lock();
        // Relaxed: the door orders this look against `wake`; data is published by E1.
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
        // A condition may report the timeout of a thread that was also notified, or a little early.
        let over = timeout.timed_out() && monotonic_ns() >= deadline_ns;
        if over { Sleep::TimedOut } else { Sleep::Ended }
    }

    /// Wakes at least `at_most` of the threads that sleep on the word, or all of them.
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
