//! Wide sums in parts, so that a sum goes on while what it sums is still being computed.
//!
//! A master that sums hundreds of buses can begin when the last of them is there, and while it sums, the other workers have
//! nothing left to do. So its inputs are cut into parts **in the order of its edges**. The first part sums the first
//! inputs into a bus of its own; each further part begins with the bus of the part before it, at a gain of 1, and adds
//! its own inputs; the unit itself does so with the last ones. Every addition is the one that the whole sum makes, in the
//! same order, so the bits are the same. A tree of partial sums is shorter, but gives other bits.
//!
//! A part is a unit without nodes. The rank of an input counts all parts that follow, so what the first part needs is
//! the most urgent.

use super::{MIN_COST, Prices, Source, Span, Unit, UnitGraph, UnitId, UnitInput, ranked, strip_of};

/// How large a part is at least; the last one takes what is left.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PartSize {
    /// Inputs, at least 1. A sum with fewer than twice as many stays whole.
    pub inputs: usize,
    /// In the measure of the costs: a cheaper part is not worth its hand-over.
    pub cost: f64,
}

/// Inputs of a part in blocks of 64 frames or fewer.
const MOST_INPUTS: u32 = 32;
/// In the longest blocks: a part also writes a bus and reads it again.
const FEWEST_INPUTS: u32 = 4;

impl PartSize {
    /// For units without measured costs. 32 buses of 64 frames take 1 to 3 µs to sum, which is several times what a
    /// hand-over takes, and short beside what hundreds of units take. In longer blocks, fewer buses take as long.
    pub fn unpriced(frames: u32) -> PartSize {
        let inputs = (MOST_INPUTS * 64 / frames.max(1)).clamp(FEWEST_INPUTS, MOST_INPUTS);
        PartSize { inputs: inputs as usize, cost: 0.0 }
    }
}

/// Operations per frame that one more input takes: a multiplication and an addition, two rows.
const INPUT_COST: f64 = 4.0;

impl Unit {
    /// Whether it is a part of another unit's sum: its only successor goes on with it.
    pub fn is_part(&self) -> bool {
        self.nodes.is_empty() && !self.is_end()
    }
}

impl UnitInput {
    /// All rows of the part before.
    pub(crate) fn onward(part: UnitId, rows: u16) -> UnitInput {
        let from = Source::Unit(part);
        UnitInput { from, gain_lin: 1.0, span: Span::whole(rows), line: None, events: None }
    }
}

impl UnitGraph {
    /// Cuts wide sums into parts. For units that are priced and folded already, if they are to be.
    ///
    /// What sounds is the same to the bit. A unit whose inputs reach different rows stays whole. `prices`: what is known of what inputs cost.
    ///
    /// Cost: O(n log n) in units plus edges.
    pub fn cut_sums(self, prices: &Prices, size: PartSize) -> UnitGraph {
        if !self.links_exist() {
            // For the rules to refuse.
            return self;
        }
        let UnitGraph { mut units, wiring } = self;
        for to in 0..units.len() {
            let (per_input, inputs) = (cost_per_input(&units[to], prices), units[to].inputs.len());
            let least = (size.cost / per_input).ceil() as usize;
            let at_once = size.inputs.max(1).max(least);
            let parts = inputs / at_once;
            if parts > 1 && may_be_cut(&units[to]) {
                cut(&mut units, to, inputs.div_ceil(parts), per_input);
            }
        }
        UnitGraph { units: ranked(units), wiring }
    }

    fn links_exist(&self) -> bool {
        let exists = |id: &UnitId| id.index() < self.units.len();
        self.units.iter().all(|unit| {
            let inputs =
                unit.all_inputs().all(|input| input.from.unit().as_ref().is_none_or(exists));
            inputs && unit.predecessors.iter().chain(&unit.successors).all(exists)
        })
    }

    /// Whether this unit sums in parts: it is one, or goes on with one.
    pub fn sums_in_parts(&self, id: UnitId) -> bool {
        let unit = &self.units[id.index()];
        let onward = |input: &UnitInput| match input.from {
            Source::Unit(from) => self.units[from.index()].is_part(),
            Source::Folded(_) | Source::Coupled(..) | Source::Port(_) => false,
        };
        unit.is_part() || unit.inputs.first().is_some_and(onward)
    }
}

/// Folded chains belong to the unit that reads them; no other unit sees their buses. A part begins with all rows of the
/// part before it, so all inputs must reach the same rows, the first ones. Events go to a node and not to a part.
fn may_be_cut(unit: &Unit) -> bool {
    let rows = |input: &UnitInput| (input.span.to, input.span.count);
    let first = unit.inputs.first().map(rows);
    let same = |input: &UnitInput| Some(rows(input)) == first && input.span.to == 0;
    let alike = unit.inputs.iter().all(|input| same(input) && input.events.is_none());
    unit.folded.is_empty() && !unit.is_part() && alike
}

fn cost_per_input(unit: &Unit, prices: &Prices) -> f64 {
    let most = unit.cost / unit.inputs.len().max(1) as f64;
    let measured = unit.nodes.first().and_then(|head| prices.input(*head));
    // Measured as a whole: a wide sum is most of what its unit does.
    let assumed = if prices.is_empty() { INPUT_COST } else { most };
    measured.unwrap_or(assumed).min(most)
}

/// Gives all inputs of unit `to` but the last ones to parts of `at_once` inputs each.
fn cut(units: &mut Vec<Unit>, to: usize, at_once: usize, per_input: f64) {
    let inputs = std::mem::take(&mut units[to].inputs);
    release(units, to);
    let parts: Vec<&[UnitInput]> = inputs.chunks(at_once).collect();
    let mut before = None;
    for (place, own) in parts[..parts.len() - 1].iter().enumerate() {
        let name = part_name(&units[to].name, place + 1, parts.len());
        let cost = (per_input * own.len() as f64).max(MIN_COST);
        units[to].cost = (units[to].cost - cost).max(MIN_COST);
        let part = Unit { name, cost, ..Unit::nobody() };
        units.push(part);
        let id = units.len() - 1;
        connect(units, id, before, own);
        before = Some(UnitId(id as u32));
    }
    connect(units, to, before, parts[parts.len() - 1]);
}

/// The unit's predecessors do not know it any more.
fn release(units: &mut [Unit], to: usize) {
    for from in std::mem::take(&mut units[to].predecessors) {
        units[from.index()].successors.retain(|id| id.index() != to);
    }
}

/// Unit `to` reads the part before it and then `own`, and all of them know it.
fn connect(units: &mut [Unit], to: usize, before: Option<UnitId>, own: &[UnitInput]) {
    let rows = own.first().map_or(0, |input| input.span.count);
    let part = before.map(|part| UnitInput::onward(part, rows));
    let inputs: Vec<UnitInput> = part.into_iter().chain(own.iter().copied()).collect();
    let unit_of = |input: &UnitInput| input.from.unit();
    let mut predecessors: Vec<UnitId> = inputs.iter().filter_map(unit_of).collect();
    predecessors.sort_unstable();
    predecessors.dedup();
    for from in &predecessors {
        let successors = &mut units[from.index()].successors;
        successors.push(UnitId(to as u32));
        successors.sort_unstable();
    }
    let latencies = predecessors.iter().map(|from| units[from.index()].latency_frames);
    let latency = latencies.max().unwrap_or(0);
    let unit = &mut units[to];
    (unit.inputs, unit.predecessors) = (inputs, predecessors);
    if unit.is_part() {
        (unit.latency_frames, unit.rows) = (latency, rows);
    }
}

/// `master: sum, fader` -> `master: sum, part 2 of 19`.
fn part_name(whole: &str, part: usize, parts: usize) -> String {
    format!("{}: sum, part {part} of {parts}", strip_of(whole))
}
