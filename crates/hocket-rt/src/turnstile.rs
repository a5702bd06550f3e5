//! Who is inside a block.
//!
//! # The idea
//!
//! A leader opens a block, workers come in as they wake up, and when the work is done the leader
//! closes the block and waits for those that are inside. It does not wait for those that have not
//! come yet: a late wake-up must not hold up a block whose work is done. The late worker finds the
//! turnstile closed and goes back to its gate.
//!
//! One word holds both facts, whether it is open and how many are inside, so that a worker's
//! question and its entry are one step. With two words a worker could find it open, be held up,
//! and count itself in after the leader had seen nobody.
//!
//! ```text
//!   31     30 ........ 0
//!   OPEN   workers inside        leader: sets and clears OPEN    workers: +1, -1
//! ```

use crate::spin::spin_pass;
use crate::sync::{AtomicU32, yield_now};
use crate::wait::Waited;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

const OPEN: u32 = 1 << 31;
/// Passes (each about 75 ns) after which the closing leader yields between its looks. A unit that
/// takes longer is rare; a worker that lost its CPU to us is not.
const PASSES_BEFORE_YIELD: u32 = 1000;

/// Lets workers into a block and lets the leader close it.
#[derive(Debug)]
#[repr(align(128))]
pub struct Turnstile {
    /// Edge E4 from the leader's opening to a worker's entry, E5 from its exit to the closing.
    word: AtomicU32,
}

impl Turnstile {
    /// A closed turnstile with nobody inside.
    pub fn new() -> Turnstile {
        Turnstile { word: AtomicU32::new(0) }
    }

    /// Opens a block: all that the leader did before is visible to whoever enters.
    ///
    /// Thread: the leader, while closed (new, or after [`close_and_wait`](Self::close_and_wait)).
    /// Cost: a store.
    pub fn open(&self) {
        // Relaxed: the leader alone opened and closed it, so it knows; only a check.
        debug_assert_eq!(self.word.load(Relaxed), 0, "opened while in use");
        self.word.store(OPEN, Release); // E4 (store)
    }

    /// Enters the block; `None` if it is closed. Leaves when the guard is dropped.
    ///
    /// Thread: worker. Cost: a load and, where open, an atomic exchange.
    #[inline]
    pub fn enter(&self) -> Option<Inside<'_>> {
        // Relaxed: a guess that the exchange below confirms; if it is closed nothing is read.
        let mut word = self.word.load(Relaxed);
        while word & OPEN != 0 {
            // Failing tells a newer guess and nothing else, hence Relaxed there.
            let entered = self.word.compare_exchange_weak(word, word + 1, Acquire, Relaxed); // E4 (load)
            match entered {
                Ok(_) => return Some(Inside { turnstile: self }),
                Err(now) => word = now,
            }
        }
        None
    }

    /// Closes the block to newcomers, and waits for nobody. The leader still has to close and wait.
    ///
    /// Thread: any that is inside, or the leader. Cost: an atomic operation.
    #[inline]
    pub fn close(&self) {
        // Relaxed: it tells newcomers nothing but that they are late.
        self.word.fetch_and(!OPEN, Relaxed);
    }

    /// Closes the block to newcomers and returns when everybody inside has left.
    ///
    /// All that was done inside is then visible to the leader. Thread: the leader. Cost: spins for
    /// as long as the longest of them stays, and yields between looks when that takes long.
    pub fn close_and_wait(&self) -> Waited {
        let mut waited = Waited::default();
        let mut word = self.word.fetch_and(!OPEN, Acquire) & !OPEN; // E5 (load)
        let mut passes = 0;
        while word != 0 {
            rest(passes, &mut waited);
            passes = passes.saturating_add(1);
            word = self.word.load(Acquire); // E5 (load)
        }
        waited
    }
}

impl Default for Turnstile {
    fn default() -> Self {
        Turnstile::new()
    }
}

/// One step of the leader's wait.
fn rest(passes: u32, waited: &mut Waited) {
    if passes < PASSES_BEFORE_YIELD {
        spin_pass();
    } else {
        waited.yielded = waited.yielded.saturating_add(1);
        yield_now();
    }
}

/// Being inside a block; leaves it when dropped.
///
/// A guard that is forgotten keeps its block from ever closing.
#[derive(Debug)]
#[must_use = "dropping it leaves the block"]
pub struct Inside<'a> {
    turnstile: &'a Turnstile,
}

impl Drop for Inside<'_> {
    #[inline]
    fn drop(&mut self) {
        self.turnstile.word.fetch_sub(1, Release); // E5 (store)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn one_enters_only_while_it_is_open() {
        let turnstile = Turnstile::default();
        assert!(turnstile.enter().is_none());
        for _ in 0..3 {
            turnstile.open();
            let both = (turnstile.enter(), turnstile.enter());
            assert!(both.0.is_some() && both.1.is_some());
            drop(both);
            assert_eq!(turnstile.close_and_wait(), Waited::default());
            assert!(turnstile.enter().is_none());
        }
    }

    #[test]
    fn one_inside_closes_it_and_those_inside_stay() {
        let turnstile = Turnstile::new();
        turnstile.open();
        let both = (turnstile.enter(), turnstile.enter());
        turnstile.close();
        assert!(turnstile.enter().is_none());
        drop(both);
        turnstile.close_and_wait();
        turnstile.open();
        assert!(turnstile.enter().is_some(), "the next block is open again");
    }

    #[test]
    fn a_panic_inside_leaves_too() {
        let turnstile = Turnstile::new();
        turnstile.open();
        let panicked = std::panic::catch_unwind(|| {
            let _inside = turnstile.enter();
            panic!("a unit that fails");
        });
        assert!(panicked.is_err());
        turnstile.close_and_wait();
    }
}
