//! Background work and main sides as the block path sees them: requests go out, answers come in. What happens to them is in
//! `control/background.rs` and `control/main_thread.rs`.
//!
//! Messages are buffers that circulate between two rings: full ones go one way, empty ones come back (E7, E8). So nothing
//! is allocated and nobody waits. A thread that sends says so in [`Attention`]; after the block the leader wakes those who
//! have something to do.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use hocket_dsp::host::{MainRequests, WorkRefused, WorkRequests, WorkRoom};
use hocket_dsp::{Processor, rows};
use hocket_rt::{Flag, Ring, RingReader, RingWriter, Signal};

use crate::watch::edge;

/// A message in its buffer.
struct Message {
    bytes: Box<[u8]>,
    length: usize,
    /// Of the request that it is, or that it answers: how often the processor had been reset after blocks.
    generation: u64,
}

/// Both ends of one direction. Each end is one thread's at a time.
///
/// Thread: control; allocates the room.
pub(crate) fn messages(room: WorkRoom, generation: &Arc<AtomicU64>) -> (Outgoing, Incoming) {
    let count = room.messages.max(1);
    let ((send, receive), (mut give_back, empty)) = (Ring::new(count), Ring::new(count));
    for _ in 0..count {
        let bytes = vec![0; room.bytes].into_boxed_slice();
        _ = give_back.push(Message { bytes, length: 0, generation: 0 });
    }
    let (generation, played) = (Arc::clone(generation), false);
    let incoming = Incoming {
        receive,
        give_back,
        most: count,
        generation,
        played,
        outlives_reset: room.outlives_reset,
    };
    (Outgoing { send, empty, longest: room.bytes }, incoming)
}

/// The end that sends.
pub(crate) struct Outgoing {
    send: RingWriter<Message>,
    empty: RingReader<Message>,
    longest: usize,
}

impl Outgoing {
    /// Cost: a copy; no allocation.
    pub(crate) fn send(&mut self, bytes: &[u8], generation: u64) -> Result<(), WorkRefused> {
        if bytes.len() > self.longest {
            return Err(WorkRefused::TooLong);
        }
        let mut message = self.empty.pop().ok_or(WorkRefused::Full)?;
        rows::copy(&mut message.bytes[..bytes.len()], bytes);
        (message.length, message.generation) = (bytes.len(), generation);
        // There is a place for each buffer.
        _ = self.send.push(message);
        Ok(())
    }
}

/// The end that receives.
pub(crate) struct Incoming {
    receive: RingReader<Message>,
    give_back: RingWriter<Message>,
    most: usize,
    /// The processor's. Relaxed, as in [`Requests`]: the leader writes it between blocks (E4).
    generation: Arc<AtomicU64>,
    /// Whether a block has run in this generation.
    played: bool,
    /// See [`WorkRoom`]: there is one generation.
    outlives_reset: bool,
}

/// A message on its way back, whatever becomes of who reads it: a block frees nothing.
struct Returning<'a> {
    message: Option<Message>,
    give_back: &'a mut RingWriter<Message>,
}

impl Drop for Returning<'_> {
    fn drop(&mut self) {
        if let Some(message) = self.message.take() {
            // There is a place for each buffer.
            _ = self.give_back.push(message);
        }
    }
}

impl Incoming {
    /// Hands the oldest message over. Returns whether there was one.
    pub(crate) fn take(&mut self, take: impl FnOnce(&[u8], u64)) -> bool {
        let message = self.receive.pop();
        let returning = Returning { message, give_back: &mut self.give_back };
        let Some(message) = &returning.message else { return false };
        take(&message.bytes[..message.length], message.generation);
        true
    }

    /// Hands all over that are here, in their order.
    ///
    /// Thread: the processor's, inside a block or between blocks. Cost: no more calls than there is room for messages.
    pub(super) fn deliver(&mut self, processor: &mut dyn Processor) {
        self.played = true;
        self.hand_over(processor);
    }

    /// Hands over all that are here. From then on those are dropped that answer requests from before, unless no block has run
    /// since the last time: what a processor requests when it joins is answered. None are dropped that outlive a reset.
    ///
    /// Thread: leader, between blocks.
    pub(super) fn end_generation(&mut self, processor: &mut dyn Processor) {
        self.hand_over(processor);
        if std::mem::take(&mut self.played) && !self.outlives_reset {
            self.generation.fetch_add(1, Relaxed);
        }
    }

    fn hand_over(&mut self, processor: &mut dyn Processor) {
        let (mut left, present) = (self.most, self.generation.load(Relaxed));
        let mut answered = |answer: &[u8], generation| {
            if generation == present {
                processor.answered(answer);
            }
        };
        while left > 0 && self.take(&mut answered) {
            left -= 1;
        }
    }
}

/// What is counted about the background work of a processor.
#[derive(Default)]
pub(crate) struct WorkCounts {
    /// Relaxed, as below: each number stands for itself.
    pub(crate) requests_refused: AtomicU64,
    pub(crate) answers_refused: AtomicU64,
    pub(crate) ended: AtomicBool,
}

/// Wakes the threads beside the audio threads that have something to do for processors.
pub(crate) struct Attention {
    /// Advances when there may be something. Its edge (E1) shows a thread that looks afterwards what there is.
    pub(crate) signal: Signal,
    /// Whether a processor sent something since the leader looked. Relaxed: workers write it inside a block, and the leader
    /// reads it behind the block's end (E5).
    wanted: AtomicBool,
}

impl Attention {
    /// Thread: control.
    pub(crate) fn new() -> Attention {
        Attention { signal: Signal::with_fan_out(2), wanted: AtomicBool::new(false) }
    }

    /// A processor sent something.
    fn want(&self) {
        if !self.wanted.load(Relaxed) {
            self.wanted.store(true, Relaxed);
        }
    }

    /// Wakes those who wait if a processor sent something.
    ///
    /// Thread: leader, between blocks. Cost: a load; one system call after a block in which something was sent.
    #[inline]
    pub(crate) fn wake(&self) {
        if self.wanted.load(Relaxed) {
            self.wanted.store(false, Relaxed);
            edge(|| self.signal.advance());
        }
    }
}

/// A processor's end of its background work.
pub(crate) struct Requests {
    /// `None`: it was never taken.
    pub(crate) out: Option<Outgoing>,
    pub(crate) counts: Arc<WorkCounts>,
    pub(crate) attention: Arc<Attention>,
    /// The processor's. Relaxed: the leader writes it between blocks (E4).
    pub(crate) generation: Arc<AtomicU64>,
}

impl Requests {
    fn send(&mut self, request: &[u8]) -> Result<(), WorkRefused> {
        let ended = self.counts.ended.load(Relaxed);
        let out = self.out.as_mut().filter(|_| !ended).ok_or(WorkRefused::Ended)?;
        out.send(request, self.generation.load(Relaxed))
    }
}

impl WorkRequests for Requests {
    fn request(&mut self, request: &[u8]) -> Result<(), WorkRefused> {
        let sent = self.send(request);
        match sent {
            Ok(()) => self.attention.want(),
            Err(_) => _ = self.counts.requests_refused.fetch_add(1, Relaxed),
        }
        sent
    }
}

/// What a processor asked its main side for and has not got yet. Relaxed but for the flag: each stands for itself.
#[derive(Default)]
pub(crate) struct Wanted {
    /// What the processor did before is seen in the call (E13).
    pub(crate) call: Flag,
    pub(crate) restart: AtomicBool,
    /// A number of frames and one more; 0: nothing new.
    pub(crate) latency: AtomicU64,
    /// The same; [`u64::MAX`] is itself.
    pub(crate) tail: AtomicU64,
    /// Calls in which the processor failed: blocks, or pieces of them. Nobody takes it back but a reset.
    pub(crate) failed: AtomicU64,
    /// Events that the processor had no room to pass on. Nobody takes it back but a reset.
    pub(crate) events_lost: AtomicU64,
}

/// A processor's end of its main side.
pub(crate) struct Calls {
    pub(crate) wanted: Arc<Wanted>,
    pub(crate) attention: Arc<Attention>,
}

impl MainRequests for Calls {
    fn call(&mut self) {
        self.wanted.call.raise();
        self.attention.want();
    }

    fn latency_changed(&mut self, frames: u32) {
        self.wanted.latency.store(u64::from(frames) + 1, Relaxed);
        self.attention.want();
    }

    fn tail_changed(&mut self, frames: u64) {
        self.wanted.tail.store(frames.saturating_add(1), Relaxed);
        self.attention.want();
    }

    fn restart(&mut self) {
        self.wanted.restart.store(true, Relaxed);
        self.attention.want();
    }

    fn failed(&mut self) {
        self.wanted.failed.fetch_add(1, Relaxed);
    }

    fn events_lost(&mut self, events: u64) {
        self.wanted.events_lost.fetch_add(events, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn room(messages: usize, bytes: usize) -> WorkRoom {
        WorkRoom { messages, bytes, outlives_reset: false }
    }

    #[test]
    fn messages_keep_their_order_and_what_finds_no_room_is_refused() {
        let (mut out, mut incoming) = messages(room(3, 4), &Arc::default());
        assert_eq!(out.send(&[1; 5], 0), Err(WorkRefused::TooLong));
        for round in 0..5u8 {
            for message in [&[round][..], &[], &[round; 4]] {
                assert_eq!(out.send(message, 0), Ok(()));
            }
            assert_eq!(out.send(&[], 0), Err(WorkRefused::Full));
            let mut heard = Vec::new();
            while incoming.take(|bytes, _| heard.push(bytes.to_vec())) {}
            assert_eq!(heard, [vec![round], vec![], vec![round; 4]]);
        }
    }

    #[test]
    fn a_message_comes_back_if_its_reader_panics() {
        let (mut out, mut incoming) = messages(room(1, 1), &Arc::default());
        for _ in 0..3 {
            assert_eq!(out.send(&[1], 0), Ok(()));
            let take = std::panic::AssertUnwindSafe(|| incoming.take(|_, _| panic!("as asked")));
            assert!(std::panic::catch_unwind(take).is_err());
        }
    }
}
