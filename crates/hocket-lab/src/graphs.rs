//! The five graphs on which executors are compared.
//!
//! Tracks of equal nodes flow through groups of eight into a master. Every node, groups and master
//! included, runs the same number of biquad sections one after the other on one row of the block;
//! they differ in how much work a node has and in how much can run side by side.

pub mod random;

use hocket_dsp::{Block, Processor, rows};
use hocket_engine::Prepared;
use hocket_engine::control::prepare::PrepareError;
use hocket_plan::{Edge, Fusing, Graph, GraphError, Node, NodeId, NodeKind};

/// How many tracks flow into one group.
const TRACKS_A_GROUP: usize = 8;

/// One of the graphs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct GraphSpec {
    /// For tables and the command line.
    pub name: &'static str,
    /// Parallel tracks.
    pub tracks: usize,
    /// Nodes one after the other in a track.
    pub nodes_a_track: usize,
    /// Biquad sections a node.
    pub biquads: usize,
}

/// `empty light medium heavy narrow`.
pub const GRAPHS: [GraphSpec; 5] = [
    GraphSpec { name: "empty", tracks: 64, nodes_a_track: 1, biquads: 0 },
    GraphSpec { name: "light", tracks: 64, nodes_a_track: 1, biquads: 4 },
    GraphSpec { name: "medium", tracks: 32, nodes_a_track: 4, biquads: 8 },
    GraphSpec { name: "heavy", tracks: 64, nodes_a_track: 4, biquads: 8 },
    GraphSpec { name: "narrow", tracks: 2, nodes_a_track: 8, biquads: 16 },
];

impl GraphSpec {
    /// The graph, for whoever brings an executor of their own.
    ///
    /// # Errors
    /// None for the graphs of [`GRAPHS`].
    pub fn graph(&self) -> Result<Graph, GraphError> {
        let mut graph = Graph::default();
        let mut ends = Vec::with_capacity(self.tracks);
        for track in 0..self.tracks {
            let mut last = self.add(&mut graph, format!("track {track}: 0"), &[])?;
            for node in 1..self.nodes_a_track {
                last = self.add(&mut graph, format!("track {track}: {node}"), &[last])?;
            }
            ends.push(last);
        }
        let mut groups = Vec::new();
        for (index, members) in ends.chunks(TRACKS_A_GROUP).enumerate() {
            groups.push(self.add(&mut graph, format!("group {index}: sum"), members)?);
        }
        self.add(&mut graph, "master: sum".into(), &groups)?;
        Ok(graph)
    }

    fn add(&self, graph: &mut Graph, name: String, from: &[NodeId]) -> Result<NodeId, GraphError> {
        let inputs: Vec<Edge> = from.iter().map(|from| Edge::new(*from, 1.0)).collect();
        let sums = 4 * inputs.len();
        // A biquad sample: 5 multiplications and 4 additions.
        let cost = (9 * self.biquads + sums) as f64;
        graph.add(Node {
            name,
            kind: NodeKind::Custom(0),
            inputs,
            cost,
            latency_frames: 0,
            ports: Default::default(),
        })
    }

    /// Units and processors.
    ///
    /// # Errors
    /// None for the graphs of [`GRAPHS`].
    pub fn prepare(&self, fusing: Fusing) -> Result<Prepared, PrepareError> {
        let graph = self.graph()?;
        Prepared::from_graph(&graph, self.processors(&graph), fusing)
    }

    /// One processor a node of [`GraphSpec::graph`], without history.
    pub fn processors(&self, graph: &Graph) -> Vec<Option<Box<dyn Processor>>> {
        graph.nodes().iter().map(|node| self.processor(node)).collect()
    }

    fn processor(&self, node: &Node) -> Option<Box<dyn Processor>> {
        let load = self.load();
        if node.inputs.is_empty() {
            return Some(Box::new(Source { load }));
        }
        (self.biquads > 0).then(|| Box::new(load) as Box<dyn Processor>)
    }

    /// The work of one node.
    pub fn load(&self) -> BiquadLoad {
        BiquadLoad::new(self.biquads)
    }
}

/// One plain biquad section in `f32`, transposed direct form II: the work that other executors were
/// measured with (3 ns a sample), so it is not hocket-dsp's faster, interleaved cascade.
///
/// A stable low pass with a gain near one, so that a constant input settles at a constant.
#[derive(Debug, Clone, Copy, Default)]
struct Section {
    s1: f32,
    s2: f32,
}

impl Section {
    fn run(&mut self, row: &mut [f32]) {
        for sample in row {
            let x = *sample;
            let y = 0.2f32 * x + self.s1;
            // The feedback last: what waits for `y` is one multiplication and two additions.
            self.s1 = (0.3f32 * x + self.s2) + 0.5f32 * y;
            self.s2 = 0.2f32 * x - 0.25f32 * y;
            *sample = y;
        }
    }
}

/// Serial biquad sections on the left row.
#[derive(Debug, Clone)]
pub struct BiquadLoad {
    sections: Vec<Section>,
}

impl BiquadLoad {
    /// Filters without a past.
    pub fn new(sections: usize) -> BiquadLoad {
        BiquadLoad { sections: vec![Section::default(); sections] }
    }

    /// Runs the sections over one row.
    pub fn run(&mut self, row: &mut [f32]) {
        self.sections.iter_mut().for_each(|section| section.run(row));
    }
}

impl Processor for BiquadLoad {
    fn process(&mut self, block: &mut Block<'_>) {
        self.run(block.main.left);
    }

    fn reset(&mut self) {
        rows::fill(&mut self.sections, Section::default());
    }
}

/// A constant, then the load.
struct Source {
    load: BiquadLoad,
}

impl Processor for Source {
    fn process(&mut self, block: &mut Block<'_>) {
        block.main.left.fill(SOURCE_LEVEL);
        self.load.process(block);
    }

    fn reset(&mut self) {
        self.load.reset();
    }
}

/// What every track is fed with.
pub const SOURCE_LEVEL: f32 = 0.25;
