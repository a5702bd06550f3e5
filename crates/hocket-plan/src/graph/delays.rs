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

/// See [`Arrivals`].
pub(crate) fn arrivals(graph: &Graph) -> Arrivals {
    let mut outputs: Vec<u32> = Vec::with_capacity(graph.nodes().len());
    let mut inputs = Vec::with_capacity(graph.nodes().len());
    let mut delays = Vec::with_capacity(graph.nodes().len());
    for node in graph.nodes() {
        let at = |from: NodeId| outputs[from.index()];
        let latest = node.inputs.iter().map(|edge| at(edge.from)).max().unwrap_or(0);
        delays.push(node.inputs.iter().map(|edge| latest - at(edge.from)).collect());
        inputs.push(latest);
        outputs.push(latest.saturating_add(node.latency_frames));
    }
    Arrivals { inputs, outputs, delays }
}
