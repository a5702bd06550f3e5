//! Engine inputs and outputs: what the leader writes before a block, and reads after it.

use std::slice::{from_raw_parts, from_raw_parts_mut};

use hocket_engine::rows;

use crate::engine::Engine;
use crate::process::lead;
use crate::status::Status;

/// The number of channels of an engine input (`hocket_graph_add_input`). 0 if the graph has no such input, and
/// while another thread leads.
///
/// Thread: leader, between blocks. Cost: none.
///
/// # Safety
/// P, H.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_engine_input_channels(engine: *const Engine, input: u16) -> u32 {
    let mut channels = 0;
    // SAFETY: P, H.
    let _ = unsafe {
        lead(engine, |leading| {
            channels = leading.input_mut(input, 0).map_or(0, |rows| rows.len() as u32);
        })
    };
    channels
}

/// Writes what an engine input plays in the next block: `channel_count` rows of `frames` samples each, as many as
/// that block has. Call it before each block. Channels that nobody writes are silent, and so is the whole input in
/// a block for which nobody calls this. It refuses an input or a channel that the graph does not have.
///
/// Thread: leader, between blocks. Cost: a copy. It does not allocate and does not wait.
///
/// # Safety
/// P (`channels` has `channel_count` rows of `frames` samples), H.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_engine_write_input(
    engine: *const Engine,
    input: u16,
    channels: *const *const f32,
    channel_count: u32,
    frames: u32,
) -> Status {
    // SAFETY: P.
    let Some(channels) = (unsafe { rows_of(channels, channel_count) }) else {
        return Status::BadInput;
    };
    let mut fits = false;
    // SAFETY: P, H.
    let status = unsafe {
        lead(engine, |leading| {
            let Some(mut input) = leading.input_mut(input, frames as usize) else { return };
            fits = input.frames() == frames as usize && channels.len() <= input.len();
            if fits {
                for (row, channel) in input.iter_mut().zip(channels) {
                    // P: it has `frames` samples. It is the caller's memory, so it does not overlap the engine's.
                    rows::copy(row, from_raw_parts(*channel, row.len()));
                }
            }
        })
    };
    if status == Status::Ok && !fits { Status::BadInput } else { status }
}

/// What an output has.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Output {
    /// Channels of the node's main port.
    pub main: u32,
    /// Channels of its extra outputs. They follow the main ones.
    pub extra: u32,
    /// How many frames it lags behind sources and engine inputs, on the longest path.
    pub latency_frames: u32,
}

/// Writes what an output has into `found`. Outputs count from 0, in the order of `hocket_graph_set_outputs`. It
/// refuses an output that the graph does not have.
///
/// Thread: leader, between blocks. Cost: none.
///
/// # Safety
/// P, H.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_engine_output(
    engine: *const Engine,
    output: u32,
    found: *mut Output,
) -> Status {
    // SAFETY: P.
    let Some(found) = (unsafe { found.as_mut() }) else { return Status::BadInput };
    let mut known = None;
    // SAFETY: P, H.
    let status = unsafe { lead(engine, |leading| known = Output::of(leading, output)) };
    match known {
        Some(known) => *found = known,
        None if status == Status::Ok => return Status::BadInput,
        None => {}
    }
    status
}

/// Copies the first `channel_count` channels of an output in the last block: the main channels, then the extra
/// ones. It refuses an output or a channel that the graph does not have, and then it writes nothing.
///
/// Thread: leader, between blocks. Cost: a copy. It does not allocate and does not wait.
///
/// # Safety
/// P (`channels` has `channel_count` rows with room for `frames` samples), H.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hocket_engine_read_output(
    engine: *const Engine,
    output: u32,
    channels: *const *mut f32,
    channel_count: u32,
    frames: u32,
) -> Status {
    // SAFETY: P. A list of pointers to const has the same layout.
    let Some(channels) = (unsafe { rows_of(channels.cast(), channel_count) }) else {
        return Status::BadInput;
    };
    let mut fits = false;
    // SAFETY: P, H.
    let status = unsafe {
        lead(engine, |leading| {
            let Some(known) = Output::of(leading, output) else { return };
            let Some(rows) = leading.output_rows(output as usize, frames as usize) else { return };
            let all = (known.main + known.extra) as usize;
            fits = channels.len() <= all && rows.frames() == frames as usize;
            // The rows of the side chain lie between the main and the extra ones.
            let side = rows.len() - all;
            for (channel, out) in channels.iter().enumerate().filter(|_| fits) {
                let side = if channel < known.main as usize { 0 } else { side };
                let row = rows.row(channel + side);
                // P: it has room for `frames` samples, and it is the caller's memory.
                rows::copy(from_raw_parts_mut(out.cast_mut(), row.len()), row);
            }
        })
    };
    if status == Status::Ok && !fits { Status::BadInput } else { status }
}

/// The rows of a caller, if none is null.
///
/// # Safety
/// P. The lifetime is that of the call.
pub(crate) unsafe fn rows_of<'a>(
    channels: *const *const f32,
    count: u32,
) -> Option<&'a [*const f32]> {
    if count == 0 {
        return Some(&[]);
    }
    if channels.is_null() {
        return None;
    }
    // SAFETY: P, and not null.
    let channels = unsafe { from_raw_parts(channels, count as usize) };
    channels.iter().all(|row| !row.is_null()).then_some(channels)
}

impl Output {
    pub(crate) fn of(engine: &hocket_engine::Engine, output: u32) -> Option<Output> {
        let units = engine.schedule().units();
        let node = *units.outputs().get(output as usize)?;
        let ports = units.node_ports()[node.index()];
        Some(Output {
            main: ports.main.into(),
            extra: ports.extra.into(),
            latency_frames: units.arrival_frames(node),
        })
    }
}
