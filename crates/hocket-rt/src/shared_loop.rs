//! A loop whose passes several threads take.
//!
//! # The idea
//!
//! A processor has work that could run on several cores, such as the voices of an instrument, and other workers wait
//! for a unit. The worker opens its loop. Those that wait come in by a [`Turnstile`] and take one pass after the
//! other; so does the worker itself. It closes the loop when no pass is left, and waits for those that are inside. It
//! does not wait for threads that have not come.
//!
//! Each pass runs once. Which thread runs it is open, so passes must not depend on each other.

use crate::sync::{AtomicU32, UnsafeCell};
use crate::turnstile::Turnstile;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// A place for one open loop at a time.
///
/// ```
/// use hocket_rt::SharedLoop;
/// use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
///
/// let (place, sum) = (SharedLoop::new(), AtomicU32::new(0));
/// std::thread::scope(|threads| {
///     threads.spawn(|| place.join(|leave| leave())); // takes passes, if it comes in time
///     place.run(100, &|pass| _ = sum.fetch_add(pass, Relaxed), |close| close());
/// });
/// assert_eq!(sum.into_inner(), 4950);
/// ```
#[derive(Debug)]
pub struct SharedLoop {
    /// 1 while a thread has a loop here. Edge E12 from its end to the next one that begins.
    taken: AtomicU32,
    door: Turnstile,
    /// The next pass. All of them have one order, so each is taken once.
    next: AtomicU32,
    /// 1: a pass has panicked on a thread that joined.
    failed: AtomicU32,
    work: UnsafeCell<Option<Work>>,
}

/// What the threads inside run.
#[derive(Debug, Clone, Copy)]
struct Work {
    passes: u32,
    /// LOOP: it lives until the loop is closed and nobody is inside.
    body: *const (dyn Fn(u32) + Sync),
}

// SAFETY: LOOP, an invariant of this file. The thread that has taken the place writes `work` while the door is closed
// and nobody is inside (E12, E5). Threads inside only read it (E4), and call a body that is `Sync`. That thread
// returns from `run`, or unwinds from it, only after all have left.
unsafe impl Sync for SharedLoop {}
// SAFETY: as above. The pointer is used only while its loop is open.
unsafe impl Send for SharedLoop {}

impl SharedLoop {
    /// A place without a loop.
    pub fn new() -> SharedLoop {
        SharedLoop {
            taken: AtomicU32::new(0),
            door: Turnstile::new(),
            next: AtomicU32::new(0),
            failed: AtomicU32::new(0),
            work: UnsafeCell::new(None),
        }
    }

    /// Whether there are passes to take. A hint.
    ///
    /// Thread: any. Cost: a load.
    #[inline]
    pub fn is_open(&self) -> bool {
        self.door.is_open()
    }

    /// Calls `body` with every number below `passes`, once each, here and on the threads that [join](Self::join).
    /// Returns after the last, and then sees what all passes did. While another loop is open, it runs all passes here.
    ///
    /// `close` has to call what it gets. There the thread waits for those that are inside, for long ones in the kernel.
    ///
    /// Thread: any. No allocation. Cost: five atomic operations, one per pass, and the wait.
    ///
    /// # Panics
    /// If a pass panics, on whichever thread. All others have left then.
    pub fn run(&self, passes: u32, body: &(dyn Fn(u32) + Sync), close: impl FnOnce(&dyn Fn())) {
        if passes < 2 || !self.take() {
            return (0..passes).for_each(body);
        }
        self.open(passes, body);
        let open = Open(self);
        self.take_passes(passes, body);
        close(&|| _ = self.door.close_and_wait());
        std::mem::forget(open);
        assert!(!self.end(), "a pass of a shared loop panicked on another thread");
    }

    /// Takes passes of the loop that is open, until none is left. Returns whether there was one.
    ///
    /// `leave` has to call what it gets. There the last thread to leave may wake the one that waits.
    ///
    /// Thread: any that is not inside. No allocation. Cost: a load if no loop is open.
    pub fn join(&self, leave: impl FnOnce(&dyn Fn())) -> bool {
        let Some(inside) = self.door.enter() else { return false };
        // SAFETY: LOOP: this thread is inside, so nobody writes.
        let work = self.work.with(|work| unsafe { *work });
        let ran = catch_unwind(AssertUnwindSafe(|| {
            // SAFETY: LOOP: the body lives until this thread has left.
            work.map(|Work { passes, body }| self.take_passes(passes, unsafe { &*body }))
        }));
        if ran.is_err() {
            // Relaxed: the exit publishes it (E5).
            self.failed.store(1, Relaxed);
        }
        let inside = std::cell::Cell::new(Some(inside));
        leave(&|| drop(inside.take()));
        matches!(ran, Ok(Some(1..)))
    }

    fn take(&self) -> bool {
        // Relaxed on failure: another thread has a loop here, and this one reads nothing of it.
        self.taken.compare_exchange(0, 1, Acquire, Relaxed).is_ok() // E12 (load)
    }

    /// Lets others come in.
    fn open(&self, passes: u32, body: &(dyn Fn(u32) + Sync)) {
        let body: *const (dyn Fn(u32) + Sync + '_) = body;
        // SAFETY: only the lifetime changes. LOOP: nobody uses the pointer after `run` has returned.
        let body = unsafe {
            std::mem::transmute::<*const (dyn Fn(u32) + Sync + '_), *const (dyn Fn(u32) + Sync)>(
                body,
            )
        };
        // SAFETY: LOOP: this thread has taken the place, and nobody is inside.
        self.work.with_mut(|work| unsafe { *work = Some(Work { passes, body }) });
        // Relaxed, both: the opening publishes them (E4).
        self.next.store(0, Relaxed);
        self.failed.store(0, Relaxed);
        self.door.open();
    }

    /// Waits until nobody is inside, and frees the place. Returns whether a pass has panicked on another thread.
    fn end(&self) -> bool {
        // Nobody is inside any more, unless a pass has panicked here.
        let _ = self.door.close_and_wait();
        // Relaxed: those that left have published it (E5).
        let failed = self.failed.load(Relaxed) != 0;
        self.taken.store(0, Release); // E12 (store)
        failed
    }

    /// Runs passes until none is left, and returns how many.
    fn take_passes(&self, passes: u32, body: &(dyn Fn(u32) + Sync)) -> u32 {
        let mut taken = 0;
        loop {
            // Relaxed: it decides only who runs a pass. The door publishes what the passes read and write.
            let pass = self.next.fetch_add(1, Relaxed);
            if pass + 1 >= passes {
                // Also by a thread that finds none: the one that took the last pass may be delayed before this.
                self.door.close();
            }
            if pass >= passes {
                return taken;
            }
            body(pass);
            taken += 1;
        }
    }
}

impl Default for SharedLoop {
    fn default() -> SharedLoop {
        SharedLoop::new()
    }
}

/// Ends the loop if a pass panics on the thread that opened it.
struct Open<'a>(&'a SharedLoop);

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.0.end();
    }
}
