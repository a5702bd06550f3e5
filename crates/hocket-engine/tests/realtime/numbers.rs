//! Numbers that are too small, too large or none at all stay where they arise.

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use hocket_dsp::{Block, Processor};
use hocket_engine::Contained;
use hocket_machine::float_mode::denormals_flushed;
use hocket_plan::{ScheduleKind, SiblingPolicy};
use hocket_rt::Strategy;

use crate::stage::{self, Does, FRAMES};

fn schedules() -> impl Iterator<Item = hocket_engine::Policy> {
    let policy = |schedule| stage::policy(schedule, SiblingPolicy::All, Strategy::Hybrid);
    ScheduleKind::ALL.into_iter().map(policy)
}

/// Answers 1.0 where the thread it runs on keeps denormal numbers.
fn asks_for_denormals() -> Box<dyn Processor> {
    Box::new(Does(|block: &mut Block<'_>| {
        let tiny = black_box(f32::MIN_POSITIVE) * black_box(0.5);
        let tiny_input = black_box(f32::from_bits(1)) * black_box(1.0e30);
        let kept = if black_box(tiny) == 0.0 && tiny_input == 0.0 { 0.0 } else { 1.0 };
        block.main.left.fill(kept);
    }))
}

#[test]
fn every_thread_flushes_denormals_and_the_leader_only_inside() {
    let _alone = stage::alone();
    for policy in schedules() {
        let sources = (0..6).map(|_| asks_for_denormals()).collect();
        let mut engine = stage::described_engine(stage::side_by_side(sources), policy, 2);
        for report in engine.reports() {
            assert!(report.denormals_flushed, "{report:?}");
        }
        for _ in 0..50 {
            engine.process(FRAMES as usize);
            assert!(engine.output(1).left == [0.0], "{policy}: a thread keeps denormals");
            assert!(!denormals_flushed(), "{policy}: the leader's mode was not given back");
        }
    }
}

/// Plays a constant, but once, in the block counted by `until`, something else.
struct SlipsOnce {
    level: f32,
    slip: f32,
    until: u32,
    resets: Arc<AtomicU32>,
}

impl Processor for SlipsOnce {
    fn process(&mut self, block: &mut Block<'_>) {
        block.main.left.fill(self.level);
        block.main.right.fill(self.level);
        if self.until == 0 {
            block.main.right[17] = self.slip;
        }
        self.until = self.until.wrapping_sub(1);
    }

    fn reset(&mut self) {
        self.resets.fetch_add(1, Relaxed);
    }
}

#[test]
fn a_processor_that_slips_silences_its_strip_for_one_block() {
    let _alone = stage::alone();
    const SLIP: u32 = 3;
    for policy in schedules() {
        for slip in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            let resets = Arc::new(AtomicU32::new(0));
            let source = |level, until, slip| -> Box<dyn Processor> {
                Box::new(SlipsOnce { level, slip, until, resets: Arc::clone(&resets) })
            };
            let sources = vec![source(0.25, u32::MAX, 0.0), source(0.5, SLIP, slip)];
            let mut engine = stage::described_engine(stage::side_by_side(sources), policy, 2);
            for block in 0..8 {
                engine.process(FRAMES as usize);
                let expected = if block == SLIP { 0.25 } else { 0.75 };
                let rows = engine.output(FRAMES as usize);
                let all = rows.left.iter().chain(rows.right);
                assert!(all.clone().all(|sample| *sample == expected), "{policy}, block {block}");
            }
            let node = "node 1".to_string();
            let expected =
                [Contained { node, not_finite: 1, failed: 0, panicked: false, message: None }];
            assert_eq!(engine.contained(), expected, "{policy}");
            assert_eq!(resets.load(Relaxed), 1, "{policy}: it starts afresh");
        }
    }
}
