//! Graphs of a host's own: side chains, changes of nodes and of the graph while it plays.

use hocket_engine::{
    AppliedAt, Block, Change, Contained, Edge, EditError, Engine, Graph, GraphEditor, Node, NodeId,
    NodeKind, NodeSource, Policy, Processor, ScheduleKind, Seat, Seating, Seats, Settings,
    SiblingPolicy, Strategy,
};

#[path = "../common/clicks.rs"]
mod clicks;

mod abreast;
mod background;
mod chase;
mod edits;
mod equal_power;
mod events;
mod feedback;
mod grid;
mod grow;
mod latencies;
mod main_thread;
mod model;
mod plan_times;
mod ports;
mod shared_work;
mod spread;
mod states;

const FRAMES: usize = 16;

/// Writes its value, plus how many blocks it has run for times a thousand.
struct Level {
    value: f32,
    blocks: u32,
}

impl Processor for Level {
    fn process(&mut self, block: &mut Block<'_>) {
        for event in block.events {
            let Change::Param { value, .. } = event.change;
            self.value = value;
        }
        block.main.left.fill(self.value + 1000.0 * self.blocks as f32);
        block.main.right.fill(self.value);
        self.blocks += 1;
    }
    fn reset(&mut self) {
        self.blocks = 0;
    }
}

/// Subtracts the side chain from what comes in; minus one where it hears none.
struct Ducker;

impl Processor for Ducker {
    fn process(&mut self, block: &mut Block<'_>) {
        let Some(key) = block.side_chain else { return block.main.right.fill(-1.0) };
        for (sample, key) in block.main.right.iter_mut().zip(key.right) {
            *sample -= key;
        }
    }
    fn reset(&mut self) {}
}

fn level(value: f32) -> Box<dyn Processor> {
    Box::new(Level { value, blocks: 0 })
}

fn node(name: &str, inputs: &[(u32, f32)]) -> Node {
    let inputs = inputs.iter().map(|(from, gain_lin)| edge(*from, *gain_lin)).collect();
    let (kind, cost, latency_frames) = (NodeKind::Custom(0), 1.0, 3);
    Node { name: name.into(), kind, inputs, cost, latency_frames, ports: Default::default() }
}

fn edge(from: u32, gain_lin: f32) -> Edge {
    Edge::new(NodeId(from), gain_lin)
}

fn start(
    graph: &Graph,
    processors: Vec<Option<Box<dyn Processor>>>,
    (schedule, workers): (ScheduleKind, usize),
) -> (Engine, GraphEditor) {
    GraphEditor::start(graph, processors, settings(schedule), seating(workers)).unwrap()
}

fn settings(schedule: ScheduleKind) -> Settings {
    let policy = Policy { schedule, sibling: SiblingPolicy::All, wait: Strategy::Hybrid };
    Settings { priority: None, ..Settings::new(FRAMES as u32, 48_000, policy) }
}

fn seating(workers: usize) -> Seating {
    let seats = (0..workers).map(|core| Seat { core, speed: 1.0 }).collect();
    Seating::described(&Seats { seats }, SiblingPolicy::All, None).unwrap()
}

fn block(engine: &mut Engine) -> (f32, f32) {
    engine.process(FRAMES);
    let rows = engine.output(FRAMES);
    assert!(rows.right.iter().all(|sample| *sample == rows.right[0]));
    (rows.left[0], rows.right[0])
}

/// 10 -> ducker (key: 0.5 * 1 + 2 * 3) -> output.
fn ducked() -> (Graph, Vec<Option<Box<dyn Processor>>>) {
    let mut graph = Graph::default();
    graph.add(node("one", &[])).unwrap();
    graph.add(node("three", &[])).unwrap();
    graph.add(node("ten", &[])).unwrap();
    let side_chain = vec![edge(0, 0.5), edge(1, 2.0)];
    graph.add_with_side_chain(node("ducker", &[(2, 1.0)]), side_chain).unwrap();
    graph.add(node("out", &[(3, 2.0)])).unwrap();
    let levels = [1.0, 3.0, 10.0].map(|value| Some(level(value)));
    (graph, levels.into_iter().chain([Some(Box::new(Ducker) as _), None]).collect())
}

#[test]
fn a_side_chain_is_summed_apart_under_every_schedule() {
    for kind in ScheduleKind::ALL {
        let workers = if kind == ScheduleKind::Serial { 1 } else { 2 };
        let (graph, processors) = ducked();
        let (mut engine, _editor) = start(&graph, processors, (kind, workers));
        for _ in 0..50 {
            assert_eq!(block(&mut engine).1, 2.0 * (10.0 - 6.5), "{kind:?}");
        }
    }
}

#[test]
fn a_folded_source_is_still_heard_on_the_side_chain() {
    let (graph, processors) = ducked();
    let (mut engine, editor) = start(&graph, processors, (ScheduleKind::Critical, 2));
    (0..200).for_each(|_| assert_eq!(block(&mut engine).1, 7.0));
    let units = editor.control().standing().units;
    // What is folded depends on costs, so they are given: measured ones depend on the machine.
    let mut cheap = editor.control().cost_table("any");
    for row in &mut cheap.rows {
        (row.alone_ns, row.shared_ns) = (Some(100.0), Some(100.0));
    }
    editor.control().adopt_costs(&cheap).unwrap();
    (0..50).for_each(|_| assert_eq!(block(&mut engine).1, 7.0));
    assert!(editor.control().standing().units < units, "nothing was folded");
}

#[test]
fn a_change_reaches_its_node_and_says_when() {
    let (graph, processors) = ducked();
    let (mut engine, mut editor) = start(&graph, processors, (ScheduleKind::Dataflow, 2));
    assert_eq!(block(&mut engine).1, 7.0);
    let change = |value| Change::Param { index: 0, value };
    assert_eq!(editor.change(NodeId(2), change(20.0)), Ok(0));
    assert_eq!(editor.change(NodeId(0), change(3.0)), Ok(1));
    assert!(!editor.is_settled());
    assert_eq!(block(&mut engine).1, 2.0 * (20.0 - 7.5));
    let frame = FRAMES as u64;
    let expected = [AppliedAt { number: 0, frame }, AppliedAt { number: 1, frame }];
    assert_eq!(editor.take_applied(), expected);
    assert!(editor.is_settled() && editor.take_applied().is_empty());
    assert_eq!(editor.change(NodeId(4), change(1.0)), Err(EditError::NoNode(NodeId(4))), "a sum");
    assert_eq!(editor.change(NodeId(9), change(1.0)), Err(EditError::NoNode(NodeId(9))));
    assert!(matches!(editor.change(NodeId(0), change(f32::NAN)), Err(EditError::NotANumber(_))));
    assert_eq!(editor.control().standing().latency_frames, 9);
}

#[test]
fn nodes_that_stay_keep_their_state_when_the_graph_is_replaced() {
    let mut graph = Graph::default();
    graph.add(node("old", &[])).unwrap();
    graph.add(node("out", &[(0, 1.0)])).unwrap();
    let processors = vec![Some(level(1.0)), None];
    let (mut engine, mut editor) = start(&graph, processors, (ScheduleKind::Dataflow, 2));
    (0..5).for_each(|at| assert_eq!(block(&mut engine), (1.0 + 1000.0 * at as f32, 1.0)));

    let mut larger = Graph::default();
    larger.add(node("new", &[])).unwrap();
    larger.add(node("old", &[])).unwrap();
    larger.add(node("out", &[(0, 1.0), (1, 1.0)])).unwrap();
    let twice = vec![NodeSource::Kept(NodeId(0)), NodeSource::Kept(NodeId(0)), NodeSource::Sum];
    assert_eq!(editor.replace(&larger, twice), Err(EditError::NoNode(NodeId(0))));
    let few = editor.replace(&larger, vec![NodeSource::Sum]);
    assert!(matches!(few, Err(EditError::Prepare(_))), "{few:?}");
    let sources = vec![NodeSource::New(level(0.5)), NodeSource::Kept(NodeId(0)), NodeSource::Sum];
    assert_eq!(editor.replace_at_once(&larger, sources), Ok(0));
    assert_eq!(block(&mut engine), (1.5 + 5000.0, 1.5), "five blocks are behind the old node");
    let frame = 5 * FRAMES as u64;
    assert_eq!(editor.take_applied(), [AppliedAt { number: 0, frame }]);
}

/// Spoils a block with parameter 0, panics with parameter 1.
struct Faulty;

impl Processor for Faulty {
    fn process(&mut self, block: &mut Block<'_>) {
        for event in block.events {
            match event.change {
                Change::Param { index: 0, .. } => block.main.left.fill(f32::NAN),
                Change::Param { .. } => panic!("as the test asked"),
            }
        }
    }
    fn reset(&mut self) {}
}

#[test]
fn control_threads_see_which_nodes_were_silenced() {
    let mut graph = Graph::default();
    graph.add(node("good", &[])).unwrap();
    graph.add(node("faulty", &[(0, 1.0)])).unwrap();
    let processors = vec![Some(level(1.0)), Some(Box::new(Faulty) as _)];
    let (mut engine, mut editor) = start(&graph, processors, (ScheduleKind::Dataflow, 2));
    block(&mut engine);
    assert_eq!(editor.control().contained(), []);
    let mut fail = |index, not_finite, panicked| {
        editor.change(NodeId(1), Change::Param { index, value: 1.0 }).unwrap();
        assert_eq!(block(&mut engine), (0.0, 0.0));
        let node = "faulty".into();
        let expected = Contained { node, not_finite, failed: 0, panicked, message: None };
        assert_eq!(editor.control().contained(), [expected]);
    };
    fail(0, 1, false);
    fail(0, 2, false);
    fail(1, 2, true);
    assert_eq!(block(&mut engine), (0.0, 0.0), "silent from then on");
}

/// What the page for hosts says of the types (docs/embedding.md). That it compiles is the test.
const _: fn() = || {
    fn moves_between_threads<T: Send>() {}
    fn is_used_by_many_threads<T: Send + Sync + Clone>() {}
    moves_between_threads::<(Engine, GraphEditor)>();
    moves_between_threads::<(hocket_engine::Editor, hocket_engine::MediaPool)>();
    is_used_by_many_threads::<hocket_engine::Control>();
};
