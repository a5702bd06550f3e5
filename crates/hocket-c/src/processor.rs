//! Processors of the host: what a callback gets, and the engine's side of it.

use std::any::Any;
use std::ffi::c_void;
use std::ptr::{null, null_mut};
use std::sync::Arc;

use hocket_engine::host::Host as EngineHost;
use hocket_engine::time::{BlockTime, MAX_SEGMENTS};
use hocket_engine::{Block as EngineBlock, Change, MoreRows, Ports, TimedChange as EngineChange};
use hocket_engine::{Processor as EngineProcessor, StereoRef};

use crate::event_room::EventRoom;
use crate::events::{Mail, Messages};
use crate::failure::Failure;
use crate::host::{Ends, Host, Joining, Made, call};
use crate::spread::Spread;
use crate::time::{Clock, Segment, Time};

/// A parameter that changes inside a block.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct TimedChange {
    /// Frame at which it changes, counted from the start of the block.
    pub frame: u32,
    /// The parameter, as in `hocket_engine_set_node`.
    pub param: u32,
    /// Its new value.
    pub value: f32,
}

/// One block of audio for a processor of the host. All pointers are valid until the callback returns.
///
/// A stereo node needs only the first fields. A node with other ports (`hocket_graph_set_ports`) finds all its
/// channels in `main`, `side_chain` and `extra`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Block {
    /// The first main row: `frames` samples, 1.0 is full scale. It holds the sum of the node's inputs. What the
    /// callback writes there is the node's output.
    pub left: *mut f32,
    /// The second main row. NULL if the node has one main channel.
    pub right: *mut f32,
    /// The first row of the side chain, read-only. NULL if the node has none.
    pub side_left: *const f32,
    /// The second row of the side chain, read-only, or the first one again if there is only one. NULL if the node
    /// has none.
    pub side_right: *const f32,
    /// Changes of parameters, sorted by frame.
    pub events: *const TimedChange,
    /// Number of `events`.
    pub event_count: usize,
    /// Samples of each row, at least 1.
    pub frames: u32,
    /// Number of `main`, at least 1.
    pub main_count: u32,
    /// All main rows, changed in place. The first two are `left` and `right`.
    pub main: *const *mut f32,
    /// All rows of the side chain, read-only.
    pub side_chain: *const *const f32,
    /// All rows of the extra outputs. They begin as silence.
    pub extra: *const *mut f32,
    /// Number of `side_chain`.
    pub side_chain_count: u32,
    /// Number of `extra`.
    pub extra_count: u32,
    /// Where the song is at the block's first frame. NULL if the processor does not keep time.
    pub time: *const Time,
    /// The stretches in which the song runs without a jump, in order and without gaps.
    pub segments: *const Segment,
    /// Number of `segments`: at least 1 for a processor that keeps time, otherwise 0.
    pub segment_count: usize,
    /// For `hocket_time_at`, which says where the song is at any frame. NULL if the processor does not keep time.
    pub clock: *const Clock,
    /// The node's event ports, for `hocket_message_at` and `hocket_message_send`, which take the block. Event edges bring
    /// messages, also changes of parameters. Edits and automation lanes come in `events`.
    pub messages: *const Messages,
    /// How many messages the event edges bring in this block.
    pub message_count: usize,
    /// For `hocket_block_spread`, which takes the block.
    pub spread: *const Spread,
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

/// Called with a processor's `user` and the engine that it joins.
pub type JoinFn = Option<unsafe extern "C" fn(user: *mut c_void, host: *mut Host)>;

/// Called with a processor's `user` and an answer of its background work, of `bytes` bytes.
pub type AnsweredFn =
    Option<unsafe extern "C" fn(user: *mut c_void, answer: *const c_void, bytes: usize)>;

/// Called with a processor's `user` and what its main side has made. Returns what is no longer needed.
pub type ExchangeFn =
    Option<unsafe extern "C" fn(user: *mut c_void, purpose: u32, made: *mut c_void) -> *mut c_void>;

/// Called with a processor's `user`, a parameter and its value.
pub type PresetFn = Option<unsafe extern "C" fn(user: *mut c_void, param: u32, value: f32)>;

/// A processor of the host. Begin with zeros: a callback that is NULL is not needed, but for `process`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub struct Processor {
    /// The argument of every call.
    pub user: *mut c_void,
    /// Processes a block. Not NULL.
    pub process: ProcessFn,
    /// Forgets all history (delay lines, envelopes) and keeps the parameters. Later answers to requests of background
    /// work from before are dropped, so the processor requests again what it still needs. Thread: the leader between
    /// blocks, or a worker inside a block after an output that was not finite. NULL: there is none.
    pub reset: UserFn,
    /// The song is at another frame than the last block led to: the node joins a graph that already plays, or
    /// somebody located. It comes before the block of that frame; a jump inside a block comes before the next one.
    /// Thread: the worker, inside a block. NULL: the processor does not need to know.
    pub locate: LocateFn,
    /// The node has ended, and Hocket no longer uses `user`. Thread: one of the engine's that plays no sound, always the
    /// same, and at the latest before `hocket_engine_stop` returns; where no engine has started, the one that frees or
    /// starts the graph. NULL: there is nothing to free.
    pub free: UserFn,
    /// The expected work in floating-point operations per frame, more than 0. Only ratios matter.
    pub cost: f64,
    /// How many frames the output lags behind the input.
    pub latency_frames: u32,
    /// Whether blocks say where the song is (`time`, `segments` and `clock` of `hocket_block`). The time is that of
    /// the sound that reaches the node: behind a latency of 100 frames, 100 frames earlier.
    pub keeps_time: bool,
    /// Meets the engine: once, before the first block. Here a processor asks for background work
    /// (`hocket_host_background`) and a main side (`hocket_host_main_side`), and learns the largest block
    /// (`hocket_host_largest_block`). Thread: the one that starts the graph or exchanges it. It must not call a
    /// function that takes an engine. NULL: the processor needs none of it.
    pub join: JoinFn,
    /// Takes an answer of its background work. All that have come since the last block come before the next one, in order.
    /// Thread: the worker, inside the block, or the leader before `reset`. As in `process`: no allocation, lock or
    /// system call. NULL: the processor needs no answers.
    pub answered: AnsweredFn,
    /// Goes on with what its main side has made, and returns what is no longer needed, for example the old memory. That is
    /// freed with `free_made` of `hocket_main_side`, unless it is NULL. `purpose`: `HOCKET_MADE_FOR_STATE` or
    /// `HOCKET_MADE_FOR_FRAMES`. Thread: the leader, between blocks: no allocation, lock or system call. NULL: the
    /// main side makes nothing.
    pub exchange: ExchangeFn,
    /// A parameter has this value before the first block, because of its automation lane. A `reset` follows. Thread:
    /// control before it plays, or the leader between blocks. NULL: the processor takes its parameters from `events`
    /// alone.
    pub preset: PresetFn,
    /// The most messages that it sends on its own at a frame to which the song jumps, besides those that are due, as a
    /// player does that chases notes and controllers. Its event output and the event inputs that read it have room for so
    /// many more, for each jump that a block can have, up to 16,384 messages. 0: it sends nothing more there.
    pub events_per_jump: u32,
}

/// Channels of a port.
const CHANNELS: usize = Ports::MOST as usize;

/// A processor of the host. Its drop calls `free`.
pub(crate) struct HostProcessor {
    host: Processor,
    events: Arc<EventRoom>,
    segments: Vec<Segment>,
    rows: Box<RowPointers>,
    /// The song position that the last block led to.
    position: i64,
    /// What it got when it joined an engine.
    ends: Ends,
}

/// The rows of a block, by port. Only a block's own callback reads them.
struct RowPointers {
    main: [*mut f32; CHANNELS],
    side_chain: [*const f32; CHANNELS],
    extra: [*mut f32; CHANNELS],
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
        Ok(HostProcessor {
            host: *processor,
            events: Arc::new(EventRoom::new()),
            segments: Vec::with_capacity(if processor.keeps_time { MAX_SEGMENTS } else { 0 }),
            rows: Box::new(RowPointers::NONE),
            position: 0,
            ends: Ends::default(),
        })
    }

    /// Where it puts the changes of parameters.
    pub(crate) fn event_room(&self) -> &Arc<EventRoom> {
        &self.events
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

    /// The block as the callback sees it, without time and events.
    fn seen(&self, block: &EngineBlock<'_>) -> Block {
        let row = |side: Option<StereoRef<'_>>, of: fn(StereoRef<'_>) -> *const f32| {
            side.map_or(null(), of)
        };
        let more = block.more.as_ref();
        Block {
            left: self.rows.main[0],
            right: self.rows.main[1],
            side_left: row(block.side_chain, |side| side.left.as_ptr()),
            side_right: row(block.side_chain, |side| side.right.as_ptr()),
            events: null(),
            event_count: 0,
            frames: block.frames() as u32,
            main_count: block.channels() as u32,
            main: self.rows.main.as_ptr(),
            side_chain: self.rows.side_chain.as_ptr(),
            extra: self.rows.extra.as_ptr(),
            side_chain_count: more.map_or(0, |more| more.side_chain.len() as u32),
            extra_count: more.map_or(0, |more| more.extra.len() as u32),
            time: null(),
            segments: self.segments.as_ptr(),
            segment_count: self.segments.len(),
            clock: null(),
            messages: null(),
            message_count: 0,
            spread: Spread::of(block),
        }
    }
}

impl RowPointers {
    const NONE: RowPointers = RowPointers {
        main: [null_mut(); CHANNELS],
        side_chain: [null(); CHANNELS],
        extra: [null_mut(); CHANNELS],
    };

    /// Notes the rows of a block. Stereo nodes have the first two only.
    fn note(&mut self, block: &mut EngineBlock<'_>) {
        let right = &mut block.main.right;
        self.main[0] = block.main.left.as_mut_ptr();
        self.main[1] = if right.is_empty() { null_mut() } else { right.as_mut_ptr() };
        if let Some(more) = &mut block.more {
            self.note_more(more);
        }
    }

    fn note_more(&mut self, more: &mut MoreRows<'_>) {
        let rows = more.main.iter_mut().zip(&mut self.main[2..]);
        rows.for_each(|(row, place)| *place = row.as_mut_ptr());
        let rows = (0..more.side_chain.len()).zip(&mut self.side_chain);
        rows.for_each(|(row, place)| *place = more.side_chain.row(row).as_ptr());
        let rows = more.extra.iter_mut().zip(&mut self.extra);
        rows.for_each(|(row, place)| *place = row.as_mut_ptr());
    }
}

impl EngineProcessor for HostProcessor {
    fn process(&mut self, block: &mut EngineBlock<'_>) {
        if let Some(time) = block.time {
            self.follow(time);
        }
        // SAFETY: this is the node's processor, and `seen` below ends before the next call.
        let (events, event_count) = unsafe { self.events.fill(block.events) };
        let time = block.time.filter(|_| self.host.keeps_time);
        let segments = time.map_or(&[][..], |time| time.segments.as_slice());
        self.segments.clear();
        self.segments.extend(segments.iter().map(Segment::from));
        self.rows.note(block);
        let now = time.map(|time| Time::at(time, 0));
        let Some(process) = self.host.process else { return };
        let mail = Mail::of(block);
        let seen = Block {
            events,
            event_count,
            messages: mail.handle(),
            message_count: mail.count(),
            time: now.as_ref().map_or(null(), std::ptr::from_ref),
            clock: time.map_or(null(), Clock::of),
            ..self.seen(block)
        };
        // SAFETY: C. All rows have `frames` samples: the engine's `Block` guarantees it.
        unsafe { process(self.host.user, &seen) }
    }

    fn join(&mut self, host: &mut dyn EngineHost) {
        let (ends, exchanges) = (&mut self.ends, self.host.exchange.is_some());
        let mut joining = Joining { host, ends, exchanges };
        if let Some(join) = self.host.join {
            // SAFETY: C.
            unsafe { join(self.host.user, joining.handle()) }
        }
    }

    fn answered(&mut self, answer: &[u8]) {
        if let Some(answered) = self.host.answered {
            // SAFETY: C.
            unsafe { answered(self.host.user, answer.as_ptr().cast(), answer.len()) }
        }
    }

    fn exchange(&mut self, new: &mut (dyn Any + Send)) {
        let (Some(exchange), Some(new)) = (self.host.exchange, new.downcast_mut::<Made>()) else {
            return;
        };
        // SAFETY: C. What it returns was made for the same purpose.
        new.made = unsafe { exchange(self.host.user, new.purpose, new.made) };
    }

    fn preset(&mut self, change: Change) {
        let Change::Param { index, value } = change;
        if let Some(preset) = self.host.preset {
            // SAFETY: C.
            unsafe { preset(self.host.user, index.into(), value) }
        }
    }

    fn reset(&mut self) {
        call(self.host.reset, self.host.user);
    }

    fn keeps_time(&self) -> bool {
        self.host.locate.is_some() || self.host.keeps_time
    }

    fn events_per_jump(&self) -> usize {
        self.host.events_per_jump as usize
    }

    fn latency_frames(&self) -> u32 {
        self.host.latency_frames
    }
}

impl Drop for HostProcessor {
    fn drop(&mut self) {
        call(self.host.free, self.host.user);
    }
}

impl From<&EngineChange> for TimedChange {
    fn from(event: &EngineChange) -> TimedChange {
        let Change::Param { index, value } = event.change;
        TimedChange { frame: event.frame, param: index.into(), value }
    }
}
