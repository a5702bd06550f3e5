//! What the crate's documentation says of the leader's system calls, as the kernel sees them.

use hocket_engine::sentry::OwnCalls;
use hocket_engine::{Engine, Seating, Settings, Steer};
use hocket_machine::Topology;
use hocket_plan::{ScheduleKind, SiblingPolicy};
use hocket_rt::Strategy;

use crate::stage::{self, FRAMES, RATE_HZ};
use crate::watching::{announce, forget, own_calls};

const BLOCKS: usize = 300;

/// The calls of each of some blocks.
fn calls(engine: &mut Engine) -> Vec<(OwnCalls, u64)> {
    let block = |_| {
        let (before, units) = (own_calls(), engine.totals()[0].units);
        engine.process(FRAMES as usize);
        // Between blocks the workers fall asleep, so the next block has to wake them.
        std::thread::sleep(std::time::Duration::from_micros(200));
        let now = own_calls();
        let calls = OwnCalls { all: now.all - before.all, wakes: now.wakes - before.wakes };
        (calls, engine.totals()[0].units - units)
    };
    (0..BLOCKS).map(block).collect()
}

/// Runs every schedule and wait on pinned real-time threads; `None`: there are none here.
fn on_real_time_threads(test: &str, check: impl Fn(&Engine, &[(OwnCalls, u64)], &str)) {
    let _alone = stage::alone();
    if !announce(test) {
        return;
    }
    let Ok(topology) = Topology::discover() else { return println!("SKIPPED {test}: no topology") };
    for schedule in ScheduleKind::ALL {
        for wait in Strategy::here() {
            let policy = stage::policy(schedule, SiblingPolicy::All, wait);
            let Ok(seating) = Seating::here(&topology, policy.sibling, Some(2)) else {
                return println!("SKIPPED {test}: no two seats here");
            };
            let settings = Settings::new(FRAMES, RATE_HZ, policy);
            let settings = Settings { steer: Steer::Fixed, ..settings };
            let prepared = stage::session_of_everything();
            let mut engine = Engine::start(prepared, settings, seating).unwrap();
            let entered = engine.enter();
            let real_time =
                entered.report.real_time && engine.reports().iter().all(|it| it.real_time);
            if !real_time {
                return println!("SKIPPED {test}: no rights to real-time scheduling");
            }
            forget();
            let calls = calls(&mut engine);
            drop(entered);
            check(&engine, &calls, &policy.to_string());
        }
    }
}

#[test]
fn a_leader_that_never_blocks_makes_one_call_a_block_at_most() {
    let test = "a_leader_that_never_blocks_makes_one_call_a_block_at_most";
    on_real_time_threads(test, |engine, calls, what| {
        let blocks_or_yields = [Strategy::Hybrid, Strategy::Futex, Strategy::Yield];
        if blocks_or_yields.contains(&engine.settings().policy.wait) {
            return;
        }
        // The leader sleeps for a worker that lost its CPU inside the block, to a hypervisor for example.
        let slept = engine.totals()[0].blocked as usize;
        let more = calls.iter().filter(|(calls, _)| calls.all > 1).count();
        assert!(more <= slept, "{what}: more than one call in {more} blocks, {slept} sleeps");
        assert!(more * 2 < BLOCKS, "{what}: more than one call in {more} blocks");
        let woke = calls.iter().any(|(calls, _)| calls.wakes == 1);
        assert!(woke || engine.schedule().workers() == 1, "{what}: nobody had to be woken");
    });
}

#[test]
fn a_leader_wakes_others_once_at_the_gate_and_once_a_unit_and_barrier_at_most() {
    let test = "a_leader_wakes_others_once_at_the_gate_and_once_a_unit_and_barrier_at_most";
    on_real_time_threads(test, |engine, calls, what| {
        let barriers = engine.schedule().barriers() as u64;
        for (block, (calls, units)) in calls.iter().enumerate() {
            assert!(calls.wakes <= 1 + units + barriers + 1, "{what}, block {block}: {calls:?}");
        }
    });
}
