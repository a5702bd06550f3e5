//! A graph with memory of its own: nodes in level order, each with its work and one row.

use std::ops::Range;

use hocket_dsp::mix;
use hocket_lab::graphs::{BiquadLoad, GraphSpec, SOURCE_LEVEL};
use hocket_plan::compile::{Source, UnitId};
use hocket_plan::{Fusing, GraphError, UnitGraph};

/// Block length of every executor.
pub const FRAMES: usize = 64;

/// What a node reads.
#[derive(Debug, Clone, Copy)]
struct Input {
    from: usize,
    gain_lin: f32,
}

/// The row that a node leaves behind.
pub type Row = [f32; FRAMES];

/// One task: sums its inputs, then runs its load on the sum.
///
/// Aligned as Hocket's units are, so that neighbours share no cache lines (128 bytes: x86 fetches
/// lines in pairs).
#[derive(Debug)]
#[repr(align(128))]
pub struct Node {
    row: Row,
    inputs: Box<[Input]>,
    /// More than one where a chain was fused.
    loads: Box<[BiquadLoad]>,
}

impl Node {
    /// The row that the last [`Node::run`] left.
    pub fn row(&self) -> &Row {
        &self.row
    }

    /// Sums the inputs in edge order, then runs the load; `row_of` knows the rows of the inputs.
    ///
    /// Shape: one row of [`FRAMES`] frames. The sums are Hocket's own kernels, with their gains.
    /// Cost: no allocation.
    #[inline]
    pub fn run<'a>(&mut self, row_of: impl Fn(usize) -> &'a Row) {
        let Node { row, inputs, loads } = self;
        match inputs.split_first() {
            None => row.fill(SOURCE_LEVEL),
            Some((first, rest)) => {
                mix::copy_scaled(row, row_of(first.from), first.gain_lin);
                for input in rest {
                    mix::add_scaled(row, row_of(input.from), input.gain_lin);
                }
            }
        }
        for load in loads {
            run_load(load, row);
        }
    }

    /// The nodes that it reads, by their places in the [`Network`], once an edge.
    pub fn inputs(&self) -> impl Iterator<Item = usize> {
        self.inputs.iter().map(|input| input.from)
    }

    /// How many rows it reads.
    pub fn input_count(&self) -> usize {
        self.inputs.len()
    }
}

/// Not inlined: as in Hocket, where a processor is called through a table, the kernel knows neither
/// the length of the row nor the number of sections.
#[inline(never)]
fn run_load(load: &mut BiquadLoad, row: &mut [f32]) {
    load.run(row);
}

/// All nodes of a graph, level by level: a node reads nodes of lower levels only.
#[derive(Debug)]
pub struct Network {
    /// In level order.
    pub nodes: Vec<Node>,
    /// The places of each level's nodes.
    pub levels: Vec<Range<usize>>,
    /// The node whose row is the graph's output.
    pub output: usize,
}

impl Network {
    /// The graph in fresh memory. With [`Fusing::Chains`] a chain is one node, as in Hocket.
    ///
    /// # Errors
    /// None for the lab's graphs.
    pub fn new(spec: &GraphSpec, fusing: Fusing) -> Result<Network, GraphError> {
        let units = UnitGraph::compile(&spec.graph()?, fusing)?;
        let level_of = units.levels();
        let mut order: Vec<usize> = (0..units.units().len()).collect();
        // Stable: inside a level the most urgent comes first, as for Hocket's workers.
        order.sort_by_key(|unit| level_of[*unit]);
        let mut place_of = vec![0; order.len()];
        for (place, unit) in order.iter().enumerate() {
            place_of[*unit] = place;
        }
        Ok(Network {
            nodes: order.iter().map(|unit| node(spec, &units, *unit, &place_of)).collect(),
            levels: runs(order.iter().map(|unit| level_of[*unit])),
            output: place_of[units.last().index()],
        })
    }

    /// The row of the graph's output.
    pub fn output_row(&self) -> &Row {
        self.nodes[self.output].row()
    }

    /// For each node those that read it, once an edge.
    pub fn successors(&self) -> Vec<Box<[usize]>> {
        let mut successors = vec![Vec::new(); self.nodes.len()];
        for (reader, node) in self.nodes.iter().enumerate() {
            for input in &node.inputs {
                successors[input.from].push(reader);
            }
        }
        successors.into_iter().map(Vec::into_boxed_slice).collect()
    }
}

fn node(spec: &GraphSpec, units: &UnitGraph, unit: usize, place_of: &[usize]) -> Node {
    let unit = &units.units()[unit];
    let input = |input: &hocket_plan::compile::UnitInput| Input {
        from: place_of[own_unit(input.from).index()],
        gain_lin: input.gain_lin,
    };
    Node {
        row: [0.0; FRAMES],
        inputs: unit.inputs.iter().map(input).collect(),
        loads: unit.nodes.iter().map(|_| spec.load()).collect(),
    }
}

fn own_unit(source: Source) -> UnitId {
    match source {
        Source::Unit(unit) => unit,
        Source::Folded(_) => unreachable!("only `UnitGraph::fold` makes these"),
        Source::Coupled(..) => unreachable!("only `UnitGraph::couple` makes these"),
        Source::Port(_) => unreachable!("the lab's graphs have no input ports"),
    }
}

/// The ranges over which ascending `levels` stay the same.
fn runs(levels: impl Iterator<Item = usize>) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    for (place, level) in levels.enumerate() {
        match runs.get_mut(level) {
            Some(run) => run.end = place + 1,
            None => runs.push(place..place + 1),
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;
    use hocket_lab::graphs::GRAPHS;

    #[test]
    fn a_node_reads_lower_levels_only() {
        for (spec, fusing) in GRAPHS.iter().flat_map(|g| [(g, Fusing::None), (g, Fusing::Chains)]) {
            let network = Network::new(spec, fusing).unwrap();
            let mut end = 0;
            for level in &network.levels {
                assert_eq!(level.start, end, "levels follow each other");
                end = level.end;
                for node in &network.nodes[level.clone()] {
                    assert!(node.inputs.iter().all(|input| input.from < level.start));
                }
            }
            assert_eq!(end, network.nodes.len());
            assert_eq!(network.output, end - 1, "the master is the last");
        }
    }

    #[test]
    fn unfused_networks_have_a_node_for_each_of_the_graph() {
        for spec in &GRAPHS {
            let network = Network::new(spec, Fusing::None).unwrap();
            assert_eq!(network.nodes.len(), spec.graph().unwrap().nodes().len());
            assert_eq!(network.levels.len(), spec.nodes_a_track + 2, "tracks, groups, master");
        }
    }

    #[test]
    fn fusing_moves_the_work_and_loses_none() {
        for spec in &GRAPHS {
            let loads = |fusing| {
                let network = Network::new(spec, fusing).unwrap();
                network.nodes.iter().map(|node| node.loads.len()).sum::<usize>()
            };
            assert_eq!(loads(Fusing::Chains), loads(Fusing::None));
        }
    }
}
