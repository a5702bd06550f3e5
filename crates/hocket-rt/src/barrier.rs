//! A point where all threads wait for all.
//!
//! # The idea
//!
//! A countdown of arrivals and a signal. The last to arrive resets the countdown and advances the
//! signal. The others wait until the signal is past the value they read *before* they arrived. That
//! number replaces the sense flag of the classic barrier. A thread that leaves one round late cannot
//! mistake the next round's release for its own, because the next round cannot end without it.
//!
//! At most 32 workers share a last-level cache. For so few a tree would save nothing: the cost is that
//! of a few line transfers.

use crate::countdown::Countdown;
use crate::pad::Padded;
use crate::signal::Signal;
use crate::wait::{Wait, Waited};

/// A barrier for a fixed number of threads, used again and again.
#[derive(Debug)]
pub struct Barrier {
    /// Every arriving thread writes it.
    arrivals: Padded<Countdown>,
    /// The last thread writes it and the others poll it. It is not on the line of the arrivals, because each
    /// arrival would take that line away from the polling threads.
    release: Signal,
}

/// How a thread came through a barrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Arrival {
    /// It was the last and released the others. Exactly one thread of each round.
    Last,
    /// It waited for the last.
    Waited,
}

/// A round of a barrier at which a thread has arrived, and for whose end it has to wait.
#[derive(Debug)]
#[must_use = "the round goes on until the thread has waited for its end"]
pub struct Round(u32);

impl Barrier {
    /// A barrier for `n` threads. With one thread it never waits.
    ///
    /// # Panics
    /// If `n` is 0: nobody could ever arrive.
    pub fn new(n: u32) -> Barrier {
        assert!(n > 0, "a barrier needs at least one thread");
        Barrier { arrivals: Padded(Countdown::new(n)), release: Signal::new() }
    }

    /// Waits until all threads have arrived. Each then sees all that the others did before they arrived.
    ///
    /// Thread: one of the `n`. Cost: one atomic subtraction and the wait.
    pub fn wait(&self, wait: &Wait) -> (Arrival, Waited) {
        let Some(round) = self.arrive() else { return (Arrival::Last, Waited::default()) };
        let (_, waited) = self.wait_until(&round, wait, || false);
        (Arrival::Waited, waited)
    }

    /// The first half of [`wait`](Self::wait). `None`: the caller was the last, and all may go on. Otherwise it has to
    /// [wait](Self::wait_until), and may do something else in between.
    pub fn arrive(&self) -> Option<Round> {
        // Read it before the arrival: afterwards the round may end at any time.
        let round = self.release.value();
        if self.arrivals.arrive() {
            // Reset before the release: afterwards others arrive again.
            self.arrivals.reset();
            self.release.advance();
            return None;
        }
        Some(Round(round))
    }

    /// The second half. Returns whether all have arrived; if not, `stop` returned `true`. `stop` is called as in
    /// [`Signal::wait_until`].
    pub fn wait_until(
        &self,
        round: &Round,
        wait: &Wait,
        stop: impl Fn() -> bool,
    ) -> (bool, Waited) {
        let (value, waited) = self.release.wait_until(round.0, wait, stop);
        (value != round.0, waited)
    }

    /// How many threads meet here.
    pub fn parties(&self) -> u32 {
        self.arrivals.initial()
    }
}
