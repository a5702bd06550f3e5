//! Work that blocks a part of the time, as requests that wait for a disk do.
//!
//! For the rule that n CPUs are kept busy by n / (1 - b) threads, where b is the share of time in which a thread
//! is blocked.

use std::fmt;
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::contention::AluIndependent;
use crate::kernel::{Kernel, Wrong};

/// Which part of its time a thread is blocked, in percent: below 100.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlockingShare(u8);

impl BlockingShare {
    /// The shares of the experiment: 0, 25 and 50 %.
    pub const ALL: [BlockingShare; 3] = [BlockingShare(0), BlockingShare(25), BlockingShare(50)];

    /// `None` from 100 % on: such a thread would do nothing.
    pub fn percent(percent: u8) -> Option<BlockingShare> {
        (percent < 100).then_some(BlockingShare(percent))
    }

    /// In percent.
    pub fn as_percent(self) -> u8 {
        self.0
    }

    /// How long to sleep after `computing`, so that the sleep is this share of both.
    pub fn sleep_after(self, computing: Duration) -> Duration {
        computing * u32::from(self.0) / u32::from(100 - self.0)
    }

    /// How many threads keep `cpus` busy by the rule.
    pub fn threads_for(self, cpus: usize) -> f64 {
        cpus as f64 / (1.0 - f64::from(self.0) / 100.0)
    }
}

impl fmt::Display for BlockingShare {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}%", self.0))
    }
}

/// Pieces of work with a sleep after each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Paused {
    /// Passes of [`AluIndependent`] in a piece: the same work, whatever the share.
    pub passes: u64,
    /// How long to sleep after a piece; nothing: does not call the system.
    pub sleep: Duration,
}

/// What the pieces took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PausedRun {
    /// The kernel's result.
    pub result: u64,
    /// Time from the beginning to the end of each piece; with others on the same CPU, theirs too.
    pub computing: Duration,
    /// Time from the beginning to the end of each sleep: at least what was asked for.
    pub sleeping: Duration,
}

impl Paused {
    /// Pieces of `passes` passes, which last `piece` where nothing disturbs them; blocked for `share`.
    pub fn new(passes: u64, piece: Duration, share: BlockingShare) -> Paused {
        Paused { passes, sleep: share.sleep_after(piece) }
    }

    /// Does `pieces` pieces.
    ///
    /// # Errors
    /// [`Wrong`], if the kernel's check fails.
    pub fn run(&self, pieces: u64) -> Result<PausedRun, Wrong> {
        let mut kernel = AluIndependent::new();
        let mut run = PausedRun { result: 0, computing: Duration::ZERO, sleeping: Duration::ZERO };
        for _ in 0..pieces {
            let begun = Instant::now();
            run.result = kernel.run(self.passes);
            let computed = Instant::now();
            if !self.sleep.is_zero() {
                sleep(self.sleep);
                run.sleeping += computed.elapsed();
            }
            run.computing += computed - begun;
        }
        kernel.check().map(|()| run)
    }
}

/// How many passes of the kernel last `piece` on the CPU where this runs, by the fastest of a few tries.
///
/// Cost: about 5 ms, and more where something disturbs it.
pub fn passes_for(piece: Duration) -> u64 {
    const TRY: u64 = 1_000;
    let mut kernel = AluIndependent::new();
    let time = |kernel: &mut AluIndependent| {
        let begun = Instant::now();
        kernel.run(TRY);
        begun.elapsed()
    };
    let fastest = (0..8).map(|_| time(&mut kernel)).min().unwrap_or(Duration::ZERO);
    let passes = piece.as_secs_f64() / fastest.as_secs_f64().max(1e-9) * TRY as f64;
    (passes as u64).max(1)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    const PIECE: Duration = Duration::from_millis(3);

    #[test]
    fn the_sleep_is_the_share_of_both() {
        let sleeps = BlockingShare::ALL.map(|share| share.sleep_after(PIECE));
        assert_eq!(sleeps, [0, 1, 3].map(Duration::from_millis));
        assert_eq!(BlockingShare::percent(100), None);
    }

    #[test]
    fn the_rule_gives_the_threads_of_its_example() {
        let quarter = BlockingShare::ALL[1];
        assert!((quarter.threads_for(2) - 2.667).abs() < 0.001);
    }

    #[test]
    fn the_work_is_the_same_for_every_share() {
        let runs = BlockingShare::ALL.map(|share| Paused::new(10, PIECE, share).run(4).unwrap());
        assert!(runs.iter().all(|run| run.result == runs[0].result));
        assert_eq!(runs[0].sleeping, Duration::ZERO);
        // A sleep never ends early.
        assert!(runs[2].sleeping >= 4 * PIECE);
    }

    #[test]
    fn more_time_needs_more_passes() {
        assert!(passes_for(Duration::ZERO) >= 1);
        assert!(passes_for(Duration::from_secs(10)) > passes_for(Duration::from_micros(1)));
    }
}
