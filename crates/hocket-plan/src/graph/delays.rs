//! Delay compensation: by how much each edge must wait so that all inputs of a node arrive together.

use super::{Graph, NodeId};

/// The frame at which what a source plays at frame 0 arrives at each node's input, and how long its edges wait.
///
/// One pass in node order, which is a topological one: a node's inputs arrive at the latest of them, and each other edge waits for
/// the difference. Side chains count like all inputs; feedback edges do not. This is the rule of Tracktion's summing nodes and
/// JUCE's processor graph.
///
/// Cost: O(nodes + edges).
pub(crate) struct Arrivals {
    /// By node: at its input.
    pub(crate) inputs: Vec<u32>,
    /// By node: at its output.
    pub(crate) outputs: Vec<u32>,
    /// By node, by edge.
    pub(crate) delays: Vec<Vec<u32>>,
}

/// See [`Arrivals`]. `leaves`: whether this edge of this reader is only there until it has faded out. It waits for the others
/// if it can, and never they for it.
pub(crate) fn arrivals(graph: &Graph, leaves: &dyn Fn(NodeId, usize) -> bool) -> Arrivals {
    let mut outputs: Vec<u32> = Vec::with_capacity(graph.nodes().len());
    let (mut inputs, mut delays) = (Vec::new(), Vec::new());
    for (reader, node) in (0..).map(NodeId).zip(graph.nodes()) {
        let at = |from: NodeId| outputs[from.index()];
        let stays = node.inputs.iter().enumerate().filter(|(place, _)| !leaves(reader, *place));
        let latest = stays.map(|(_, edge)| at(edge.from)).max().unwrap_or(0);
        let waits = node.inputs.iter().map(|edge| latest.saturating_sub(at(edge.from)));
        delays.push(waits.collect());
        inputs.push(latest);
        outputs.push(latest.saturating_add(node.latency_frames));
    }
    Arrivals { inputs, outputs, delays }
}
