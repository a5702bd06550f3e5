//! The virtual device keeps its books; offline rendering asks for as many frames as it was told.

use std::convert::Infallible;
use std::time::Duration;

use hocket_dsp::{Block, Processor};
use hocket_engine::{BlockTimes, Engine, Prepared, VirtualDevice, offline};
use hocket_plan::{Fusing, Graph, Node, NodeKind, ScheduleKind};

use crate::stage::{self, Does, FRAMES, RATE_HZ};

/// One node that does `deed`.
fn one_node(deed: impl FnMut(&mut Block<'_>) + Send + 'static) -> Engine {
    let mut graph = Graph::default();
    let kind = NodeKind::Custom(0);
    let node = Node {
        name: "one".into(),
        kind,
        inputs: vec![],
        cost: 1.0,
        latency_frames: 0,
        ports: Default::default(),
    };
    graph.add(node).unwrap();
    let processors: Vec<Option<Box<dyn Processor>>> = vec![Some(Box::new(Does(deed)))];
    let prepared = Prepared::from_graph(&graph, processors, Fusing::Chains).unwrap();
    stage::engine(prepared, stage::policy(ScheduleKind::Serial), 1)
}

#[test]
fn skipped_periods_and_misses_add_up() {
    let _alone = stage::alone();
    const LATE: u64 = 4;
    let period_ns = FRAMES as u64 * 1_000_000_000 / u64::from(RATE_HZ);
    let mut block = 0;
    let mut engine = one_node(move |audio| {
        if block == LATE {
            std::thread::sleep(Duration::from_nanos(period_ns * 7 / 2));
        }
        block += 1;
        audio.main.left.fill(0.5);
    });
    let mut device = VirtualDevice::new(FRAMES as u32, RATE_HZ);
    let mut all: Vec<BlockTimes> = Vec::new();
    device.run(&mut engine, 10, |times, _| {
        all.push(*times);
        true
    });
    assert_eq!(all.len(), 10);
    let late = all[LATE as usize];
    // A sleep never ends early: three ticks have passed for certain, and perhaps more.
    assert!(late.is_late() && late.skipped >= 3, "{late:?}");
    assert_eq!(device.misses(), all.iter().map(BlockTimes::misses).sum());
    // The late block's own period, and three that passed meanwhile.
    assert!(device.misses().late >= 1 && device.misses().total() >= 4, "{}", device.misses());
    // Every block is planned on a tick, the skipped ones counted: no drift, no burst.
    let mut tick = 0;
    for times in &all {
        let exact = tick * FRAMES as u64 * 1_000_000_000 / u64::from(RATE_HZ);
        assert_eq!(times.signaled_ns - all[0].signaled_ns, exact);
        assert_eq!(times.deadline_ns, period_ns);
        tick += 1 + times.skipped;
    }
}

#[test]
fn a_device_plays_what_came_in_time_and_stops_when_told() {
    let _alone = stage::alone();
    let mut engine = one_node(|audio| audio.main.right.fill(-0.75));
    let mut device = VirtualDevice::new(FRAMES as u32, RATE_HZ);
    let (mut blocks, mut in_time) = (0, 0);
    // Until one block came in time, which on a loaded machine is perhaps not the first.
    device.run(&mut engine, 10_000, |times, _| {
        blocks += 1;
        in_time += u32::from(!times.is_late());
        in_time == 0
    });
    assert!(in_time == 1 && blocks < 10_000, "{blocks}");
    assert_eq!(device.played_peak(), 0.75);
}

#[test]
fn offline_rendering_ends_at_the_frame() {
    let _alone = stage::alone();
    for total in [0u64, 1, 63, 64, 65, 128, 1000] {
        let mut engine = one_node(|audio| audio.main.left.fill(1.0));
        let mut lengths = Vec::new();
        let rendered = offline::render(&mut engine, total, |rows| {
            assert_eq!(rows.left.len(), rows.right.len());
            lengths.push(rows.left.len() as u64);
            Ok::<_, Infallible>(true)
        });
        assert_eq!(rendered, Ok(total));
        assert_eq!(lengths.iter().sum::<u64>(), total);
        assert!(lengths.iter().rev().skip(1).all(|length| *length == FRAMES as u64));
    }
}

#[test]
fn offline_rendering_stops_when_told_and_hands_errors_on() {
    let _alone = stage::alone();
    let mut engine = one_node(|_| {});
    let mut left = 3;
    let rendered = offline::render(&mut engine, 10_000, |_| {
        left -= 1;
        Ok::<_, Infallible>(left > 0)
    });
    assert_eq!(rendered, Ok(3 * FRAMES as u64));
    let failed = offline::render(&mut engine, 10_000, |_| Err::<bool, _>("the disk is full"));
    assert_eq!(failed, Err("the disk is full"));
}
