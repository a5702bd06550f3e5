//! How a thread gives its CPU away until another thread wakes it. One file per system, with the same names.
//!
//! A [`Lot`] belongs to one atomic word.
//!
//! - [`Lot::sleep_while`] blocks the caller if the word still holds the expected value *at the moment it is
//!   queued*. With a deadline, the sleep also ends when the deadline has passed.
//! - [`Lot::wake`] wakes the given number of queued threads, or all of them if there are fewer. The order is
//!   undefined, and it may wake more.
//!
//! The two are atomic with respect to each other: a thread leaves the queue either by a wake-up or by its
//! deadline, never by both. A woken thread runs after the thread that woke it. The caller relies on nothing
//! else. In particular neither publishes data: after it wakes, the caller reads the word again with
//! `Acquire`.

#[cfg(all(not(loom), target_os = "linux", target_pointer_width = "64"))]
mod linux;
#[cfg(all(not(loom), target_os = "linux", target_pointer_width = "64"))]
pub(crate) use linux::Lot;
#[cfg(all(not(loom), target_os = "linux", target_pointer_width = "64"))]
pub use linux::monotonic_ns;

// Linux compiles it for the tests, so that errors show there too.
#[cfg(all(not(loom), any(test, not(all(target_os = "linux", target_pointer_width = "64")))))]
mod other;
#[cfg(all(not(loom), not(all(target_os = "linux", target_pointer_width = "64"))))]
pub(crate) use other::Lot;
#[cfg(all(not(loom), not(all(target_os = "linux", target_pointer_width = "64"))))]
pub use other::monotonic_ns;

#[cfg(loom)]
mod model;
#[cfg(loom)]
pub(crate) use model::Lot;
#[cfg(loom)]
pub use model::monotonic_ns;

/// How a sleep ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sleep {
    /// The thread was queued, and something woke it: a wake-up, a signal handler, or nothing at all.
    Ended,
    /// The word held another value, so the thread was not queued.
    Refused,
    /// The deadline has passed.
    TimedOut,
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::Sleep;
    use crate::sync::AtomicU32;
    use std::sync::atomic::Ordering::Relaxed;
    use std::sync::mpsc::channel;
    use std::time::Duration;

    const ROUNDS: u32 = 5_000;

    /// Two threads take turns at one word, and sleep in between. If both slept, the test would hang. The time
    /// limit only detects that.
    macro_rules! turns_are_taken {
        ($lot:ty) => {{
            let shared = std::sync::Arc::new((<$lot>::new(), AtomicU32::new(0)));
            let (done, ended) = channel();
            for player in 0..2 {
                let (shared, done) = (shared.clone(), done.clone());
                std::thread::spawn(move || {
                    let (lot, word) = &*shared;
                    for turn in (player..2 * ROUNDS).step_by(2) {
                        while word.load(Relaxed) != turn {
                            lot.sleep_while(word, turn.wrapping_sub(1), None);
                        }
                        word.store(turn + 1, Relaxed);
                        lot.wake(word, 1);
                    }
                    done.send(()).unwrap();
                });
            }
            for _ in 0..2 {
                ended.recv_timeout(Duration::from_secs(120)).expect("a wake-up was lost");
            }
            assert_eq!(shared.1.load(Relaxed), 2 * ROUNDS);
            assert_eq!(shared.0.sleep_while(&shared.1, 7, None), Sleep::Refused);
        }};
    }

    /// One sleep that nobody ends, and one whose deadline has passed before it begins.
    macro_rules! a_deadline_ends_a_sleep {
        ($system:ident) => {{
            use super::$system::{Lot, monotonic_ns};
            let (lot, word) = (Lot::new(), AtomicU32::new(5));
            let deadline = monotonic_ns() + 2_000_000;
            // A signal handler may end a sleep early.
            while lot.sleep_while(&word, 5, Some(deadline)) != Sleep::TimedOut {}
            assert!(monotonic_ns() >= deadline, "ended before its deadline");
            assert_eq!(lot.sleep_while(&word, 5, Some(deadline)), Sleep::TimedOut);
            assert_eq!(lot.sleep_while(&word, 5, Some(0)), Sleep::TimedOut);
            assert_eq!(lot.sleep_while(&word, 4, Some(deadline)), Sleep::Refused);
        }};
    }

    /// The deadline is so far ahead that only the wake-up can end the sleep.
    macro_rules! a_wake_up_comes_before_a_far_deadline {
        ($system:ident) => {{
            use super::$system::Lot;
            let shared = std::sync::Arc::new((Lot::new(), AtomicU32::new(0)));
            let (done, ended) = channel();
            let sleeper = shared.clone();
            std::thread::spawn(move || {
                while sleeper.1.load(Relaxed) == 0 {
                    sleeper.0.sleep_while(&sleeper.1, 0, Some(u64::MAX));
                }
                done.send(()).unwrap();
            });
            std::thread::sleep(Duration::from_millis(5));
            shared.1.store(1, Relaxed);
            shared.0.wake(&shared.1, 1);
            ended.recv_timeout(Duration::from_secs(120)).expect("the wake-up was lost");
        }};
    }

    #[test]
    fn a_deadline_ends_a_sleep_in_the_lot_of_this_system() {
        #[cfg(all(target_os = "linux", target_pointer_width = "64"))]
        a_deadline_ends_a_sleep!(linux);
    }

    #[test]
    fn a_deadline_ends_a_sleep_on_a_condition() {
        a_deadline_ends_a_sleep!(other);
    }

    #[test]
    fn a_wake_up_comes_before_a_far_deadline_in_the_lot_of_this_system() {
        #[cfg(all(target_os = "linux", target_pointer_width = "64"))]
        a_wake_up_comes_before_a_far_deadline!(linux);
    }

    #[test]
    fn a_wake_up_comes_before_a_far_deadline_on_a_condition() {
        a_wake_up_comes_before_a_far_deadline!(other);
    }

    #[test]
    fn turns_are_taken_through_the_lot_of_this_system() {
        turns_are_taken!(super::Lot);
    }

    #[test]
    fn turns_are_taken_through_a_mutex_and_a_condition() {
        turns_are_taken!(super::other::Lot);
    }
}
