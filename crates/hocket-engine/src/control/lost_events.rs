//! What control threads see of the events between nodes: those that found no room.

use super::planner::Planner;

/// Events that a node did not get, could not send or could not pass on to a plug-in, because there was no room.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LostEvents {
    /// The node's name.
    pub node: String,
    /// How many since the node joined or was reset. See [`Control::lost_events`].
    ///
    /// [`Control::lost_events`]: super::handle::Control::lost_events
    pub events: u64,
}

impl Planner {
    pub(super) fn lost_events(&self) -> Vec<LostEvents> {
        let nodes = self.nodes().iter().flatten();
        let counts = nodes.map(|node| (node, node.lost_events())).filter(|(_, events)| *events > 0);
        counts.map(|(node, events)| LostEvents { node: node.name.clone(), events }).collect()
    }
}
