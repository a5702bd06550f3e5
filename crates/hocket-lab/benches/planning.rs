//! What planning and scheduling themselves cost: `cargo bench --bench planning -- [--record FILE [--force]]`.
//!
//! - Compile: graph -> units -> verified schedule, for 1,000, 10,000 and 100,000 nodes, by kind.
//! - A unit: 10,000 units without work on one worker, in blocks of 64 frames; each schedule in turn
//!   with the bare serial walk, within one run. The difference is what the schedule costs a unit.

use std::hint::black_box;
use std::process::ExitCode;
use std::time::Instant;

use hocket_engine::{Engine, Policy, Prepared, Seating, Settings, Steer, Strategy};
use hocket_lab::provenance::{BenchCommand, bench_exit};
use hocket_lab::stats::{self, Rng};
use hocket_machine::Topology;
use hocket_plan::{
    Edge, Fusing, Graph, Node, NodeId, NodeKind, Schedule, ScheduleKind, SiblingPolicy, UnitGraph,
    VerifiedSchedule,
};
use serde_json::{Value, json};

const FRAMES: u32 = 64;
const EMPTY_UNITS: usize = 10_000;

fn main() -> ExitCode {
    bench_exit("planning", run())
}

fn run() -> Result<(), String> {
    let command = BenchCommand::read()?;
    let real = command.measures();
    let sizes: &[usize] = if real { &[1_000, 10_000, 100_000] } else { &[1_000] };
    let compiled = compile_table(sizes, if real { 9 } else { 1 });
    let units = unit_table(if real { 400 } else { 5 })?;
    command.keep("hocket-planning/1", json!({ "compile": compiled, "units": units }))
}

/// Tracks of four nodes into groups of eight, into one node: the shape of a session.
fn graph(nodes: usize) -> Graph {
    let mut graph = Graph::default();
    let mut ends = Vec::new();
    while graph.nodes().len() + ends.len().div_ceil(8) + 1 < nodes {
        let mut last = add(&mut graph, &[]);
        for _ in 0..3 {
            last = add(&mut graph, &[last]);
        }
        ends.push(last);
    }
    let groups: Vec<NodeId> = ends.chunks(8).map(|members| add(&mut graph, members)).collect();
    add(&mut graph, &groups);
    graph
}

fn add(graph: &mut Graph, from: &[NodeId]) -> NodeId {
    let inputs: Vec<Edge> = from.iter().map(|from| Edge::new(*from, 1.0)).collect();
    let index = graph.nodes().len();
    let node = Node {
        name: format!("n{index}: work"),
        kind: NodeKind::Custom(index as u32),
        inputs,
        cost: 100.0 + (index % 17) as f64,
        latency_frames: 0,
        ports: Default::default(),
    };
    graph.add(node).expect("inputs come before")
}

/// Milliseconds from the graph to a verified schedule for eight workers, median of `times`.
fn compile_table(sizes: &[usize], times: usize) -> Vec<Value> {
    println!("graph to verified schedule for 8 workers, median of {times}, in ms");
    let mut rows = Vec::new();
    for nodes in sizes {
        let graph = graph(*nodes);
        for fusing in [Fusing::Chains, Fusing::None] {
            for kind in ScheduleKind::ALL {
                let ms: Vec<f64> = (0..times).map(|_| compile_ms(&graph, fusing, kind)).collect();
                let median = stats::median(&ms).unwrap_or(f64::NAN);
                println!("{nodes:>7} nodes  {fusing:<7?} {:<9} {median:>9.2}", kind.name());
                rows.push(json!({
                    "nodes": nodes, "fusing": format!("{fusing:?}"), "schedule": kind.name(), "ms": ms,
                }));
            }
        }
    }
    rows
}

fn compile_ms(graph: &Graph, fusing: Fusing, kind: ScheduleKind) -> f64 {
    let start = Instant::now();
    let units = UnitGraph::compile(graph, fusing).expect("not empty");
    let schedule = Schedule::plan(kind, &units, 8);
    black_box(VerifiedSchedule::verify(units, schedule).expect("planners obey the rules"));
    start.elapsed().as_secs_f64() * 1000.0
}

/// What one unit costs beside the bare walk over the same units.
fn unit_table(rounds: usize) -> Result<Vec<Value>, String> {
    let kinds = [ScheduleKind::Dataflow, ScheduleKind::Steal, ScheduleKind::Critical];
    println!("{EMPTY_UNITS} units without work, one worker, {rounds} blocks each, ns a unit");
    let mut engines: Vec<Engine> =
        kinds.iter().map(|kind| engine(*kind)).collect::<Result<_, _>>()?;
    let _leader = engines[0].enter();
    let mut rng = Rng::new(1);
    let mut samples = vec![(Vec::new(), Vec::new()); kinds.len()];
    for round in 0..rounds + 20 {
        let mut order: Vec<usize> = (0..kinds.len()).collect();
        rng.shuffle(&mut order);
        for which in order {
            // The first block finds the caches full of another engine's units.
            engines[which].process_serial(FRAMES as usize);
            let (whole, bare) = pair(&mut engines[which], round % 2 == 0);
            if round >= 20 {
                samples[which].0.push(whole);
                samples[which].1.push(bare);
            }
        }
    }
    Ok(kinds.iter().zip(samples).map(|(kind, (whole, bare))| row(*kind, whole, bare)).collect())
}

/// One block by the schedule and one by the bare walk, in this order or the other; ns a unit.
fn pair(engine: &mut Engine, schedule_first: bool) -> (f64, f64) {
    let frames = FRAMES as usize;
    let per_unit = |ns: u64| ns as f64 / EMPTY_UNITS as f64;
    if schedule_first {
        let whole = engine.process(frames).duration_ns;
        (per_unit(whole), per_unit(engine.process_serial(frames).duration_ns))
    } else {
        let bare = engine.process_serial(frames).duration_ns;
        (per_unit(engine.process(frames).duration_ns), per_unit(bare))
    }
}

fn row(kind: ScheduleKind, whole: Vec<f64>, bare: Vec<f64>) -> Value {
    let over: Vec<f64> = whole.iter().zip(&bare).map(|(whole, bare)| whole - bare).collect();
    let median = |samples: &[f64]| stats::median(samples).unwrap_or(f64::NAN);
    println!(
        "{:<9} whole {:>6.1}  serial walk {:>6.1}  the schedule's own {:>6.1}",
        kind.name(),
        median(&whole),
        median(&bare),
        median(&over)
    );
    json!({"schedule": kind.name(), "whole_ns": whole, "serial_ns": bare})
}

/// 10,000 nodes that do nothing: tracks of one node into groups of eight.
fn engine(kind: ScheduleKind) -> Result<Engine, String> {
    let mut graph = Graph::default();
    let tracks: Vec<NodeId> = (0..EMPTY_UNITS * 8 / 9).map(|_| add(&mut graph, &[])).collect();
    let groups: Vec<NodeId> = tracks.chunks(8).map(|members| add(&mut graph, members)).collect();
    add(&mut graph, &groups);
    let none = graph.nodes().iter().map(|_| None).collect();
    let prepared = Prepared::from_graph(&graph, none, Fusing::None).map_err(|e| e.to_string())?;
    let topology = Topology::discover().map_err(|error| error.to_string())?;
    let seating = Seating::here(&topology, SiblingPolicy::Off, Some(1));
    let policy = Policy { schedule: kind, sibling: SiblingPolicy::Off, wait: Strategy::Hybrid };
    let settings = Settings {
        steer: Steer::Fixed,
        alone_is_serial: false,
        ..Settings::new(FRAMES, 48_000, policy)
    };
    Engine::start(prepared, settings, seating.map_err(|e| e.to_string())?)
        .map_err(|e| e.to_string())
}
