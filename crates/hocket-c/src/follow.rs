//! Leaders whose thread belongs to a sound server: the workers follow them.

use std::ffi::{c_char, c_void};

use hocket_engine::{FollowError, FollowReport as EngineReport};

use crate::border::{c_text, done, seen};
use crate::engine::Engine;
use crate::failure::Failure;
use crate::status::{Error, Status};

/// What the engine sees of a leader that it follows, and what it did. The texts are valid until the callback returns.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct FollowReport {
    /// The kernel's id of the leader's thread. -1: no block has run yet.
    pub thread: i64,
    /// The CPU on which its last block began. -1: no block has run yet.
    pub cpu: i64,
    /// The CPUs that it may use. NULL: no block has run yet.
    pub cpus: *const c_char,
    /// Its scheduling class. NULL: no block has run yet.
    pub class_got: *const c_char,
    /// Whether that is a real-time class.
    pub real_time: bool,
    /// Whether threads wait as long as they do beside a leader that has entered. They do if all hold a real-time class
    /// and a CPU that the leader cannot use. Otherwise each wait blocks after 120 µs at the latest.
    pub waits_long: bool,
    /// The CPU that the workers keep free for the leader. -1: no block has run yet.
    pub kept_free: i64,
    /// How many times workers and guards took other seats or another class.
    pub reseated: u64,
}

/// Called with what the engine sees of its leader.
pub type FollowFn = Option<unsafe extern "C" fn(user: *mut c_void, report: *const FollowReport)>;

/// Follows the leader wherever a sound server runs it: for the process callback of JACK, PipeWire or a plug-in host, whose
/// thread is not yours to pin or to promote. The engine never changes the leader's class, priority and CPUs. It seats
/// the workers beside it and gives them a class just below its own. Every 40 ms it looks whether the leader has moved.
///
/// Call it on a control thread before the server calls back. The callback then processes blocks and does not enter. It
/// refuses an engine that a leader has entered, or that follows already. Then let the callback return without touching
/// the engine, close the server's client, and stop the engine.
///
/// Thread: control, between blocks. Cost: system calls, allocates; starts a thread. For the leader some nanoseconds per
/// block.
///
/// # Safety
/// P, H.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_engine_follow(
    engine: *const Engine,
    error: *mut *mut Error,
) -> Status {
    // SAFETY: P, H.
    unsafe { done(error, || seen(engine, "engine")?.follow()) }
}

/// Ends what `hocket_engine_follow` began: workers and guards get back the seats and the class of the start. It does
/// nothing if the engine does not follow.
///
/// Thread: control. Cost: waits for a thread; system calls.
///
/// # Safety
/// P, H.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_engine_unfollow(
    engine: *const Engine,
    error: *mut *mut Error,
) -> Status {
    // SAFETY: P, H.
    unsafe {
        done(error, || {
            seen(engine, "engine")?.unfollow();
            Ok(())
        })
    }
}

/// If the engine follows its leader, looks at it now, moves workers where that is due, and calls `tell` once with what it
/// found. `hocket_engine_reports` then has what workers and guards obtained.
///
/// Thread: any but the leader; `tell` runs on the calling thread. Cost: system calls, allocates.
///
/// # Safety
/// P, H, C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_engine_followed(
    engine: *const Engine,
    tell: FollowFn,
    user: *mut c_void,
    error: *mut *mut Error,
) -> Status {
    // SAFETY: P, H, C.
    unsafe {
        done(error, || {
            let tell = tell.ok_or_else(|| Failure::null("tell"))?;
            if let Some(found) = seen(engine, "engine")?.look() {
                with_texts(&found, |report| tell(user, report));
            }
            Ok(())
        })
    }
}

fn with_texts(found: &EngineReport, use_it: impl FnOnce(&FollowReport)) {
    let leader = found.leader.as_ref();
    let cpus = leader.map(|leader| c_text(&leader.cpus));
    let class_got = leader.map(|leader| c_text(&leader.class));
    let shown = |text: &Option<std::ffi::CString>| {
        text.as_ref().map_or(std::ptr::null(), |text| text.as_ptr())
    };
    use_it(&FollowReport {
        thread: leader.map_or(-1, |leader| i64::from(leader.tid.number())),
        cpu: leader.map_or(-1, |leader| i64::from(leader.cpu)),
        cpus: shown(&cpus),
        class_got: shown(&class_got),
        real_time: leader.is_some_and(|leader| leader.real_time),
        waits_long: found.waits_long,
        kept_free: found.kept_free.map_or(-1, i64::from),
        reseated: found.reseated,
    });
}

impl From<FollowError> for Failure {
    fn from(error: FollowError) -> Failure {
        match error {
            FollowError::Already => Failure::bad_input(
                "this engine follows its leader already: call hocket_engine_unfollow first",
            ),
            FollowError::Thread(_) => Failure::not_possible(error),
        }
    }
}
