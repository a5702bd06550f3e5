//! Where the song is, as messages of a MIDI clock.

use std::sync::Arc;

use hocket_engine::time::{Segment, TempoMap};

use super::{
    CLOCK, CONTINUE, ClockSent, LAST_SIXTEENTH, PER_SIXTEENTH, POSITION, Pulses, START, STOP,
};

/// Messages that a cycle has at most: a quarter of a second at 10000 quarter notes per minute.
const MOST_IN_A_CYCLE: u32 = 1024;

/// Sends the clock of a song.
///
/// 1. While the song plays, each of its pulses is sent in its frame. While it stands still, there are none.
/// 2. Where the song plays on from elsewhere, stops, or begins to play, receivers are stopped if they run, and get the next
///    sixteenth at that place or behind it.
/// 3. In the frame of this sixteenth, right before its pulse, they are started: by a start at the song's beginning, else by
///    a continue. Pulses before that mean the tempo alone, because the receivers stand.
/// 4. If a message finds no room, receivers may be elsewhere: the next block begins with 2.
///
/// Before frame 0 the song counts as one that stands still.
///
/// Thread: the server's. No allocation, lock or system call.
pub(in crate::jack) struct ClockSender {
    pulses: Pulses,
    counts: Arc<ClockSent>,
    /// Where the song is next if nothing moves it.
    leads_to: Option<i64>,
    /// The song played at the end of the last segment.
    plays: bool,
    /// Receivers run.
    runs: bool,
    /// The sixteenth at which receivers stand; `None`: it could not be said.
    stand_at: Option<i64>,
    /// A message found no room.
    is_apart: bool,
    /// Messages that this cycle may still have.
    left: u32,
}

impl ClockSender {
    pub(in crate::jack) fn new(map: Arc<TempoMap>, counts: Arc<ClockSent>) -> ClockSender {
        ClockSender {
            pulses: Pulses::of(map),
            counts,
            leads_to: None,
            plays: false,
            runs: false,
            stand_at: None,
            is_apart: false,
            left: MOST_IN_A_CYCLE,
        }
    }

    /// A cycle begins. Before its first block.
    pub(in crate::jack) fn begin_cycle(&mut self) {
        self.left = MOST_IN_A_CYCLE;
    }

    /// Whether receivers run.
    pub(in crate::jack) fn runs(&self) -> bool {
        self.runs
    }

    /// A block of the engine, which begins `from` frames behind the cycle's begin. `port` takes a message at a frame of the
    /// cycle, or returns that it has no room.
    pub(in crate::jack) fn block(
        &mut self,
        from: u32,
        segments: &[Segment],
        port: &mut impl FnMut(u32, &[u8]) -> bool,
    ) {
        for segment in segments {
            let (at, position) = (from + segment.offset, segment.position);
            let count_in = (-position).clamp(0, i64::from(segment.frames)) as u32;
            match count_in {
                _ if !segment.playing => self.stand(at, position, port),
                0 => self.play(at, position, segment.frames, port),
                _ => {
                    self.stand(at, position, port);
                    if count_in < segment.frames {
                        self.leads_to = Some(0);
                        self.play(at + count_in, 0, segment.frames - count_in, port);
                    } else {
                        self.leads_to = Some(position + i64::from(count_in));
                    }
                }
            }
        }
    }

    /// The song stands still there.
    fn stand(&mut self, at: u32, position: i64, port: &mut impl FnMut(u32, &[u8]) -> bool) {
        self.turn(at, position, false, port);
        self.leads_to = Some(position);
    }

    /// The song plays so many frames from there.
    fn play(
        &mut self,
        at: u32,
        position: i64,
        frames: u32,
        port: &mut impl FnMut(u32, &[u8]) -> bool,
    ) {
        self.turn(at, position, true, port);
        self.pulses_of(at, (position, frames.into()), port);
        self.leads_to = Some(position + i64::from(frames));
    }

    /// What receivers have to do before the song goes on.
    fn turn(
        &mut self,
        at: u32,
        position: i64,
        plays: bool,
        port: &mut impl FnMut(u32, &[u8]) -> bool,
    ) {
        let is_elsewhere = std::mem::take(&mut self.is_apart) || self.leads_to != Some(position);
        let played = std::mem::replace(&mut self.plays, plays);
        let begins = plays && !played;
        let stops = self.runs && (is_elsewhere || !plays);
        if stops && self.send(at, &[STOP], port) {
            self.counts.stops.add(1);
            self.runs = false;
        }
        if !self.runs && (is_elsewhere || stops || begins) {
            self.place(at, position, port);
        }
    }

    /// Says where the song goes on.
    fn place(&mut self, at: u32, position: i64, port: &mut impl FnMut(u32, &[u8]) -> bool) {
        let pulse = self.pulses.first_from(position);
        self.say_place(at, (pulse + PER_SIXTEENTH - 1) / PER_SIXTEENTH, port);
    }

    fn say_place(&mut self, at: u32, sixteenth: i64, port: &mut impl FnMut(u32, &[u8]) -> bool) {
        self.stand_at = None;
        if sixteenth > LAST_SIXTEENTH {
            self.counts.beyond.add(1);
            return;
        }
        let seven_bits = |number: i64| (number & 0x7f) as u8;
        let message = [POSITION, seven_bits(sixteenth), seven_bits(sixteenth >> 7)];
        if self.send(at, &message, port) {
            self.counts.positions.add(1);
            self.stand_at = Some(sixteenth);
        }
    }

    /// The pulses of a stretch of the song, and the start of receivers where they stand.
    fn pulses_of(
        &mut self,
        at: u32,
        (position, frames): (i64, i64),
        port: &mut impl FnMut(u32, &[u8]) -> bool,
    ) {
        for pulse in self.pulses.first_from(position).. {
            let offset = self.pulses.frame(pulse) - position;
            if offset >= frames {
                break;
            }
            let at = at + offset as u32;
            if !self.runs {
                self.start(at, pulse, port);
            }
            if self.send(at, &[CLOCK], port) {
                self.counts.pulses.add(1);
            }
        }
    }

    /// Starts receivers if this pulse begins a sixteenth.
    fn start(&mut self, at: u32, pulse: i64, port: &mut impl FnMut(u32, &[u8]) -> bool) {
        let sixteenth = pulse / PER_SIXTEENTH;
        if pulse % PER_SIXTEENTH != 0 || sixteenth > LAST_SIXTEENTH {
            return;
        }
        if self.stand_at != Some(sixteenth) {
            // What said so, or the start that was to follow, has found no room.
            self.say_place(at, sixteenth, port);
        }
        let start = if pulse == 0 { START } else { CONTINUE };
        if self.stand_at.is_some() && self.send(at, &[start], port) {
            self.counts.starts.add(1);
            self.runs = true;
        }
    }

    fn send(&mut self, at: u32, message: &[u8], port: &mut impl FnMut(u32, &[u8]) -> bool) -> bool {
        let is_sent = self.left > 0 && port(at, message);
        match is_sent {
            true => self.left -= 1,
            false => {
                self.counts.no_room.add(1);
                self.is_apart = true;
            }
        }
        is_sent
    }
}
