//! Blocks that come before they were announced.

use hocket_engine::{Engine, Policy, Seating, Settings};
use hocket_machine::Topology;
use hocket_machine::clock::monotonic_ns;
use hocket_plan::{ScheduleKind, SiblingPolicy};
use hocket_rt::Strategy;

use crate::stage::{self, FRAMES, RATE_HZ};

/// Nearly as far ahead as an engine believes.
const AHEAD_NS: u64 = 900_000_000;
/// Long before the announced time, and before a worker would wake itself for it.
const BEFORE_NS: u64 = 100_000_000;
/// A machine may stop a program for a second now and then, not each time.
const TRIES: usize = 20;

/// An engine whose workers wake themselves for blocks that are announced: two pinned ones.
fn pinned(test: &str, schedule: ScheduleKind) -> Option<Engine> {
    let policy = Policy { schedule, sibling: SiblingPolicy::All, wait: Strategy::Hybrid };
    let topology = Topology::discover().ok();
    let seating = topology.and_then(|it| Seating::here(&it, policy.sibling, Some(2)).ok());
    let Some(seating) = seating else {
        println!("SKIPPED {test}: no two seats here");
        return None;
    };
    let settings = Settings::new(FRAMES as u32, RATE_HZ, policy);
    let (prepared, _) = stage::lattice(2, 3);
    Some(Engine::start(prepared, settings, seating).unwrap())
}

/// Announces the next block far ahead and lets the workers fall asleep until then.
fn announce(engine: &mut Engine) -> u64 {
    let announced_ns = monotonic_ns() + AHEAD_NS;
    engine.expect_next(announced_ns);
    engine.process(FRAMES);
    std::thread::sleep(std::time::Duration::from_millis(2));
    announced_ns
}

/// In `lists` all workers must come, so the block's end shows when they did.
#[test]
fn a_block_that_comes_early_wakes_the_workers() {
    let _alone = stage::alone();
    let test = "a_block_that_comes_early_wakes_the_workers";
    let Some(mut engine) = pinned(test, ScheduleKind::Lists) else { return };
    let early = (0..TRIES).any(|_| {
        let announced_ns = announce(&mut engine);
        let times = engine.process(FRAMES);
        assert_eq!(times.workers, 2);
        monotonic_ns() + BEFORE_NS < announced_ns
    });
    assert!(early, "the block waited for the time at which it was announced");
}

#[test]
fn an_engine_stops_before_the_block_that_was_announced() {
    let _alone = stage::alone();
    let test = "an_engine_stops_before_the_block_that_was_announced";
    let early = (0..TRIES).any(|_| {
        let Some(mut engine) = pinned(test, ScheduleKind::Dataflow) else { return true };
        let announced_ns = announce(&mut engine);
        drop(engine);
        monotonic_ns() + BEFORE_NS < announced_ns
    });
    assert!(early, "the engine stopped when the next block was announced");
}
