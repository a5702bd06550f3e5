//! Ways of waiting.
//!
//! # The idea
//!
//! Whoever waits pays one of three prices. A spin answers within a cache miss, but holds the CPU
//! and shares its core with the sibling that does the work. Blocking frees the CPU, but the waker
//! pays about 2 us for the system call and the sleeper wakes 7 us later or more. A hybrid spins for
//! about as long as blocking would cost, so it never pays more than twice the best.
//!
//! The meeting places of this crate know none of that: they take a [`Wait`].

use crate::spin::{SpinCost, spin_pass};
use crate::sync::yield_now;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// How a thread waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Strategy {
    /// Spins, and tells the core so. Never blocks.
    Pause,
    /// Blocks at once.
    Futex,
    /// Spins for a bounded time, then blocks.
    Hybrid,
}

impl Strategy {
    /// All of them, in the order of what they cost the other threads of the machine.
    pub const ALL: [Strategy; 3] = [Strategy::Pause, Strategy::Hybrid, Strategy::Futex];

    /// The word used for it in files, options and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Strategy::Pause => "pause",
            Strategy::Futex => "futex",
            Strategy::Hybrid => "hybrid",
        }
    }
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Strategy {
    type Err = ParseStrategyError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Strategy::ALL
            .into_iter()
            .find(|strategy| strategy.name() == text)
            .ok_or_else(|| ParseStrategyError { text: text.into() })
    }
}

/// The text names no way of waiting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseStrategyError {
    text: String,
}

impl fmt::Display for ParseStrategyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = Strategy::ALL.map(Strategy::name).join(", ");
        write!(f, "unknown way of waiting '{}': use one of {names}", self.text)
    }
}

impl std::error::Error for ParseStrategyError {}

/// A strategy together with its times, ready to be used in a block.
///
/// Plain data: made once, copied to every worker.
#[derive(Clone, Copy, Debug)]
pub struct Wait {
    strategy: Strategy,
    cost: SpinCost,
    spin_passes: u32,
    then: Then,
}

/// What a thread does when its bounded spin is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Then {
    /// Goes on spinning.
    Spin,
    /// Lets others run, again and again.
    Yield,
    /// Blocks.
    Block,
}

impl Wait {
    /// `hybrid_spin` is used by [`Strategy::Hybrid`] alone.
    pub fn new(strategy: Strategy, cost: &SpinCost, hybrid_spin: Duration) -> Wait {
        let (spin_passes, then) = match strategy {
            Strategy::Pause => (0, Then::Spin),
            Strategy::Futex => (0, Then::Block),
            Strategy::Hybrid => (cost.passes_for(hybrid_spin), Then::Block),
        };
        Wait { strategy, cost: *cost, spin_passes, then }
    }

    /// The same wait for the time between two blocks: one that blocks in the end.
    ///
    /// [`Strategy::Pause`] spins for `gate_spin`, then blocks; the others block already and stay as
    /// they are. Nobody may spin from block to block: under `SCHED_FIFO` the kernel stops such a
    /// thread for some 50 ms of every second, and `RLIMIT_RTTIME` kills it, because only a thread
    /// that blocks starts that clock anew.
    pub fn at_gate(self, gate_spin: Duration) -> Wait {
        match self.strategy {
            Strategy::Pause => {
                Wait { spin_passes: self.cost.passes_for(gate_spin), then: Then::Block, ..self }
            }
            Strategy::Futex | Strategy::Hybrid => self,
        }
    }

    /// The same wait for more threads than CPUs: one that spins on spins for `d`, then yields its
    /// CPU again and again, because the thread it waits for may need that very CPU.
    ///
    /// A wait that blocks stays as it is. Under `SCHED_FIFO` a yield lets only threads of the same
    /// priority run.
    pub fn yielding_after(self, d: Duration) -> Wait {
        match self.then {
            Then::Spin => Wait { spin_passes: self.cost.passes_for(d), then: Then::Yield, ..self },
            Then::Yield | Then::Block => self,
        }
    }

    /// The strategy it was made from.
    pub fn strategy(&self) -> Strategy {
        self.strategy
    }

    /// Whether it may give its CPU away for good, so that somebody has to wake it.
    pub fn may_block(&self) -> bool {
        self.then == Then::Block
    }

    /// Spins, and yields if that is the way, until `poll` finds something.
    ///
    /// `None`: the spin is over and this wait blocks now. How to block, and what to look at in
    /// between, is the caller's affair.
    #[inline]
    pub(crate) fn spin_for<T>(
        &self,
        waited: &mut Waited,
        mut poll: impl FnMut() -> Option<T>,
    ) -> Option<T> {
        for _ in 0..self.spin_passes {
            if let Some(found) = poll() {
                return Some(found);
            }
            spin_pass();
        }
        if self.then == Then::Block {
            return poll();
        }
        loop {
            if let Some(found) = poll() {
                return Some(found);
            }
            self.rest(waited);
        }
    }

    /// One step of a wait that does not block.
    #[inline]
    fn rest(&self, waited: &mut Waited) {
        if self.then == Then::Yield {
            waited.yielded = waited.yielded.saturating_add(1);
            yield_now();
        } else {
            spin_pass();
        }
    }
}

/// What a wait did, to be counted by the caller.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waited {
    /// How often the thread was really taken off its CPU to sleep.
    pub blocked: u32,
    /// How often it offered its CPU to others.
    pub yielded: u32,
}

impl std::ops::AddAssign for Waited {
    fn add_assign(&mut self, more: Waited) {
        self.blocked = self.blocked.saturating_add(more.blocked);
        self.yielded = self.yielded.saturating_add(more.yielded);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    const SPIN: Duration = Duration::from_micros(3);
    const LONGER: Duration = Duration::from_micros(9);

    fn wait(strategy: Strategy) -> Wait {
        Wait::new(strategy, &SpinCost::assumed(Duration::from_nanos(100)), SPIN)
    }

    fn plan(wait: Wait) -> (u32, Then) {
        (wait.spin_passes, wait.then)
    }

    #[test]
    fn names_are_read_back() {
        for strategy in Strategy::ALL {
            assert_eq!(strategy.to_string().parse(), Ok(strategy));
        }
    }

    #[test]
    fn an_unknown_name_is_answered_with_the_known_ones() {
        let error = "sleep".parse::<Strategy>().unwrap_err().to_string();
        assert_eq!(error, "unknown way of waiting 'sleep': use one of pause, hybrid, futex");
    }

    #[test]
    fn only_hybrid_uses_its_time() {
        assert_eq!(plan(wait(Strategy::Pause)), (0, Then::Spin));
        assert_eq!(plan(wait(Strategy::Futex)), (0, Then::Block));
        assert_eq!(plan(wait(Strategy::Hybrid)), (30, Then::Block));
    }

    #[test]
    fn at_the_gate_everybody_blocks() {
        assert_eq!(plan(wait(Strategy::Pause).at_gate(LONGER)), (90, Then::Block));
        assert_eq!(plan(wait(Strategy::Hybrid).at_gate(LONGER)), (30, Then::Block));
        assert_eq!(plan(wait(Strategy::Futex).at_gate(LONGER)), (0, Then::Block));
    }

    #[test]
    fn only_a_wait_that_never_blocks_yields() {
        assert_eq!(plan(wait(Strategy::Pause).yielding_after(LONGER)), (90, Then::Yield));
        assert_eq!(plan(wait(Strategy::Hybrid).yielding_after(LONGER)), (30, Then::Block));
    }

    #[test]
    fn the_gate_blocks_whatever_was_asked_before_or_after() {
        let gate_last = wait(Strategy::Pause).yielding_after(SPIN).at_gate(LONGER);
        let gate_first = wait(Strategy::Pause).at_gate(LONGER).yielding_after(SPIN);
        assert_eq!(plan(gate_last), plan(gate_first));
        assert!(gate_last.may_block());
    }

    #[test]
    fn a_spin_that_finds_nothing_says_so_and_one_that_finds_stops() {
        let mut waited = Waited::default();
        let mut looks = 0;
        let nothing = wait(Strategy::Hybrid).spin_for(&mut waited, || {
            looks += 1;
            None::<()>
        });
        assert_eq!((nothing, looks), (None, 31));
        let mut looks = 0;
        let found = wait(Strategy::Pause).yielding_after(SPIN).spin_for(&mut waited, || {
            looks += 1;
            (looks == 33).then_some(looks)
        });
        assert_eq!((found, waited.yielded, waited.blocked), (Some(33), 2, 0));
    }
}
