//! Switching an effect off and on without a click.

use std::any::Any;

use hocket_time::{BlockTime, EventBuffer, EventKind, Source};

use crate::abreast::{Abreast, AbreastKey};
use crate::block::{Block, Change, MoreRows, Processor, RowsMut, StereoMut, TimedChange};
use crate::delay_line::DelayLine;
use crate::effects::is_on;
use crate::event_switch::EventSwitch;
use crate::host::Host;
use crate::ramp::SmoothRamp;

/// Longest piece handed to the effect, in frames.
const PIECE_FRAMES: usize = 256;
/// Events handed to the effect with one piece, at least; as many as the effect has parameters if these are more.
const PIECE_EVENTS: usize = 256;
/// Seconds of a cross-fade.
const FADE_S: f64 = 0.005;

/// Wraps an effect so that it can be bypassed by an event.
///
/// The event has the index [`Bypass::PARAM`]; a value from 0.5 on bypasses, one below brings the
/// effect back. Longer blocks reach the effect in pieces of 256 frames, with their events and song time. Each change is a
/// cross-fade of 5 ms along a curve without corners; one that is turned round has none either. The dry signal is delayed by the
/// effect's latency, so the latency is the same in both states and a fade does not comb. Fully
/// bypassed, the output is the delayed input to the bit, and extra outputs are silent.
///
/// While an effect with an event output is bypassed, the events that it receives pass, as late as its sound, and what it sends is
/// dropped. At the frame of each switch, the notes that it has begun end ([`EventSwitch`]).
///
/// The effect goes on running while it is bypassed: its tail and envelopes are where they would
/// be when it comes back, and the time a block takes does not depend on the switch. (To save the
/// time, leave the effect out of the chain.)
///
/// Thread: as [`Processor`]. Cost: 2 copies a frame at rest, 16 operations a frame while fading.
pub struct Bypass {
    inner: Box<dyn Processor>,
    /// 0 effect, 1 dry.
    dry_part: SmoothRamp,
    delays: [DelayLine; 2],
    latency: usize,
    dry: [Vec<f32>; 2],
    parts: Vec<f32>,
    /// Events of a piece with offsets from its start.
    events: Vec<TimedChange>,
    /// Received events of a piece; `None` for an effect without event input.
    received: Option<EventBuffer>,
    /// `None` for an effect without event output.
    switch: Option<EventSwitch>,
}

/// Received events that a piece has room for, and bytes of system-exclusive messages: as many as the
/// engine gives a block.
const RECEIVED: (usize, usize) = (8 * 1024, 8 * 4096);

impl std::fmt::Debug for Bypass {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Bypass")
            .field("dry_part", &self.dry_part)
            .field("latency", &self.latency)
            .finish_non_exhaustive()
    }
}

impl Bypass {
    /// The parameter index that switches the bypass, in addition to those of the effect.
    pub const PARAM: u16 = u16::MAX;

    /// Room for a change of each of so many parameters at one frame, so that none is lost: more changes than have room end
    /// a piece, and of those at one frame the last one of a parameter counts.
    ///
    /// Thread: control; allocates.
    pub fn with_params(self, params: usize) -> Bypass {
        Bypass { events: Vec::with_capacity(params.max(PIECE_EVENTS)), ..self }
    }

    /// Wraps `inner`; `bypassed` is the first state, without a fade.
    pub fn new(inner: Box<dyn Processor>, sample_rate_hz: u32, bypassed: bool) -> Bypass {
        let latency = inner.latency_frames() as usize;
        let fade_frames = (FADE_S * f64::from(sample_rate_hz)).round() as u32;
        Bypass {
            inner,
            dry_part: SmoothRamp::new(f32::from(bypassed), fade_frames),
            delays: [DelayLine::new(latency), DelayLine::new(latency)],
            latency,
            dry: [vec![0.0; PIECE_FRAMES], vec![0.0; PIECE_FRAMES]],
            parts: vec![0.0; PIECE_FRAMES],
            events: Vec::with_capacity(PIECE_EVENTS),
            received: None,
            switch: None,
        }
    }

    /// The same for an effect with an event input: it goes on hearing its notes while it is bypassed.
    ///
    /// Thread: control; allocates about 400 KiB.
    pub fn with_event_input(self) -> Bypass {
        Bypass { received: Some(EventBuffer::new(RECEIVED.0, RECEIVED.1)), ..self }
    }

    /// The same for an effect with an event output: while it is bypassed, what it receives passes.
    ///
    /// Thread: control; allocates about 400 KiB for an effect with latency.
    pub fn with_event_output(self) -> Bypass {
        let switch = EventSwitch::new(self.latency, self.is_bypassed());
        Bypass { switch: Some(switch), ..self }
    }

    /// Takes the received events from `start` up to but not including `end` into `self.received`.
    fn receive(&mut self, block: &Block<'_>, start: usize, end: usize) {
        let (Some(own), Some(all)) = (&mut self.received, block.events_in) else { return };
        own.clear();
        let events = all.block(end as u32);
        let first = events.partition_point(|event| (event.frame as usize) < start);
        for event in &events[first..] {
            let frame = event.frame - start as u32;
            // There is room for all that a block has.
            _ = match event.kind {
                EventKind::SysEx(message) => {
                    own.push_sysex(frame, Source::edge(0), all.sysex(message))
                }
                kind => own.push(hocket_time::Event::new(frame, Source::edge(0), kind)),
            };
        }
    }

    /// Whether the last event asked for bypass.
    pub fn is_bypassed(&self) -> bool {
        is_on(self.dry_part.target())
    }

    /// Takes the effect's events for a piece that starts at `start` into `self.events` and the
    /// fade's course into `self.parts`; returns the piece's end and the events behind it. More
    /// events than have room end the piece early.
    fn plan<'e>(
        &mut self,
        start: usize,
        frames: usize,
        mut events: &'e [TimedChange],
    ) -> (usize, &'e [TimedChange]) {
        self.events.clear();
        let mut end = frames.min(start + PIECE_FRAMES);
        let mut faded = start;
        // The first event of the frame that the loop has come to.
        let mut of_frame = (start, events);
        while let Some((event, later)) = events.split_first()
            && (event.frame as usize) < end
        {
            let due = (event.frame as usize).max(start);
            if due > of_frame.0 {
                of_frame = (due, events);
            }
            let Change::Param { index, value } = event.change;
            let cuts_events = index == Bypass::PARAM && self.switches_events(value);
            if cuts_events && due > start {
                (end, events) = (due, of_frame.1);
                self.events.retain(|event| (event.frame as usize) < due - start);
                break;
            }
            if index == Bypass::PARAM {
                self.dry_part.fill(&mut self.parts[faded - start..due - start]);
                faded = due;
                self.switch(value);
            } else if self.events.len() < self.events.capacity() {
                let frame = (due - start) as u32;
                self.events.push(TimedChange { frame, ..*event });
            } else if due > start {
                // The next piece begins with all events of this frame.
                end = due;
                events = of_frame.1;
                self.events.retain(|event| (event.frame as usize) < due - start);
                break;
            } else {
                self.replace(index, event.change);
            }
            events = later;
        }
        self.dry_part.fill(&mut self.parts[faded - start..end - start]);
        (end, events)
    }

    /// All of the piece's events are at its first frame. One that is not among them has an index that the effect does not
    /// have, since all that it has would have room.
    fn replace(&mut self, index: u16, change: Change) {
        let same = |event: &&mut TimedChange| matches!(event.change, Change::Param { index: of, .. } if of == index);
        if let Some(event) = self.events.iter_mut().rev().find(same) {
            event.change = change;
        }
    }

    /// Whether the value changes where events come from. A piece begins there.
    fn switches_events(&self, value: f32) -> bool {
        self.switch.is_some() && !value.is_nan() && is_on(value) != self.is_bypassed()
    }

    fn switch(&mut self, value: f32) {
        if !value.is_nan() {
            self.dry_part.set(f32::from(is_on(value)));
        }
    }

    fn keep_dry(&mut self, rows: &StereoMut<'_>) {
        let inputs = [&*rows.left, &*rows.right];
        for ((delay, dry), input) in self.delays.iter_mut().zip(&mut self.dry).zip(inputs) {
            for (dry, sample) in dry.iter_mut().zip(input) {
                delay.push(*sample);
                *dry = delay.read(self.latency + 1);
            }
        }
    }

    /// Extra outputs have no dry signal.
    fn fade_extra(&self, mut rows: RowsMut<'_>) {
        for row in rows.iter_mut() {
            for (sample, part) in row.iter_mut().zip(&self.parts) {
                *sample = match *part {
                    0.0 => *sample,
                    1.0 => 0.0,
                    part => *sample * (1.0 - part),
                };
            }
        }
    }

    fn blend(&self, rows: StereoMut<'_>) {
        for (row, dry) in [rows.left, rows.right].into_iter().zip(&self.dry) {
            for ((sample, dry), part) in row.iter_mut().zip(dry).zip(&self.parts) {
                *sample = match *part {
                    // Selected, not multiplied: the side that is off may hold no number.
                    0.0 => *sample,
                    1.0 => *dry,
                    part => *sample + (dry - *sample) * part,
                };
            }
        }
    }
}

impl Processor for Bypass {
    fn process(&mut self, block: &mut Block<'_>) {
        let frames = block.frames();
        let mut events = block.events;
        let mut start = 0;
        while start < frames {
            let (end, later) = self.plan(start, frames, events);
            self.receive(block, start, end);
            let is_whole = start == 0 && end == frames;
            let cut = block.time.filter(|_| !is_whole);
            let segments = cut.map(|time| time.segments.part(start as u32, end as u32));
            let time = cut.zip(segments.as_ref()).map(|(time, segments)| BlockTime {
                steady_frame: time.steady_frame + start as u64,
                segments,
                map: time.map,
            });
            let time = if is_whole { block.time } else { time.as_ref() };
            let mut main = block.main.part(start, end);
            let mut more = block
                .more
                .as_mut()
                .map(|more| MoreRows { extra: more.extra.part(start, end), ..MoreRows::default() });
            self.keep_dry(&main);
            let passes = self.is_bypassed();
            let received = self.received.as_ref().filter(|_| block.events_in.is_some());
            let mut out = block.events_out.as_mut().map(|out| out.part(start, end));
            let sends = match (&mut self.switch, &mut out) {
                (Some(switch), Some(out)) => switch.begin(passes, out),
                _ => false,
            };
            let own = out.as_mut().filter(|_| sends);
            self.inner.process(&mut Block {
                side_chain: block.side_chain.map(|key| key.part(start, end)),
                events: &self.events,
                events_in: received,
                events_out: own.map(|out| out.part(0, end - start)),
                time,
                helpers: block.helpers,
                more: more.as_mut(),
                ..Block::new(main.part(0, end - start))
            });
            if let (Some(switch), Some(out)) = (&mut self.switch, &mut out) {
                switch.finish(received, out);
            }
            self.blend(main);
            if let Some(more) = &mut block.more {
                self.fade_extra(more.extra.part(start, end));
            }
            events = later;
            start = end;
        }
    }

    fn reset(&mut self) {
        self.inner.reset();
        self.dry_part.snap();
        let passes = self.is_bypassed();
        self.switch.iter_mut().for_each(|switch| switch.reset(passes));
        self.delays.iter_mut().for_each(DelayLine::reset);
    }

    fn preset(&mut self, change: Change) {
        match change {
            Change::Param { index: Bypass::PARAM, value } => self.switch(value),
            other => self.inner.preset(other),
        }
    }

    fn join(&mut self, host: &mut dyn Host) {
        self.inner.join(host);
    }

    fn answered(&mut self, answer: &[u8]) {
        self.inner.answered(answer);
    }

    fn exchange(&mut self, new: &mut (dyn Any + Send)) {
        self.inner.exchange(new);
    }

    fn keeps_time(&self) -> bool {
        self.inner.keeps_time()
    }

    fn rests(&self) -> bool {
        self.inner.rests()
    }

    fn events_per_jump(&self) -> usize {
        self.inner.events_per_jump()
    }

    fn is_stereo(&self) -> bool {
        self.inner.is_stereo()
    }

    fn latency_frames(&self) -> u32 {
        self.latency as u32
    }

    fn reading(&self) -> Option<f32> {
        self.inner.reading()
    }

    fn abreast_key(&self) -> Option<AbreastKey> {
        self.inner.abreast_key()
    }

    /// While the effect is on and nothing changes, a block is the effect's alone: the dry signal is not heard. With latency it
    /// may be heard later, so the delay lines go on. Without, each sample is read just after it was pushed.
    fn abreast(&mut self, events: &[TimedChange]) -> Option<Abreast<'_>> {
        let is_on = self.dry_part.target() == 0.0 && self.dry_part.is_still();
        if !is_on || !events.is_empty() {
            return None;
        }
        let effect = self.inner.abreast(events)?;
        if self.latency == 0 { Some(effect) } else { effect.keeping(&mut self.delays) }
    }
}
