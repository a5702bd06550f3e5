//! The states of all processors of a graph: saved in one call, and restored before one block.

use std::ffi::{c_char, c_void};

use hocket_engine::{NodeId, SavedState as EngineState, StateFailure as EngineFailure};

use crate::border::{c_text, done, seen, text};
use crate::engine::Engine;
use crate::failure::Failure;
use crate::host::bytes_of;
use crate::status::{Error, Status};

/// The state of a node's processor.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct SavedState {
    /// The node's number in the graph.
    pub node: u32,
    /// The node's name. Not NULL.
    pub name: *const c_char,
    /// What its main side wrote (`save` of `hocket_main_side`). NULL only if there are no bytes.
    pub state: *const c_void,
    /// How many bytes.
    pub bytes: usize,
}

/// Called for each state. What `state` points to is valid until the callback returns.
pub type SavedStateFn = Option<unsafe extern "C" fn(user: *mut c_void, state: *const SavedState)>;

/// A state that was not saved or not restored.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct StateFailure {
    /// The node's name.
    pub node: *const c_char,
    /// Why, for users, with the node's name.
    pub why: *const c_char,
}

/// Called for each state that was not saved or not restored. The texts are valid until the callback returns.
pub type StateFailureFn =
    Option<unsafe extern "C" fn(user: *mut c_void, failure: *const StateFailure)>;

/// Asks the main sides of all nodes of the newest graph for their processors' states, while it plays, and calls `each`
/// once for every state, in the order of computation. Nodes without a main side, or whose main side has no `save`, are left
/// out. Then it calls `failed` for every node that refuses. A failure of one node is no failure of the call.
///
/// All main sides are called in one task on the main thread. Blocks may run meanwhile: states that belong together exactly
/// need an engine that leads no block, or that is offline.
///
/// Thread: any but the leader; with `settings.main_thread` "starting" only that one. Callbacks run on the calling thread.
/// Cost: waits for the main thread and holds a lock among control threads; allocates.
///
/// # Safety
/// P, H, C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_engine_save_states(
    engine: *const Engine,
    each: SavedStateFn,
    failed: StateFailureFn,
    user: *mut c_void,
    error: *mut *mut Error,
) -> Status {
    // SAFETY: P, H, C.
    unsafe {
        done(error, || {
            let each = each.ok_or_else(|| Failure::null("each"))?;
            let failed = failed.ok_or_else(|| Failure::null("failed"))?;
            let (states, failures) = seen(engine, "engine")?.editing().graph()?.save_states()?;
            for EngineState { node: NodeId(node), name, state } in &states {
                let name = c_text(name);
                let (state, bytes) = (state.as_ptr().cast(), state.len());
                each(user, &SavedState { node: *node, name: name.as_ptr(), state, bytes });
            }
            failures.iter().for_each(|failure| report(failure, failed, user));
            Ok(())
        })
    }
}

/// Has processors go on with states that `hocket_engine_save_states` gave, all before the same block: before the first one in
/// an engine that has played none, otherwise before the next. A state goes to the node of its number if that has its name,
/// otherwise to the only other node of this name. So it also finds its node in a graph that was edited or made anew.
///
/// It calls `failed` for every state that stays out: its node is gone or refuses it. The others are restored. That is one
/// edit; if all states stay out, there is none (`hocket_last_edit`). If the call fails, nothing has changed.
///
/// Thread: any but the leader; with `settings.main_thread` "starting" only that one. `failed` runs on the calling thread.
/// Cost: waits for the main thread and holds a lock among control threads; allocates.
///
/// # Safety
/// P (`states` has `count` elements, and each `state` has `bytes` bytes), H, C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_engine_restore_states(
    engine: *const Engine,
    states: *const SavedState,
    count: usize,
    failed: StateFailureFn,
    user: *mut c_void,
    error: *mut *mut Error,
) -> Status {
    // SAFETY: P, H, C.
    unsafe {
        done(error, || {
            let failed = failed.ok_or_else(|| Failure::null("failed"))?;
            let states = all_of(states, count)?;
            let failures = seen(engine, "engine")?.editing().restore_states(states)?;
            failures.iter().for_each(|failure| report(failure, failed, user));
            Ok(())
        })
    }
}

/// With the host's numbers of the nodes.
///
/// # Safety
/// P for the array, its texts and bytes.
unsafe fn all_of(states: *const SavedState, count: usize) -> Result<Vec<EngineState>, Failure> {
    if count == 0 {
        return Ok(Vec::new());
    }
    if states.is_null() {
        return Err(Failure::null("states"));
    }
    // SAFETY: P, and not null.
    let states = unsafe { std::slice::from_raw_parts(states, count) };
    let owned = |(index, it): (usize, &SavedState)| {
        // SAFETY: P.
        let (name, state) = unsafe {
            (text(it.name, &format!("states[{index}].name"))?, bytes_of(it.state, it.bytes))
        };
        let state = state.ok_or_else(|| Failure::null(&format!("states[{index}].state")))?;
        Ok(EngineState { node: NodeId(it.node), name: name.into(), state: state.to_vec() })
    };
    states.iter().enumerate().map(owned).collect()
}

/// Tells the host of a failure, whose numbers are the host's.
///
/// # Safety
/// C.
unsafe fn report(
    failure: &EngineFailure,
    failed: unsafe extern "C" fn(*mut c_void, *const StateFailure),
    user: *mut c_void,
) {
    let name = match failure {
        EngineFailure::NoState(name)
        | EngineFailure::Gone { name, .. }
        | EngineFailure::Refused { node: name, .. } => name.as_str(),
        EngineFailure::NoNode(_) | EngineFailure::Control(_) => "",
    };
    let (node, why) = (c_text(name), c_text(&failure.to_string()));
    let failure = StateFailure { node: node.as_ptr(), why: why.as_ptr() };
    // SAFETY: the caller's obligation.
    unsafe { failed(user, &failure) }
}
