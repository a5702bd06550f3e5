//! Latencies that processors report while they play: of several before one block the last ones count, then every fan-in
//! has one latency, and on the way there nothing clicks. Every schedule has the bits of the serial walk, and a node that the
//! change does not reach sounds as without it.

use std::f64::consts::TAU;
use std::sync::{Arc, Mutex};

use hocket_engine::host::{Host, MainRequests, MainSide};
use hocket_engine::{
    Block, Edge, Engine, Graph, GraphEditor, MainThread, Node, NodeId, NodeKind, Processor,
    ScheduleKind, Settings, Steer,
};
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;

use super::{clicks, seating, settings};

const FRAMES: usize = 64;
/// The most workers.
const WORKERS: usize = 4;

/// A schedule, and how many workers play it.
type Way = (ScheduleKind, usize);

const SERIAL: Way = (ScheduleKind::Serial, 1);
const PARALLEL: [ScheduleKind; 4] =
    [ScheduleKind::Dataflow, ScheduleKind::Steal, ScheduleKind::Lists, ScheduleKind::Critical];

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

/// The numbers reach the end by two ways: directly, and over a node where the first reporter comes in. The second one
/// comes in at the end. Neither reaches the last node, where the numbers come from a late node and over a delay line.
fn graph() -> Graph {
    let mut graph = Graph::default();
    let inputs = |from: &[u32]| from.iter().map(|id| Edge::new(NodeId(*id), 1.0)).collect();
    for (name, latency_frames, from) in [
        ("numbers", 0, &[][..]),
        ("first", 0, &[]),
        ("second", 0, &[]),
        ("middle", 0, &[0, 1]),
        ("end", 0, &[3, 0, 2]),
        ("late", 100, &[0]),
        ("apart", 0, &[5, 0]),
    ] {
        let node = Node::new(name, NodeKind::Custom(0));
        graph.add(Node { inputs: inputs(from), latency_frames, ..node }).unwrap();
    }
    graph.set_outputs(vec![NodeId(4), NodeId(6)]).unwrap();
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

fn way() -> impl Strategy<Value = Way> {
    (prop::sample::select(&PARALLEL[..]), 1..=WORKERS)
}

/// Each kind of schedule that has workers, with a drawn number of them.
fn ways() -> impl Strategy<Value = Vec<Way>> {
    let workers = prop::array::uniform4(1..=WORKERS);
    workers.prop_map(|workers| PARALLEL.into_iter().zip(workers).collect())
}

/// How often plans are made.
#[derive(Clone, Copy)]
enum Planned {
    /// One for each report.
    AtOnce,
    /// One for the last reports of a burst.
    InTheEnd,
}

/// The left sides of both outputs: until the first burst, then after each.
#[derive(Default)]
struct Heard {
    end: Vec<Vec<f32>>,
    apart: Vec<Vec<f32>>,
}

impl Heard {
    fn play(&mut self, engine: &mut Engine, blocks: usize) {
        let (mut end, mut apart) = (Vec::new(), Vec::new());
        for _ in 0..blocks {
            engine.process(FRAMES);
            for (output, samples) in [&mut end, &mut apart].into_iter().enumerate() {
                samples.extend_from_slice(engine.output_rows(output, FRAMES).unwrap().row(0));
            }
        }
        self.end.push(end);
        self.apart.push(apart);
    }
}

fn start(source: Box<dyn Processor>, (kind, workers): Way) -> (Engine, GraphEditor, [Requests; 2]) {
    let reporters: [Requests; 2] = Default::default();
    let reports = |at: usize| Some(Box::new(Reports(Arc::clone(&reporters[at]))) as _);
    let sums = [None, None, None, None];
    let processors = [Some(source), reports(0), reports(1)].into_iter().chain(sums).collect();
    let settings = Settings {
        frames: FRAMES as u32,
        steer: Steer::Fixed,
        main_thread: MainThread::Starting,
        ..settings(kind)
    };
    let (engine, editor) =
        GraphEditor::start(&graph(), processors, settings, seating(workers)).unwrap();
    (engine, editor, reporters)
}

fn play(
    source: Box<dyn Processor>,
    bursts: &[(usize, Burst)],
    planned: Planned,
    way: Way,
) -> Heard {
    let (mut engine, editor, reporters) = start(source, way);
    let control = editor.control();
    let mut heard = Heard::default();
    for (gap, burst) in bursts {
        heard.play(&mut engine, *gap);
        for (at, frames) in burst {
            reporters[*at].lock().unwrap().as_mut().unwrap().latency_changed(*frames);
            if matches!(planned, Planned::AtOnce) {
                control.service().unwrap();
            }
        }
        control.service().unwrap();
    }
    heard.play(&mut engine, 120);
    heard
}

/// The first frame whose bits differ.
fn differs(heard: &[Vec<f32>], expected: &[Vec<f32>]) -> Option<usize> {
    let bits =
        |parts: &[Vec<f32>]| -> Vec<u32> { parts.concat().into_iter().map(f32::to_bits).collect() };
    let (heard, expected) = (bits(heard), bits(expected));
    assert_eq!(heard.len(), expected.len());
    heard.iter().zip(&expected).position(|(heard, expected)| heard != expected)
}

/// The same blocks without a report.
fn without_reports(bursts: &[(usize, Burst)]) -> Vec<(usize, Burst)> {
    bursts.iter().map(|(gap, _)| (*gap, Burst::new())).collect()
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
    fn of_several_latencies_before_one_block_the_last_ones_count(
        bursts in bursts(),
        ways in ways(),
    ) {
        let counted = |bursts: &[_], planned, way| play(Box::new(Counts(0)), bursts, planned, way);
        let heard = counted(&bursts, Planned::AtOnce, SERIAL);
        let unchanged = counted(&without_reports(&bursts), Planned::AtOnce, SERIAL).apart;
        let differently = ways.iter().map(|way| (Planned::AtOnce, *way));
        for (planned, way) in differently.chain([(Planned::InTheEnd, SERIAL)]) {
            let other = counted(&bursts, planned, way);
            prop_assert_eq!(differs(&other.end, &heard.end), None, "{:?}", way);
            prop_assert_eq!(differs(&other.apart, &unchanged), None, "{:?}, out of reach", way);
        }
        prop_assert_eq!(differs(&heard.apart, &unchanged), None, "out of reach");
        let (late, end) = (late(&bursts), heard.end.concat());
        for (frame, sample) in end.iter().enumerate().skip(end.len() - FRAMES) {
            let expected = 2.0 * (frame - late) as f32;
            prop_assert_eq!(*sample, expected, "both ways arrive together");
        }
    }

    /// The changes are heard, as fades: what arrives in the end is late, and nowhere is a step of -80 dB of full scale.
    #[test]
    fn a_latency_that_changes_makes_no_click(bursts in bursts(), ways in [way(), way()]) {
        for (period, way) in [400, 48].into_iter().zip(ways) {
            let sine = |way| {
                play(Box::new(Sine { period, frame: 0 }), &bursts, Planned::AtOnce, way).end
            };
            let heard = sine(SERIAL);
            prop_assert_eq!(differs(&sine(way), &heard), None, "{:?}", way);
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
