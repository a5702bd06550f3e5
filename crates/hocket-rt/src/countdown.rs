//! How many predecessors have not finished yet.

use crate::sync::AtomicU32;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};

/// The number of predecessors that have not finished. The arrival that takes it to zero learns so.
///
/// It has eight bytes and no padding: there is one per unit, and ten thousand padded ones would not fit into
/// the caches near a core. If all threads share one, wrap it in [`Padded`](crate::Padded).
#[derive(Debug)]
pub struct Countdown {
    /// Written by every predecessor. Read by the last one (edge E3) and by threads that look (edge E11).
    remaining: AtomicU32,
    initial: u32,
}

impl Countdown {
    /// A countdown of `initial` arrivals. No arrival completes a countdown of zero.
    pub fn new(initial: u32) -> Countdown {
        Countdown { remaining: AtomicU32::new(initial), initial }
    }

    /// Counts one predecessor as finished. Returns `true` if this call took the number to zero.
    ///
    /// The caller then sees all that every other predecessor did before it arrived. Thread: any. Cost: one
    /// atomic subtraction.
    #[inline]
    pub fn arrive(&self) -> bool {
        // Release half: publishes what this predecessor wrote to the one that takes the count to zero.
        // Acquire half: if that is this one, it needs what *every other* predecessor wrote.
        let before = self.remaining.fetch_sub(1, AcqRel); // E3 (store, load), E11 (store)
        debug_assert!(before != 0, "more arrivals than predecessors");
        before == 1
    }

    /// Whether all predecessors have finished. If so, the caller sees what each did before it arrived.
    ///
    /// Thread: any, but not while another thread resets it. Cost: one load.
    #[inline]
    pub fn is_down(&self) -> bool {
        self.remaining.load(Acquire) == 0 // E11 (load)
    }

    /// Sets the number back to the start. Nobody may arrive at the same time.
    ///
    /// Thread: the one that took it to zero, before it notifies others. Or the leader, while nobody is inside.
    #[inline]
    pub fn reset(&self) {
        // Relaxed: another edge comes before the next arrival (E1 at a barrier, E4 at a turnstile, E6 with a
        // ready unit). It publishes this store.
        self.remaining.store(self.initial, Relaxed);
    }

    /// The number at the start.
    #[inline]
    pub fn initial(&self) -> u32 {
        self.initial
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn only_the_last_arrival_is_told_so_round_after_round() {
        let countdown = Countdown::new(3);
        for _ in 0..4 {
            assert_eq!([(); 3].map(|()| countdown.arrive()), [false, false, true]);
            countdown.reset();
        }
        assert_eq!(countdown.initial(), 3);
    }
}
