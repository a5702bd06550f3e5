//! What became of a clock, as the server's thread counts it and control threads read it.
//!
//! Each number stands for itself and publishes nothing, so all accesses are relaxed. The server's thread alone writes.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};

/// A number that grows. Thread: any reads; the server's writes.
#[derive(Debug, Default)]
pub struct Count(AtomicU64);

impl Count {
    /// What it is now.
    pub fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }

    pub(super) fn add(&self, more: u64) {
        self.0.store(self.get().wrapping_add(more), Relaxed);
    }

    pub(super) fn at_least(&self, value: u64) {
        self.0.store(self.get().max(value), Relaxed);
    }
}

/// What a clock that was sent consists of. See [`Jack::send_clock`](crate::Jack::send_clock).
#[derive(Debug, Default)]
pub struct ClockSent {
    /// Pulses.
    pub pulses: Count,
    /// Messages that start the song, or let it go on.
    pub starts: Count,
    /// Messages that stop the song.
    pub stops: Count,
    /// Song positions.
    pub positions: Count,
    /// Times that the song was at a place that no song position can say: receivers stand still then.
    pub beyond: Count,
    /// Messages that found no room in a cycle. Receivers stop and start anew behind them.
    pub no_room: Count,
}

/// What came of a clock that is followed. See [`Jack::follow_clock`](crate::Jack::follow_clock).
#[derive(Debug, Default)]
pub struct ClockFollowed {
    /// Pulses.
    pub pulses: Count,
    /// Of these, how many came while the song was to stand still.
    pub unused_pulses: Count,
    /// Messages that start the song, or let it go on.
    pub starts: Count,
    /// Messages that stop the song.
    pub stops: Count,
    /// Song positions.
    pub positions: Count,
    /// Messages that mean nothing to a transport, or are damaged.
    pub ignored: Count,
    /// Times that the clock came no longer while the song played, and the song was stopped.
    pub lost: Count,
    /// Commands that found no room in the engine. They are made up for at the next pulse or cycle.
    pub no_room: Count,
    /// Quarter notes that were measured.
    pub quarters: Count,
    /// Of these, how many were shorter or longer than the session's by more than a hundredth.
    pub other_tempo: Count,
    /// How long all measured quarter notes took, in frames.
    pub took_frames: Count,
    /// How long the session has them, in frames.
    pub session_frames: Count,
    /// The farthest that the song was from the clock, in frames.
    pub most_apart: Count,
    /// Where the song is to go on; see [`ClockFollowed::waits_at`].
    place: AtomicI64,
}

impl ClockFollowed {
    /// The frame of the song at which it stands and waits for the clock. `None`: it plays.
    pub fn waits_at(&self) -> Option<i64> {
        Some(self.place.load(Relaxed)).filter(|place| *place >= 0)
    }

    pub(super) fn wait_at(&self, place: Option<i64>) {
        self.place.store(place.unwrap_or(-1), Relaxed);
    }
}
