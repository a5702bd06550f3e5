//! Every block completes, whoever comes, and is the session's next.

use std::collections::BTreeMap;

use hocket_engine::Policy;
use hocket_plan::{ScheduleKind, SiblingPolicy};
use hocket_rt::Strategy;
use hocket_trace::Doing;

use crate::stage::{self, FRAMES};

fn parallel() -> [ScheduleKind; 2] {
    [ScheduleKind::Lists, ScheduleKind::Dataflow]
}

/// Eight workers on whatever CPUs there are: many of them wake up when the block is over.
#[test]
fn a_dataflow_block_completes_without_its_late_workers() {
    let _alone = stage::alone();
    const BLOCKS: u64 = 2_000;
    const WORKERS: usize = 8;
    for wait in Strategy::here() {
        let policy = Policy { schedule: ScheduleKind::Dataflow, sibling: SiblingPolicy::Off, wait };
        let (prepared, expected) = stage::lattice(3, 5);
        let units = prepared.units.units().len() as u64;
        let mut engine = stage::engine(prepared, policy, WORKERS);
        let mut took_part = 0;
        for block in 0..BLOCKS {
            let times = engine.process(FRAMES);
            assert_eq!(times.block, block);
            assert!((1..=WORKERS as u32).contains(&times.workers));
            took_part += u64::from(times.workers);
            let rows = engine.output(FRAMES);
            let all = rows.left.iter().chain(rows.right);
            assert!(all.clone().all(|s| (s - expected).abs() < 1.0e-5), "{wait}, block {block}");
        }
        let totals = engine.totals();
        assert_eq!(totals.iter().map(|worker| worker.units).sum::<u64>(), units * BLOCKS);
        assert_eq!(totals[0].blocks, BLOCKS);
        let parts: u64 = totals.iter().map(|worker| worker.blocks).sum();
        assert_eq!(parts, took_part, "nobody counts twice in a block: {totals:?}");
    }
}

#[test]
fn every_unit_runs_once_a_block_and_the_trace_says_who_ran_it() {
    let _alone = stage::alone();
    for kind in ScheduleKind::ALL {
        let mut engine = stage::engine(stage::prepared(), stage::policy(kind), 3);
        let units = engine.schedule().units().units().len();
        for _ in 0..20 {
            let times = engine.process(FRAMES);
            let trace = engine.trace();
            let mut runs = BTreeMap::new();
            for lane in &trace.lanes {
                assert!(lane.awake_ns <= lane.finished_ns);
                for span in &lane.spans {
                    assert!(lane.awake_ns <= span.start_ns && span.start_ns <= span.end_ns);
                    if let Doing::Unit(unit) = span.doing {
                        *runs.entry(unit).or_insert(0) += 1;
                    }
                }
            }
            assert!(runs.len() == units && runs.values().all(|count| *count == 1), "{runs:?}");
            assert_eq!(trace.lanes.len() as u32, times.workers, "{kind:?}");
        }
        assert!(engine.totals().iter().all(|worker| worker.spans_dropped == 0));
    }
}

#[test]
fn after_a_reset_the_session_begins_anew() {
    let _alone = stage::alone();
    for kind in ScheduleKind::ALL {
        let mut engine = stage::engine(stage::prepared(), stage::policy(kind), 2);
        let first = stage::play(&mut engine, 40);
        let onward = stage::play(&mut engine, 3);
        assert_ne!(first[..3], onward[..], "the session moves on");
        engine.reset();
        for (block, (a, b)) in first.iter().zip(stage::play(&mut engine, 40)).enumerate() {
            assert_eq!(*a, b, "{kind:?}, block {block} after the reset");
        }
    }
}

#[test]
fn the_length_of_blocks_may_change_and_changes_no_bit() {
    let _alone = stage::alone();
    let lengths = [64, 1, 63, 7, 64, 2, 31, 33, 64, 17, 5, 64, 40];
    for kind in ScheduleKind::ALL {
        let mut steady = stage::engine(stage::prepared(), stage::policy(kind), 2);
        let mut uneven = stage::engine(stage::prepared(), stage::policy(kind), 2);
        let (mut expected, mut got) = (Vec::new(), Vec::new());
        for frames in lengths.into_iter().cycle().take(130) {
            uneven.process(frames);
            got.extend_from_slice(uneven.output(frames).left);
        }
        while expected.len() < got.len() {
            steady.process(FRAMES);
            expected.extend_from_slice(steady.output(FRAMES).left);
        }
        let bits = |row: &[f32]| row.iter().map(|s| s.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(&expected[..got.len()]), bits(&got), "{kind:?}");
    }
}

#[test]
fn a_block_that_is_too_long_is_cut_and_says_so() {
    let _alone = stage::alone();
    let mut engine = stage::engine(stage::prepared(), stage::policy(ScheduleKind::Dataflow), 2);
    let mut whole = stage::engine(stage::prepared(), stage::policy(ScheduleKind::Dataflow), 2);
    for asked in [100_000, 150, FRAMES + 1, FRAMES] {
        // As a host does whose system may ask for more than the engine was made for.
        let (mut got, mut left) = (Vec::new(), asked.min(1_000));
        let mut parts = 0;
        while left > 0 {
            let times = engine.process(left);
            assert_eq!(times.frames, left.min(FRAMES));
            assert_eq!(times.deadline_ns, times.frames as u64 * 1_000_000_000 / 48_000);
            assert_eq!(engine.output(left).left.len(), times.frames);
            got.extend_from_slice(engine.output(times.frames).left);
            (left, parts) = (left - times.frames, parts + 1);
        }
        assert_eq!(parts, asked.min(1_000).div_ceil(FRAMES));
        let mut expected = Vec::new();
        while expected.len() < got.len() {
            let frames = (got.len() - expected.len()).min(FRAMES);
            whole.process(frames);
            expected.extend_from_slice(whole.output(frames).left);
        }
        assert_eq!(got, expected);
    }
}

#[test]
fn a_block_of_no_frames_moves_nothing() {
    let _alone = stage::alone();
    for kind in ScheduleKind::ALL {
        let mut engine = stage::engine(stage::prepared(), stage::policy(kind), 2);
        let mut other = stage::engine(stage::prepared(), stage::policy(kind), 2);
        for block in 0..10 {
            let nothing = engine.process(0);
            assert_eq!((nothing.frames, nothing.block, nothing.workers), (0, block, 0));
            assert!(!nothing.missed(), "there was nothing to be late for");
            assert_eq!(engine.process_serial(0).frames, 0);
            assert_eq!(engine.process(FRAMES).block, block);
            other.process(FRAMES);
            assert_eq!(stage::bits(engine.output(FRAMES)), stage::bits(other.output(FRAMES)));
        }
    }
}

#[test]
fn serial_blocks_in_between_go_on_with_the_same_session() {
    let _alone = stage::alone();
    let reference = {
        let policy = stage::policy(ScheduleKind::Serial);
        stage::play(&mut stage::engine(stage::prepared(), policy, 1), 60)
    };
    for kind in parallel() {
        let mut engine = stage::engine(stage::prepared(), stage::policy(kind), 4);
        for (block, expected) in reference.iter().enumerate() {
            if block % 3 == 1 {
                engine.process_serial(FRAMES)
            } else {
                engine.process(FRAMES)
            };
            assert_eq!(stage::bits(engine.output(FRAMES)), *expected, "{kind:?}, block {block}");
        }
    }
}

#[test]
fn guards_work_beside_every_schedule() {
    let _alone = stage::alone();
    for kind in ScheduleKind::ALL {
        for wait in Strategy::here() {
            let policy = Policy { schedule: kind, sibling: SiblingPolicy::IdleThread, wait };
            let (prepared, expected) = stage::lattice(2, 3);
            let mut engine = stage::engine(prepared, policy, 2);
            let workers = engine.schedule().workers();
            for _ in 0..50 {
                let times = engine.process(FRAMES);
                assert!(times.workers as usize <= workers, "guards are not workers");
                assert!((engine.output(1).left[0] - expected).abs() < 1.0e-5);
            }
            let guards = &engine.totals()[workers..];
            assert_eq!(guards.len(), workers, "{policy}: one beside each worker");
            assert!(guards.iter().all(|guard| guard.units == 0));
        }
    }
}
