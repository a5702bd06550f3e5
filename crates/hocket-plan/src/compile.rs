//! Graph -> units: what a worker runs without interruption, in the order of urgency.
//!
//! A *unit* (the process unit of the 2009 thesis) is a chain of nodes that would gain nothing from
//! being split between workers: each reads only the one before it. The chain shares one bus and is
//! processed in place. Once costs are known, [`UnitGraph::fold`] joins cheap chains with the one unit
//! that reads them: handing them to another worker would cost more than running them.

mod fold;
mod price;

pub use price::Prices;

use std::collections::BTreeMap;

use crate::graph::{Edge, Graph, GraphError, NodeId};

/// Index of a unit in its [`UnitGraph`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct UnitId(pub u32);

impl UnitId {
    /// As an index.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Whether chains become one unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Fusing {
    /// A node joins its predecessor's unit if it is the only reader and reads nothing else.
    Chains,
    /// Every node is a unit.
    None,
}

/// Whose bus an input reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Source {
    /// Another unit's.
    Unit(UnitId),
    /// The bus of the chain with this index in the same unit's [`Unit::folded`].
    Folded(u32),
}

/// An input of a chain.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct UnitInput {
    /// The bus that is read.
    pub from: Source,
    /// Linear.
    pub gain_lin: f32,
}

/// A chain of nodes with a bus that only its own unit reads.
#[derive(Debug, Clone, PartialEq)]
pub struct Chain {
    /// For messages: the strip and what happens there.
    pub name: String,
    /// The nodes, first to last.
    pub nodes: Vec<NodeId>,
    /// What the first node sums, in order.
    pub inputs: Vec<UnitInput>,
    /// Expected cost, in the graph's measure.
    pub cost: f64,
}

/// A chain of nodes with one bus that others read, and before it the chains folded into it.
#[derive(Debug, Clone, PartialEq)]
pub struct Unit {
    /// For traces: the strip and what happens there.
    pub name: String,
    /// Chains that run before the unit's own, in this order.
    pub folded: Vec<Chain>,
    /// The nodes of the unit's own chain, first to last.
    pub nodes: Vec<NodeId>,
    /// What the first of them sums, in order.
    pub inputs: Vec<UnitInput>,
    /// Units that must have finished before; each once, ascending.
    pub predecessors: Vec<UnitId>,
    /// Units that wait for this one; each once, ascending.
    pub successors: Vec<UnitId>,
    /// Expected cost with all folded chains, in the graph's measure.
    pub cost: f64,
    /// Cost of the longest path from the start of this unit to the end of the block.
    pub rank: f64,
    /// Latency in frames from the sources to the end of this unit, on the longest path.
    pub latency_frames: u32,
}

impl Unit {
    /// All nodes, in the order in which they run.
    pub fn all_nodes(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.folded.iter().flat_map(|chain| &chain.nodes).chain(&self.nodes).copied()
    }

    /// All inputs, those of folded chains first.
    pub fn all_inputs(&self) -> impl Iterator<Item = &UnitInput> + '_ {
        self.folded.iter().flat_map(|chain| &chain.inputs).chain(&self.inputs)
    }

    fn all_inputs_mut(&mut self) -> impl Iterator<Item = &mut UnitInput> + '_ {
        self.folded.iter_mut().flat_map(|chain| &mut chain.inputs).chain(&mut self.inputs)
    }
}

/// The units of a graph, most urgent first.
///
/// The order is by falling [`Unit::rank`]. A predecessor's rank is larger than its successor's, so
/// the order is also a topological one, and walking it front to back is the serial schedule.
#[derive(Debug, Clone, PartialEq)]
pub struct UnitGraph {
    units: Vec<Unit>,
    node_count: usize,
    /// By the node that has it, always the first of its chain: how many of the chain's last inputs are
    /// the side chain.
    side_chains: BTreeMap<NodeId, usize>,
}

/// The least cost a unit can have, so that ranks fall strictly along every edge.
const MIN_COST: f64 = 1.0;

impl UnitGraph {
    /// Fuses and orders.
    ///
    /// Cost: O(n log n) in nodes plus edges.
    ///
    /// # Errors
    /// [`GraphError::Empty`].
    pub fn compile(graph: &Graph, fusing: Fusing) -> Result<UnitGraph, GraphError> {
        if graph.nodes().is_empty() {
            return Err(GraphError::Empty);
        }
        let chains = chains(graph, fusing);
        let units = link(graph, &chains);
        let ids = (0..graph.nodes().len()).map(|i| NodeId(i as u32));
        let side_chains = ids.map(|id| (id, graph.side_chain(id))).filter(|(_, count)| *count > 0);
        Ok(UnitGraph {
            units: ranked(units),
            node_count: graph.nodes().len(),
            side_chains: side_chains.collect(),
        })
    }

    /// Takes units without checks; [`crate::VerifiedSchedule::verify`] checks them.
    pub fn from_units(units: Vec<Unit>, node_count: usize) -> UnitGraph {
        UnitGraph { units, node_count, side_chains: BTreeMap::new() }
    }

    /// How many of the last inputs of the chain that begins with `head` are its side chain: they are
    /// summed apart, and only `head` sees them.
    pub fn side_chain(&self, head: NodeId) -> usize {
        self.side_chains.get(&head).copied().unwrap_or(0)
    }

    /// Most urgent first; an index is a [`UnitId`].
    pub fn units(&self) -> &[Unit] {
        &self.units
    }

    /// Number of nodes in the graph that this came from.
    pub fn node_count(&self) -> usize {
        self.node_count
    }

    /// The unit whose bus goes to the device: the one with the graph's last node.
    pub fn output(&self) -> UnitId {
        let last = NodeId(self.node_count.saturating_sub(1) as u32);
        let index = self.units.iter().position(|unit| unit.nodes.contains(&last));
        UnitId(index.unwrap_or(self.units.len().saturating_sub(1)) as u32)
    }

    /// Expected cost of the whole block on one worker.
    pub fn total_cost(&self) -> f64 {
        self.units.iter().map(|unit| unit.cost).sum()
    }

    /// Expected cost of the longest path: no number of workers is faster.
    pub fn critical_path_cost(&self) -> f64 {
        self.units.iter().map(|unit| unit.rank).fold(0.0, f64::max)
    }

    /// The units of the longest path, first to last.
    pub fn critical_path(&self) -> Vec<UnitId> {
        let urgent = |a: &UnitId, b: &UnitId| {
            let (a, b) = (&self.units[a.index()], &self.units[b.index()]);
            a.rank.total_cmp(&b.rank)
        };
        let mut path: Vec<UnitId> = self.units.first().map(|_| UnitId(0)).into_iter().collect();
        while let Some(next) = path
            .last()
            .and_then(|last| self.units[last.index()].successors.iter().copied().max_by(urgent))
        {
            path.push(next);
        }
        path
    }

    /// Level of each unit: 0 without predecessors, else one more than the highest of theirs.
    pub fn levels(&self) -> Vec<usize> {
        let mut levels = vec![0; self.units.len()];
        for (i, unit) in self.units.iter().enumerate() {
            levels[i] = unit.predecessors.iter().map(|p| levels[p.index()] + 1).max().unwrap_or(0);
        }
        levels
    }
}

/// The nodes of each unit, in node order of their heads.
fn chains(graph: &Graph, fusing: Fusing) -> Vec<Vec<NodeId>> {
    let mut readers = vec![0u32; graph.nodes().len()];
    for edge in graph.nodes().iter().flat_map(|node| &node.inputs) {
        readers[edge.from.index()] += 1;
    }
    let mut unit_of: Vec<usize> = Vec::with_capacity(graph.nodes().len());
    let mut chains: Vec<Vec<NodeId>> = Vec::new();
    for (i, node) in graph.nodes().iter().enumerate() {
        let unit = match node.inputs.as_slice() {
            [Edge { from, gain_lin }]
                if fusing == Fusing::Chains
                    && *gain_lin == 1.0
                    && readers[from.index()] == 1
                    && graph.side_chain(NodeId(i as u32)) == 0 =>
            {
                unit_of[from.index()]
            }
            _ => {
                chains.push(Vec::new());
                chains.len() - 1
            }
        };
        chains[unit].push(NodeId(i as u32));
        unit_of.push(unit);
    }
    chains
}

/// Units with inputs, predecessors and successors, in the order of `chains`.
fn link(graph: &Graph, chains: &[Vec<NodeId>]) -> Vec<Unit> {
    let mut unit_of = vec![UnitId(0); graph.nodes().len()];
    for (i, chain) in chains.iter().enumerate() {
        chain.iter().for_each(|node| unit_of[node.index()] = UnitId(i as u32));
    }
    let mut units: Vec<Unit> =
        chains.iter().map(|chain| unlinked(graph, chain, &unit_of)).collect();
    for i in 0..units.len() {
        for from in units[i].predecessors.clone() {
            units[from.index()].successors.push(UnitId(i as u32));
        }
    }
    let mut latency = vec![0u32; units.len()];
    for i in topological(&units) {
        let before = units[i].predecessors.iter().map(|p| latency[p.index()]).max().unwrap_or(0);
        let own = units[i].nodes.iter().map(|n| graph.nodes()[n.index()].latency_frames);
        latency[i] = own.fold(before, u32::saturating_add);
        units[i].latency_frames = latency[i];
    }
    units
}

fn unlinked(graph: &Graph, chain: &[NodeId], unit_of: &[UnitId]) -> Unit {
    let node = |id: &NodeId| &graph.nodes()[id.index()];
    let inputs: Vec<UnitInput> = node(&chain[0])
        .inputs
        .iter()
        .map(|edge| (unit_of[edge.from.index()], edge.gain_lin))
        .map(|(from, gain_lin)| UnitInput { from: Source::Unit(from), gain_lin })
        .collect();
    let mut predecessors: Vec<UnitId> =
        node(&chain[0]).inputs.iter().map(|edge| unit_of[edge.from.index()]).collect();
    predecessors.sort_unstable();
    predecessors.dedup();
    Unit {
        folded: Vec::new(),
        name: unit_name(chain.iter().map(|id| node(id).name.as_str())),
        nodes: chain.to_vec(),
        inputs,
        predecessors,
        successors: Vec::new(),
        cost: chain.iter().map(|id| node(id).cost).sum::<f64>().max(MIN_COST),
        rank: 0.0,
        latency_frames: 0,
    }
}

/// `vocals: play`, `vocals: eq`, `vocals: fader` -> `vocals: play, eq, fader`.
fn unit_name<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let mut out = String::new();
    let mut strip = "";
    for name in names {
        // From the right: the name of a strip may contain a colon, the name of a step does not.
        match name.rsplit_once(": ") {
            Some((prefix, rest)) if prefix == strip && !out.is_empty() => {
                out.push_str(", ");
                out.push_str(rest);
            }
            _ => {
                if !out.is_empty() {
                    out.push_str(", ");
                }
                out.push_str(name);
                strip = name.rsplit_once(": ").map_or("", |(prefix, _)| prefix);
            }
        }
    }
    out
}

/// Kahn's order over units that are linked but not sorted yet.
fn topological(units: &[Unit]) -> Vec<usize> {
    let mut waiting: Vec<usize> = units.iter().map(|unit| unit.predecessors.len()).collect();
    let mut order: Vec<usize> = (0..units.len()).filter(|i| waiting[*i] == 0).collect();
    let mut next = 0;
    while next < order.len() {
        for to in &units[order[next]].successors {
            waiting[to.index()] -= 1;
            if waiting[to.index()] == 0 {
                order.push(to.index());
            }
        }
        next += 1;
    }
    order
}

/// Units that are linked, with ranks, in the order of these.
fn ranked(mut units: Vec<Unit>) -> Vec<Unit> {
    rank(&mut units);
    sorted_by_urgency(units)
}

/// The upward rank of list scheduling: own cost plus the largest rank behind it.
fn rank(units: &mut [Unit]) {
    for i in topological(units).into_iter().rev() {
        let behind = units[i].successors.iter().map(|s| units[s.index()].rank).fold(0.0, f64::max);
        units[i].rank = units[i].cost + behind;
    }
}

/// Renumbers by falling rank; equal ranks keep their order.
fn sorted_by_urgency(units: Vec<Unit>) -> Vec<Unit> {
    let mut order: Vec<usize> = (0..units.len()).collect();
    order.sort_by(|a, b| units[*b].rank.total_cmp(&units[*a].rank));
    let mut place = vec![UnitId(0); units.len()];
    order.iter().enumerate().for_each(|(new, old)| place[*old] = UnitId(new as u32));
    let renumber = |ids: &mut Vec<UnitId>| {
        ids.iter_mut().for_each(|id| *id = place[id.index()]);
        ids.sort_unstable();
    };
    let mut sorted: Vec<Option<Unit>> = units.into_iter().map(Some).collect();
    order
        .iter()
        .filter_map(|old| sorted[*old].take())
        .map(|mut unit| {
            renumber(&mut unit.predecessors);
            renumber(&mut unit.successors);
            for input in unit.all_inputs_mut() {
                if let Source::Unit(from) = &mut input.from {
                    *from = place[from.index()];
                }
            }
            unit
        })
        .collect()
}
