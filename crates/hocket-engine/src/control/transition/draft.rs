//! What a transition needs of the graph before, and in which order it can run.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap, HashSet};

use hocket_plan::{ChannelMap, Edge, Graph, InputPort, NodeId, NodeKind};

use super::equal_power::EqualPower;
use super::{Began, Old};
use crate::block::before::At;

/// An edge of a reader.
#[derive(Debug, Clone, Copy)]
pub(super) struct Input {
    pub(super) edge: Edge,
    pub(super) feeds_back: bool,
}

/// By node: its inputs, then what feeds back to it.
fn inputs(graph: &Graph) -> Vec<Vec<Input>> {
    let forward = |edge: &Edge| Input { edge: *edge, feeds_back: false };
    let nodes = graph.nodes().iter();
    let mut all: Vec<Vec<Input>> =
        nodes.map(|node| node.inputs.iter().map(forward).collect()).collect();
    for back in graph.feedback() {
        all[back.reader.index()].push(Input { edge: back.edge, feeds_back: true });
    }
    all
}

/// What an edge of a reader is in another graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Key {
    /// Its source there.
    pub(super) from: NodeId,
    pub(super) to: InputPort,
    pub(super) map: ChannelMap,
    pub(super) feeds_back: bool,
    /// The number of edges alike before it.
    pub(super) alike: usize,
}

/// The keys of a reader's edges, with sources renamed; without a name: `None`.
fn keys(inputs: &[Input], name: impl Fn(usize, NodeId) -> Option<NodeId>) -> Vec<Option<Key>> {
    let mut counts: HashMap<Key, usize> = HashMap::new();
    let mut key = |(place, input): (usize, &Input)| {
        let Input { edge: Edge { from, to, map, .. }, feeds_back } = *input;
        let first = Key { from: name(place, from)?, to, map, feeds_back, alike: 0 };
        let count = counts.entry(first).or_default();
        *count += 1;
        Some(Key { alike: *count, ..first })
    };
    inputs.iter().enumerate().map(&mut key).collect()
}

/// An edge that fades out. Its source is an old node.
#[derive(Debug, Clone, Copy)]
pub(super) struct Leaves {
    /// The reader's place.
    pub(super) reader: usize,
    pub(super) was: At,
    pub(super) input: Input,
    pub(super) began: Began,
}

/// A transition before its nodes have ids. A node has a *place*: those that are only left over come first, then the new
/// ones.
pub(super) struct Draft<'a> {
    pub(super) old: &'a Old<'a>,
    pub(super) new: &'a Graph,
    /// By node of each graph.
    pub(super) old_inputs: Vec<Vec<Input>>,
    pub(super) new_inputs: Vec<Vec<Input>>,
    /// By new node: the old one.
    pub(super) was: Vec<Option<NodeId>>,
    /// Old nodes that the new graph lacks.
    pub(super) left: Vec<NodeId>,
    /// By old node: its place.
    pub(super) is: Vec<usize>,
    /// By place: the places that it hears in the same block.
    pub(super) hears: Vec<Vec<usize>>,
    /// By place: the places that feed back to it.
    pub(super) fed_by: Vec<Vec<usize>>,
    /// Edges that fade out, newest first.
    pub(super) leaves: Vec<Leaves>,
    pub(super) equal_power: EqualPower,
}

impl<'a> Draft<'a> {
    /// All nodes, with the edges that stay.
    pub(super) fn new(
        old: &'a Old<'a>,
        new: &'a Graph,
        was: &dyn Fn(NodeId) -> Option<NodeId>,
    ) -> Draft<'a> {
        let was: Vec<_> = ids(new).map(was).collect();
        let stays: HashSet<NodeId> = was.iter().copied().flatten().collect();
        let left: Vec<NodeId> = ids(old.graph).filter(|id| !stays.contains(id)).collect();
        let mut is = vec![0; old.graph.nodes().len()];
        left.iter().enumerate().for_each(|(place, id)| is[id.index()] = place);
        for (new, old) in was.iter().enumerate() {
            old.iter().for_each(|old| is[old.index()] = left.len() + new);
        }
        let count = left.len() + was.len();
        let mut draft = Draft {
            old,
            new,
            old_inputs: inputs(old.graph),
            new_inputs: inputs(new),
            was,
            left,
            is,
            hears: vec![Vec::new(); count],
            fed_by: vec![Vec::new(); count],
            leaves: Vec::new(),
            equal_power: EqualPower::default(),
        };
        draft.connect_what_stays();
        draft
    }

    fn connect_what_stays(&mut self) {
        let mut all: Vec<(usize, usize, bool)> = Vec::new();
        for (place, node) in self.left.iter().enumerate() {
            let stays = self.left_inputs(*node);
            all.extend(stays.map(|(_, it)| (place, self.is[it.edge.from.index()], it.feeds_back)));
        }
        for (new, inputs) in self.new_inputs.iter().enumerate() {
            let place = |new: usize| self.left.len() + new;
            let inputs = inputs.iter();
            all.extend(inputs.map(|it| (place(new), place(it.edge.from.index()), it.feeds_back)));
        }
        all.into_iter()
            .for_each(|(reader, from, feeds_back)| self.connect(reader, from, feeds_back));
    }

    fn connect(&mut self, reader: usize, from: usize, feeds_back: bool) {
        let sources = if feeds_back { &mut self.fed_by } else { &mut self.hears };
        sources[reader].push(from);
    }

    /// The edges of a node that is left over, with their places in the old graph, but for those that leave.
    pub(super) fn left_inputs(&self, node: NodeId) -> impl Iterator<Item = (usize, Input)> {
        let inputs = self.old_inputs[node.index()].iter().copied().enumerate();
        inputs.filter(move |(place, input)| {
            !self.old.leaving.contains_key(&(node, *place)) && self.fits(&input.edge)
        })
    }

    /// Whether the source of an old edge has the ports that it had.
    fn fits(&self, edge: &Edge) -> bool {
        let before = self.old.graph.nodes()[edge.from.index()].ports;
        match self.is[edge.from.index()].checked_sub(self.left.len()) {
            Some(new) => self.new.nodes()[new].ports == before,
            None => true,
        }
    }

    /// The old edges that the new graph lacks, newest first: of nodes that stay, and those that leave already.
    pub(super) fn find_what_leaves(&self, number: u64) -> Vec<Leaves> {
        let mut all = Vec::new();
        let mut place = 0;
        let mut began = |was: At| {
            place += 1;
            let now = Began { graph: Reverse(number), place };
            self.old.leaving.get(&was).copied().unwrap_or(now)
        };
        for (new, was) in self.was.iter().enumerate() {
            let Some(reader) = was.filter(|_| self.takes_what_it_took(new)) else { continue };
            let stays: HashSet<Key> = self.keys_now(new).into_iter().flatten().collect();
            let gone = |key: &Option<Key>| key.is_none_or(|key| !stays.contains(&key));
            let keys = self.keys_before(reader).into_iter().enumerate();
            for (index, _) in keys.filter(|(_, key)| gone(key)) {
                let (was, input) = ((reader, index), self.old_inputs[reader.index()][index]);
                let (reader, began) = (self.left.len() + new, began(was));
                all.push(Leaves { reader, was, input, began });
            }
        }
        for (reader, node) in self.left.iter().enumerate() {
            for (index, input) in self.old_inputs[node.index()].iter().enumerate() {
                let (was, input) = ((*node, index), *input);
                let began = self.old.leaving.get(&was);
                all.extend(began.map(|began| Leaves { reader, was, input, began: *began }));
            }
        }
        // Events do not fade: the notes of an event edge end with it.
        all.retain(|leaves| !leaves.input.edge.is_for_events());
        all.retain(|leaves| !self.old.is_over(leaves.was) && self.fits(&leaves.input.edge));
        all.sort_by_key(|leaves| leaves.began);
        all
    }

    /// Whether old edges of a new node still fit: its ports are those that it had.
    fn takes_what_it_took(&self, new: usize) -> bool {
        let now = &self.new.nodes()[new];
        let before = self.was[new].map(|id| self.old.graph.nodes()[id.index()].ports);
        before == Some(now.ports) && !matches!(now.kind, NodeKind::Input(_))
    }

    /// The keys of an old node's edges; those that leave have none.
    pub(super) fn keys_before(&self, reader: NodeId) -> Vec<Option<Key>> {
        let stays = |place| !self.old.leaving.contains_key(&(reader, place));
        keys(&self.old_inputs[reader.index()], |place, from| stays(place).then_some(from))
    }

    /// The keys that a new node's edges would have in the old graph.
    fn keys_now(&self, new: usize) -> Vec<Option<Key>> {
        keys(&self.new_inputs[new], |_, from| self.was[from.index()])
    }

    /// By edge of a new node: the place of the same edge of the old one.
    pub(super) fn same_inputs(&self, new: usize, reader: NodeId) -> Vec<Option<At>> {
        let known = self.keys_before(reader).into_iter().enumerate();
        let known: HashMap<Key, usize> =
            known.filter_map(|(place, key)| Some((key?, place))).collect();
        let at = |key: &Option<Key>| Some((reader, *known.get(key.as_ref()?)?));
        self.keys_now(new).iter().map(at).collect()
    }

    /// Takes edges that close no cycle with those taken before. Returns how many are refused.
    pub(super) fn take(&mut self, leaves: Vec<Leaves>) -> usize {
        let hears = self.hears.clone();
        leaves.iter().for_each(|leaves| self.connect_what_leaves(leaves));
        if self.order(&vec![true; self.hears.len()]).is_some() {
            self.leaves = leaves;
            return 0;
        }
        self.hears = hears;
        let count = leaves.len();
        for leaves in leaves {
            let from = self.is[leaves.input.edge.from.index()];
            if leaves.input.feeds_back {
                self.leaves.push(leaves);
            } else if !self.hears_of(from, leaves.reader) {
                self.connect_what_leaves(&leaves);
                self.leaves.push(leaves);
            }
        }
        count - self.leaves.len()
    }

    /// Edges of the graph before that end at once, because a node at one of their ends has other ports. They follow from the
    /// two graphs alone: what was leaving before is not among them, so the count does not depend on when it has gone.
    pub(super) fn misfits(&self) -> usize {
        let fades = |input: &Input| self.fits(&input.edge) || input.edge.is_for_events();
        let stays = self.was.iter().enumerate().filter_map(|(new, was)| Some((new, (*was)?)));
        let ended = stays.flat_map(|(new, reader)| {
            let takes = self.takes_what_it_took(new);
            let gone = self.gone(new, reader).into_iter();
            gone.filter(move |input| !(input.edge.is_for_events() || takes && fades(input)))
        });
        let removed = self.old.places.iter().filter(|id| self.is[id.index()] < self.left.len());
        let cut = removed.flat_map(|id| {
            let inputs = self.old_inputs[id.index()].iter().enumerate();
            inputs.filter(move |(place, input)| {
                !self.old.leaving.contains_key(&(*id, *place)) && !fades(input)
            })
        });
        ended.count() + cut.count()
    }

    /// Edges of an old node that the new one lacks, but for those that leave already.
    fn gone(&self, new: usize, reader: NodeId) -> Vec<Input> {
        let stays: HashSet<Key> = self.keys_now(new).into_iter().flatten().collect();
        let keys = self.keys_before(reader).into_iter().enumerate();
        let gone = keys.filter(|(_, key)| key.is_some_and(|key| !stays.contains(&key)));
        gone.map(|(place, _)| self.old_inputs[reader.index()][place]).collect()
    }

    /// Edges of nodes that stay which end, begin or get another gain.
    pub(super) fn changes(&self) -> usize {
        let stays = self.was.iter().enumerate().filter_map(|(new, was)| Some((new, (*was)?)));
        let changed = stays.map(|(new, reader)| {
            let fades = |input: &Input| !input.edge.is_for_events();
            let gain = |at: At| self.old_inputs[at.0.index()][at.1].edge.gain_lin;
            let same = self.same_inputs(new, reader).into_iter().zip(&self.new_inputs[new]);
            let other = same.filter(|(was, input)| {
                fades(input) && was.is_none_or(|at| gain(at) != input.edge.gain_lin)
            });
            other.count() + self.gone(new, reader).iter().filter(|input| fades(input)).count()
        });
        changed.sum()
    }

    /// Outputs that read another node than before.
    pub(super) fn other_outputs(&self) -> usize {
        let (before, now) = (self.old.graph.outputs(), self.new.outputs());
        let pairs = before.iter().zip(&now);
        pairs.filter(|(before, now)| self.was[now.index()] != Some(**before)).count()
    }

    fn connect_what_leaves(&mut self, leaves: &Leaves) {
        let Input { edge, feeds_back } = leaves.input;
        self.connect(leaves.reader, self.is[edge.from.index()], feeds_back);
    }

    /// Whether a place hears another one, over any number of edges, or is that one.
    fn hears_of(&self, place: usize, other: usize) -> bool {
        let mut seen = vec![false; self.hears.len()];
        let mut open = vec![place];
        while let Some(place) = open.pop() {
            if place == other {
                return true;
            }
            if !std::mem::replace(&mut seen[place], true) {
                open.extend(&self.hears[place]);
            }
        }
        false
    }

    /// By place: whether it is a new node, or one that a new node hears while edges fade out.
    pub(super) fn find_what_is_heard(&self) -> Vec<bool> {
        let mut heard = vec![false; self.hears.len()];
        let mut open: Vec<usize> = (self.left.len()..heard.len()).collect();
        while let Some(place) = open.pop() {
            if !std::mem::replace(&mut heard[place], true) {
                open.extend(self.hears[place].iter().chain(&self.fed_by[place]));
            }
        }
        heard
    }

    /// An order in which these places can run, if there is one.
    pub(super) fn order(&self, heard: &[bool]) -> Option<Vec<usize>> {
        let all: Vec<usize> = (0..heard.len()).filter(|place| heard[*place]).collect();
        let mut waiting: Vec<usize> = self.hears.iter().map(Vec::len).collect();
        let mut readers: Vec<Vec<usize>> = vec![Vec::new(); heard.len()];
        for place in &all {
            self.hears[*place].iter().for_each(|from| readers[*from].push(*place));
        }
        let mut ready: BTreeSet<usize> =
            all.iter().copied().filter(|place| waiting[*place] == 0).collect();
        let mut order = Vec::with_capacity(all.len());
        while let Some(place) = ready.pop_first() {
            order.push(place);
            for reader in &readers[place] {
                waiting[*reader] -= 1;
                if waiting[*reader] == 0 {
                    ready.insert(*reader);
                }
            }
        }
        (order.len() == all.len()).then_some(order)
    }
}

pub(super) fn ids(graph: &Graph) -> impl Iterator<Item = NodeId> + use<> {
    ids_of(graph.nodes().len())
}

pub(super) fn ids_of(count: usize) -> impl Iterator<Item = NodeId> {
    (0..count).map(|id| NodeId(id as u32))
}
