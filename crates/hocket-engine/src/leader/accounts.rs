//! What the leader reports of blocks that are over: counts of threads, nodes that were silenced, the trace of the last block.

use hocket_trace::BlockTrace;

use crate::block::node::Contained;
use crate::block::times::WorkerTotals;
use crate::control::engine::Engine;
use crate::flight::{BlockNotes, EngineThreads};

/// # What happened in blocks
impl Engine {
    /// Counts of each worker since the start, the leader first, then the guards.
    ///
    /// Thread: leader, between blocks. Allocates: for a live run there is [`Engine::totals_of`].
    pub fn totals(&self) -> Vec<WorkerTotals> {
        let desks = 0..self.leader.runner().desks.len();
        // block-path: such accounts are not for live blocks, as their documentation says.
        desks.map(|desk| self.desk_totals(desk)).collect()
    }

    /// The same of one thread by its number in [`Engine::totals`]; `None`: there are fewer.
    ///
    /// Thread: leader, between blocks. Allocates nothing.
    pub fn totals_of(&self, thread: usize) -> Option<WorkerTotals> {
        (thread < self.leader.runner().desks.len()).then(|| self.desk_totals(thread))
    }

    fn desk_totals(&self, desk: usize) -> WorkerTotals {
        let totals = self.leader.stamps(desk).totals;
        WorkerTotals {
            blocks: totals.blocks,
            units: totals.units,
            blocked: totals.blocked + self.leader.slept_in_loops(desk),
            yielded: totals.yielded,
            wakes: totals.wakes,
            spans_dropped: totals.spans_dropped,
            busy_ns: self.rate.ticks_to_ns(totals.busy_ticks),
        }
    }

    /// Nodes whose output the engine silenced: because it was not finite, or because the node panicked.
    ///
    /// Thread: leader, between blocks. Allocates.
    pub fn contained(&self) -> Vec<Contained> {
        // block-path: as above.
        self.leader.contained().collect()
    }

    /// What every thread did in the last block.
    ///
    /// Thread: leader, between blocks. Allocates: for every block of a live run there is
    /// [`crate::flight`].
    pub fn trace(&self) -> BlockTrace {
        let mut frame = BlockNotes::for_engine(self);
        frame.fill(self, &self.last.times);
        let units = self.schedule().units().units().iter();
        // block-path: as above.
        let names = units.map(|unit| unit.title()).collect();
        frame.trace(&EngineThreads::of(self), names, &self.rate)
    }
}
