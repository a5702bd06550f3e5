//! Loads and stores within the first-level cache.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::kernel::{Kernel, Ops, Wrong};

/// Both tables together, in bytes; see [`L1`](super::L1).
const TABLES_BYTES: usize = 16 << 10;
const WORDS: usize = TABLES_BYTES / 2 / size_of::<u64>();

/// Writes one table of 8 KiB from another, each word increased by one, and exchanges the two.
///
/// A pass is a whole table: 1024 loads and as many stores. `Relaxed` atomics keep the compiler from
/// moving several words at once.
#[derive(Debug)]
pub struct LoadStore {
    from: Vec<AtomicU64>,
    to: Vec<AtomicU64>,
    passes: u64,
}

impl LoadStore {
    /// Tables of zeros.
    pub fn new() -> LoadStore {
        let zeros = || (0..WORDS).map(|_| AtomicU64::new(0)).collect();
        LoadStore { from: zeros(), to: zeros(), passes: 0 }
    }
}

impl Default for LoadStore {
    fn default() -> LoadStore {
        LoadStore::new()
    }
}

impl Kernel for LoadStore {
    fn name(&self) -> &'static str {
        "load-store"
    }

    fn ops(&self) -> Ops {
        let words = WORDS as u64;
        Ops { int: words, float: 0, loads: words, stores: words }
    }

    fn run(&mut self, passes: u64) -> u64 {
        for _ in 0..passes {
            for (from, to) in self.from.iter().zip(&self.to) {
                // Relaxed: this thread's own tables; see the type.
                to.store(from.load(Relaxed).wrapping_add(1), Relaxed);
            }
            std::mem::swap(&mut self.from, &mut self.to);
        }
        self.passes += passes;
        // Relaxed: as above.
        self.from[WORDS - 1].load(Relaxed)
    }

    fn check(&self) -> Result<(), Wrong> {
        // Relaxed: nobody else has the table.
        let odd = self.from.iter().map(|word| word.load(Relaxed)).find(|word| *word != self.passes);
        odd.map_or(Ok(()), |word| Wrong::unless_equal("a word", word, self.passes))
    }
}
