//! Ports of every kind leave no trace of the system either: engine inputs, a bus of six channels, a side chain, extra
//! outputs, delay lines, feedback, and several outputs that the leader reads; nor do blocks that grow meanwhile.

use hocket_dsp::{Block, Processor, mix};
use hocket_engine::{Engine, GraphEditor, NodeSource, Seating};
use hocket_plan::{
    ChannelMap, Edge, Graph, InputPort, Node, NodeId, NodeKind, Ports, ScheduleKind, SiblingPolicy,
};
use hocket_rt::Strategy;

use crate::stage::{self, Does, FRAMES};
use crate::watching::{self, Watch};

const BLOCKS: usize = 120;
const NODES: u32 = 5;
/// Of the node in the middle.
const SPLIT: Ports = Ports { side_chain: 2, extra: 3, ..Ports::of(6) };

fn add(graph: &mut Graph, name: &str, ports: Ports, inputs: Vec<Edge>) -> NodeId {
    let node = Node { ports, inputs, cost: 100.0, ..Node::new(name, NodeKind::Custom(0)) };
    graph.add(node).unwrap()
}

fn range(from: NodeId, (first, to, count): (u16, u16, u16)) -> Edge {
    Edge { map: ChannelMap::Range { from: first, to, count }, ..Edge::new(from, 0.5) }
}

/// A microphone into a bus of six channels with a key, whose extra outputs go to the mix beside a late node. `feeds_back`:
/// whether the mix feeds the bus; delays are other ones then.
fn graph(feeds_back: bool) -> Graph {
    let mut graph = Graph::default();
    let microphone = NodeKind::Input(0);
    let microphone = Node { ports: Ports::of(1), ..Node::new("microphone", microphone) };
    let microphone = graph.add(microphone).unwrap();
    let key = add(&mut graph, "key", Ports::STEREO, vec![Edge::new(microphone, 1.0)]);
    let inputs = (0..6).map(|channel| range(microphone, (0, channel, 1))).collect();
    let split =
        Node { ports: SPLIT, inputs, cost: 100.0, ..Node::new("split", NodeKind::Custom(0)) };
    let side = Edge { to: InputPort::SideChain, ..Edge::new(key, 1.0) };
    let split = graph.add_with_side_chain(split, vec![side]).unwrap();
    let latency_frames = if feeds_back { 100 } else { 250 };
    let late = Node { latency_frames, ..Node::new("late", NodeKind::Custom(0)) };
    let late = graph.add(Node { inputs: vec![range(split, (0, 0, 2))], ..late }).unwrap();
    let inputs = vec![Edge::new(late, 1.0), range(split, (7, 0, 2)), Edge::new(key, 1.0)];
    let mix = add(&mut graph, "mix", Ports::STEREO, inputs);
    if feeds_back {
        graph.feed_back(Edge::new(mix, 0.25), key).unwrap();
    }
    graph.set_outputs(vec![mix, split, microphone]).unwrap();
    graph
}

/// Adds the key to all main channels, and puts each side of it into an extra output.
fn split(block: &mut Block<'_>) {
    let Some(more) = block.more.take() else { return };
    for extra in 1..more.extra.len() {
        let key = more.side_chain.row(extra - 1);
        mix::accumulate(more.extra.row_mut(extra), &[(key, 1.0)], mix::Begin::Onward);
        for row in 0..more.main.len() {
            mix::accumulate(more.main.row_mut(row), &[(key, 0.5)], mix::Begin::Onward);
        }
    }
}

/// Writes the input, plays a block and reads all outputs. Thread: leader.
fn play(engine: &mut Engine, frames: usize, peaks: &mut [f32; 3]) {
    let mut rows = engine.input_mut(0, frames).unwrap();
    rows.row_mut(0).iter_mut().for_each(|sample| *sample = 0.125);
    engine.process(frames);
    for (output, peak) in peaks.iter_mut().enumerate() {
        let rows = engine.output_rows(output, frames).unwrap();
        for row in 0..rows.len() {
            let samples = rows.row(row).iter();
            *peak = samples.fold(*peak, |peak, sample| peak.max(sample.abs()));
        }
    }
}

#[test]
fn ports_leave_no_trace_of_the_system() {
    let _alone = stage::alone();
    watching::announce("ports_leave_no_trace_of_the_system");
    for schedule in ScheduleKind::ALL {
        let policy = stage::policy(schedule, SiblingPolicy::All, Strategy::Hybrid);
        let workers = if schedule == ScheduleKind::Serial { 1 } else { 2 };
        let seating =
            Seating::described(&stage::paired_cores(2), policy.sibling, Some(workers)).unwrap();
        let does: Box<dyn Processor> = Box::new(Does(split));
        let processors = vec![None, None, Some(does), None, None];
        let settings = stage::ordinary(policy);
        let (mut engine, mut editor) =
            GraphEditor::start(&graph(true), processors, settings, seating).unwrap();
        watching::forget();
        let (mut peaks, mut largest) = ([0.0f32; 3], FRAMES as usize);
        for block in 0..BLOCKS {
            if block % 16 == 7 {
                let kept = (0..NODES).map(|id| NodeSource::Kept(NodeId(id))).collect();
                editor.replace(&graph(block % 32 == 23), kept).unwrap();
            }
            stage::grow(editor.control(), block, &mut largest);
            let _watch = Watch::begin();
            // Blocks of several lengths, so that rings wrap in the midst of them.
            play(&mut engine, [largest, 1, 37][block % 3], &mut peaks);
        }
        assert_eq!(engine.largest_block(), largest, "{policy}");
        let what = format!("{policy}");
        assert!(peaks.iter().all(|peak| *peak > 0.1), "{what}: {peaks:?}");
        assert_eq!(engine.contained(), [], "{what}");
        watching::check_clean(&what);
    }
}
