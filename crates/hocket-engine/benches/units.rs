//! What a unit costs in the block path: `cargo bench -p hocket-engine --bench units -- [BLOCKS]`.
//!
//! Tracks that write a constant, groups of eight, one master: 73 nodes that do nothing else. The serial walk of an engine
//! and the bare loops over the same rows take turns, block by block, on one thread. The loops have no clock, no check for
//! samples that are not finite and no costs; the ratio is what all of that takes, and it holds on a busy machine, where
//! times do not. Its interval is that of a median by order statistics (95 %), over the ratios of neighbouring blocks.
//!
//! `-- [BLOCKS] lanes`: the same engine with and without automation lanes of 1,024 parameters, 16 for each track, first all
//! on ramps, then all at rest: the serial walks take turns. The processors ignore the values, so the difference is what the
//! engine does.
//!
//! `valgrind --tool=callgrind` counts the instructions of the same program: `-- 2000 engine` runs the serial walk alone,
//! `-- 2000 loops` the bare loops, `-- 2000 startup` neither.

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Instant;

use hocket_dsp::{Block, Processor, mix, rows};
use hocket_engine::time::{LanePoint, Shape, TimeBase};
use hocket_engine::{
    Engine, LaneChange, LaneSpec, Policy, Prepared, Seating, Settings, Steer, Strategy,
};
use hocket_plan::{Edge, Fusing, Graph, Node, NodeId, NodeKind};
use hocket_plan::{ScheduleKind, Seat, Seats, SiblingPolicy};

const FRAMES: usize = 64;
const TRACKS: usize = 64;
const GROUP: usize = 8;
const UNITS: usize = TRACKS + TRACKS / GROUP + 1;
const LEVEL: f32 = 0.25;
/// Automated parameters of each track.
const LANES: usize = 16;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let real = args.iter().any(|arg| arg == "--bench");
    let blocks = args.iter().find_map(|arg| arg.parse().ok()).unwrap_or(20_000);
    let blocks = if real { blocks } else { 10 };
    let mut engine = engine(|| Box::new(Constant));
    let mut loops = Loops::new();
    check(&mut engine, &mut loops);
    let only = |what: &str| args.iter().any(|arg| arg == what);
    if only("startup") {
    } else if only("engine") {
        (0..blocks).for_each(|_| {
            black_box(engine.process_serial(FRAMES));
        });
    } else if only("loops") {
        (0..blocks).for_each(|_| loops.run());
    } else if only("lanes") || !real {
        compare_lanes("on ramps", 1.0, blocks);
        compare_lanes("at rest", 0.0, blocks);
    } else {
        compare(&mut engine, &mut loops, blocks);
    }
}

/// Both compute the same.
fn check(engine: &mut Engine, loops: &mut Loops) {
    engine.process_serial(FRAMES);
    loops.run();
    let output = engine.output(FRAMES);
    assert_eq!(output.left, loops.buses[UNITS - 1].0, "left");
    assert_eq!(output.right, loops.buses[UNITS - 1].1, "right");
}

fn compare(engine: &mut Engine, loops: &mut Loops, blocks: usize) {
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
    let (mut whole, mut bare): (Vec<f64>, Vec<f64>) = samples.into_iter().unzip();
    let per_unit = |samples: &mut Vec<f64>| median(samples).1 / UNITS as f64;
    println!(
        "{UNITS} units, {blocks} blocks: serial walk {:.1} ns per unit, bare loops {:.1}, ratio {ratio:.3} [{low:.3}, {high:.3}]",
        per_unit(&mut whole),
        per_unit(&mut bare),
    );
}

/// `rise`: of each lane over a day.
fn compare_lanes(what: &str, rise: f64, blocks: usize) {
    let (events, no_events) = (Arc::<AtomicU64>::default(), Arc::<AtomicU64>::default());
    let mut automated = engine(|| Box::new(Counts(Arc::clone(&events))));
    let mut plain = engine(|| Box::new(Counts(Arc::clone(&no_events))));
    automate(&automated, rise);
    // The first values.
    automated.process_serial(FRAMES);
    plain.process_serial(FRAMES);
    let expected = if rise == 0.0 { 0 } else { TRACKS * LANES * FRAMES / 32 };
    let (mut with, mut without) = (Vec::with_capacity(blocks), Vec::with_capacity(blocks));
    for round in 0..blocks + 200 {
        let begun = events.load(Relaxed);
        let ns = match round % 2 {
            0 => (walk_ns(&mut automated), walk_ns(&mut plain)),
            _ => {
                let plain = walk_ns(&mut plain);
                (walk_ns(&mut automated), plain)
            }
        };
        let values = (events.load(Relaxed) - begun) as usize;
        assert_eq!(values, expected, "a value every 32 frames on a ramp");
        if round >= 200 {
            with.push(ns.0);
            without.push(ns.1);
        }
    }
    assert_eq!(no_events.load(Relaxed), 0);
    let mut more: Vec<f64> =
        with.iter().zip(&without).map(|(with, without)| with - without).collect();
    let (low, ns, high) = median(&mut more);
    println!(
        "{} lanes {what}, {blocks} blocks of {FRAMES} frames: {ns:.0} ns more per block [{low:.0}, {high:.0}], {:.1} ns per lane; \
         the walk alone takes {:.0} ns",
        TRACKS * LANES,
        ns / (TRACKS * LANES) as f64,
        median(&mut without).1,
    );
}

/// Gives every track lanes that go from 0 to `rise` in a day.
fn automate(engine: &Engine, rise: f64) {
    let point = |at, value| LanePoint { at, value, shape: Shape::Linear };
    let lane = LaneSpec::new(TimeBase::Seconds, vec![point(0.0, 0.0), point(86_400.0, rise)]);
    let tracks = (0..TRACKS as u32).map(NodeId);
    let change = |node, param| LaneChange { node, param, lane: Some(lane.clone()) };
    let changes = tracks.flat_map(|node| (0..LANES as u16).map(move |param| (node, param)));
    let changes = changes.map(|(node, param)| change(node, param));
    engine.control().automate(changes).expect("tracks have processors");
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

/// Counts the events of all tracks.
struct Counts(Arc<AtomicU64>);

impl Processor for Counts {
    fn process(&mut self, block: &mut Block<'_>) {
        self.0.fetch_add(block.events.len() as u64, Relaxed);
    }

    fn reset(&mut self) {}
}

fn engine(track: impl Fn() -> Box<dyn Processor>) -> Engine {
    let graph = graph();
    let processor =
        |node: &Node| -> Option<Box<dyn Processor>> { node.inputs.is_empty().then(&track) };
    let processors = graph.nodes().iter().map(processor).collect();
    let prepared = Prepared::from_graph(&graph, processors, Fusing::Chains).expect("a graph");
    let seats = Seats { seats: vec![Seat { core: 0, speed: 1.0 }] };
    let seating = Seating::described(&seats, SiblingPolicy::Off, None).expect("one seat");
    let policy = Policy {
        schedule: ScheduleKind::Serial,
        sibling: SiblingPolicy::Off,
        wait: Strategy::Hybrid,
    };
    let settings = Settings {
        steer: Steer::Fixed,
        priority: None,
        ..Settings::new(FRAMES as u32, 48_000, policy)
    };
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
