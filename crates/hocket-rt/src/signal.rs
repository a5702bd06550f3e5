//! A number that threads can wait for.
//!
//! # The idea
//!
//! An event count. A thread that changes something advances the number afterwards. A thread that waits
//! for a change reads the number *first*, then looks for the change, and only then waits until the
//! number is past what it read. A change between the look and the wait has moved the number, so the
//! wait returns at once. No event is lost, and the two threads need no lock.
//!
//! ```
//! use hocket_rt::{ReadySet, Signal, SpinCost, Strategy, Wait};
//! use std::time::Duration;
//!
//! let (set, pushed) = (ReadySet::new(1, 64), Signal::new());
//! let wait = Wait::new(Strategy::Futex, &SpinCost::measure(), Duration::ZERO);
//! std::thread::scope(|threads| {
//!     threads.spawn(|| {
//!         set.push(0, 17);
//!         pushed.advance(); // after the change
//!     });
//!     let mut seen = pushed.value(); // before the look
//!     let unit = loop {
//!         match set.pop(0) {
//!             Some(unit) => break unit,
//!             None => (seen, _) = pushed.wait_past(seen, &wait),
//!         }
//!     };
//!     assert_eq!(unit, 17);
//! });
//! ```
//!
//! The thread that advances wakes the sleepers, about 2 µs for each: 15 of them delay a leader by
//! 30 µs. With [a fan-out](Signal::with_fan_out) it wakes a few, and each of them wakes a few more.
//!
//! Limits: 2^32 advances during one wait look like none. Every advance wakes every sleeper.

use crate::park::{Lot, Sleep, monotonic_ns};
use crate::sync::{AtomicU32, fence};
use crate::wait::{Wait, Waited};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use std::time::Duration;

/// A number that only grows (wrapping), and that threads can wait for.
///
/// Value and sleepers share a line, so a thread that advances gets both with one transfer.
#[derive(Debug)]
#[repr(align(128))]
pub struct Signal {
    /// Threads that advance write it, threads that wait read it: edge E1. It is also the futex word.
    value: AtomicU32,
    /// How many threads sleep or are about to sleep. Waiters write it, threads that advance read it: edge E2.
    /// With a fan-out it also has the bit [`OWED`].
    sleepers: AtomicU32,
    /// How many threads one thread wakes at most. [`EVERYBODY`]: no limit, and woken threads wake nobody.
    fan_out: u32,
    lot: Lot,
}

const EVERYBODY: u32 = u32::MAX;
/// Since the last advance that found sleepers, no thread has woken all of them. So each woken thread wakes
/// more. Threads that advance set the bit, threads about to sleep clear it.
const OWED: u32 = 1 << 31;

impl Signal {
    /// A signal at 0 whose `advance` wakes all sleepers itself.
    pub fn new() -> Signal {
        Signal::with_fan_out(EVERYBODY)
    }

    /// A signal at 0 whose `advance` wakes at most `n` sleepers (at least 1). Each thread that leaves
    /// the kernel wakes up to `n` more while there are any.
    ///
    /// Use it for many sleepers and a thread that must not be delayed. With `n` = 2 and 15 sleepers, that
    /// thread makes one call that wakes two of them. The last sleeper wakes three wake-ups later than the
    /// first. For a few sleepers [`Signal::new`] is quicker.
    ///
    /// ```
    /// use hocket_rt::{Signal, SpinCost, Strategy, Wait};
    /// use std::time::Duration;
    ///
    /// let gate = Signal::with_fan_out(2);
    /// let wait = Wait::new(Strategy::Futex, &SpinCost::measure(), Duration::ZERO);
    /// std::thread::scope(|threads| {
    ///     for _ in 0..15 {
    ///         threads.spawn(|| gate.wait_past(0, &wait));
    ///     }
    ///     gate.advance();
    /// });
    /// ```
    pub fn with_fan_out(n: u32) -> Signal {
        Signal {
            value: AtomicU32::new(0),
            sleepers: AtomicU32::new(0),
            fan_out: n.max(1),
            lot: Lot::new(),
        }
    }

    /// The number now. The caller sees all that was done before the number was reached.
    ///
    /// Thread: any. Cost: a load.
    #[inline]
    pub fn value(&self) -> u32 {
        self.value.load(Acquire) // E1 (load)
    }

    /// Adds one and wakes the sleepers, or the first few of them. Returns whether it made a system call. It
    /// makes none if nobody sleeps.
    ///
    /// Publishes all that the caller did before. Thread: any. Cost: an atomic addition and a full fence, and
    /// about 2 µs for each thread that it wakes.
    pub fn advance(&self) -> bool {
        self.value.fetch_add(1, Release); // E1 (store)
        // Other threads must see the new value before this one looks for sleepers: see PROTOCOL.md, lost
        // wake-up.
        fence(SeqCst); // E2 (store)
        // Relaxed: the fence orders it, and no data depends on it.
        // If only OWED is set, all sleepers of a wake tree have left.
        let asleep = self.sleepers.load(Relaxed) & !OWED != 0;
        if asleep {
            self.wake_first();
        }
        asleep
    }

    fn wake_first(&self) {
        if self.fan_out != EVERYBODY {
            // Relaxed: only the order of changes to this one word matters, see PROTOCOL.md, Wake tree.
            self.sleepers.fetch_or(OWED, Relaxed);
        }
        self.lot.wake(&self.value, self.fan_out);
    }

    /// Waits until the number is not `seen`. Returns the number and what the wait did.
    ///
    /// Thread: any. Cost: as `wait` says.
    #[inline]
    pub fn wait_past(&self, seen: u32, wait: &Wait) -> (u32, Waited) {
        self.wait_until(seen, wait, || false)
    }

    /// Like [`wait_past`](Self::wait_past), but also returns when [`monotonic_ns`] has reached `deadline_ns`.
    /// The number is then still `seen`.
    ///
    /// The thread takes the steps of `wait`, then sleeps in the kernel until an `advance` or the deadline ends
    /// the sleep. A wait that never blocks takes no steps here, because nothing would end them. The steps do
    /// not look at the clock. So a deadline shorter than a hybrid's spin is late by the rest of that spin.
    ///
    /// Thread: any. Cost: as `wait` says. A sleep adds two reads of the clock.
    ///
    /// ```
    /// use hocket_rt::{Signal, SpinCost, Strategy, Wait, monotonic_ns};
    /// use std::time::Duration;
    ///
    /// let gate = Signal::new();
    /// let wait = Wait::new(Strategy::Futex, &SpinCost::measure(), Duration::ZERO);
    /// let soon = monotonic_ns() + 1_000_000;
    /// assert_eq!(gate.wait_past_by(0, &wait, soon).0, 0); // nobody advances
    /// assert!(monotonic_ns() >= soon);
    ///
    /// let in_an_hour = monotonic_ns() + 3_600_000_000_000;
    /// std::thread::scope(|threads| {
    ///     threads.spawn(|| gate.advance());
    ///     assert_eq!(gate.wait_past_by(0, &wait, in_an_hour).0, 1);
    /// });
    /// ```
    pub fn wait_past_by(&self, seen: u32, wait: &Wait, deadline_ns: u64) -> (u32, Waited) {
        let wait = wait.blocking_after(Duration::ZERO);
        self.wait_for(seen, &wait, Some(deadline_ns), || false)
    }

    /// Waits until the number is not `seen` or `stop` returns `true`.
    ///
    /// The wait calls `stop` once per step (a monitored rest is a step of up to 20 µs) and before each
    /// sleep, so it should cost no more than a load. It does not call it during a sleep: the thread that
    /// makes it true has to advance the signal afterwards to wake the sleepers.
    #[inline]
    pub fn wait_until(&self, seen: u32, wait: &Wait, stop: impl Fn() -> bool) -> (u32, Waited) {
        self.wait_for(seen, wait, None, stop)
    }

    /// Takes the steps of `wait` without its sleep. Returns when the number is not `seen`, when `stop`
    /// returns `true`, or when `wait` would block. The caller can read the number and call `stop` again to
    /// see which.
    ///
    /// It is for a thread that keeps a seat busy for a while and must not sleep there, because nobody would
    /// wake it. A wait that never blocks returns only because of the number or `stop`.
    ///
    /// Thread: any. Cost: as `wait` says.
    #[inline]
    pub fn spin_until(&self, seen: u32, wait: &Wait, stop: impl Fn() -> bool) -> (u32, Waited) {
        let mut waited = Waited::default();
        let poll = || {
            let value = self.value();
            (value != seen || stop()).then_some(value)
        };
        let value = wait.spin_for(&mut waited, &self.value, poll);
        (value.unwrap_or(seen), waited)
    }

    #[inline]
    fn wait_for(
        &self,
        seen: u32,
        wait: &Wait,
        deadline_ns: Option<u64>,
        stop: impl Fn() -> bool,
    ) -> (u32, Waited) {
        let mut waited = Waited::default();
        let poll = || {
            let value = self.value();
            (value != seen || stop()).then_some(value)
        };
        let value = match wait.spin_for(&mut waited, &self.value, poll) {
            Some(value) => value,
            None => self.sleep_until(&mut waited, seen, deadline_ns, poll),
        };
        (value, waited)
    }

    /// Blocks until `poll` finds something or the deadline has passed.
    #[cold]
    fn sleep_until(
        &self,
        waited: &mut Waited,
        seen: u32,
        deadline_ns: Option<u64>,
        poll: impl Fn() -> Option<u32>,
    ) -> u32 {
        // Relaxed: the fence orders it, and the count itself publishes nothing.
        self.sleepers.fetch_add(1, Relaxed);
        // The count must include this thread before it looks at the value for the last time.
        fence(SeqCst); // E2 (load)
        let value = loop {
            if let Some(value) = poll() {
                break value;
            }
            // If the deadline has passed, the thread would not sleep, but would count a sleep.
            if deadline_ns.is_some_and(|deadline| monotonic_ns() >= deadline) {
                break self.value();
            }
            self.settle();
            let sleep = self.lot.sleep_while(&self.value, seen, deadline_ns);
            waited.blocked += u32::from(sleep != Sleep::Refused);
            if sleep == Sleep::TimedOut {
                break self.value();
            }
        };
        // Relaxed: a late decrement costs one needless wake-up, an early one cannot happen.
        let before = self.sleepers.fetch_sub(1, Relaxed);
        if others_are_owed(before) {
            self.lot.wake(&self.value, self.fan_out);
        }
        value
    }

    /// Before a thread sleeps on the present number, it wakes those that sleep on an older one. Otherwise it
    /// might get a wake-up instead of one of them, and sleep again.
    fn settle(&self) {
        // Relaxed: as in `wake_first`. Without a fan-out the bit is never set.
        if self.fan_out != EVERYBODY && others_are_owed(self.sleepers.fetch_and(!OWED, Relaxed)) {
            self.lot.wake(&self.value, EVERYBODY);
        }
    }
}

/// Whether a thread other than the caller, which is counted, may still need a wake-up.
fn others_are_owed(sleepers: u32) -> bool {
    sleepers & OWED != 0 && sleepers & !OWED > 1
}

impl Default for Signal {
    fn default() -> Self {
        Signal::new()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::spin::SpinCost;
    use crate::wait::Strategy;

    fn waits() -> [Wait; Strategy::ALL.len()] {
        let cost = SpinCost::assumed(Duration::from_nanos(100));
        Strategy::ALL.map(|strategy| Wait::new(strategy, &cost, Duration::from_micros(1)))
    }

    #[test]
    fn what_is_past_already_is_not_waited_for() {
        let signal = Signal::default();
        assert!(!signal.advance(), "nobody sleeps");
        for wait in waits() {
            assert_eq!(signal.wait_past(0, &wait), (1, Waited::default()));
            assert_eq!(signal.wait_past(7, &wait), (1, Waited::default()), "any other value");
        }
    }

    #[test]
    fn a_stop_that_is_true_already_ends_the_wait() {
        let signal = Signal::new();
        for wait in waits() {
            assert_eq!(signal.wait_until(0, &wait, || true), (0, Waited::default()));
        }
    }

    #[test]
    fn a_spin_ends_where_the_wait_would_block() {
        let signal = Signal::new();
        for wait in waits() {
            let wait = wait.blocking_after(Duration::from_micros(1));
            let (value, waited) = signal.spin_until(0, &wait, || false);
            assert_eq!((value, waited.blocked), (0, 0));
            assert_eq!(signal.spin_until(0, &wait, || true), (0, Waited::default()));
            assert_eq!(signal.spin_until(7, &wait, || false), (0, Waited::default()));
        }
    }

    #[test]
    fn a_deadline_that_has_passed_ends_the_wait_without_a_sleep() {
        let signal = Signal::new();
        for wait in waits() {
            let (value, waited) = signal.wait_past_by(0, &wait, 0);
            assert_eq!((value, waited.blocked), (0, 0));
            assert_eq!(signal.wait_past_by(7, &wait, u64::MAX), (0, Waited::default()));
        }
        assert!(!signal.advance(), "nobody is counted as asleep any more");
    }

    #[test]
    fn a_deadline_ends_the_sleep_of_every_wait() {
        let signal = Signal::new();
        for wait in waits() {
            let deadline_ns = monotonic_ns() + 1_000_000;
            assert_eq!(signal.wait_past_by(0, &wait, deadline_ns).0, 0);
            assert!(monotonic_ns() >= deadline_ns);
        }
        assert!(!signal.advance(), "nobody is counted as asleep any more");
    }

    #[test]
    fn a_fan_out_of_nobody_is_one_of_one() {
        assert_eq!(Signal::with_fan_out(0).fan_out, 1);
    }

    #[test]
    fn the_value_wraps() {
        let signal = Signal::new();
        signal.value.store(u32::MAX, Relaxed);
        signal.advance();
        assert_eq!(signal.wait_past(u32::MAX, &waits()[0]).0, 0);
    }
}
