//! The server's transport: where it is in a cycle, requests to it, and the answer to a server that waits for us.

use std::ffi::c_int;
use std::mem::offset_of;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};
use std::sync::{Arc, Mutex, PoisonError};

use super::client::Events;
use super::functions::{Functions, Handle, Position};

/// What a server's transport does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TransportState {
    /// It stands still.
    Stopped,
    /// It stands still until every client is ready, and rolls then.
    Starting,
    /// It moves on with each cycle.
    Rolling,
}

impl TransportState {
    /// `jack_transport_state_t`. What a later version adds counts as standing still.
    fn of(state: c_int) -> TransportState {
        match state {
            0 => TransportState::Stopped,
            // `JackTransportLooping` is rolling under another name; no server reports it any more.
            1 | 2 => TransportState::Rolling,
            _ => TransportState::Starting,
        }
    }
}

/// Where a server's transport is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TransportAt {
    /// What it does.
    pub state: TransportState,
    /// The frame of the song, at the server's rate. In a cycle it is that of the cycle's first frame.
    pub frame: u32,
}

/// Where the transport is: in the process thread, for the whole cycle.
///
/// Thread: any. jack.h: real-time safe. libjack copies from shared memory, without a lock or a system call.
pub(super) fn transport_at(
    functions: &Functions,
    handle: Handle,
    position: &mut Position,
) -> TransportAt {
    // SAFETY: Types, Open.
    let state = unsafe { (functions.transport_query)(handle, &raw mut *position) };
    TransportAt { state: TransportState::of(state), frame: position.frame }
}

/// A place where the server wants to start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// How many were asked for before. It wraps around.
    number: u32,
    /// The frame of the song.
    pub frame: u32,
}

impl Place {
    fn of(word: u64) -> Place {
        Place { number: (word >> 32) as u32, frame: word as u32 }
    }

    fn word(self) -> u64 {
        u64::from(self.number) << 32 | u64::from(self.frame)
    }
}

/// The conversation of the server's thread, which asks again in each cycle, with a control thread that reads ahead.
#[derive(Debug, Default)]
pub(super) struct Readiness {
    /// The latest place, in one word: nobody reads the number of one with the frame of another. The server's thread writes
    /// it. Relaxed: it publishes nothing.
    asked: AtomicU64,
    /// The number of the latest place that is ready. A control thread writes it, and publishes with it what was read.
    ready: AtomicU32,
    /// The number of the latest place that the server waits for no longer. The server's thread writes it. Relaxed: as above.
    over: AtomicU32,
    /// Whether the server is to wait for us. Relaxed: either answer is right at any time.
    holds: AtomicBool,
}

impl Readiness {
    /// From now on the server waits where it starts, or no longer. Thread: control.
    pub(super) fn hold(&self, holds: bool) {
        self.holds.store(holds, Relaxed);
    }

    /// What the server's question is answered with. Thread: the server's. No allocation, lock or system call.
    fn answer(&self, at: TransportAt) -> bool {
        let asked = Place::of(self.asked.load(Relaxed));
        if at.state == TransportState::Rolling || !self.holds.load(Relaxed) {
            // A server that was out of patience has started without us.
            self.over.store(asked.number, Relaxed);
            return true;
        }
        if self.over.load(Relaxed) == asked.number || asked.frame != at.frame {
            let next = Place { number: asked.number.wrapping_add(1), frame: at.frame };
            self.asked.store(next.word(), Relaxed);
            return false;
        }
        let is_ready = self.ready.load(Acquire) == asked.number; // D2 (load)
        if is_ready {
            self.over.store(asked.number, Relaxed);
        }
        is_ready
    }

    fn awaited(&self) -> Option<Place> {
        let asked = Place::of(self.asked.load(Relaxed));
        // Relaxed: this thread has written `ready` itself, and a stale `over` asks for a place once more.
        let is_open = [&self.over, &self.ready].iter().all(|at| at.load(Relaxed) != asked.number);
        is_open.then_some(asked)
    }

    fn is_ready_at(&self, place: Place) {
        self.ready.store(place.number, Release); // D2 (store)
    }
}

/// The server asks whether we are ready: the sync callback's work.
///
/// # Safety
/// `position` is what libjack hands to a sync callback.
pub(super) unsafe fn answer(events: &Events, state: c_int, position: *const Position) -> bool {
    // SAFETY: the caller's obligation. libjack's struct may be shorter than `Position` and lie anywhere, so this reads one
    // field.
    let frame = unsafe {
        position.cast::<u8>().add(offset_of!(Position, frame)).cast::<u32>().read_unaligned()
    };
    events.readiness().answer(TransportAt { state: TransportState::of(state), frame })
}

/// A client's handle while the client is there.
struct Door(Option<Handle>);

// SAFETY: jack.h lets any thread call the functions that go through a door.
unsafe impl Send for Door {}

/// Requests to the transport, and reading ahead for it. Clones have the same client.
#[derive(Clone)]
pub(in crate::jack) struct Requests {
    functions: &'static Functions,
    /// The lock is held for each call, so that the client does not leave meanwhile.
    door: Arc<Mutex<Door>>,
    events: Arc<Events>,
}

impl Requests {
    pub(super) fn new(functions: &'static Functions, handle: Handle, events: &Arc<Events>) -> Self {
        let door = Arc::new(Mutex::new(Door(Some(handle))));
        Requests { functions, door, events: Arc::clone(events) }
    }

    /// The client is about to leave; waits for a call that is under way.
    pub(super) fn close(&self) {
        self.door.lock().unwrap_or_else(PoisonError::into_inner).0 = None;
    }

    /// `None`: the client has left, or the server has ended.
    fn call<T>(&self, call: impl FnOnce(&Functions, Handle) -> T) -> Option<T> {
        let door = self.door.lock().unwrap_or_else(PoisonError::into_inner);
        let handle = door.0.filter(|_| self.events.gone().is_none())?;
        Some(call(self.functions, handle))
    }

    pub(in crate::jack) fn start(&self) -> Option<()> {
        // SAFETY: Types, Open: the door is closed before the client.
        self.call(|functions, handle| unsafe { (functions.transport_start)(handle) })
    }

    pub(in crate::jack) fn stop(&self) -> Option<()> {
        // SAFETY: as in `start`.
        self.call(|functions, handle| unsafe { (functions.transport_stop)(handle) })
    }

    /// Returns whether the server accepts the request.
    pub(in crate::jack) fn locate(&self, frame: u32) -> Option<bool> {
        // SAFETY: as in `start`.
        self.call(|functions, handle| unsafe { (functions.transport_locate)(handle, frame) == 0 })
    }

    pub(in crate::jack) fn now(&self) -> Option<TransportAt> {
        self.call(|functions, handle| transport_at(functions, handle, &mut Position::default()))
    }

    pub(in crate::jack) fn awaited(&self) -> Option<Place> {
        self.events.readiness().awaited()
    }

    pub(in crate::jack) fn is_ready_at(&self, place: Place) {
        self.events.readiness().is_ready_at(place);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use TransportState::{Rolling, Starting, Stopped};

    fn at(state: TransportState, frame: u32) -> TransportAt {
        TransportAt { state, frame }
    }

    fn holding() -> Readiness {
        let readiness = Readiness::default();
        readiness.hold(true);
        readiness
    }

    #[test]
    fn every_place_is_waited_for_once_also_the_same_one_again() {
        let readiness = holding();
        assert_eq!(readiness.awaited(), None);
        for (state, frame) in [(Stopped, 700), (Starting, 700), (Starting, u32::MAX), (Starting, 0)]
        {
            let asks = || readiness.answer(at(state, frame));
            assert!(!asks());
            let place = readiness.awaited().expect("a place");
            assert_eq!(place.frame, frame);
            assert!(!asks());
            assert_eq!(readiness.awaited(), Some(place), "it is still the same question");
            readiness.is_ready_at(place);
            assert_eq!(readiness.awaited(), None);
            assert!(asks());
        }
    }

    #[test]
    fn only_the_latest_place_counts() {
        let readiness = holding();
        assert!(!readiness.answer(at(Starting, 1)));
        let first = readiness.awaited().unwrap();
        assert!(!readiness.answer(at(Starting, 2)));
        readiness.is_ready_at(first);
        assert!(!readiness.answer(at(Starting, 2)), "it is ready somewhere else");
        readiness.is_ready_at(readiness.awaited().unwrap());
        assert!(readiness.answer(at(Starting, 2)));
    }

    #[test]
    fn a_server_that_rolls_or_need_not_wait_is_not_held_up() {
        let readiness = holding();
        assert!(!readiness.answer(at(Starting, 5)));
        let late = readiness.awaited().unwrap();
        // Its patience is over.
        assert!(readiness.answer(at(Rolling, 5)) && readiness.answer(at(Rolling, 69)));
        assert_eq!(readiness.awaited(), None);
        readiness.is_ready_at(late);
        assert!(!readiness.answer(at(Starting, 5)), "an old answer is for an old question");
        readiness.hold(false);
        assert!(readiness.answer(at(Starting, 5)) && readiness.answer(at(Stopped, 6)));
        assert_eq!(readiness.awaited(), None);
    }

    #[test]
    fn what_was_read_ahead_is_there_when_the_server_starts() {
        for round in 1..200 {
            let (readiness, memory) = (holding(), AtomicU32::new(0));
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    let place = loop {
                        match readiness.awaited() {
                            Some(place) => break place,
                            None => std::thread::yield_now(),
                        }
                    };
                    memory.store(round, Relaxed);
                    readiness.is_ready_at(place);
                });
                while !readiness.answer(at(Starting, round)) {
                    std::thread::yield_now();
                }
                assert_eq!(memory.load(Relaxed), round);
            });
        }
    }
}
