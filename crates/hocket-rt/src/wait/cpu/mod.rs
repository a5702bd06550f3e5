//! What a CPU offers to waiting threads: a clock, and instructions to rest with.
//!
//! One file per kind of CPU, with the same names in each. `ticks` reads the clock. [`Quiet`] lists the
//! instructions with which a thread rests until a time, or until another thread writes to a word. A `Quiet`
//! exists only if the CPU has the instruction, so it is always safe to use.
//!
//! A monitored rest is *arm, look, wait*: it arms the monitor before the last look, so that a write after the
//! look ends the wait (PROTOCOL.md, Monitored rests). Nothing depends on it: each rest has a time limit, and
//! the caller looks again after it.

#[cfg(all(not(loom), target_arch = "x86_64"))]
mod x86_64;
#[cfg(all(not(loom), target_arch = "x86_64"))]
pub(crate) use x86_64::{Quiet, ticks};

#[cfg(all(not(loom), target_arch = "aarch64"))]
mod aarch64;
#[cfg(all(not(loom), target_arch = "aarch64"))]
pub(crate) use aarch64::{Quiet, ticks};

// A model has no CPU either.
#[cfg(any(loom, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
mod other;
#[cfg(any(loom, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
pub(crate) use other::{Quiet, ticks};

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// How long a rest without a monitor lasts. The answer may be late by this much. onnxruntime found 2000 cycles
/// best for its pool (its pull request 16935).
#[cfg(all(not(loom), target_arch = "x86_64"))]
const BLIND: Duration = Duration::from_micros(1);
/// How long a rest lasts that a write ends. Only a missed write makes it last so long; Linux ends
/// UMWAIT after 100 000 ticks in any case, some 30 µs (arch/x86/kernel/cpu/umwait.c).
#[cfg(all(not(loom), any(target_arch = "x86_64", target_arch = "aarch64")))]
const MONITORED: Duration = Duration::from_micros(20);

/// Ticks per nanosecond, as the bits of a float. 0: not measured yet. Each thread that measures writes it. It
/// publishes nothing else, so all accesses are `Relaxed`.
static TICKS_PER_NS: AtomicU64 = AtomicU64::new(0);

/// Ticks that last as long as `d`. Cost: the first call measures, for about half a millisecond.
pub(crate) fn ticks_in(d: Duration) -> u64 {
    // Relaxed: it publishes nothing, see the static.
    let mut per_ns = f64::from_bits(TICKS_PER_NS.load(Relaxed));
    if per_ns == 0.0 {
        per_ns = measure_ticks_per_ns();
        // Relaxed, again. Two threads that measure at the same time agree well enough.
        TICKS_PER_NS.store(per_ns.to_bits(), Relaxed);
    }
    // A float that is too large saturates in the conversion.
    (d.as_nanos() as f64 * per_ns).ceil() as u64
}

fn measure_ticks_per_ns() -> f64 {
    const SPAN: Duration = Duration::from_micros(500);
    let (first, started_at) = both_clocks();
    while started_at.elapsed() < SPAN {
        std::hint::spin_loop();
    }
    let (last, ended_at) = both_clocks();
    let span_ns = (ended_at - started_at).as_nanos().max(1);
    // From 1 MHz to 10 GHz. Outside of this range a clock stood still or jumped.
    (last.wrapping_sub(first) as f64 / span_ns as f64).clamp(0.001, 10.0)
}

/// Both clocks at one instant. Of several tries it takes the one with the least time between its two readings.
fn both_clocks() -> (u64, Instant) {
    let read = |_| {
        let before = ticks();
        let at = Instant::now();
        (ticks().wrapping_sub(before), before, at)
    };
    let tightest = (0..8).map(read).min_by_key(|(apart, ..)| *apart);
    tightest.map_or_else(|| (ticks(), Instant::now()), |(_, before, at)| (before, at))
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn ticks_grow_with_the_time() {
        assert_eq!(ticks_in(Duration::ZERO), 0);
        let (short, long) =
            (ticks_in(Duration::from_micros(1)), ticks_in(Duration::from_millis(1)));
        assert!(short >= 1 && long > 500 * short, "{short} {long}");
        assert_eq!(ticks_in(Duration::MAX), u64::MAX);
        let before = ticks();
        std::thread::sleep(Duration::from_millis(1));
        assert!(ticks().wrapping_sub(before) > 0);
    }
}
