//! Work that a processor spreads makes no system call or allocation either, on any thread that runs it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use hocket_engine::{Block, Policy, Processor};
use hocket_machine::clock::{TickRate, ticks};
use hocket_machine::pin::thread_mark;
use hocket_plan::{ScheduleKind, SiblingPolicy};
use hocket_rt::Strategy;

use crate::stage::{self, Does, FRAMES};
use crate::watching::{self, Watch};

const BLOCKS: usize = 400;
const PASSES: u32 = 16;

struct Spreads(Arc<AtomicU32>);

impl Processor for Spreads {
    fn process(&mut self, block: &mut Block<'_>) {
        block.spread(PASSES, &|pass| {
            let work = (0..200).fold(pass, |sum, n| std::hint::black_box(sum.wrapping_mul(31) + n));
            std::hint::black_box(work);
            self.0.fetch_add(1, Relaxed);
        });
        block.main.left.fill(1.0);
        block.main.right.fill(1.0);
    }
    fn reset(&mut self) {}
}

/// Spreads passes that are long on other threads, so that the one that spreads them has to sleep.
struct WaitsForOthers;

impl Processor for WaitsForOthers {
    fn process(&mut self, block: &mut Block<'_>) {
        let here = thread_mark();
        block.spread(2, &|_| {
            // Long enough for others to come, and then longer than this thread spins for them.
            let takes_ns = if thread_mark() == here { 200_000 } else { 1_000_000 };
            let until = ticks() + TickRate::get().ns_to_ticks(takes_ns);
            while ticks() < until {}
        });
        block.main.left.fill(1.0);
        block.main.right.fill(1.0);
    }
    fn reset(&mut self) {}
}

#[test]
fn sleeps_and_wake_ups_of_spread_work_are_counted() {
    let _alone = stage::alone();
    watching::announce("sleeps_and_wake_ups_of_spread_work_are_counted");
    const BLOCKS: usize = 40;
    for schedule in ScheduleKind::ALL {
        let policy = stage::policy(schedule, SiblingPolicy::All, Strategy::Pause);
        let rests = Box::new(Does(|_: &mut Block<'_>| ()));
        let prepared = stage::side_by_side(vec![Box::new(WaitsForOthers), rests]);
        let mut engine = stage::described_engine(prepared, policy, 2);
        watching::forget();
        for _ in 0..BLOCKS {
            engine.process(FRAMES as usize);
        }
        watching::check(&engine, BLOCKS, &policy.to_string());
    }
}

#[test]
fn spread_work_leaves_no_trace_of_the_system() {
    let _alone = stage::alone();
    watching::announce("spread_work_leaves_no_trace_of_the_system");
    for schedule in ScheduleKind::ALL {
        for wait in Strategy::here() {
            let policy = stage::policy(schedule, SiblingPolicy::All, wait);
            check(policy);
        }
    }
}

fn check(policy: Policy) {
    let passes = Arc::new(AtomicU32::new(0));
    let spreads = || Box::new(Spreads(Arc::clone(&passes))) as Box<dyn Processor>;
    let prepared = stage::side_by_side(vec![spreads(), spreads(), spreads()]);
    let mut engine = stage::described_engine(prepared, policy, 2);
    watching::forget();
    for _ in 0..BLOCKS {
        let _watch = Watch::begin();
        engine.process(FRAMES as usize);
    }
    assert_eq!(passes.load(Relaxed), 3 * PASSES * BLOCKS as u32, "{policy}");
    assert_eq!(engine.contained(), [], "{policy}");
    watching::check_clean(&policy.to_string());
}
