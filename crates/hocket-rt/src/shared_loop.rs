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
use crate::turnstile::{Inside, Turnstile};
use crate::wait::Waited;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// A place for one open loop at a time.
///
/// ```
/// use hocket_rt::SharedLoop;
/// use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
///
/// let (place, sum) = (SharedLoop::new(), AtomicU32::new(0));
/// std::thread::scope(|threads| {
///     threads.spawn(|| place.join(|leave| _ = leave())); // takes passes, if it comes in time
///     place.run(100, &|pass| _ = sum.fetch_add(pass, Relaxed), || false, |close| _ = close());
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
    /// The payload of that panic. Who sets `failed` writes it.
    payload: UnsafeCell<Option<Payload>>,
    work: UnsafeCell<Option<Work>>,
}

type Payload = Box<dyn Any + Send>;

/// Leaves room for additions of threads that find no pass.
const MOST_PASSES: u32 = 1 << 31;

/// What the threads inside run.
#[derive(Debug, Clone, Copy)]
struct Work {
    passes: u32,
    /// LOOP: it lives until the loop is closed and nobody is inside.
    body: *const (dyn Fn(u32) + Sync),
}

// SAFETY: LOOP, an invariant of this file. The thread that has taken the place writes `work` while the door is closed
// and nobody is inside (E12, E5). Threads inside only read it (E4), and call a body that is `Sync`. That thread
// returns from `run`, or unwinds from it, only after all have left. `payload` is written by the one thread inside that
// set `failed`, and taken after all have left.
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
            payload: UnsafeCell::new(None),
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
    /// `close` has to call what it gets. There the thread waits for those that are inside: it spins while `awake`
    /// returns `true`, and then sleeps in the kernel. The call returns what the wait did.
    ///
    /// Thread: any. No allocation. Cost: five atomic operations, one per pass, and the wait.
    ///
    /// # Panics
    /// With a pass that panics, on whichever thread. All others have left then.
    pub fn run(
        &self,
        passes: u32,
        body: &(dyn Fn(u32) + Sync),
        awake: impl Fn() -> bool,
        close: impl FnOnce(&dyn Fn() -> Waited),
    ) {
        if !(2..=MOST_PASSES).contains(&passes) || !self.take() {
            return (0..passes).for_each(body);
        }
        self.open(passes, body);
        let mut open = Open { place: self, awake, close: Some(close) };
        self.take_passes(passes, body);
        if let Some(payload) = open.end() {
            resume_unwind(payload);
        }
    }

    /// Takes passes of the loop that is open, until none is left. Returns whether there was one.
    ///
    /// `leave` has to call what it gets. There the last thread to leave may wake the one that waits. The call returns
    /// whether it made that system call.
    ///
    /// Thread: any that is not inside. No allocation. Cost: a load if no loop is open.
    pub fn join(&self, leave: impl FnOnce(&dyn Fn() -> bool)) -> bool {
        let Some(inside) = self.door.enter() else { return false };
        // SAFETY: LOOP: this thread is inside, so nobody writes.
        let work = self.work.with(|work| unsafe { *work });
        let ran = catch_unwind(AssertUnwindSafe(|| {
            // SAFETY: LOOP: the body lives until this thread has left.
            work.map(|Work { passes, body }| self.take_passes(passes, unsafe { &*body }))
        }));
        let worked = !matches!(ran, Ok(None | Some(0)));
        if let Err(payload) = ran {
            self.keep(payload);
        }
        let inside = std::cell::Cell::new(Some(inside));
        leave(&|| inside.take().is_some_and(Inside::leave));
        worked
    }

    /// Keeps the first payload for the thread that opened the loop. Nothing is freed here: a block must not.
    #[cold]
    fn keep(&self, payload: Payload) {
        // Relaxed: the exit publishes it and the payload (E5).
        if self.failed.swap(1, Relaxed) == 0 {
            // SAFETY: LOOP: the first one alone writes.
            self.payload.with_mut(|kept| unsafe { *kept = Some(payload) });
        } else {
            std::mem::forget(payload);
        }
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

    /// Frees the place. Returns the panic of a pass on another thread.
    fn end(&self) -> Option<Payload> {
        // Nobody is inside any more, if the caller's closure did what it has to.
        let _ = self.door.close_and_wait();
        // Relaxed: those that left have published it (E5).
        let failed = self.failed.load(Relaxed) != 0;
        // SAFETY: LOOP: nobody is inside.
        let take = || self.payload.with_mut(|kept| unsafe { (*kept).take() });
        let payload = failed.then(take).flatten();
        self.taken.store(0, Release); // E12 (store)
        payload
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

/// A loop that is open. Ends it if a pass panics on the thread that opened it.
struct Open<'a, A: Fn() -> bool, C: FnOnce(&dyn Fn() -> Waited)> {
    place: &'a SharedLoop,
    awake: A,
    /// `None`: the loop has ended.
    close: Option<C>,
}

impl<A: Fn() -> bool, C: FnOnce(&dyn Fn() -> Waited)> Open<'_, A, C> {
    fn end(&mut self) -> Option<Payload> {
        let close = self.close.take()?;
        close(&|| self.place.door.close_and_wait_awake(&self.awake));
        self.place.end()
    }
}

impl<A: Fn() -> bool, C: FnOnce(&dyn Fn() -> Waited)> Drop for Open<'_, A, C> {
    fn drop(&mut self) {
        // One panic is enough, and a block frees nothing.
        std::mem::forget(self.end());
    }
}
