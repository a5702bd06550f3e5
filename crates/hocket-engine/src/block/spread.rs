//! Work that a processor spreads: a loop whose passes workers take that wait for a unit.

use hocket_dsp::Helpers;
use hocket_rt::SharedLoop;

use crate::watch::edge;

/// One loop at a time, of whichever processor comes first. The others run theirs alone.
///
/// Workers that spin come at once. Nobody wakes those that sleep: that would take longer than most loops.
#[derive(Debug, Default)]
pub(crate) struct SpreadWork(SharedLoop);

impl SpreadWork {
    /// Whether a worker that waits should help. A hint.
    #[inline]
    pub(super) fn is_offered(&self) -> bool {
        self.0.is_open()
    }

    /// Takes passes until none is left. Returns whether there was one.
    ///
    /// Thread: worker, inside a block, outside units.
    #[cold]
    pub(super) fn help(&self) -> bool {
        // block-path: it joins a loop, not a thread.
        self.0.join(|leave| edge(leave))
    }
}

impl Helpers for SpreadWork {
    fn share(&self, passes: u32, body: &(dyn Fn(u32) + Sync)) {
        self.0.run(passes, body, |close| edge(close));
    }
}
