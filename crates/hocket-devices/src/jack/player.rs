//! What the server's thread does in a cycle: blocks of the engine, from input ports to output ports.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use hocket_engine::time::{
    Event, EventBuffer, EventKind, HeldNotes, Midi1, Pushed, Source, TimedCommand, TransportCommand,
};
use hocket_engine::{BlockTimes, Engine, period_ns, rows};
use hocket_machine::clock::monotonic_ns;

use super::converter::Converter;
use super::libjack::{Cycle, Events, OpenPorts, TransportState};
use super::midi_clock::{ClockFollower, ClockSender};
use super::note_ends::NoteEnds;
use super::periods::{Due, Periods};
use super::song_place::SongPlace;
use super::{Clocks, Inputs};
use crate::BlockObserver;
use crate::xruns::{Attribution, Took};

/// The first byte of a system-exclusive message, and the only one of a reset.
const SYSEX: u8 = 0xf0;
const SYSTEM_RESET: u8 = 0xff;

/// Engine and observer in the server's thread.
pub(super) struct Player<O> {
    pub(super) engine: Engine,
    pub(super) observer: O,
    pub(super) attribution: Attribution,
    inputs: Inputs,
    /// What sounds of each MIDI input.
    held: Vec<HeldNotes>,
    note_ends: Arc<NoteEnds>,
    /// Messages may be lost, and ends of notes among them.
    lost_messages: bool,
    sends_clock: Option<ClockSender>,
    follows_clock: Option<ClockFollower>,
    events: Arc<Events>,
    /// The observer has had enough.
    done: Arc<AtomicBool>,
    periods: Periods,
    /// The server has no clock at present.
    freewheels: bool,
    /// The server's.
    rate_hz: u32,
    /// `None`: the server has the engine's rate.
    converter: Option<Converter>,
}

impl<O: BlockObserver> Player<O> {
    pub(super) fn new(
        engine: Engine,
        observer: O,
        inputs: Inputs,
        (clocks, note_ends): (&Clocks, Arc<NoteEnds>),
        (events, done): (Arc<Events>, Arc<AtomicBool>),
    ) -> Player<O> {
        let attribution = Attribution::since(events.xruns());
        let rate_hz = engine.settings().rate_hz;
        let periods = Periods::new(rate_hz, events.xruns());
        Player {
            engine,
            observer,
            attribution,
            held: vec![HeldNotes::new(); inputs.midi.len()],
            note_ends,
            lost_messages: false,
            inputs,
            sends_clock: clocks.sender(),
            follows_clock: clocks.follower(),
            events,
            done,
            periods,
            freewheels: false,
            rate_hz,
            converter: None,
        }
    }

    /// From the next cycle on frames are converted, or not any more. Thread: control.
    pub(super) fn follow_rate(&mut self, server_hz: u32, converter: Option<Converter>) {
        self.converter = converter;
        self.begin_rate(server_hz);
        // The cycles without this player have had some.
        self.lost_messages = true;
        self.observer.changed_rate(server_hz);
    }

    /// Cycles have this rate from now on. No allocation.
    fn begin_rate(&mut self, server_hz: u32) {
        self.rate_hz = server_hz;
        self.periods.begin_rate(server_hz);
    }

    /// From now on blocks have no deadline, or have one again. In freewheel the server waits for each client, and its thread has no
    /// real-time class. So the engine and the observer may wait as in a render. Cost: a system call at the end.
    fn set_freewheel(&mut self, freewheels: bool) {
        self.freewheels = freewheels;
        self.engine.set_offline(freewheels);
        let xruns = self.events.xruns();
        self.periods.begin_anew(xruns);
        if !freewheels {
            self.attribution.begin_anew(xruns);
        }
        self.observer.freewheels(freewheels);
    }

    /// No cycle comes any more. Thread: control.
    pub(super) fn end(mut self) -> (Engine, O, Attribution) {
        if self.freewheels {
            self.set_freewheel(false);
        }
        (self.engine, self.observer, self.attribution)
    }

    /// Whether those that follow the clock believe that the song plays.
    pub(super) fn clock_runs(&self) -> bool {
        self.sends_clock.as_ref().is_some_and(ClockSender::runs)
    }

    /// The observer has had enough: nothing else comes of it.
    pub(super) fn is_done(&self) -> bool {
        // Relaxed: the flag publishes nothing. The player itself goes through the mutex.
        self.done.load(Relaxed)
    }

    fn ns(&self, frames: usize) -> u64 {
        period_ns(frames as u64, self.rate_hz)
    }

    /// To a frame.
    fn at_engine_rate(&self, frames: u64) -> u64 {
        let (engine_hz, server_hz) = (self.engine.settings().rate_hz, self.rate_hz.max(1));
        let exactly = u128::from(frames) * u128::from(engine_hz);
        (exactly / u128::from(server_hz)) as u64
    }

    /// Until there is a converter, a cycle of a slower server has fewer frames than the time that it lasts. A faster one has more,
    /// and loses none.
    fn missed_for_want_of_a_converter(&self, frames: usize) -> u64 {
        match self.converter {
            None => self.at_engine_rate(frames as u64).saturating_sub(frames as u64),
            Some(_) => 0,
        }
    }

    /// One cycle of the server. A cycle that is longer than the engine's largest block becomes several blocks, one right
    /// after another, which all have the whole cycle's time.
    ///
    /// Thread: the server's. No allocation, no wait, unless it freewheels; system calls are the engine's.
    pub(super) fn cycle(&mut self, cycle: Cycle, ports: &mut OpenPorts<'_>) {
        if self.is_done() {
            return ports.silence_from(0);
        }
        let called_ns = cycle.asked_ns;
        let freewheels = self.events.freewheels();
        if freewheels != self.freewheels {
            self.set_freewheel(freewheels);
        }
        // The control thread sees it some cycles later, and their periods are to be right.
        if let Some(now) = self.events.rate_hz().filter(|now| *now != self.rate_hz && *now > 0) {
            self.begin_rate(now);
        }
        if let Some(at) = cycle.transport {
            self.follow(at.frame.into(), at.state == TransportState::Rolling);
        }
        if let Some(port) = self.inputs.place_in {
            self.follow_port(ports.input(port));
        }
        self.follow_clock(ports, cycle.frames);
        self.sends_clock.iter_mut().for_each(ClockSender::begin_cycle);
        let Due { due_ns, mut skipped, missed } = match freewheels {
            true => Periods::freewheeled(&cycle),
            false => self.periods.next(&cycle, self.events.xruns()),
        };
        self.lost_messages |= missed > 0;
        // A frame of a faster server is none of the engine's, and lost all the same.
        let missed = self.at_engine_rate(missed).max(missed.min(1))
            + self.missed_for_want_of_a_converter(cycle.frames);
        if missed > 0 {
            self.observer.missed(missed);
        }
        let converts_ns = self.converter.is_some().then(monotonic_ns);
        let frames = self.begin(ports, cycle.frames);
        // Work of the first block, which is no later for it.
        let mut converted_ns = converts_ns.map_or(0, |begun| monotonic_ns().saturating_sub(begun));
        let (begins, frames) = (frames.is_some(), frames.unwrap_or(0));
        self.bring_in_events(ports, cycle.frames);
        let (mut from, mut period, mut place, mut block) = (0, None, None, None);
        while from < frames {
            let wanted = (frames - from).min(self.engine.largest_block());
            self.bring_in(ports, from, wanted);
            if from + wanted == frames && !freewheels {
                self.engine.expect_next(due_ns + self.ns(cycle.frames));
            }
            let times = self.engine.process_planned(wanted, due_ns + converted_ns);
            let mut times = behind_conversion(times, std::mem::take(&mut converted_ns));
            times.deadline_ns = self.ns(cycle.frames);
            // Told with the block behind the gap, because the one before it is over.
            times.skipped = std::mem::take(&mut skipped);
            block = Some(times.block);
            self.put_out(ports, from, wanted);
            self.send_clock(ports, from);
            place = place.or_else(|| self.place());
            from += wanted;
            period = Some(period.map_or(times, |before| crate::joined(before, &times)));
            let goes_on = match freewheels {
                true => self.observer.freewheeled(&times, &self.engine),
                false => self.observer.block(&times, &self.engine),
            };
            if !goes_on {
                // Relaxed: the flag publishes nothing. The player itself goes through the mutex.
                self.done.store(true, Relaxed);
                break;
            }
        }
        match &mut self.converter {
            None => ports.silence_from(from),
            Some(_) if !begins => ports.silence_from(0),
            Some(converter) => {
                let begun_ns = monotonic_ns();
                converter.end(from);
                put_converted(converter, ports);
                let took_ns = monotonic_ns().saturating_sub(begun_ns);
                period.iter_mut().for_each(|period| period.duration_ns += took_ns);
            }
        }
        self.send_place(ports, place);
        if freewheels {
            return;
        }
        period.iter().for_each(|period| self.observer.period(period));
        let took = Took {
            block,
            due_ns,
            lateness_ns: called_ns.saturating_sub(due_ns),
            duration_ns: monotonic_ns().saturating_sub(called_ns),
            period_ns: self.ns(cycle.frames),
        };
        let xrun = self.attribution.note(took, self.events.xruns());
        xrun.iter().for_each(|xrun| self.observer.xrun(xrun));
    }

    /// Has the song where the server's transport is, from the cycle's first frame on.
    ///
    /// The transport moves on with the cycles, as the song does with the blocks, so it rarely needs a command. After cycles
    /// that the server made without this client, it goes on where the others are.
    fn follow(&mut self, frame: i64, rolls: bool) {
        let song = self.engine.transport();
        let (loops, plays) = (song.loop_range().is_some(), song.is_playing());
        let is_elsewhere = song.position() != frame;
        if loops {
            self.command(TransportCommand::LoopOff);
        }
        if is_elsewhere {
            self.command(TransportCommand::Locate(frame));
        }
        if plays != rolls {
            self.command(if rolls { TransportCommand::Play } else { TransportCommand::Stop });
        }
    }

    /// Has the song where a port says. Without a signal it stands still where it is.
    fn follow_port(&mut self, row: &[f32]) {
        let here = self.engine.transport().position();
        let place = SongPlace::read(row).unwrap_or(SongPlace { frame: here, plays: false });
        self.follow(place.frame, place.plays);
    }

    /// Has the song do what the clock says, each message in its frame.
    fn follow_clock(&mut self, ports: &OpenPorts<'_>, frames: usize) {
        let (Some(port), Some(clock)) = (self.inputs.clock_in, &self.follows_clock) else { return };
        let (song, plays) = (self.engine.transport(), clock.plays());
        let (here, begun) = (song.position(), song.steady_frame());
        // A command that found no room is made up for here.
        self.follow(here, plays);
        let (Some(clock), engine) = (&mut self.follows_clock, &mut self.engine) else { return };
        let mut transport = |command| engine.command(command).is_ok();
        let last = frames.saturating_sub(1) as u32;
        ports.messages(port, |frame, bytes| {
            clock.message(begun + u64::from(frame.min(last)), bytes, &mut transport);
        });
        clock.time_passes(begun + u64::from(last), &mut transport);
    }

    /// Sends the clock of the last block, which begins at this frame of the cycle.
    fn send_clock(&mut self, ports: &mut OpenPorts<'_>, from: usize) {
        if let (Some(port), Some(clock)) = (self.inputs.clock_out, &mut self.sends_clock) {
            let mut send = |frame, message: &[u8]| ports.send(port, frame, message);
            clock.block(from as u32, self.engine.segments(), &mut send);
        }
    }

    /// Where the song was at the last block's first frame.
    fn place(&self) -> Option<SongPlace> {
        let first = self.engine.first_segment()?;
        Some(SongPlace { frame: first.position, plays: first.playing })
    }

    /// Says where the song was at the cycle's first frame. Without a block the port is silent already.
    fn send_place(&self, ports: &mut OpenPorts<'_>, place: Option<SongPlace>) {
        if let (Some(port), Some(place)) = (self.inputs.place_out, place) {
            place.write(ports.output(port));
        }
    }

    /// At once. Such a command needs no room, so it is never given back.
    fn command(&mut self, command: TransportCommand) {
        let _ = self.engine.command(TimedCommand { at_steady: 0, command });
    }

    /// Begins a cycle of so many frames. Returns how many the engine is to play in it; `None`: it cannot.
    fn begin(&mut self, ports: &mut OpenPorts<'_>, cycle: usize) -> Option<usize> {
        let Some(converter) = &mut self.converter else { return Some(cycle) };
        let frames = converter.begin(cycle)?;
        for port in 0.. {
            let Some(row) = converter.input_mut(port) else { break };
            let came_in = ports.input(port);
            let there = came_in.len().min(row.len());
            rows::copy(&mut row[..there], &came_in[..there]);
            rows::fill(&mut row[there..], 0.0);
        }
        converter.take_in();
        Some(frames)
    }

    fn bring_in(&mut self, ports: &mut OpenPorts<'_>, from: usize, frames: usize) {
        let mut port = 0;
        for (number, channels) in self.inputs.channels.iter().enumerate() {
            if let Some(mut all) = self.engine.input_mut(number as u16, frames) {
                for (row, port) in all.iter_mut().zip(port..port + channels) {
                    if let Some(converter) = &self.converter {
                        converter.bring_in(port, from, row);
                        continue;
                    }
                    match ports.input(port).get(from..from + frames) {
                        Some(came_in) => rows::copy(row, came_in),
                        None => rows::fill(row, 0.0),
                    }
                }
            }
            port += channels;
        }
    }

    /// What came in at MIDI ports. Frames count from the cycle's first block on, so messages for its later blocks wait there.
    /// Notes whose ends may be lost end before.
    fn bring_in_events(&mut self, ports: &OpenPorts<'_>, frames: usize) {
        let last = frames.saturating_sub(1) as u32;
        let (asked, lost) = (self.note_ends.take(), std::mem::take(&mut self.lost_messages));
        for ((port, input), held) in self.inputs.midi.iter().enumerate().zip(&mut self.held) {
            let Some(events) = self.engine.events_mut(*input) else { continue };
            if asked.has(port) || lost && !held.is_empty() {
                held.watch(&EventKind::EndAllNotes);
                let _ = events.push(Event::new(0, Source::LIVE, EventKind::EndAllNotes));
            }
            let converter = self.converter.as_ref();
            let at = |frame: u32| converter.map_or(frame, |converter| converter.frame(frame));
            // The engine's buffer counts what it has no room for.
            let take =
                |frame: u32, bytes: &[u8]| _ = push(events, held, at(frame.min(last)), bytes);
            ports.messages(port, take);
        }
    }

    fn put_out(&mut self, ports: &mut OpenPorts<'_>, from: usize, frames: usize) {
        let mut port = 0;
        for output in 0.. {
            let Some(all) = self.engine.output_rows(output, frames) else { break };
            for row in 0..all.len() {
                if let Some(converter) = &mut self.converter {
                    converter.put_out(port, from, all.row(row));
                } else if let Some(to) = ports.output(port).get_mut(from..from + frames) {
                    rows::copy(to, all.row(row));
                }
                port += 1;
            }
        }
    }
}

/// A block in whose cycle so much time was spent on inputs before it was called, which counts as its work.
fn behind_conversion(times: BlockTimes, converted_ns: u64) -> BlockTimes {
    BlockTimes {
        signaled_ns: times.signaled_ns - converted_ns,
        duration_ns: times.duration_ns + converted_ns,
        ..times
    }
}

fn put_converted(converter: &Converter, ports: &mut OpenPorts<'_>) {
    for port in 0..ports.outputs() {
        let to = ports.output(port);
        let from = converter.output(port);
        let there = from.len().min(to.len());
        rows::copy(&mut to[..there], &from[..there]);
        rows::fill(&mut to[there..], 0.0);
    }
}

/// A clock, a song position and active sensing are no effect's business. `None`: one of these, or no message.
fn push(
    events: &mut EventBuffer,
    held: &mut HeldNotes,
    frame: u32,
    bytes: &[u8],
) -> Option<Pushed> {
    if bytes.first() == Some(&SYSEX) {
        return Some(events.push_sysex(frame, Source::LIVE, bytes));
    }
    let message = Midi1::new(bytes).ok()?;
    let is_wanted = !message.is_system() || message.as_slice() == [SYSTEM_RESET];
    is_wanted.then(|| {
        held.watch(&EventKind::Midi(message));
        events.push(Event::new(frame, Source::LIVE, EventKind::Midi(message)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conversion_of_inputs_is_work_and_does_not_make_a_block_late() {
        let (due_ns, converted_ns) = (1_000_000, 300_000);
        // As the engine has it, which was called 20 µs after the inputs were there.
        let times = BlockTimes {
            signaled_ns: due_ns + converted_ns,
            lateness_ns: 20_000,
            duration_ns: 50_000,
            deadline_ns: 1_333_333,
            ..BlockTimes::default()
        };
        let times = behind_conversion(times, converted_ns);
        assert_eq!((times.signaled_ns, times.lateness_ns), (due_ns, 20_000));
        assert_eq!(times.duration_ns, 350_000);
        assert_eq!(behind_conversion(times, 0), times);
    }
}
