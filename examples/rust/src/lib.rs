//! What the examples share: how each of them starts an engine without a sound card.
//!
//! | example | shows |
//! |---|---|
//! | `small`, `embed` | the smallest host; a session that changes while it plays |
//! | `synth` | a sequencer that knows the song's position and sends notes to a synthesizer; transport and tempo |
//! | `arpeggiator` | a keyboard of the host: events into a graph, through a node, and on to the next |
//! | `feedback_delay` | an edge that closes a cycle |
//! | `surround` | a bus of six channels, and its fold to stereo by edges |
//! | `monitor` | an engine input, two outputs, and delay compensation |
//! | `recorder` | an output that is recorded to a file while it plays, with `hocket-disk` |
#![forbid(unsafe_code)]

pub mod instrument;

use std::error::Error;

use hocket_engine::{
    Engine, Graph, GraphEditor, Policy, Processor, ScheduleKind, Seat, Seating, Seats, Settings,
    SiblingPolicy, Strategy,
};

/// The sample rate of the examples, in Hz.
pub const RATE_HZ: u32 = 48_000;
/// The largest block of the examples, in frames.
pub const FRAMES: usize = 64;

/// Starts an engine with two workers on a machine that is only described, so that nobody is pinned and no right is
/// needed. A host that plays live takes `Seating::here` and keeps the priority, as `small.rs` does.
pub fn start(
    graph: &Graph,
    processors: Vec<Option<Box<dyn Processor>>>,
) -> Result<(Engine, GraphEditor), Box<dyn Error>> {
    let policy = Policy {
        schedule: ScheduleKind::Dataflow,
        sibling: SiblingPolicy::Off,
        wait: Strategy::Hybrid,
    };
    let seat = |core| Seat { core, speed: 1.0 };
    let seats = Seats { seats: vec![seat(0), seat(1)] };
    let seating = Seating::described(&seats, policy.sibling, Some(2))?;
    let settings = Settings { priority: None, ..Settings::new(FRAMES as u32, RATE_HZ, policy) };
    Ok(GraphEditor::start(graph, processors, settings, seating)?)
}

/// The page for writers of hosts: its Rust code compiles and runs.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/embedding.md")]
mod embedding {}
