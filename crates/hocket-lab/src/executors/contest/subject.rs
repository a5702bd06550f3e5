//! What is run: a graph, its processors, and what a record says of it.

use std::sync::Arc;

use hocket_dsp::Processor;
use hocket_engine::Prepared;
use hocket_plan::{Fusing, Graph};
use serde_json::{Value, json};

use crate::executors::hostile::Crossing;
use crate::executors::options::Options;
use crate::graphs::random::{RandomGraph, draw};
use crate::graphs::{GRAPHS, GraphSpec};

/// One graph of the run.
pub(super) struct Subject {
    pub name: String,
    pub graph: Of,
}

/// Where it comes from.
pub(super) enum Of {
    Random(RandomGraph),
    Named(&'static GraphSpec),
}

/// The graphs that `options` ask for.
pub(super) fn all(options: &Options) -> Vec<Subject> {
    match options.random {
        Some(count) => draw(options.seed, count)
            .into_iter()
            .filter(|graph| options.wants(&graph.name))
            .map(Subject::random)
            .collect(),
        None => {
            GRAPHS.iter().filter(|graph| options.wants(graph.name)).map(Subject::named).collect()
        }
    }
}

impl Subject {
    pub(super) fn random(graph: RandomGraph) -> Subject {
        Subject { name: graph.name.clone(), graph: Of::Random(graph) }
    }

    fn named(graph: &'static GraphSpec) -> Subject {
        Subject { name: graph.name.into(), graph: Of::Named(graph) }
    }

    /// In a few words, for the table.
    pub(super) fn words(&self) -> String {
        match &self.graph {
            Of::Random(graph) => format!(
                "{:<6} {:>4} x {:>5.2} µs, {:>4} wide",
                graph.shape.name(),
                graph.len(),
                graph.node_us,
                graph.width
            ),
            Of::Named(graph) => {
                format!("{} tracks of {}", graph.tracks, graph.nodes_a_track)
            }
        }
    }

    /// For the record.
    pub(super) fn about(&self) -> Value {
        match &self.graph {
            Of::Random(graph) => json!({
                "shape": graph.shape.name(),
                "nodes": graph.len(),
                "width": graph.width,
                "node_us": graph.node_us,
                "nominal_us": graph.nominal_us(),
            }),
            Of::Named(graph) => json!({
                "tracks": graph.tracks,
                "nodes_a_track": graph.nodes_a_track,
                "biquads": graph.biquads,
            }),
        }
    }

    /// Units and processors without history; with `crossing`, what another worker left costs more.
    ///
    /// # Errors
    /// None for the graphs of this bench.
    pub(super) fn prepare(&self, crossing: Option<&Arc<Crossing>>) -> Result<Prepared, String> {
        let named = |error: &dyn std::fmt::Display| format!("{}: {error}", self.name);
        let graph = match &self.graph {
            Of::Random(graph) => graph.graph(),
            Of::Named(graph) => graph.graph(),
        };
        let graph = graph.map_err(|error| named(&error))?;
        let processors = match &self.graph {
            Of::Random(random) => random.processors(),
            Of::Named(spec) => spec.processors(&graph),
        };
        let processors = match crossing {
            Some(crossing) => watched(&graph, processors, crossing),
            None => processors,
        };
        Prepared::from_graph(&graph, processors, Fusing::Chains).map_err(|error| named(&error))
    }
}

/// The same processors, each of which knows who ran those that it reads.
fn watched(
    graph: &Graph,
    processors: Vec<Option<Box<dyn Processor>>>,
    crossing: &Arc<Crossing>,
) -> Vec<Option<Box<dyn Processor>>> {
    let inputs =
        |node: &hocket_plan::Node| node.inputs.iter().map(|edge| edge.from.index()).collect();
    let inputs = graph.nodes().iter().map(inputs);
    crossing.watch(processors, inputs)
}
