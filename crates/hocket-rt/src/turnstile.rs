//! Who is inside a block.
//!
//! # The idea
//!
//! A leader opens a block, and workers enter as they wake up. When the work is done, the leader closes
//! the block and waits for the workers inside. It does not wait for workers that have not entered yet: a
//! late wake-up must not delay a block whose work is done. The late worker finds the turnstile closed
//! and goes back to its gate. A thread inside may close the block to newcomers sooner, when they would find nothing to do.
//!
//! One word holds all facts, so that a worker's check and its entry are one step. With two words a worker could
//! find the turnstile open, be delayed, and count itself in after the leader had seen nobody inside.
//!
//! ```text
//!   31     30      29 ........ 0
//!   OPEN   ASLEEP  workers inside      leader: sets and clears OPEN, ASLEEP    workers: +1, -1, may clear OPEN
//! ```
//!
//! # Sleeping
//!
//! A worker that is inside may need the leader's own CPU. If the leader has the class `SCHED_FIFO`, an
//! ordinary thread never gets it, and a yield does not help. So a leader that has spun for a while sets
//! ASLEEP and sleeps in the kernel. The last worker to leave finds the bit and wakes the leader. A worker
//! looks at the bit in the same step in which it leaves, so this costs nothing while the leader is awake.

use crate::park::{Lot, Sleep};
use crate::spin_cost::spin_pass;
use crate::sync::AtomicU32;
use crate::wait::Waited;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

const OPEN: u32 = 1 << 31;
/// The leader sleeps until the last worker wakes it.
const ASLEEP: u32 = 1 << 30;
/// The bits of the number of workers inside.
const INSIDE: u32 = ASLEEP - 1;
/// Passes (each about 75 ns) after which the closing leader sleeps. A unit rarely takes longer. A worker that
/// lost its CPU to the leader is more frequent. A model needs a short spin.
const PASSES_BEFORE_SLEEP: u32 = if cfg!(loom) { 1 } else { 1000 };

/// Lets workers into a block and lets the leader close it.
#[derive(Debug)]
#[repr(align(128))]
pub struct Turnstile {
    /// Edge E4 from the leader's opening to a worker's entry, E5 from its exit to the closing.
    /// Also the futex word.
    word: AtomicU32,
    lot: Lot,
}

impl Turnstile {
    /// A closed turnstile with nobody inside.
    pub fn new() -> Turnstile {
        Turnstile { word: AtomicU32::new(0), lot: Lot::new() }
    }

    /// Opens a block: each worker that enters sees all that the leader did before.
    ///
    /// Thread: the leader, while closed (new, or after [`close_and_wait`](Self::close_and_wait)).
    /// Cost: a store.
    pub fn open(&self) {
        // Relaxed: only the leader opens and closes it. This is only a check.
        debug_assert_eq!(self.word.load(Relaxed), 0, "opened while in use");
        self.word.store(OPEN, Release); // E4 (store)
    }

    /// Whether a thread could enter now. A hint.
    #[inline]
    pub(crate) fn is_open(&self) -> bool {
        // Relaxed: only `enter` decides.
        self.word.load(Relaxed) & OPEN != 0
    }

    /// Enters the block. `None` if it is closed. A drop of the guard leaves the block.
    ///
    /// Thread: worker. Cost: a load and, if it is open, an atomic exchange. Leaving costs an atomic
    /// subtraction, and for the last worker a system call if the leader sleeps.
    #[inline]
    pub fn enter(&self) -> Option<Inside<'_>> {
        // Relaxed: a guess that the exchange below confirms. If it is closed, the worker reads nothing.
        let mut word = self.word.load(Relaxed);
        while word & OPEN != 0 {
            // Relaxed on failure: it returns only a newer guess.
            let entered = self.word.compare_exchange_weak(word, word + 1, Acquire, Relaxed); // E4 (load)
            match entered {
                Ok(_) => return Some(Inside { turnstile: self }),
                Err(now) => word = now,
            }
        }
        None
    }

    /// Closes the block to newcomers, and does not wait. The leader still has to close and wait.
    ///
    /// Thread: any that is inside, or the leader. Cost: one atomic operation.
    #[inline]
    pub fn close(&self) {
        // Relaxed: newcomers learn only that they are late.
        self.word.fetch_and(!OPEN, Relaxed);
    }

    /// Closes the block to newcomers, and returns when all threads inside have left.
    ///
    /// The leader then sees all that they did inside. [`Waited::blocked`] says whether it slept.
    ///
    /// Thread: the leader. Cost: spins until the last thread has left. After about 75 µs it sleeps in the
    /// kernel, and the last thread to leave makes the system call that wakes it (about 2 µs).
    pub fn close_and_wait(&self) -> Waited {
        let mut passes = 0;
        self.close_and_wait_awake(|| {
            passes += 1;
            passes <= PASSES_BEFORE_SLEEP
        })
    }

    /// As [`close_and_wait`](Self::close_and_wait), but spins while `awake` returns `true`, and sleeps after that.
    pub(crate) fn close_and_wait_awake(&self, mut awake: impl FnMut() -> bool) -> Waited {
        let mut waited = Waited::default();
        let mut word = self.word.fetch_and(!OPEN, Acquire) & !OPEN; // E5 (load)
        while word & INSIDE != 0 {
            if awake() {
                spin_pass();
            } else {
                self.sleep(&mut waited);
            }
            word = self.word.load(Acquire); // E5 (load)
        }
        if word == ASLEEP {
            // Relaxed: while it is closed and empty, nobody else writes. E4 publishes the next opening.
            self.word.store(0, Relaxed);
        }
        waited
    }

    /// Sleeps while the number of workers inside stays the same, at most until the last has left.
    #[cold]
    fn sleep(&self, waited: &mut Waited) {
        // Relaxed: it says only that the leader sleeps. The caller's look ends the wait.
        let word = self.word.fetch_or(ASLEEP, Relaxed);
        if word & INSIDE != 0 {
            let sleep = self.lot.sleep_while(&self.word, word | ASLEEP, None);
            waited.blocked += u32::from(sleep != Sleep::Refused);
        }
    }

    /// Counts a worker out. Returns whether it woke the leader.
    #[inline]
    fn count_out(&self) -> bool {
        let before = self.word.fetch_sub(1, Release); // E5 (store)
        if before == ASLEEP | 1 {
            self.wake_leader();
            return true;
        }
        false
    }

    /// The last worker has left, and the leader sleeps or is about to.
    #[cold]
    fn wake_leader(&self) {
        self.lot.wake(&self.word, 1);
    }
}

impl Default for Turnstile {
    fn default() -> Self {
        Turnstile::new()
    }
}

/// Proof of being inside a block. Dropping it leaves the block.
///
/// If a guard is forgotten, its block never closes.
#[derive(Debug)]
#[must_use = "dropping it leaves the block"]
pub struct Inside<'a> {
    turnstile: &'a Turnstile,
}

impl Inside<'_> {
    /// Leaves the block as a drop does. Returns whether it made the system call that wakes the leader.
    #[inline]
    pub(crate) fn leave(self) -> bool {
        let turnstile = self.turnstile;
        std::mem::forget(self);
        turnstile.count_out()
    }
}

impl Drop for Inside<'_> {
    #[inline]
    fn drop(&mut self) {
        self.turnstile.count_out();
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicBool;

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

    /// How often a leader sleeps that finds `word`, while somebody wakes it again and again.
    fn sleeps_with(word: u32) -> u32 {
        let (turnstile, done) = (Turnstile::new(), AtomicBool::new(false));
        turnstile.word.store(word, Relaxed);
        let mut waited = Waited::default();
        std::thread::scope(|threads| {
            threads.spawn(|| {
                turnstile.sleep(&mut waited);
                done.store(true, Relaxed);
            });
            while !done.load(Relaxed) {
                turnstile.wake_leader();
                std::thread::yield_now();
            }
        });
        waited.blocked
    }

    #[test]
    fn a_leader_sleeps_while_somebody_is_inside_and_not_longer() {
        assert_eq!([0, ASLEEP].map(sleeps_with), [0, 0]);
        assert_eq!([1, 2, INSIDE, ASLEEP | 1, ASLEEP | 2].map(sleeps_with), [1; 5]);
    }

    #[test]
    fn the_last_to_leave_wakes_a_leader_that_sleeps() {
        let turnstile = Turnstile::new();
        for _ in 0..20 {
            turnstile.open();
            let both = (turnstile.enter(), turnstile.enter());
            std::thread::scope(|threads| {
                threads.spawn(|| turnstile.close_and_wait());
                while turnstile.word.load(Relaxed) & ASLEEP == 0 {
                    std::thread::yield_now();
                }
                drop(both);
            });
            assert_eq!(turnstile.word.load(Relaxed), 0);
        }
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
