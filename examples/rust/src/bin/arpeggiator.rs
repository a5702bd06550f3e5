//! A keyboard of the host, an arpeggiator and a synthesizer, connected by event edges.
//!
//! The host hands MIDI messages over before each block, with their frames, as a MIDI interface would deliver them. The
//! arpeggiator plays the held keys one by one. What it sends arrives at exact frames, whatever the length of the blocks.
//!
//! `cargo run --manifest-path examples/rust/Cargo.toml --bin arpeggiator`
#![forbid(unsafe_code)]

use std::error::Error;

use hocket_embedder::instrument::Synth;
use hocket_embedder::{FRAMES, start};
use hocket_engine::time::{Event, EventKind, Midi1, Note, NoteAction, Source};
use hocket_engine::{Block, Edge, Engine, EventPorts, Graph, Node, NodeKind, Ports, Processor};

/// Frames from one key to the next.
pub const STEP: u32 = 3_000;
/// How loud the synthesizer is.
pub const LOUDNESS: f32 = 0.5;
/// Frames that the example plays.
pub const LENGTH: u32 = 30_000;

/// What the host's keyboard plays: frame, status byte and key.
const KEYBOARD: [(u32, u8, u8); 6] = [
    (100, 0x90, 60),
    (150, 0x90, 67),
    (7_000, 0x90, 64),
    (20_000, 0x80, 60),
    (20_000, 0x80, 64),
    (20_500, 0x80, 67),
];

/// Plays the keys that are held, upwards, from the first one on.
#[derive(Default)]
struct Arpeggiator {
    /// A bit for each key.
    held: u128,
    sounding: Option<i8>,
    /// Frames until the next key.
    wait: u32,
}

impl Processor for Arpeggiator {
    fn process(&mut self, block: &mut Block<'_>) {
        let mut received = block.received().iter().peekable();
        for frame in 0..block.frames() as u32 {
            while let Some(event) = received.next_if(|event| event.frame <= frame) {
                self.hear(&event.kind);
            }
            if self.held == 0 || self.wait == 0 {
                self.go_on(frame, block);
            }
            self.wait = self.wait.saturating_sub(1);
        }
    }

    fn reset(&mut self) {
        *self = Arpeggiator::default();
    }
}

impl Arpeggiator {
    fn hear(&mut self, event: &EventKind) {
        let note = match event {
            EventKind::Note(note) => Some(*note),
            EventKind::Midi(message) => Note::from_midi(*message),
            EventKind::EndAllNotes => return self.held = 0,
            _ => None,
        };
        // A key of -1 in an end means every key.
        let Some(Note { action, key, .. }) = note else { return };
        let keys = u32::try_from(key).map_or(u128::MAX, |key| 1 << key);
        match action {
            NoteAction::On => self.held |= keys,
            _ => self.held &= !keys,
        }
    }

    /// Ends the key that sounds and begins the next one, if any is held.
    fn go_on(&mut self, frame: u32, block: &mut Block<'_>) {
        let before = self.sounding.take();
        if let Some(key) = before {
            _ = block.send(frame, EventKind::Note(Note::off(-1, 0, key, 0.0)));
        }
        self.wait = 0;
        if self.held == 0 {
            return;
        }
        let above = before.map_or(0, |key| u128::MAX << key & !(1 << key));
        let next = if self.held & above == 0 { self.held } else { self.held & above };
        let key = next.trailing_zeros() as i8;
        _ = block.send(frame, EventKind::Note(Note::on(-1, 0, key, 1.0)));
        (self.sounding, self.wait) = (Some(key), STEP);
    }
}

/// Hands over what the keyboard plays in a block.
fn hand_over(engine: &mut Engine, first: u32, frames: u32) -> Result<(), Box<dyn Error>> {
    let events = engine.events_mut(0).ok_or("the graph has no keyboard")?;
    for (frame, status, key) in KEYBOARD {
        if (first..first + frames).contains(&frame) {
            let message = EventKind::Midi(Midi1::new(&[status, key, 100])?);
            // A host that hands over more than a port takes looks at the answer.
            _ = events.push(Event::new(frame - first, Source::LIVE, message));
        }
    }
    Ok(())
}

/// Plays everything in blocks of so many frames. Returns the left row.
pub fn play(frames: usize) -> Result<Vec<f32>, Box<dyn Error>> {
    let mut graph = Graph::default();
    let node = |name, kind, events, inputs| Node {
        ports: Ports::STEREO.with_events(events),
        inputs,
        ..Node::new(name, kind)
    };
    let keyboard = node("keyboard", NodeKind::Input(0), EventPorts::OUTPUT, vec![]);
    let keyboard = vec![Edge::events(graph.add(keyboard)?)];
    let arpeggiator = node("arpeggiator", NodeKind::Custom(0), EventPorts::BOTH, keyboard);
    let arpeggiator = vec![Edge::events(graph.add(arpeggiator)?)];
    graph.add(node("synth", NodeKind::Custom(0), EventPorts::INPUT, arpeggiator))?;
    let processors: Vec<Option<Box<dyn Processor>>> =
        vec![None, Some(Box::new(Arpeggiator::default())), Some(Box::new(Synth::new(LOUDNESS)))];
    let (mut engine, _editor) = start(&graph, processors)?;

    let mut heard = Vec::new();
    while heard.len() < LENGTH as usize {
        let frames = frames.min(FRAMES).min(LENGTH as usize - heard.len());
        hand_over(&mut engine, heard.len() as u32, frames as u32)?;
        engine.process(frames);
        heard.extend_from_slice(engine.output(frames).left);
    }
    Ok(heard)
}

/// Prints the peak of each step.
pub fn main() -> Result<(), Box<dyn Error>> {
    for (step, heard) in play(FRAMES)?.chunks(STEP as usize).enumerate() {
        let peak = heard.iter().fold(0.0_f32, |peak, sample| peak.max(sample.abs()));
        println!("step {step}: peak {peak:.3}");
    }
    Ok(())
}
