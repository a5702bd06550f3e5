//! From one graph to the next without a click: edges that come, go or change their gain fade.
//!
//! Between the old graph and the new one the engine plays a *transition*: the new graph, and of the old one what is
//! still needed while edges fade out: these edges, the nodes that were removed behind them, and what those hear. Its
//! nodes are those of both graphs, with their processors and delay lines, so nothing is computed twice. When all has
//! faded, the plain new graph takes its place, and nobody hears that.
//!
//! Only edges to a node that stays fade. What comes and what goes are mostly the same sound by two ways, and then the
//! gains of both add up to 1. Where they are sounds of different sources, their powers do (`equal_power.rs`).
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
//!    Which curve an edge takes follows from the same two graphs, and its line keeps it.
//! 2. **Which edges would close a cycle** is decided newest first, by the edit with which each began to leave
//!    ([`Began`]). Edges that stay come before all of them. An edge is taken if it closes no cycle with those taken
//!    before it. So it decides only about edges that began to leave earlier.
//! 3. **The older edge is silent first**: each fade out takes [`FADE_FRAMES`](crate::block::fade::FADE_FRAMES) from the
//!    block of its edit. So an edge that is silent decides only about silent ones (by 2). The same holds for an edge
//!    into a removed node, if all ways on from there are silent: until one of these ways is taken, nothing that is
//!    heard can run in a cycle through that node.
//! 4. **A silent edge adds nothing**: sums leave it out, and it delays no other edge (`arrivals` in `hocket-plan`). The
//!    order of a sum is the new graph's, then newest first; leaving edges out does not change the order of the others.
//! 5. **A delay line that has nothing left to do** computes what an edge without a line does, and a line that is made
//!    anew begins as the one that was there would go on (`block/delay.rs`).
//! 6. **Ports** (feedback, engine inputs) may live longer than what is heard of them. So what is new to a port hears
//!    nothing of what the port held before: an edge from feedback is silent for as long as feedback waits, and an engine input
//!    that the graph before did not have begins with an empty port.
//!
//! Changes of gains and delays are applied in the order of the edits, each at its block, even where several plans take
//! effect before the same block (`Leader::exchange`).

mod build;
mod draft;
mod equal_power;

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::fmt;

use hocket_plan::compile::{Fade, FadeCurve, Fades};
use hocket_plan::{Graph, GraphError, NodeId};

use crate::block::before::{At, Edges, PortsOf};
use draft::{Draft, ids};

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
    /// What changes from one block to the next, although it should fade.
    pub refused: RefusedFades,
}

/// What edits changed from one block to the next, although they were to fade, by the reason. Nothing else changes so but what
/// [`GraphEditor::replace_at_once`](crate::GraphEditor::replace_at_once) and an [`Editor`](crate::Editor) without fades were
/// asked for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RefusedFades {
    /// Edges that ended because the old and the new ways together would have made a cycle.
    pub cycles: usize,
    /// Edges that ended because a node at one of their ends has other ports now. What joins it fades in.
    pub ports: usize,
    /// Outputs of the engine that read another node now.
    pub outputs: usize,
    /// Edges that ended, began or got another gain with an edit whose old and new graph were too large to play together.
    pub too_large: usize,
}

impl RefusedFades {
    /// All of them.
    pub fn total(&self) -> usize {
        self.cycles + self.ports + self.outputs + self.too_large
    }

    /// Each reason with its count, and what is counted.
    fn parts(&self) -> [(usize, &'static str); 4] {
        [
            (self.cycles, "of edges whose old and new ways would have made a cycle"),
            (self.ports, "of edges of nodes that got other ports"),
            (self.outputs, "of outputs that read another node"),
            (self.too_large, "of edges of graphs too large to play together"),
        ]
    }

    pub(super) fn add(&mut self, more: RefusedFades) {
        self.cycles += more.cycles;
        self.ports += more.ports;
        self.outputs += more.outputs;
        self.too_large += more.too_large;
    }
}

impl fmt::Display for RefusedFades {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = self.parts().into_iter().filter(|(count, _)| *count > 0);
        let parts: Vec<String> = parts.map(|(count, what)| format!("{count} {what}")).collect();
        write!(f, "{} changes without a fade", self.total())?;
        if parts.is_empty() { Ok(()) } else { write!(f, ": {}", parts.join(", ")) }
    }
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

/// What `new` needs of `old` while edges fade. `was`: the old node that a new one is. `number`: of the new graph, larger
/// than those before.
///
/// Thread: control; allocates. Cost: O(nodes + edges) with a logarithm; if there is a cycle, that for each edge that
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
    draft.equal_power = draft.find_equal_power(&leaves, number);
    let (ports, outputs) = (draft.misfits(), draft.other_outputs());
    let cycles = draft.take(leaves);
    let refused = RefusedFades { cycles, ports, outputs, too_large: 0 };
    let heard = draft.find_what_is_heard();
    draft.leaves.retain(|leaves| heard[leaves.reader]);
    // What was taken makes no cycle.
    let order = draft.order(&heard).unwrap_or_default();
    Ok(Transition { refused, ..draft.build(&order)? })
}

/// Another graph from one block to the next. Edges that stay keep their lines; where they no longer wait, until the delay
/// that they had has faded. What is refused counts only if the edit was to fade.
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
                let curve = FadeCurve::EqualGain;
                fades.insert((id, place), Fade { gain_before, leaves: false, curve });
            }
        }
    }
    let ends = draft.ports_left();
    let (too_large, outputs) = (draft.changes(), draft.other_outputs());
    let refused = RefusedFades { outputs, too_large, ..RefusedFades::default() };
    let places = ids(new).collect();
    let (graph, origins, leaving) = (new.clone(), draft.was, Leaving::new());
    Transition { graph, places, origins, fades, edges, leaving, ends, refused }
}

#[cfg(test)]
mod tests {
    use hocket_plan::{Edge, Node, NodeKind};

    use super::*;

    /// A source and its reader.
    fn pair(gain_lin: f32) -> Graph {
        let mut graph = Graph::default();
        let node = || Node::new("node", NodeKind::Custom(0));
        let source = graph.add(node()).unwrap();
        graph.add(Node { inputs: vec![Edge::new(source, gain_lin)], ..node() }).unwrap();
        graph
    }

    /// What changes at once where the source is replaced, or its edge gets another gain.
    fn at_once_from(before: f32, now: f32, is_kept: bool) -> RefusedFades {
        let (before, now) = (pair(before), pair(now));
        let old = Old {
            graph: &before,
            places: &[NodeId(0), NodeId(1)],
            fading: HashSet::new(),
            late: HashSet::new(),
            leaving: &Leaving::new(),
        };
        at_once(&old, &now, &|id| (is_kept || id != NodeId(0)).then_some(id)).refused
    }

    #[test]
    fn edges_of_an_edit_that_is_too_large_to_fade_are_counted() {
        let too_large = |edges| RefusedFades { too_large: edges, ..RefusedFades::default() };
        assert_eq!(at_once_from(1.0, 1.0, true), too_large(0));
        assert_eq!(at_once_from(1.0, 0.5, true), too_large(1));
        assert_eq!(at_once_from(1.0, 1.0, false), too_large(2), "one ends and one begins");
        let told = "2 changes without a fade: 2 of edges of graphs too large to play together";
        assert_eq!(too_large(2).to_string(), told);
    }
}
