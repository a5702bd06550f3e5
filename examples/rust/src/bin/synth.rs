//! A synthesizer that plays a pattern by the song's position: it follows play, stop, locate and tempo.
//!
//! Graphs have no edges for notes yet (MIDI). Until they have, an instrument keeps its notes itself and asks
//! `Block::time` where the song is. Parameters come as events: here parameter 0, the loudness.
//!
//! `cargo run -p hocket-embedder --bin synth`
#![forbid(unsafe_code)]

use std::error::Error;
use std::f64::consts::TAU;

use hocket_embedder::{FRAMES, RATE_HZ, start};
use hocket_engine::time::{BlockTime, TempoMap, TimedCommand, TransportCommand};
use hocket_engine::{Block, Change, Engine, Event, Graph, Node, NodeKind, Processor};

/// One bar: semitones above A3, a note for each half beat.
const PATTERN: [i32; 8] = [0, 12, 7, 12, 3, 12, 7, 10];

struct Synth {
    loudness: f32,
}

impl Processor for Synth {
    fn process(&mut self, block: &mut Block<'_>) {
        let mut events = block.events.iter().peekable();
        for frame in 0..block.frames() {
            while let Some(event) = events.next_if(|event| event.frame as usize <= frame) {
                self.change(event);
            }
            let sample = block.time.map_or(0.0, |time| wave(time, frame as u32));
            block.main.left[frame] = self.loudness * sample;
            block.main.right[frame] = self.loudness * sample;
        }
    }

    /// Nothing: what is heard depends on the song's position alone. So a locate needs no preparation, and the same
    /// place always sounds the same.
    fn reset(&mut self) {}

    fn keeps_time(&self) -> bool {
        true
    }
}

impl Synth {
    fn change(&mut self, event: &Event) {
        if let Change::Param { index: 0, value } = event.change {
            self.loudness = value.clamp(0.0, 1.0);
        }
    }
}

/// A decaying sine from the beginning of each half beat on.
fn wave(time: &BlockTime<'_>, frame: u32) -> f32 {
    if !time.is_playing_at(frame) {
        return 0.0;
    }
    let half_beats = 2.0 * time.beats_at(frame);
    let note = half_beats.floor();
    let since_note_s = (half_beats - note) * 30.0 / time.bpm_at(frame);
    let semitones = PATTERN[(note as i64).rem_euclid(8) as usize];
    let pitch_hz = 220.0 * (f64::from(semitones) / 12.0).exp2();
    ((TAU * pitch_hz * since_note_s).sin() * (-8.0 * since_note_s).exp()) as f32
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
    let synth = graph.add(Node::new("synth", NodeKind::Custom(0)))?;
    let (mut engine, mut editor) = start(&graph, vec![Some(Box::new(Synth { loudness: 0.5 }))])?;
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
