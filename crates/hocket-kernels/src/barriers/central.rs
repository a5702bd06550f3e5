//! One countdown for all.

use hocket_rt::{Barrier, Wait, Waited};

use super::Meeting;

/// Hocket's own barrier, that of `lists`: one countdown, one signal. The number that the signal shows takes the
/// place of the sense that the classic barrier reverses.
#[derive(Debug)]
pub struct Central {
    barrier: Barrier,
}

impl Central {
    /// For `parties` threads; at least one.
    pub fn new(parties: usize) -> Central {
        Central { barrier: Barrier::new(parties.max(1) as u32) }
    }
}

impl Meeting for Central {
    fn meet(&self, number: usize, wait: &Wait) -> Waited {
        assert!(number < self.parties(), "there is no thread {number} at this barrier");
        self.barrier.wait(wait).1
    }

    fn parties(&self) -> usize {
        self.barrier.parties() as usize
    }
}
