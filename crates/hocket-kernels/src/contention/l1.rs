//! Loads from the first-level cache.

use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::kernel::{Kernel, Ops, Wrong};

/// The table: half of the smallest first-level data cache in use, so that two siblings' tables fit
/// together and only the load units are shared.
const TABLE_BYTES: usize = 16 << 10;
const WORDS: usize = TABLE_BYTES / size_of::<u64>();
/// Sums beside each other, so that additions do not wait for each other.
const LANES: usize = 4;

/// Reads a table of 16 KiB from beginning to end, word by word, and sums it up.
///
/// A pass is the whole table: 2048 loads. The words are `Relaxed` atomics, which keeps the compiler
/// from reading several at once.
#[derive(Debug)]
pub struct L1 {
    table: Vec<AtomicU64>,
    sum: u64,
    passes: u64,
}

impl L1 {
    /// A filled table.
    pub fn new() -> L1 {
        let table = (0..WORDS as u64).map(|word| AtomicU64::new(black_box(word))).collect();
        L1 { table, sum: 0, passes: 0 }
    }

    fn sum_once(&self) -> u64 {
        let mut lanes = [0u64; LANES];
        for words in self.table.chunks_exact(LANES) {
            for (lane, word) in lanes.iter_mut().zip(words) {
                // Relaxed: nobody writes; see the type.
                *lane = lane.wrapping_add(word.load(Relaxed));
            }
        }
        lanes.iter().fold(0, |sum, lane| sum.wrapping_add(*lane))
    }
}

impl Default for L1 {
    fn default() -> L1 {
        L1::new()
    }
}

impl Kernel for L1 {
    fn name(&self) -> &'static str {
        "l1"
    }

    fn ops(&self) -> Ops {
        Ops { int: WORDS as u64, loads: WORDS as u64, ..Ops::default() }
    }

    fn run(&mut self, passes: u64) -> u64 {
        for _ in 0..passes {
            self.sum = self.sum.wrapping_add(black_box(&*self).sum_once());
        }
        self.passes += passes;
        self.sum
    }

    fn check(&self) -> Result<(), Wrong> {
        let words = WORDS as u64;
        let should = (words * (words - 1) / 2).wrapping_mul(self.passes);
        Wrong::unless_equal("the sum", self.sum, should)
    }
}
