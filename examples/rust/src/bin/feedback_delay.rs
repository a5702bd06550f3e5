//! An echo that feeds itself: a feedback edge closes a cycle of nodes.
//!
//! ```text
//! click ──> bus ──────────> heard
//!            ^ │
//!            │ v
//!            └ tape         the edge back has a gain of a half
//! ```
//!
//! A feedback edge brings what a node put out one largest block earlier, so the echo comes after the tape's delay and one
//! block. `cargo run --manifest-path examples/rust/Cargo.toml --bin feedback_delay`
#![forbid(unsafe_code)]

use std::error::Error;

use hocket_embedder::{FRAMES, start};
use hocket_engine::{Block, Edge, Graph, Node, NodeKind, Processor};

/// From one echo to the next, in frames. It cannot be shorter than a block.
pub const ECHO: usize = 1_000;

/// One impulse at the start.
struct Click {
    done: bool,
}

impl Processor for Click {
    fn process(&mut self, block: &mut Block<'_>) {
        if !self.done {
            (block.main.left[0], block.main.right[0]) = (1.0, 1.0);
            self.done = true;
        }
    }

    fn reset(&mut self) {
        self.done = false;
    }
}

/// A delay that is meant to be heard. So it is no latency: `latency_frames` stays 0, and delay compensation leaves it
/// alone.
struct Tape {
    frames: Vec<[f32; 2]>,
    next: usize,
}

impl Processor for Tape {
    fn process(&mut self, block: &mut Block<'_>) {
        for (left, right) in block.main.left.iter_mut().zip(block.main.right.iter_mut()) {
            let heard = std::mem::replace(&mut self.frames[self.next], [*left, *right]);
            [*left, *right] = heard;
            self.next = (self.next + 1) % self.frames.len();
        }
    }

    fn reset(&mut self) {
        self.frames.fill([0.0; 2]);
    }
}

/// Plays a click and four echoes. Returns the left row.
pub fn play() -> Result<Vec<f32>, Box<dyn Error>> {
    let mut graph = Graph::default();
    let reads = |name, from| Node {
        inputs: vec![Edge::new(from, 1.0)],
        ..Node::new(name, NodeKind::Custom(0))
    };
    let click = graph.add(Node::new("click", NodeKind::Custom(0)))?;
    let bus = graph.add(reads("bus", click))?;
    let tape = graph.add(reads("tape", bus))?;
    graph.feed_back(Edge::new(tape, 0.5), bus)?;
    graph.set_outputs(vec![bus])?;

    let frames = vec![[0.0; 2]; ECHO - FRAMES];
    let (click, tape) = (Click { done: false }, Tape { frames, next: 0 });
    let (mut engine, _editor) =
        start(&graph, vec![Some(Box::new(click)), None, Some(Box::new(tape))])?;
    let mut heard = Vec::new();
    while heard.len() < 5 * ECHO {
        // Blocks of any length: the delay stays that of the largest one.
        let frames = 1 + heard.len() % FRAMES;
        engine.process(frames);
        heard.extend_from_slice(engine.output(frames).left);
    }
    Ok(heard)
}

/// Prints the echoes.
pub fn main() -> Result<(), Box<dyn Error>> {
    for (frame, sample) in play()?.iter().enumerate().filter(|(_, sample)| **sample != 0.0) {
        println!("frame {frame}: {sample}");
    }
    Ok(())
}
