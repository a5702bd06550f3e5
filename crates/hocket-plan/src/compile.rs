//! Graph -> units: what a worker runs without interruption, in the order of urgency.
//!
//! A *unit* (the process unit of the 2009 thesis) is a chain of nodes that would gain nothing from
//! being split between workers: each reads only the one before it. The chain shares one bus and is
//! processed in place. Once costs are known, [`UnitGraph::fold`] joins cheap chains with the one unit
//! that reads them: handing them to another worker would cost more than running them. Wide sums are
//! *cut* into parts ([`UnitGraph::cut_sums`]), so that they run beside what they sum. Last, equal chains are
//! *coupled* ([`UnitGraph::couple`]), so that one vector runs the effects of both.

mod ends;
mod fold;
mod lines;
mod price;
mod cut;
mod couple;

pub use cut::PartSize;
pub use lines::{DelayLine, EventLine, EventLineId, Fade, FadeCurve, Fades, LineId, Port, PortId};
pub use price::Prices;

use crate::graph::{Edge, Graph, GraphError, Node, NodeId, NodeKind, Ports, Span, arrivals};
use lines::Wiring;

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
    /// The bus of the chain with this index in another unit's [`Unit::folded`]: one that was coupled with the unit's own.
    Coupled(UnitId, u32),
    /// What came from outside before the block began.
    Port(PortId),
}

impl Source {
    /// The other unit that it reads.
    pub fn unit(self) -> Option<UnitId> {
        match self {
            Source::Unit(from) | Source::Coupled(from, _) => Some(from),
            Source::Folded(_) | Source::Port(_) => None,
        }
    }

    /// The same with another number for that unit.
    fn renumbered(self, place: impl Fn(UnitId) -> UnitId) -> Source {
        match self {
            Source::Unit(from) => Source::Unit(place(from)),
            Source::Coupled(from, chain) => Source::Coupled(place(from), chain),
            Source::Folded(_) | Source::Port(_) => self,
        }
    }
}

/// An input of a chain.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct UnitInput {
    /// The bus that is read.
    pub from: Source,
    /// Linear.
    pub gain_lin: f32,
    /// Which rows of it, and into which rows.
    pub span: Span,
    /// The line in which it waits, if it does.
    pub line: Option<LineId>,
    /// The line of an event edge. Such an input brings events and no rows.
    pub events: Option<EventLineId>,
}

impl UnitInput {
    /// The two rows of a stereo bus, without delay.
    pub fn stereo(from: Source, gain_lin: f32) -> UnitInput {
        UnitInput { from, gain_lin, span: Span::STEREO, line: None, events: None }
    }
}

/// A chain of nodes with a bus that only its own unit reads, or that was coupled with the unit's own chain.
#[derive(Debug, Clone, PartialEq)]
pub struct Chain {
    /// For messages: the strip and what happens there.
    pub name: String,
    /// The nodes, first to last.
    pub nodes: Vec<NodeId>,
    /// What the first node sums, in order.
    pub inputs: Vec<UnitInput>,
    /// Rows of its bus.
    pub rows: u16,
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
    /// Places of chains that run abreast of the next one, node by node, ascending; the unit's own chain has the place
    /// behind the folded ones. Neither of a couple reads the other.
    pub couples: Vec<u32>,
    /// The nodes of the unit's own chain, first to last; none where the unit is a part of a sum or the end of the block.
    pub nodes: Vec<NodeId>,
    /// What the first of them sums, in order.
    pub inputs: Vec<UnitInput>,
    /// Rows of its bus; 0 for the end of the block.
    pub rows: u16,
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

    /// What it is called where it is seen to run, as in traces: with all strips that run abreast in it.
    ///
    /// The chain that was coupled with its own stands before it, as in `bass: play, eq | keys: play, eq`. Couples of folded
    /// chains follow with their strips, in the order in which they run: `drums: sum (kick | snare; hat | ride)`. Those
    /// beyond about 120 characters are counted.
    pub fn title(&self) -> String {
        let chain = |place: usize| self.folded.get(place).map_or(&self.name, |chain| &chain.name);
        let (title, folded) = match self.couples.split_last() {
            Some((place, folded)) if *place as usize + 1 == self.folded.len() => {
                (format!("{} | {}", chain(*place as usize), self.name), folded)
            }
            _ => (self.name.clone(), &self.couples[..]),
        };
        let couples = folded.iter().map(|place| {
            let strips = [0, 1].map(|next| strip_of(chain(*place as usize + next)));
            strips.join(" | ")
        });
        if folded.is_empty() { title } else { format!("{title} ({})", listed(couples)) }
    }

    /// All inputs, those of folded chains first.
    pub fn all_inputs(&self) -> impl Iterator<Item = &UnitInput> + '_ {
        self.folded.iter().flat_map(|chain| &chain.inputs).chain(&self.inputs)
    }

    /// What stands where a unit was or will be.
    fn nobody() -> Unit {
        Unit {
            name: String::new(),
            folded: Vec::new(),
            couples: Vec::new(),
            nodes: Vec::new(),
            inputs: Vec::new(),
            rows: 0,
            predecessors: Vec::new(),
            successors: Vec::new(),
            cost: 0.0,
            rank: 0.0,
            latency_frames: 0,
        }
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
    /// What folding, cutting and pricing leave as it is.
    wiring: Wiring,
}

/// The least cost a unit can have, so that ranks fall strictly along every edge.
const MIN_COST: f64 = 1.0;

impl UnitGraph {
    /// Fuses and orders.
    ///
    /// Cost: O(n log n) in nodes plus edges.
    ///
    /// # Errors
    /// [`GraphError::Empty`], [`GraphError::TooLate`], [`GraphError::DelaysTooLarge`].
    pub fn compile(graph: &Graph, fusing: Fusing) -> Result<UnitGraph, GraphError> {
        graph.check_delays()?;
        UnitGraph::compile_fading(graph, fusing, &Fades::new())
    }

    /// The same, with lines for edges that fade. What fades is never fused. The caller checks the graph that stays with
    /// [`Graph::check_delays`].
    ///
    /// # Errors
    /// [`GraphError::Empty`], [`GraphError::TooLate`].
    pub fn compile_fading(
        graph: &Graph,
        fusing: Fusing,
        fades: &Fades,
    ) -> Result<UnitGraph, GraphError> {
        if graph.nodes().is_empty() {
            return Err(GraphError::Empty);
        }
        let wiring = Wiring::of(graph, fades)?;
        let chains = chains(graph, fusing, fades);
        let mut units = link(graph, &wiring, &chains);
        ends::close(graph, &mut units);
        Ok(UnitGraph { units: ranked(units), wiring })
    }

    /// Takes units without checks; [`crate::VerifiedSchedule::verify`] checks them.
    pub fn from_units(units: Vec<Unit>, node_count: usize) -> UnitGraph {
        UnitGraph { units, wiring: Wiring::stereo(node_count) }
    }

    /// The same nodes in other units, without checks; [`crate::VerifiedSchedule::verify`] checks them.
    pub fn with_units(&self, units: Vec<Unit>) -> UnitGraph {
        UnitGraph { units, wiring: self.wiring.clone() }
    }

    /// Most urgent first; an index is a [`UnitId`].
    pub fn units(&self) -> &[Unit] {
        &self.units
    }

    /// Whether both come from graphs with the same nodes, ports, lines, inputs and outputs.
    ///
    /// Cost: O(nodes + lines).
    pub fn is_wired_like(&self, other: &UnitGraph) -> bool {
        self.wiring == other.wiring
    }

    /// Number of nodes in the graph that this came from.
    pub fn node_count(&self) -> usize {
        self.wiring.node_ports.len()
    }

    /// The ports of each node.
    pub fn node_ports(&self) -> &[Ports] {
        &self.wiring.node_ports
    }

    /// The lines in which inputs wait; an index is a [`LineId`].
    pub fn lines(&self) -> &[DelayLine] {
        &self.wiring.lines
    }

    /// The lines of event edges; an index is an [`EventLineId`].
    pub fn event_lines(&self) -> &[EventLine] {
        &self.wiring.event_lines
    }

    /// Nodes that send on the events of an engine input, and its number.
    pub fn event_inputs(&self) -> &[(NodeId, u16)] {
        &self.wiring.event_inputs
    }

    /// What comes from outside; an index is a [`PortId`].
    pub fn ports(&self) -> &[Port] {
        &self.wiring.ports
    }

    /// The nodes whose buses the host reads.
    pub fn outputs(&self) -> &[NodeId] {
        &self.wiring.outputs
    }

    /// By how many frames what a node puts out lags behind the sources.
    pub fn arrival_frames(&self, node: NodeId) -> u32 {
        self.wiring.arrivals.get(node.index()).copied().unwrap_or(0)
    }

    /// By how many frames what a node hears lags behind the sources.
    pub fn heard_frames(&self, node: NodeId) -> u32 {
        self.wiring.heard.get(node.index()).copied().unwrap_or(0)
    }

    /// The unit whose own bus holds what `node` puts out.
    pub fn unit_of(&self, node: NodeId) -> Option<UnitId> {
        let index = self.units.iter().position(|unit| unit.nodes.last() == Some(&node));
        index.map(|index| UnitId(index as u32))
    }

    /// The unit with which the block ends: when it has run, all have.
    pub fn last(&self) -> UnitId {
        let node = NodeId(self.node_count().saturating_sub(1) as u32);
        let end = self.units.iter().position(Unit::is_end);
        let index = end.or_else(|| self.units.iter().position(|unit| unit.nodes.contains(&node)));
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
fn chains(graph: &Graph, fusing: Fusing, fades: &Fades) -> Vec<Vec<NodeId>> {
    let readers = readers(graph);
    let mut unit_of: Vec<usize> = Vec::with_capacity(graph.nodes().len());
    let mut chains: Vec<Vec<NodeId>> = Vec::new();
    for (i, node) in graph.nodes().iter().enumerate() {
        let before = match node.inputs.as_slice() {
            [edge] if fusing == Fusing::Chains && !fades.contains_key(&(NodeId(i as u32), 0)) => {
                Some(edge)
            }
            _ => None,
        };
        let joins = |edge: &&Edge| readers.outputs[edge.from.index()] == 1 && !readers.fed_back[i];
        let goes_on = |edge: &&Edge| goes_on(edge, graph.nodes(), node);
        let unit = match before.filter(goes_on).filter(joins) {
            Some(edge) => unit_of[edge.from.index()],
            None => {
                chains.push(Vec::new());
                chains.len() - 1
            }
        };
        chains[unit].push(NodeId(i as u32));
        unit_of.push(unit);
    }
    chains
}

/// Whether a node finds on its predecessor's bus what the edge would bring.
fn goes_on(edge: &Edge, nodes: &[Node], node: &Node) -> bool {
    let source = nodes[edge.from.index()].ports;
    // A chain gets its events before its first node runs, and others find there what its last node writes.
    let inside = !source.events.output && !node.ports.events.input;
    *edge == Edge::new(edge.from, 1.0)
        && inside
        && source.main == node.ports.main
        && node.ports.side_chain == 0
}

/// Who else needs a bus to stay as it is.
struct Readers {
    /// By node: edges from it, and the host's.
    outputs: Vec<u32>,
    /// By node: whether a feedback edge arrives.
    fed_back: Vec<bool>,
}

fn readers(graph: &Graph) -> Readers {
    let count = graph.nodes().len();
    let mut readers = Readers { outputs: vec![0; count], fed_back: vec![false; count] };
    let edges = graph.nodes().iter().flat_map(|node| &node.inputs).map(|edge| edge.from);
    let sources = graph.feedback().iter().map(|feedback| feedback.edge.from);
    edges.chain(sources).chain(graph.outputs()).for_each(|id| readers.outputs[id.index()] += 1);
    graph.feedback().iter().for_each(|back| readers.fed_back[back.reader.index()] = true);
    readers
}

/// Units with inputs, predecessors and successors, in the order of `chains`.
fn link(graph: &Graph, wiring: &Wiring, chains: &[Vec<NodeId>]) -> Vec<Unit> {
    let mut unit_of = vec![UnitId(0); graph.nodes().len()];
    for (i, chain) in chains.iter().enumerate() {
        chain.iter().for_each(|node| unit_of[node.index()] = UnitId(i as u32));
    }
    let unlinked = |chain: &Vec<NodeId>| unlinked(graph, wiring, chain, &unit_of);
    let mut units: Vec<Unit> = chains.iter().map(unlinked).collect();
    for i in 0..units.len() {
        for from in units[i].predecessors.clone() {
            units[from.index()].successors.push(UnitId(i as u32));
        }
    }
    units
}

fn unlinked(graph: &Graph, wiring: &Wiring, chain: &[NodeId], unit_of: &[UnitId]) -> Unit {
    let node = |id: &NodeId| &graph.nodes()[id.index()];
    let inputs = wiring.inputs(graph, chain[0], unit_of);
    let mut predecessors: Vec<UnitId> =
        node(&chain[0]).inputs.iter().map(|edge| unit_of[edge.from.index()]).collect();
    predecessors.sort_unstable();
    predecessors.dedup();
    Unit {
        folded: Vec::new(),
        couples: Vec::new(),
        name: unit_name(chain.iter().map(|id| node(id).name.as_str())),
        nodes: chain.to_vec(),
        inputs,
        rows: chain.iter().map(|id| node(id).ports.rows()).max().unwrap_or(0),
        predecessors,
        successors: Vec::new(),
        cost: chain.iter().map(|id| node(id).cost).sum::<f64>().max(MIN_COST),
        rank: 0.0,
        latency_frames: chain.last().map_or(0, |last| wiring.arrivals[last.index()]),
    }
}

/// A list of couples in a title ends before it has more characters than this: titles stand in tables.
const LISTED_CHARS: usize = 120;

/// `kick | snare; hat | ride; 3 couples more`: one of them, and then as many as the bound allows.
fn listed(couples: impl Iterator<Item = String>) -> String {
    let (mut text, mut left_out) = (String::new(), 0);
    for couple in couples {
        let chars = text.chars().count() + "; ".len() + couple.chars().count();
        if text.is_empty() {
            text = couple;
        } else if left_out == 0 && chars <= LISTED_CHARS {
            text.push_str("; ");
            text.push_str(&couple);
        } else {
            left_out += 1;
        }
    }
    match left_out {
        0 => text,
        1 => format!("{text}; 1 couple more"),
        _ => format!("{text}; {left_out} couples more"),
    }
}

/// `vocals` of `vocals: play, eq`. From the right, as in [`unit_name`].
fn strip_of(chain: &str) -> &str {
    chain.rsplit_once(": ").map_or(chain, |(strip, _)| strip)
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
                input.from = input.from.renumbered(|from| place[from.index()]);
            }
            unit
        })
        .collect()
}
