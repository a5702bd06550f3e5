//! Edits of a graph that is played.

use crate::border::{done, made, seen};
use crate::engine::Engine;
use crate::failure::Failure;
use crate::graph::Graph;
use crate::status::{Error, Status};

/// Sets a parameter of a node: by its place in the documentation for one of Hocket's effects
/// (`hocket_effect_param` counts the same way), by whatever number the host likes for its own
/// processors, which get it as an event. It holds from the start of the next block.
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

/// A copy of the graph that an engine plays, to be changed and handed back to
/// `hocket_engine_exchange_graph`. Nodes keep their numbers. NULL on failure.
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

/// Goes on with a changed copy of the graph, which is used up, whether this succeeds or not. Nodes that
/// stay keep their processors with the state that they have; all changes happen from one block to the
/// next, without a fade. Refused where another graph was exchanged since the copy was made.
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
    // SAFETY: P; H and X for the graph, which `border::made` or `hocket_graph_new` made.
    unsafe {
        let graph = (!graph.is_null()).then(|| Box::from_raw(graph));
        done(error, || {
            let graph = graph.ok_or_else(|| Failure::null("graph"))?;
            let engine = seen(engine, "engine")?;
            engine.editing().nodes(|played| played.exchange(*graph))
        })
    }
}
