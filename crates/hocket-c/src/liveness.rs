//! What of a graph depends on live input. All else can be rendered ahead.

use std::ffi::c_void;

use hocket_engine::{Edge, InputPort, LiveCause, Liveness, NodeId};

use crate::border::{done, seen};
use crate::failure::Failure;
use crate::graph::{Graph, HOCKET_NO_NODE};
use crate::graph_ports::{HOCKET_PORT_EVENTS, HOCKET_PORT_MAIN, HOCKET_PORT_SIDE_CHAIN};
use crate::status::{Error, Status};

/// It depends on what the host writes for the engine input `number`.
pub const HOCKET_LIVE_INPUT: u32 = 0;
/// It depends on the events that the host hands over for the engine input `number`.
pub const HOCKET_LIVE_INPUT_EVENTS: u32 = 1;
/// It depends on what a feedback edge brings from the node `number`, which is live itself.
pub const HOCKET_LIVE_FEEDBACK: u32 = 2;

/// A node or an edge that depends on live input, and the first thing that brings it there.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Live {
    /// The node. For an edge: the node that reads.
    pub node: u32,
    /// For an edge: the node that is read. `HOCKET_NO_NODE`: `node` itself is live.
    pub from: u32,
    /// For an edge: `HOCKET_PORT_MAIN`, `HOCKET_PORT_SIDE_CHAIN` or `HOCKET_PORT_EVENTS` of the node that reads.
    pub port: u32,
    /// For an edge: whether it feeds back (`hocket_graph_feed_back`).
    pub feedback: bool,
    /// `HOCKET_LIVE_INPUT` and so on.
    pub cause: u32,
    /// See the causes.
    pub number: u32,
}

/// Called for each live node and edge.
pub type LiveFn = Option<unsafe extern "C" fn(user: *mut c_void, live: *const Live)>;

/// Calls `each` for every node that depends on live input, each followed by the edges that bring something live to it, and
/// at the end for the feedback edges that do. Clips, notes, automation and the transport are known ahead, so they
/// make nothing live. For a graph that an engine plays, ask a copy (`hocket_engine_graph`).
///
/// Thread: control; `each` runs on the calling thread. Cost: O(nodes + edges); allocates.
///
/// # Safety
/// P, H, G, C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_graph_liveness(
    graph: *const Graph,
    each: LiveFn,
    user: *mut c_void,
    error: *mut *mut Error,
) -> Status {
    // SAFETY: P, H, G, C.
    unsafe {
        done(error, || {
            let each = each.ok_or_else(|| Failure::null("each"))?;
            let found = seen(graph, "graph")?.live()?;
            found.iter().for_each(|live| each(user, live));
            Ok(())
        })
    }
}

/// The engine's answer in the host's numbers.
struct Answer {
    liveness: Liveness,
    /// The host's number of each node.
    order: Vec<u32>,
}

impl Answer {
    fn live(&self, cause: LiveCause, node: u32) -> Live {
        let number = |id: NodeId| self.order[id.index()];
        let (cause, number) = match cause {
            LiveCause::Input(input) => (HOCKET_LIVE_INPUT, input.into()),
            LiveCause::InputEvents(input) => (HOCKET_LIVE_INPUT_EVENTS, input.into()),
            LiveCause::Feedback(from) => (HOCKET_LIVE_FEEDBACK, number(from)),
        };
        Live { node, from: HOCKET_NO_NODE, port: 0, feedback: false, cause, number }
    }

    /// `edge`: in the host's numbers.
    fn live_edge(&self, cause: LiveCause, edge: &Edge, to: u32) -> Live {
        let port = match edge.to {
            InputPort::Main => HOCKET_PORT_MAIN,
            InputPort::SideChain => HOCKET_PORT_SIDE_CHAIN,
            InputPort::Events => HOCKET_PORT_EVENTS,
        };
        Live { from: edge.from.0, port, ..self.live(cause, to) }
    }
}

impl Graph {
    fn live(&self) -> Result<Vec<Live>, Failure> {
        let order = self.order();
        let (graph, _) = self.planned(&order)?;
        let answer = Answer { liveness: graph.liveness(), order };
        let mut all = Vec::new();
        for (id, number) in (0..).map(NodeId).zip(&answer.order) {
            all.extend(answer.liveness.of_node(id).map(|cause| answer.live(cause, *number)));
            let edges = self.facts(*number).into_iter().flat_map(|facts| &facts.inputs);
            for (place, edge) in edges.enumerate() {
                let cause = answer.liveness.of_edge(id, place);
                all.extend(cause.map(|cause| answer.live_edge(cause, edge, *number)));
            }
        }
        for (index, back) in self.feedback.iter().enumerate() {
            let cause = answer.liveness.of_feedback(index);
            let live = |cause| answer.live_edge(cause, &back.edge, back.to);
            all.extend(cause.map(|cause| Live { feedback: true, ..live(cause) }));
        }
        Ok(all)
    }
}
