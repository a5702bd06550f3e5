//! From one graph to the next without a click: edges that come, go or change their gain fade.
//!
//! Between the old graph and the new one the engine plays a *transition*: the new graph, and of the old one what is
//! still needed while edges fade out: these edges, the nodes that were removed behind them, and what those hear. Its
//! nodes are those of both graphs, with their processors and delay lines, so nothing is computed twice. When all has
//! faded, the plain new graph takes its place, and nobody hears that.
//!
//! Only edges to a node that stays fade. Linear gains: what comes and what goes are mostly the same sound by two
//! ways, and then their sum stays as loud as it was.

use std::collections::{BTreeSet, HashMap, HashSet};

use hocket_plan::compile::{Fade, Fades};
use hocket_plan::{ChannelMap, Edge, Graph, GraphError, InputPort, NodeId, NodeKind};

use crate::block::plan::Edges;

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
    /// Whether something fades out: the plain graph has to follow.
    pub leaves: bool,
    /// Edges that end at once, because the old and the new ways make a circle.
    pub refused: usize,
}

/// The old graph, and what its edges do.
pub(super) struct Old<'a> {
    pub graph: &'a Graph,
    /// Whether the edge at this place of this reader still fades.
    pub fades: &'a dyn Fn(NodeId, usize) -> bool,
    /// Whether it has a delay line.
    pub waits: &'a dyn Fn(NodeId, usize) -> bool,
    /// Whether it is only there until it has faded out.
    pub leaves: &'a dyn Fn(NodeId, usize) -> bool,
}

impl Old<'_> {
    /// What each edge of a reader is; an edge that leaves is nobody's.
    fn keys(&self, reader: NodeId) -> Vec<Option<Key>> {
        let edges = &self.graph.nodes()[reader.index()].inputs;
        let mut keys = keys(edges, Some);
        let numbered = keys.iter_mut().enumerate();
        numbered
            .filter(|(place, _)| (self.leaves)(reader, *place))
            .for_each(|(_, key)| *key = None);
        keys
    }
}

/// What an edge of a reader is in another graph: its source there, its port and channels, and the number of edges alike
/// before it.
type Key = (NodeId, InputPort, ChannelMap, usize);

/// The keys of a node's edges, with sources renamed; without a name: `None`. Edges that leave stand behind all others, so
/// they do not count among those alike.
fn keys(edges: &[Edge], name: impl Fn(NodeId) -> Option<NodeId>) -> Vec<Option<Key>> {
    let mut counts: HashMap<(NodeId, InputPort, ChannelMap), usize> = HashMap::new();
    let mut key = |edge: &Edge| {
        let from = name(edge.from)?;
        let alike = counts.entry((from, edge.to, edge.map)).or_default();
        *alike += 1;
        Some((from, edge.to, edge.map, *alike))
    };
    edges.iter().map(&mut key).collect()
}

/// What `new` needs of `old` while edges fade. `was`: the old node that a new one is.
///
/// Thread: control; allocates. Cost: O(nodes + edges) with a logarithm.
///
/// # Errors
/// [`GraphError`]: `new` is not possible.
pub(super) fn transition(
    old: &Old<'_>,
    new: &Graph,
    was: &dyn Fn(NodeId) -> Option<NodeId>,
) -> Result<Transition, GraphError> {
    let mut draft = Draft::new(old, new, was);
    let goes = draft.find_what_goes();
    goes.iter().for_each(|goes| draft.add(*goes));
    if let Some(order) = draft.order() {
        return draft.build(&order);
    }
    // Old ways and new ones make a circle: those that close it end at once. Edges that fade out already come
    // last, so that they change nothing for those that begin to.
    let mut draft = Draft::new(old, new, was);
    let mut refused = 0;
    let (later, first): (Vec<Goes>, Vec<Goes>) =
        goes.into_iter().partition(|goes| (old.leaves)(goes.was.0, goes.was.1));
    for goes in first.into_iter().chain(later) {
        let before = draft.clone();
        draft.add(goes);
        if draft.order().is_none() {
            draft = before;
            refused += 1;
        }
    }
    let order = draft.order().unwrap_or_default();
    Ok(Transition { refused, ..draft.build(&order)? })
}

/// An edge of a new node that fades out. Its source is an old node.
#[derive(Debug, Clone, Copy)]
struct Goes {
    reader: usize,
    /// Reader and place in the old graph.
    was: (NodeId, usize),
    edge: Edge,
}

/// A node of the transition, before it has an id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Place {
    /// Of the old graph, and not in the new one. By place in [`Draft::left`].
    Left(usize),
    New(usize),
}

#[derive(Clone)]
struct Draft<'a> {
    old: &'a Old<'a>,
    new: &'a Graph,
    /// By new node: the old one.
    was: Vec<Option<NodeId>>,
    /// By old node: where it is.
    is: HashMap<NodeId, Place>,
    /// Old nodes that are still needed.
    left: Vec<NodeId>,
    /// By new node: old edges that fade out. Sources are old nodes.
    going: Vec<Vec<Goes>>,
}

impl<'a> Draft<'a> {
    fn new(old: &'a Old<'a>, new: &'a Graph, was: &dyn Fn(NodeId) -> Option<NodeId>) -> Draft<'a> {
        let ids = (0..new.nodes().len()).map(|id| NodeId(id as u32));
        let was: Vec<_> = ids.map(was).collect();
        let is = was.iter().enumerate().filter_map(|(new, old)| Some(((*old)?, Place::New(new))));
        let is = is.collect();
        Draft { old, new, is, left: Vec::new(), going: vec![Vec::new(); was.len()], was }
    }

    /// The old edges of nodes that stay which the new graph lacks.
    fn find_what_goes(&self) -> Vec<Goes> {
        let mut goes = Vec::new();
        for (new, was) in self.was.iter().enumerate() {
            let Some(reader) = *was else { continue };
            let (node, now) = (&self.old.graph.nodes()[reader.index()], &self.new.nodes()[new]);
            // Where the ports change, the old edge may not fit any more.
            if node.ports != now.ports || matches!(now.kind, NodeKind::Input(_)) {
                continue;
            }
            let stays = keys(&now.inputs, |from| self.was[from.index()]);
            let stays: HashSet<Key> = stays.into_iter().flatten().collect();
            for (index, key) in self.old.keys(reader).iter().enumerate() {
                // Events do not fade: the notes of an event edge end with it.
                let stays = key.is_some_and(|key| stays.contains(&key))
                    || node.inputs[index].is_for_events();
                if !self.is_over(reader, index) && !stays && self.fits(&node.inputs[index]) {
                    goes.push(Goes { reader: new, was: (reader, index), edge: node.inputs[index] });
                }
            }
        }
        goes
    }

    /// Whether the source of an old edge has the ports that it had.
    fn fits(&self, edge: &Edge) -> bool {
        let before = self.old.graph.nodes()[edge.from.index()].ports;
        match self.is.get(&edge.from) {
            Some(Place::New(new)) => self.new.nodes()[*new].ports == before,
            _ => true,
        }
    }

    /// Whether an old edge has faded out.
    fn is_over(&self, reader: NodeId, place: usize) -> bool {
        (self.old.leaves)(reader, place) && !(self.old.fades)(reader, place)
    }

    /// Adds an edge that fades out, and the nodes behind it.
    fn add(&mut self, goes: Goes) {
        self.going[goes.reader].push(goes);
        self.keep(goes.edge.from);
    }

    /// An old node is needed, with all that it hears.
    fn keep(&mut self, node: NodeId) {
        let mut open = vec![node];
        while let Some(node) = open.pop() {
            if !self.is.contains_key(&node) {
                self.is.insert(node, Place::Left(self.left.len()));
                self.left.push(node);
                open.extend(self.left_edges(node).map(|(_, edge)| edge.from));
            }
        }
    }

    /// The edges of a node that is left over, with their places in the old graph; without those that are over.
    fn left_edges(&self, node: NodeId) -> impl Iterator<Item = (usize, Edge)> {
        let edges = self.old.graph.nodes()[node.index()].inputs.iter().copied().enumerate();
        edges.filter(move |(place, edge)| !self.is_over(node, *place) && self.fits(edge))
    }

    /// The places of all that a place hears.
    fn hears(&self, place: Place) -> Vec<Place> {
        let old = |edge: &Edge| self.is[&edge.from];
        match place {
            Place::Left(left) => {
                self.left_edges(self.left[left]).map(|(_, edge)| old(&edge)).collect()
            }
            Place::New(new) => {
                let own = self.new.nodes()[new].inputs.iter();
                let own = own.map(|edge| Place::New(edge.from.index()));
                own.chain(self.going[new].iter().map(|goes| old(&goes.edge))).collect()
            }
        }
    }

    /// An order in which all can run, if there is one.
    fn order(&self) -> Option<Vec<Place>> {
        let left = (0..self.left.len()).map(Place::Left);
        let all: Vec<Place> = left.chain((0..self.was.len()).map(Place::New)).collect();
        let mut waiting: HashMap<Place, usize> = HashMap::new();
        let mut readers: HashMap<Place, Vec<Place>> = HashMap::new();
        for place in &all {
            let hears = self.hears(*place);
            waiting.insert(*place, hears.len());
            hears.into_iter().for_each(|from| readers.entry(from).or_default().push(*place));
        }
        let mut ready: BTreeSet<Place> =
            all.iter().copied().filter(|place| waiting[place] == 0).collect();
        let mut order = Vec::with_capacity(all.len());
        while let Some(place) = ready.pop_first() {
            order.push(place);
            for reader in readers.get(&place).into_iter().flatten() {
                if let Some(count) = waiting.get_mut(reader) {
                    *count -= 1;
                    if *count == 0 {
                        ready.insert(*reader);
                    }
                }
            }
        }
        (order.len() == all.len()).then_some(order)
    }

    fn build(&self, order: &[Place]) -> Result<Transition, GraphError> {
        let ids: HashMap<Place, NodeId> =
            order.iter().enumerate().map(|(id, place)| (*place, NodeId(id as u32))).collect();
        let new_id = |id: NodeId| ids[&Place::New(id.index())];
        let mut graph = Graph::default();
        let (mut fades, mut origins, mut edges) = (Fades::new(), Vec::new(), Edges::new());
        for place in order {
            let (mut node, origin) = match place {
                Place::Left(left) => {
                    let old = self.left[*left];
                    let mut node = self.old.graph.nodes()[old.index()].clone();
                    node.inputs.clear();
                    for (was, edge) in self.left_edges(old) {
                        let at = (ids[place], node.inputs.len());
                        edges.insert(at, (old, was));
                        self.still_fading(at, (old, was), &edge, &mut fades);
                        node.inputs.push(Edge { from: ids[&self.is[&edge.from]], ..edge });
                    }
                    (node, Some(old))
                }
                Place::New(new) => {
                    let mut node = self.new.nodes()[*new].clone();
                    self.changing(ids[place], *new, &mut fades, &mut edges);
                    node.inputs.iter_mut().for_each(|edge| edge.from = new_id(edge.from));
                    (node, self.was[*new])
                }
            };
            if let Place::New(new) = place {
                for Goes { was, edge, .. } in &self.going[*new] {
                    edges.insert((ids[place], node.inputs.len()), *was);
                    let fade = Fade { gain_before: edge.gain_lin, leaves: true };
                    fades.insert((ids[place], node.inputs.len()), fade);
                    let from = ids[&self.is[&edge.from]];
                    node.inputs.push(Edge { from, gain_lin: 0.0, ..*edge });
                }
            }
            graph.add(node)?;
            origins.push(origin);
        }
        graph.set_outputs(self.new.outputs().into_iter().map(new_id).collect())?;
        for back in self.new.feedback() {
            graph.feed_back(
                Edge { from: new_id(back.edge.from), ..back.edge },
                new_id(back.reader),
            )?;
        }
        let places = (0..self.was.len()).map(|new| ids[&Place::New(new)]).collect();
        let leaves = self.going.iter().any(|going| !going.is_empty());
        Ok(Transition { graph, places, origins, fades, edges, leaves, refused: 0 })
    }

    /// An edge of a node that is only left over goes on with what it does.
    fn still_fading(
        &self,
        at: (NodeId, usize),
        (reader, place): (NodeId, usize),
        edge: &Edge,
        fades: &mut Fades,
    ) {
        if (self.old.fades)(reader, place) || (self.old.waits)(reader, place) {
            let leaves = (self.old.leaves)(reader, place);
            fades.insert(at, Fade { gain_before: edge.gain_lin, leaves });
        }
    }

    /// Edges of a new graph's node that are new, or have another gain, or still fade, or may wait for less than before.
    fn changing(&self, id: NodeId, new: usize, fades: &mut Fades, edges: &mut Edges) {
        let Some(reader) = self.was[new] else { return };
        let before = &self.old.graph.nodes()[reader.index()].inputs;
        let now = &self.new.nodes()[new].inputs;
        let same = self.same_edges(new, reader);
        for (index, place) in same.into_iter().enumerate() {
            place.into_iter().for_each(|place| _ = edges.insert((id, index), (reader, place)));
            let gain_before = place.map_or(0.0, |place| before[place].gain_lin);
            let has_line =
                |place| (self.old.fades)(reader, place) || (self.old.waits)(reader, place);
            if place.is_some_and(has_line) || gain_before != now[index].gain_lin {
                fades.insert((id, index), Fade { gain_before, leaves: false });
            }
        }
    }

    /// By edge of a new node: the place of the same edge of the old one.
    fn same_edges(&self, new: usize, reader: NodeId) -> Vec<Option<usize>> {
        let known = self.old.keys(reader).into_iter().enumerate();
        let known: HashMap<Key, usize> =
            known.filter_map(|(place, key)| Some((key?, place))).collect();
        let now = keys(&self.new.nodes()[new].inputs, |from| self.was[from.index()]);
        let place = |key: &Option<Key>| known.get(key.as_ref()?).copied();
        now.iter().map(place).collect()
    }
}

/// Another graph from one block to the next. Edges that stay keep their lines.
///
/// Thread: control; allocates.
pub(super) fn at_once(
    old: &Old<'_>,
    new: &Graph,
    was: &dyn Fn(NodeId) -> Option<NodeId>,
) -> Transition {
    let draft = Draft::new(old, new, was);
    let ids = || (0..new.nodes().len()).map(|id| NodeId(id as u32));
    let mut edges = Edges::new();
    for (id, reader) in ids().zip(&draft.was) {
        let Some(reader) = *reader else { continue };
        for (index, place) in draft.same_edges(id.index(), reader).into_iter().enumerate() {
            place.into_iter().for_each(|place| _ = edges.insert((id, index), (reader, place)));
        }
    }
    Transition {
        graph: new.clone(),
        places: ids().collect(),
        origins: draft.was,
        fades: Fades::new(),
        edges,
        leaves: false,
        refused: 0,
    }
}
