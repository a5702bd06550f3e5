//! A processor that panics is silent from then on; everybody else goes on, under every plan.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

use hocket_dsp::{Block, Processor};
use hocket_engine::{Contained, Engine, Prepared, Settings, Steer};
use hocket_plan::{Edge, Fusing, Graph, Node, NodeKind, ScheduleKind};

use crate::stage::{self, Does, FRAMES};

const BLOCKS: usize = 8;
/// The block in which somebody panics.
const FATAL: usize = 3;

/// Counts its calls and panics at the one after `calm`.
fn panics(calm: u32, calls: &Arc<AtomicU32>) -> Box<dyn Processor> {
    let calls = Arc::clone(calls);
    Box::new(Does(move |block: &mut Block<'_>| {
        block.main.left.fill(0.5);
        assert!(calls.fetch_add(1, SeqCst) < calm, "enough");
    }))
}

fn adds(level: f32) -> Box<dyn Processor> {
    Box::new(Does(move |block: &mut Block<'_>| {
        block.main.left.iter_mut().for_each(|sample| *sample += level);
    }))
}

/// Four sources of 1.0, the second of which runs into one that panics and then one that adds 0.25.
fn graph(calm: u32, calls: &Arc<AtomicU32>, fusing: Fusing) -> Prepared {
    let mut graph = Graph::default();
    let mut processors = Vec::new();
    let mut add = |name: &str, inputs: &[_], processor| {
        let kind = NodeKind::Custom(processors.len() as u32);
        let inputs = inputs.iter().map(|from| Edge::new(*from, 1.0)).collect();
        let node = Node {
            name: name.into(),
            kind,
            inputs,
            cost: 100.0,
            latency_frames: 0,
            ports: Default::default(),
        };
        processors.push(Some(processor));
        graph.add(node).unwrap()
    };
    let mut ends: Vec<_> = (0..4).map(|i| add(&format!("source {i}"), &[], adds(1.0))).collect();
    let panicking = add("panics", &[ends[1]], panics(calm, calls));
    ends[1] = add("behind it", &[panicking], adds(0.25));
    add("sum", &ends, adds(0.0));
    Prepared::from_graph(&graph, processors, fusing).unwrap()
}

fn start(kind: ScheduleKind, workers: usize, fusing: Fusing, calls: &Arc<AtomicU32>) -> Engine {
    let policy = stage::policy(kind);
    let settings = Settings { steer: Steer::Fixed, ..stage::settings(policy) };
    let prepared = graph(FATAL as u32, calls, fusing);
    Engine::start(prepared, settings, stage::seating(policy.sibling, workers)).unwrap()
}

#[test]
fn a_panicking_processor_is_silent_from_then_on_and_everybody_else_goes_on() {
    let _alone = stage::alone();
    for kind in ScheduleKind::ALL {
        for (workers, fusing) in
            [(1, Fusing::None), (1, Fusing::Chains), (3, Fusing::Chains), (3, Fusing::None)]
        {
            for serial in [false, true] {
                let what = format!("{kind:?}, {workers} workers, {fusing:?}, serial: {serial}");
                let calls = Arc::new(AtomicU32::new(0));
                let mut engine = start(kind, workers, fusing, &calls);
                for block in 0..BLOCKS {
                    let times = match serial {
                        true => engine.process_serial(FRAMES),
                        false => engine.process(FRAMES),
                    };
                    assert_eq!(times.block, block as u64, "{what}");
                    // Three sources, and what is behind the silent one.
                    let rest = 3.25;
                    let expected = if block < FATAL { rest + 0.5 } else { rest };
                    assert_eq!(
                        engine.output(FRAMES).left,
                        [expected; FRAMES],
                        "{what}, block {block}"
                    );
                    let contained = engine.contained();
                    match block < FATAL {
                        true => assert_eq!(contained, [], "{what}"),
                        false => {
                            let [
                                Contained {
                                    node,
                                    not_finite: 0,
                                    failed: 0,
                                    panicked: true,
                                    message,
                                },
                            ] = &contained[..]
                            else {
                                panic!("{what}: {contained:?}")
                            };
                            assert_eq!(
                                (node.as_str(), message.as_deref()),
                                ("panics", Some("enough"))
                            );
                        }
                    }
                }
                assert_eq!(calls.load(SeqCst) as usize, FATAL + 1, "{what}: never called again");
            }
        }
    }
}

/// What it is called for between blocks ends a panic too.
#[test]
fn a_panic_between_blocks_is_contained_as_well() {
    struct PanicsAtReset;
    impl Processor for PanicsAtReset {
        fn process(&mut self, block: &mut Block<'_>) {
            block.main.left.fill(1.0);
        }
        fn reset(&mut self) {
            std::panic::panic_any(7);
        }
    }
    let _alone = stage::alone();
    let mut graph = Graph::default();
    let kind = NodeKind::Custom(0);
    let node = Node {
        name: "fragile".into(),
        kind,
        inputs: vec![],
        cost: 1.0,
        latency_frames: 0,
        ports: Default::default(),
    };
    graph.add(node).unwrap();
    let prepared =
        Prepared::from_graph(&graph, vec![Some(Box::new(PanicsAtReset))], Fusing::None).unwrap();
    let mut engine = stage::engine(prepared, stage::policy(ScheduleKind::Dataflow), 1);
    engine.process(FRAMES);
    assert_eq!(engine.output(1).left, [1.0]);
    engine.reset();
    engine.process(FRAMES);
    assert_eq!(engine.output(1).left, [0.0]);
    let text: Vec<String> = engine.contained().iter().map(ToString::to_string).collect();
    assert_eq!(text, ["node 'fragile' panicked and is silent: a panic without a message"]);
}
