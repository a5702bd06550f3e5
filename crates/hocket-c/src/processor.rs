//! Processors of the host: what a callback gets, and the engine's side of it.

use std::ffi::c_void;

use hocket_engine::time::BlockTime;
use hocket_engine::{Block as EngineBlock, Change, Event as EngineEvent};
use hocket_engine::{Processor as EngineProcessor, StereoRef};

use crate::failure::Failure;

/// A parameter that changes inside a block.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Event {
    /// Frame at which it changes, counted from the start of the block.
    pub frame: u32,
    /// The parameter, as in `hocket_engine_set_node`.
    pub param: u32,
    /// Its new value.
    pub value: f32,
}

/// One block of audio for a processor of the host. All pointers are valid until the callback returns.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Block {
    /// The left row: `frames` samples, 1.0 is full scale. It holds the sum of the node's inputs. What the
    /// callback writes there is the node's output.
    pub left: *mut f32,
    /// The right row.
    pub right: *mut f32,
    /// The left row of the side chain, read-only. NULL if the node has none.
    pub side_left: *const f32,
    /// The right row of the side chain, read-only. NULL if the node has none.
    pub side_right: *const f32,
    /// Changes of parameters, sorted by frame.
    pub events: *const Event,
    /// Number of `events`.
    pub event_count: usize,
    /// Samples of each row, at least 1.
    pub frames: u32,
}

/// Processes one block in place.
///
/// Thread: any worker, inside a block, one at a time for each node. It must not allocate, lock or call the
/// system. Its samples must not depend on how the input is cut into blocks.
pub type ProcessFn = Option<unsafe extern "C" fn(user: *mut c_void, block: *const Block)>;

/// Called with a processor's `user`.
pub type UserFn = Option<unsafe extern "C" fn(user: *mut c_void)>;

/// Called with a processor's `user` and a position of the song in frames.
pub type LocateFn = Option<unsafe extern "C" fn(user: *mut c_void, frame: u64)>;

/// A processor of the host.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Processor {
    /// The argument of every call.
    pub user: *mut c_void,
    /// Processes a block. Not NULL.
    pub process: ProcessFn,
    /// Forgets all history (delay lines, envelopes) and keeps the parameters. Thread: the leader between
    /// blocks, or a worker inside a block after an output that was not finite. NULL: there is none.
    pub reset: UserFn,
    /// The song is at another frame than the last block led to: the node joins a graph that already plays, or
    /// somebody located. It comes before the block of that frame; a jump inside a block comes before the next one.
    /// Thread: the worker, inside a block. NULL: the processor does not need to know.
    pub locate: LocateFn,
    /// The node has ended, and Hocket no longer uses `user`. Thread: the one that stops the engine, frees or
    /// exchanges the graph, or sends an edit later. NULL: there is nothing to free.
    pub free: UserFn,
    /// The expected work in floating-point operations per frame, more than 0. Only ratios matter.
    pub cost: f64,
    /// How many frames the output lags behind the input.
    pub latency_frames: u32,
}

/// Room for events from the start. The engine passes fewer in one block.
const EVENTS: usize = 256;

/// A processor of the host. Its drop calls `free`.
pub(crate) struct HostProcessor {
    host: Processor,
    events: Vec<Event>,
    /// The song position that the last block led to.
    position: i64,
}

// SAFETY: C: any thread may call `process`. The threads that `reset`, `locate` and `free` name may call
// those. An engine runs a processor on one thread at a time (rule R3 of verified schedules).
unsafe impl Send for HostProcessor {}

impl HostProcessor {
    pub(crate) fn new(processor: &Processor) -> Result<HostProcessor, Failure> {
        if processor.process.is_none() {
            return Err(Failure::null("processor.process"));
        }
        if !(processor.cost.is_finite() && processor.cost > 0.0) {
            let cost = processor.cost;
            return Err(Failure::bad_input(format!("processor.cost of {cost} is not more than 0")));
        }
        Ok(HostProcessor { host: *processor, events: Vec::with_capacity(EVENTS), position: 0 })
    }

    pub(crate) fn cost(&self) -> f64 {
        self.host.cost
    }

    /// Says where the song is, if it jumped.
    fn follow(&mut self, time: &BlockTime<'_>) {
        let position = time.position_at(0);
        if let Some(locate) = self.host.locate.filter(|_| position != self.position) {
            // SAFETY: C.
            unsafe { locate(self.host.user, position.max(0) as u64) }
        }
        let last = time.segments.as_slice().last();
        self.position = last.map_or(position, |segment| segment.end_position());
    }

    fn call(&self, function: UserFn) {
        if let Some(function) = function {
            // SAFETY: C.
            unsafe { function(self.host.user) }
        }
    }
}

impl EngineProcessor for HostProcessor {
    fn process(&mut self, block: &mut EngineBlock<'_>) {
        if let Some(time) = block.time {
            self.follow(time);
        }
        self.events.clear();
        self.events.extend(block.events.iter().map(Event::from));
        let row = |side: Option<StereoRef<'_>>, of: fn(StereoRef<'_>) -> *const f32| {
            side.map_or(std::ptr::null(), of)
        };
        let seen = Block {
            frames: block.frames() as u32,
            left: block.main.left.as_mut_ptr(),
            right: block.main.right.as_mut_ptr(),
            side_left: row(block.side_chain, |side| side.left.as_ptr()),
            side_right: row(block.side_chain, |side| side.right.as_ptr()),
            events: self.events.as_ptr(),
            event_count: self.events.len(),
        };
        if let Some(process) = self.host.process {
            // SAFETY: C. All rows have `frames` samples: the engine's `Block` guarantees it.
            unsafe { process(self.host.user, &seen) }
        }
    }

    fn reset(&mut self) {
        self.call(self.host.reset);
    }

    fn keeps_time(&self) -> bool {
        self.host.locate.is_some()
    }

    fn latency_frames(&self) -> u32 {
        self.host.latency_frames
    }
}

impl Drop for HostProcessor {
    fn drop(&mut self) {
        self.call(self.host.free);
    }
}

impl From<&EngineEvent> for Event {
    fn from(event: &EngineEvent) -> Event {
        let Change::Param { index, value } = event.change;
        Event { frame: event.frame, param: index.into(), value }
    }
}
