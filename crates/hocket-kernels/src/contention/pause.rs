//! Doing nothing, and telling the core so.

use std::hint::spin_loop;

use crate::kernel::{Kernel, Ops, Wrong};

/// Spin hints (PAUSE on x86, ISB on arm64) in a pass.
const HINTS: u64 = 16;

/// A thread that only waits: the least that a busy sibling can cost.
///
/// A pass is 16 spin hints: about 160 cycles on x86 before Skylake, about 2200 since.
#[derive(Debug, Default)]
pub struct Pause {
    hints: u64,
    passes: u64,
}

impl Pause {
    /// Has done nothing yet.
    pub fn new() -> Pause {
        Pause::default()
    }
}

impl Kernel for Pause {
    fn name(&self) -> &'static str {
        "pause"
    }

    fn ops(&self) -> Ops {
        Ops::default()
    }

    fn run(&mut self, passes: u64) -> u64 {
        // The hint has an effect that the compiler does not know and so cannot leave out.
        for _ in 0..passes * HINTS {
            spin_loop();
            self.hints += 1;
        }
        self.passes += passes;
        self.hints
    }

    fn check(&self) -> Result<(), Wrong> {
        Wrong::unless_equal("the number of hints", self.hints, self.passes * HINTS)
    }
}
