//! A CLAP plug-in as a processor.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use clack_extensions::tail::TailLength;
use clack_host::prelude::*;
use hocket_dsp::host::{Host, MainRequests, MainSide, NoState, StateError};
use hocket_dsp::{Block, Change, Helpers, Processor, StereoMut, StereoRef};
use hocket_time::{Event, EventKind};

use super::events::{Incoming, Outgoing, transport};
use super::ffi;
use super::host::Hocket;
use super::instances::{self, Facts, OTHER_PORTS, Order, Values, Voice};
use super::main_thread::{as_audio, on_main, post};
use crate::LONGEST_RUN;
use crate::changes::{At, of_block};
use crate::extra::put;
use crate::isolate::Hosted;
use crate::sent::Sent;
use crate::song::SongClock;

/// The rows of a port.
type Port = Vec<Vec<f32>>;

/// What an instance reads and writes.
struct Rows {
    inputs: Vec<Port>,
    outputs: Vec<Port>,
    input_ports: AudioPorts,
    output_ports: AudioPorts,
}

impl Rows {
    fn new(facts: &Facts) -> Rows {
        let rows = |channels: &usize| vec![vec![0.0; LONGEST_RUN]; *channels];
        let ports =
            |channels: &[usize]| AudioPorts::with_capacity(channels.iter().sum(), channels.len());
        Rows {
            inputs: facts.inputs.iter().map(rows).collect(),
            outputs: facts.outputs.iter().map(rows).collect(),
            input_ports: ports(&facts.inputs),
            output_ports: ports(&facts.outputs),
        }
    }

    /// Silence, where the plug-in fails.
    fn clear(&mut self, frames: usize) {
        let rows = self.outputs.iter_mut().flatten();
        rows.for_each(|row| row[..frames].fill(0.0));
    }
}

/// Plays a plug-in.
pub struct ClapProcessor {
    order: Order,
    facts: Arc<Facts>,
    voices: Vec<Voice>,
    rows: Vec<Rows>,
    incoming: Incoming,
    /// Values that were set outside of blocks.
    waiting: Vec<Option<f32>>,
    any_waiting: bool,
    /// Frames since the last reset.
    steady: u64,
    latency: u32,
    /// Whether it could not process a run of this block.
    failed: bool,
    /// Events of this block that found no room.
    lost: u64,
    sent: Sent,
    numbers: Arc<Numbers>,
    main: Option<Box<dyn MainRequests>>,
}

impl ClapProcessor {
    /// Of one or two instances.
    pub fn new(order: Order, voices: Vec<Voice>) -> ClapProcessor {
        let facts = Arc::clone(&voices[0].facts);
        let numbers = Arc::new(Numbers::default());
        numbers.set(&voices);
        ClapProcessor {
            order,
            rows: voices.iter().map(|voice| Rows::new(&voice.facts)).collect(),
            incoming: Incoming::new(facts.notes),
            waiting: vec![None; facts.params.len()],
            any_waiting: false,
            steady: 0,
            latency: latency(&voices),
            failed: false,
            lost: 0,
            sent: Sent::default(),
            facts,
            voices,
            numbers,
            main: None,
        }
    }

    fn set(&mut self, change: At, from: usize) {
        if let Some(param) = self.facts.params.get(change.index).filter(|_| !change.value.is_nan())
        {
            let frame = (change.frame as usize).saturating_sub(from) as u32;
            let value = param.fit(change.value, self.order.rate_hz);
            self.lost += u64::from(!self.incoming.param(frame, param.id, value));
        }
    }

    fn set_waiting(&mut self) {
        if !std::mem::take(&mut self.any_waiting) {
            return;
        }
        for index in 0..self.waiting.len() {
            if let Some(value) = self.waiting[index].take() {
                self.set(At { frame: 0, index, value }, 0);
            }
        }
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
        let song = song.map(|song| transport(&song.at(at as u32)));
        let helpers = block.helpers;
        let mut main = block.main.part(at, end);
        for (index, (voice, rows)) in self.voices.iter_mut().zip(&mut self.rows).enumerate() {
            feed(&self.facts, index, (&main, key), rows);
            // Two instances would send the same.
            let out = block.events_out.as_mut().filter(|_| index == 0);
            let mut outgoing = Outgoing::new(out.map(|out| out.part(at, end)));
            let (events, steady) = ((&self.incoming, &mut outgoing), self.steady);
            let playing =
                as_audio(|| play(voice, (rows, frames), events, steady, song.as_ref(), helpers));
            if !playing {
                rows.clear(frames);
                self.failed = true;
            }
        }
        for (index, rows) in self.rows.iter().enumerate() {
            for (channel, row) in rows.outputs.first().into_iter().flatten().enumerate() {
                self.facts.layout.put(index, channel, &row[..frames], &mut main);
            }
        }
        // Two instances have no extra outputs.
        if let Some(rows) = self.rows.first() {
            let extra = self.facts.extra.iter().flat_map(|extra| &rows.outputs[extra.place]);
            put(&mut block.more, (at, end), extra.map(|row| &row[..frames]));
        }
        self.steady += frames as u64;
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
        for voice in &mut self.voices {
            if voice.flags.wants_main() {
                main.call();
            }
            if voice.flags.take_restart() {
                main.restart();
            }
            if voice.flags.take_tail() {
                main.tail_changed(tail(voice));
            }
        }
        let now = self.voices.iter().map(|voice| voice.flags.latency()).max().unwrap_or(0);
        if now != self.latency {
            self.latency = now;
            main.latency_changed(now);
        }
    }
}

fn latency(voices: &[Voice]) -> u32 {
    voices.iter().map(|voice| voice.latency).max().unwrap_or(0)
}

fn tail(voice: &mut Voice) -> u64 {
    let (Some(tail), Some(processor)) = (voice.tail, &mut voice.processor) else { return 0 };
    match as_audio(|| tail.get(&processor.plugin_handle())) {
        TailLength::Finite(frames) => u64::from(frames),
        TailLength::Infinite => u64::MAX,
    }
}

fn feed(
    facts: &Facts,
    index: usize,
    (main, key): (&StereoMut<'_>, Option<StereoRef<'_>>),
    rows: &mut Rows,
) {
    let from = StereoRef { left: main.left, right: main.right };
    let frames = from.left.len();
    for (channel, row) in rows.inputs.first_mut().into_iter().flatten().enumerate() {
        facts.layout.feed(index, channel, from, &mut row[..frames]);
    }
    for (channel, row) in rows.inputs.get_mut(1).into_iter().flatten().enumerate() {
        facts.layout.feed_key(index, channel, key, &mut row[..frames]);
    }
}

/// `false`: the plug-in fails.
fn play(
    voice: &mut Voice,
    (rows, frames): (&mut Rows, usize),
    (incoming, outgoing): (&Incoming, &mut Outgoing<'_>),
    steady: u64,
    song: Option<&clack_host::events::event_types::TransportEvent>,
    helpers: Option<&dyn Helpers>,
) -> bool {
    let Some(processor) = &mut voice.processor else { return false };
    let Ok(started) = processor.ensure_processing_started() else { return false };
    let Rows { inputs, outputs, input_ports, output_ports } = rows;
    let inputs = match inputs.is_empty() {
        true => ffi::no_inputs(frames),
        false => input_ports.with_input_buffers(inputs.iter_mut().map(|port| AudioPortBuffer {
            latency: 0,
            channels: AudioPortBufferType::f32_input_only(
                port.iter_mut().map(|row| InputChannel::variable(&mut row[..frames])),
            ),
        })),
    };
    let mut outputs = output_ports.with_output_buffers(outputs.iter_mut().map(|port| {
        let rows = port.iter_mut().map(|row| &mut row[..frames]);
        AudioPortBuffer { latency: 0, channels: AudioPortBufferType::f32_output_only(rows) }
    }));
    let events = InputEvents::from_buffer(incoming.buffer());
    let mut sent = OutputEvents::from_buffer(outgoing);
    let mut run = |started: &mut StartedPluginAudioProcessor<Hocket>| {
        started.process(&inputs, &mut outputs, &events, &mut sent, Some(steady), song).is_ok()
    };
    match voice.pool {
        Some(pool) => ffi::during(started, (pool, helpers), run),
        None => run(started),
    }
}

impl Hosted for ClapProcessor {
    fn process_told(&mut self, block: &mut Block<'_>, song: Option<SongClock<'_>>) {
        let frames = block.frames();
        let mut changes = of_block(block.events, block.received()).peekable();
        let mut notes = block.received().iter().filter(is_note).peekable();
        self.sent.begin(block.events_out.as_mut());
        let mut at = 0;
        while at < frames {
            let end = frames.min(at + LONGEST_RUN);
            self.incoming.clear();
            self.set_waiting();
            self.collect(&mut changes, &mut notes, (at, end));
            self.run(block, (at, end), song.as_ref());
            at = end;
        }
        self.sent.finish(block.events_out.as_ref());
        self.answer();
    }
}

impl Processor for ClapProcessor {
    fn process(&mut self, block: &mut Block<'_>) {
        let song = block.time.map(SongClock::Block);
        self.process_told(block, song);
    }

    fn join(&mut self, host: &mut dyn Host) {
        let (facts, numbers) = (Arc::clone(&self.facts), Arc::clone(&self.numbers));
        let side = Side { order: self.order.clone(), facts, numbers };
        let mut main = host.main_side(Box::new(side));
        // The plug-in may have asked while it was made.
        if self.voices.iter().any(|voice| voice.flags.wants_main()) {
            main.call();
        }
        self.main = Some(main);
    }

    fn exchange(&mut self, new: &mut (dyn Any + Send)) {
        if let Some(voices) = new.downcast_mut::<Vec<Voice>>() {
            std::mem::swap(&mut self.voices, voices);
            self.numbers.set(&self.voices);
            self.sent.end();
        }
    }

    fn reset(&mut self) {
        self.sent.end();
        self.steady = 0;
        for processor in self.voices.iter_mut().filter_map(|voice| voice.processor.as_mut()) {
            as_audio(|| processor.reset());
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

impl ClapProcessor {
    /// Events of the frames `at` to `end`, in the order of frames.
    fn collect<'a>(
        &mut self,
        changes: &mut std::iter::Peekable<impl Iterator<Item = At>>,
        notes: &mut std::iter::Peekable<impl Iterator<Item = &'a Event>>,
        (at, end): (usize, usize),
    ) {
        let within = |frame: u32| (frame as usize) < end;
        loop {
            let note = notes.peek().map(|note| note.frame).filter(|frame| within(*frame));
            let change = changes.peek().map(|change| change.frame).filter(|frame| within(*frame));
            match (change, note) {
                (Some(change), note) if note.is_none_or(|note| change <= note) => {
                    changes.next().into_iter().for_each(|change| self.set(change, at));
                }
                (_, Some(_)) => {
                    if let Some(note) = notes.next() {
                        let fits = self.incoming.event(note.frame - at as u32, &note.kind);
                        self.lost += u64::from(!fits);
                    }
                }
                (_, None) => return,
            }
        }
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

/// Saves, loads and calls back.
struct Side {
    order: Order,
    /// The processor's, which has rows for these ports.
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
        let fits = |voice: &Voice| self.facts.has_ports(&voice.facts.inputs, &voice.facts.outputs);
        if !voices.iter().all(fits) {
            return Err(OTHER_PORTS.into());
        }
        Ok(Box::new(voices))
    }
}

const _: fn() = || {
    /// Plug-ins move from one audio thread to another between blocks.
    fn moves<T: Send>() {}
    moves::<PluginAudioProcessor<Hocket>>();
};
