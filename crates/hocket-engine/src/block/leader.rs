//! The leader's hand on a block: the only one that opens blocks, so the only one that may look
//! inside while none is open.

use std::sync::Arc;

use super::bus::UnitState;
use super::runner::Runner;
use super::stamps::Stamps;

/// Opens blocks, and reads what they left behind.
///
/// Invariant CLOSED by types: there is one `Leader` a runner, it is not `Clone`, [`Leader::lead`]
/// takes it exclusively and returns when everybody has left, and all that looks inside borrows it.
pub(crate) struct Leader {
    runner: Arc<Runner>,
}

impl Leader {
    /// Takes the lead of a runner whose workers only wait so far.
    pub(crate) fn new(runner: Arc<Runner>) -> Leader {
        Leader { runner }
    }

    /// What everybody may see.
    pub(crate) fn runner(&self) -> &Runner {
        &self.runner
    }

    /// Runs one block; see [`Runner::lead`].
    pub(crate) fn lead(&mut self, frames: usize, block: u64, next_ns: u64) {
        self.runner.lead(frames, block, next_ns);
    }

    /// Runs one block alone; see [`Runner::lead_serial`].
    pub(crate) fn lead_serial(&mut self, frames: usize, block: u64) {
        self.runner.lead_serial(frames, block);
    }

    /// The notes of a worker or guard.
    pub(crate) fn stamps(&self, desk: usize) -> &Stamps {
        // SAFETY: CLOSED, by the type's invariant; shared with other readers only.
        unsafe { self.runner.stamps_mut(desk) }
    }

    /// A unit and its bus.
    pub(crate) fn unit(&self, unit: usize) -> &UnitState {
        // SAFETY: CLOSED, by the type's invariant; shared with other readers only.
        unsafe { self.runner.units.get_mut(unit) }
    }

    /// A unit, to change it.
    pub(crate) fn unit_mut(&mut self, unit: usize) -> &mut UnitState {
        // SAFETY: CLOSED, by the type's invariant; borrowed exclusively.
        unsafe { self.runner.units.get_mut(unit) }
    }
}
