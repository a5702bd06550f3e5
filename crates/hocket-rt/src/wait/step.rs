//! What a waiting thread does between two looks.

use crate::spin::{bare_pass, spin_pass};
use crate::sync::{AtomicU32, yield_now};
use crate::wait::Waited;
use crate::wait::cpu::Quiet;

/// One step of a wait that does not block. Every step ends by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Nothing.
    Bare,
    /// A [`spin_pass`].
    Pass,
    /// An offer of the CPU.
    Yield,
    /// A rest of at most this many ticks.
    Quiet(Quiet, u64),
}

impl Step {
    /// Looks, and takes one step if the look finds nothing. The look depends on `word`.
    #[inline]
    pub(crate) fn look_and_rest<T>(
        self,
        waited: &mut Waited,
        word: &AtomicU32,
        poll: &mut impl FnMut() -> Option<T>,
    ) -> Option<T> {
        let found = poll();
        if found.is_some() {
            return found;
        }
        match self {
            Step::Bare => bare_pass(),
            Step::Pass => spin_pass(),
            Step::Yield => {
                waited.yielded = waited.yielded.saturating_add(1);
                yield_now();
            }
            Step::Quiet(quiet, ticks) => return quiet.rest(word, ticks, poll),
        }
        None
    }

    /// How many steps to take between two looks at the clock. Such a look costs about 20 ns, a bare step about
    /// 1 ns.
    pub(crate) fn between_clocks(self) -> u32 {
        if self == Step::Bare { 64 } else { 1 }
    }
}
