//! A draft becomes a graph, with what each edge does.

use std::collections::HashSet;

use hocket_plan::compile::{Fade, FadeCurve, Fades};
use hocket_plan::{Edge, Graph, GraphError, Node, NodeId, NodeKind};

use super::draft::{Draft, Input, Leaves, ids, ids_of};
use super::{Began, Leaving, RefusedFades, Transition};
use crate::block::before::{At, Edges, PortsOf};

impl Draft<'_> {
    pub(super) fn build(&self, order: &[usize]) -> Result<Transition, GraphError> {
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
        built.graph.set_feedback_frames(self.new.feedback_frames())?;
        let Built { graph, fades, edges, leaving, .. } = built.finish(outputs)?;
        let places = ids_of(self.was.len()).map(new_id).collect();
        let (ends, refused) = (self.inputs_that_begin(), RefusedFades::default());
        Ok(Transition { graph, places, origins, fades, edges, leaving, ends, refused })
    }

    /// The edges of a node that is only left over, but for those that leave. They go on with what they do.
    fn edges_of_left(&self, node: NodeId) -> Vec<Drafted> {
        let drafted = |(place, Input { edge, feeds_back })| {
            let (was, gain_before) = ((node, place), edge.gain_lin);
            let fade = Fade { gain_before, leaves: false, curve: FadeCurve::EqualGain };
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
            let gain_before = was.map(before).unwrap_or(if begins { 0.0 } else { edge.gain_lin });
            let fades = gain_before != edge.gain_lin || was.is_some_and(|at| self.old.has_line(at));
            let curve = self.equal_power.of_what_comes(new, index);
            let fade = fades.then_some(Fade { gain_before, leaves: false, curve });
            let place = self.left.len() + edge.from.index();
            let edge = Edge { from: NodeId(place as u32), ..*edge };
            Drafted { edge, feeds_back: *feeds_back, was, fade, began: None }
        };
        inputs.iter().enumerate().map(drafted).collect()
    }

    fn leaving_edge(&self, leaves: &Leaves) -> Drafted {
        let Leaves { was, input: Input { edge, feeds_back }, began, .. } = *leaves;
        let curve = self.equal_power.of_what_leaves(leaves);
        let fade = Some(Fade { gain_before: edge.gain_lin, leaves: true, curve });
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

impl Draft<'_> {
    /// Engine inputs of the new graph that the graph before did not have. What is left over may still have them.
    fn inputs_that_begin(&self) -> PortsOf {
        let before: HashSet<u16> = input_numbers(self.old.graph, self.old.places).collect();
        let new: Vec<NodeId> = ids(self.new).collect();
        let inputs =
            input_numbers(self.new, &new).filter(|number| !before.contains(number)).collect();
        PortsOf { inputs, ..PortsOf::default() }
    }

    /// The ports of the old graph that only what is left over has.
    pub(super) fn ports_left(&self) -> PortsOf {
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
