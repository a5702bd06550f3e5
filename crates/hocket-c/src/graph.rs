//! Graphs whose nodes are the host's own processors, Hocket's effects, or plain sums.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ffi::c_char;
use std::sync::Arc;

use hocket_engine::{
    Edge, Graph as PlanGraph, InputPort, Kind, Node, NodeId, NodeKind, Ports, shortest_path,
};

use crate::border::{done, quiet, text, told};
use crate::effects::{kind_named, values_of};
use crate::event_room::EventRoom;
use crate::failure::Failure;
use crate::processor::{HostProcessor, Processor};
use crate::status::{Error, Status};

/// What `hocket_graph_add_node` and `hocket_graph_add_effect` return instead of a number when they fail.
pub const HOCKET_NO_NODE: u32 = u32::MAX;

/// A graph under construction. Each node keeps its number, and the number of a removed node is not used again.
/// The output is the last added node, unless `hocket_graph_set_output` sets another one. Only one thread at a
/// time may use a graph.
pub struct Graph {
    nodes: Vec<Option<Draft>>,
    pub(crate) outputs: Outputs,
    pub(crate) feedback: Vec<Feedback>,
    pub(crate) feedback_frames: u32,
    /// Whether every edge leads from an older node to a newer one. If so, there is no cycle.
    rising: bool,
    /// The copied version, if this is a copy of a graph that an engine plays.
    copy_of: Option<u64>,
}

/// The nodes that the host reads.
#[derive(Clone)]
pub(crate) enum Outputs {
    /// The newest node. Every other one has to lead to it.
    Newest,
    /// One node. Every other one has to lead to it.
    One(u32),
    /// A list. Other nodes may lead nowhere.
    Listed(Vec<u32>),
}

/// An edge that brings what a node put out one largest block ago.
#[derive(Clone)]
pub(crate) struct Feedback {
    pub(crate) edge: Edge,
    pub(crate) to: u32,
}

/// A node under construction.
pub(crate) struct Draft {
    pub(crate) facts: Facts,
    work: Work,
}

/// What an engine keeps of a node.
#[derive(Clone)]
pub(crate) struct Facts {
    pub(crate) name: String,
    /// The edges of all ports.
    pub(crate) inputs: Vec<Edge>,
    pub(crate) ports: Ports,
    cost: f64,
    latency_frames: u32,
    /// The kind, for a built-in effect.
    pub(crate) kind: Option<&'static Kind>,
    pub(crate) sums: bool,
    /// Where a processor of the host puts the changes of parameters.
    pub(crate) events: Option<Arc<EventRoom>>,
    /// The number, for an engine input.
    pub(crate) input: Option<u16>,
}

pub(crate) enum Work {
    Sum,
    Host(HostProcessor),
    Effect(Vec<f32>),
    /// The engine already plays it.
    Kept,
}

/// Makes a graph without nodes. Returns NULL only after an error in Hocket itself.
///
/// Thread: control. Cost: allocates.
#[unsafe(no_mangle)]
pub extern "C" fn hocket_graph_new() -> *mut Graph {
    quiet(std::ptr::null_mut(), || Box::into_raw(Box::new(Graph::new())))
}

/// Frees a graph that was not used to start an engine, and its new processors. NULL does nothing.
///
/// Thread: control. Cost: frees memory.
///
/// # Safety
/// P, H, X.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_graph_free(graph: *mut Graph) {
    if !graph.is_null() {
        // SAFETY: H (made by `hocket_graph_new` or `border::made`), X.
        let graph = unsafe { Box::from_raw(graph) };
        quiet((), || drop(graph));
    }
}

/// Adds a node and returns its number, counted from 0. The node runs the host's processor, which this call
/// copies. If `processor` is NULL, the node only sums. From now on `user` belongs to the graph, and later to
/// the engine that starts from it. If the call fails (`HOCKET_NO_NODE`), `user` still belongs to the host.
/// Reports and measured costs use `name`.
///
/// Thread: control. Cost: allocates.
///
/// # Safety
/// P, H, G, C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_graph_add_node(
    graph: *mut Graph,
    name: *const c_char,
    processor: *const Processor,
    error: *mut *mut Error,
) -> u32 {
    // SAFETY: P, H, G, C.
    let added = unsafe {
        told(error, || {
            let (graph, name) = (building(graph)?.with_room()?, text(name, "name")?);
            // Last, because from here on `user` belongs to the graph.
            let work = match processor.as_ref() {
                None => Work::Sum,
                Some(processor) => Work::Host(HostProcessor::new(processor)?),
            };
            Ok(graph.add(name, None, work))
        })
    };
    added.unwrap_or(HOCKET_NO_NODE)
}

/// Adds one of Hocket's effects (docs/effects.md) and returns its number. `values` has one value per parameter
/// in the order of the documentation. NULL means the defaults. A value out of range becomes the nearest value
/// in range.
///
/// Thread: control. Cost: allocates. The start of the engine builds the effect.
///
/// # Safety
/// P (`values` has `count` values), H, G.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_graph_add_effect(
    graph: *mut Graph,
    name: *const c_char,
    kind: *const c_char,
    values: *const f32,
    count: usize,
    error: *mut *mut Error,
) -> u32 {
    // SAFETY: P, H, G.
    let added = unsafe {
        told(error, || {
            let (graph, name) = (building(graph)?.with_room()?, text(name, "name")?);
            let kind = kind_named(text(kind, "kind")?)?;
            let values = values_of(kind, values, count)?;
            Ok(graph.add(name, Some(kind), Work::Effect(values)))
        })
    };
    added.unwrap_or(HOCKET_NO_NODE)
}

/// Makes node `to` read node `from` with a linear gain (1.0: unchanged), from main port to main port. Both have equally
/// many channels, or `from` has one. `hocket_graph_connect` makes every other edge. A node sums its inputs in the order in
/// which their edges were added, so every worker computes the same bits. The call refuses an edge that would
/// close a cycle.
///
/// Thread: control. Cost: allocates. If `from` is newer than `to`, it searches for a cycle.
///
/// # Safety
/// P, H, G.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_graph_add_edge(
    graph: *mut Graph,
    from: u32,
    to: u32,
    gain_lin: f32,
    error: *mut *mut Error,
) -> Status {
    // SAFETY: P, H, G.
    unsafe { done(error, || building(graph)?.connect(Edge::new(NodeId(from), gain_lin), to)) }
}

/// Makes node `to` read node `from` on its side chain: a second input that only controls, such as a
/// compressor's key. A node sums the edges of its side chain separately. Unless `hocket_graph_set_ports` says
/// otherwise, a side chain has two channels. Otherwise like `hocket_graph_add_edge`.
///
/// Thread: control. Cost: as `hocket_graph_add_edge`.
///
/// # Safety
/// P, H, G.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_graph_add_side_chain(
    graph: *mut Graph,
    from: u32,
    to: u32,
    gain_lin: f32,
    error: *mut *mut Error,
) -> Status {
    // SAFETY: P, H, G.
    unsafe {
        done(error, || {
            let edge = Edge::new(NodeId(from), gain_lin);
            building(graph)?.connect(Edge { to: InputPort::SideChain, ..edge }, to)
        })
    }
}

/// Removes every edge from node `from` to node `to`, including those of the side chain and feedback.
///
/// Thread: control. Cost: O(inputs of the node).
///
/// # Safety
/// P, H, G.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_graph_remove_edge(
    graph: *mut Graph,
    from: u32,
    to: u32,
    error: *mut *mut Error,
) -> Status {
    // SAFETY: P, H, G.
    unsafe { done(error, || building(graph)?.disconnect(from, to)) }
}

/// Removes a node and all its edges. If it is one of several outputs, the start or exchange of the graph fails until
/// `hocket_graph_set_outputs` has set others. A new processor is freed at once. If an engine plays the processor, it is
/// freed after the graph has been exchanged.
///
/// Thread: control. Cost: O(edges).
///
/// # Safety
/// P, H, G.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_graph_remove_node(
    graph: *mut Graph,
    node: u32,
    error: *mut *mut Error,
) -> Status {
    // SAFETY: P, H, G.
    unsafe { done(error, || building(graph)?.remove(node)) }
}

/// Sets the output node. Every node has to lead to it. `hocket_graph_set_outputs` sets several.
///
/// Thread: control. Cost: none.
///
/// # Safety
/// P, H, G.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_graph_set_output(
    graph: *mut Graph,
    node: u32,
    error: *mut *mut Error,
) -> Status {
    // SAFETY: P, H, G.
    unsafe {
        done(error, || {
            let graph = building(graph)?;
            graph.draft(node)?;
            graph.outputs = Outputs::One(node);
            Ok(())
        })
    }
}

/// # Safety
/// P, H, G. The lifetime is that of the call.
pub(crate) unsafe fn building<'a>(graph: *mut Graph) -> Result<&'a mut Graph, Failure> {
    // SAFETY: the caller's obligation.
    unsafe { graph.as_mut() }.ok_or_else(|| Failure::null("graph"))
}

/// A graph in the order of computation, ready for an engine.
pub(crate) struct LaidOut {
    pub(crate) graph: PlanGraph,
    /// For each node of `graph`, the host's number and what does the node's work.
    pub(crate) nodes: Vec<(u32, Source)>,
    pub(crate) played: Played,
}

/// What does a node's work.
pub(crate) enum Source {
    Sum,
    New(Box<dyn hocket_engine::Processor>),
    Kept,
}

/// A graph that an engine plays. The next edit copies it.
#[derive(Clone)]
pub(crate) struct Played {
    nodes: Vec<Option<Facts>>,
    outputs: Outputs,
    feedback: Vec<Feedback>,
    feedback_frames: u32,
    rising: bool,
    /// For each of the host's numbers, the node's id in the engine's graph.
    ids: Vec<Option<NodeId>>,
}

impl Played {
    /// The id of the node with the host's number `node`.
    pub(crate) fn id(&self, node: u32) -> Option<NodeId> {
        self.ids.get(node as usize).copied().flatten()
    }

    /// The host's number of a node of the engine.
    pub(crate) fn number(&self, id: NodeId) -> Option<u32> {
        (0..).zip(&self.ids).find(|(_, own)| **own == Some(id)).map(|(number, _)| number)
    }

    /// The built-in effect of a node.
    pub(crate) fn kind(&self, node: u32) -> Option<&'static Kind> {
        self.nodes.get(node as usize)?.as_ref()?.kind
    }

    /// Whether there is such a node.
    pub(crate) fn has(&self, node: u32) -> bool {
        self.nodes.get(node as usize).is_some_and(Option::is_some)
    }

    /// Makes room for the changes of parameters of a node with so many lanes.
    pub(crate) fn make_room(&self, node: u32, lanes: usize, frames: usize) {
        let facts = self.nodes.get(node as usize).and_then(Option::as_ref);
        if let Some(room) = facts.and_then(|facts| facts.events.as_ref()) {
            room.grow(lanes, frames);
        }
    }

    /// A copy that can be changed.
    pub(crate) fn copy(&self, version: u64) -> Graph {
        // A node that only sums is kept too: the delay lines of its edges go on.
        let draft = |facts: &Facts| Draft { facts: facts.clone(), work: Work::Kept };
        Graph {
            nodes: self.nodes.iter().map(|facts| facts.as_ref().map(draft)).collect(),
            outputs: self.outputs.clone(),
            feedback: self.feedback.clone(),
            feedback_frames: self.feedback_frames,
            rising: self.rising,
            copy_of: Some(version),
        }
    }
}

impl Graph {
    fn new() -> Graph {
        let (outputs, feedback) = (Outputs::Newest, Vec::new());
        Graph {
            nodes: Vec::new(),
            outputs,
            feedback,
            feedback_frames: 0,
            rising: true,
            copy_of: None,
        }
    }

    /// The version of the engine's graph that this is a copy of. `None`: it is not a copy.
    pub(crate) fn copy_of(&self) -> Option<u64> {
        self.copy_of
    }

    pub(crate) fn with_room(&mut self) -> Result<&mut Graph, Failure> {
        let full = || Failure::bad_input("the graph has as many nodes as a graph can have");
        (self.nodes.len() < PlanGraph::MAX_NODES).then_some(self).ok_or_else(full)
    }

    pub(crate) fn add(&mut self, name: &str, kind: Option<&'static Kind>, work: Work) -> u32 {
        let events = match &work {
            Work::Host(host) => Some(Arc::clone(host.event_room())),
            Work::Sum | Work::Effect(_) | Work::Kept => None,
        };
        let facts = Facts {
            name: name.to_owned(),
            inputs: Vec::new(),
            ports: Ports::STEREO,
            cost: 2.0,
            latency_frames: 0,
            kind,
            sums: matches!(work, Work::Sum),
            events,
            input: None,
        };
        self.nodes.push(Some(Draft { facts, work }));
        self.nodes.len() as u32 - 1
    }

    pub(crate) fn draft(&mut self, node: u32) -> Result<&mut Draft, Failure> {
        let count = self.nodes.len();
        let draft = self.nodes.get_mut(node as usize).and_then(Option::as_mut);
        draft.ok_or_else(|| no_node(node, count))
    }

    pub(crate) fn no_node(&self, node: u32) -> Failure {
        no_node(node, self.nodes.len())
    }

    /// Adds an edge from `edge.from` to `to`.
    pub(crate) fn connect(&mut self, edge: Edge, to: u32) -> Result<(), Failure> {
        let from = edge.from.0;
        self.check_edge(&edge, to)?;
        let rising = self.rising && from < to;
        if let Some(path) = (!rising).then(|| self.path(to, from)).flatten() {
            return Err(self.cycle(&path, edge.is_for_events()));
        }
        self.rising = rising;
        self.draft(to)?.facts.inputs.push(edge);
        Ok(())
    }

    pub(crate) fn name(&self, node: u32) -> &str {
        self.nodes[node as usize].as_ref().map_or("", |draft| &draft.facts.name)
    }

    /// The nodes from `from` to `to` along the signal, with both ends, if there is a way.
    fn path(&self, from: u32, to: u32) -> Option<Vec<NodeId>> {
        let reads = |node: NodeId| {
            let draft = self.nodes[node.index()].iter();
            draft.flat_map(|draft| &draft.facts.inputs).map(|edge| edge.from)
        };
        shortest_path(self.nodes.len(), (NodeId(from), NodeId(to)), reads)
    }

    /// The refusal of an edge from the last node of `path` to its first one.
    fn cycle(&self, path: &[NodeId], is_for_events: bool) -> Failure {
        let names: Vec<&str> = path.iter().map(|node| self.name(node.0)).collect();
        let (to, from) = (names[0], names[names.len() - 1]);
        let remedy = match is_for_events {
            true => "remove an edge that leads back",
            false => "close it with hocket_graph_feed_back",
        };
        let path = names.join(" -> ");
        Failure::bad_input(format!(
            "node '{to}' cannot read node '{from}': it would be a cycle: {path} -> {to}; {remedy}"
        ))
    }

    fn disconnect(&mut self, from: u32, to: u32) -> Result<(), Failure> {
        let edges = |graph: &mut Graph| -> Result<usize, Failure> {
            Ok(graph.draft(to)?.facts.inputs.len() + graph.feedback.len())
        };
        let before = edges(self)?;
        self.draft(to)?.facts.inputs.retain(|edge| edge.from.0 != from);
        self.feedback.retain(|back| (back.edge.from.0, back.to) != (from, to));
        match before == edges(self)? {
            false => Ok(()),
            true => Err(Failure::bad_input(format!("node {to} does not read node {from}"))),
        }
    }

    fn remove(&mut self, node: u32) -> Result<(), Failure> {
        self.draft(node)?;
        self.nodes[node as usize] = None;
        for draft in self.nodes.iter_mut().flatten() {
            draft.facts.inputs.retain(|edge| edge.from.0 != node);
        }
        self.feedback.retain(|back| back.edge.from.0 != node && back.to != node);
        if matches!(self.outputs, Outputs::One(output) if output == node) {
            self.outputs = Outputs::Newest;
        }
        Ok(())
    }

    /// The facts of a node that is there.
    pub(crate) fn facts(&self, node: u32) -> Option<&Facts> {
        Some(&self.nodes.get(node as usize)?.as_ref()?.facts)
    }

    /// The numbers of the nodes.
    pub(crate) fn numbers(&self) -> impl Iterator<Item = u32> {
        (0..self.nodes.len() as u32).filter(|node| self.facts(*node).is_some())
    }

    /// Puts the nodes into the order of computation, and builds the effects for a sample rate. New processors
    /// move into the result.
    pub(crate) fn laid_out(mut self, rate_hz: u32) -> Result<LaidOut, Failure> {
        let outputs = self.checked_outputs()?;
        let order = self.order();
        let mut nodes = Vec::new();
        for number in &order {
            let Some(draft) = &mut self.nodes[*number as usize] else { continue };
            nodes.push((*number, draft.build(rate_hz)));
        }
        let (mut graph, ids) = self.planned(&order)?;
        let id = |number: u32| ids[number as usize].unwrap_or(NodeId(number));
        graph.set_outputs(outputs.into_iter().map(id).collect()).map_err(Failure::bad_input)?;
        let Graph { nodes: drafts, outputs, feedback, feedback_frames, rising, .. } = self;
        let kept = drafts.into_iter().map(|draft| draft.map(|draft| draft.facts)).collect();
        let played = Played { nodes: kept, outputs, feedback, feedback_frames, rising, ids };
        Ok(LaidOut { graph, nodes, played })
    }

    /// The engine's graph with its nodes in this order, and the id of each by the host's number. Outputs are not set.
    pub(crate) fn planned(
        &self,
        order: &[u32],
    ) -> Result<(PlanGraph, Vec<Option<NodeId>>), Failure> {
        let (ports, mut ids) = (self.all_ports(), vec![None; self.nodes.len()]);
        let mut graph = PlanGraph::default();
        for number in order {
            let Some(facts) = self.facts(*number) else { continue };
            let node = Node {
                name: facts.name.clone(),
                kind: facts.input.map_or(NodeKind::Custom(*number), NodeKind::Input),
                inputs: facts.inputs.iter().map(|edge| with_id(edge, &ids)).collect(),
                cost: facts.cost,
                latency_frames: facts.latency_frames,
                ports: ports[*number as usize],
            };
            ids[*number as usize] = Some(graph.add(node).map_err(Failure::bad_input)?);
        }
        let id = |number: u32| ids[number as usize].unwrap_or(NodeId(number));
        for Feedback { edge, to } in &self.feedback {
            graph.feed_back(with_id(edge, &ids), id(*to)).map_err(Failure::bad_input)?;
        }
        graph.set_feedback_frames(self.feedback_frames).map_err(Failure::bad_input)?;
        Ok((graph, ids))
    }

    /// The numbers of the nodes that the host reads. The newest node becomes the output for good.
    fn checked_outputs(&mut self) -> Result<Vec<u32>, Failure> {
        let newest = self.numbers().last();
        let newest = newest.ok_or_else(|| Failure::bad_input("the graph is empty"))?;
        if matches!(self.outputs, Outputs::Newest) {
            self.outputs = Outputs::One(newest);
        }
        let one = match &self.outputs {
            Outputs::Listed(nodes) => {
                let missing = nodes.iter().position(|node| self.facts(*node).is_none());
                let text = |output| {
                    format!("output {output} has been removed: set the outputs of the graph again")
                };
                return missing.map_or(Ok(nodes.clone()), |at| Err(Failure::bad_input(text(at))));
            }
            Outputs::One(node) => *node,
            Outputs::Newest => newest,
        };
        match self.stray(one) {
            None => Ok(vec![one]),
            Some(stray) => Err(Failure::bad_input(format!(
                "node '{}' does not lead to the output '{}': connect it, or list the outputs with \
                 hocket_graph_set_outputs",
                self.name(stray),
                self.name(one)
            ))),
        }
    }

    /// A node that does not lead to the output, with feedback or without.
    fn stray(&self, output: u32) -> Option<u32> {
        let mut sources = vec![Vec::new(); self.nodes.len()];
        for node in self.numbers() {
            let edges = self.facts(node).into_iter().flat_map(|facts| &facts.inputs);
            sources[node as usize].extend(edges.map(|edge| edge.from.0));
        }
        for back in &self.feedback {
            sources[back.to as usize].push(back.edge.from.0);
        }
        let (mut seen, mut open) = (vec![false; self.nodes.len()], vec![output]);
        while let Some(node) = open.pop() {
            if !std::mem::replace(&mut seen[node as usize], true) {
                open.extend(&sources[node as usize]);
            }
        }
        self.numbers().find(|node| !seen[*node as usize])
    }

    /// The numbers of the nodes. Each comes after all nodes that it reads, older ones first.
    pub(crate) fn order(&self) -> Vec<u32> {
        let mut readers = vec![Vec::new(); self.nodes.len()];
        let mut waiting = vec![0usize; self.nodes.len()];
        let mut ready = BinaryHeap::new();
        for (node, draft) in self.nodes.iter().enumerate() {
            let Some(draft) = draft else { continue };
            draft.facts.inputs.iter().for_each(|edge| readers[edge.from.index()].push(node));
            waiting[node] = draft.facts.inputs.len();
            if waiting[node] == 0 {
                ready.push(Reverse(node));
            }
        }
        let mut order = Vec::new();
        while let Some(Reverse(node)) = ready.pop() {
            order.push(node as u32);
            for reader in &readers[node] {
                waiting[*reader] -= 1;
                if waiting[*reader] == 0 {
                    ready.push(Reverse(*reader));
                }
            }
        }
        order
    }
}

fn no_node(node: u32, count: usize) -> Failure {
    Failure::bad_input(format!(
        "there is no node {node}: the graph has counted {count}, from 0, and some may have been removed"
    ))
}

/// An edge of the host's numbers as one of the engine's ids.
fn with_id(edge: &Edge, ids: &[Option<NodeId>]) -> Edge {
    Edge { from: ids[edge.from.index()].unwrap_or(edge.from), ..*edge }
}

impl Draft {
    /// Completes the facts with cost and latency, and builds what does the work. That moves into the result.
    fn build(&mut self, rate_hz: u32) -> Source {
        let Draft { facts, work } = self;
        let source = match (std::mem::replace(work, Work::Kept), facts.kind) {
            (Work::Kept, _) => Source::Kept,
            (Work::Host(host), _) => {
                facts.cost = host.cost();
                Source::New(Box::new(host))
            }
            (Work::Effect(values), Some(kind)) => {
                facts.cost = (kind.flops_per_frame)(&values, rate_hz);
                Source::New((kind.build)(&values, rate_hz))
            }
            (Work::Sum | Work::Effect(_), _) => Source::Sum,
        };
        if let Source::New(processor) = &source {
            facts.latency_frames = processor.latency_frames();
        }
        source
    }
}
