//! Messages of a MIDI clock, as commands for the transport.

use std::sync::Arc;

use hocket_engine::time::{TempoMap, TimedCommand, TransportCommand};

use super::{
    CLOCK, CONTINUE, ClockFollowed, PER_QUARTER, PER_SIXTEENTH, POSITION, Pulses, START, STOP,
};

/// At slow tempos a clock counts as lost after so many pulses of the session's tempo, instead of a second.
const LOST_AFTER: i64 = 4;
/// A quarter note has another tempo if it differs from the session's by more than one part of so many.
const TOLERANCE: u64 = 100;

/// What the song does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// It stands still, and pulses do not move it.
    Stands,
    /// It stands still, and the next pulse starts it.
    Waits,
    /// It plays.
    Plays,
    /// It plays, and the next pulse places it anew.
    Moves,
}

/// Has a transport start, stop and go where a clock says, each in the message's frame.
///
/// Between two starts the song plays at its own tempos. The follower counts where the clock is meanwhile, and how far the song
/// is from there.
///
/// | message | effect |
/// |---|---|
/// | start | the song stands at its beginning until the next pulse, and plays then |
/// | continue | the song stands where the clock is until the next pulse, and plays then; one that plays goes on |
/// | stop | the song stands still |
/// | song position | the song goes there; one that plays does so at the next pulse |
/// | pulse | starts a song that waits for it; else it is a measure of the tempo |
/// | no pulse for 1 s, or the length of 4 at slow tempos | a song that plays stands still |
///
/// Thread: the server's. Cost of a message: O(1); no allocation, lock or system call.
pub(in crate::jack) struct ClockFollower {
    pulses: Pulses,
    counts: Arc<ClockFollowed>,
    state: State,
    /// Which pulse of the song the next one is.
    next: i64,
    /// When the song was started, in steady frames, and the pulse of its place.
    began: (u64, i64),
    /// When the last measured quarter note began.
    quarter_at: u64,
    /// When the last pulse came.
    pulse_at: u64,
}

impl ClockFollower {
    pub(in crate::jack) fn new(map: Arc<TempoMap>, counts: Arc<ClockFollowed>) -> ClockFollower {
        ClockFollower {
            pulses: Pulses::of(map),
            counts,
            state: State::Stands,
            next: 0,
            began: (0, 0),
            quarter_at: 0,
            pulse_at: 0,
        }
    }

    /// Whether the song is to play at present.
    pub(in crate::jack) fn plays(&self) -> bool {
        matches!(self.state, State::Plays | State::Moves)
    }

    /// A message that came in at a steady frame. Later messages have no earlier frames. `transport` takes a command, or
    /// returns that it has no room.
    pub(in crate::jack) fn message(
        &mut self,
        at: u64,
        bytes: &[u8],
        transport: &mut impl FnMut(TimedCommand) -> bool,
    ) {
        self.time_passes(at, transport);
        match *bytes {
            [CLOCK] => self.pulse(at, transport),
            [START] => {
                self.counts.starts.add(1);
                self.next = 0;
                self.wait(at, transport);
            }
            [CONTINUE] => {
                self.counts.starts.add(1);
                if !self.plays() {
                    self.wait(at, transport);
                }
            }
            [STOP] => {
                self.counts.stops.add(1);
                self.stand(at, transport);
            }
            [POSITION, low, high] if low < 0x80 && high < 0x80 => {
                self.counts.positions.add(1);
                self.next = (i64::from(high) << 7 | i64::from(low)) * PER_SIXTEENTH;
                if self.plays() {
                    self.state = State::Moves;
                } else {
                    self.locate(at, transport);
                }
            }
            _ => self.counts.ignored.add(1),
        }
        let waits_at = (!self.plays()).then(|| self.pulses.frame(self.next));
        self.counts.wait_at(waits_at);
    }

    /// It is this steady frame by now, without another message: a clock that came no longer stops the song.
    pub(in crate::jack) fn time_passes(
        &mut self,
        now: u64,
        transport: &mut impl FnMut(TimedCommand) -> bool,
    ) {
        if !self.plays() {
            return;
        }
        let slow = self.pulses.frame(self.next + LOST_AFTER) - self.pulses.frame(self.next);
        let lost_at = self.pulse_at + u64::from(self.pulses.rate_hz()).max(slow.unsigned_abs());
        if now > lost_at {
            self.counts.lost.add(1);
            self.stand(lost_at, transport);
            self.counts.wait_at(Some(self.pulses.frame(self.next)));
        }
    }

    fn pulse(&mut self, at: u64, transport: &mut impl FnMut(TimedCommand) -> bool) {
        self.counts.pulses.add(1);
        self.pulse_at = at;
        match self.state {
            State::Stands => return self.counts.unused_pulses.add(1),
            State::Plays => self.measure(at),
            State::Waits | State::Moves => {
                let is_there = self.locate(at, transport);
                // If there was no room, the next pulse tries again.
                if is_there && self.command(at, TransportCommand::Play, transport) {
                    self.state = State::Plays;
                    self.began = (at, self.next);
                    self.quarter_at = at;
                }
            }
        }
        self.next = self.next.saturating_add(1);
    }

    /// How far the song is from the clock, and how long the quarter note took that ends here.
    fn measure(&mut self, at: u64) {
        let (began_at, first) = self.began;
        let here = self.pulses.frame(self.next);
        let moved = here - self.pulses.frame(first);
        self.counts.most_apart.at_least(moved.unsigned_abs().abs_diff(at - began_at));
        if (self.next - first) % PER_QUARTER != 0 {
            return;
        }
        let took = at - std::mem::replace(&mut self.quarter_at, at);
        let session = (here - self.pulses.frame(self.next - PER_QUARTER)).unsigned_abs();
        self.counts.quarters.add(1);
        self.counts.took_frames.add(took);
        self.counts.session_frames.add(session);
        self.counts.other_tempo.add((took.abs_diff(session) * TOLERANCE > session).into());
    }

    /// Has the song wait for the next pulse where the clock is.
    fn wait(&mut self, at: u64, transport: &mut impl FnMut(TimedCommand) -> bool) {
        self.stand(at, transport);
        self.locate(at, transport);
        self.state = State::Waits;
    }

    fn stand(&mut self, at: u64, transport: &mut impl FnMut(TimedCommand) -> bool) {
        if self.plays() {
            // If there was no room, the next cycle begins with the state as it is to be.
            self.command(at, TransportCommand::Stop, transport);
        }
        self.state = State::Stands;
    }

    fn locate(&mut self, at: u64, transport: &mut impl FnMut(TimedCommand) -> bool) -> bool {
        let place = TransportCommand::Locate(self.pulses.frame(self.next));
        self.command(at, place, transport)
    }

    fn command(
        &mut self,
        at_steady: u64,
        command: TransportCommand,
        transport: &mut impl FnMut(TimedCommand) -> bool,
    ) -> bool {
        let is_taken = transport(TimedCommand { at_steady, command });
        self.counts.no_room.add((!is_taken).into());
        is_taken
    }
}
