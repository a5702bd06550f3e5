//! A surround bus: six channels, and a fold-down to stereo that is made of edges alone.
//!
//! An edge carries a range of channels, and several edges make any other map. The bus is an output, and so is its fold.
//!
//! `cargo run --manifest-path examples/rust/Cargo.toml --bin surround`
#![forbid(unsafe_code)]

use std::error::Error;
use std::f32::consts::FRAC_1_SQRT_2;

use hocket_embedder::{FRAMES, start};
use hocket_engine::{
    Block, ChannelMap, Edge, Graph, Node, NodeId, NodeKind, Ports, Processor, RowsRef,
};

/// The channels of the bus, as most files and drivers order them.
const LEFT: u16 = 0;
const CENTRE: u16 = 2;
const BASS: u16 = 3;
const LEFT_REAR: u16 = 4;

/// Plays one level on all channels that its node has.
struct Level(f32);

impl Processor for Level {
    fn process(&mut self, block: &mut Block<'_>) {
        for channel in 0..block.channels() {
            block.channel_mut(channel).fill(self.0);
        }
    }

    fn reset(&mut self) {}
}

/// A number of channels of `from`, to the channels from `to` on.
fn range(from: NodeId, channels: (u16, u16), to: u16, gain_lin: f32) -> Edge {
    let (first, count) = channels;
    Edge { map: ChannelMap::Range { from: first, to, count }, ..Edge::new(from, gain_lin) }
}

fn node(name: &str, channels: u16, inputs: Vec<Edge>) -> Node {
    Node { ports: Ports::of(channels), inputs, ..Node::new(name, NodeKind::Custom(0)) }
}

/// The bus and its fold, as the first output and the second one.
fn graph() -> Result<Graph, Box<dyn Error>> {
    let mut graph = Graph::default();
    let guitars = graph.add(node("guitars", 2, vec![]))?;
    let voice = graph.add(node("voice", 1, vec![]))?;
    let room = graph.add(node("room", 2, vec![]))?;
    let inputs = vec![
        range(guitars, (0, 2), LEFT, 1.0),
        range(voice, (0, 1), CENTRE, 1.0),
        range(voice, (0, 1), BASS, 0.25),
        range(room, (0, 2), LEFT_REAR, 1.0),
    ];
    let bus = graph.add(node("bus", 6, inputs))?;
    let fold = vec![
        range(bus, (LEFT, 2), 0, 1.0),
        range(bus, (CENTRE, 1), 0, FRAC_1_SQRT_2),
        range(bus, (CENTRE, 1), 1, FRAC_1_SQRT_2),
        range(bus, (LEFT_REAR, 2), 0, FRAC_1_SQRT_2),
    ];
    let fold = graph.add(node("fold to stereo", 2, fold))?;
    graph.set_outputs(vec![bus, fold])?;
    Ok(graph)
}

/// Plays a block. Returns the first sample of each channel of the bus, then of its fold.
pub fn play() -> Result<(Vec<f32>, Vec<f32>), Box<dyn Error>> {
    let level = |level| Some(Box::new(Level(level)) as Box<dyn Processor>);
    let processors = vec![level(0.5), level(0.25), level(0.125), None, None];
    let (mut engine, _editor) = start(&graph()?, processors)?;
    engine.process(FRAMES);
    let first = |rows: RowsRef<'_>| (0..rows.len()).map(|channel| rows.row(channel)[0]).collect();
    let (bus, fold) = (engine.output_rows(0, FRAMES), engine.output_rows(1, FRAMES));
    Ok((first(bus.ok_or("no bus")?), first(fold.ok_or("no fold")?)))
}

/// Prints what each channel has.
pub fn main() -> Result<(), Box<dyn Error>> {
    let (bus, fold) = play()?;
    println!("bus:  {bus:?}\nfold: {fold:?}");
    Ok(())
}
