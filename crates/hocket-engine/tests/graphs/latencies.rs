//! Latencies that processors report while they play: of several before one block the last ones count, then every fan-in
//! has one latency, and on the way there nothing clicks.

use std::f64::consts::TAU;
use std::sync::{Arc, Mutex};

use hocket_engine::host::{Host, MainRequests, MainSide};
use hocket_engine::{
    Block, Edge, Graph, GraphEditor, MainThread, Node, NodeId, NodeKind, Processor, ScheduleKind,
    Settings, Steer,
};
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;

use super::{clicks, seating, settings};

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

/// A sine at -12 dB of full scale, with a period of so many frames.
struct Sine {
    period: usize,
    frame: usize,
}

impl Sine {
    fn at(period: usize, frame: usize) -> f64 {
        0.25 * (frame as f64 * TAU / period as f64).sin()
    }
}

impl Processor for Sine {
    fn process(&mut self, block: &mut Block<'_>) {
        for sample in block.main.left.iter_mut() {
            *sample = Sine::at(self.period, self.frame) as f32;
            self.frame += 1;
        }
    }
    fn reset(&mut self) {
        self.frame = 0;
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

/// The left output: until the first burst, then after each. `serves_each`: a plan for each report; otherwise the last ones
/// of a burst are planned at once.
fn play(source: Box<dyn Processor>, bursts: &[(usize, Burst)], serves_each: bool) -> Vec<Vec<f32>> {
    let reporters: [Requests; 2] = Default::default();
    let reports = |at: usize| Some(Box::new(Reports(Arc::clone(&reporters[at]))) as _);
    let processors = vec![Some(source), reports(0), reports(1), None, None];
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
        let mut row = Vec::new();
        for _ in 0..count {
            engine.process(FRAMES);
            row.extend_from_slice(engine.output(FRAMES).left);
        }
        heard.push(row);
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

/// How late the output is in the end.
fn late(bursts: &[(usize, Burst)]) -> usize {
    let all = || bursts.iter().flat_map(|(_, burst)| burst);
    let last = |of: usize| all().rfind(|(at, _)| *at == of).map_or(0, |(_, frames)| *frames);
    last(0).max(last(1)) as usize
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
        let bits = |serves_each| -> Vec<u32> {
            let heard = play(Box::new(Counts(0)), &bursts, serves_each);
            heard.concat().into_iter().map(f32::to_bits).collect()
        };
        let (heard, at_once) = (bits(true), bits(false));
        let differs = heard.iter().zip(&at_once).position(|(heard, at_once)| heard != at_once);
        prop_assert_eq!(differs, None, "the first frame that differs");
        let (late, frames) = (late(&bursts), heard.len());
        for (frame, bits) in heard.iter().enumerate().skip(frames - FRAMES) {
            let expected = 2.0 * (frame - late) as f32;
            prop_assert_eq!(f32::from_bits(*bits), expected, "both ways arrive together");
        }
    }

    /// The changes are heard, as fades: what arrives in the end is late, and nowhere is a step of -80 dB of full scale.
    #[test]
    fn a_latency_that_changes_makes_no_click(bursts in bursts()) {
        for period in [400, 48] {
            let heard = play(Box::new(Sine { period, frame: 0 }), &bursts, true);
            let (row, mut end) = (heard.concat(), 0);
            for (burst, part) in heard.iter().enumerate() {
                let begin = end - clicks::BEFORE.min(end);
                end += part.len();
                let click = clicks::loudest(&row[begin..end]);
                prop_assert!(click < 1e-4, "period {}, after burst {}: {}", period, burst, click);
            }
            let late = late(&bursts);
            for (frame, sample) in row.iter().enumerate().skip(row.len() - FRAMES) {
                let expected = 2.0 * Sine::at(period, frame - late);
                let apart = (f64::from(*sample) - expected).abs();
                prop_assert!(apart < 1e-6, "period {}, frame {}: {}", period, frame, apart);
            }
        }
    }
}
