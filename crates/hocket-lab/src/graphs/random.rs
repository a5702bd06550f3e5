//! Graphs drawn at random: 2 to 2,000 nodes, 0.1 to 50 µs a node, narrow to wide.
//!
//! The number of nodes, the cost of a node and the width are log-uniform: a graph of 20 nodes is as
//! likely as one of 200. Two shapes take turns. `Tracks` are chains side by side that end in one sum, as a
//! mixer's are. In a `Mesh` the layers have widths of their own, each node has a reader in the next layer,
//! and some read from any layer before.
//!
//! A seed gives the same graphs on every machine: costs are counted in biquad samples of nominally 3 ns.

use hocket_dsp::{Block, Processor};
use hocket_plan::{Edge, Graph, GraphError, Node, NodeId, NodeKind};

use super::{BiquadLoad, SOURCE_LEVEL, Section};
use crate::stats::Rng;

/// How many nodes a graph has.
const NODES: (f64, f64) = (2.0, 2000.0);
/// What a node costs, in microseconds.
const NODE_US: (f64, f64) = (0.1, 50.0);
/// The most that all nodes of a graph may cost together: well below a period, so that threads sleep
/// between blocks even where a plan takes twice as long as the serial walk.
const BLOCK_US: f64 = 500.0;
/// By how much a node may be cheaper or dearer than the graph's typical one.
const SPREAD: f64 = 4.0;
/// How many nodes in a hundred of a mesh read one more node from any layer before.
const FAR_READERS: usize = 30;
/// What a sample of a biquad takes, in microseconds; see [`Section`].
const SAMPLE_US: f64 = 0.003;
/// Frames for which costs are counted.
const FRAMES: usize = 64;

/// How the nodes of a graph hang together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// Chains side by side.
    Tracks,
    /// Layers of different widths.
    Mesh,
}

impl Shape {
    /// For tables and records.
    pub fn name(self) -> &'static str {
        match self {
            Shape::Tracks => "tracks",
            Shape::Mesh => "mesh",
        }
    }
}

/// A graph that was drawn.
#[derive(Debug, Clone, PartialEq)]
pub struct RandomGraph {
    /// `r017`: its number in the draw.
    pub name: String,
    /// How its nodes hang together.
    pub shape: Shape,
    /// The most nodes of a layer.
    pub width: usize,
    /// What a typical node costs, nominally.
    pub node_us: f64,
    nodes: Vec<Drawn>,
}

/// A node of it.
#[derive(Debug, Clone, PartialEq)]
struct Drawn {
    /// In summing order; all lie before it.
    inputs: Vec<usize>,
    /// Its work.
    biquad_samples: usize,
}

/// The first `count` graphs of a seed.
pub fn draw(seed: u64, count: usize) -> Vec<RandomGraph> {
    let mut seeds = Rng::new(seed);
    (0..count).map(|number| RandomGraph::draw(number, &mut Rng::new(seeds.next_u64()))).collect()
}

impl RandomGraph {
    fn draw(number: usize, rng: &mut Rng) -> RandomGraph {
        let (nodes, node_us) = size(rng);
        let width = log_uniform(rng, 1.0, (nodes - 1) as f64).round() as usize;
        let shape = if rng.below(2) == 0 { Shape::Tracks } else { Shape::Mesh };
        let nodes = match shape {
            Shape::Tracks => tracks(nodes - 1, width),
            Shape::Mesh => mesh(nodes - 1, width, rng),
        };
        let price = |inputs| Drawn { inputs, biquad_samples: work(node_us, rng) };
        let nodes = with_output(nodes).into_iter().map(price).collect();
        RandomGraph { name: format!("r{number:03}"), shape, width, node_us, nodes }
    }

    /// How many nodes it has.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Never: a graph has two nodes at least.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// What all nodes cost together, nominally and without their sums, in microseconds.
    pub fn nominal_us(&self) -> f64 {
        self.nodes.iter().map(|node| node.biquad_samples as f64 * SAMPLE_US).sum()
    }

    /// The graph.
    ///
    /// # Errors
    /// None for a graph that was drawn.
    pub fn graph(&self) -> Result<Graph, GraphError> {
        let mut graph = Graph::default();
        for (place, node) in self.nodes.iter().enumerate() {
            // Means instead of sums: no path through the graph grows without bound.
            let gain_lin = 1.0 / node.inputs.len().max(1) as f32;
            let edge = |from: &usize| Edge::new(NodeId(*from as u32), gain_lin);
            graph.add(Node {
                name: format!("{place}"),
                kind: NodeKind::Custom(0),
                inputs: node.inputs.iter().map(edge).collect(),
                cost: 9.0 * node.biquad_samples as f64 / FRAMES as f64
                    + 4.0 * node.inputs.len() as f64,
                latency_frames: 0,
                ports: Default::default(),
            })?;
        }
        Ok(graph)
    }

    /// One processor a node, without history.
    pub fn processors(&self) -> Vec<Option<Box<dyn Processor>>> {
        let load = |(place, node): (usize, &Drawn)| {
            let level = node.inputs.is_empty().then_some(SOURCE_LEVEL + (place % 7) as f32 / 32.0);
            Some(Box::new(Load::new(level, node.biquad_samples)) as Box<dyn Processor>)
        };
        self.nodes.iter().enumerate().map(load).collect()
    }
}

/// Number of nodes and typical cost; draws that cost too much together are thrown away.
fn size(rng: &mut Rng) -> (usize, f64) {
    loop {
        let nodes = log_uniform(rng, NODES.0, NODES.1).round();
        let node_us = log_uniform(rng, NODE_US.0, NODE_US.1);
        if nodes * node_us <= BLOCK_US {
            return (nodes as usize, node_us);
        }
    }
}

/// Inputs of `count` nodes in chains side by side.
fn tracks(count: usize, width: usize) -> Vec<Vec<usize>> {
    (0..count).map(|node| node.checked_sub(width).into_iter().collect()).collect()
}

/// Inputs of `count` nodes in layers.
fn mesh(count: usize, width: usize, rng: &mut Rng) -> Vec<Vec<usize>> {
    let mut nodes: Vec<Vec<usize>> = Vec::with_capacity(count);
    let mut before = 0..0;
    while nodes.len() < count {
        let start = nodes.len();
        let layer = (log_uniform(rng, 1.0, width as f64).round() as usize).min(count - start);
        nodes.resize(start + layer, Vec::new());
        for from in before {
            nodes[start + rng.below(layer)].push(from);
        }
        if start > 0 {
            read_further(&mut nodes[start..], start, rng);
        }
        before = start..start + layer;
    }
    nodes
}

/// Gives an input from any layer before to nodes that have none, and to some that have.
fn read_further(layer: &mut [Vec<usize>], nodes_before: usize, rng: &mut Rng) {
    for inputs in layer {
        if inputs.is_empty() || rng.below(100) < FAR_READERS {
            let from = rng.below(nodes_before);
            if !inputs.contains(&from) {
                inputs.push(from);
            }
        }
    }
}

/// The same nodes and an output that reads everything nobody else reads.
fn with_output(mut nodes: Vec<Vec<usize>>) -> Vec<Vec<usize>> {
    let mut is_read = vec![false; nodes.len()];
    nodes.iter().flatten().for_each(|from| is_read[*from] = true);
    nodes.push((0..is_read.len()).filter(|node| !is_read[*node]).collect());
    nodes
}

/// The work of one node, in biquad samples.
fn work(typical_us: f64, rng: &mut Rng) -> usize {
    let us = typical_us * log_uniform(rng, 1.0 / SPREAD, SPREAD);
    (us.clamp(NODE_US.0, NODE_US.1) / SAMPLE_US).round() as usize
}

fn log_uniform(rng: &mut Rng, low: f64, high: f64) -> f64 {
    low * (high / low).powf(rng.unit())
}

/// Whole sections over the left row, and one over a part of it.
#[derive(Debug)]
struct Load {
    /// What it is fed with, where it reads no other node.
    level: Option<f32>,
    whole: BiquadLoad,
    part: Section,
    part_frames: usize,
}

impl Load {
    fn new(level: Option<f32>, biquad_samples: usize) -> Load {
        let whole = BiquadLoad { sections: vec![Section::default(); biquad_samples / FRAMES] };
        Load { level, whole, part: Section::default(), part_frames: biquad_samples % FRAMES }
    }
}

impl Processor for Load {
    fn process(&mut self, block: &mut Block<'_>) {
        let row = &mut *block.main.left;
        if let Some(level) = self.level {
            row.fill(level);
        }
        self.whole.run(row);
        let part = self.part_frames.min(row.len());
        self.part.run(&mut row[..part]);
    }

    fn reset(&mut self) {
        self.whole.reset();
        self.part = Section::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hocket_plan::{Fusing, UnitGraph};

    #[test]
    fn a_seed_gives_the_same_graphs_and_more_of_them_begin_alike() {
        assert_eq!(draw(7, 20)[..5], draw(7, 5)[..]);
        assert_ne!(draw(7, 5), draw(8, 5));
    }

    #[test]
    fn sizes_costs_and_widths_span_their_ranges() {
        let graphs = draw(1, 200);
        let between = |low: usize, high: usize| {
            graphs.iter().filter(|graph| (low..high).contains(&graph.len())).count()
        };
        assert_eq!(between(2, 2001), 200);
        for (low, high) in [(2, 20), (20, 200), (200, 2001)] {
            assert!(between(low, high) > 20, "{low} to {high}: {}", between(low, high));
        }
        let wide = graphs.iter().filter(|graph| graph.width * 4 > graph.len()).count();
        let narrow = graphs.iter().filter(|graph| graph.width <= 4).count();
        assert!(wide > 30 && narrow > 30, "{wide} {narrow}");
        let dear = graphs.iter().filter(|graph| graph.node_us > 5.0).count();
        let cheap = graphs.iter().filter(|graph| graph.node_us < 0.5).count();
        assert!(dear > 20 && cheap > 20, "{dear} {cheap}");
        let shapes = graphs.iter().filter(|graph| graph.shape == Shape::Mesh).count();
        assert!((60..140).contains(&shapes), "{shapes}");
    }

    #[test]
    fn costs_lie_in_their_range_and_blocks_stay_below_the_period() {
        for graph in draw(2, 300) {
            for node in &graph.nodes {
                let us = node.biquad_samples as f64 * SAMPLE_US;
                assert!((0.099..50.1).contains(&us), "{us}");
            }
            // The spread lets a graph cost more than it was drawn for: by 1.35 on average.
            assert!(graph.nominal_us() < 2.0 * BLOCK_US, "{}: {}", graph.name, graph.nominal_us());
        }
    }

    #[test]
    fn every_node_but_the_output_has_a_reader_and_no_input_comes_twice() {
        for graph in draw(3, 100) {
            let (output, others) = graph.nodes.split_last().unwrap();
            let mut is_read = vec![false; others.len()];
            for node in &graph.nodes {
                node.inputs.iter().for_each(|from| is_read[*from] = true);
                let mut once = node.inputs.clone();
                once.sort_unstable();
                once.dedup();
                assert_eq!(once.len(), node.inputs.len());
            }
            assert!(is_read.iter().all(|read| *read) && !output.inputs.is_empty());
            let units = UnitGraph::compile(&graph.graph().unwrap(), Fusing::Chains).unwrap();
            assert_eq!(units.node_count(), graph.len());
            assert_eq!(graph.processors().len(), graph.len());
        }
    }
}
