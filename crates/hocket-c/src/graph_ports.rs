//! Graphs with more than stereo nodes and plain edges: ports, channel ranges, engine inputs, several outputs, feedback.

use std::ffi::c_char;

use hocket_engine::{
    ChannelMap, Edge as EngineEdge, Graph as PlanGraph, InputPort, Node, NodeId, NodeKind,
    Ports as EnginePorts,
};

use crate::border::{done, seen, text, told};
use crate::failure::Failure;
use crate::graph::{Feedback, Graph, HOCKET_NO_NODE, Outputs, Work, building};
use crate::status::{Error, Status};
use crate::time::listed;

/// The channels of a node's ports. Event ports have none: see `hocket_graph_set_event_ports`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Ports {
    /// Channels that the node processes in place, 1 to 64.
    pub main: u32,
    /// Channels of the second input, 0 to 64.
    pub side_chain: u32,
    /// Channels of further outputs, 0 to 64.
    pub extra: u32,
}

/// An edge arrives at the node's main port.
pub const HOCKET_PORT_MAIN: u32 = 0;
/// An edge arrives at the node's side chain.
pub const HOCKET_PORT_SIDE_CHAIN: u32 = 1;

/// An edge brings events (`hocket_graph_connect_events`). It has no channels and no gain.
pub const HOCKET_PORT_EVENTS: u32 = 2;

/// An edge between two nodes. Zeros in the fields after `gain_lin` make what `hocket_graph_add_edge` makes.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Edge {
    /// The node that is read.
    pub from: u32,
    /// The node that reads.
    pub to: u32,
    /// Linear gain. 1.0: unchanged.
    pub gain_lin: f32,
    /// `HOCKET_PORT_MAIN`, `HOCKET_PORT_SIDE_CHAIN` or `HOCKET_PORT_EVENTS` of the node that reads.
    pub port: u32,
    /// How many channels the edge carries. 0: each main channel to the one of the same number. Both ports then have
    /// equally many channels, or `from` has one, which goes to all of them.
    pub channels: u32,
    /// The first of these channels in `from`: the main channels, then the extra ones, counted from 0.
    pub from_channel: u32,
    /// The first of these channels in the port of `to`.
    pub to_channel: u32,
}

/// Sets the channels of a node's ports. A new node is stereo. The host's own processors may have any ports. A node
/// that only sums, and an engine input, may have any number of main channels. Hocket's effects stay stereo, with a
/// side chain of up to two channels. The call refuses ports that an edge of the node does not fit.
///
/// Thread: control. Cost: allocates; O(edges).
///
/// # Safety
/// P, H, G.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_graph_set_ports(
    graph: *mut Graph,
    node: u32,
    ports: *const Ports,
    error: *mut *mut Error,
) -> Status {
    // SAFETY: P, H, G.
    unsafe { done(error, || building(graph)?.set_ports(node, seen(ports, "ports")?.read())) }
}

/// Adds an edge. Otherwise like `hocket_graph_add_edge`.
///
/// Thread: control. Cost: as `hocket_graph_add_edge`.
///
/// # Safety
/// P, H, G.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_graph_connect(
    graph: *mut Graph,
    edge: *const Edge,
    error: *mut *mut Error,
) -> Status {
    // SAFETY: P, H, G.
    unsafe {
        done(error, || {
            let edge = seen(edge, "edge")?;
            building(graph)?.connect(edge.read()?, edge.to)
        })
    }
}

/// Adds an edge that brings what `from` put out one largest block (`settings.frames`) ago, whatever the lengths of the
/// blocks; or longer ago, see `hocket_graph_set_feedback_frames`. So it may close a cycle, and a node may feed itself. Delay
/// compensation does not count it.
///
/// Thread: control. Cost: allocates.
///
/// # Safety
/// P, H, G.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_graph_feed_back(
    graph: *mut Graph,
    edge: *const Edge,
    error: *mut *mut Error,
) -> Status {
    // SAFETY: P, H, G.
    unsafe {
        done(error, || {
            let edge = seen(edge, "edge")?;
            building(graph)?.feed_back(edge.read()?, edge.to)
        })
    }
}

/// Has all feedback arrive at least so many frames later; 0, the default, is one largest block. With the longest block that
/// the sound is ever computed in, it sounds alike with all shorter ones. If a changed graph has another number, feedback
/// begins anew.
///
/// Thread: control. Errors: a graph that an engine plays; a number above 4194304.
///
/// # Safety
/// P, H, G.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_graph_set_feedback_frames(
    graph: *mut Graph,
    frames: u32,
    error: *mut *mut Error,
) -> Status {
    // SAFETY: P, H, G.
    unsafe {
        done(error, || {
            PlanGraph::default().set_feedback_frames(frames).map_err(Failure::bad_input)?;
            building(graph)?.feedback_frames = frames;
            Ok(())
        })
    }
}

/// Adds a node that plays an engine input, and returns its number (`HOCKET_NO_NODE` on failure). Before each block the
/// leader writes what it plays (`hocket_engine_write_input`). Several nodes may play one input. Only feedback may lead
/// to it.
///
/// Thread: control. Cost: allocates.
///
/// # Safety
/// P, H, G.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_graph_add_input(
    graph: *mut Graph,
    name: *const c_char,
    input: u16,
    channels: u32,
    error: *mut *mut Error,
) -> u32 {
    // SAFETY: P, H, G.
    let added = unsafe {
        told(error, || {
            let (graph, name) = (building(graph)?.with_room()?, text(name, "name")?);
            let ports = Ports { main: channels, side_chain: 0, extra: 0 }.read();
            let node = Node { ports, ..Node::new(name, NodeKind::Input(input)) };
            PlanGraph::default().add(node).map_err(Failure::bad_input)?;
            let number = graph.add(name, None, Work::Sum);
            let facts = &mut graph.draft(number)?.facts;
            (facts.ports, facts.input) = (ports, Some(input));
            Ok(number)
        })
    };
    added.unwrap_or(HOCKET_NO_NODE)
}

/// Sets the nodes that the host reads after each block, at least one. The first is what `hocket_engine_process` writes.
/// Any node may be an output, also one that others read: a tap for a meter or a recorder. The other nodes may then lead
/// anywhere; all nodes run in every block.
///
/// Thread: control. Cost: allocates.
///
/// # Safety
/// P (`nodes` has `count` numbers), H, G.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_graph_set_outputs(
    graph: *mut Graph,
    nodes: *const u32,
    count: usize,
    error: *mut *mut Error,
) -> Status {
    // SAFETY: P, H, G.
    unsafe {
        done(error, || {
            let (graph, nodes) = (building(graph)?, listed(nodes, count, "nodes")?);
            if nodes.is_empty() {
                return Err(Failure::bad_input("a graph needs at least one output"));
            }
            nodes.iter().try_for_each(|node| graph.draft(*node).map(|_| ()))?;
            graph.outputs = Outputs::Listed(nodes.to_vec());
            Ok(())
        })
    }
}

impl Ports {
    /// The ports for the engine, which refuses what is too wide.
    fn read(self) -> EnginePorts {
        let [main, side_chain, extra] = [self.main, self.side_chain, self.extra].map(channel);
        EnginePorts { main, side_chain, extra, ..EnginePorts::STEREO }
    }
}

impl Edge {
    fn read(&self) -> Result<EngineEdge, Failure> {
        let port = match self.port {
            HOCKET_PORT_MAIN => InputPort::Main,
            HOCKET_PORT_SIDE_CHAIN => InputPort::SideChain,
            HOCKET_PORT_EVENTS => return Ok(EngineEdge::events(NodeId(self.from))),
            other => {
                return Err(Failure::bad_input(format!(
                    "edge.port of {other} is not possible: choose HOCKET_PORT_MAIN, HOCKET_PORT_SIDE_CHAIN or \
                     HOCKET_PORT_EVENTS"
                )));
            }
        };
        let [from, to, count] = [self.from_channel, self.to_channel, self.channels].map(channel);
        let map = match count {
            0 if (from, to) == (0, 0) => ChannelMap::Straight,
            count => ChannelMap::Range { from, to, count },
        };
        Ok(EngineEdge { to: port, map, ..EngineEdge::new(NodeId(self.from), self.gain_lin) })
    }
}

/// No port has as many channels as the largest number, so it is refused as the larger ones are.
fn channel(number: u32) -> u16 {
    u16::try_from(number).unwrap_or(u16::MAX)
}

impl Graph {
    fn set_ports(&mut self, node: u32, ports: EnginePorts) -> Result<(), Failure> {
        let facts = &self.draft(node)?.facts;
        let stays_stereo = facts.kind.is_some() && !ports.fit_stereo();
        let has_one_port = facts.sums && (ports.side_chain > 0 || ports.extra > 0);
        if stays_stereo || has_one_port {
            return Err(Failure::bad_input(format!(
                "node '{}' cannot have ports of {} main, {} side-chain and {} extra channels: effects of Hocket \
                 are stereo, and a node that only sums has one port",
                facts.name, ports.main, ports.side_chain, ports.extra
            )));
        }
        let lone = Node { ports, ..Node::new(&facts.name, NodeKind::Custom(node)) };
        PlanGraph::default().add(lone).map_err(Failure::bad_input)?;
        let own = &mut self.draft(node)?.facts.ports;
        // Its event ports stay.
        let before = std::mem::replace(own, ports.with_events(own.events));
        let fits = self.check_edges_of(node);
        if fits.is_err() {
            self.draft(node)?.facts.ports = before;
        }
        fits
    }

    /// Whether all edges from and to a node fit its ports.
    pub(crate) fn check_edges_of(&self, node: u32) -> Result<(), Failure> {
        for reader in self.numbers() {
            let edges = self.facts(reader).into_iter().flat_map(|facts| &facts.inputs);
            for edge in edges.filter(|edge| reader == node || edge.from.0 == node) {
                self.check_edge(edge, reader)?;
            }
        }
        let back = self.feedback.iter();
        let mut own = back.filter(|back| back.to == node || back.edge.from.0 == node);
        own.try_for_each(|back| self.check_feedback(&back.edge, back.to))
    }

    fn feed_back(&mut self, edge: EngineEdge, to: u32) -> Result<(), Failure> {
        self.check_feedback(&edge, to)?;
        self.feedback.push(Feedback { edge, to });
        Ok(())
    }

    /// Whether the engine takes an edge: asks it with the two nodes alone.
    pub(crate) fn check_edge(&self, edge: &EngineEdge, to: u32) -> Result<(), Failure> {
        let (mut graph, reader, edge) = self.pair(edge, to)?;
        let node = Node { inputs: vec![edge], ..reader };
        graph.add(node).map(|_| ()).map_err(Failure::bad_input)
    }

    /// The same for feedback.
    fn check_feedback(&self, edge: &EngineEdge, to: u32) -> Result<(), Failure> {
        let (mut graph, reader, edge) = self.pair(edge, to)?;
        let reader = graph.add(reader).map_err(Failure::bad_input)?;
        graph.feed_back(edge, reader).map_err(Failure::bad_input)
    }

    /// A graph with the source of an edge, the node that reads, and the edge between them.
    fn pair(&self, edge: &EngineEdge, to: u32) -> Result<(PlanGraph, Node, EngineEdge), Failure> {
        if !edge.gain_lin.is_finite() {
            return Err(Failure::bad_input(format!("a gain of {} is not possible", edge.gain_lin)));
        }
        let lone = |number: u32, to: Option<InputPort>| {
            let facts = self.facts(number).ok_or_else(|| self.no_node(number))?;
            if facts.sums && to == Some(InputPort::SideChain) {
                let text = format!("node '{}' only sums: it has no side chain", facts.name);
                return Err(Failure::bad_input(text));
            }
            let kind = facts.input.map_or(NodeKind::Custom(number), NodeKind::Input);
            let ports = with_side_chain(facts.ports, to);
            Ok(Node { ports, ..Node::new(&facts.name, kind) })
        };
        let mut graph = PlanGraph::default();
        let source = graph.add(lone(edge.from.0, None)?).map_err(Failure::bad_input)?;
        Ok((graph, lone(to, Some(edge.to))?, EngineEdge { from: source, ..*edge }))
    }

    /// The ports of all nodes, by number. A side chain that edges lead to has two channels if nothing else is said.
    pub(crate) fn all_ports(&self) -> Vec<EnginePorts> {
        let mut all =
            vec![EnginePorts::STEREO; self.numbers().last().map_or(0, |last| last as usize + 1)];
        for node in self.numbers() {
            let Some(facts) = self.facts(node) else { continue };
            let edges = facts.inputs.iter().map(|edge| Some(edge.to));
            all[node as usize] = edges.fold(facts.ports, with_side_chain);
        }
        for Feedback { edge, to } in &self.feedback {
            all[*to as usize] = with_side_chain(all[*to as usize], Some(edge.to));
        }
        all
    }
}

/// A side chain that an edge leads to.
fn with_side_chain(ports: EnginePorts, to: Option<InputPort>) -> EnginePorts {
    match to {
        Some(InputPort::SideChain) if ports.side_chain == 0 => {
            EnginePorts { side_chain: 2, ..ports }
        }
        _ => ports,
    }
}
