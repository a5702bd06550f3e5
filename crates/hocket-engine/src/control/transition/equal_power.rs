//! Which edges of an edit fade with equal power: those between sounds that have nothing to do with each other.
//!
//! An edge that comes and one that goes *share a source* if some node is heard through both, in the graph before or in
//! the new one; feedback and event edges count, and all nodes of one engine input are one source. If a sound takes
//! another way, its old and its new way share a source, wherever the ways end: there the gains have to add up to 1. An edge
//! fades with equal power if it shares a source with no edge of the other side, and an edge like it comes or goes at
//! the same port. One that comes or goes alone fades as ever: its curve is bent least.
//!
//! Only the two graphs that somebody asked for decide, not what is left over of earlier ones: when a plan was made is
//! not heard.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use hocket_plan::compile::FadeCurve;
use hocket_plan::{InputPort, NodeKind};

use super::draft::{Draft, Leaves};
use crate::block::before::At;

/// The edges that fade with equal power.
#[derive(Debug, Default)]
pub(super) struct EqualPower {
    /// New nodes, and places among their edges.
    comes: HashSet<(usize, usize)>,
    goes: HashSet<At>,
}

impl EqualPower {
    /// Of an edge of a new node that is not in the graph before.
    pub(super) fn of_what_comes(&self, new: usize, index: usize) -> FadeCurve {
        curve(self.comes.contains(&(new, index)))
    }

    pub(super) fn of_what_leaves(&self, leaves: &Leaves) -> FadeCurve {
        curve(self.goes.contains(&leaves.was))
    }
}

fn curve(equal_power: bool) -> FadeCurve {
    if equal_power { FadeCurve::EqualPower } else { FadeCurve::EqualGain }
}

/// An edge on one side of the edit.
struct Moves<T> {
    id: T,
    /// The place of its source.
    from: usize,
    /// The reader's place, and the port.
    at: (usize, InputPort),
}

impl Draft<'_> {
    /// `leaves`: all edges that leave. `number`: of the new graph.
    ///
    /// Cost: O(nodes + edges) if edges come and go, and otherwise O(edges).
    pub(super) fn find_equal_power(&self, leaves: &[Leaves], number: u64) -> EqualPower {
        let (mut comes, mut goes) = (self.what_comes(), self.what_goes(leaves, number));
        if comes.is_empty() || goes.is_empty() {
            return EqualPower::default();
        }
        let sources = self.sources();
        let readers = turned_round(&sources);
        let shared = |from: Vec<usize>| reach(&readers, reach(&sources, from));
        let of_comes = shared(comes.iter().map(|edge| edge.from).collect());
        let of_goes = shared(goes.iter().map(|edge| edge.from).collect());
        let (of_comes, of_goes) = (marks(&of_comes, sources.len()), marks(&of_goes, sources.len()));
        comes.retain(|edge| !of_goes[edge.from]);
        goes.retain(|edge| !of_comes[edge.from]);
        let mut sides: HashMap<(usize, InputPort), (bool, bool)> = HashMap::new();
        comes.iter().for_each(|edge| sides.entry(edge.at).or_default().0 = true);
        goes.iter().for_each(|edge| sides.entry(edge.at).or_default().1 = true);
        let both = |at: &(usize, InputPort)| sides.get(at) == Some(&(true, true));
        EqualPower {
            comes: comes.into_iter().filter(|edge| both(&edge.at)).map(|edge| edge.id).collect(),
            goes: goes.into_iter().filter(|edge| both(&edge.at)).map(|edge| edge.id).collect(),
        }
    }

    /// Edges that are heard and not in the graph before, of nodes that are.
    fn what_comes(&self) -> Vec<Moves<(usize, usize)>> {
        let mut all = Vec::new();
        for (new, inputs) in self.new_inputs.iter().enumerate() {
            let Some(reader) = self.was[new] else { continue };
            let place = |new: usize| self.left.len() + new;
            let same = self.same_inputs(new, reader);
            let new_ones = inputs.iter().enumerate().filter(|(index, _)| same[*index].is_none());
            let heard =
                new_ones.filter(|(_, it)| it.edge.gain_lin != 0.0 && !it.edge.is_for_events());
            all.extend(heard.map(|(index, it)| Moves {
                id: (new, index),
                from: place(it.edge.from.index()),
                at: (place(new), it.edge.to),
            }));
        }
        all
    }

    /// Edges that were heard and leave with this graph.
    fn what_goes(&self, leaves: &[Leaves], number: u64) -> Vec<Moves<At>> {
        let now = leaves.iter().filter(|leaves| leaves.began.graph == Reverse(number));
        let heard = now.filter(|leaves| leaves.input.edge.gain_lin != 0.0);
        let moves = heard.map(|leaves| Moves {
            id: leaves.was,
            from: self.is[leaves.input.edge.from.index()],
            at: (leaves.reader, leaves.input.edge.to),
        });
        moves.collect()
    }

    /// By place: the places that it hears, in the new graph and in the one before. Behind them a place for each engine
    /// input, which all its nodes hear.
    fn sources(&self) -> Vec<Vec<usize>> {
        let mut sources = vec![Vec::new(); self.hears.len()];
        for node in self.old.places {
            let inputs = self.old_inputs[node.index()].iter().enumerate();
            let asked = inputs.filter(|(at, _)| !self.old.leaving.contains_key(&(*node, *at)));
            sources[self.is[node.index()]]
                .extend(asked.map(|(_, it)| self.is[it.edge.from.index()]));
        }
        let new = |place: usize| self.left.len() + place;
        for (reader, inputs) in self.new_inputs.iter().enumerate() {
            sources[new(reader)].extend(inputs.iter().map(|it| new(it.edge.from.index())));
        }
        let old = self.left.iter().map(|id| &self.old.graph.nodes()[id.index()]);
        let kinds: Vec<NodeKind> = old.chain(self.new.nodes()).map(|node| node.kind).collect();
        let mut inputs: HashMap<u16, usize> = HashMap::new();
        for (place, kind) in kinds.into_iter().enumerate() {
            let NodeKind::Input(number) = kind else { continue };
            let input = *inputs.entry(number).or_insert_with(|| {
                sources.push(Vec::new());
                sources.len() - 1
            });
            sources[place].push(input);
        }
        sources
    }
}

fn turned_round(sources: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let mut readers = vec![Vec::new(); sources.len()];
    for (reader, sources) in sources.iter().enumerate() {
        sources.iter().for_each(|source| readers[*source].push(reader));
    }
    readers
}

/// These places, and all that can be reached from them.
fn reach(ways: &[Vec<usize>], from: Vec<usize>) -> Vec<usize> {
    let mut seen = vec![false; ways.len()];
    let (mut reached, mut open) = (Vec::new(), from);
    while let Some(place) = open.pop() {
        if !std::mem::replace(&mut seen[place], true) {
            reached.push(place);
            open.extend(&ways[place]);
        }
    }
    reached
}

fn marks(places: &[usize], count: usize) -> Vec<bool> {
    let mut marks = vec![false; count];
    places.iter().for_each(|place| marks[*place] = true);
    marks
}
