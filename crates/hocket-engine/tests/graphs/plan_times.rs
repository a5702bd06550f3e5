//! As `engine/plan_times.rs`, for graphs of a host: nodes that come and go in any order, feedback, engine inputs, taps, ports
//! that change, with fades and without.

use hocket_engine::{
    Block, Edge, Engine, Graph, GraphEditor, Node, NodeId, NodeKind, NodeSource, Ports, Processor,
    ScheduleKind, Settings, Steer,
};
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;

use super::model::{Random, bits};
use super::{seating, settings};

/// A fade takes four of these blocks.
const FRAMES: usize = 128;
/// Orders that the leader carries out before one block.
const ORDERS: usize = 32;
/// Nodes that a graph may have. The last one is always there and is the first output.
const NODES: usize = 10;

/// When plans are made; see `engine/plan_times.rs`.
#[derive(Debug, Clone, Copy)]
enum Made {
    Late,
    Ahead(usize),
    InBursts(usize),
}

/// Another graph.
#[derive(Debug, Clone, Copy)]
struct Exchange {
    /// Blocks since the one before.
    gap: usize,
    graph: u64,
    fades: bool,
}

fn exchanges() -> impl Strategy<Value = Vec<Exchange>> {
    let gap = prop_oneof![2 => Just(0usize), 3 => Just(1), 2 => 2..5usize, 1 => 5..8usize];
    // Few graphs, so that they come back.
    let exchange = (gap, 0..9u64, prop::bool::weighted(0.85));
    let exchange = exchange.prop_map(|(gap, graph, fades)| Exchange { gap, graph, fades });
    prop::collection::vec(exchange, 2..24)
}

/// Follows its input slowly and adds a pulse now and then, so that it has a state.
struct Follows {
    number: usize,
    frame: usize,
    level: [f32; 2],
}

impl Processor for Follows {
    fn process(&mut self, block: &mut Block<'_>) {
        let frames = block.frames();
        for channel in 0..block.channels() {
            for i in 0..frames {
                let pulse = (self.frame + i).is_multiple_of(37 + self.number);
                let level = &mut self.level[channel];
                let sample = &mut block.channel_mut(channel)[i];
                *level += 0.4 * (*sample - *level) + if pulse { 0.3 } else { 0.0 };
                *sample = 0.5 * *level;
            }
        }
        self.frame += frames;
    }

    fn reset(&mut self) {
        (self.frame, self.level) = (0, [0.0; 2]);
    }
}

/// A graph of these numbers: its nodes, by their numbers in all graphs.
fn graph(number: u64) -> (Graph, Vec<usize>) {
    let mut random = Random::new(number + 17);
    let mut live: Vec<usize> = (0..NODES - 1).filter(|_| !random.one_in(4)).collect();
    (1..live.len()).for_each(|i| live.swap(i, random.below(i + 1)));
    live.push(NODES - 1);
    let mut graph = Graph::default();
    for (at, node) in live.iter().enumerate() {
        let mono = *node == 3 || (*node == 7 && number.is_multiple_of(3));
        let ports = if mono { Ports::of(1) } else { Ports::STEREO };
        let kind = if *node < 2 { NodeKind::Input(*node as u16) } else { NodeKind::Custom(0) };
        // One that differs from graph to graph: delays change while others fade.
        let other = [0, 40, 900, 5][number as usize % 4];
        let latency_frames = [0, 0, 0, 0, 40, other, 3, 0, 700, 0][*node];
        let node = Node { ports, latency_frames, ..Node::new(format!("n{node}"), kind) };
        let mut inputs = Vec::new();
        for _ in 0..1 + random.below(4) {
            let from = random.below(at);
            inputs.extend(edge(&graph, from, &node, &mut random));
        }
        graph.add(Node { inputs, ..node }).unwrap();
    }
    for _ in 0..random.below(4) {
        let (from, reader) = (random.below(live.len()), random.below(live.len()));
        let node = graph.nodes()[reader].clone();
        if let Some(edge) = edge(&graph, from, &node, &mut random) {
            graph.feed_back(edge, NodeId(reader as u32)).unwrap();
        }
    }
    let tap = NodeId(random.below(live.len()) as u32);
    graph.set_outputs(vec![NodeId(live.len() as u32 - 1), tap]).unwrap();
    (graph, live)
}

/// Two mixers that each read one of four sources, or one more: what comes and what goes has nothing in common, and fades
/// with equal power, unless the mixers change places.
fn switched(number: u64) -> (Graph, Vec<usize>) {
    let mut random = Random::new(number + 5);
    let mut graph = Graph::default();
    for source in 0..4 {
        graph.add(Node::new(format!("source {source}"), NodeKind::Custom(0))).unwrap();
    }
    for mixer in 0..2 {
        let reads = 1 + usize::from(random.one_in(3));
        let edges = (0..reads).map(|_| Edge::new(NodeId(random.below(4) as u32), 0.5)).collect();
        let latency_frames = if random.one_in(3) { 40 } else { 0 };
        let node = Node::new(format!("mixer {mixer}"), NodeKind::Custom(0));
        graph.add(Node { inputs: edges, latency_frames, ..node }).unwrap();
    }
    let mixers = [4, 5].map(|mixer| Edge::new(NodeId(mixer), 1.0));
    let node = Node::new("both", NodeKind::Custom(0));
    graph.add(Node { inputs: mixers.into(), ..node }).unwrap();
    graph.set_outputs(vec![NodeId(6), NodeId(4)]).unwrap();
    (graph, (0..7).collect())
}

fn edge(graph: &Graph, from: usize, reader: &Node, random: &mut Random) -> Option<Edge> {
    let main = graph.nodes().get(from)?.ports.main;
    let gain_lin = [1.0, 0.5, -0.7, 0.0][random.below(4)];
    let fits = main == 1 || main == reader.ports.main;
    let is_input = matches!(reader.kind, NodeKind::Input(_));
    (fits && !is_input).then(|| Edge::new(NodeId(from as u32), gain_lin))
}

fn processor(number: usize) -> Box<dyn Processor> {
    Box::new(Follows { number, frame: 0, level: [0.0; 2] })
}

fn play_inputs(engine: &mut Engine, frame: usize) {
    for number in 0..2 {
        let Some(mut rows) = engine.input_mut(number, FRAMES) else { continue };
        for row in 0..rows.len() {
            let sample =
                |i| ((frame + i) * (3 + row + usize::from(number)) % 13) as f32 * 0.1 - 0.5;
            rows.row_mut(row).iter_mut().enumerate().for_each(|(i, x)| *x = sample(i));
        }
    }
}

/// The bits of all outputs, block by block.
fn play(
    exchanges: &[Exchange],
    made: Made,
    graph: fn(u64) -> (Graph, Vec<usize>),
) -> Vec<Vec<u32>> {
    let (first, mut nodes) = graph(0);
    let processors = nodes.iter().map(|node| Some(processor(*node))).collect();
    let settings = settings(ScheduleKind::Serial);
    let settings = Settings { frames: FRAMES as u32, steer: Steer::Fixed, ..settings };
    let (mut engine, mut editor) =
        GraphEditor::start(&first, processors, settings, seating(1)).unwrap();
    let mut block = 1;
    let mut due_at = |exchange: &Exchange| {
        block += exchange.gap;
        block
    };
    let due: Vec<usize> = exchanges.iter().map(&mut due_at).collect();
    let (mut heard, mut planned) = (Vec::new(), 0);
    for block in 0..due.last().map_or(1, |last| last + 8) {
        let until = match made {
            Made::Late => block + 1,
            Made::Ahead(ahead) => block + 1 + ahead,
            Made::InBursts(length) => block - block % length + length,
        };
        while planned < until {
            let now = due.iter().zip(exchanges).filter(|(due, _)| **due == planned);
            let mut sent = 0;
            for (_, exchange) in now {
                let (graph, live) = graph(exchange.graph);
                let source = |node: &usize| match nodes.iter().position(|known| known == node) {
                    Some(id) => NodeSource::Kept(NodeId(id as u32)),
                    None => NodeSource::New(processor(*node)),
                };
                let sources = live.iter().map(source).collect();
                match exchange.fades {
                    true => editor.replace(&graph, sources).unwrap(),
                    false => editor.replace_at_once(&graph, sources).unwrap(),
                };
                nodes = live;
                sent += 1;
            }
            planned += 1;
            let is_last = !matches!(made, Made::Ahead(_)) && planned == until;
            for _ in sent..(if is_last { sent } else { ORDERS }) {
                editor.control().automate([]).unwrap();
            }
        }
        play_inputs(&mut engine, block * FRAMES);
        engine.process(FRAMES);
        let outputs = (0..2).map_while(|output| engine.output_rows(output, FRAMES));
        heard.push(
            outputs.flat_map(|rows| (0..rows.len()).flat_map(move |row| bits(rows, row))).collect(),
        );
        if matches!(made, Made::Late) {
            editor.is_settled();
        }
    }
    let frames = editor.take_applied().into_iter().map(|applied| applied.frame as usize / FRAMES);
    assert!(frames.eq(due), "{made:?}: exchanges in other blocks than planned");
    heard
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(150),
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/tests/proptest-regressions/graphs-plan-times.txt"
        )))),
        ..ProptestConfig::default()
    })]

    #[test]
    fn when_a_plan_is_made_is_not_heard(exchanges in exchanges()) {
        for graph in [graph, switched] {
            let expected = play(&exchanges, Made::Late, graph);
            prop_assert!(expected.iter().flatten().any(|bits| *bits != 0));
            for made in [Made::Ahead(1), Made::Ahead(6), Made::InBursts(3), Made::InBursts(7)] {
                let heard = play(&exchanges, made, graph);
                let differs =
                    heard.iter().zip(&expected).position(|(heard, expected)| heard != expected);
                prop_assert_eq!(differs, None, "{:?}: the first block that differs", made);
            }
        }
    }
}
