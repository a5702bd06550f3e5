//! What connects the units with each other over time: delays, engine inputs, feedback and outputs.

use std::collections::HashMap;

use super::{
    Graph, GraphError, Node, NodeId, NodeKind, Ports, Source, Span, UnitId, UnitInput, arrivals,
};

/// Index of a line in its [`UnitGraph`](super::UnitGraph).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LineId(pub u32);

/// Index of an event line in its [`UnitGraph`](super::UnitGraph).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EventLineId(pub u32);

/// Index of a port in its [`UnitGraph`](super::UnitGraph).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PortId(pub u32);

/// Where an input waits, so that all inputs of a node arrive together, and where its gain fades.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DelayLine {
    /// The node that is read.
    pub from: NodeId,
    /// The node that reads.
    pub reader: NodeId,
    /// The place among the reader's edges: its inputs, then what feeds back to it.
    pub edge: usize,
    /// Whether it is a feedback edge.
    pub feeds_back: bool,
    /// Which part of the edge: one that spreads its channels has several.
    pub part: usize,
    /// The rows that it carries.
    pub span: Span,
    /// How long it waits, in frames.
    pub frames: u32,
    /// The gain in the end, linear.
    pub gain_lin: f32,
    /// The gain from which it fades, if the line is new.
    pub gain_before: f32,
    /// How it fades to another gain.
    pub curve: FadeCurve,
}

/// Where the events of an edge wait, so that notes and audio of one instant arrive together. Every event edge has one:
/// it also knows which notes of the edge sound.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EventLine {
    /// The node that writes.
    pub from: NodeId,
    /// The node that reads.
    pub reader: NodeId,
    /// The place among the reader's edges.
    pub edge: usize,
    /// How long events wait, in frames.
    pub frames: u32,
}

/// How an edge fades.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fade {
    /// The gain from which it does, if its line is new.
    pub gain_before: f32,
    /// Whether the edge is only there until it has faded out. It delays no other.
    pub leaves: bool,
    /// How it fades.
    pub curve: FadeCurve,
}

/// What two sides of a cross-fade, one rising and one falling, have in common at each frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FadeCurve {
    /// Their gains add up to 1. One sound that takes another way stays as loud as it was.
    #[default]
    EqualGain,
    /// The squares of their gains add up to 1. Two sounds that have nothing to do with each other stay, together, as
    /// loud as one of them. Only from silence or to silence.
    EqualPower,
}

/// Edges that need a line although they need not wait, by reader and place among its edges: its inputs, then what feeds
/// back to it.
pub type Fades = HashMap<(NodeId, usize), Fade>;

/// What units read that no unit of the same block writes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Port {
    /// The engine input of this number.
    Input {
        /// Counted from 0.
        number: u16,
        /// Channels.
        rows: u16,
    },
    /// What the main and extra channels of a node were, one largest block ago or longer.
    Feedback {
        /// The node.
        from: NodeId,
        /// The rows of its bus.
        rows: u16,
        /// How long ago at least, see [`Graph::set_feedback_frames`].
        frames: u32,
    },
}

impl Port {
    /// How late feedback is at least; 0 for an input.
    pub fn feedback_frames(&self) -> u32 {
        match *self {
            Port::Input { .. } => 0,
            Port::Feedback { frames, .. } => frames,
        }
    }
}

/// See [`super::UnitGraph::wiring`]. Indexed by node, if not said otherwise.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Wiring {
    pub(super) node_ports: Vec<Ports>,
    /// When what a node puts out arrives.
    pub(super) arrivals: Vec<u32>,
    /// When what a node hears arrives.
    pub(super) heard: Vec<u32>,
    /// By [`LineId`].
    pub(super) lines: Vec<DelayLine>,
    /// By [`EventLineId`].
    pub(super) event_lines: Vec<EventLine>,
    /// Nodes that play the events of an engine input.
    pub(super) event_inputs: Vec<(NodeId, u16)>,
    /// By [`PortId`].
    pub(super) ports: Vec<Port>,
    pub(super) outputs: Vec<NodeId>,
    /// The inputs of each node, with sources by node.
    inputs: Vec<Vec<NodeInput>>,
}

/// An input of a node, before units exist.
#[derive(Debug, Clone, Copy, PartialEq)]
struct NodeInput {
    from: From,
    gain_lin: f32,
    span: Span,
    line: Option<LineId>,
    events: Option<EventLineId>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum From {
    Node(NodeId),
    Port(PortId),
}

impl Wiring {
    /// Nodes of a stereo graph without delays.
    pub(super) fn stereo(nodes: usize) -> Wiring {
        let outputs = nodes.checked_sub(1).map(|last| NodeId(last as u32)).into_iter().collect();
        Wiring {
            node_ports: vec![Ports::STEREO; nodes],
            arrivals: vec![0; nodes],
            heard: vec![0; nodes],
            lines: Vec::new(),
            event_lines: Vec::new(),
            event_inputs: Vec::new(),
            ports: Vec::new(),
            outputs,
            inputs: Vec::new(),
        }
    }

    /// Cost: O(nodes + edges).
    ///
    /// # Errors
    /// [`GraphError::TooLate`].
    pub(super) fn of(graph: &Graph, fades: &Fades) -> Result<Wiring, GraphError> {
        let leaves = |reader, edge| fades.get(&(reader, edge)).is_some_and(|fade| fade.leaves);
        let arrivals = arrivals(graph, &leaves);
        let mut wiring = Wiring {
            node_ports: graph.nodes().iter().map(|node| node.ports).collect(),
            arrivals: arrivals.outputs,
            heard: arrivals.inputs,
            lines: Vec::new(),
            event_lines: Vec::new(),
            event_inputs: event_inputs(graph),
            ports: Vec::new(),
            outputs: graph.outputs(),
            inputs: Vec::with_capacity(graph.nodes().len()),
        };
        for (i, delays) in arrivals.delays.iter().enumerate() {
            let inputs = wiring.of_edges(graph, NodeId(i as u32), delays, fades)?;
            wiring.inputs.push(inputs);
        }
        wiring.add_feedback(graph, fades);
        Ok(wiring)
    }

    fn of_edges(
        &mut self,
        graph: &Graph,
        reader: NodeId,
        delays: &[u32],
        fades: &Fades,
    ) -> Result<Vec<NodeInput>, GraphError> {
        let node = &graph.nodes()[reader.index()];
        if let NodeKind::Input(number) = node.kind {
            let port = self.port(Port::Input { number, rows: input_rows(graph, number) });
            let (from, span) = (From::Port(port), Span::whole(node.ports.main));
            return Ok(vec![NodeInput { from, gain_lin: 1.0, span, line: None, events: None }]);
        }
        let mut inputs: Vec<NodeInput> = Vec::with_capacity(node.inputs.len());
        for (index, (edge, frames)) in node.inputs.iter().zip(delays).enumerate() {
            let fade = fades.get(&(reader, index));
            if *frames > Graph::MAX_DELAY {
                return Err(GraphError::TooLate { node: node.name.clone(), frames: *frames });
            }
            if edge.is_for_events() {
                inputs.push(self.event_input(edge.from, reader, index, *frames));
            }
            for (part, span) in graph.spans(edge, reader).into_iter().enumerate() {
                let from = From::Node(edge.from);
                let line = (*frames > 0 || fade.is_some()).then(|| {
                    let gain_before = fade.map_or(edge.gain_lin, |fade| fade.gain_before);
                    let curve = fade.map_or(FadeCurve::default(), |fade| fade.curve);
                    self.lines.push(DelayLine {
                        from: edge.from,
                        reader,
                        edge: index,
                        feeds_back: false,
                        part,
                        span,
                        frames: *frames,
                        gain_lin: edge.gain_lin,
                        gain_before,
                        curve,
                    });
                    LineId(self.lines.len() as u32 - 1)
                });
                inputs.push(NodeInput { from, gain_lin: edge.gain_lin, span, line, events: None });
            }
        }
        Ok(inputs)
    }

    fn event_input(&mut self, from: NodeId, reader: NodeId, edge: usize, frames: u32) -> NodeInput {
        let events = Some(EventLineId(self.event_lines.len() as u32));
        self.event_lines.push(EventLine { from, reader, edge, frames });
        NodeInput { from: From::Node(from), gain_lin: 1.0, span: Span::NONE, line: None, events }
    }

    /// The port, once for all that read it.
    fn port(&mut self, port: Port) -> PortId {
        let at = self.ports.iter().position(|known| *known == port).unwrap_or_else(|| {
            self.ports.push(port);
            self.ports.len() - 1
        });
        PortId(at as u32)
    }

    fn add_feedback(&mut self, graph: &Graph, fades: &Fades) {
        let mut places: Vec<usize> = graph.nodes().iter().map(|node| node.inputs.len()).collect();
        for back in graph.feedback() {
            let (from, reader, gain_lin) = (back.edge.from, back.reader, back.edge.gain_lin);
            let index = places[reader.index()];
            places[reader.index()] += 1;
            let rows = graph.nodes()[from.index()].ports.rows();
            let frames = graph.feedback_frames();
            let port = From::Port(self.port(Port::Feedback { from, rows, frames }));
            for (part, span) in graph.spans(&back.edge, reader).into_iter().enumerate() {
                let line = fades.get(&(reader, index)).map(|fade| {
                    self.lines.push(DelayLine {
                        from,
                        reader,
                        edge: index,
                        feeds_back: true,
                        part,
                        span,
                        frames: 0,
                        gain_lin,
                        gain_before: fade.gain_before,
                        curve: fade.curve,
                    });
                    LineId(self.lines.len() as u32 - 1)
                });
                let input = NodeInput { from: port, gain_lin, span, line, events: None };
                self.inputs[reader.index()].push(input);
            }
        }
    }

    /// What `head` sums, once the units of its sources are known.
    pub(super) fn inputs(&self, graph: &Graph, head: NodeId, unit_of: &[UnitId]) -> Vec<UnitInput> {
        debug_assert!(head.index() < graph.nodes().len());
        let inputs = self.inputs[head.index()].iter();
        let input = |input: &NodeInput| {
            let from = match input.from {
                From::Node(node) => Source::Unit(unit_of[node.index()]),
                From::Port(port) => Source::Port(port),
            };
            let NodeInput { gain_lin, span, line, events, .. } = *input;
            UnitInput { from, gain_lin, span, line, events }
        };
        inputs.map(input).collect()
    }
}

/// The engine inputs whose events somebody may read.
fn event_inputs(graph: &Graph) -> Vec<(NodeId, u16)> {
    let number = |(id, node): (NodeId, &Node)| match node.kind {
        NodeKind::Input(number) if node.ports.events.output => Some((id, number)),
        _ => None,
    };
    (0..).map(NodeId).zip(graph.nodes()).filter_map(number).collect()
}

/// Channels of an engine input: as many as the widest node that plays it has. The others play the first ones.
fn input_rows(graph: &Graph, number: u16) -> u16 {
    let plays = graph.nodes().iter().filter(|node| node.kind == NodeKind::Input(number));
    plays.map(|node| node.ports.main).max().unwrap_or(0)
}
