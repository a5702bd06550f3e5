//! A sequencer that plays a pattern by the song's position, and a synthesizer that hears its notes: they follow play,
//! stop, locate and tempo.
//!
//! The sequencer has an event output and the synthesizer an event input, with an event edge between them. Because the
//! sequencer keeps time, the engine ends its notes where the song stops or jumps. Parameters come apart from notes: here
//! parameter 0, the loudness.
//!
//! `cargo run --manifest-path examples/rust/Cargo.toml --bin synth`
#![forbid(unsafe_code)]

use std::error::Error;

use hocket_embedder::instrument::Synth;
use hocket_embedder::{FRAMES, RATE_HZ, start};
use hocket_engine::time::{EventKind, Note, TempoMap, TimedCommand, TransportCommand};
use hocket_engine::{
    Block, Change, Edge, Engine, EventPorts, Graph, Node, NodeKind, Ports, Processor,
};

/// One bar: a key for each half beat.
const PATTERN: [i8; 8] = [57, 69, 64, 69, 60, 69, 64, 67];

/// Sends a note for each half beat of the song.
struct Sequencer {
    /// The half beat whose note sounds.
    step: Option<i64>,
}

impl Processor for Sequencer {
    fn process(&mut self, block: &mut Block<'_>) {
        let Some(time) = block.time else { return };
        for frame in 0..block.frames() as u32 {
            let segment = time.segment_at(frame);
            if !segment.playing || segment.jumped && segment.offset == frame {
                // The engine has ended the note.
                self.step = None;
            }
            let step = (2.0 * time.beats_at(frame)).floor() as i64;
            if segment.playing && self.step != Some(step) {
                self.go_to(step, frame, block);
            }
        }
    }

    fn reset(&mut self) {
        self.step = None;
    }

    fn keeps_time(&self) -> bool {
        true
    }
}

impl Sequencer {
    fn go_to(&mut self, step: i64, frame: u32, block: &mut Block<'_>) {
        let key = |step: i64| PATTERN[step.rem_euclid(8) as usize];
        // The engine counts what finds no room. Two events always do.
        if let Some(before) = self.step.replace(step) {
            _ = block.send(frame, EventKind::Note(Note::off(-1, 0, key(before), 0.0)));
        }
        _ = block.send(frame, EventKind::Note(Note::on(-1, 0, key(step), 1.0)));
    }
}

/// Plays so many blocks. Returns the left row.
fn listen(engine: &mut Engine, blocks: usize) -> Vec<f32> {
    let mut heard = Vec::new();
    for _ in 0..blocks {
        engine.process(FRAMES);
        heard.extend_from_slice(engine.output(FRAMES).left);
    }
    heard
}

/// Plays half a second, the same again after a locate, the same at half the tempo, and a stopped song.
pub fn play() -> Result<[Vec<f32>; 4], Box<dyn Error>> {
    let mut graph = Graph::default();
    let node = |name, events| Node {
        ports: Ports::STEREO.with_events(events),
        ..Node::new(name, NodeKind::Custom(0))
    };
    let sequencer = graph.add(node("sequencer", EventPorts::OUTPUT))?;
    let inputs = vec![Edge::events(sequencer)];
    let synth = graph.add(Node { inputs, ..node("synth", EventPorts::INPUT) })?;
    let processors: Vec<Option<Box<dyn Processor>>> =
        vec![Some(Box::new(Sequencer { step: None })), Some(Box::new(Synth::new(0.5)))];
    let (mut engine, mut editor) = start(&graph, processors)?;
    let now = |command| TimedCommand { at_steady: 0, command };

    let first = listen(&mut engine, 375);
    engine.control().transport(now(TransportCommand::Locate(0)))?;
    let again = listen(&mut engine, 375);
    engine.control().set_tempo_map(TempoMap::constant(RATE_HZ, 60.0)?)?;
    engine.control().transport(now(TransportCommand::Locate(0)))?;
    editor.change(synth, Change::Param { index: 0, value: 0.25 })?;
    let slow = listen(&mut engine, 375);
    engine.control().transport(now(TransportCommand::Stop))?;
    let stopped = listen(&mut engine, 10);
    Ok([first, again, slow, stopped])
}

/// Prints the peak of each part.
pub fn main() -> Result<(), Box<dyn Error>> {
    let names = ["first pass", "after a locate", "at half the tempo", "stopped"];
    for (name, heard) in names.iter().zip(play()?) {
        let peak = heard.iter().fold(0.0_f32, |peak, sample| peak.max(sample.abs()));
        println!("{name}: peak {peak:.3}");
    }
    Ok(())
}
