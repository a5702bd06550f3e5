//! The audio thread.

use std::ffi::c_void;
use std::slice::from_raw_parts_mut;

use hocket_engine::{BlockTimes as EngineTimes, WorkerTotals as EngineTotals, monotonic_ns, rows};

use crate::border::quiet;
use crate::engine::{Engine, Leading};
use crate::status::Status;

/// Times of one block, against its plan.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct BlockTimes {
    /// Number of the block since the engine started.
    pub block: u64,
    /// The planned start, on the clock of `hocket_now_ns`.
    pub signaled_ns: u64,
    /// From the planned start to the leader's awakening.
    pub lateness_ns: u64,
    /// From the leader's awakening to the complete output.
    pub duration_ns: u64,
    /// From the planned start to the deadline: the length of the block when played.
    pub deadline_ns: u64,
    /// Time left before the deadline; negative: the block was late.
    pub slack_ns: i64,
    /// From the leader's awakening to that of the last worker that came; 0 if none was needed.
    pub workers_awake_ns: u64,
    /// How long the edits before the block took, as a part of the duration.
    pub orders_ns: u64,
    /// Edits and plans that took effect with the block.
    pub orders: u32,
    /// Workers that took part, the leader included.
    pub workers: u32,
}

/// The monotonic clock in nanoseconds, the clock of planned starts (`CLOCK_MONOTONIC` on Linux).
///
/// Thread: any, the leader included. Cost: one reading of the clock.
#[unsafe(no_mangle)]
pub extern "C" fn hocket_now_ns() -> u64 {
    monotonic_ns()
}

/// Processes one block that was planned for now: as `hocket_engine_process_planned`.
///
/// Thread: leader. Cost: as `hocket_engine_process_planned`.
///
/// # Safety
/// P (`out_left` and `out_right` have room for `frames` samples), H.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_engine_process(
    engine: *const Engine,
    frames: u32,
    out_left: *mut f32,
    out_right: *mut f32,
    times: *mut BlockTimes,
) -> Status {
    // SAFETY: the caller's.
    unsafe {
        hocket_engine_process_planned(engine, frames, monotonic_ns(), out_left, out_right, times)
    }
}

/// Processes one block of 1 to `settings.frames` frames that was planned to start at `signaled_ns` (on
/// the clock of `hocket_now_ns`) and writes the output, 1.0 = full scale. `times` may be NULL. Unless it
/// returns `HOCKET_STATUS_OK`, it writes nothing.
///
/// Thread: leader, one at a time: a second caller gets `HOCKET_STATUS_BUSY` at once. Cost: the block. No
/// allocation; no lock is waited for; at most one system call, to wake workers, and none beyond the
/// engine's own.
///
/// # Safety
/// P (`out_left` and `out_right` have room for `frames` samples), H.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_engine_process_planned(
    engine: *const Engine,
    frames: u32,
    signaled_ns: u64,
    out_left: *mut f32,
    out_right: *mut f32,
    times: *mut BlockTimes,
) -> Status {
    // SAFETY: P, H.
    let Some(engine) = (unsafe { engine.as_ref() }) else { return Status::BadInput };
    let possible = (1..=engine.frames).contains(&frames);
    if !possible || out_left.is_null() || out_right.is_null() {
        return Status::BadInput;
    }
    quiet(Status::Fault, || {
        let Some(mut leading) = engine.leading() else { return Status::Busy };
        let took = leading.engine.process_planned(frames as usize, signaled_ns);
        let output = leading.engine.output(frames as usize);
        for (out, row) in [(out_left, output.left), (out_right, output.right)] {
            // SAFETY: P: it has room for `frames` samples and is the caller's own memory, so it does not
            // overlap the engine's rows, which have as many (`frames` is at most the settings').
            rows::copy(unsafe { from_raw_parts_mut(out, row.len()) }, row);
        }
        // SAFETY: P.
        if let Some(times) = unsafe { times.as_mut() } {
            *times = BlockTimes::from(&took);
        }
        let Leading { engine, recorder, .. } = &mut *leading;
        if let Some(recorder) = recorder {
            recorder.note(engine, &took);
        }
        Status::Ok
    })
}

/// Says when the block after the next one is planned (on the clock of `hocket_now_ns`), so that workers can
/// be awake by then. It holds for one block; a host that knows its period calls this before each.
///
/// Thread: leader, between blocks. Cost: none.
///
/// # Safety
/// P, H.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_engine_expect_next(engine: *const Engine, next_ns: u64) -> Status {
    // SAFETY: P, H.
    unsafe { lead(engine, |leading| leading.expect_next(next_ns)) }
}

/// Forgets all history (delays, reverbs, position): the next block is the session's first.
///
/// Thread: leader, between blocks. Cost: O(memory of all processors); not for a live run.
///
/// # Safety
/// P, H.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_engine_reset(engine: *const Engine) -> Status {
    // SAFETY: P, H.
    unsafe { lead(engine, |leading| leading.reset()) }
}

/// What a thread of an engine did since it started.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct WorkerTotals {
    /// Blocks it took part in.
    pub blocks: u64,
    /// Units it ran.
    pub units: u64,
    /// Times it truly blocked inside a block.
    pub blocked: u64,
    /// Times it yielded inside a block.
    pub yielded: u64,
    /// Wake-up system calls it made.
    pub wakes: u64,
    /// Time spent in units.
    pub busy_ns: u64,
}

/// Called for each thread.
pub type TotalsFn = Option<unsafe extern "C" fn(user: *mut c_void, totals: *const WorkerTotals)>;

/// Calls `each` for every thread of the engine: the leader, then workers and guards.
///
/// Thread: leader, between blocks; `each` is called on the calling thread. Cost: allocates: not for
/// every block of a live run.
///
/// # Safety
/// P, H, C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_engine_totals(
    engine: *const Engine,
    each: TotalsFn,
    user: *mut c_void,
) -> Status {
    let Some(each) = each else { return Status::BadInput };
    let mut all = Vec::new();
    // SAFETY: P, H.
    let status = unsafe { lead(engine, |leading| all = leading.totals()) };
    for totals in all {
        // SAFETY: C.
        unsafe { each(user, &WorkerTotals::from(&totals)) };
    }
    status
}

/// # Safety
/// P, H.
unsafe fn lead(engine: *const Engine, act: impl FnOnce(&mut hocket_engine::Engine)) -> Status {
    // SAFETY: the caller's.
    let Some(engine) = (unsafe { engine.as_ref() }) else { return Status::BadInput };
    quiet(Status::Fault, || {
        let Some(mut leading) = engine.leading() else { return Status::Busy };
        act(&mut leading.engine);
        Status::Ok
    })
}

impl From<&EngineTimes> for BlockTimes {
    fn from(times: &EngineTimes) -> BlockTimes {
        BlockTimes {
            block: times.block,
            signaled_ns: times.signaled_ns,
            lateness_ns: times.lateness_ns,
            duration_ns: times.duration_ns,
            deadline_ns: times.deadline_ns,
            slack_ns: times.slack_ns(),
            workers_awake_ns: times.workers_awake_ns,
            orders_ns: times.orders_ns,
            orders: times.orders,
            workers: times.workers,
        }
    }
}

impl From<&EngineTotals> for WorkerTotals {
    fn from(totals: &EngineTotals) -> WorkerTotals {
        WorkerTotals {
            blocks: totals.blocks,
            units: totals.units,
            blocked: totals.blocked,
            yielded: totals.yielded,
            wakes: totals.wakes,
            busy_ns: totals.busy_ns,
        }
    }
}
