//! Work that a processor spreads: a loop whose passes workers take that wait for a unit.

use std::cell::OnceCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use hocket_dsp::Helpers;
use hocket_machine::clock::ticks;
use hocket_rt::SharedLoop;

use crate::watch::edge;

/// One loop at a time, of whichever processor comes first. The others run theirs alone.
///
/// Workers that spin come at once. Nobody wakes those that sleep: that would take longer than most loops.
#[derive(Debug, Default)]
pub(crate) struct SpreadWork {
    place: SharedLoop,
    /// As in the runner: whether every thread holds a real-time class.
    real_time: Arc<AtomicBool>,
    /// How long the processor's thread spins for those that help, in ticks: with a real-time class, and otherwise. As
    /// for all waits inside a block, no healthy one ends in a sleep.
    spins: [u64; 2],
}

impl SpreadWork {
    /// Thread: control; allocates.
    pub(super) fn new(real_time: &Arc<AtomicBool>, longest: u64, ordinary: u64) -> SpreadWork {
        let (place, real_time) = (SharedLoop::new(), Arc::clone(real_time));
        SpreadWork { place, real_time, spins: [longest, ordinary] }
    }

    /// Whether a worker that waits should help. A hint.
    #[inline]
    pub(super) fn is_offered(&self) -> bool {
        self.place.is_open()
    }

    /// Takes passes until none is left. Returns whether there was one.
    ///
    /// Thread: worker, inside a block, outside units.
    #[cold]
    pub(super) fn help(&self) -> bool {
        // block-path: it joins a loop, not a thread.
        self.place.join(|leave| edge(leave))
    }

    fn spin_until(&self) -> u64 {
        // Relaxed: either limit is right at any time.
        let real_time = self.real_time.load(Relaxed);
        ticks() + self.spins[usize::from(!real_time)]
    }
}

impl Helpers for SpreadWork {
    fn share(&self, passes: u32, body: &(dyn Fn(u32) + Sync)) {
        let until = OnceCell::new();
        let awake = || ticks() < *until.get_or_init(|| self.spin_until());
        self.place.run(passes, body, awake, |close| edge(close));
    }
}
