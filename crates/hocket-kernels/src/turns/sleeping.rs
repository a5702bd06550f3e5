//! Ways that sleep until a shared word changes: a futex, a condition variable.

use std::sync::atomic::Ordering::{Acquire, Release};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use super::table::{Side, Table};
use crate::sys::Futex;

/// Set in the word when it is B's turn.
const TURN_OF_B: u32 = 1;
/// Set when the game is over. In the same word, so that nobody can fall asleep past it.
const OVER: u32 = 2;

/// A futex whose word is the owner.
#[derive(Debug)]
pub struct FutexTable {
    turn: Futex,
}

impl FutexTable {
    /// A's turn.
    pub fn new() -> FutexTable {
        FutexTable { turn: Futex::new(0) }
    }

    fn look(&self) -> u32 {
        self.turn.word.load(Acquire) // E11 (load)
    }

    /// Exchanges some bits and wakes who sleeps on the old word.
    fn change(&self, bits: u32, sleepers: i32) {
        self.turn.word.fetch_xor(bits, Release); // E11 (store)
        self.turn.wake(sleepers);
    }
}

impl Default for FutexTable {
    fn default() -> FutexTable {
        FutexTable::new()
    }
}

impl Table for FutexTable {
    fn await_turn(&self, side: Side) -> bool {
        let wanted = if side == Side::B { TURN_OF_B } else { 0 };
        loop {
            let word = self.look();
            if word & OVER != 0 {
                return false;
            }
            if word & TURN_OF_B == wanted {
                return true;
            }
            self.turn.sleep_while(word);
        }
    }

    fn hand_over(&self, _side: Side) {
        self.change(TURN_OF_B, 1);
    }

    fn stop(&self) {
        self.change(OVER, 2);
    }
}

/// A mutex over owner and end, and a condition variable.
pub(super) struct Conditional {
    state: Mutex<(Side, bool)>,
    changed: Condvar,
}

impl Conditional {
    pub(super) fn new() -> Conditional {
        Conditional { state: Mutex::new((Side::A, false)), changed: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, (Side, bool)> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Table for Conditional {
    fn await_turn(&self, side: Side) -> bool {
        let others = |(owner, over): &mut (Side, bool)| *owner != side && !*over;
        let state = self.changed.wait_while(self.lock(), others);
        !state.unwrap_or_else(PoisonError::into_inner).1
    }

    fn hand_over(&self, side: Side) {
        self.lock().0 = side.other();
        self.changed.notify_one();
    }

    fn stop(&self) {
        self.lock().1 = true;
        self.changed.notify_all();
    }
}
