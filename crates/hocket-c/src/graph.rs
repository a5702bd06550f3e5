//! Graphs whose nodes are the host's own processors, Hocket's effects, or plain sums.

use std::ffi::{c_char, c_void};

use hocket_dsp::{Block, Kind, Processor as EngineProcessor};
use hocket_engine::Prepared;
use hocket_plan::{Edge, Fusing, Graph as PlanGraph, Node, NodeId, NodeKind};

use crate::border::{done, quiet, text, told};
use crate::failure::Failure;
use crate::status::{Error, Status};

/// What `hocket_graph_add_node` and `hocket_graph_add_effect` return instead of an index when they fail.
pub const HOCKET_NO_NODE: u32 = u32::MAX;

/// Processes one block in place: `frames` samples a row, 1.0 is full scale. What a node reads from others
/// is already summed up in the rows; what it leaves there is its output.
///
/// Thread: any worker, inside a block, one at a time for a node. It must not allocate, lock or call the
/// system, and must give the same samples however the input is cut into blocks.
pub type ProcessFn =
    Option<unsafe extern "C" fn(user: *mut c_void, left: *mut f32, right: *mut f32, frames: u32)>;

/// Called with a processor's `user`.
pub type UserFn = Option<unsafe extern "C" fn(user: *mut c_void)>;

/// A processor of the host's.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Processor {
    /// Handed to every call.
    pub user: *mut c_void,
    /// Processes a block; not NULL.
    pub process: ProcessFn,
    /// Forgets all history (delay lines, envelopes), keeps the parameters. Thread: the leader, between
    /// blocks. NULL: there is none.
    pub reset: UserFn,
    /// The node is gone and `user` is no longer used. Thread: the one that stops the engine or frees the
    /// graph. NULL: nothing to free.
    pub free: UserFn,
    /// Expected work in floating-point operations a frame; only ratios matter. More than 0.
    pub cost: f64,
    /// How many frames the output lags behind the input.
    pub latency_frames: u32,
}

/// A graph in the making. Nodes are added in the order of computation, and the last one is the output.
/// One thread at a time.
pub struct Graph {
    nodes: Vec<Draft>,
}

/// A node in the making.
struct Draft {
    name: String,
    inputs: Vec<Edge>,
    work: Work,
}

enum Work {
    Sum,
    Host(HostProcessor),
    Effect(&'static Kind, Vec<f32>),
}

/// A new graph without nodes. NULL only after an error in Hocket itself.
///
/// Thread: control. Cost: allocates.
#[unsafe(no_mangle)]
pub extern "C" fn hocket_graph_new() -> *mut Graph {
    quiet(std::ptr::null_mut(), || Box::into_raw(Box::new(Graph { nodes: Vec::new() })))
}

/// Frees a graph that no engine was started from, and its processors; NULL is left alone.
///
/// Thread: control. Cost: frees memory.
///
/// # Safety
/// P, H, X.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_graph_free(graph: *mut Graph) {
    if !graph.is_null() {
        // SAFETY: H (made by `hocket_graph_new`), X.
        let graph = unsafe { Box::from_raw(graph) };
        quiet((), || drop(graph));
    }
}

/// Appends a node and returns its index, counted from 0: the host's processor, which is copied, or for
/// NULL one that only sums. From now on `user` belongs to the graph and the engine made of it; where
/// the call fails (`HOCKET_NO_NODE`) it stays the host's. `name` is for reports and measured costs.
///
/// Thread: control. Cost: allocates.
///
/// # Safety
/// P, H, G, C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_graph_add_node(
    graph: *mut Graph,
    name: *const c_char,
    processor: *const Processor,
    error: *mut *mut Error,
) -> u32 {
    // SAFETY: P, H, G, C.
    let added = unsafe {
        told(error, || {
            let (graph, name) = (building(graph)?.with_room()?, text(name, "name")?);
            // Last, because from here on `user` is the graph's.
            let work = match processor.as_ref() {
                None => Work::Sum,
                Some(processor) => Work::Host(HostProcessor::new(processor)?),
            };
            Ok(graph.add(name, work))
        })
    };
    added.unwrap_or(HOCKET_NO_NODE)
}

/// Appends one of Hocket's effects (docs/effects.md) and returns its index. `values` has one value for
/// each parameter in the order of the documentation, or is NULL for the defaults; values out of range
/// are held within it.
///
/// Thread: control. Cost: allocates; the effect itself is built when the engine starts.
///
/// # Safety
/// P (`values` has `count` values), H, G.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_graph_add_effect(
    graph: *mut Graph,
    name: *const c_char,
    kind: *const c_char,
    values: *const f32,
    count: usize,
    error: *mut *mut Error,
) -> u32 {
    // SAFETY: P, H, G.
    let added = unsafe {
        told(error, || {
            let (graph, name) = (building(graph)?.with_room()?, text(name, "name")?);
            let kind = kind_named(text(kind, "kind")?)?;
            let values = match values.is_null() {
                true => kind.defaults(),
                false => values_of(kind, std::slice::from_raw_parts(values, count))?,
            };
            Ok(graph.add(name, Work::Effect(kind, values)))
        })
    };
    added.unwrap_or(HOCKET_NO_NODE)
}

/// Lets node `to` read node `from`, which is older, with a linear gain (1.0: as it is). A node sums its
/// inputs in the order in which its edges were added, so the sum is the same bits whoever computes it.
///
/// Thread: control. Cost: allocates.
///
/// # Safety
/// P, H, G.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_graph_add_edge(
    graph: *mut Graph,
    from: u32,
    to: u32,
    gain_lin: f32,
    error: *mut *mut Error,
) -> Status {
    // SAFETY: P, H, G.
    unsafe { done(error, || building(graph)?.connect(from, to, gain_lin)) }
}

/// # Safety
/// P, H, G; the lifetime is that of the call.
unsafe fn building<'a>(graph: *mut Graph) -> Result<&'a mut Graph, Failure> {
    // SAFETY: the caller's.
    unsafe { graph.as_mut() }.ok_or_else(|| Failure::null("graph"))
}

fn kind_named(name: &str) -> Result<&'static Kind, Failure> {
    hocket_dsp::kind(name).ok_or_else(|| {
        let names: Vec<&str> = hocket_dsp::kinds().iter().map(|kind| kind.name).collect();
        Failure::bad_input(format!("there is no effect '{name}': choose {}", names.join(", ")))
    })
}

fn values_of(kind: &Kind, values: &[f32]) -> Result<Vec<f32>, Failure> {
    let (name, needed, given) = (kind.name, kind.params.len(), values.len());
    if needed != given {
        let text = format!("effect '{name}' has {needed} parameters, {given} values were given");
        return Err(Failure::bad_input(text));
    }
    if let Some(at) = values.iter().position(|value| value.is_nan()) {
        let param = kind.params[at].name;
        return Err(Failure::bad_input(format!("effect '{name}': {param} is not a number")));
    }
    Ok(kind.params.iter().zip(values).map(|(param, value)| param.clamp(*value)).collect())
}

impl Graph {
    fn with_room(&mut self) -> Result<&mut Graph, Failure> {
        let full = || Failure::bad_input("the graph has as many nodes as a graph can have");
        (self.nodes.len() < PlanGraph::MAX_NODES).then_some(self).ok_or_else(full)
    }

    fn add(&mut self, name: &str, work: Work) -> u32 {
        self.nodes.push(Draft { name: name.to_owned(), inputs: Vec::new(), work });
        self.nodes.len() as u32 - 1
    }

    fn connect(&mut self, from: u32, to: u32, gain_lin: f32) -> Result<(), Failure> {
        let count = self.nodes.len();
        if to as usize >= count || from >= to {
            let text = format!(
                "node {to} cannot read node {from}: a node reads older ones (there are {count}, \
                 counted from 0)"
            );
            return Err(Failure::bad_input(text));
        }
        if !gain_lin.is_finite() {
            return Err(Failure::bad_input(format!("a gain of {gain_lin} is not possible")));
        }
        self.nodes[to as usize].inputs.push(Edge { from: NodeId(from), gain_lin });
        Ok(())
    }

    /// Builds the effects for a rate; processors of the host's move into the engine.
    pub(crate) fn prepared(self, rate_hz: u32) -> Result<Prepared, Failure> {
        let (mut graph, mut processors) = (PlanGraph::default(), Vec::new());
        for (index, draft) in self.nodes.into_iter().enumerate() {
            let Draft { name, inputs, work } = draft;
            let (cost, latency_frames, processor) = work.built(rate_hz);
            let kind = NodeKind::Custom(index as u32);
            let node = Node { name, kind, inputs, cost, latency_frames };
            graph.add(node).map_err(Failure::bad_input)?;
            processors.push(processor);
        }
        Prepared::from_graph(&graph, processors, Fusing::Chains).map_err(Failure::bad_input)
    }
}

impl Work {
    /// Cost, latency, and what does it.
    fn built(self, rate_hz: u32) -> (f64, u32, Option<Box<dyn EngineProcessor>>) {
        match self {
            Work::Sum => (2.0, 0, None),
            Work::Host(host) => (host.0.cost, host.0.latency_frames, Some(Box::new(host))),
            Work::Effect(kind, values) => {
                let processor = (kind.build)(&values, rate_hz);
                let cost = (kind.flops_per_frame)(&values, rate_hz);
                (cost, processor.latency_frames(), Some(processor))
            }
        }
    }
}

/// A processor of the host's; `free` is called when it is dropped.
struct HostProcessor(Processor);

// SAFETY: C: `process` may be called on any thread, and so may `reset` and `free`, on the threads that
// they name; an engine runs a processor on one thread at a time (rule R3 of verified schedules).
unsafe impl Send for HostProcessor {}

impl HostProcessor {
    fn new(processor: &Processor) -> Result<HostProcessor, Failure> {
        if processor.process.is_none() {
            return Err(Failure::null("processor.process"));
        }
        if !(processor.cost.is_finite() && processor.cost > 0.0) {
            let cost = processor.cost;
            return Err(Failure::bad_input(format!("processor.cost of {cost} is not more than 0")));
        }
        Ok(HostProcessor(*processor))
    }

    fn call(&self, function: UserFn) {
        if let Some(function) = function {
            // SAFETY: C.
            unsafe { function(self.0.user) }
        }
    }
}

impl EngineProcessor for HostProcessor {
    fn process(&mut self, block: &mut Block<'_>) {
        let frames = block.frames() as u32;
        if let Some(process) = self.0.process {
            let (left, right) = (block.main.left.as_mut_ptr(), block.main.right.as_mut_ptr());
            // SAFETY: C; both rows have `frames` samples, `Block`'s contract.
            unsafe { process(self.0.user, left, right, frames) }
        }
    }

    fn reset(&mut self) {
        self.call(self.0.reset);
    }

    fn latency_frames(&self) -> u32 {
        self.0.latency_frames
    }
}

impl Drop for HostProcessor {
    fn drop(&mut self) {
        self.call(self.0.free);
    }
}
