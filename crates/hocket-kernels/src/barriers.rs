//! Where n threads wait for all: four ways to build it from the same signals.
//!
//! All wait as a [`Wait`] says, so that blocking, spinning and mixed waits can be compared on each. There are no
//! atomics here: arrivals are hocket-rt's countdowns and barriers, releases its signals.

mod central;

mod tree;

mod dissemination;

mod kind;

pub use central::Central;
pub use dissemination::Dissemination;
pub use kind::{BarrierKind, ParseBarrierKindError};
pub use tree::Tree;

use hocket_rt::{Wait, Waited};

/// A barrier for a fixed number of threads, used again and again.
pub trait Meeting: Send + Sync {
    /// Waits until all have arrived. What any of them did before is then visible to each.
    ///
    /// Thread: the one with this number, from 0, always the same. Numbers beside each other should be seats beside
    /// each other: partners of a core first.
    ///
    /// # Panics
    /// If `number` is not below [`parties`](Meeting::parties).
    fn meet(&self, number: usize, wait: &Wait) -> Waited;

    /// How many threads meet here.
    fn parties(&self) -> usize;
}
