//! What an engine does for the host's processors besides blocks: notices, states, longer blocks, the main thread.

use std::ffi::{c_char, c_void};

use hocket_engine::Notice as EngineNotice;

use crate::border::{c_text, done, seen};
use crate::engine::Engine;
use crate::failure::Failure;
use crate::host::bytes_of;
use crate::status::{Error, Status};

/// The output of `node` lags behind its input by `frames` frames from now on. If `possible`, the engine has made a plan
/// with other delays; otherwise the old ones stay.
pub const HOCKET_NOTICE_LATENCY: u32 = 0;
/// The output of `node` goes on for `frames` frames after its input; `HOCKET_ENDLESS`: for ever.
pub const HOCKET_NOTICE_TAIL: u32 = 1;
/// `node` wants to be replaced by a new processor. `frames` is 0.
pub const HOCKET_NOTICE_RESTART: u32 = 2;

/// What a processor reports about itself.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Notice {
    /// `HOCKET_NOTICE_LATENCY` and so on. It says what the other fields mean.
    pub kind: u32,
    /// The node's number in the graph.
    pub node: u32,
    /// See the kinds.
    pub frames: u64,
    /// See `HOCKET_NOTICE_LATENCY`. True for the other kinds.
    pub possible: bool,
}

/// Called for each notice.
pub type NoticeFn = Option<unsafe extern "C" fn(user: *mut c_void, notice: *const Notice)>;

/// Calls `each` for what processors have reported since the last call (`hocket_main_latency_changed` and so on), in the
/// order of computation. Of each kind only the last report of a node counts. A node that has left reports nothing.
///
/// Thread: any but the leader; `each` runs on the calling thread. Cost: a lock among control threads, allocates.
///
/// # Safety
/// P, H, C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_engine_notices(
    engine: *const Engine,
    each: NoticeFn,
    user: *mut c_void,
    error: *mut *mut Error,
) -> Status {
    // SAFETY: P, H, C.
    unsafe {
        done(error, || {
            let each = each.ok_or_else(|| Failure::null("each"))?;
            let notices = seen(engine, "engine")?.editing().graph()?.take_notices();
            notices.iter().for_each(|notice| each(user, notice));
            Ok(())
        })
    }
}

/// What was refused of a node's background work since the node joined.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct LostWork {
    /// The node's name. Valid until the callback returns.
    pub node: *const c_char,
    /// Requests that were refused.
    pub requests: u64,
    /// Answers that were refused.
    pub answers: u64,
}

/// Called for each node of whose background work something was refused.
pub type LostWorkFn = Option<unsafe extern "C" fn(user: *mut c_void, lost: *const LostWork)>;

/// Calls `each` for every node whose background work was refused a request or an answer, since it joined.
///
/// Thread: any but the leader; `each` runs on the calling thread. Cost: a lock among control threads, allocates.
///
/// # Safety
/// P, H, C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_engine_lost_work(
    engine: *const Engine,
    each: LostWorkFn,
    user: *mut c_void,
    error: *mut *mut Error,
) -> Status {
    // SAFETY: P, H, C.
    unsafe {
        done(error, || {
            let each = each.ok_or_else(|| Failure::null("each"))?;
            for lost in seen(engine, "engine")?.control.lost_work() {
                let node = c_text(&lost.node);
                let (requests, answers) = (lost.requests, lost.answers);
                each(user, &LostWork { node: node.as_ptr(), requests, answers });
            }
            Ok(())
        })
    }
}

/// Called with the bytes of a saved state. They are valid until the callback returns.
pub type BytesFn =
    Option<unsafe extern "C" fn(user: *mut c_void, state: *const c_void, bytes: usize)>;

/// Asks a node's main side for the processor's state (`save` of `hocket_main_side`), while it plays, and calls `tell` once
/// with the bytes. It refuses a node without a main side. The message has the text with which the main side refuses.
///
/// Thread: any but the leader; with `settings.main_thread` "starting" only that one. `tell` runs on the calling thread.
/// Cost: waits for the main thread and holds a lock among control threads; allocates.
///
/// # Safety
/// P, H, C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_engine_save_state(
    engine: *const Engine,
    node: u32,
    tell: BytesFn,
    user: *mut c_void,
    error: *mut *mut Error,
) -> Status {
    // SAFETY: P, H, C.
    unsafe {
        done(error, || {
            let tell = tell.ok_or_else(|| Failure::null("tell"))?;
            let state = seen(engine, "engine")?.editing().graph()?.save_state(node)?;
            tell(user, state.as_ptr().cast(), state.len());
            Ok(())
        })
    }
}

/// Has a node's processor go on with a state that was saved. Its main side makes what is needed (`load` of
/// `hocket_main_side`), and the processor takes it over between two blocks (`exchange` of `hocket_processor`). It is an
/// edit: `hocket_engine_applied` says from which frame on. If it fails, nothing has changed.
///
/// Thread: any but the leader; with `settings.main_thread` "starting" only that one. Cost: waits for the main thread and
/// holds a lock among control threads; allocates.
///
/// # Safety
/// P (`state` has `bytes` bytes), H.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_engine_load_state(
    engine: *const Engine,
    node: u32,
    state: *const c_void,
    bytes: usize,
    error: *mut *mut Error,
) -> Status {
    // SAFETY: P, H.
    unsafe {
        done(error, || {
            let engine = seen(engine, "engine")?;
            let state = bytes_of(state, bytes).ok_or_else(|| Failure::null("state"))?;
            engine.editing().nodes(|graph| graph.load_state(node, state))
        })
    }
}

/// Goes on with blocks of up to so many frames, while it plays: for a sound server whose block grows. A number that is not
/// larger changes nothing. Main sides make what their processors need first (`grow` of `hocket_main_side`). All state
/// goes on with the same bits; only feedback becomes later, because it waits for one largest block.
///
/// The leader takes the length over before its next block, or when it processes or writes more frames than before.
/// `hocket_engine_largest_block` says what holds. It is no edit and has no number.
///
/// Thread: any but the leader; with `settings.main_thread` "starting" and main sides only that one. Cost: a lock among
/// control threads, allocates; makes a plan; waits for the main thread.
///
/// # Safety
/// P, H.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_engine_set_largest_block(
    engine: *const Engine,
    frames: u32,
    error: *mut *mut Error,
) -> Status {
    // SAFETY: P, H.
    unsafe {
        done(error, || {
            let engine = seen(engine, "engine")?;
            engine.editing().make_room_for(frames);
            engine.control.set_largest_block(frames)?;
            Ok(())
        })
    }
}

/// Does what waits for the main thread, if that is the one which started the engine (`settings.main_thread` "starting"):
/// calls main sides and frees processors. Call it regularly, such as every 20 ms. On every other thread it returns
/// `HOCKET_STATUS_WRONG_THREAD`.
///
/// Thread: the one that started the engine, and not while it leads a block. Cost: that of what it calls; a lock among
/// control threads.
///
/// # Safety
/// P, H.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_engine_service(
    engine: *const Engine,
    error: *mut *mut Error,
) -> Status {
    // SAFETY: P, H.
    unsafe { done(error, || Ok(seen(engine, "engine")?.control.service()?)) }
}

impl Notice {
    /// `number`: the host's number of a node.
    pub(crate) fn of(
        notice: EngineNotice,
        number: impl Fn(hocket_engine::NodeId) -> Option<u32>,
    ) -> Option<Notice> {
        let (kind, node, frames, possible) = match notice {
            EngineNotice::Latency { node, frames, possible } => {
                (HOCKET_NOTICE_LATENCY, node, frames.into(), possible)
            }
            EngineNotice::Tail { node, frames } => (HOCKET_NOTICE_TAIL, node, frames, true),
            EngineNotice::Restart { node } => (HOCKET_NOTICE_RESTART, node, 0, true),
        };
        Some(Notice { kind, node: number(node)?, frames, possible })
    }
}
