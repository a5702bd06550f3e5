//! Edits of a graph while it plays.

use crate::border::{done, made, quiet, seen};
use crate::editing::Change;
use crate::engine::Engine;
use crate::failure::Failure;
use crate::graph::Graph;
use crate::status::{Error, Status};

/// Sets a parameter of a node, from the start of the next block. For one of Hocket's effects, `param` is the
/// place in the documentation, as in `hocket_effect_param`. For the host's own processors the host chooses
/// the numbers, and the processor gets the change as an event.
///
/// Thread: any but the leader. Cost: a lock among control threads, allocates.
///
/// # Safety
/// P, H.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_engine_set_node(
    engine: *const Engine,
    node: u32,
    param: u32,
    value: f32,
    error: *mut *mut Error,
) -> Status {
    // SAFETY: P, H.
    unsafe {
        done(error, || {
            let engine = seen(engine, "engine")?;
            engine.editing().nodes(|graph| graph.change(node, param, value))
        })
    }
}

/// Copies the graph that an engine plays. Change the copy and pass it to `hocket_engine_exchange_graph`.
/// Nodes keep their numbers. Returns NULL on failure.
///
/// Thread: any but the leader. Cost: a lock among control threads, allocates.
///
/// # Safety
/// P, H.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_engine_graph(
    engine: *const Engine,
    error: *mut *mut Error,
) -> *mut Graph {
    // SAFETY: P, H.
    unsafe {
        made(error, || {
            let engine = seen(engine, "engine")?;
            Ok(engine.editing().graph()?.copy())
        })
    }
}

/// Replaces the graph by a changed copy. The call consumes the copy, even if it fails. Nodes that stay keep
/// their processors and their state, and the delays of the edges between them. The call refuses a copy if another one
/// has been exchanged since it was made.
///
/// Edges that come, go or change their gain fade over 512 frames, if the node that reads stays with its ports. What has
/// been removed runs on for that time. It is freed later, when a control thread sends an edit or calls
/// `hocket_engine_is_settled`. Outputs change from one block to the next.
///
/// Thread: any but the leader. Cost: a lock among control threads; builds effects and a plan.
///
/// # Safety
/// P, H, X (for the graph), C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_engine_exchange_graph(
    engine: *const Engine,
    graph: *mut Graph,
    error: *mut *mut Error,
) -> Status {
    // SAFETY: the caller's obligation.
    unsafe { exchange(engine, graph, Change::Fades, error) }
}

/// Like `hocket_engine_exchange_graph`, but all changes happen from one block to the next, without a fade. Fades that run
/// end.
///
/// Thread: any but the leader. Cost: as `hocket_engine_exchange_graph`.
///
/// # Safety
/// P, H, X (for the graph), C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_engine_exchange_graph_at_once(
    engine: *const Engine,
    graph: *mut Graph,
    error: *mut *mut Error,
) -> Status {
    // SAFETY: the caller's obligation.
    unsafe { exchange(engine, graph, Change::AtOnce, error) }
}

/// What edits that were to fade changed from one block to the next, since the start: edges whose old and new ways together would
/// have made a cycle, edges of nodes that got other ports, outputs that read another node, and the edges of edits whose old and
/// new graph were too large to play together. 0 for NULL.
///
/// Thread: any but the leader. Cost: a lock among control threads.
///
/// # Safety
/// P, H.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_engine_refused_fades(engine: *const Engine) -> u64 {
    // SAFETY: P, H.
    let Some(engine) = (unsafe { engine.as_ref() }) else { return 0 };
    quiet(0, || engine.control.refused_fades().total() as u64)
}

/// # Safety
/// P, H, X (for the graph), C.
unsafe fn exchange(
    engine: *const Engine,
    graph: *mut Graph,
    change: Change,
    error: *mut *mut Error,
) -> Status {
    // SAFETY: P; H and X for the graph, which `border::made` or `hocket_graph_new` made.
    unsafe {
        let graph = (!graph.is_null()).then(|| Box::from_raw(graph));
        done(error, || {
            let graph = graph.ok_or_else(|| Failure::null("graph"))?;
            let engine = seen(engine, "engine")?;
            engine.editing().nodes(|played| played.exchange(*graph, change))
        })
    }
}
