//! What depends on live input: what nobody can know before its block. All else can be rendered ahead.

use super::{Graph, InputPort, NodeId, NodeKind};

/// Why a node or an edge depends on live input: the first thing that brings it there.
///
/// Causes of a node count in the order of its edges, and feedback edges after them, in the order in which they were
/// added. So the answer depends on the graph alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LiveCause {
    /// What the host writes for the engine input of this number.
    Input(u16),
    /// The events that the host hands over for the engine input of this number.
    InputEvents(u16),
    /// What a feedback edge brings from this node, which is live itself.
    Feedback(NodeId),
}

/// Which nodes and edges of a graph depend on live input.
///
/// A node is live if it is an engine input, or if an edge or a feedback edge brings it what a live node puts out. An edge is
/// live as its source is, whatever its gain. Clips, notes, automation and the transport are known ahead, so they make
/// nothing live. What a processor reads by itself, from a ring or a network, is not seen: such a node counts as known ahead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Liveness {
    /// By node. `None`: it depends on nothing live.
    nodes: Vec<Option<LiveCause>>,
    /// By node, by edge.
    edges: Vec<Vec<Option<LiveCause>>>,
    /// By feedback edge.
    feedback: Vec<Option<LiveCause>>,
}

impl Graph {
    /// Finds what depends on live input, in one pass over nodes and edges.
    ///
    /// Thread: control. Cost: O(nodes + edges).
    pub fn liveness(&self) -> Liveness {
        let mut search = Search::of(self);
        search.spread();
        let nodes = search.nodes;
        let edges = self.nodes().iter().map(|node| {
            let cause = |edge: &super::Edge| {
                nodes[edge.from.index()].map(|cause| self.through(cause, edge.from, edge.to))
            };
            node.inputs.iter().map(cause).collect()
        });
        let edges = edges.collect();
        let sources = self.feedback().iter().map(|back| back.edge.from);
        let feedback = sources.map(|from| nodes[from.index()].map(|_| LiveCause::Feedback(from)));
        let feedback = feedback.collect();
        Liveness { nodes, edges, feedback }
    }

    /// The cause behind an edge: what an input's event edge brings is its events.
    fn through(&self, cause: LiveCause, from: NodeId, to: InputPort) -> LiveCause {
        match (self.nodes()[from.index()].kind, to) {
            (NodeKind::Input(number), InputPort::Events) => LiveCause::InputEvents(number),
            _ => cause,
        }
    }
}

/// Nodes found so far, and those whose readers are still to be looked at.
struct Search<'a> {
    graph: &'a Graph,
    nodes: Vec<Option<LiveCause>>,
    /// By node: feedback edges from it.
    back: Vec<Vec<NodeId>>,
    /// By node: readers in the same block.
    readers: Vec<Vec<NodeId>>,
}

impl<'a> Search<'a> {
    fn of(graph: &'a Graph) -> Search<'a> {
        let count = graph.nodes().len();
        let (mut back, mut readers) = (vec![Vec::new(); count], vec![Vec::new(); count]);
        for (reader, node) in (0..).map(NodeId).zip(graph.nodes()) {
            node.inputs.iter().for_each(|edge| readers[edge.from.index()].push(reader));
        }
        graph.feedback().iter().for_each(|own| back[own.edge.from.index()].push(own.reader));
        Search { graph, nodes: vec![None; count], back, readers }
    }

    /// Each node is found once, and each edge followed once: first what is live within the block, in node order, which
    /// is a topological one. Then feedback makes further nodes live, and what reads them.
    fn spread(&mut self) {
        let mut found = Vec::new();
        for (id, node) in (0..).map(NodeId).zip(self.graph.nodes()) {
            let own = match node.kind {
                NodeKind::Input(number) => Some(LiveCause::Input(number)),
                _ => self.heard(id),
            };
            self.nodes[id.index()] = own;
            found.extend(own.map(|_| id));
        }
        let mut next = 0;
        while let Some(from) = found.get(next).copied() {
            next += 1;
            for reader in std::mem::take(&mut self.back[from.index()]) {
                self.follow(reader, LiveCause::Feedback(from), &mut found);
            }
        }
    }

    /// A node that becomes live by feedback, and all behind it in the same block.
    fn follow(&mut self, first: NodeId, cause: LiveCause, found: &mut Vec<NodeId>) {
        let mut waiting = vec![first];
        while let Some(id) = waiting.pop() {
            let own = &mut self.nodes[id.index()];
            if own.is_none() {
                *own = Some(cause);
                found.push(id);
                waiting.extend(&self.readers[id.index()]);
            }
        }
    }

    /// The cause that the first live edge of a node brings; the nodes before it are done.
    fn heard(&self, id: NodeId) -> Option<LiveCause> {
        self.graph.nodes()[id.index()].inputs.iter().find_map(|edge| {
            let cause = self.nodes[edge.from.index()]?;
            Some(self.graph.through(cause, edge.from, edge.to))
        })
    }
}

impl Liveness {
    /// Why a node depends on live input; `None` if it does not, or if the graph has no such node.
    pub fn of_node(&self, node: NodeId) -> Option<LiveCause> {
        self.nodes.get(node.index()).copied().flatten()
    }

    /// Why the edge at this place of a node's inputs brings something live; `None` if it does not.
    pub fn of_edge(&self, reader: NodeId, place: usize) -> Option<LiveCause> {
        self.edges.get(reader.index())?.get(place).copied().flatten()
    }

    /// Why the feedback edge of this index brings something live; `None` if it does not.
    pub fn of_feedback(&self, index: usize) -> Option<LiveCause> {
        self.feedback.get(index).copied().flatten()
    }

    /// How many nodes depend on live input.
    pub fn live_nodes(&self) -> usize {
        self.nodes.iter().flatten().count()
    }
}
