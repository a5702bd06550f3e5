//! How a block ends: one unit runs last, whatever the graph's shape.
//!
//! A block is over when its last unit has run. A graph with one output needs nothing for that: its last unit leads to
//! no other. If there are several units that nobody reads (outputs, taps, recorders), or the host reads a bus in the
//! middle, the *end of the block* joins them: a unit without nodes and rows, which waits for all of these. It keeps
//! them apart, too: a unit with two successors is never folded, so its bus is where the host looks.

use super::{Graph, MIN_COST, Unit, UnitId};

impl Unit {
    /// Whether it only ends the block.
    pub fn is_end(&self) -> bool {
        self.nodes.is_empty() && self.inputs.is_empty()
    }
}

/// Appends the end of the block, if the units need one.
pub(super) fn close(graph: &Graph, units: &mut Vec<Unit>) {
    let sources = graph.feedback().iter().map(|feedback| feedback.edge.from);
    let seen: Vec<_> = graph.outputs().into_iter().chain(sources).collect();
    let is_seen = |unit: &Unit| unit.nodes.last().is_some_and(|last| seen.contains(last));
    let joins = |unit: &Unit| unit.successors.is_empty() || is_seen(unit);
    let ids = (0..).map(UnitId);
    let joined: Vec<UnitId> =
        ids.zip(units.iter()).filter(|(_, unit)| joins(unit)).map(|(id, _)| id).collect();
    if let [only] = joined[..]
        && units[only.index()].successors.is_empty()
    {
        return;
    }
    let end = UnitId(units.len() as u32);
    joined.iter().for_each(|id| units[id.index()].successors.push(end));
    let latency = joined.iter().map(|id| units[id.index()].latency_frames).max();
    units.push(Unit {
        name: "end of the block".into(),
        predecessors: joined,
        cost: MIN_COST,
        latency_frames: latency.unwrap_or(0),
        ..Unit::nobody()
    });
}
