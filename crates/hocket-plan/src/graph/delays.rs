//! Delay compensation: by how much each edge must wait so that all inputs of a node arrive together.

use super::{Graph, GraphError, NodeId};

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

impl Graph {
    /// Refuses delay lines that together would take more memory than a mistake should.
    ///
    /// Cost: O(nodes + edges).
    ///
    /// # Errors
    /// [`GraphError::DelaysTooLarge`].
    pub fn check_delays(&self) -> Result<(), GraphError> {
        let delays = arrivals(self, &|_, _| false).delays;
        let mut samples = 0u64;
        for ((reader, node), delays) in (0..).map(NodeId).zip(self.nodes()).zip(&delays) {
            for (edge, frames) in node.inputs.iter().zip(delays).filter(|(_, frames)| **frames > 0)
            {
                let rows = self.spans(edge, reader).into_iter().map(|span| u64::from(span.count));
                samples += u64::from(*frames) * rows.sum::<u64>();
            }
        }
        match samples > Graph::MAX_DELAY_SAMPLES {
            true => Err(GraphError::DelaysTooLarge { samples }),
            false => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Edge, Node, NodeKind, Ports};
    use super::*;

    /// Readers that wait for a late source: each early edge has `rows` channels.
    fn waiting(edges: usize, rows: u16, latency_frames: u32) -> Graph {
        let mut graph = Graph::default();
        let node = |latency_frames| Node {
            latency_frames,
            ports: Ports::of(rows),
            ..Node::new("node", NodeKind::Custom(0))
        };
        let early = graph.add(node(0)).unwrap();
        let late = graph.add(node(latency_frames)).unwrap();
        let mut inputs = vec![Edge::new(early, 1.0); edges];
        inputs.push(Edge::new(late, 1.0));
        graph.add(Node { inputs, ..node(0) }).unwrap();
        graph
    }

    #[test]
    fn delay_lines_that_are_too_large_together_are_refused_with_total_and_limit() {
        // 16 edges of 2 channels with the longest delay are exactly as many samples as there may be.
        assert_eq!(waiting(16, 2, Graph::MAX_DELAY).check_delays(), Ok(()));
        let error = waiting(17, 2, Graph::MAX_DELAY).check_delays().unwrap_err();
        let samples = 17 * 2 * u64::from(Graph::MAX_DELAY);
        assert_eq!(error, GraphError::DelaysTooLarge { samples });
        let text = error.to_string();
        assert!(text.contains("544 MiB") && text.contains("512 MiB"), "{text}");
        assert_eq!(waiting(1000, 64, 2000).check_delays(), Ok(()), "many short ones");
    }
}
