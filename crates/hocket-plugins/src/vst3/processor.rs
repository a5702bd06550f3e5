//! A VST3 plug-in as a processor.

use std::any::Any;
use std::iter::Peekable;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use hocket_dsp::host::{Host, MainRequests, MainSide, NoState, StateError};
use hocket_dsp::{Block, Change, Processor, StereoMut, StereoRef};
use hocket_time::{Event, EventKind};

use super::events::{Held, Writer, received};
use super::ffi::Audio;
use super::instances::{self, Facts, MOST_VALUES, OTHER_PORTS, Order, Values, Voice};
use super::main_thread::{on_main, post};
use crate::LONGEST_RUN;
use crate::changes::{At, of_block};
use crate::extra::put;
use crate::isolate::Hosted;
use crate::sent::Sent;
use crate::song::SongClock;

/// Plays a plug-in.
pub struct Vst3Processor {
    order: Order,
    facts: Arc<Facts>,
    voices: Vec<Voice>,
    held: Vec<Held>,
    /// Values that were set outside of blocks.
    waiting: Vec<Option<f32>>,
    any_waiting: bool,
    /// Frames since the last reset.
    elapsed: u64,
    latency: u32,
    /// What the engine does not know yet.
    tail: Option<u64>,
    /// Whether it could not process a run of this block.
    failed: bool,
    /// Events of this block that found no room.
    lost: u64,
    sent: Sent,
    numbers: Arc<Numbers>,
    main: Option<Box<dyn MainRequests>>,
}

impl Vst3Processor {
    /// Of one or two instances, which begin with these values.
    pub fn new(order: Order, voices: Vec<Voice>) -> Vst3Processor {
        let facts = Arc::clone(&voices[0].facts);
        let numbers = Arc::new(Numbers::default());
        numbers.set(&voices);
        let tail = voices.iter().map(|voice| voice.tail).max().filter(|tail| *tail > 0);
        Vst3Processor {
            order,
            held: voices.iter().map(|_| Held::new(facts.events)).collect(),
            waiting: vec![None; facts.params.len()],
            any_waiting: false,
            elapsed: 0,
            latency: voices.iter().map(|voice| voice.latency).max().unwrap_or(0),
            tail,
            failed: false,
            lost: 0,
            sent: Sent::default(),
            facts,
            voices,
            numbers,
            main: None,
        }
    }

    fn audio(&mut self) -> impl Iterator<Item = &mut Audio> {
        self.voices.iter_mut().filter_map(|voice| voice.audio.as_mut())
    }

    /// Each instance gets the value. `most`: how many find room.
    fn set(&mut self, change: At, from: usize, most: usize) {
        let Some(param) = self.facts.params.get(change.index).filter(|_| !change.value.is_nan())
        else {
            return;
        };
        let frame = (change.frame as usize).saturating_sub(from) as u32;
        let value = param.fit(change.value, self.order.rate_hz);
        let value = self.facts.scales[change.index].normalized(value);
        let mut fits = true;
        for audio in self.audio() {
            fits &= audio.lists.change(change.index, frame, value, most);
        }
        self.lost += u64::from(!fits);
    }

    fn set_waiting(&mut self) {
        if !std::mem::take(&mut self.any_waiting) {
            return;
        }
        for index in 0..self.waiting.len() {
            if let Some(value) = self.waiting[index].take() {
                self.set(At { frame: 0, index, value }, 0, usize::MAX);
            }
        }
    }

    /// Events of the frames `at` to `end`, in the order of frames.
    fn collect<'a>(
        &mut self,
        changes: &mut Peekable<impl Iterator<Item = At>>,
        notes: &mut Peekable<impl Iterator<Item = &'a Event>>,
        (at, end): (usize, usize),
    ) {
        let within = |frame: u32| (frame as usize) < end;
        loop {
            let note = notes.peek().map(|note| note.frame).filter(|frame| within(*frame));
            let change = changes.peek().map(|change| change.frame).filter(|frame| within(*frame));
            match (change, note) {
                (Some(change), note) if note.is_none_or(|note| change <= note) => {
                    let changes = changes.next().into_iter();
                    changes.for_each(|change| self.set(change, at, MOST_VALUES));
                }
                (_, Some(_)) => {
                    if let Some(note) = notes.next() {
                        self.play(note.frame - at as u32, &note.kind);
                    }
                }
                (_, None) => return,
            }
        }
    }

    /// Each instance gets the note.
    fn play(&mut self, frame: u32, kind: &EventKind) {
        if !self.facts.events {
            return;
        }
        let mut fits = true;
        let audio = self.voices.iter_mut().filter_map(|voice| voice.audio.as_mut());
        for (audio, held) in audio.zip(&mut self.held) {
            fits &= Writer { audio, held, midi: &self.facts.midi }.event(frame, kind);
        }
        self.lost += u64::from(!fits);
    }

    /// One run of the plug-in: frames `at` to `end` of the block.
    fn run(
        &mut self,
        block: &mut Block<'_>,
        (at, end): (usize, usize),
        song: Option<&SongClock<'_>>,
    ) {
        let frames = end - at;
        let key = block.side_chain.map(|key| key.part(at, end));
        let song = song.map(|song| song.at(at as u32));
        let mut main = block.main.part(at, end);
        let audio = self.voices.iter_mut().filter_map(|voice| voice.audio.as_mut());
        for (index, audio) in audio.enumerate() {
            feed(&self.facts, index, (&main, key), audio);
            if !audio.process(frames, song.as_ref(), self.elapsed) {
                audio.clear(frames);
                self.failed = true;
            }
        }
        let audio = self.voices.iter().filter_map(|voice| voice.audio.as_ref());
        for (index, audio) in audio.enumerate() {
            let rows = self.facts.main_output.map_or(&[][..], |bus| audio.output(bus));
            for (channel, row) in rows.iter().enumerate() {
                self.facts.layout.put(index, channel, &row[..frames], &mut main);
            }
        }
        // Two instances have no extra outputs.
        if let Some(audio) = self.voices.first().and_then(|voice| voice.audio.as_ref()) {
            let extra = self.facts.extra.iter().flat_map(|extra| audio.output(extra.place));
            put(&mut block.more, (at, end), extra.map(|row| &row[..frames]));
        }
        self.send(block, (at, end));
        self.elapsed += frames as u64;
    }

    /// Sends what the plug-in sent in a run. Of two instances, the first one sends for both.
    fn send(&mut self, block: &mut Block<'_>, (at, end): (usize, usize)) {
        let Some(audio) = self.voices.first().and_then(|voice| voice.audio.as_ref()) else {
            return;
        };
        let lost = audio.lists.take_lost();
        let Some(out) = &mut block.events_out else { return };
        self.lost += lost;
        let mut out = out.part(at, end);
        for (frame, told) in audio.lists.sent() {
            // The engine counts what finds no room.
            received(told).into_iter().for_each(|kind| _ = out.send(frame, kind));
        }
    }

    /// Passes on what the plug-in asked for.
    fn answer(&mut self) {
        let failed = std::mem::take(&mut self.failed);
        let lost = std::mem::take(&mut self.lost);
        let Some(main) = &mut self.main else { return };
        if failed {
            main.failed();
        }
        if lost > 0 {
            main.events_lost(lost);
        }
        if let Some(tail) = self.tail.take() {
            main.tail_changed(tail);
        }
        for voice in &self.voices {
            if voice.flags.take_latency_asked() {
                main.call();
            }
            if voice.flags.take_restart() {
                main.restart();
            }
        }
        let now = self.voices.iter().map(|voice| voice.flags.latency()).max().unwrap_or(0);
        if now != self.latency {
            self.latency = now;
            main.latency_changed(now);
        }
    }
}

fn feed(
    facts: &Facts,
    index: usize,
    (main, key): (&StereoMut<'_>, Option<StereoRef<'_>>),
    audio: &mut Audio,
) {
    let from = StereoRef { left: main.left, right: main.right };
    let frames = from.left.len();
    if let Some(bus) = facts.main_input {
        for (channel, row) in audio.input(bus).iter_mut().enumerate() {
            facts.layout.feed(index, channel, from, &mut row[..frames]);
        }
    }
    if let Some(bus) = facts.key_input {
        for (channel, row) in audio.input(bus).iter_mut().enumerate() {
            facts.layout.feed_key(index, channel, key, &mut row[..frames]);
        }
    }
}

impl Hosted for Vst3Processor {
    fn process_told(&mut self, block: &mut Block<'_>, song: Option<SongClock<'_>>) {
        let frames = block.frames();
        let mut changes = of_block(block.events, block.received()).peekable();
        let mut notes = block.received().iter().filter(is_note).peekable();
        self.sent.begin(block.events_out.as_mut());
        let mut at = 0;
        while at < frames {
            let end = frames.min(at + LONGEST_RUN);
            self.set_waiting();
            self.collect(&mut changes, &mut notes, (at, end));
            self.run(block, (at, end), song.as_ref());
            self.audio().for_each(|audio| audio.lists.clear());
            at = end;
        }
        self.sent.finish(block.events_out.as_ref());
        self.answer();
    }
}

impl Processor for Vst3Processor {
    fn process(&mut self, block: &mut Block<'_>) {
        let song = block.time.map(SongClock::Block);
        self.process_told(block, song);
    }

    fn join(&mut self, host: &mut dyn Host) {
        let (facts, numbers) = (Arc::clone(&self.facts), Arc::clone(&self.numbers));
        let side = Side { order: self.order.clone(), facts, numbers };
        self.main = Some(host.main_side(Box::new(side)));
    }

    fn exchange(&mut self, new: &mut (dyn Any + Send)) {
        if let Some(voices) = new.downcast_mut::<Vec<Voice>>() {
            std::mem::swap(&mut self.voices, voices);
            self.numbers.set(&self.voices);
            self.held.iter_mut().for_each(Held::clear);
            self.tail = self.voices.iter().map(|voice| voice.tail).max();
            self.sent.end();
        }
    }

    fn reset(&mut self) {
        self.elapsed = 0;
        self.sent.end();
        // Not every plug-in ends its notes there. Their ends come with the next run.
        if self.held.iter().any(Held::sounds) {
            self.play(0, &EventKind::EndAllNotes);
        }
        for audio in self.audio() {
            audio.set_processing(false);
            audio.set_processing(true);
        }
    }

    fn preset(&mut self, change: Change) {
        let Change::Param { index, value } = change;
        if let Some(waiting) = self.waiting.get_mut(usize::from(index)) {
            *waiting = Some(value);
            self.any_waiting = true;
        }
    }

    fn keeps_time(&self) -> bool {
        true
    }

    fn latency_frames(&self) -> u32 {
        self.latency
    }
}

fn is_note(event: &&Event) -> bool {
    !matches!(event.kind, EventKind::Param(_))
}

/// The numbers of the instances that play; 0: none. Relaxed: the main thread looks them up in a list of its own.
#[derive(Default)]
struct Numbers([AtomicU64; 2]);

impl Numbers {
    fn set(&self, voices: &[Voice]) {
        for (index, number) in self.0.iter().enumerate() {
            number.store(voices.get(index).map_or(0, |voice| voice.number), Relaxed);
        }
    }

    fn get(&self) -> [u64; 2] {
        [0, 1].map(|index: usize| self.0[index].load(Relaxed))
    }
}

/// Saves, loads, and reads the latency.
struct Side {
    order: Order,
    /// The processor's, which has rows for these buses.
    facts: Arc<Facts>,
    numbers: Arc<Numbers>,
}

impl MainSide for Side {
    fn called(&mut self) {
        let numbers = self.numbers.get();
        post(move |instances| numbers.iter().for_each(|number| instances.call(*number)));
    }

    /// Two instances get the same values and events, so the first one speaks for both.
    fn save(&mut self) -> Result<Vec<u8>, StateError> {
        let [first, _] = self.numbers.get();
        Ok(on_main(move |instances| instances.save(first))??.ok_or(NoState)?)
    }

    fn load(&mut self, state: &[u8]) -> Result<Box<dyn Any + Send>, StateError> {
        let count = self.numbers.get().iter().filter(|number| **number > 0).count();
        let make = |_| instances::make(&self.order, &Values::Defaults, Some(state));
        let voices = (0..count).map(make).collect::<Result<Vec<Voice>, String>>()?;
        if !voices.iter().all(|voice| self.facts.fits(&voice.facts)) {
            return Err(OTHER_PORTS.into());
        }
        Ok(Box::new(voices))
    }
}
