//! How the threads of an engine wait: prepared for every strategy, so that another one may hold while they play.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

use hocket_rt::{Strategy, Wait};

/// How the threads of one engine wait.
#[derive(Debug, Clone)]
pub(crate) struct Waits {
    /// In the order of [`Strategy::ALL`].
    pub of: [StrategyWaits; Strategy::ALL.len()],
    /// Which of them holds.
    pub chosen: Arc<ChosenWait>,
    /// Keeps a seat busy, unless it blocks.
    pub on_seat: Wait,
    /// Until the plan needs the thread. It blocks at once: another thread may have the same seat.
    pub asleep: Wait,
    /// After this time threads block even if all hold a real-time class and a seat.
    ///
    /// It covers what a seat cannot prevent: the system moves a thread or takes its class, or two engines
    /// wait for each other's CPUs. It is four periods, and at least 10 ms, so that no wait in a healthy
    /// block ends in a sleep.
    pub longest_ns: u64,
    /// Until it is time to stand in for a worker that has not come. It never blocks, because nobody would
    /// end that sleep.
    pub stand_in: Wait,
}

impl Waits {
    /// Those of the strategy that holds. A wait that has begun goes on as it began.
    #[inline]
    pub(crate) fn now(&self) -> &StrategyWaits {
        &self.of[self.chosen.place()]
    }
}

/// The waits that depend on the strategy.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StrategyWaits {
    /// Inside a block, if all threads are real-time threads.
    pub real_time: Wait,
    /// Inside a block otherwise. It blocks in the end.
    pub ordinary: Wait,
    /// For announced blocks, if workers wake themselves.
    pub early: Option<Early>,
    pub at_gate: Wait,
}

/// How a worker waits for an announced block.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Early {
    /// How long before the planned time the worker wakes itself.
    pub ns: u64,
    /// The wait until then. The worker sleeps, unless the gate moves sooner.
    pub asleep: Wait,
    /// The wait from then on.
    pub awake: Wait,
}

/// The strategy that holds. Control threads write it, and every thread of the engine reads it before it waits.
///
/// Relaxed everywhere: a hint that publishes nothing. Threads of one block may wait in different ways, because every advance
/// of a signal ends every wait for it (hocket-rt's PROTOCOL.md, Signal).
#[derive(Debug)]
pub(crate) struct ChosenWait(AtomicU8);

impl ChosenWait {
    pub(crate) fn new(strategy: Strategy) -> ChosenWait {
        ChosenWait(AtomicU8::new(place(strategy)))
    }

    /// From now on waits begin with this one.
    pub(crate) fn set(&self, strategy: Strategy) {
        self.0.store(place(strategy), Relaxed);
    }

    pub(crate) fn get(&self) -> Strategy {
        Strategy::ALL[self.place()]
    }

    #[inline]
    fn place(&self) -> usize {
        self.0.load(Relaxed).into()
    }
}

/// Where a strategy is in [`Strategy::ALL`].
fn place(strategy: Strategy) -> u8 {
    let is_it = |other: &Strategy| *other == strategy;
    Strategy::ALL.iter().position(is_it).map_or(0, |place| place as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_strategy_can_be_chosen() {
        let chosen = ChosenWait::new(Strategy::Futex);
        assert_eq!(chosen.get(), Strategy::Futex);
        for strategy in Strategy::ALL {
            chosen.set(strategy);
            assert_eq!(chosen.get(), strategy);
        }
    }
}
