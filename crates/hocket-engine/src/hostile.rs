//! Workers that come late on purpose: what a system that lets threads run late does to blocks can then be
//! measured on one that does not.
//!
//! Only in builds with the feature `hostile`, which the lab's benches ask for. A worker that has been
//! signalled spins for a random time before it enters the block; the leader is never held up.

use std::cell::Cell;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use hocket_machine::clock::{TickRate, ticks};

/// How late workers come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lateness {
    /// In how many of 1000 blocks a worker is late.
    pub blocks_per_1000: u32,
    /// The shortest delay.
    pub shortest: Duration,
    /// How often the shortest delay may double; each doubling is as likely as the others, so delays are
    /// about log-uniform.
    pub doublings: u32,
}

/// Read by workers, written by a control thread. Each number stands for itself and publishes nothing, so
/// all accesses are relaxed.
static BLOCKS_PER_1000: AtomicU32 = AtomicU32::new(0);
static SHORTEST_TICKS: AtomicU64 = AtomicU64::new(0);
static DOUBLINGS: AtomicU32 = AtomicU32::new(1);

/// Makes the workers of all engines of this process late from now on; `None`: no longer.
///
/// Thread: any but the workers'.
pub fn make_workers_late(lateness: Option<Lateness>) {
    let share = lateness.map_or(0, |late| late.blocks_per_1000.min(1000));
    if let Some(late) = lateness {
        SHORTEST_TICKS.store(TickRate::get().from_duration(late.shortest), Relaxed);
        DOUBLINGS.store(late.doublings.clamp(1, 32), Relaxed);
    }
    BLOCKS_PER_1000.store(share, Relaxed);
}

/// Holds the calling worker up, if it is to be late for this block.
///
/// Thread: worker `desk`, signalled and not yet in the block.
pub(crate) fn hold_up(desk: usize) {
    let (share, random) = (BLOCKS_PER_1000.load(Relaxed), random(desk));
    if random % 1000 >= u64::from(share) {
        return;
    }
    let octave =
        SHORTEST_TICKS.load(Relaxed) << ((random >> 16) % u64::from(DOUBLINGS.load(Relaxed)));
    // Anywhere inside the octave.
    let delay = octave + (random >> 32) % octave.max(1);
    let called = ticks();
    while ticks().wrapping_sub(called) < delay {
        std::hint::spin_loop();
    }
}

/// SplitMix64 (Steele, Lea and Flood 2014), a sequence for each thread.
fn random(desk: usize) -> u64 {
    const STEP: u64 = 0x9E37_79B9_7F4A_7C15;
    thread_local! {
        static STATE: Cell<u64> = const { Cell::new(0) };
    }
    STATE.with(|state| {
        let next = state.get().wrapping_add(STEP);
        state.set(next);
        let mut z = next ^ ((desk as u64) << 32);
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_are_at_least_the_shortest_and_end_when_told() {
        let shortest = Duration::from_micros(50);
        make_workers_late(Some(Lateness { blocks_per_1000: 1000, shortest, doublings: 2 }));
        let called = std::time::Instant::now();
        (0..10).for_each(|_| hold_up(1));
        // The tick rate is calibrated to well below a hundredth.
        assert!(called.elapsed() > shortest * 10 * 99 / 100);
        make_workers_late(None);
        assert_eq!(BLOCKS_PER_1000.load(Relaxed), 0);
    }

    #[test]
    fn a_share_of_the_blocks_is_late() {
        let late = (0..10_000).filter(|_| random(2) % 1000 < 500).count();
        assert!((4500..5500).contains(&late), "{late}");
    }
}
