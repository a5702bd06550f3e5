//! What an exchange of plans costs the leader: `cargo bench -p hocket-engine --bench exchange -- [ROUNDS]`.
//!
//! 1,000 nodes: 998 sources, one late node beside them, and the mix of all. If the late node gets another latency, 998
//! delay lines change. The time is that of the orders before the block ([`BlockTimes::orders_ns`]); the block itself is
//! printed too, because the workers change the lines in it.
//!
//! Four exchanges take turns:
//!
//! | exchange | what it shows |
//! |---|---|
//! | the same graph | the exchange alone |
//! | other delays | what the lines cost the leader |
//! | other delays again | an A/A pair with the row above: smaller differences are noise |
//! | two exchanges before one block | the leader changes the lines of the first plan, which never runs |

use hocket_dsp::{Block, Processor, rows};
use hocket_engine::{Engine, GraphEditor, NodeSource, Policy, Seating, Settings, Steer, Strategy};
use hocket_plan::{Edge, Graph, Node, NodeId, NodeKind};
use hocket_plan::{ScheduleKind, Seat, Seats, SiblingPolicy};

const FRAMES: usize = 64;
const NODES: u32 = 1000;
/// Latencies of the late node, in frames.
const LATENCIES: [u32; 2] = [100, 200];
/// Blocks until all fades are over: two delays one after the other, each with up to 200 frames of waiting and 512 of the fade.
const FADED: usize = 24;

const EXCHANGES: [&str; 4] =
    ["the same graph", "other delays", "other delays again", "two exchanges before one block"];

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let real = args.iter().any(|arg| arg == "--bench");
    let rounds = args.iter().find_map(|arg| arg.parse().ok()).unwrap_or(200);
    let rounds = if real { rounds } else { 2 };
    let (mut engine, mut editor) = start();
    let mut samples: [Vec<(u64, u64)>; 4] = Default::default();
    let mut latency = 0;
    for round in 0..4 * (rounds + 2) {
        let exchange = round % 4;
        let before = latency;
        latency = if exchange == 0 { before } else { 1 - before };
        if exchange == 3 {
            replace(&mut editor, latency);
            latency = before;
        }
        replace(&mut editor, latency);
        let times = engine.process(FRAMES);
        assert!(times.orders > 0, "the exchange came with this block");
        if round >= 8 {
            samples[exchange].push((times.orders_ns, times.duration_ns));
        }
        (0..FADED).for_each(|_| _ = engine.process(FRAMES));
        // Takes back what was replaced, and goes on without what has faded.
        (0..2).for_each(|_| {
            editor.take_applied();
            engine.process(FRAMES);
        });
        check(&engine);
    }
    for (exchange, samples) in EXCHANGES.iter().zip(samples) {
        let (orders, block): (Vec<u64>, Vec<u64>) = samples.into_iter().unzip();
        println!(
            "{exchange}: orders {}, block {} (p50, p99 of {rounds})",
            quantiles(orders),
            quantiles(block)
        );
    }
}

/// All sources arrive together: each row of the mix is the sum of as many levels.
fn check(engine: &Engine) {
    let output = engine.output(FRAMES);
    assert_eq!(output.left, [0.25 * (NODES - 1) as f32; FRAMES]);
}

fn quantiles(mut ns: Vec<u64>) -> String {
    ns.sort_unstable();
    let at = |part: f64| ns[((ns.len() - 1) as f64 * part).round() as usize] as f64 / 1000.0;
    format!("{:.1} us, {:.1} us", at(0.5), at(0.99))
}

struct Constant;

impl Processor for Constant {
    fn process(&mut self, block: &mut Block<'_>) {
        rows::fill(block.main.left, 0.25);
    }

    fn reset(&mut self) {}
}

/// `latency`: which one the late node has.
fn graph(latency: usize) -> Graph {
    let mut graph = Graph::default();
    for id in 0..NODES - 1 {
        let latency_frames = if id == 0 { LATENCIES[latency] } else { 0 };
        let node = Node::new(format!("n{id}: constant"), NodeKind::Custom(id));
        graph.add(Node { latency_frames, ..node }).expect("it has no inputs");
    }
    let inputs = (0..NODES - 1).map(|id| Edge::new(NodeId(id), 1.0)).collect();
    let mix = Node::new("mix: sum", NodeKind::Custom(NODES));
    graph.add(Node { inputs, ..mix }).expect("inputs come before");
    graph
}

fn replace(editor: &mut GraphEditor, latency: usize) {
    let kept = (0..NODES).map(|id| NodeSource::Kept(NodeId(id))).collect();
    editor.replace(&graph(latency), kept).expect("the engine takes orders");
}

fn start() -> (Engine, GraphEditor) {
    let graph = graph(0);
    let processor = |node: &Node| -> Option<Box<dyn Processor>> {
        if node.inputs.is_empty() { Some(Box::new(Constant)) } else { None }
    };
    let processors = graph.nodes().iter().map(processor).collect();
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
    GraphEditor::start(&graph, processors, settings, seating).expect("an engine")
}
