//! Cheap units join the one unit that reads them.
//!
//! Handing a unit to another worker costs a few hundred nanoseconds: a cache line moves, and the
//! worker looks at a countdown. If a unit costs about as much, its reader should run it. The unit
//! keeps its bus, because the order of a sum decides its bits. But that bus never leaves the
//! worker's cache.

use std::collections::HashMap;

use super::{Chain, Source, Unit, UnitGraph, UnitId, ranked};

impl UnitGraph {
    /// Folds units into their only successor, cheapest first, as long as the successor's cost stays
    /// within `limit` (in the measure of the costs).
    ///
    /// The output stays the same, bit for bit: each chain keeps its bus, and sums keep their order. Units whose chains are
    /// coupled already stay as they are.
    ///
    /// Cost: O(n log n) in units plus edges.
    pub fn fold(self, limit: f64) -> UnitGraph {
        let UnitGraph { units, wiring } = self;
        let mut folder = Folder { gone: vec![false; units.len()], units, limit };
        // Predecessors come first, so a unit has all its own chains before it is folded itself.
        for to in 0..folder.units.len() {
            // Again where a chain that fed several of the folded ones now has one reader.
            while folder.fold_into(to) {}
        }
        UnitGraph { units: ranked(folder.remaining()), wiring }
    }
}

struct Folder {
    units: Vec<Unit>,
    gone: Vec<bool>,
    limit: f64,
}

impl Folder {
    /// Whether anything was folded.
    fn fold_into(&mut self, to: usize) -> bool {
        let id = UnitId(to as u32);
        if self.units[to].nodes.is_empty() || !self.units[to].couples.is_empty() {
            return false;
        }
        // Parts of sums stay where they are; they are made of what is folded already.
        let part = |from: &UnitId| self.units[from.index()].is_part();
        let coupled = |from: &UnitId| !self.units[from.index()].couples.is_empty();
        let sums_whole = |from: &UnitId| !self.units[from.index()].predecessors.iter().any(part);
        let whole = |from: &UnitId| !part(from) && !coupled(from) && sums_whole(from);
        let only_reader =
            |from: &UnitId| self.units[from.index()].successors == [id] && whole(from);
        let mut candidates: Vec<UnitId> =
            self.units[to].predecessors.iter().copied().filter(only_reader).collect();
        let cost = |from: &UnitId| self.units[from.index()].cost;
        candidates.sort_by(|a, b| cost(a).total_cmp(&cost(b)).then(a.cmp(b)));
        let mut total = self.units[to].cost;
        let fits = |from: &UnitId| {
            total += self.units[from.index()].cost;
            total <= self.limit
        };
        let chosen: Vec<UnitId> = candidates.into_iter().take_while(fits).collect();
        if !chosen.is_empty() {
            self.join(&chosen, id);
        }
        !chosen.is_empty()
    }

    /// Moves the chains of the units `froms` into `to` and mends the links around all of them.
    fn join(&mut self, froms: &[UnitId], to: UnitId) {
        let mut unit = std::mem::replace(&mut self.units[to.index()], Unit::nobody());
        let mut places = HashMap::with_capacity(froms.len());
        // What is folded now may feed what was folded before, so it comes first.
        let mut folded = Vec::new();
        for from in froms {
            self.gone[from.index()] = true;
            let joined = std::mem::replace(&mut self.units[from.index()], Unit::nobody());
            for before in &joined.predecessors {
                let successors = &mut self.units[before.index()].successors;
                successors.retain(|id| id != from);
                insert(successors, to);
            }
            unit.predecessors.extend(&joined.predecessors);
            unit.cost += joined.cost;
            take_chains(&mut folded, joined);
            places.insert(*from, Source::Folded(folded.len() as u32 - 1));
        }
        move_on(&mut unit, folded.len() as u32);
        folded.append(&mut unit.folded);
        unit.folded = folded;
        unit.predecessors.retain(|id| !places.contains_key(id));
        unit.predecessors.sort_unstable();
        unit.predecessors.dedup();
        for input in unit.all_inputs_mut() {
            if let Source::Unit(from) = input.from {
                input.from = places.get(&from).copied().unwrap_or(input.from);
            }
        }
        self.units[to.index()] = unit;
    }

    /// The units that are left, renumbered without gaps.
    fn remaining(self) -> Vec<Unit> {
        let mut place = Vec::with_capacity(self.gone.len());
        let mut count = 0;
        for gone in &self.gone {
            place.push(UnitId(count));
            count += u32::from(!gone);
        }
        let keep = self.units.into_iter().zip(self.gone).filter(|(_, gone)| !gone);
        keep.map(|(unit, _)| renumbered(unit, &place)).collect()
    }
}

/// Appends all chains of `joined`, its own last.
fn take_chains(folded: &mut Vec<Chain>, mut joined: Unit) {
    move_on(&mut joined, folded.len() as u32);
    let cost = joined.cost - joined.folded.iter().map(|chain| chain.cost).sum::<f64>();
    folded.append(&mut joined.folded);
    let Unit { name, nodes, inputs, rows, .. } = joined;
    folded.push(Chain { name, nodes, inputs, rows, cost });
}

/// The unit's folded chains will stand `by` places further on.
fn move_on(unit: &mut Unit, by: u32) {
    for input in unit.all_inputs_mut() {
        if let Source::Folded(index) = &mut input.from {
            *index += by;
        }
    }
}

fn renumbered(mut unit: Unit, place: &[UnitId]) -> Unit {
    for id in unit.predecessors.iter_mut().chain(&mut unit.successors) {
        *id = place[id.index()];
    }
    for input in unit.all_inputs_mut() {
        input.from = input.from.renumbered(|from| place[from.index()]);
    }
    unit
}

/// Keeps the list sorted and each id once.
fn insert(ids: &mut Vec<UnitId>, id: UnitId) {
    if let Err(at) = ids.binary_search(&id) {
        ids.insert(at, id);
    }
}
