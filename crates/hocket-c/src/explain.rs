//! Why blocks were late.

use std::ffi::{c_char, c_void};

use hocket_engine::Flight;

use crate::border::{c_text, done, seen};
use crate::engine::Engine;
use crate::failure::Failure;
use crate::status::{Error, Status};

/// A block that was late, or the worst until then. The texts are valid until the callback returns.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Explanation {
    /// Number of the block since the engine started.
    pub block: u64,
    /// The time left before the deadline. Negative: the block was late.
    pub slack_ns: i64,
    /// The cause that explains most, such as "seat-taken", "worker-woke-late" or "unit-slow". "unknown" if no
    /// cause explains half. NULL: the block was in time and took no longer than usual, or the usual time is
    /// unknown.
    pub cause: *const c_char,
    /// The explanation in one sentence. NULL if `cause` is NULL.
    pub text: *const c_char,
}

/// Called for each explained block.
pub type ExplanationFn =
    Option<unsafe extern "C" fn(user: *mut c_void, explanation: *const Explanation)>;

/// Called with a line of text, which is valid until the callback returns.
pub type TextFn = Option<unsafe extern "C" fn(user: *mut c_void, text: *const c_char)>;

/// Calls `each` for the late blocks since the last call, and for blocks that were the worst until then. Call
/// it about ten times per second: an engine keeps 64 blocks between two calls. The explanation of a block
/// waits for the next block, or for `hocket_engine_leave`. This call needs `settings.explain_late`.
///
/// Thread: any but the leader; `each` runs on the calling thread. Cost: a lock among control threads,
/// allocates; milliseconds for each explained block.
///
/// # Safety
/// P, H, C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_engine_explain(
    engine: *const Engine,
    each: ExplanationFn,
    user: *mut c_void,
    error: *mut *mut Error,
) -> Status {
    // SAFETY: P, H, C.
    unsafe {
        done(error, || {
            let each = each.ok_or_else(|| Failure::null("each"))?;
            let engine = seen(engine, "engine")?;
            let flights = engine.drain().ok_or_else(not_asked)?.collect();
            for flight in &flights {
                with_texts(flight, |explanation| each(user, explanation));
            }
            Ok(())
        })
    }
}

/// Starts to watch the workers' CPUs for other threads, so that explanations can name them. It calls `each`
/// with one line for each thing that it cannot see here. It needs `settings.explain_late`, and a leader that
/// has entered.
///
/// Thread: any but the leader; `each` runs on the calling thread. Cost: some system calls and
/// locked memory for each CPU.
///
/// # Safety
/// P, H, C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_engine_watch(
    engine: *const Engine,
    each: TextFn,
    user: *mut c_void,
    error: *mut *mut Error,
) -> Status {
    /// Room for the thread switches of a CPU between two explanations, 80 bytes each.
    const RING_BYTES: usize = 1 << 17;
    // SAFETY: P, H, C.
    unsafe {
        done(error, || {
            let engine = seen(engine, "engine")?;
            let no_leader = || Failure::bad_input("no leader has entered yet");
            let leader = engine.leader_report().ok_or_else(no_leader)?.tid;
            let limits = engine.drain().ok_or_else(not_asked)?.watch(leader, RING_BYTES);
            for limit in each.iter().flat_map(|each| limits.iter().map(move |it| (each, it))) {
                let (each, text) = (limit.0, c_text(limit.1));
                each(user, text.as_ptr());
            }
            Ok(())
        })
    }
}

fn not_asked() -> Failure {
    Failure::bad_input("the engine notes nothing: set settings.explain_late before it starts")
}

fn with_texts(flight: &Flight, use_it: impl FnOnce(&Explanation)) {
    let verdict = flight.verdict.as_ref();
    let cause = verdict.map(|verdict| c_text(verdict.cause.name()));
    let text = verdict.map(|verdict| c_text(&verdict.text));
    use_it(&Explanation {
        block: flight.times.block,
        slack_ns: flight.times.slack_ns(),
        cause: cause.as_ref().map_or(std::ptr::null(), |it| it.as_ptr()),
        text: text.as_ref().map_or(std::ptr::null(), |it| it.as_ptr()),
    });
}
