//! Nodes and edges: what one block computes, and what each step needs.
//!
//! A node owns one stereo bus. It first sums the buses of its inputs into its own, then processes
//! in place. It sums in the order of its edges, so the bits are the same on every worker.

mod from_session;
mod routing;

pub use from_session::{EffectFacts, audible, session_graph};

use std::collections::BTreeMap;

use crate::session::StripId;

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
}

/// A graph whose last node is the output; acyclic by construction.
///
/// [`Graph::add`] only accepts inputs that exist already, so node order is a topological order.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Graph {
    nodes: Vec<Node>,
    /// How many of a node's inputs, the last ones, are its side chain; nodes without one are missing.
    side_chains: BTreeMap<NodeId, usize>,
}

/// Why a graph cannot be built.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum GraphError {
    /// The strips feed each other in a circle.
    #[error("the routing goes in a circle: {}; remove one output or send of it", .names.join(" -> "))]
    Cycle {
        /// The strips on the circle, the first one repeated at the end.
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
}

impl Graph {
    /// The largest graph; 24 bits leave room for flags beside an index.
    pub const MAX_NODES: usize = 1 << 24;

    /// Appends a node and returns its id.
    ///
    /// # Errors
    /// [`GraphError::UnknownInput`] if an input is not in the graph yet,
    /// [`GraphError::TooLarge`] past [`Graph::MAX_NODES`].
    pub fn add(&mut self, node: Node) -> Result<NodeId, GraphError> {
        let id = self.nodes.len();
        if id >= Self::MAX_NODES {
            return Err(GraphError::TooLarge(id + 1));
        }
        if let Some(edge) = node.inputs.iter().find(|edge| edge.from.index() >= id) {
            return Err(GraphError::UnknownInput { node: node.name.clone(), input: edge.from.0 });
        }
        self.nodes.push(node);
        Ok(NodeId(id as u32))
    }

    /// Appends a node with a second input that only steers, such as a compressor's key. The edges of
    /// `side_chain` are summed apart from the node's inputs, and become the last of these.
    ///
    /// # Errors
    /// As [`Graph::add`].
    pub fn add_with_side_chain(
        &mut self,
        mut node: Node,
        side_chain: Vec<Edge>,
    ) -> Result<NodeId, GraphError> {
        let count = side_chain.len();
        node.inputs.extend(side_chain);
        let id = self.add(node)?;
        if count > 0 {
            self.side_chains.insert(id, count);
        }
        Ok(id)
    }

    /// How many of the node's inputs, counted from the last, are its side chain.
    pub fn side_chain(&self, id: NodeId) -> usize {
        self.side_chains.get(&id).copied().unwrap_or(0)
    }

    /// All nodes; an index is a [`NodeId`].
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// The node whose bus goes to the device.
    pub fn output(&self) -> Option<NodeId> {
        self.nodes.len().checked_sub(1).map(|last| NodeId(last as u32))
    }

    /// Number of edges.
    pub fn edge_count(&self) -> usize {
        self.nodes.iter().map(|node| node.inputs.len()).sum()
    }
}
