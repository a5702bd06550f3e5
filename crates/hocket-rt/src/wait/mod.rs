//! Ways of waiting.
//!
//! # The idea
//!
//! A waiting thread pays one of three prices:
//!
//! - A spin answers within a cache miss. But it holds the CPU, and it shares its core with the sibling
//!   that does the work. How much of the core it takes depends on the instruction it spins with.
//! - Blocking frees the CPU. But the waker pays about 2 µs for the system call, and the sleeper wakes 7 µs
//!   later or more.
//! - A hybrid spins for a while, then blocks. If it spins for as long as blocking costs, it never pays more
//!   than twice the lowest price. If other threads wait for its thread, a longer spin pays.
//!
//! The meeting places of this crate do not choose. They take a [`Wait`] and give it the word that they wait
//! for, which a monitored rest needs.
//!
//! # The parts
//!
//! | part | what it says |
//! |---|---|
//! | `strategy.rs` | the strategies by name, and why one is missing here |
//! | `step.rs` | what a thread does between two looks |
//! | `cpu/` | the clock and the instructions, one file per kind of CPU |

mod cpu;
mod step;
mod strategy;

pub use strategy::{ParseStrategyError, Strategy};

use crate::spin_cost::SpinCost;
use crate::sync::AtomicU32;
use std::time::Duration;
use step::Step;

/// A strategy together with its times, ready for use in a block.
///
/// It is plain data: made once, and copied to every worker.
#[derive(Clone, Copy, Debug)]
pub struct Wait {
    strategy: Strategy,
    cost: SpinCost,
    step: Step,
    bound: Bound,
    /// How long it yields after its steps and before it blocks ([`Wait::blocking_after`]).
    yields: Bound,
    then: Then,
}

/// How long a thread takes steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bound {
    /// For this many passes, whose length is known.
    Passes(u32),
    /// For this many ticks of the clock, for steps of unknown length.
    Ticks(u64),
}

const NO_TIME: Bound = Bound::Passes(0);

/// What a thread does after its steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Then {
    /// Goes on spinning.
    Spin,
    /// Yields its CPU again and again.
    Yield,
    /// Blocks.
    Block,
}

impl Wait {
    /// Only [`Strategy::Hybrid`] uses `hybrid_spin`.
    ///
    /// If the CPU lacks the instruction of a strategy, the wait uses [`Strategy::Pause`] instead, and
    /// [`Wait::strategy`] returns that. To refuse such a strategy, call [`Strategy::missing`] first.
    ///
    /// Thread: any, before the real-time part starts. Cost: up to a millisecond for the first wait of a
    /// process, which measures the clock. Very little after that.
    pub fn new(strategy: Strategy, cost: &SpinCost, hybrid_spin: Duration) -> Wait {
        let (strategy, step) = possible(strategy);
        let (bound, then) = match strategy {
            Strategy::Hybrid => (bound(step, cost, hybrid_spin), Then::Block),
            Strategy::Futex => (NO_TIME, Then::Block),
            Strategy::Yield => (NO_TIME, Then::Yield),
            _ => (NO_TIME, Then::Spin),
        };
        Wait { strategy, cost: *cost, step, bound, yields: NO_TIME, then }
    }

    /// The same wait for the time between two blocks. It blocks in the end.
    ///
    /// A wait of [`Strategy::Futex`] stays as it is. Every other one takes its steps
    /// for `gate_spin`, then blocks. It ignores [`yielding_after`](Self::yielding_after) and
    /// [`blocking_after`](Self::blocking_after). So every worker really blocks once per block, unless the
    /// next block comes sooner.
    ///
    /// It has to block. Under `SCHED_FIFO` the kernel stops a thread that never blocks for about 50 ms of
    /// every second. `RLIMIT_RTTIME` even kills it, because only blocking restarts that limit's clock (a
    /// yield does not). The limit applies to the processor time from one sleep to the next. A broker of
    /// real-time rights requires a limit (rtkit: at most 200 ms). So `gate_spin` and the longest block
    /// together must stay below it.
    pub fn at_gate(self, gate_spin: Duration) -> Wait {
        if self.strategy == Strategy::Futex {
            return self;
        }
        Wait { bound: self.bound_for(gate_spin), yields: NO_TIME, then: Then::Block, ..self }
    }

    /// The same wait for threads that the system may preempt. It blocks in the end.
    ///
    /// An ordinary thread may share its CPU with a thread of the class `SCHED_FIFO`. If that thread spins or
    /// yields while it waits for the ordinary one, the ordinary one never runs. Only a thread that blocks gives
    /// its CPU to all others.
    ///
    /// - A wait that spins takes its steps for `d`, then blocks.
    /// - A wait that yields (also by [`yielding_after`](Self::yielding_after), which has to come first) yields
    ///   for `d`, then blocks.
    /// - A wait that blocks stays as it is.
    ///
    /// With a `d` of 0 every wait blocks at once, after the spin of a hybrid.
    ///
    /// ```
    /// use hocket_rt::{SpinCost, Strategy, Wait};
    /// use std::time::Duration;
    ///
    /// let spins = Wait::new(Strategy::Pause, &SpinCost::measure(), Duration::ZERO);
    /// let (spin, yields) = (Duration::from_micros(20), Duration::from_micros(80));
    /// // Spins for 20 µs, yields for 80 µs, then blocks.
    /// let wait = spins.yielding_after(spin).blocking_after(yields);
    /// assert!(wait.may_block() && !spins.may_block());
    /// ```
    pub fn blocking_after(self, d: Duration) -> Wait {
        match self.then {
            Then::Spin => Wait { bound: self.bound_for(d), then: Then::Block, ..self },
            Then::Yield => {
                Wait { yields: bound(Step::Yield, &self.cost, d), then: Then::Block, ..self }
            }
            Then::Block => self,
        }
    }

    /// The same wait for more threads than CPUs. A wait that only spins takes its steps for `d`, then yields
    /// its CPU again and again, because the thread that it waits for may need that CPU.
    ///
    /// A wait that blocks or yields stays as it is. Under `SCHED_FIFO` a yield lets only threads of the same
    /// priority run: see [`blocking_after`](Self::blocking_after).
    pub fn yielding_after(self, d: Duration) -> Wait {
        match self.then {
            Then::Spin => Wait { bound: self.bound_for(d), then: Then::Yield, ..self },
            Then::Yield | Then::Block => self,
        }
    }

    /// The strategy in use: the requested one, or [`Strategy::Pause`] if the CPU lacks that one.
    pub fn strategy(&self) -> Strategy {
        self.strategy
    }

    fn bound_for(&self, d: Duration) -> Bound {
        bound(self.step, &self.cost, d)
    }

    /// Whether it may sleep in the kernel, so that another thread has to wake it.
    pub fn may_block(&self) -> bool {
        self.then == Then::Block
    }

    /// Takes steps until `poll` finds something, or this wait has to block.
    ///
    /// `poll` looks at `word`, and a step may rest until a thread writes to it. `None`: this wait has to
    /// block now. The caller decides how.
    #[inline]
    pub(crate) fn spin_for<T>(
        &self,
        waited: &mut Waited,
        word: &AtomicU32,
        mut poll: impl FnMut() -> Option<T>,
    ) -> Option<T> {
        let bounded = [(self.step, self.bound), (Step::Yield, self.yields)];
        for (step, bound) in bounded {
            let found = spin_bounded(step, bound, waited, word, &mut poll);
            if found.is_some() {
                return found;
            }
        }
        let step = match self.then {
            Then::Block => return poll(),
            Then::Spin => self.step,
            Then::Yield => Step::Yield,
        };
        loop {
            if let Some(found) = step.look_and_rest(waited, word, &mut poll) {
                return Some(found);
            }
        }
    }
}

/// Takes steps until `poll` finds something or the bound is reached.
#[inline]
fn spin_bounded<T>(
    step: Step,
    bound: Bound,
    waited: &mut Waited,
    word: &AtomicU32,
    poll: &mut impl FnMut() -> Option<T>,
) -> Option<T> {
    let mut some_steps =
        |steps: u32| (0..steps).find_map(|_| step.look_and_rest(waited, word, poll));
    match bound {
        Bound::Passes(passes) => some_steps(passes),
        Bound::Ticks(length) => {
            let started_at = cpu::ticks();
            loop {
                let found = some_steps(step.between_clocks());
                // A clock that jumps back looks like one that jumped far ahead, so it also ends the wait.
                let over = cpu::ticks().wrapping_sub(started_at) >= length;
                if found.is_some() || over {
                    return found;
                }
            }
        }
    }
}

/// The strategy to use for the requested one, and its step.
fn possible(strategy: Strategy) -> (Strategy, Step) {
    match (strategy, strategy.quiet()) {
        (_, Some(Ok(quiet))) => (strategy, Step::Quiet(quiet, quiet.step_ticks())),
        (_, Some(Err(_))) => (Strategy::Pause, Step::Pass),
        (Strategy::Spin, None) => (strategy, Step::Bare),
        (Strategy::Yield, None) => (strategy, Step::Yield),
        (_, None) => (strategy, Step::Pass),
    }
}

/// The length of a pass is known, so counting passes needs no clock. The clock limits all other steps. A model
/// has no clock.
fn bound(step: Step, cost: &SpinCost, d: Duration) -> Bound {
    if d.is_zero() {
        NO_TIME
    } else if step == Step::Pass || cfg!(loom) {
        Bound::Passes(cost.passes_for(d))
    } else {
        Bound::Ticks(cpu::ticks_in(d))
    }
}

/// What a wait did. The caller may count it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waited {
    /// How often the thread slept in the kernel.
    pub blocked: u32,
    /// How often the thread offered its CPU to others.
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

    #[test]
    fn what_spins_or_yields_blocks_in_the_end() {
        for strategy in Strategy::ALL {
            let before = wait(strategy);
            let after = before.blocking_after(LONGER);
            assert!(after.may_block(), "{strategy}");
            if before.may_block() {
                assert_eq!((plan(after), after.yields), (plan(before), before.yields));
            }
        }
        assert_eq!(plan(wait(Strategy::Pause).blocking_after(LONGER)), passes(90, Then::Block));
        let all = wait(Strategy::Pause).yielding_after(SPIN).blocking_after(LONGER);
        assert_eq!(plan(all), passes(30, Then::Block));
        assert!(matches!(all.yields, Bound::Ticks(ticks) if ticks > 0));
        let yields = wait(Strategy::Yield).blocking_after(LONGER);
        assert_eq!((yields.bound, yields.yields == NO_TIME), (NO_TIME, false));
    }

    #[test]
    fn a_wait_that_blocks_in_the_end_has_spun_and_yielded_before() {
        let word = AtomicU32::new(0);
        let (mut waited, mut looks) = (Waited::default(), 0);
        let all = wait(Strategy::Pause).yielding_after(SPIN).blocking_after(LONGER);
        let nothing = all.spin_for(&mut waited, &word, || {
            looks += 1;
            None::<()>
        });
        assert_eq!((nothing, waited.blocked), (None, 0));
        assert!(waited.yielded > 0);
        assert_eq!(looks, 30 + waited.yielded + 1, "once more before it blocks");
    }

    fn plan(wait: Wait) -> (Bound, Then) {
        (wait.bound, wait.then)
    }

    fn passes(passes: u32, then: Then) -> (Bound, Then) {
        (Bound::Passes(passes), then)
    }

    #[test]
    fn only_hybrid_uses_its_time() {
        for strategy in Strategy::ALL {
            let expected = match strategy {
                Strategy::Hybrid => passes(30, Then::Block),
                Strategy::Futex => (NO_TIME, Then::Block),
                Strategy::Yield => (NO_TIME, Then::Yield),
                _ => (NO_TIME, Then::Spin),
            };
            assert_eq!(plan(wait(strategy)), expected, "{strategy}");
        }
    }

    #[test]
    fn a_wait_says_what_it_really_does() {
        for strategy in Strategy::ALL {
            let made = wait(strategy).strategy();
            let missing = strategy.missing().is_some();
            assert_eq!(made, if missing { Strategy::Pause } else { strategy });
        }
    }

    #[test]
    fn at_the_gate_everybody_blocks() {
        for strategy in Strategy::ALL {
            let gate = wait(strategy).at_gate(LONGER);
            assert!(gate.may_block(), "{strategy}");
            assert_eq!(gate.bound == NO_TIME, strategy == Strategy::Futex, "{strategy}");
            let unbounded = wait(strategy).at_gate(Duration::ZERO);
            assert_eq!(unbounded.bound, NO_TIME, "{strategy}");
        }
        assert_eq!(plan(wait(Strategy::Pause).at_gate(LONGER)), passes(90, Then::Block));
        assert_eq!(plan(wait(Strategy::Hybrid).at_gate(LONGER)), passes(90, Then::Block));
    }

    #[test]
    fn only_a_wait_that_never_blocks_yields() {
        assert_eq!(plan(wait(Strategy::Pause).yielding_after(LONGER)), passes(90, Then::Yield));
        assert_eq!(plan(wait(Strategy::Yield).yielding_after(LONGER)), passes(0, Then::Yield));
        assert_eq!(plan(wait(Strategy::Hybrid).yielding_after(LONGER)), passes(30, Then::Block));
    }

    #[test]
    fn the_gate_blocks_whatever_was_asked_before_or_after() {
        for strategy in Strategy::ALL {
            let gate_last = wait(strategy).yielding_after(SPIN).at_gate(LONGER);
            let gate_first = wait(strategy).at_gate(LONGER).yielding_after(SPIN);
            assert_eq!(plan(gate_last), plan(gate_first));
            assert!(gate_last.may_block());
            let gate = wait(strategy).yielding_after(SPIN).blocking_after(SPIN).at_gate(LONGER);
            assert_eq!((plan(gate), gate.yields), (plan(gate_last), NO_TIME));
        }
    }

    #[test]
    fn a_spin_that_finds_nothing_says_so_and_one_that_finds_stops() {
        let (mut waited, word) = (Waited::default(), AtomicU32::new(0));
        let mut looks = 0;
        let nothing = wait(Strategy::Hybrid).spin_for(&mut waited, &word, || {
            looks += 1;
            None::<()>
        });
        assert_eq!((nothing, looks), (None, 31));
        let mut looks = 0;
        let found = wait(Strategy::Pause).yielding_after(SPIN).spin_for(&mut waited, &word, || {
            looks += 1;
            (looks == 33).then_some(looks)
        });
        assert_eq!((found, waited.yielded, waited.blocked), (Some(33), 2, 0));
    }

    /// It also covers rests that only time ends, because nobody writes to the word.
    #[test]
    fn every_way_comes_to_an_end_in_time_and_sees_what_comes_late() {
        let word = AtomicU32::new(0);
        for strategy in Strategy::here() {
            let mut waited = Waited::default();
            let gate = wait(strategy).at_gate(LONGER);
            assert_eq!(gate.spin_for(&mut waited, &word, || None::<()>), None, "{strategy}");
            if wait(strategy).may_block() {
                continue;
            }
            let mut looks = 0;
            let third = || {
                looks += 1;
                (looks == 3).then_some(looks)
            };
            assert_eq!(wait(strategy).spin_for(&mut waited, &word, third), Some(3), "{strategy}");
            assert_eq!(waited.yielded > 0, strategy == Strategy::Yield, "{strategy}");
        }
    }
}
