//! Work that a processor spreads makes no system call or allocation either, on any thread that runs it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use hocket_engine::{Block, Policy, Processor};
use hocket_plan::{ScheduleKind, SiblingPolicy};
use hocket_rt::Strategy;

use crate::stage::{self, FRAMES};
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
