//! Measures the cost of a unit in the block path: `cargo bench --bench units -- [--blocks N] [--record FILE [--force]]`.
//!
//! Tracks that write a constant, groups of eight, one master: 73 nodes that do nothing else. The serial walk of an engine
//! and the bare loops over the same rows take turns, block by block, on one thread. The loops have no clock, no check for
//! samples that are not finite and no costs; the ratio is what all of that takes, and it holds on a busy machine, where
//! times do not. Its interval is that of a median by order statistics (95 %), over the ratios of neighbouring blocks.
//!
//! `valgrind --tool=callgrind` counts the instructions of the same program: `-- --blocks 2000 --only engine` runs the serial
//! walk alone, `--only loops` the bare loops, `--only startup` neither.

mod one_seat;

use std::hint::black_box;
use std::process::ExitCode;
use std::time::Instant;

use hocket_dsp::{Block, Processor, mix, rows};
use hocket_engine::{Engine, Prepared};
use hocket_lab::provenance::{BenchCommand, bench_exit};
use hocket_plan::{Edge, Fusing, Graph, Node, NodeId, NodeKind};
use one_seat::one_seat;
use serde_json::{Value, json};

const FRAMES: usize = 64;
const TRACKS: usize = 64;
const GROUP: usize = 8;
const UNITS: usize = TRACKS + TRACKS / GROUP + 1;
const LEVEL: f32 = 0.25;

fn main() -> ExitCode {
    bench_exit("units", run())
}

fn run() -> Result<(), String> {
    let command = BenchCommand::read()?;
    let blocks = command.value("--blocks").and_then(|blocks| blocks.parse().ok()).unwrap_or(20_000);
    let only = command.value("--only");
    let blocks = if command.measures() || only.is_some() { blocks } else { 10 };
    let mut engine = engine();
    let mut loops = Loops::new();
    check(&mut engine, &mut loops);
    match only {
        Some("engine") => (0..blocks).for_each(|_| {
            black_box(engine.process_serial(FRAMES));
        }),
        Some("loops") => (0..blocks).for_each(|_| loops.run()),
        Some("startup") => {}
        Some(other) => return Err(format!("--only {other}: engine, loops or startup")),
        None => command.keep("hocket-units/1", compare(&mut engine, &mut loops, blocks))?,
    }
    Ok(())
}

/// Both compute the same.
fn check(engine: &mut Engine, loops: &mut Loops) {
    engine.process_serial(FRAMES);
    loops.run();
    let output = engine.output(FRAMES);
    assert_eq!(output.left, loops.buses[UNITS - 1].0, "left");
    assert_eq!(output.right, loops.buses[UNITS - 1].1, "right");
}

/// Both in turns; every block is kept.
fn compare(engine: &mut Engine, loops: &mut Loops, blocks: usize) -> Value {
    let mut samples = Vec::with_capacity(blocks);
    for round in 0..blocks + 200 {
        let (whole, bare) = match round % 2 {
            0 => (walk_ns(engine), loops_ns(loops)),
            _ => {
                let bare = loops_ns(loops);
                (walk_ns(engine), bare)
            }
        };
        if round >= 200 {
            samples.push((whole, bare));
        }
    }
    let mut ratios: Vec<f64> = samples.iter().map(|(whole, bare)| whole / bare).collect();
    let (low, ratio, high) = median(&mut ratios);
    let (walk_ns, loops_ns): (Vec<f64>, Vec<f64>) = samples.into_iter().unzip();
    let per_unit = |samples: &[f64]| median(&mut samples.to_vec()).1 / UNITS as f64;
    println!(
        "{UNITS} units, {blocks} blocks: serial walk {:.1} ns per unit, bare loops {:.1}, ratio {ratio:.3} [{low:.3}, {high:.3}]",
        per_unit(&walk_ns),
        per_unit(&loops_ns),
    );
    json!({
        "frames": FRAMES, "units": UNITS, "ratio": [low, ratio, high],
        "walk_ns_per_unit": per_unit(&walk_ns), "loops_ns_per_unit": per_unit(&loops_ns),
        "walk_ns": walk_ns, "loops_ns": loops_ns,
    })
}

fn walk_ns(engine: &mut Engine) -> f64 {
    engine.process_serial(FRAMES).duration_ns as f64
}

fn loops_ns(loops: &mut Loops) -> f64 {
    let start = Instant::now();
    loops.run();
    start.elapsed().as_nanos() as f64
}

/// The median between the bounds of its 95 % interval (order statistics, normal approximation).
fn median(samples: &mut [f64]) -> (f64, f64, f64) {
    samples.sort_by(f64::total_cmp);
    let (last, middle) = (samples.len() - 1, samples.len() / 2);
    let reach = (0.98 * (samples.len() as f64).sqrt()).ceil() as usize;
    (samples[middle.saturating_sub(reach)], samples[middle], samples[(middle + reach).min(last)])
}

/// The same rows and sums in plain loops.
struct Loops {
    buses: Vec<(Vec<f32>, Vec<f32>)>,
}

impl Loops {
    fn new() -> Loops {
        Loops { buses: vec![(vec![0.0; FRAMES], vec![0.0; FRAMES]); UNITS] }
    }

    #[inline(never)]
    fn run(&mut self) {
        let (tracks, rest) = self.buses.split_at_mut(TRACKS);
        let (groups, master) = rest.split_at_mut(TRACKS / GROUP);
        for (left, right) in &mut *tracks {
            mix::clear(right);
            rows::fill(left, LEVEL);
        }
        for (group, members) in groups.iter_mut().zip(tracks.chunks(GROUP)) {
            sum(group, members);
        }
        sum(&mut master[0], groups);
        black_box(&mut self.buses);
    }
}

fn sum((left, right): &mut (Vec<f32>, Vec<f32>), from: &[(Vec<f32>, Vec<f32>)]) {
    mix::copy_scaled(left, &from[0].0, 1.0);
    mix::copy_scaled(right, &from[0].1, 1.0);
    for (from_left, from_right) in &from[1..] {
        mix::add_scaled(left, from_left, 1.0);
        mix::add_scaled(right, from_right, 1.0);
    }
}

struct Constant;

impl Processor for Constant {
    fn process(&mut self, block: &mut Block<'_>) {
        rows::fill(block.main.left, LEVEL);
    }

    fn reset(&mut self) {}
}

fn engine() -> Engine {
    let graph = graph();
    let processor = |node: &Node| -> Option<Box<dyn Processor>> {
        if node.inputs.is_empty() { Some(Box::new(Constant)) } else { None }
    };
    let processors = graph.nodes().iter().map(processor).collect();
    let prepared = Prepared::from_graph(&graph, processors, Fusing::Chains).expect("a graph");
    let (seating, settings) = one_seat(FRAMES, 48_000);
    Engine::start(prepared, settings, seating).expect("an engine")
}

fn graph() -> Graph {
    let mut graph = Graph::default();
    let tracks: Vec<NodeId> = (0..TRACKS).map(|_| add(&mut graph, &[])).collect();
    let groups: Vec<NodeId> = tracks.chunks(GROUP).map(|from| add(&mut graph, from)).collect();
    add(&mut graph, &groups);
    graph
}

fn add(graph: &mut Graph, from: &[NodeId]) -> NodeId {
    let inputs = from.iter().map(|from| Edge::new(*from, 1.0)).collect();
    let index = graph.nodes().len() as u32;
    let (name, kind) = (format!("n{index}: constant"), NodeKind::Custom(index));
    let node = Node { name, kind, inputs, cost: 1.0, latency_frames: 0, ports: Default::default() };
    graph.add(node).expect("inputs come before")
}
