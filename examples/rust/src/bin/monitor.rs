//! A singer's monitor: what the microphone hears goes through a chain into the headphones, and is recorded dry.
//!
//! ```text
//! microphone ──> limiter ──> headphones    first output
//!     │                        ^
//!     │          backing ──────┘           delayed by the engine, as late as the limiter
//!     └──> recorder                        second output, a tap: nobody waits for the limiter
//! ```
//!
//! `cargo run --manifest-path examples/rust/Cargo.toml --bin monitor`
#![forbid(unsafe_code)]

use std::error::Error;

use hocket_embedder::{FRAMES, RATE_HZ, start};
use hocket_engine::{Block, Edge, Graph, Node, NodeKind, Ports, Processor, kind, rows};

/// The backing track: a click every thousand frames.
struct Backing {
    frame: usize,
}

impl Processor for Backing {
    fn process(&mut self, block: &mut Block<'_>) {
        for (left, right) in block.main.left.iter_mut().zip(block.main.right.iter_mut()) {
            let click = if self.frame.is_multiple_of(1_000) { 0.25 } else { 0.0 };
            (*left, *right) = (click, click);
            self.frame += 1;
        }
    }

    fn reset(&mut self) {
        self.frame = 0;
    }
}

/// What was heard and recorded.
pub struct Take {
    /// The left row of the headphones.
    pub headphones: Vec<f32>,
    /// The recording.
    pub recorded: Vec<f32>,
    /// How late each of both is, in frames.
    pub latencies: Vec<u32>,
}

/// Plays what the microphone hears, in mono.
pub fn play(microphone: &[f32]) -> Result<Take, Box<dyn Error>> {
    let limiter = kind("limiter").ok_or("no limiter")?;
    let limiter = (limiter.build)(&limiter.defaults(), RATE_HZ);
    let mut graph = Graph::default();
    let stereo = |name, inputs| Node { inputs, ..Node::new(name, NodeKind::Custom(0)) };
    let mono = Node { ports: Ports::of(1), ..Node::new("microphone", NodeKind::Input(0)) };
    let input = graph.add(mono)?;
    // An edge from one channel goes to both.
    let voice = graph.add(Node {
        latency_frames: limiter.latency_frames(),
        ..stereo("voice", vec![Edge::new(input, 0.5)])
    })?;
    let backing = graph.add(stereo("backing", vec![]))?;
    let inputs = vec![Edge::new(voice, 1.0), Edge::new(backing, 1.0)];
    let headphones = graph.add(stereo("headphones", inputs))?;
    graph.set_outputs(vec![headphones, input])?;

    let backing = Box::new(Backing { frame: 0 });
    let (mut engine, _editor) = start(&graph, vec![None, Some(limiter), Some(backing), None])?;
    let latencies = engine.output_latencies();
    let mut take = Take { headphones: Vec::new(), recorded: Vec::new(), latencies };
    for samples in microphone.chunks(FRAMES) {
        let frames = samples.len();
        let mut input = engine.input_mut(0, frames).ok_or("no microphone")?;
        rows::copy(input.row_mut(0), samples);
        engine.process(frames);
        take.headphones.extend_from_slice(engine.output(frames).left);
        let tap = engine.output_rows(1, frames).ok_or("no recorder")?;
        take.recorded.extend_from_slice(tap.row(0));
    }
    Ok(take)
}

/// Sings a tone, and prints how late the outputs are.
pub fn main() -> Result<(), Box<dyn Error>> {
    let sings = |frame: u16| (f32::from(frame) * 0.03).sin() * 0.5;
    let take = play(&(0..4_800).map(sings).collect::<Vec<_>>())?;
    println!("headphones and recorder are {:?} frames late", take.latencies);
    Ok(())
}
