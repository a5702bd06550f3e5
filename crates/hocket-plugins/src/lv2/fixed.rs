//! Runs of one length, for plug-ins that require it: sound and events wait until a run is full.
//!
//! So what comes out is late by one run. Runs begin at multiples of their length, counted from the last reset, whatever the
//! engine's blocks are, and the output has the same bits for each cut into blocks.

use hocket_dsp::{Block, EventsOut, MoreRows, RowsMut, StereoMut, StereoRef, mix, rows};
use hocket_time::{Event, EventBuffer, EventKind, Pushed};

use super::events::Song;
use crate::extra::put;

/// Room for the events of a run.
const EVENTS: usize = 2048;
/// Room for the bytes of its system-exclusive messages.
const SYSEX_BYTES: usize = 32 * 1024;

/// What waits for a run, and what the run before made.
pub struct Fixed {
    length: usize,
    /// How many frames wait.
    filled: usize,
    pub main: [Vec<f32>; 2],
    pub key: [Vec<f32>; 2],
    /// Whether a side chain is connected.
    pub has_key: bool,
    pub events: EventBuffer,
    /// Where the song is at the first frame that waits.
    pub song: Option<Song>,
    /// Extra outputs, one after the other.
    pub extra: Vec<f32>,
    ready: [Vec<f32>; 2],
    ready_extra: Vec<f32>,
    /// What the run before sent, at its frames; `None`: it sends nothing.
    sent: Option<EventBuffer>,
    /// How many events of it have found no room so far.
    refused: u64,
}

impl Fixed {
    /// For runs of `length` frames, and so many rows of extra outputs. `sends`: the plug-in sends events.
    ///
    /// Thread: control; allocates.
    pub fn new(length: usize, extra_rows: usize, sends: bool) -> Fixed {
        let row = || vec![0.0; length];
        Fixed {
            length,
            filled: 0,
            main: [row(), row()],
            key: [row(), row()],
            has_key: false,
            events: EventBuffer::new(EVENTS, SYSEX_BYTES),
            song: None,
            extra: vec![0.0; extra_rows * length],
            ready: [row(), row()],
            ready_extra: vec![0.0; extra_rows * length],
            sent: sends.then(|| EventBuffer::new(EVENTS, SYSEX_BYTES)),
            refused: 0,
        }
    }

    /// Frames of a run.
    pub fn length(&self) -> usize {
        self.length
    }

    /// Whether the next frame begins a run.
    pub fn is_empty(&self) -> bool {
        self.filled == 0
    }

    /// How many of the next `most` frames still wait for the same run.
    pub fn room(&self, most: usize) -> usize {
        most.min(self.length - self.filled)
    }

    /// Takes frames `at` to `end` of a block with what they bring, and gives what the run before made in their place. Returns
    /// how many events found no room.
    pub fn exchange(&mut self, block: &mut Block<'_>, (at, end): (usize, usize)) -> u64 {
        let (from, to) = (self.filled, self.filled + end - at);
        let lost = self.wait(block, (at, end)) + self.newly_refused();
        let key = block.side_chain.map(|key| key.part(at, end));
        self.has_key |= key.is_some();
        match key {
            Some(key) => hear(&mut self.key, (from, to), key),
            None => self.key.iter_mut().for_each(|row| mix::clear(&mut row[from..to])),
        }
        let StereoMut { left, right } = block.main.part(at, end);
        hear(&mut self.main, (from, to), StereoRef { left, right });
        for (row, ready) in [left, right].into_iter().zip(&self.ready) {
            // A mono node has no right row.
            if !row.is_empty() {
                rows::copy(row, &ready[from..to]);
            }
        }
        let extra = self.ready_extra.chunks(self.length).map(|row| &row[from..to]);
        put(&mut block.more, (at, end), extra);
        if let (Some(out), Some(sent)) = (&mut block.events_out, &self.sent) {
            send(sent, (from, to), out.part(at, end));
        }
        self.filled = to;
        lost
    }

    /// Has the events of these frames wait. Returns how many found no room.
    fn wait(&mut self, block: &Block<'_>, (at, end): (usize, usize)) -> u64 {
        let mut lost = 0;
        let here = |event: &&Event| (at..end).contains(&(event.frame as usize));
        for event in block.received().iter().filter(here) {
            let frame = event.frame + self.filled as u32 - at as u32;
            let pushed = match (&event.kind, block.events_in) {
                // Changes of parameters go another way.
                (EventKind::Param(_), _) => continue,
                (EventKind::SysEx(message), Some(buffer)) => {
                    self.events.push_sysex(frame, event.source, buffer.sysex(*message))
                }
                _ => self.events.push(Event { frame, ..*event }),
            };
            lost += u64::from(pushed == Pushed::Refused);
        }
        lost
    }

    /// How many events of the runs since the last question found no room.
    fn newly_refused(&mut self) -> u64 {
        let all = self.sent.as_ref().map_or(0, |sent| sent.counts().refused);
        all - std::mem::replace(&mut self.refused, all)
    }

    /// Whether a run is due.
    pub fn is_full(&self) -> bool {
        self.filled == self.length
    }

    /// Calls `run` with what waits, as a block. What it makes of that comes out from now on.
    pub fn run(&mut self, run: impl FnOnce(&mut Block<'_>, Option<Song>)) {
        let song = self.song.take();
        let [left, right] = &mut self.main;
        let main = StereoMut { left, right };
        let [key_left, key_right] = &self.key;
        let key = StereoRef { left: key_left, right: key_right };
        let extra = RowsMut::new(&mut self.extra, self.length, self.length);
        let mut more = MoreRows { extra, ..MoreRows::default() };
        let length = self.length;
        let events_out = self.sent.as_mut().map(|sent| {
            sent.clear();
            EventsOut::new(sent, length)
        });
        let mut block = Block {
            side_chain: self.has_key.then_some(key),
            events_in: Some(&self.events),
            events_out,
            more: Some(&mut more),
            ..Block::new(main)
        };
        run(&mut block, song);
        std::mem::swap(&mut self.main, &mut self.ready);
        std::mem::swap(&mut self.extra, &mut self.ready_extra);
        self.events.advance(self.length as u32);
        self.filled = 0;
    }

    /// Forgets what waits and what is ready.
    pub fn reset(&mut self) {
        let all = self.main.iter_mut().chain(&mut self.key).chain(&mut self.ready);
        all.for_each(|row| mix::clear(row));
        mix::clear(&mut self.ready_extra);
        self.events.advance(u32::MAX);
        self.sent.iter_mut().for_each(EventBuffer::clear);
        (self.filled, self.has_key, self.song) = (0, false, None);
    }
}

/// Sends what a run sent at its frames `from` up to but not including `to`.
fn send(sent: &EventBuffer, (from, to): (usize, usize), mut out: EventsOut<'_>) {
    let here = |event: &&Event| (from..to).contains(&(event.frame as usize));
    for event in sent.all().iter().filter(here) {
        let frame = event.frame - from as u32;
        // The engine counts what finds no room.
        _ = match event.kind {
            EventKind::SysEx(message) => out.send_sysex(frame, sent.sysex(message)),
            kind => out.send(frame, kind),
        };
    }
}

/// Has sound wait. Both sides of a mono row are that row: a run has two, whatever came in, and the rows hold what the plug-in
/// made of them a run ago.
fn hear(waiting: &mut [Vec<f32>; 2], (from, to): (usize, usize), sound: StereoRef<'_>) {
    let StereoRef { left, right } = sound;
    let right = if right.is_empty() { left } else { right };
    for (waiting, row) in waiting.iter_mut().zip([left, right]) {
        rows::copy(&mut waiting[from..to], row);
    }
}
