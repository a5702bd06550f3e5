//! Background work of processors before blocks without a deadline: the leader runs it, in the place of its threads.
//!
//! It takes locks and may wait, which the leader never does before a live block.

use std::sync::atomic::Ordering::Relaxed;

use crate::control::background::{Background, lock};

impl Background {
    /// Whether the leader runs the work from now on, or the threads do. Returns what held before.
    ///
    /// Thread: leader, between blocks.
    pub(crate) fn set_offline(&self, offline: bool) -> bool {
        let before = self.offline.swap(offline, Relaxed);
        if before && !offline {
            self.attention.signal.advance();
        }
        before
    }

    /// Runs all work that was requested, if the leader has to.
    ///
    /// Thread: leader, between blocks. Live it costs a load; offline it takes as long as the work takes. Returns whether it
    /// is offline.
    #[inline]
    pub(crate) fn run_if_offline(&self) -> bool {
        let offline = self.offline.load(Relaxed);
        if offline {
            self.run_all();
        }
        offline
    }

    #[cold]
    fn run_all(&self) {
        for work in &*lock(&self.works) {
            while work.next() {}
        }
    }
}
