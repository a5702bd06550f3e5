//! Loops that read the owner.

use std::sync::atomic::Ordering::{Acquire, Release};

use hocket_rt::Padded;

use super::table::{Over, Side, Table};
use crate::sync::AtomicBool;

/// The owner's name on a line of its own, and waiters that read it again and again.
#[derive(Debug)]
pub struct SpinTable<F> {
    /// Whether it is B's turn. Written by the owner alone.
    turn_of_b: Padded<AtomicBool>,
    over: Padded<Over>,
    rest: F,
}

impl<F: Fn() + Sync> SpinTable<F> {
    /// A's turn. `rest` is what a waiter does between two looks.
    pub fn new(rest: F) -> SpinTable<F> {
        SpinTable { turn_of_b: Padded(AtomicBool::new(false)), over: Padded(Over::default()), rest }
    }

    #[inline(always)]
    fn owner(&self) -> Side {
        let turn_of_b = self.turn_of_b.load(Acquire); // E10 (load)
        if turn_of_b { Side::B } else { Side::A }
    }
}

impl<F: Fn() + Sync> Table for SpinTable<F> {
    #[inline]
    fn await_turn(&self, side: Side) -> bool {
        while self.owner() != side {
            if self.over.is() {
                return false;
            }
            (self.rest)();
        }
        !self.over.is()
    }

    #[inline]
    fn hand_over(&self, side: Side) {
        self.turn_of_b.store(side == Side::A, Release); // E10 (store)
    }

    fn stop(&self) {
        self.over.set();
    }
}
