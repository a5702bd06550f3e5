//! What of the plan before goes on under the next one. Control threads make it.

use std::collections::{HashMap, HashSet};

use hocket_plan::compile::{DelayLine, Port};
use hocket_plan::{NodeId, UnitGraph};

use super::fade::Gains;

/// Which nodes, lines and ports of the plan before go on.
pub(crate) struct Before<'a, F: Fn(NodeId) -> Option<NodeId>> {
    pub units: &'a UnitGraph,
    /// The node before, if it stays.
    pub same: F,
    /// The edge before, if it stays.
    pub edges: &'a Edges,
    /// Ports before that do not go on.
    pub ends: &'a PortsOf,
    /// By node of the new units: how long it puts out silence because it is new, in frames.
    pub silent: &'a [u32],
    /// How edges that stay get another gain.
    pub gains: Gains,
}

/// An edge: its reader, and its place among the reader's edges: the inputs, then what feeds back.
pub(crate) type At = (NodeId, usize);

/// Edges that stay: in the new graph and in the old one.
pub(crate) type Edges = HashMap<At, At>;

/// The ports that nodes have.
#[derive(Debug, Default)]
pub(crate) struct PortsOf {
    /// Numbers of engine inputs.
    pub inputs: HashSet<u16>,
    /// Nodes that feed back.
    pub feed_back: HashSet<NodeId>,
}

impl PortsOf {
    pub(super) fn contains(&self, port: &Port) -> bool {
        match port {
            Port::Input { number, .. } => self.inputs.contains(number),
            Port::Feedback { from, .. } => self.feed_back.contains(from),
        }
    }
}

impl<F: Fn(NodeId) -> Option<NodeId>> Before<'_, F> {
    /// How long a new edge brings silence, in frames. A port may hold what it got for others; `late`: how long feedback waits.
    pub(super) fn silent_frames(&self, line: &DelayLine, late: usize) -> u64 {
        let port = if line.feeds_back { late as u64 } else { 0 };
        u64::from(self.silent[line.from.index()]) + port
    }
}
