//! A host that records while it plays: the headphones have the voice in a room, the file has it dry.
//!
//! ```text
//! voice ──> room ──> headphones    first output
//!   └──> recorder                  second output, a tap, which goes into a WAV or FLAC file
//! ```
//!
//! Takes are in the crate `hocket-disk`; all else is in `hocket-engine`.
//!
//! `cargo run --manifest-path examples/rust/Cargo.toml --bin recorder -- take.flac`
#![forbid(unsafe_code)]

use std::error::Error;
use std::path::Path;
use std::time::Duration;

use hocket_disk::{Recorder, RecorderSettings, TakeFormat, TakeReport, TakeSettings};
use hocket_embedder::instrument::tone;
use hocket_embedder::{FRAMES, RATE_HZ, start};
use hocket_engine::{Block, Edge, Graph, Node, NodeKind, Processor, kind};

/// Two seconds.
const BLOCKS: usize = 2 * RATE_HZ as usize / FRAMES;
/// How long the end of the recording may wait for the disk.
const PATIENCE: Duration = Duration::from_secs(60);

/// Sings one note four times a second.
struct Voice {
    frame: u32,
}

impl Processor for Voice {
    fn process(&mut self, block: &mut Block<'_>) {
        for (left, right) in block.main.left.iter_mut().zip(block.main.right.iter_mut()) {
            *left = tone(57, self.frame % (RATE_HZ / 4));
            *right = *left;
            self.frame += 1;
        }
    }

    fn reset(&mut self) {
        self.frame = 0;
    }
}

/// The output that is recorded. The headphones are output 0.
const RECORDED: usize = 1;

/// Plays, and records to a file that does not exist yet.
fn record(path: &Path) -> Result<TakeReport, Box<dyn Error>> {
    let room = kind("freeverb").ok_or("no room")?;
    let room = (room.build)(&room.defaults(), RATE_HZ);
    let mut graph = Graph::default();
    let voice = graph.add(Node::new("voice", NodeKind::Custom(0)))?;
    let inputs = vec![Edge::new(voice, 1.0)];
    let headphones = graph.add(Node { inputs, ..Node::new("headphones", NodeKind::Custom(0)) })?;
    graph.set_outputs(vec![headphones, voice])?;
    let voice = Voice { frame: 0 };
    let (mut engine, _editor) = start(&graph, vec![Some(Box::new(voice)), Some(room)])?;

    let recorder = Recorder::start(RecorderSettings::default());
    let usual = TakeSettings::new(path, RATE_HZ, 2);
    let is_flac = path.extension().is_some_and(|ending| ending == "flac");
    let settings = TakeSettings {
        format: if is_flac { TakeFormat::Flac24 } else { usual.format },
        latency_frames: engine.output_latencies()[RECORDED].into(),
        ..usual
    };
    let (mut input, take) = recorder.begin(&settings)?;

    // The audio thread never waits for the disk. A take has room for five seconds, so here all of it finds room. What
    // finds none is silent in the file, and the report says where.
    let audio = std::thread::spawn(move || {
        for _ in 0..BLOCKS {
            engine.process(FRAMES);
            if let Some(rows) = engine.output_rows(RECORDED, FRAMES) {
                input.write(&[rows.row(0), rows.row(1)]);
            }
        }
        (engine, input)
    });
    let (_engine, input) = audio.join().map_err(|_| "the audio thread panicked")?;
    // This ends the take. It frees memory, so the audio thread does not do it.
    drop(input);
    take.finish(PATIENCE).map_err(|_| "the disk does not answer".into())
}

/// Records to the file of the first argument, and prints what became of it.
fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args_os().nth(1).ok_or("name a file: recorder FILE.wav, or FILE.flac")?;
    let TakeReport { path, frames, silent_frames, error, .. } = record(Path::new(&path))?;
    println!("{}: {frames} frames, {silent_frames} of them silent", path.display());
    error.map_or(Ok(()), |error| Err(error.into()))
}
