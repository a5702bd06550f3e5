//! Spins for a while, then sleeps.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use super::Lock;
use crate::sync::Looks;
use crate::sys::Futex;

const FREE: u32 = 0;
const HELD: u32 = 1;
/// Held, and somebody may be asleep.
const AWAITED: u32 = 2;

/// A lock whose waiters look a set number of times, with a PAUSE between two looks, and then sleep.
///
/// What `SetCriticalSectionSpinCount` sets elsewhere. The three states are those of the third mutex in
/// Drepper's "Futexes Are Tricky" (2004).
#[derive(Debug)]
pub struct SpinThenBlock {
    state: Futex,
    spins: u32,
}

impl SpinThenBlock {
    /// `spins`: looks before a waiter sleeps; 0: it sleeps at once.
    pub fn new(spins: u32) -> SpinThenBlock {
        SpinThenBlock { state: Futex::new(FREE), spins }
    }

    /// Looks before a waiter sleeps.
    pub fn spins(&self) -> u32 {
        self.spins
    }

    #[inline]
    fn acquire(&self) {
        if !self.try_take() {
            self.wait();
        }
    }

    #[inline]
    fn try_take(&self) -> bool {
        let word = &self.state.word;
        word.compare_exchange(FREE, HELD, Acquire, Relaxed).is_ok() // E1 (load)
    }

    #[cold]
    fn wait(&self) {
        let mut looks = Looks::new();
        for _ in 0..self.spins {
            looks.rest();
            // Relaxed: only a hint that trying might help.
            if self.state.word.load(Relaxed) == FREE && self.try_take() {
                return;
            }
        }
        self.sleep();
    }

    /// Takes the lock as one that is awaited: others may sleep, and whoever sleeps does not know.
    fn sleep(&self) {
        loop {
            let before = self.state.word.swap(AWAITED, Acquire); // E2 (load)
            if before == FREE {
                return;
            }
            self.state.sleep_while(AWAITED);
        }
    }

    #[inline]
    fn release(&self) {
        let before = self.state.word.swap(FREE, Release); // E1 (store), E2 (store)
        if before == AWAITED {
            self.state.wake(1);
        }
    }
}

impl Lock for SpinThenBlock {
    #[inline]
    fn with<R>(&self, work: impl FnOnce() -> R) -> R {
        self.acquire();
        let _held = Held(self);
        work()
    }
}

struct Held<'a>(&'a SpinThenBlock);

impl Drop for Held<'_> {
    #[inline]
    fn drop(&mut self) {
        self.0.release();
    }
}
