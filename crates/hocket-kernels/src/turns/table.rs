//! What two players need of a way to take turns.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// One of the two threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Has the first turn.
    A,
    /// Has the second.
    B,
}

impl Side {
    /// A for an even number, B for an odd one.
    pub fn of(number: usize) -> Side {
        if number.is_multiple_of(2) { Side::A } else { Side::B }
    }

    /// The one that this is not.
    pub fn other(self) -> Side {
        match self {
            Side::A => Side::B,
            Side::B => Side::A,
        }
    }
}

/// A way to take turns, at work.
pub trait Table: Sync {
    /// Waits until it is `side`'s turn; `false` if the game is over instead. A turn sees all that was
    /// done in the turns before.
    fn await_turn(&self, side: Side) -> bool;

    /// Ends `side`'s turn: it is the other one's.
    fn hand_over(&self, side: Side);

    /// Ends the game: nobody waits any more.
    fn stop(&self);
}

/// Whether the game is over. Set once, by the timekeeper, and looked at by both while they wait.
#[derive(Debug, Default)]
pub(super) struct Over(AtomicBool);

impl Over {
    #[inline(always)]
    pub(super) fn is(&self) -> bool {
        // Relaxed: a request; what must be seen with it is published by what wakes the waiter.
        self.0.load(Relaxed)
    }

    pub(super) fn set(&self) {
        // Relaxed: as above.
        self.0.store(true, Relaxed);
    }
}
