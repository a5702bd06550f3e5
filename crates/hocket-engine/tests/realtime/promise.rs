//! What the crate's documentation says of the leader's system calls, as the kernel sees them.

use hocket_engine::sentry::OwnCalls;
use hocket_engine::{Engine, Seating, Settings, Steer};
use hocket_machine::Topology;
use hocket_plan::{ScheduleKind, SiblingPolicy};
use hocket_rt::Strategy;

use crate::stage::{self, FRAMES, RATE_HZ};
use crate::watching::{announce, forget, own_calls, take_report};

const BLOCKS: usize = 300;

/// One block, as the kernel saw it.
#[derive(Debug)]
struct Counted {
    /// Calls of the leader.
    calls: OwnCalls,
    /// Calls by which the other threads went to sleep inside the block, those that ended at once among them.
    others_waits: u64,
    /// What the engine says of the leader's sleeps.
    said_slept: u64,
    /// Units that the leader ran.
    units: u64,
    took_ns: u64,
}

/// On real-time threads with seats no wait inside a block sleeps sooner (PROTOCOL.md).
const SOONEST_SLEEP_NS: u64 = 10_000_000;

/// The calls of each of some blocks.
fn calls(engine: &mut Engine) -> Vec<Counted> {
    let block = |_| {
        let (before, then) = (own_calls(), engine.totals()[0]);
        let took_ns = engine.process(FRAMES as usize).duration_ns;
        // Between blocks the workers fall asleep, so the next block has to wake them.
        std::thread::sleep(std::time::Duration::from_micros(200));
        let (after, now) = (own_calls(), engine.totals()[0]);
        let calls = OwnCalls {
            all: after.all - before.all,
            wakes: after.wakes - before.wakes,
            sleeps: after.sleeps - before.sleeps,
            turned_back: after.turned_back - before.turned_back,
        };
        // Of all threads, since the last block.
        let report = take_report();
        let waits = report.sleeps + report.turned_back;
        Counted {
            calls,
            others_waits: waits - calls.sleeps - calls.turned_back,
            said_slept: now.blocked - then.blocked,
            units: now.units - then.units,
            took_ns,
        }
    };
    (0..BLOCKS).map(block).collect()
}

/// The most wake-ups of a block in which threads sleep.
fn most_wakes(engine: &Engine, units: u64) -> u64 {
    1 + units + engine.schedule().barriers() as u64 + 1
}

/// Runs every schedule and wait on pinned real-time threads; `None`: there are none here.
fn on_real_time_threads(test: &str, check: impl Fn(&Engine, &[Counted], &str)) {
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
        for (block, counted) in calls.iter().enumerate() {
            let calls = counted.calls;
            // A thread that lost its CPU for so long lets the others sleep: the block costs what it costs with `futex`.
            if counted.took_ns < SOONEST_SLEEP_NS {
                assert_eq!(counted.others_waits, 0, "{what}, block {block}: {counted:?}");
                assert!(calls.wakes <= 1, "{what}, block {block}: {counted:?}");
                // For a worker that lost its CPU inside the block, to a hypervisor for example. There is one worker.
                let sleeps = calls.sleeps + calls.turned_back;
                assert!(sleeps <= 1, "{what}, block {block}: {counted:?}");
                assert_eq!(calls.all, calls.wakes + sleeps, "{what}, block {block}: {counted:?}");
            }
        }
        // No machine is so busy that a worker loses its CPU in each block.
        assert!(calls.iter().any(|counted| counted.calls.all <= 1), "{what}: never one call only");
        let more = calls.iter().filter(|counted| counted.calls.all > 1).count();
        println!("{what}: more than one call in {more} of {BLOCKS} blocks");
        let woke = calls.iter().any(|counted| counted.calls.wakes == 1);
        assert!(woke || engine.schedule().workers() == 1, "{what}: nobody had to be woken");
    });
}

#[test]
fn a_leader_wakes_others_once_at_the_gate_and_once_a_unit_and_barrier_at_most() {
    let test = "a_leader_wakes_others_once_at_the_gate_and_once_a_unit_and_barrier_at_most";
    on_real_time_threads(test, |engine, calls, what| {
        for (block, counted) in calls.iter().enumerate() {
            let most = most_wakes(engine, counted.units);
            assert!(counted.calls.wakes <= most, "{what}, block {block}: {counted:?}");
        }
    });
}

#[test]
fn the_engine_counts_the_sleeps_of_its_leader_as_the_kernel_does() {
    let test = "the_engine_counts_the_sleeps_of_its_leader_as_the_kernel_does";
    on_real_time_threads(test, |_, calls, what| {
        for (block, counted) in calls.iter().enumerate() {
            let said = counted.said_slept;
            assert_eq!(said, counted.calls.sleeps, "{what}, block {block}: {counted:?}");
        }
    });
}
