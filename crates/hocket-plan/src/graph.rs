//! Nodes and edges: what one block computes, and what each step needs.
//!
//! A node owns one bus, of two rows unless its [`Ports`] say otherwise. It first sums what its edges bring into its own
//! rows, then processes in place. It sums in the order of its edges, so the bits are the same on every worker.
//!
//! An edge from event port to event port ([`Edge::events`]) carries notes, MIDI and changes of parameters in place of
//! channels. It counts like every other edge for the order of the nodes and for delay compensation.
//!
//! Three things come from outside the block's graph: engine inputs ([`NodeKind::Input`]), what a feedback edge brings
//! from an earlier block ([`Graph::feed_back`]), and the outputs that the host reads ([`Graph::set_outputs`]).

pub(crate) mod delays;
mod from_session;
mod liveness;
mod path;
mod ports;
mod routing;

pub use from_session::{EffectFacts, audible, session_graph, silent_by_solo};
pub use liveness::{LiveCause, Liveness};
pub use path::shortest_path;
pub use ports::{ChannelMap, EventPorts, InputPort, Ports, Span};

pub(crate) use delays::arrivals;

use crate::session::{EventsOf, OutputAt, SendAt, StripId};

/// Index of a node in its [`Graph`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(pub u32);

impl NodeId {
    /// As an index.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// What a node does with its bus after summing its inputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NodeKind {
    /// Plays the clips of the track with this index.
    Play(usize),
    /// Sends the notes of the track with this index.
    Notes(usize),
    /// Nothing more: groups, returns and the master begin with one.
    Sum(StripId),
    /// The effect at `index` of the strip's chain.
    Effect {
        /// The strip.
        strip: StripId,
        /// Place in its chain.
        index: usize,
    },
    /// Gain, pan and mute of the strip.
    Fader(StripId),
    /// The level of a send that automation moves. The level of any other send is its edge's gain.
    Send(SendAt),
    /// The engine's input of this number: what the host wrote for the block, as many of its channels as the node has.
    /// It has no edges. With an event output it sends on what the host hands over for the input of this number.
    Input(u16),
    /// Sends on the notes and messages that a take records: what it receives, in the order of its edges.
    Events(EventsOf),
    /// Something that no session file describes, such as the load of a benchmark.
    Custom(u32),
}

/// An input of a node.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Edge {
    /// The node whose bus is read.
    pub from: NodeId,
    /// Linear; 1.0 passes the bus on unchanged.
    pub gain_lin: f32,
    /// Where it arrives.
    pub to: InputPort,
    /// Which channels it carries.
    pub map: ChannelMap,
}

impl Edge {
    /// An edge from main port to main port, channel by channel.
    pub const fn new(from: NodeId, gain_lin: f32) -> Edge {
        Edge { from, gain_lin, to: InputPort::Main, map: ChannelMap::Straight }
    }

    /// An edge from event output to event input. It has no gain and no channels.
    pub const fn events(from: NodeId) -> Edge {
        Edge { to: InputPort::Events, ..Edge::new(from, 1.0) }
    }

    /// Whether it carries events.
    pub fn is_for_events(&self) -> bool {
        self.to == InputPort::Events
    }
}

/// An edge that brings what a node put out some blocks ago, so that it may close a cycle.
///
/// The delay is the engine's largest block: what a block of that length puts out arrives with the next block. It is the same
/// for every length of the blocks. [`Graph::set_feedback_frames`] makes it longer, so that it is the same for every largest
/// block up to that length, too.
#[derive(Debug, Clone, PartialEq)]
pub struct Feedback {
    /// The edge: the node that is read, how loud, which channels, at which port.
    pub edge: Edge,
    /// The node that reads.
    pub reader: NodeId,
}

/// One step of the computation.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// For traces and messages: `vocals: compressor`.
    pub name: String,
    /// What it does.
    pub kind: NodeKind,
    /// In summing order.
    pub inputs: Vec<Edge>,
    /// Expected cost in floating-point operations per frame; only ratios matter.
    pub cost: f64,
    /// How many frames its output lags behind its input.
    pub latency_frames: u32,
    /// Channels of its ports.
    pub ports: Ports,
}

impl Node {
    /// A stereo node without inputs and latency, at a cost of 1.
    pub fn new(name: impl Into<String>, kind: NodeKind) -> Node {
        let (name, ports) = (name.into(), Ports::STEREO);
        Node { name, kind, inputs: Vec::new(), cost: 1.0, latency_frames: 0, ports }
    }
}

/// Nodes in an order in which they can run; acyclic by construction, but for feedback.
///
/// [`Graph::add`] only accepts inputs that exist already, so node order is a topological order. All nodes run in every
/// block, whether somebody reads them or not. The host reads the last node's bus, unless [`Graph::set_outputs`] says
/// otherwise.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Graph {
    nodes: Vec<Node>,
    /// Empty: the last node.
    outputs: Vec<NodeId>,
    feedback: Vec<Feedback>,
    /// 0: as long as the largest block.
    feedback_frames: u32,
}

/// Why a graph cannot be built.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum GraphError {
    /// The strips feed each other in a cycle.
    #[error("the routing forms a cycle: {}; remove one output or send of it", .names.join(" -> "))]
    Cycle {
        /// The strips on the cycle, the first one repeated at the end.
        strips: Vec<StripId>,
        /// Their names.
        names: Vec<String>,
    },
    /// An output or a send names a strip that the session does not have.
    #[error("strip '{strip}' feeds {feeds:?}, which the session does not have")]
    UnknownStrip {
        /// The name of the strip whose output or send it is.
        strip: String,
        /// Where it leads.
        feeds: StripId,
    },
    /// A track plays an input that the session does not have.
    #[error("track '{track}' plays input {input}, which the session does not have")]
    NoInput {
        /// The track's name.
        track: String,
        /// Index of the input.
        input: usize,
    },
    /// A track plays an extra output that no effect of the session has.
    #[error(
        "track '{track}' plays extra output {} of effect {} of {:?}, which does not exist",
        .from.index, .from.effect.index, .from.effect.strip
    )]
    NoOutput {
        /// The track's name.
        track: String,
        /// The output that it names.
        from: OutputAt,
    },
    /// A take records an input that the session does not have.
    #[error("a take records input {input}, which the session does not have")]
    NoTakenInput {
        /// Index of the input.
        input: usize,
    },
    /// A take records the events of a track without notes and without an input that takes events, or of an input that takes
    /// none.
    #[error(
        "a take records the events of {of:?}, which has none; give the track notes or an input with events = true"
    )]
    NoTakenEvents {
        /// Whose events.
        of: EventsOf,
    },
    /// An effect receives the events of something that is no track of the session.
    #[error(
        "an effect of strip '{strip}' receives the events of {from:?}, which is no track of the session"
    )]
    NoEvents {
        /// The strip's name.
        strip: String,
        /// What it names.
        from: StripId,
    },
    /// A node names an input that does not exist (yet).
    #[error(
        "node '{node}' reads node {input}, which does not exist yet: add inputs before their readers"
    )]
    UnknownInput {
        /// The node's name.
        node: String,
        /// The input's index.
        input: u32,
    },
    /// A session without any strip that plays.
    #[error("the graph is empty: add at least one track or node")]
    Empty,
    /// More nodes than an index can count.
    #[error("the graph has {0} nodes; at most {max} are possible", max = Graph::MAX_NODES)]
    TooLarge(usize),
    /// A node's ports have too few or too many channels.
    #[error(
        "node '{node}' has ports of {} main, {} side-chain and {} extra channels; possible are 1 to {max} main ones \
         and up to {max} of the others",
        .ports.main, .ports.side_chain, .ports.extra, max = Ports::MOST
    )]
    Ports {
        /// The node's name.
        node: String,
        /// What it asks for.
        ports: Ports,
    },
    /// An edge between ports that do not fit.
    #[error(
        "'{source}' puts out {outputs} channels, and {port:?} of '{reader}' takes {inputs}: they do not fit with \
         {map:?}; give the edge a range of channels that both have"
    )]
    Channels {
        /// The node that is read.
        r#source: String,
        /// Its output channels.
        outputs: u16,
        /// The node that reads.
        reader: String,
        /// At which port.
        port: InputPort,
        /// That port's channels.
        inputs: u16,
        /// The edge's map.
        map: ChannelMap,
    },
    /// An event edge between nodes without the ports for it.
    #[error(
        "no events can go from '{source}' to '{reader}': {}",
        missing_ports(*.writes, *.reads)
    )]
    EventPorts {
        /// The node that is read.
        r#source: String,
        /// The node that reads.
        reader: String,
        /// Whether the first one has an event output.
        writes: bool,
        /// Whether the second one has an event input.
        reads: bool,
    },
    /// An event edge to a node that comes before its source, or to its source.
    #[error("the event edge from '{source}' to '{reader}' {}", wrong_way(.reader, .source, .cycle))]
    EventCycle {
        /// The node that is read.
        r#source: String,
        /// The node that reads.
        reader: String,
        /// The nodes on the cycle that the edge would close, in the direction of the signal, `reader` at both ends. Empty if
        /// there is none: then the nodes are only in the wrong order.
        cycle: Vec<String>,
    },
    /// A feedback edge for events.
    #[error(
        "the edge from '{source}' to '{reader}' feeds events back, which only audio can: give it other ports, or connect \
         the nodes with connect_events"
    )]
    EventFeedback {
        /// The node that is read.
        r#source: String,
        /// The node that reads.
        reader: String,
    },
    /// A gain that is no number.
    #[error("an edge to '{node}' has a gain of {gain_lin}, which is not finite")]
    Gain {
        /// The node that reads.
        node: String,
        /// The gain.
        gain_lin: f32,
    },
    /// A node that does not exist is named as an output or in a feedback edge.
    #[error("the graph has no node {}", .0.0)]
    NoNode(NodeId),
    /// Delay compensation would take more memory than a mistake should.
    #[error(
        "'{node}' would have to wait {frames} frames for its slowest input; at most {max} are possible", max = Graph::MAX_DELAY
    )]
    TooLate {
        /// The node whose inputs are so far apart.
        node: String,
        /// By how much.
        frames: u32,
    },
    /// Feedback would arrive so late that it would take more memory than a mistake should.
    #[error(
        "feedback would arrive {frames} frames later; at most {max} are possible", max = Graph::MAX_DELAY
    )]
    FeedbackTooLate {
        /// By how much.
        frames: u32,
    },
    /// Delay compensation of all edges together would take more memory than a mistake should.
    #[error(
        "the delay lines of the graph would hold {} MiB ({samples} samples); at most {} MiB are possible: use nodes \
         with less latency, or fewer edges beside them", .samples >> 18, Graph::MAX_DELAY_SAMPLES >> 18
    )]
    DelaysTooLarge {
        /// Samples that all edges together would have to keep.
        samples: u64,
    },
    /// An engine input that also has edges.
    #[error("node '{0}' is an engine input and cannot have inputs of its own")]
    InputWithEdges(String),
}

impl Graph {
    /// The largest graph; 24 bits leave room for flags beside an index.
    pub const MAX_NODES: usize = 1 << 24;
    /// The longest delay of an edge, in frames: 21 s at 192 kHz.
    pub const MAX_DELAY: u32 = 1 << 22;
    /// The most samples that all delay lines together may hold: 512 MiB. Rings may take up to twice as much.
    pub const MAX_DELAY_SAMPLES: u64 = 1 << 27;

    /// Appends a node and returns its id.
    ///
    /// # Errors
    /// - [`GraphError::UnknownInput`] if an input is not in the graph yet,
    /// - [`GraphError::Channels`] if an edge's channels do not fit the ports,
    /// - [`GraphError::EventPorts`] if an event edge connects nodes without the ports for it,
    /// - [`GraphError::Gain`] if a gain is not finite,
    /// - [`GraphError::Ports`] if a port has too few or too many channels,
    /// - [`GraphError::InputWithEdges`] if an engine input has edges,
    /// - [`GraphError::TooLarge`] past [`Graph::MAX_NODES`].
    pub fn add(&mut self, node: Node) -> Result<NodeId, GraphError> {
        let id = self.nodes.len();
        if id >= Self::MAX_NODES {
            return Err(GraphError::TooLarge(id + 1));
        }
        if !node.ports.are_possible() {
            return Err(GraphError::Ports { node: node.name, ports: node.ports });
        }
        if matches!(node.kind, NodeKind::Input(_)) && !node.inputs.is_empty() {
            return Err(GraphError::InputWithEdges(node.name));
        }
        for edge in &node.inputs {
            let unknown =
                || GraphError::UnknownInput { node: node.name.clone(), input: edge.from.0 };
            let source = self.nodes.get(edge.from.index()).ok_or_else(unknown)?;
            check_gain(edge, &node)?;
            ports::spans(edge, source, &node)?;
        }
        self.nodes.push(node);
        Ok(NodeId(id as u32))
    }

    /// Appends a node with a stereo side chain: a second input that only steers, such as a compressor's key. The edges of
    /// `side_chain` are summed apart from the node's inputs, and become the last of these.
    ///
    /// # Errors
    /// As [`Graph::add`].
    pub fn add_with_side_chain(
        &mut self,
        mut node: Node,
        side_chain: Vec<Edge>,
    ) -> Result<NodeId, GraphError> {
        if !side_chain.is_empty() && node.ports.side_chain == 0 {
            node.ports.side_chain = 2;
        }
        let aside = |edge| Edge { to: InputPort::SideChain, ..edge };
        node.inputs.extend(side_chain.into_iter().map(aside));
        self.add(node)
    }

    /// Brings the events that `from` writes to `reader`, which comes behind it. The edge becomes the reader's last one.
    ///
    /// # Errors
    /// - [`GraphError::NoNode`],
    /// - [`GraphError::EventPorts`] if `from` has no event output or `reader` no event input,
    /// - [`GraphError::EventCycle`] if `reader` does not come behind `from`: such an edge could close a cycle. If it would,
    ///   the error has all nodes of the cycle.
    pub fn connect_events(&mut self, from: NodeId, reader: NodeId) -> Result<(), GraphError> {
        let node = |id: NodeId| self.nodes.get(id.index()).ok_or(GraphError::NoNode(id));
        let (source, reads, edge) = (node(from)?, node(reader)?, Edge::events(from));
        if from >= reader {
            let (source, reads) = (source.name.clone(), reads.name.clone());
            let cycle = self.closed_by(from, reader);
            return Err(GraphError::EventCycle { source, reader: reads, cycle });
        }
        ports::spans(&edge, source, reads)?;
        self.nodes[reader.index()].inputs.push(edge);
        Ok(())
    }

    /// Brings what a node puts out to one that runs before it, or to itself, one largest block later.
    ///
    /// # Errors
    /// [`GraphError::NoNode`], [`GraphError::Channels`], [`GraphError::Gain`]; [`GraphError::EventFeedback`] for an event
    /// edge: events do not feed back.
    pub fn feed_back(&mut self, edge: Edge, reader: NodeId) -> Result<(), GraphError> {
        let node = |id: NodeId| self.nodes.get(id.index()).ok_or(GraphError::NoNode(id));
        if edge.is_for_events() {
            let (source, reader) = (node(edge.from)?.name.clone(), node(reader)?.name.clone());
            return Err(GraphError::EventFeedback { source, reader });
        }
        check_gain(&edge, node(reader)?)?;
        ports::spans(&edge, node(edge.from)?, node(reader)?)?;
        self.feedback.push(Feedback { edge, reader });
        Ok(())
    }

    /// Has all feedback arrive at least so many frames later; 0, the default, is the shortest delay possible: one largest block.
    /// With the longest block that the sound is ever computed in, it sounds alike in all shorter ones. If another graph with
    /// another number follows while the engine plays, feedback begins anew.
    ///
    /// # Errors
    /// [`GraphError::FeedbackTooLate`] past [`Graph::MAX_DELAY`].
    pub fn set_feedback_frames(&mut self, frames: u32) -> Result<(), GraphError> {
        if frames > Self::MAX_DELAY {
            return Err(GraphError::FeedbackTooLate { frames });
        }
        self.feedback_frames = frames;
        Ok(())
    }

    /// See [`Graph::set_feedback_frames`].
    pub fn feedback_frames(&self) -> u32 {
        self.feedback_frames
    }

    /// The names on the cycle that an edge from `from` to `reader` closes, the reader at both ends; empty if there is none.
    fn closed_by(&self, from: NodeId, reader: NodeId) -> Vec<String> {
        let reads = |node: NodeId| self.nodes[node.index()].inputs.iter().map(|edge| edge.from);
        let path = shortest_path(self.nodes.len(), (reader, from), reads).unwrap_or_default();
        let ends = path.first().copied();
        path.iter().chain(&ends).map(|id| self.nodes[id.index()].name.clone()).collect()
    }

    /// The nodes whose buses the host reads after each block: the first for the device, and any others as taps for
    /// meters, recording or further devices.
    ///
    /// # Errors
    /// [`GraphError::NoNode`].
    pub fn set_outputs(&mut self, outputs: Vec<NodeId>) -> Result<(), GraphError> {
        match outputs.iter().find(|id| id.index() >= self.nodes.len()) {
            Some(stranger) => Err(GraphError::NoNode(*stranger)),
            None => {
                self.outputs = outputs;
                Ok(())
            }
        }
    }

    /// The feedback edges, in the order in which they were added.
    pub fn feedback(&self) -> &[Feedback] {
        &self.feedback
    }

    /// The nodes whose buses the host reads; the last node unless the graph says otherwise.
    pub fn outputs(&self) -> Vec<NodeId> {
        if self.outputs.is_empty() {
            self.output().into_iter().collect()
        } else {
            self.outputs.clone()
        }
    }

    /// The rows that an edge of this graph connects.
    pub(crate) fn spans(&self, edge: &Edge, reader: NodeId) -> Vec<Span> {
        let (source, reader) = (&self.nodes[edge.from.index()], &self.nodes[reader.index()]);
        // The edge was checked when it was added.
        ports::spans(edge, source, reader).unwrap_or_default()
    }

    /// Gives a node another latency, in frames.
    ///
    /// # Panics
    /// If there is no such node.
    pub fn set_latency(&mut self, node: NodeId, frames: u32) {
        self.nodes[node.index()].latency_frames = frames;
    }

    /// All nodes; an index is a [`NodeId`].
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// The last node.
    pub fn output(&self) -> Option<NodeId> {
        self.nodes.len().checked_sub(1).map(|last| NodeId(last as u32))
    }

    /// Number of edges.
    pub fn edge_count(&self) -> usize {
        self.nodes.iter().map(|node| node.inputs.len()).sum()
    }
}

/// Why an event edge cannot lead to `reader`, and what to do.
fn wrong_way(reader: &str, source: &str, cycle: &[String]) -> String {
    match cycle {
        [] => format!("goes back: add '{reader}' behind '{source}'"),
        _ => format!("closes a cycle: {}; remove one edge of it", cycle.join(" -> ")),
    }
}

/// Which ports an event edge lacks, and what to do.
fn missing_ports(writes: bool, reads: bool) -> &'static str {
    match (writes, reads) {
        (false, true) => "the first one has no event output; give it one (EventPorts::OUTPUT)",
        (true, _) => "the second one has no event input; give it one (EventPorts::INPUT)",
        (false, false) => "they have no event ports; give them some (EventPorts)",
    }
}

fn check_gain(edge: &Edge, reader: &Node) -> Result<(), GraphError> {
    match edge.gain_lin.is_finite() {
        true => Ok(()),
        false => Err(GraphError::Gain { node: reader.name.clone(), gain_lin: edge.gain_lin }),
    }
}
