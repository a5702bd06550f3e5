//! Spinning, measured in time.
//!
//! # The idea
//!
//! A spinning thread tells its core that it spins (PAUSE on x86, ISB on arm64), so that a sibling gets
//! the execution units meanwhile. The time of that instruction differs by a factor of a hundred between
//! CPUs: 10 cycles before Skylake, 140 on Skylake clients, under a nanosecond for some arm64 hints. So
//! a spin counted in instructions is a different spin on every machine.
//!
//! So the unit here is the *pass*: as many such instructions as last [`TARGET_PASS_NS`], chosen once
//! per process by the first [`SpinCost::measure`]. A waiter looks at its word once per pass. That is often
//! enough to lose no more than a cache miss, and rare enough to leave the core to its sibling. With a
//! PAUSE of 10 cycles at 2.5 GHz a pass has 19 of them, about as many as the 13 that spinning workers of
//! that time used.

use std::hint::spin_loop;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// The intended length of a pass, in nanoseconds.
const TARGET_PASS_NS: f64 = 75.0;
/// Instructions per pass before the first measurement.
#[cfg(not(loom))]
const PAUSES_UNMEASURED: u32 = 4;
/// The most instructions per pass. Only a clock that stands still would need more.
const PAUSES_MAX: u32 = 256;
/// The number of groups, rounds per group, and repetitions per round. A round lasts some microseconds, so most
/// rounds see neither a tick nor a preemption.
const GROUPS: usize = 7;
const ROUNDS: usize = 12;
const REPEATS: u32 = 48;

/// Instructions per pass. 0: not measured yet. The first measurement writes it, once. It publishes nothing
/// else, so all accesses are `Relaxed`.
static PAUSES_PER_PASS: AtomicU32 = AtomicU32::new(0);

/// What one spin pass costs on this CPU.
///
/// Thread: any, before the real-time part starts. Cost of a measurement: about 0.4 ms.
///
/// A CPU with two kinds of cores has two costs. This is the cost on the core that measured. So a limit of a
/// spin may be wrong by the ratio of the two (3 on current hybrids), never by a hundred.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SpinCost {
    pass_ns: f64,
}

impl SpinCost {
    /// Chooses the size of a pass, unless another call has, and measures how long it lasts here.
    ///
    /// Interruptions only make a round longer, so each group keeps its shortest round. The median over the
    /// groups ignores a group that ran while the clock frequency was still low.
    pub fn measure() -> SpinCost {
        choose_pass();
        let pass_ns = cost_ns(spin_pass);
        SpinCost { pass_ns: if pass_ns > 0.0 { pass_ns } else { TARGET_PASS_NS } }
    }

    /// A given cost, for simulations and tests that must not depend on a clock.
    ///
    /// 0 counts as one nanosecond.
    pub fn assumed(pass: Duration) -> SpinCost {
        SpinCost { pass_ns: (pass.as_nanos() as f64).max(1.0) }
    }

    /// Nanoseconds that a pass lasts.
    pub fn pass_ns(&self) -> f64 {
        self.pass_ns
    }

    /// How many passes last at least `d`. 0 for no time, `u32::MAX` if the number is too large.
    pub fn passes_for(&self, d: Duration) -> u32 {
        // A float that is too large saturates in the conversion.
        (d.as_nanos() as f64 / self.pass_ns).ceil() as u32
    }
}

/// One pass: tells the core, for about 75 ns, that this thread only waits.
///
/// Thread: any. Cost: [`SpinCost::pass_ns`], no system call.
#[cfg(not(loom))]
#[inline(always)]
pub fn spin_pass() {
    // Relaxed: see the static.
    let pauses = match PAUSES_PER_PASS.load(Relaxed) {
        0 => PAUSES_UNMEASURED,
        measured => measured,
    };
    for _ in 0..pauses {
        spin_loop();
    }
}

/// One pass in a model: lets the other threads go on.
#[cfg(loom)]
pub fn spin_pass() {
    crate::sync::yield_now();
}

/// No pass at all: a waiter that tells the core nothing.
#[cfg(not(loom))]
#[inline(always)]
pub(crate) fn bare_pass() {}

/// In a model even such a waiter must let the other threads go on, or they never would.
#[cfg(loom)]
pub(crate) fn bare_pass() {
    crate::sync::yield_now();
}

/// The first caller decides, so that every `SpinCost` of a process refers to the same pass.
fn choose_pass() {
    // Relaxed: it publishes nothing, see the static.
    if PAUSES_PER_PASS.load(Relaxed) == 0 {
        let pauses = (TARGET_PASS_NS / cost_ns(spin_loop)).round();
        let pauses = (pauses as u32).clamp(1, PAUSES_MAX);
        // Relaxed, again. If another thread was faster, its number is used.
        let _ = PAUSES_PER_PASS.compare_exchange(0, pauses, Relaxed, Relaxed);
    }
}

/// Nanoseconds that one call of `work` takes when nothing interrupts it.
fn cost_ns(work: impl Fn()) -> f64 {
    let mut groups = [0.0; GROUPS];
    for group in &mut groups {
        *group = (0..ROUNDS).map(|_| round_ns(&work)).fold(f64::INFINITY, f64::min);
    }
    groups.sort_by(f64::total_cmp);
    groups[GROUPS / 2]
}

/// The mean over one round.
fn round_ns(work: &impl Fn()) -> f64 {
    let started_at = Instant::now();
    for _ in 0..REPEATS {
        work();
    }
    started_at.elapsed().as_nanos() as f64 / f64::from(REPEATS)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn two_measurements_speak_of_the_same_pass() {
        let (first, second) = (SpinCost::measure(), SpinCost::measure());
        let ratio = first.pass_ns() / second.pass_ns();
        assert!(first.pass_ns() > 0.0 && first.pass_ns().is_finite());
        // Not a timing check: a factor of 30 can only come from two different pass sizes.
        assert!((1.0 / 30.0..30.0).contains(&ratio), "{first:?} {second:?}");
    }

    #[test]
    fn passes_cover_the_time_and_no_more() {
        let cost = SpinCost::assumed(Duration::from_nanos(70));
        assert_eq!(cost.passes_for(Duration::ZERO), 0);
        assert_eq!(cost.passes_for(Duration::from_nanos(1)), 1);
        assert_eq!(cost.passes_for(Duration::from_nanos(70)), 1);
        assert_eq!(cost.passes_for(Duration::from_nanos(71)), 2);
        assert_eq!(cost.passes_for(Duration::from_micros(7)), 100);
        assert_eq!(cost.passes_for(Duration::MAX), u32::MAX);
    }

    #[test]
    fn a_pass_of_no_length_divides_nothing_by_zero() {
        let cost = SpinCost::assumed(Duration::ZERO);
        assert_eq!(cost.passes_for(Duration::from_nanos(5)), 5);
    }
}
