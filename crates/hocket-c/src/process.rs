//! The audio thread.

use std::ffi::c_void;
use std::slice::from_raw_parts_mut;

use hocket_engine::{BlockTimes as EngineTimes, WorkerTotals as EngineTotals, monotonic_ns, rows};

use crate::border::quiet;
use crate::engine::{Engine, Leading};
use crate::status::Status;

/// Times of one block, relative to its planned start.
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
    /// The time left before the deadline. Negative: the block was late.
    pub slack_ns: i64,
    /// From the leader's awakening to that of the last worker that came. 0 if the block needed none.
    pub workers_awake_ns: u64,
    /// How long the edits before the block took. The duration includes it.
    pub orders_ns: u64,
    /// Edits and plans that took effect with the block.
    pub orders: u32,
    /// Workers that took part, the leader included.
    pub workers: u32,
}

/// The monotonic clock in nanoseconds, which planned starts use (`CLOCK_MONOTONIC` on Linux).
///
/// Thread: any, including the leader. Cost: one read of the clock.
#[unsafe(no_mangle)]
pub extern "C" fn hocket_now_ns() -> u64 {
    monotonic_ns()
}

/// Processes one block whose planned start is now. Otherwise like `hocket_engine_process_planned`.
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
    // SAFETY: the caller's obligation.
    unsafe {
        hocket_engine_process_planned(engine, frames, monotonic_ns(), out_left, out_right, times)
    }
}

/// Processes one block of 1 to `hocket_engine_largest_block` frames and writes the first two channels of the first output,
/// 1.0 = full scale. If that output has one channel, both rows get it. `signaled_ns` is the planned start, on the
/// clock of `hocket_now_ns`. `times` may be NULL. The call writes only if it returns `HOCKET_STATUS_OK`.
///
/// Thread: leader, one at a time. A second caller gets `HOCKET_STATUS_BUSY` at once. Cost: the block. It does
/// not allocate and does not wait for a lock. It makes only the engine's own system calls, which the
/// documentation of hocket-engine lists.
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
    if out_left.is_null() || out_right.is_null() {
        return Status::BadInput;
    }
    // SAFETY: the caller's obligation.
    unsafe {
        run(engine, frames, signaled_ns, times, |engine| {
            let output = engine.output(frames as usize);
            let right = if output.right.is_empty() { output.left } else { output.right };
            for (out, row) in [(out_left, output.left), (out_right, right)] {
                // P: it has room for `frames` samples. It is the caller's memory, so it does not overlap the
                // engine's rows. These have `frames` samples, which is at most the settings' number.
                rows::copy(from_raw_parts_mut(out, row.len()), row);
            }
        })
    }
}

/// Processes one block and writes no output: read the outputs afterwards (`hocket_engine_read_output`). Otherwise
/// like `hocket_engine_process_planned`.
///
/// Thread: leader. Cost: as `hocket_engine_process_planned`.
///
/// # Safety
/// P, H.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_engine_run(
    engine: *const Engine,
    frames: u32,
    signaled_ns: u64,
    times: *mut BlockTimes,
) -> Status {
    // SAFETY: the caller's obligation.
    unsafe { run(engine, frames, signaled_ns, times, |_| ()) }
}

/// Processes a block. `read` then reads the outputs.
///
/// # Safety
/// P, H.
unsafe fn run(
    engine: *const Engine,
    frames: u32,
    signaled_ns: u64,
    times: *mut BlockTimes,
    read: impl FnOnce(&hocket_engine::Engine),
) -> Status {
    // SAFETY: P, H.
    let Some(engine) = (unsafe { engine.as_ref() }) else { return Status::BadInput };
    quiet(Status::Fault, || {
        let Some(mut leading) = engine.leading() else { return Status::Busy };
        if frames == 0 || frames as usize > longest(&mut leading.engine, frames) {
            return Status::BadInput;
        }
        let took = leading.engine.process_planned(frames as usize, signaled_ns);
        read(&leading.engine);
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

/// The most frames of a block. A larger number that is on its way takes effect first.
fn longest(engine: &mut hocket_engine::Engine, asked: u32) -> usize {
    if asked as usize > engine.largest_block() {
        // Carries out what makes room for so many frames, whether there is such an input or not.
        _ = engine.input_mut(0, asked as usize);
    }
    engine.largest_block()
}

/// The most frames of a block: `settings.frames`, or what `hocket_engine_set_largest_block` has made of it. 0 for NULL,
/// and while another thread leads.
///
/// Thread: leader, between blocks. Cost: none.
///
/// # Safety
/// P, H.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_engine_largest_block(engine: *const Engine) -> u32 {
    let mut frames = 0;
    // SAFETY: P, H.
    let _ = unsafe { lead(engine, |leading| frames = leading.largest_block() as u32) };
    frames
}

/// Says whether blocks have no deadline from the next one on, as for a file or for a sound server that freewheels. The
/// leader then does the background work of processors itself before each block, and waits until main sides were called
/// and new latencies are planned. So the output has the same bits with every schedule and number of workers. Live,
/// answers come when they are ready.
///
/// With `settings.main_thread` "starting" and another thread as the leader, a block waits for `hocket_engine_service`.
///
/// Thread: leader, between blocks. Cost: a system call where it ends; the blocks then cost what the work costs.
///
/// # Safety
/// P, H.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_engine_set_offline(engine: *const Engine, offline: bool) -> Status {
    // SAFETY: P, H.
    unsafe { lead(engine, |leading| _ = leading.set_offline(offline)) }
}

/// Sets the planned start of the block after the next one (on the clock of `hocket_now_ns`), so that workers
/// can be awake by then. It applies to one block. A host that knows its period calls this before each block.
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
/// Thread: leader, between blocks. Cost: O(memory of all processors). Do not call it in a live run.
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
    /// How often it really blocked inside a block.
    pub blocked: u64,
    /// How often it yielded inside a block.
    pub yielded: u64,
    /// Wake-up system calls that it made.
    pub wakes: u64,
    /// Time spent in units.
    pub busy_ns: u64,
}

/// Called for each thread.
pub type TotalsFn = Option<unsafe extern "C" fn(user: *mut c_void, totals: *const WorkerTotals)>;

/// Calls `each` for every thread of the engine: the leader, then workers and guards.
///
/// Thread: leader, between blocks; `each` runs on the calling thread. Cost: allocates, so do not call it for
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
pub(crate) unsafe fn lead(
    engine: *const Engine,
    act: impl FnOnce(&mut hocket_engine::Engine),
) -> Status {
    // SAFETY: the caller's obligation.
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
