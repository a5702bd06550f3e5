//! Equal chains in couples, so that one vector runs the effects of both.
//!
//! Two strips with the same effects need the same instructions in the same order, each with its own numbers. A worker that
//! runs both chains *abreast*, node by node, can run two equal effects as one (`hocket-dsp/src/abreast.rs`). So chains of one
//! unit are marked ([`Unit::couples`]). Before that, units that wait for the same others become one: the chain of the first
//! stands before the own chain of the second, and keeps its bus.
//!
//! This is the last pass: prices, folding and parts of sums see single chains, as if there were no couples. A couple is only
//! a way to run two chains. Sums keep their order, so bits stay the same.

use std::collections::{HashMap, HashSet};

use super::{Chain, NodeId, Port, Source, Unit, UnitGraph, UnitId, ranked};

/// Units that are left for each of several workers, at least. With fewer, one worker soon waits for another.
const UNITS_PER_WORKER: usize = 3;

impl UnitGraph {
    /// Couples chains of the same structure. For units that are priced, folded and cut already, if they are to be.
    ///
    /// `key`: what two effects have in common that can run as one; `None` for a node that runs by itself. Chains have the
    /// same structure if they have the same keys at the same places, at least one of them.
    ///
    /// What sounds is the same to the bit. With several workers, units stay single
    ///
    /// - if fewer than three per worker would be left;
    /// - if a couple would lie on a path that is longer than the longest one before and than each worker's share of the block.
    ///
    /// Cost: O(n log n) in units plus edges.
    pub fn couple(self, key: &dyn Fn(NodeId) -> Option<u16>, workers: usize) -> UnitGraph {
        let coupling = Coupling::new(&self, key);
        let couples = coupling.couples_of_units(workers);
        let folded: Vec<Vec<u32>> = self.units.iter().map(|unit| coupling.in_unit(unit)).collect();
        let longest = self.longest_allowed(workers);
        let UnitGraph { mut units, wiring } = self;
        units.iter_mut().zip(folded).for_each(|(unit, couples)| unit.couples = couples);
        if couples.is_empty() {
            return UnitGraph { units, wiring };
        }
        let joined = UnitGraph { units: ranked(joined(&units, &couples)), wiring };
        // Couples may lie behind each other on one path.
        match joined.critical_path_cost() <= longest {
            true => joined,
            false => UnitGraph { units, ..joined },
        }
    }

    /// How long a path through couples may be.
    fn longest_allowed(&self, workers: usize) -> f64 {
        match workers {
            0 | 1 => f64::INFINITY,
            _ => self.critical_path_cost().max(self.total_cost() / workers as f64),
        }
    }
}

/// What is asked while couples are sought.
struct Coupling<'a> {
    graph: &'a UnitGraph,
    key: &'a dyn Fn(NodeId) -> Option<u16>,
    /// Nodes that are heard outside of the block: each has to be the last one of a unit's own chain.
    heard: HashSet<NodeId>,
}

impl<'a> Coupling<'a> {
    fn new(graph: &'a UnitGraph, key: &'a dyn Fn(NodeId) -> Option<u16>) -> Coupling<'a> {
        let fed_back = graph.ports().iter().filter_map(|port| match port {
            Port::Feedback { from, .. } => Some(from),
            Port::Input { .. } => None,
        });
        Coupling { graph, key, heard: fed_back.chain(graph.outputs()).copied().collect() }
    }

    /// Units that are to become one. Those of a couple wait for the same others, so none of them waits for the other one.
    fn couples_of_units(&self, workers: usize) -> Vec<(UnitId, UnitId)> {
        let count = self.graph.units.iter().filter(|unit| !unit.nodes.is_empty()).count();
        let most = match workers {
            0 | 1 => count,
            _ => count.saturating_sub(UNITS_PER_WORKER * workers),
        };
        let longest = self.graph.longest_allowed(workers);
        let (mut single, mut couples) = (HashMap::new(), Vec::new());
        // In the order of urgency, so that both of a couple are about as urgent.
        for (id, unit) in (0..).map(UnitId).zip(&self.graph.units) {
            let Some(shape) = self.shape_of_unit(unit) else { continue };
            let alike = (shape, &unit.predecessors);
            let Some(first) = single.remove(&alike) else {
                single.insert(alike, id);
                continue;
            };
            let before: &Unit = &self.graph.units[first.index()];
            let length = (before.rank + unit.cost).max(unit.rank + before.cost);
            if couples.len() < most && length <= longest {
                couples.push((first, id));
            }
        }
        couples
    }

    /// The structure of a unit that may become a part of a couple.
    fn shape_of_unit(&self, unit: &Unit) -> Option<Vec<Option<u16>>> {
        let is_heard = |node: &NodeId| self.heard.contains(node);
        let is_free = unit.folded.is_empty() && !unit.nodes.last().is_some_and(is_heard);
        is_free.then(|| self.shape(&unit.nodes, unit.rows)).flatten()
    }

    /// The keys of a chain's nodes, if it has any, is stereo and neither gets nor sends events.
    fn shape(&self, nodes: &[NodeId], rows: u16) -> Option<Vec<Option<u16>>> {
        let ports = |node: &NodeId| self.graph.node_ports()[node.index()];
        let is_plain = |node: &NodeId| {
            let ports = ports(node);
            ports.is_stereo() && !ports.events.input && !ports.events.output
        };
        let keys: Vec<Option<u16>> = nodes.iter().map(|node| (self.key)(*node)).collect();
        let fits = rows == 2 && nodes.iter().all(is_plain) && keys.iter().any(Option::is_some);
        fits.then_some(keys)
    }

    /// Neighbours among the chains of a unit that are alike, of which neither reads the other.
    fn in_unit(&self, unit: &Unit) -> Vec<u32> {
        let folded =
            unit.folded.iter().map(|chain| (self.shape(&chain.nodes, chain.rows), &chain.inputs));
        let own = (self.shape(&unit.nodes, unit.rows), &unit.inputs);
        let chains: Vec<_> = folded.chain([own]).collect();
        let mut couples = Vec::new();
        let mut place = 0;
        while let [(one, _), (other, inputs), ..] = &chains[place..] {
            let reads = inputs.iter().any(|input| input.from == Source::Folded(place as u32));
            if one.is_some() && one == other && !reads {
                couples.push(place as u32);
                place += 1;
            }
            place += 1;
        }
        couples
    }
}

/// The units with the second of each couple in the place of the first one.
fn joined(units: &[Unit], couples: &[(UnitId, UnitId)]) -> Vec<Unit> {
    // By unit: the one that it is joined to.
    let mut into: Vec<Option<UnitId>> = vec![None; units.len()];
    couples.iter().for_each(|(first, second)| into[first.index()] = Some(*second));
    let mut place = vec![UnitId(0); units.len()];
    let left = (0..units.len()).filter(|unit| into[*unit].is_none());
    left.clone().zip(0..).for_each(|(unit, id)| place[unit] = UnitId(id));
    for (first, second) in couples {
        place[first.index()] = place[second.index()];
    }
    let mut first_of: Vec<Option<&Unit>> = vec![None; units.len()];
    couples
        .iter()
        .for_each(|(first, second)| first_of[second.index()] = Some(&units[first.index()]));
    let source = |from: Source| match from {
        Source::Unit(unit) if into[unit.index()].is_some() => {
            Source::Coupled(place[unit.index()], 0)
        }
        other => other.renumbered(|unit| place[unit.index()]),
    };
    let unit = |at: usize| {
        let mut unit = units[at].clone();
        if let Some(first) = first_of[at] {
            couple(&mut unit, first);
        }
        for links in [&mut unit.predecessors, &mut unit.successors] {
            links.iter_mut().for_each(|id| *id = place[id.index()]);
            links.sort_unstable();
            links.dedup();
        }
        unit.all_inputs_mut().for_each(|input| input.from = source(input.from));
        unit
    };
    left.map(unit).collect()
}

/// `unit` runs the chain of `first`, too.
fn couple(unit: &mut Unit, first: &Unit) {
    let Unit { name, nodes, inputs, rows, cost, .. } = first.clone();
    unit.folded = vec![Chain { name, nodes, inputs, rows, cost }];
    unit.couples = vec![0];
    unit.cost += cost;
    unit.successors.extend(&first.successors);
    unit.latency_frames = unit.latency_frames.max(first.latency_frames);
}
