//! How late each output is, and which of the engine's inputs it hears.
//!
//! Hosts tell other programs how late the sound is that passes through. For that they need both: what no input reaches is no
//! later for what comes in.

use hocket_plan::compile::UnitGraph;
use hocket_plan::{Edge, Graph, NodeId, NodeKind};

/// How late an output is, and what it hears.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OutputDelay {
    /// By how many frames it lags behind the sources and the inputs. All ways have this length, because the shorter ones wait.
    pub frames: u32,
    /// The inputs whose sound arrives there, in their order.
    pub audio_inputs: Vec<u16>,
    /// The inputs whose notes and messages may sound there, in their order.
    pub event_inputs: Vec<u16>,
}

/// Where what an input brings leaves its node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Audio,
    Events,
}

/// Of all outputs of a graph that was compiled to `units`.
///
/// Feedback is not followed: what comes back is later by blocks, each time round.
///
/// Cost: O(inputs * edges).
pub(super) fn output_delays(graph: &Graph, units: &UnitGraph) -> Vec<OutputDelay> {
    let delay = |node: &NodeId| OutputDelay {
        frames: units.arrival_frames(*node),
        ..OutputDelay::default()
    };
    let mut delays: Vec<OutputDelay> = units.outputs().iter().map(delay).collect();
    for (id, node) in (0..).map(NodeId).zip(graph.nodes()) {
        let NodeKind::Input(number) = node.kind else { continue };
        for side in [Side::Audio, Side::Events] {
            let reached = reached(graph, id, side);
            for (output, delay) in units.outputs().iter().zip(&mut delays) {
                let to = match side {
                    Side::Audio => &mut delay.audio_inputs,
                    Side::Events => &mut delay.event_inputs,
                };
                // Several nodes may have one input.
                if reached[output.index()] && !to.contains(&number) {
                    to.push(number);
                }
            }
        }
    }
    delays.iter_mut().for_each(|delay| {
        delay.audio_inputs.sort_unstable();
        delay.event_inputs.sort_unstable();
    });
    delays
}

/// By node: whether something of this input arrives there in the same block. Node order is a topological one.
fn reached(graph: &Graph, input: NodeId, side: Side) -> Vec<bool> {
    let mut reached = vec![false; graph.nodes().len()];
    // An output may be the input itself.
    reached[input.index()] = side == Side::Audio;
    for (id, node) in (0..).map(NodeId).zip(graph.nodes()) {
        let brings = |edge: &Edge| match edge.from == input {
            true => edge.is_for_events() == (side == Side::Events),
            false => reached[edge.from.index()],
        };
        if id != input && node.inputs.iter().any(brings) {
            reached[id.index()] = true;
        }
    }
    reached
}

#[cfg(test)]
mod tests {
    use hocket_plan::{EventPorts, Fusing, Node, Ports};

    use super::*;

    /// A node with this latency that reads these edges.
    fn node(latency_frames: u32, inputs: Vec<Edge>, events: EventPorts) -> Node {
        let ports = Ports::default().with_events(events);
        Node { ports, inputs, latency_frames, ..Node::new("node", NodeKind::Custom(0)) }
    }

    fn input(number: u16) -> Node {
        let ports = Ports::default().with_events(EventPorts::OUTPUT);
        Node { ports, ..Node::new("input", NodeKind::Input(number)) }
    }

    #[test]
    fn an_output_hears_the_inputs_before_it_and_is_as_late_as_its_longest_way() {
        let mut graph = Graph::default();
        let voice = graph.add(input(0)).unwrap();
        let keys = graph.add(input(1)).unwrap();
        let song = graph.add(node(0, vec![], EventPorts::NONE)).unwrap();
        let late = graph.add(node(100, vec![Edge::new(voice, 1.0)], EventPorts::NONE)).unwrap();
        let instrument = graph.add(node(0, vec![Edge::events(keys)], EventPorts::INPUT)).unwrap();
        let both = vec![Edge::new(late, 1.0), Edge::new(instrument, 1.0), Edge::new(song, 1.0)];
        let master = graph.add(node(7, both, EventPorts::NONE)).unwrap();
        graph.set_outputs(vec![master, instrument, song, voice]).unwrap();
        let units = UnitGraph::compile(&graph, Fusing::Chains).unwrap();
        let delay = |frames, audio: &[u16], events: &[u16]| OutputDelay {
            frames,
            audio_inputs: audio.to_vec(),
            event_inputs: events.to_vec(),
        };
        let expected =
            [delay(107, &[0], &[1]), delay(0, &[], &[1]), delay(0, &[], &[]), delay(0, &[0], &[])];
        assert_eq!(output_delays(&graph, &units), expected);
    }
}
