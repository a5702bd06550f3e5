//! How a thread gives its CPU away until somebody wakes it: one file per system, the same names.
//!
//! A [`Lot`] belongs to one atomic word. [`Lot::sleep_while`] blocks the caller if the word still
//! holds the expected value *at the moment it is queued*, and [`Lot::wake`] wakes as many of those
//! that are queued as it is told, or all if there are fewer; in which order is left open, and it may
//! wake more. The two are atomic towards each other, and whoever is woken comes after the one who
//! woke it; that is all the caller relies on. In particular neither publishes data: after it wakes,
//! the caller reads the word again with `Acquire`.

#[cfg(all(not(loom), target_os = "linux", target_pointer_width = "64"))]
mod linux;
#[cfg(all(not(loom), target_os = "linux", target_pointer_width = "64"))]
pub(crate) use linux::Lot;

// Compiled for the tests on Linux, too, so that it does not rot there.
#[cfg(all(not(loom), any(test, not(all(target_os = "linux", target_pointer_width = "64")))))]
mod other;
#[cfg(all(not(loom), not(all(target_os = "linux", target_pointer_width = "64"))))]
pub(crate) use other::Lot;

#[cfg(loom)]
mod model;
#[cfg(loom)]
pub(crate) use model::Lot;

#[cfg(all(test, not(loom)))]
mod tests {
    use crate::sync::AtomicU32;
    use std::sync::atomic::Ordering::Relaxed;
    use std::sync::mpsc::channel;
    use std::time::Duration;

    const ROUNDS: u32 = 5_000;

    /// Two threads take turns at one word, asleep in between. They are never both asleep, or the
    /// test would hang; the limit of time only tells that it does.
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
                            lot.sleep_while(word, turn.wrapping_sub(1));
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
            assert!(!shared.0.sleep_while(&shared.1, 7), "the word is not 7");
        }};
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
