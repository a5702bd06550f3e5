//! Random graphs, shapes from one chain to one wide level, and random ways to schedule them.

use std::fmt;

use hocket_plan::{Edge, Fusing, Graph, Node, NodeId, NodeKind, Schedule, ScheduleKind, UnitGraph};
use proptest::prelude::*;

/// A graph to be built; shrinks node by node and prints as a small drawing.
#[derive(Clone)]
pub struct Recipe(Vec<NodeRecipe>);

/// One node: how far back each input reaches, with which gain.
#[derive(Debug, Clone)]
struct NodeRecipe {
    inputs: Vec<(usize, f32)>,
    cost: u32,
    latency_frames: u32,
}

impl Recipe {
    /// The graph. The last node also reads every node that nobody else reads.
    pub fn graph(&self) -> Graph {
        let mut graph = Graph::default();
        let mut read = vec![false; self.0.len()];
        for (i, recipe) in self.0.iter().enumerate() {
            let mut inputs = recipe.edges(i);
            inputs.iter().for_each(|edge| read[edge.from.index()] = true);
            if i + 1 == self.0.len() {
                let unread = (0..i).filter(|from| !read[*from]);
                inputs.extend(unread.map(|from| edge(from, 1.0)));
            }
            graph.add(recipe.node(i, inputs)).expect("inputs come before");
        }
        graph
    }
}

impl NodeRecipe {
    fn edges(&self, i: usize) -> Vec<Edge> {
        let back = self.inputs.iter().filter(|_| i > 0);
        back.map(|(back, gain)| edge(i - 1 - back % i, *gain)).collect()
    }

    fn node(&self, i: usize, inputs: Vec<Edge>) -> Node {
        Node {
            name: format!("n{i}: work"),
            kind: NodeKind::Custom(i as u32),
            inputs,
            cost: f64::from(self.cost),
            latency_frames: self.latency_frames,
            ports: Default::default(),
        }
    }
}

fn edge(from: usize, gain_lin: f32) -> Edge {
    Edge::new(NodeId(from as u32), gain_lin)
}

impl fmt::Debug for Recipe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} nodes", self.0.len())?;
        for (i, node) in self.graph().nodes().iter().enumerate() {
            write!(f, "  {i} (cost {}) <-", node.cost)?;
            for edge in &node.inputs {
                write!(f, " {}", edge.from.0)?;
                if edge.gain_lin != 1.0 {
                    write!(f, "*{}", edge.gain_lin)?;
                }
            }
            writeln!(f)?;
        }
        Ok(())
    }
}

/// Graphs of 1 to `max` nodes.
pub fn recipes(max: usize) -> impl Strategy<Value = Recipe> {
    let nodes = |node: BoxedStrategy<NodeRecipe>| prop::collection::vec(node, 1..=max);
    prop_oneof![
        2 => nodes(node(0..=3, 0..200usize)),
        2 => nodes(node(0..=2, 0..3usize)),
        1 => nodes(node(1..=1, 0..1usize)),
        1 => nodes(node(0..=0, 0..1usize)),
        1 => nodes(node(0..=1, 0..40usize)),
        1 => nodes(node(2..=6, 0..8usize)),
    ]
    .prop_map(Recipe)
}

/// Graphs of 1 to `max` nodes with sums of up to 30 inputs.
pub fn wide_recipes(max: usize) -> impl Strategy<Value = Recipe> {
    prop::collection::vec(node(0..=30, 0..60), 1..=max).prop_map(Recipe)
}

/// Graphs with many chains that wait for the same nodes.
pub fn couple_recipes(max: usize) -> impl Strategy<Value = Recipe> {
    let nodes = |node: BoxedStrategy<NodeRecipe>| prop::collection::vec(node, 1..=max);
    prop_oneof![
        1 => nodes(node(0..=0, 0..1usize)),
        2 => nodes(prop_oneof![node(0..=0, 0..1usize), node(1..=1, 0..1usize)].boxed()),
        1 => nodes(node(0..=1, 0..40usize)),
        1 => nodes(node(0..=3, 0..200usize)),
    ]
    .prop_map(Recipe)
}

fn node(
    fan_in: std::ops::RangeInclusive<usize>,
    back: std::ops::Range<usize>,
) -> BoxedStrategy<NodeRecipe> {
    let gain = prop_oneof![4 => Just(1.0f32), 1 => Just(0.5), 1 => Just(0.0), 1 => Just(-1.25)];
    (prop::collection::vec((back, gain), fan_in), 0..1000u32, 0..64u32)
        .prop_map(|(inputs, cost, latency_frames)| NodeRecipe { inputs, cost, latency_frames })
        .boxed()
}

/// Both ways of fusing.
pub fn fusings() -> impl Strategy<Value = Fusing> {
    prop_oneof![Just(Fusing::Chains), Just(Fusing::None)]
}

/// A graph with a way to schedule it.
#[derive(Debug, Clone)]
pub struct Case {
    pub recipe: Recipe,
    pub fusing: Fusing,
    pub kind: ScheduleKind,
    pub workers: usize,
    pub seed: u64,
}

impl Case {
    pub fn units(&self) -> UnitGraph {
        UnitGraph::compile(&self.recipe.graph(), self.fusing).expect("not empty")
    }

    pub fn schedule(&self, units: &UnitGraph) -> Schedule {
        Schedule::plan(self.kind, units, self.workers)
    }
}

/// Graphs of 1 to `max` nodes, every kind, 1 to 8 workers.
pub fn cases(max: usize) -> impl Strategy<Value = Case> {
    let kind = prop::sample::select(ScheduleKind::ALL.to_vec());
    (recipes(max), fusings(), kind, 1..=8usize, any::<u64>()).prop_map(
        |(recipe, fusing, kind, workers, seed)| Case { recipe, fusing, kind, workers, seed },
    )
}

/// SplitMix64: small, seeded, good enough to choose among a few things.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `bound`, which is at least 1.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    /// One of `items`, or `None` where there are none.
    pub fn pick<T: Copy>(&mut self, items: &[T]) -> Option<T> {
        (!items.is_empty()).then(|| items[self.below(items.len())])
    }
}
