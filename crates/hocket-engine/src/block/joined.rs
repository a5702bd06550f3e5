//! What a processor that has joined an engine has beside blocks: its counts, its main side, and where it goes with its node.
//!
//! Blocks only count here. What control threads do with it is in `control/main_thread.rs`.

use std::any::Any;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};
use std::sync::{Arc, Mutex};

use hocket_dsp::Processor;
use hocket_dsp::host::MainSide;

use super::work::{Wanted, WorkCounts};

/// What a node's processor has beside it.
pub(crate) struct Joined {
    /// Where it goes with its node.
    pub(crate) disposal: Box<dyn Disposal>,
    /// Of its background work. `None`: it has requested none.
    pub(crate) counts: Option<Arc<WorkCounts>>,
    pub(crate) side: Option<Arc<Side>>,
}

/// Frees what a node no longer needs, where it was made: on the engine's main thread.
///
/// Thread: control, all of it.
pub(crate) trait Disposal: Send + Sync {
    /// The processor goes, with its main side and what it left when it panicked. Waits for nothing.
    fn leave(
        self: Box<Self>,
        processor: Box<dyn Processor>,
        panicked: Option<Box<dyn Any + Send>>,
        side: Option<Arc<Side>>,
    );

    /// What its main side made for the processor is no longer needed.
    fn free(&self, made: Box<dyn Any + Send>);
}

/// A main side.
pub(crate) struct Side {
    /// Locked on the main thread only; the lock shows that. `None`: it is freed, and nobody calls it again.
    pub(crate) side: Mutex<Option<Box<dyn MainSide>>>,
    pub(crate) wanted: Arc<Wanted>,
    /// Whether it panicked. Nobody calls it again.
    pub(crate) panicked: AtomicBool,
    /// How often it was asked to make something. Relaxed: only the main thread uses it.
    pub(crate) turns: AtomicU64,
    /// The newest of these turns that is on its way to the processor. Relaxed: the planner's lock orders it.
    pub(crate) handed: AtomicU64,
    /// Largest block that the processor is ready for, or will be with the orders that are on their way. Relaxed, as below:
    /// the planner's lock orders it.
    pub(crate) largest: AtomicU32,
    /// The latency that the processor has reported, and one more; 0: none.
    pub(crate) latency: AtomicU64,
    /// The same as the present plan has it.
    pub(crate) planned: AtomicU64,
    /// Whether the present plan does not know of it yet.
    pub(crate) unplanned: AtomicBool,
    /// The latency that the host program has not heard of, and one more.
    pub(crate) news: AtomicU64,
}

impl Joined {
    /// Where it counts blocks in which it failed; `None`: it has no main side, so it cannot say so.
    pub(crate) fn failed(&self) -> Option<&AtomicU64> {
        self.side.as_ref().map(|side| &side.wanted.failed)
    }

    /// Where it counts events that it had no room to pass on; `None`: as above.
    pub(crate) fn events_lost(&self) -> Option<&AtomicU64> {
        self.side.as_ref().map(|side| &side.wanted.events_lost)
    }

    /// The processor goes: the main thread frees it, with what belongs to it.
    ///
    /// Thread: control.
    pub(crate) fn leave(
        self,
        processor: Box<dyn Processor>,
        panicked: Option<Box<dyn Any + Send>>,
    ) {
        self.disposal.leave(processor, panicked, self.side);
    }
}
