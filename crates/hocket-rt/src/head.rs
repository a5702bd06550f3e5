//! The head of a list that several threads may take from.

use crate::sync::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

/// How far a list has been taken: places before it are somebody's, the place at it is next.
///
/// All accesses are relaxed: a head says whose a place is and publishes nothing. What the taker of a
/// unit reads is published by the unit's [`Countdown`](crate::Countdown) (edge E11), and lists do not
/// change while anybody is inside (E4). `PROTOCOL.md`, section Head.
#[derive(Debug, Default)]
pub struct Head(AtomicU32);

impl Head {
    /// At the beginning.
    pub fn new() -> Head {
        Head(AtomicU32::new(0))
    }

    /// The place that is next; may be old by the time it is looked at, and is never ahead.
    #[inline]
    pub fn place(&self) -> u32 {
        // Relaxed, here and below: a head publishes nothing (see the type).
        self.0.load(Relaxed)
    }

    /// Takes `place`; `false` where somebody else has.
    ///
    /// Thread: any. Cost: one atomic exchange.
    #[inline]
    pub fn take(&self, place: u32) -> bool {
        // Relaxed: that exchanges of one word have one order is all that is needed.
        self.0.compare_exchange(place, place + 1, Relaxed, Relaxed).is_ok()
    }

    /// Goes back to the beginning, while nobody else looks.
    #[inline]
    pub fn rewind(&self) {
        // Relaxed: E4 carries it to whoever enters.
        self.0.store(0, Relaxed);
    }
}
