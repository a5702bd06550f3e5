//! What a processor may ask of its engine besides blocks: background work, and calls of its main side.
//!
//! A processor that needs more than [`Processor`](crate::Processor) has up to two further halves, which it hands over when
//! it joins an engine ([`Processor::join`](crate::Processor::join)):
//!
//! - [`BackgroundWork`] runs on a thread of its own, for what takes too long for a block, such as reading a file. Requests
//!   go there, answers come back.
//! - [`MainSide`] runs on the engine's *main thread*, for what a plug-in may do only there.
//!
//! # Which calls may overlap
//! Never two calls of one half. The processor's own calls come from one thread at a time: workers and the leader inside
//! blocks, the leader between them. Background work and the main side may run at the same time as the processor and as
//! each other, so they share with it only what threads may share.
//!
//! # The end
//! A processor that was removed, or whose engine ended, is freed on the main thread, never on an audio thread: when no
//! block can run it any more, and after its background work has returned for the last time. First goes the processor,
//! then the background work, then the main side.

use std::any::Any;
use std::error::Error;

/// The engine, as a processor meets it.
pub trait Host {
    /// The most frames of a block. It may grow later ([`MainSide::grow`]).
    fn largest_block(&self) -> usize;

    /// The name of the processor's node, for reports. By default it has none.
    fn node(&self) -> &str {
        ""
    }

    /// Has `work` done in the background. `room`: for requests, and as much for answers. Returns the end that takes
    /// requests; answers come to [`Processor::answered`](crate::Processor::answered). A second call replaces nothing: it
    /// gets an end that refuses.
    ///
    /// Thread: control. Cost: allocates the room; starts a thread.
    fn background(
        &mut self,
        work: Box<dyn BackgroundWork>,
        room: WorkRoom,
    ) -> Box<dyn WorkRequests>;

    /// Has `side` called on the main thread. Returns the end that asks for it. A second call gets an end that asks for
    /// nothing.
    ///
    /// Thread: control; allocates.
    fn main_side(&mut self, side: Box<dyn MainSide>) -> Box<dyn MainRequests>;
}

/// Room for messages in one direction, and what becomes of answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorkRoom {
    /// How many may wait; at least 1.
    pub messages: usize,
    /// The longest message, in bytes.
    pub bytes: usize,
    /// Whether answers still come if the processor was reset since the request. Otherwise they are dropped
    /// ([`Processor::reset`](crate::Processor::reset)).
    pub outlives_reset: bool,
}

/// Why a message is not taken. It is counted, so it is never lost without a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkRefused {
    /// As many messages wait as there is room for.
    Full,
    /// It has more bytes than there is room for.
    TooLong,
    /// The background work has panicked or was never taken.
    Ended,
}

impl std::fmt::Display for WorkRefused {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(match self {
            WorkRefused::Full => "as many messages wait as there is room for",
            WorkRefused::TooLong => "the message is longer than the room for one",
            WorkRefused::Ended => "the background work has ended",
        })
    }
}

impl Error for WorkRefused {}

/// Where a processor requests background work.
pub trait WorkRequests: Send {
    /// Sends a request, of which it copies the bytes; there may be none.
    ///
    /// The work begins soon after the block. Offline the leader does it before the next block.
    ///
    /// Thread: the processor's, in any of its calls after [`Processor::join`](crate::Processor::join). Cost: a copy; no
    /// allocation, lock or system call.
    ///
    /// # Errors
    /// [`WorkRefused`]: nothing is sent.
    fn request(&mut self, request: &[u8]) -> Result<(), WorkRefused>;
}

/// What a processor has done off the audio thread.
pub trait BackgroundWork: Send {
    /// Works on one request and sends any number of answers, also later ones for earlier requests.
    ///
    /// Thread: one at a time, none of real time: live a thread of this processor's own, offline the leader between two
    /// blocks. It may allocate, lock and wait, but not for the
    /// engine: a call of the engine's control handle that waits for the main thread may wait for ever, because the main
    /// thread may wait for this work. Requests come one by one in their order.
    fn work(&mut self, request: &[u8], answers: &mut dyn WorkAnswers);
}

/// Where background work sends its answers.
pub trait WorkAnswers {
    /// Sends an answer, of which it copies the bytes; there may be none. It arrives before the processor's next block, in
    /// the order of sending.
    ///
    /// # Errors
    /// [`WorkRefused`]: nothing is sent.
    fn answer(&mut self, answer: &[u8]) -> Result<(), WorkRefused>;

    /// Whether the processor goes. Long work should return then; its removal waits for it.
    fn is_ending(&self) -> bool;
}

/// Where a processor asks for calls of its main side and says what has changed.
///
/// Thread: the processor's, in any of its calls after [`Processor::join`](crate::Processor::join). Cost: two stores each;
/// no allocation, lock or system call. Several calls before the main thread comes count as one.
pub trait MainRequests: Send {
    /// Asks for [`MainSide::called`].
    fn call(&mut self);

    /// The output lags behind the input by so many frames from now on. The engine makes a plan with other delays; these
    /// fade in. The last number counts.
    fn latency_changed(&mut self, frames: u32);

    /// The output goes on for so many frames after the input. [`u64::MAX`]: for ever. The engine tells the host program.
    fn tail_changed(&mut self, frames: u64);

    /// The processor wants to be made anew by the host program, which the engine tells so.
    fn restart(&mut self);

    /// The processor could not process its block, and its output is silent there. The engine counts the calls and names the
    /// node. An effect that can be bypassed gets a long block in pieces ([`Bypass`](crate::Bypass)), and each piece that
    /// fails counts. By default nobody counts.
    fn failed(&mut self) {}

    /// The processor got `events` events that it had no room to pass on, as the buffers of a plug-in may be full. The engine
    /// counts them with those that found no room on an event edge, and names the node. By default nobody counts.
    fn events_lost(&mut self, events: u64) {
        let _ = events;
    }
}

/// Why a main side cannot save or load. The text is for users.
pub type StateError = Box<dyn Error + Send + Sync>;

/// A processor has no state: what [`MainSide::save`] returns by default. Who saves all states leaves it out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoState;

impl std::fmt::Display for NoState {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("this processor saves no state")
    }
}

impl Error for NoState {}

/// The half of a processor that is called on the engine's main thread only.
pub trait MainSide: Send {
    /// The processor has asked for it ([`MainRequests::call`]).
    fn called(&mut self) {}

    /// The processor's state as bytes, while it plays. A processor that cannot look at its state then keeps a copy on
    /// this side.
    ///
    /// # Errors
    /// [`StateError`]; [`NoState`] for a processor that has none, as by default.
    fn save(&mut self) -> Result<Vec<u8>, StateError> {
        Err(NoState.into())
    }

    /// Makes what [`Processor::exchange`](crate::Processor::exchange) needs to go on with a state that
    /// [`MainSide::save`] returned. Nothing is heard of it before that call.
    ///
    /// # Errors
    /// [`StateError`], for example of bytes that are no state. Also the default.
    fn load(&mut self, state: &[u8]) -> Result<Box<dyn Any + Send>, StateError> {
        let _ = state;
        Err("this processor loads no state".into())
    }

    /// Makes what [`Processor::exchange`](crate::Processor::exchange) needs for blocks of up to so many frames; `None`:
    /// the processor needs nothing for that. What it makes may be freed unused, and it may be asked for the same number again.
    /// No smaller number follows a larger one. What [`MainSide::load`] makes later has to do for so many frames too.
    fn grow(&mut self, frames: usize) -> Option<Box<dyn Any + Send>> {
        let _ = frames;
        None
    }
}
