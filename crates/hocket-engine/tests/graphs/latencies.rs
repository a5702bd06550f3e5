//! Latencies that processors report while they play: of several before one block the last ones count, and then every
//! fan-in has one latency.

use std::sync::{Arc, Mutex};

use hocket_engine::host::{Host, MainRequests, MainSide};
use hocket_engine::{
    Block, Edge, Graph, GraphEditor, MainThread, Node, NodeId, NodeKind, Processor, ScheduleKind,
    Settings, Steer,
};
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;

use super::{seating, settings};

const FRAMES: usize = 64;

/// Where the test finds what a reporter got when it joined.
type Requests = Arc<Mutex<Option<Box<dyn MainRequests>>>>;

/// Silent. The test reports latencies in its place.
struct Reports(Requests);

struct Side;

impl MainSide for Side {}

impl Processor for Reports {
    fn join(&mut self, host: &mut dyn Host) {
        *self.0.lock().unwrap() = Some(host.main_side(Box::new(Side)));
    }
    fn process(&mut self, block: &mut Block<'_>) {
        block.main.left.fill(0.0);
        block.main.right.fill(0.0);
    }
    fn reset(&mut self) {}
}

/// Numbers its frames.
struct Counts(usize);

impl Processor for Counts {
    fn process(&mut self, block: &mut Block<'_>) {
        for sample in block.main.left.iter_mut() {
            *sample = self.0 as f32;
            self.0 += 1;
        }
    }
    fn reset(&mut self) {
        self.0 = 0;
    }
}

/// The numbers reach the last node by two ways: directly, and over a node where the first reporter comes in. The second one
/// comes in at the end.
fn graph() -> Graph {
    let mut graph = Graph::default();
    let inputs = |from: &[u32]| from.iter().map(|id| Edge::new(NodeId(*id), 1.0)).collect();
    for (name, from) in [
        ("numbers", &[][..]),
        ("first", &[]),
        ("second", &[]),
        ("middle", &[0, 1]),
        ("end", &[3, 0, 2]),
    ] {
        let kind = NodeKind::Custom(0);
        graph.add(Node { inputs: inputs(from), ..Node::new(name, kind) }).unwrap();
    }
    graph
}

/// What is reported before a block: by which of both, how many frames.
type Burst = Vec<(usize, u32)>;

fn bursts() -> impl Strategy<Value = Vec<(usize, Burst)>> {
    let frames = prop_oneof![0..60u32, 0..1500u32, Just(200u32)];
    let gap = prop_oneof![3 => 1..4usize, 2 => 4..12usize, 1 => 12..40usize];
    let burst = prop::collection::vec((0..2usize, frames), 1..6);
    prop::collection::vec((gap, burst), 1..8)
}

/// The bits of the left output. `serves_each`: a plan for each report; otherwise the last ones of a burst are planned at once.
fn play(bursts: &[(usize, Burst)], serves_each: bool) -> Vec<u32> {
    let reporters: [Requests; 2] = Default::default();
    let reports = |at: usize| Some(Box::new(Reports(Arc::clone(&reporters[at]))) as _);
    let processors = vec![Some(Box::new(Counts(0)) as _), reports(0), reports(1), None, None];
    let settings = Settings {
        frames: FRAMES as u32,
        steer: Steer::Fixed,
        main_thread: MainThread::Starting,
        ..settings(ScheduleKind::Serial)
    };
    let (mut engine, editor) =
        GraphEditor::start(&graph(), processors, settings, seating(1)).unwrap();
    let control = editor.control();
    let mut heard = Vec::new();
    let mut blocks = |engine: &mut hocket_engine::Engine, count: usize| {
        for _ in 0..count {
            engine.process(FRAMES);
            heard.extend(engine.output(FRAMES).left.iter().map(|sample| sample.to_bits()));
        }
    };
    for (gap, burst) in bursts {
        blocks(&mut engine, *gap);
        for (at, frames) in burst {
            reporters[*at].lock().unwrap().as_mut().unwrap().latency_changed(*frames);
            if serves_each {
                control.service().unwrap();
            }
        }
        control.service().unwrap();
    }
    blocks(&mut engine, 120);
    heard
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(100),
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/tests/proptest-regressions/graphs-latencies.txt"
        )))),
        ..ProptestConfig::default()
    })]

    #[test]
    fn of_several_latencies_before_one_block_the_last_ones_count(bursts in bursts()) {
        let heard = play(&bursts, true);
        let at_once = play(&bursts, false);
        let differs = heard.iter().zip(&at_once).position(|(heard, at_once)| heard != at_once);
        prop_assert_eq!(differs, None, "the first frame that differs");
        let all = || bursts.iter().flat_map(|(_, burst)| burst);
        let last = |of: usize| all().rfind(|(at, _)| *at == of).map_or(0, |(_, frames)| *frames);
        let late = last(0).max(last(1)) as usize;
        let frames = heard.len();
        for (frame, bits) in heard.iter().enumerate().skip(frames - FRAMES) {
            let expected = 2.0 * (frame - late) as f32;
            prop_assert_eq!(f32::from_bits(*bits), expected, "both ways arrive together");
        }
    }
}
