//! The leader's hand on a block: the only one that opens blocks, so the only one that may look
//! inside while none is open.

use std::sync::Arc;

use super::bus::UnitState;
use super::node::{Contained, NodeCell, NodeState};
use super::plan::Plan;
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

    /// Runs one block without the plan's workers; see [`Runner::lead_without_workers`].
    pub(crate) fn lead_without_workers(&mut self, frames: usize, block: u64) {
        self.runner.lead_without_workers(frames, block);
    }

    /// The notes of a worker or guard.
    pub(crate) fn stamps(&self, desk: usize) -> &Stamps {
        // SAFETY: CLOSED, by the type's invariant; shared with other readers only.
        unsafe { self.runner.stamps(desk) }
    }

    /// A unit and its bus.
    pub(crate) fn unit(&self, unit: usize) -> &UnitState {
        // SAFETY: CLOSED, by the type's invariant; shared with other readers only.
        unsafe { self.runner.plan().units.get(unit) }
    }

    /// Nodes whose output was silenced, and why. Allocates.
    pub(crate) fn contained(&self) -> impl Iterator<Item = Contained> {
        let nodes = (0..self.runner.plan().units.len()).flat_map(|unit| self.unit(unit).nodes());
        nodes.filter_map(|node| {
            // SAFETY: CLOSED and ONE-PLAN, by the type's invariant; shared with other readers only.
            let state = unsafe { node.get() };
            state.contained(&node.name)
        })
    }

    /// A node, to change it.
    pub(crate) fn node_mut<'a>(&'a mut self, node: &'a NodeCell) -> &'a mut NodeState {
        // SAFETY: CLOSED, by the type's invariant; a node is touched by its worker in a block or by
        // the leader, whatever plan it is in (ONE-PLAN), and the leader is borrowed exclusively.
        unsafe { node.get_mut() }
    }

    /// Forgets all history.
    pub(crate) fn reset(&mut self) {
        for unit in 0..self.runner.plan().units.len() {
            // SAFETY: CLOSED, by the type's invariant; borrowed exclusively.
            let unit = unsafe { self.runner.plan().units.get_mut(unit) };
            unit.silence();
            for cell in unit.nodes() {
                // SAFETY: as above, and ONE-PLAN.
                let node = unsafe { cell.get_mut() };
                node.call(|processor| processor.reset());
                node.events.clear();
                node.not_finite = 0;
                cell.show(node);
            }
        }
    }

    /// Goes on with another plan from `frame` on; returns the old one, to be freed elsewhere.
    pub(crate) fn exchange(&mut self, plan: Box<Plan>, frame: u64) -> Box<Plan> {
        for node in &plan.fresh {
            let state = self.node_mut(node);
            state.call(|processor| processor.locate(frame));
            node.show(state);
        }
        // SAFETY: CLOSED, by the type's invariant; borrowed exclusively, so nobody looks inside.
        unsafe { self.runner.exchange(plan) }
    }
}
