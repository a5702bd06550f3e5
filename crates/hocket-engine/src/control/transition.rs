//! From one graph to the next without a click: edges that come, go or change their gain fade.
//!
//! Between the old graph and the new one the engine plays a *transition*: the new graph, and of the old one what is
//! still needed while edges fade out: these edges, the nodes that were removed behind them, and what those hear. Its
//! nodes are those of both graphs, with their processors and delay lines, so nothing is computed twice. When all has
//! faded, the plain new graph takes its place, and nobody hears that.
//!
//! Only edges to a node that stays fade. Linear gains: what comes and what goes are mostly the same sound by two
//! ways, and then their sum stays as loud as it was.
//!
//! # Why a replay sounds the same
//!
//! What is heard depends on the edits and on the blocks at which they take effect. It does not depend on when a control
//! thread made a plan. Plans differ only in what is no longer heard: edges that have faded out and the nodes behind
//! them. They go with the first plan that is made after that. Until then, they change nothing:
//!
//! 1. **What leaves, comes or stays** follows from two graphs: the new one and the one before it. An edge that leaves
//!    already is in neither. If it comes back, it is a new edge. It fades in beside the old one, which fades out, so
//!    the sum goes on from the gain that the old one has. Whether the old one is still there makes no difference.
//! 2. **Which edges would close a circle** is decided newest first, by the edit with which each began to leave
//!    ([`Began`]). Edges that stay come before all of them. An edge is taken if it closes no circle with those taken
//!    before it. So it decides only about edges that began to leave earlier.
//! 3. **The older edge is silent first**: each fade out takes [`FADE_FRAMES`](crate::block::fade::FADE_FRAMES) from the
//!    block of its edit. So an edge that is silent decides only about silent ones (by 2). The same holds for an edge
//!    into a removed node, if all ways on from there are silent: until one of these ways is taken, nothing that is
//!    heard can run in a circle through that node.
//! 4. **A silent edge adds nothing**: sums leave it out, and it delays no other edge (`arrivals` in `hocket-plan`). The
//!    order of a sum is the new graph's, then newest first; leaving edges out does not change the order of the others.
//! 5. **A delay line that has nothing left to do** computes what an edge without a line does, and a line that is made
//!    anew begins as the one that was there would go on (`block/delay.rs`).
//! 6. **Ports** (feedback, engine inputs) may live longer than what is heard of them. So what is new to a port hears
//!    nothing of what the port held before: an edge from feedback is silent for one largest block, and an engine input
//!    that the graph before did not have begins with an empty port.
//!
//! Changes of gains and delays are applied in the order of the edits, each at its block, even where several plans take
//! effect before the same block (`Leader::exchange`).

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap, HashSet};

use hocket_plan::compile::{Fade, Fades};
use hocket_plan::{ChannelMap, Edge, Graph, GraphError, InputPort, Node, NodeId, NodeKind};

use crate::block::plan::{At, Edges, PortsOf};

/// A graph between two others.
pub(super) struct Transition {
    pub graph: Graph,
    /// Where the nodes of the new graph are.
    pub places: Vec<NodeId>,
    /// By node: what it was in the old graph.
    pub origins: Vec<Option<NodeId>>,
    pub fades: Fades,
    /// Edges that are edges of the old graph.
    pub edges: Edges,
    /// Edges that are only there until they have faded out.
    pub leaving: Leaving,
    /// Ports of the old graph that do not go on.
    pub ends: PortsOf,
    /// Edges that end at once, because the old and the new ways make a circle.
    pub refused: usize,
}

/// Edges that fade out, and when each began.
pub(super) type Leaving = HashMap<At, Began>;

/// When an edge began to leave; the newest comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Began {
    /// Number of the graph that lacks it.
    graph: Reverse<u64>,
    /// Which of the edges that left with that graph.
    place: usize,
}

/// The old graph, and what its edges do.
pub(super) struct Old<'a> {
    pub graph: &'a Graph,
    /// Where the nodes of the graph are that somebody asked for; all others are only left over.
    pub places: &'a [NodeId],
    /// Edges whose lines still have something to do.
    pub fading: HashSet<At>,
    /// Edges that wait.
    pub late: HashSet<At>,
    pub leaving: &'a Leaving,
}

impl Old<'_> {
    /// Whether an edge has a line that has to go on.
    fn has_line(&self, at: At) -> bool {
        self.fading.contains(&at) || self.late.contains(&at)
    }

    /// Whether an edge has faded out.
    fn is_over(&self, at: At) -> bool {
        self.leaving.contains_key(&at) && !self.fading.contains(&at)
    }
}

/// An edge of a reader.
#[derive(Debug, Clone, Copy)]
struct Input {
    edge: Edge,
    feeds_back: bool,
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
struct Key {
    /// Its source there.
    from: NodeId,
    to: InputPort,
    map: ChannelMap,
    feeds_back: bool,
    /// The number of edges alike before it.
    alike: usize,
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

/// What `new` needs of `old` while edges fade. `was`: the old node that a new one is. `number`: of the new graph, larger
/// than those before.
///
/// Thread: control; allocates. Cost: O(nodes + edges) with a logarithm; if there is a circle, that for each edge that
/// leaves.
///
/// # Errors
/// [`GraphError`]: `new` is not possible.
pub(super) fn transition(
    old: &Old<'_>,
    new: &Graph,
    was: &dyn Fn(NodeId) -> Option<NodeId>,
    number: u64,
) -> Result<Transition, GraphError> {
    let mut draft = Draft::new(old, new, was);
    let leaves = draft.find_what_leaves(number);
    let refused = draft.take(leaves);
    let heard = draft.find_what_is_heard();
    draft.leaves.retain(|leaves| heard[leaves.reader]);
    // What was taken makes no circle.
    let order = draft.order(&heard).unwrap_or_default();
    Ok(Transition { refused, ..draft.build(&order)? })
}

/// An edge that fades out. Its source is an old node.
#[derive(Debug, Clone, Copy)]
struct Leaves {
    /// The reader's place.
    reader: usize,
    was: At,
    input: Input,
    began: Began,
}

/// A transition before its nodes have ids. A node has a *place*: those that are only left over come first, then the new
/// ones.
struct Draft<'a> {
    old: &'a Old<'a>,
    new: &'a Graph,
    /// By node of each graph.
    old_inputs: Vec<Vec<Input>>,
    new_inputs: Vec<Vec<Input>>,
    /// By new node: the old one.
    was: Vec<Option<NodeId>>,
    /// Old nodes that the new graph lacks.
    left: Vec<NodeId>,
    /// By old node: its place.
    is: Vec<usize>,
    /// By place: the places that it hears in the same block.
    hears: Vec<Vec<usize>>,
    /// By place: the places that feed back to it.
    fed_by: Vec<Vec<usize>>,
    /// Edges that fade out, newest first.
    leaves: Vec<Leaves>,
}

impl<'a> Draft<'a> {
    /// All nodes, with the edges that stay.
    fn new(
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
        all.into_iter().for_each(|(reader, from, feeds_back)| self.connect(reader, from, feeds_back));
    }

    fn connect(&mut self, reader: usize, from: usize, feeds_back: bool) {
        let sources = if feeds_back { &mut self.fed_by } else { &mut self.hears };
        sources[reader].push(from);
    }

    /// The edges of a node that is left over, with their places in the old graph, but for those that leave.
    fn left_inputs(&self, node: NodeId) -> impl Iterator<Item = (usize, Input)> {
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
    fn find_what_leaves(&self, number: u64) -> Vec<Leaves> {
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
    fn keys_before(&self, reader: NodeId) -> Vec<Option<Key>> {
        let stays = |place| !self.old.leaving.contains_key(&(reader, place));
        keys(&self.old_inputs[reader.index()], |place, from| stays(place).then_some(from))
    }

    /// The keys that a new node's edges would have in the old graph.
    fn keys_now(&self, new: usize) -> Vec<Option<Key>> {
        keys(&self.new_inputs[new], |_, from| self.was[from.index()])
    }

    /// By edge of a new node: the place of the same edge of the old one.
    fn same_inputs(&self, new: usize, reader: NodeId) -> Vec<Option<At>> {
        let known = self.keys_before(reader).into_iter().enumerate();
        let known: HashMap<Key, usize> =
            known.filter_map(|(place, key)| Some((key?, place))).collect();
        let at = |key: &Option<Key>| Some((reader, *known.get(key.as_ref()?)?));
        self.keys_now(new).iter().map(at).collect()
    }

    /// Takes edges that close no circle with those taken before. Returns how many are refused.
    fn take(&mut self, leaves: Vec<Leaves>) -> usize {
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
    fn find_what_is_heard(&self) -> Vec<bool> {
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
    fn order(&self, heard: &[bool]) -> Option<Vec<usize>> {
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

    fn build(&self, order: &[usize]) -> Result<Transition, GraphError> {
        let mut ids = vec![NodeId(0); self.hears.len()];
        (0..).zip(order).for_each(|(id, place)| ids[*place] = NodeId(id));
        let mut leaves: Vec<Vec<&Leaves>> = vec![Vec::new(); self.hears.len()];
        self.leaves.iter().for_each(|it| leaves[it.reader].push(it));
        let mut built = Built::default();
        let mut origins = Vec::with_capacity(order.len());
        for place in order {
            let (node, origin, mut edges) = match place.checked_sub(self.left.len()) {
                None => {
                    let old = self.left[*place];
                    let node = &self.old.graph.nodes()[old.index()];
                    (node, Some(old), self.edges_of_left(old))
                }
                Some(new) => (&self.new.nodes()[new], self.was[new], self.edges_of_new(new)),
            };
            edges.extend(leaves[*place].iter().map(|leaves| self.leaving_edge(leaves)));
            edges.iter_mut().for_each(|it| it.edge.from = ids[it.edge.from.index()]);
            built.add(node.clone(), edges)?;
            origins.push(origin);
        }
        let new_id = |id: NodeId| ids[self.left.len() + id.index()];
        let outputs = self.new.outputs().into_iter().map(new_id).collect();
        let Built { graph, fades, edges, leaving, .. } = built.finish(outputs)?;
        let places = ids_of(self.was.len()).map(new_id).collect();
        let (ends, refused) = (self.inputs_that_begin(), 0);
        Ok(Transition { graph, places, origins, fades, edges, leaving, ends, refused })
    }

    /// The edges of a node that is only left over, but for those that leave. They go on with what they do.
    fn edges_of_left(&self, node: NodeId) -> Vec<Drafted> {
        let drafted = |(place, Input { edge, feeds_back })| {
            let (was, gain_before) = ((node, place), edge.gain_lin);
            let fade = Fade { gain_before, leaves: false };
            let fade = self.old.has_line(was).then_some(fade);
            let edge = Edge { from: NodeId(self.is[edge.from.index()] as u32), ..edge };
            Drafted { edge, feeds_back, was: Some(was), fade, began: None }
        };
        self.left_inputs(node).map(drafted).collect()
    }

    /// The edges of a new node. Those that are new, have another gain, still fade, or waited get a line.
    fn edges_of_new(&self, new: usize) -> Vec<Drafted> {
        let inputs = &self.new_inputs[new];
        let same = self.was[new].map(|reader| self.same_inputs(new, reader));
        let drafted = |(index, Input { edge, feeds_back }): (usize, &Input)| {
            let was = same.as_ref().and_then(|same| same[index]);
            let before = |at: At| self.old_inputs[at.0.index()][at.1].edge.gain_lin;
            // All edges of a new node are new. What feeds back to it may come from a port that is not.
            let begins = same.is_some() || *feeds_back;
            let gain_before =
                was.map(before).unwrap_or(if begins { 0.0 } else { edge.gain_lin });
            let fades = gain_before != edge.gain_lin || was.is_some_and(|at| self.old.has_line(at));
            let fade = fades.then_some(Fade { gain_before, leaves: false });
            let place = self.left.len() + edge.from.index();
            let edge = Edge { from: NodeId(place as u32), ..*edge };
            Drafted { edge, feeds_back: *feeds_back, was, fade, began: None }
        };
        inputs.iter().enumerate().map(drafted).collect()
    }

    fn leaving_edge(&self, leaves: &Leaves) -> Drafted {
        let Leaves { was, input: Input { edge, feeds_back }, began, .. } = *leaves;
        let fade = Some(Fade { gain_before: edge.gain_lin, leaves: true });
        let from = NodeId(self.is[edge.from.index()] as u32);
        let edge = Edge { from, gain_lin: 0.0, ..edge };
        Drafted { edge, feeds_back, was: Some(was), fade, began: Some(began) }
    }
}

/// An edge of a transition.
struct Drafted {
    /// Its source is a place, as long as there are no ids.
    edge: Edge,
    feeds_back: bool,
    /// The same edge of the old graph.
    was: Option<At>,
    fade: Option<Fade>,
    began: Option<Began>,
}

/// A transition, as far as it is built.
#[derive(Default)]
struct Built {
    graph: Graph,
    fades: Fades,
    edges: Edges,
    leaving: Leaving,
    feedback: Vec<(Edge, NodeId)>,
}

impl Built {
    fn add(&mut self, mut node: Node, edges: Vec<Drafted>) -> Result<(), GraphError> {
        let id = NodeId(self.graph.nodes().len() as u32);
        let (back, forward): (Vec<_>, Vec<_>) = edges.into_iter().partition(|it| it.feeds_back);
        node.inputs = forward.iter().map(|it| it.edge).collect();
        self.feedback.extend(back.iter().map(|it| (it.edge, id)));
        for (place, it) in forward.into_iter().chain(back).enumerate() {
            let at = (id, place);
            self.edges.extend(it.was.map(|was| (at, was)));
            self.fades.extend(it.fade.map(|fade| (at, fade)));
            self.leaving.extend(it.began.map(|began| (at, began)));
        }
        self.graph.add(node).map(|_| ())
    }

    fn finish(mut self, outputs: Vec<NodeId>) -> Result<Built, GraphError> {
        self.graph.set_outputs(outputs)?;
        for (edge, reader) in std::mem::take(&mut self.feedback) {
            self.graph.feed_back(edge, reader)?;
        }
        Ok(self)
    }
}

fn ids(graph: &Graph) -> impl Iterator<Item = NodeId> + use<> {
    ids_of(graph.nodes().len())
}

fn ids_of(count: usize) -> impl Iterator<Item = NodeId> {
    (0..count).map(|id| NodeId(id as u32))
}

/// Another graph from one block to the next. Edges that stay keep their lines; where they no longer wait, until the delay
/// that they had has faded.
///
/// Thread: control; allocates.
pub(super) fn at_once(
    old: &Old<'_>,
    new: &Graph,
    was: &dyn Fn(NodeId) -> Option<NodeId>,
) -> Transition {
    let draft = Draft::new(old, new, was);
    let (mut edges, mut fades) = (Edges::new(), Fades::new());
    for (id, reader) in ids(new).zip(&draft.was) {
        let same = reader.map(|reader| draft.same_inputs(id.index(), reader));
        for (place, was) in same.into_iter().flatten().enumerate() {
            let Some(was) = was else { continue };
            edges.insert((id, place), was);
            if old.late.contains(&was) {
                let gain_before = draft.new_inputs[id.index()][place].edge.gain_lin;
                fades.insert((id, place), Fade { gain_before, leaves: false });
            }
        }
    }
    let ends = draft.ports_left();
    let places = ids(new).collect();
    let (graph, origins, leaving) = (new.clone(), draft.was, Leaving::new());
    Transition { graph, places, origins, fades, edges, leaving, ends, refused: 0 }
}

impl Draft<'_> {
    /// Engine inputs of the new graph that the graph before did not have. What is left over may still have them.
    fn inputs_that_begin(&self) -> PortsOf {
        let before: HashSet<u16> = input_numbers(self.old.graph, self.old.places).collect();
        let new: Vec<NodeId> = ids(self.new).collect();
        let inputs = input_numbers(self.new, &new).filter(|number| !before.contains(number)).collect();
        PortsOf { inputs, ..PortsOf::default() }
    }

    /// The ports of the old graph that only what is left over has.
    fn ports_left(&self) -> PortsOf {
        let (graph, places) = (self.old.graph, self.old.places);
        let all: Vec<NodeId> = ids(graph).collect();
        let mut left = PortsOf {
            inputs: input_numbers(graph, &all).collect(),
            feed_back: graph.feedback().iter().map(|back| back.edge.from).collect(),
        };
        input_numbers(graph, places).for_each(|number| _ = left.inputs.remove(&number));
        for reader in places {
            let keys = self.keys_before(*reader).into_iter().flatten();
            keys.filter(|key| key.feeds_back).for_each(|key| _ = left.feed_back.remove(&key.from));
        }
        left
    }
}

/// The engine inputs that these nodes are.
fn input_numbers(graph: &Graph, nodes: &[NodeId]) -> impl Iterator<Item = u16> {
    nodes.iter().filter_map(|id| match graph.nodes()[id.index()].kind {
        NodeKind::Input(number) => Some(number),
        _ => None,
    })
}
