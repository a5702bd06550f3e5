//! Processors that ask to be made anew while they play.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Weak};

use hocket_plan::NodeId;

use super::handle::{Control, ControlError};
use super::main_thread::StateFailure;
use super::planner::Planner;
use crate::block::node::NodeCell;

/// A processor that asked to be made anew ([`MainRequests::restart`](hocket_dsp::host::MainRequests::restart)). It stays
/// this processor, whatever number edits give its node.
#[derive(Clone)]
pub struct Renewal {
    /// In the graph in which it asked.
    node: NodeId,
    name: String,
    /// Holds no processor that an edit removes.
    cell: Weak<NodeCell>,
}

impl Renewal {
    /// The node's name.
    pub fn name(&self) -> &str {
        &self.name
    }
}

/// Whether it is the same processor.
impl PartialEq for Renewal {
    fn eq(&self, other: &Renewal) -> bool {
        self.cell.ptr_eq(&other.cell)
    }
}

impl std::fmt::Debug for Renewal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Renewal").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Planner {
    fn take_renewals(&self) -> Vec<Renewal> {
        let asked = |(node, place): (NodeId, &NodeId)| {
            let cell = self.nodes()[place.index()].as_ref()?;
            // Relaxed: it publishes nothing.
            let asks = cell.side()?.wanted.restart.swap(false, Relaxed);
            let (name, cell) = (cell.name.clone(), Arc::downgrade(cell));
            asks.then_some(Renewal { node, name, cell })
        };
        (0..).map(NodeId).zip(&self.places).filter_map(asked).collect()
    }
}

impl Control {
    /// Processors of the newest graph that asked to be made anew since the last call, in the order of nodes. They are in
    /// [`Control::take_notices`] or here, whichever is called first.
    ///
    /// Cost: O(nodes), for which it holds the lock.
    pub fn take_renewals(&self) -> Vec<Renewal> {
        self.lock().take_renewals()
    }

    /// Saves the processor's state and loads it again ([`Control::save_state`], [`Control::load_state`]), which makes a plug-in
    /// anew. Edits may come between: the state goes to the same processor or to none. Returns the order's number.
    ///
    /// # Errors
    /// [`StateFailure`], also where the node has been removed: nothing has changed then.
    pub fn renew(&self, renewal: &Renewal) -> Result<u64, StateFailure> {
        let Renewal { node, name, cell } = renewal;
        let cell = cell.upgrade().ok_or(StateFailure::NoNode(*node))?;
        let side = cell.side().cloned().ok_or_else(|| StateFailure::NoState(name.clone()))?;
        let save = Arc::clone(&side);
        let save = move || save.call(|side| side.save().map_err(|why| why.to_string()));
        let saved = self.services().on_main(save)?.ok_or(ControlError::Panicked)?;
        let state = saved.map_err(|why| StateFailure::Refused { node: name.clone(), why })?;
        self.load_into(*node, &cell, &side, &state)
    }
}
