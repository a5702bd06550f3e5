//! Plans are exchanged while the session plays, and nothing is heard of it.

use hocket_engine::{
    ControlError, Engine, EngineError, Policy, Reason, Seating, Settings, SettingsError, Steer,
};
use hocket_plan::{
    ChainCost, CostTable, ScheduleKind, Seat, Seats, SiblingPolicy, VerifiedSchedule,
};
use hocket_rt::Strategy;

use crate::stage::{self, FRAMES};

const BLOCKS: usize = 300;

fn steered(kind: ScheduleKind, steer: Steer, workers: usize) -> Engine {
    let policy = stage::policy(kind);
    let settings = Settings { steer, ..stage::settings(policy) };
    Engine::start(stage::prepared(), settings, stage::seating(policy.sibling, workers)).unwrap()
}

fn serial(blocks: usize) -> Vec<Vec<u32>> {
    stage::play(
        &mut stage::engine(stage::prepared(), stage::policy(ScheduleKind::Serial), 1),
        blocks,
    )
}

#[test]
fn a_new_plan_every_few_blocks_changes_no_bit() {
    let _alone = stage::alone();
    let expected = serial(BLOCKS);
    for kind in ScheduleKind::ALL {
        for workers in [1, 2, 4] {
            // Steered by hand: every engine may be.
            let mut engine = steered(kind, Steer::Costs, workers);
            let control = engine.control();
            for (block, expected) in expected.iter().enumerate() {
                if block % 7 == 3 {
                    control.replan().unwrap();
                }
                engine.process(FRAMES);
                let bits = stage::bits(engine.output(FRAMES));
                assert_eq!(&bits, expected, "{kind:?}, {workers} workers, block {block}");
            }
            assert!(control.is_settled());
            assert_eq!(control.standing().kind, kind);
        }
    }
}

#[test]
fn auto_begins_serial_and_changes_no_bit_on_its_way() {
    let _alone = stage::alone();
    let expected = serial(4 * BLOCKS);
    for workers in [1, 3] {
        let mut engine = steered(ScheduleKind::Critical, Steer::Auto, workers);
        assert_eq!(engine.schedule().kind(), ScheduleKind::Serial);
        for (block, expected) in expected.iter().enumerate() {
            engine.process(FRAMES);
            assert_eq!(&stage::bits(engine.output(FRAMES)), expected, "block {block}");
            if block % 100 == 99 {
                // Time for the planner, which looks every 40 ms.
                std::thread::sleep(std::time::Duration::from_millis(50));
            }
        }
        let control = engine.control();
        // A plan that came just now has no estimate before some blocks of it have run.
        let mut measured = || {
            engine.process(FRAMES);
            control.standing().measured_ns.is_some()
        };
        // Two minutes are only there to end a hang: the planner is a thread that the machine may keep waiting.
        let begun = std::time::Instant::now();
        while !measured() {
            assert!(begun.elapsed().as_secs() < 120, "{:?}", control.standing());
        }
        let standing = control.standing();
        assert!(standing.serial_ns.is_some(), "{standing:?}");
        assert_ne!(standing.reason, Reason::AsSettingsSay);
        if workers == 1 {
            assert_eq!((standing.workers, standing.reason), (1, Reason::OneWorker));
        }
    }
}

/// Costs by which several workers pay.
fn dear(engine: &Engine) -> CostTable {
    let row = |unit: &hocket_plan::Unit| ChainCost {
        chain: unit.name.clone(),
        kind: 0,
        alone_ns: Some(100_000.0),
        shared_ns: None,
    };
    let rows = engine.schedule().units().units().iter().map(row).collect();
    CostTable { frames: FRAMES as u32, rate_hz: 48_000, machine: String::new(), rows }
}

#[test]
fn auto_with_known_costs_begins_with_several_workers() {
    let _alone = stage::alone();
    let expected = serial(20);
    for workers in [2, 3] {
        let mut engine = steered(ScheduleKind::Serial, Steer::Auto, workers);
        let control = engine.control();
        control.adopt_costs(&dear(&engine)).unwrap();
        // No probe comes before the first window is over, whatever the blocks take.
        for (block, expected) in expected.iter().enumerate() {
            engine.process(FRAMES);
            assert_eq!(&stage::bits(engine.output(FRAMES)), expected, "block {block}");
            assert!(engine.schedule().workers() > 1);
            let standing = control.standing();
            assert_eq!((standing.reason, standing.walks_alone), (Reason::Comparing, false));
        }
    }
}

/// A machine profile says that lists are shortest: the first plan with workers has their barriers, on seats whose
/// partners wait for each other.
#[test]
fn auto_begins_with_the_kind_that_was_found_before_and_changes_no_bit() {
    const BLOCKS: usize = 200;
    let _alone = stage::alone();
    let expected = serial(BLOCKS);
    let policy =
        Policy { sibling: SiblingPolicy::PairBarrier, ..stage::policy(ScheduleKind::Serial) };
    let settings = Settings {
        steer: Steer::Auto,
        found_before: Some(ScheduleKind::Lists),
        ..stage::settings(policy)
    };
    let seating = Seating::described(&stage::paired(2), policy.sibling, Some(4)).unwrap();
    assert!(seating.placement().partners.iter().all(|partners| partners.len() == 1));
    let mut engine = Engine::start(stage::prepared(), settings, seating).unwrap();
    engine.control().adopt_costs(&dear(&engine)).unwrap();
    for (block, expected) in expected.iter().enumerate() {
        engine.process(FRAMES);
        assert_eq!(&stage::bits(engine.output(FRAMES)), expected, "block {block}");
        if block == 0 {
            assert_eq!(engine.schedule().kind(), ScheduleKind::Lists);
            assert!(engine.schedule().workers() > 1 && engine.schedule().barriers() > 0);
        }
    }
}

#[test]
fn costs_are_measured_for_every_unit_and_change_the_plan() {
    let _alone = stage::alone();
    let mut engine = steered(ScheduleKind::Critical, Steer::Costs, 2);
    let control = engine.control();
    assert_eq!(control.replan(), Err(ControlError::NothingMeasured));
    // The planner may have sent a plan meanwhile that nobody has run yet; two minutes only end a hang.
    let all_measured = |engine: &Engine| {
        let costs = control.costs();
        let known = |unit: &str| costs.iter().any(|cost| cost.unit == unit && cost.ns > 0.0);
        engine.schedule().units().units().iter().all(|unit| known(&unit.name))
    };
    let begun = std::time::Instant::now();
    while !all_measured(&engine) {
        assert!(begun.elapsed().as_secs() < 120, "{:?}", control.costs());
        engine.process(FRAMES);
    }
    let units = engine.schedule().units().units().len();
    control.replan().unwrap();
    engine.process(FRAMES);
    let standing = control.standing();
    assert!(standing.expected_ns.is_some_and(|ns| ns > 0.0), "{standing:?}");
    assert!(standing.units <= units, "folded, not split");
}

/// Seats for four in pairs that keep each other's seats, a plan for fewer: nobody waits for a worker that
/// the plan does without. (Plans exchanged on the way: `block/tests.rs`.)
#[test]
fn a_schedule_for_fewer_workers_than_seats_runs() {
    let _alone = stage::alone();
    let seats = Seats { seats: (0..4).map(|seat| Seat { core: seat / 2, speed: 1.0 }).collect() };
    for wait in Strategy::here() {
        for workers in 1..=4 {
            let policy =
                Policy { schedule: ScheduleKind::Lists, sibling: SiblingPolicy::PairBarrier, wait };
            let settings = Settings { steer: Steer::Costs, ..stage::settings(policy) };
            let seating = Seating::described(&seats, policy.sibling, Some(4)).unwrap();
            let (prepared, expected) = stage::lattice(3, 4);
            let units = prepared.units.clone();
            let schedule = VerifiedSchedule::plan(ScheduleKind::Lists, units, workers).unwrap();
            let mut engine = Engine::start_verified(prepared, schedule, settings, seating).unwrap();
            for _ in 0..10 {
                let times = engine.process(FRAMES);
                assert_eq!(times.workers as usize, engine.schedule().workers(), "{wait}");
                assert!((engine.output(1).left[0] - expected).abs() < 1.0e-5, "{wait}");
            }
        }
    }
}

#[test]
fn orders_wait_while_no_block_runs_and_are_refused_when_too_many() {
    let _alone = stage::alone();
    let mut engine = steered(ScheduleKind::Lists, Steer::Fixed, 2);
    let control = engine.control();
    for _ in 0..10 {
        engine.process(FRAMES);
    }
    let sent = (0..400).take_while(|_| control.replan().is_ok()).count();
    assert_eq!(sent, 256);
    assert_eq!(control.replan(), Err(ControlError::Full));
    assert!(!control.is_settled());
    for _ in 0..20 {
        engine.process(FRAMES);
    }
    assert!(control.is_settled());
    control.replan().unwrap();
}

#[test]
fn costs_that_were_kept_are_taken_over() {
    let _alone = stage::alone();
    let expected = serial(100);
    let mut first = steered(ScheduleKind::Critical, Steer::Costs, 2);
    for _ in 0..100 {
        first.process(FRAMES);
    }
    first.control().replan().unwrap();
    for _ in 0..100 {
        first.process(FRAMES);
    }
    let table = first.control().cost_table("here");
    assert!(table.rows.iter().all(|row| row.alone_ns.or(row.shared_ns).is_some()));
    drop(first);
    for steer in [Steer::Costs, Steer::Auto, Steer::Fixed] {
        let mut engine = steered(ScheduleKind::Critical, steer, 2);
        let adopted = engine.control().adopt_costs(&table).unwrap();
        assert_eq!(adopted.unknown, 0, "folded chains keep their names: {adopted:?}");
        for (block, expected) in expected.iter().enumerate() {
            engine.process(FRAMES);
            assert_eq!(&stage::bits(engine.output(FRAMES)), expected, "{steer:?}, block {block}");
        }
    }
    let mut other = table.clone();
    other.rows.iter_mut().for_each(|row| row.chain.push_str(" of another session"));
    let engine = steered(ScheduleKind::Critical, Steer::Costs, 2);
    assert_eq!(engine.control().adopt_costs(&other).unwrap().known, 0);
}

#[test]
fn kept_costs_hold_for_other_block_lengths_in_proportion() {
    let _alone = stage::alone();
    let mut engine = steered(ScheduleKind::Critical, Steer::Costs, 2);
    let names: Vec<String> =
        engine.schedule().units().units().iter().map(|unit| unit.name.clone()).collect();
    let row = |chain: &String| ChainCost {
        chain: chain.clone(),
        kind: 0,
        alone_ns: Some(1000.0),
        shared_ns: None,
    };
    let rows: Vec<ChainCost> = names.iter().map(row).collect();
    let table =
        CostTable { frames: 2 * FRAMES as u32, rate_hz: 48_000, machine: String::new(), rows };
    let adopted = engine.control().adopt_costs(&table).unwrap();
    assert_eq!(adopted.known, names.len());
    engine.process(FRAMES);
    let total = engine.schedule().units().total_cost();
    assert!((total - 500.0 * names.len() as f64).abs() < 1.0, "{total}");
}

/// Sibling policies that may change while an engine plays.
fn changeable() -> Vec<SiblingPolicy> {
    SiblingPolicy::ALL.into_iter().filter(|policy| policy.changes_live()).collect()
}

/// On two cores of two seats each, where `off` begins and any other one may follow.
fn changing(kind: ScheduleKind, steer: Steer) -> Engine {
    let policy = Policy { sibling: SiblingPolicy::Off, ..stage::policy(kind) };
    let sibling_policies = changeable();
    let settings = Settings { steer, sibling_policies, ..stage::settings(policy) };
    let seating = Seating::described(&stage::paired(2), policy.sibling, None).unwrap();
    Engine::start(stage::prepared(), settings, seating).unwrap()
}

#[test]
fn sibling_policies_change_between_blocks_and_no_bit_does() {
    let _alone = stage::alone();
    let expected = serial(BLOCKS);
    let policies = changeable();
    let steered = ScheduleKind::ALL
        .into_iter()
        .flat_map(|kind| [Steer::Fixed, Steer::Costs, Steer::Auto].map(|steer| (kind, steer)));
    for (kind, steer) in steered {
        let mut engine = changing(kind, steer);
        let control = engine.control();
        assert_eq!(engine.reports().len(), 3 + 2, "a worker on each seat, a guard on each core");
        for (block, expected) in expected.iter().enumerate() {
            if block % 5 == 2 {
                let policy = policies[(block / 5 * 4) % policies.len()];
                let granted = control.set_sibling_policy(policy).unwrap();
                assert_eq!(granted.asked, None, "nobody is pinned");
                let standing = control.standing();
                assert_eq!(standing.sibling, policy);
                let workers = engine.seating().under(policy).unwrap().placement().workers.len();
                // Serial has one worker, and `critical` leaves some out where costs say so.
                let has_all = steer == Steer::Fixed
                    && ![ScheduleKind::Serial, ScheduleKind::Critical].contains(&kind);
                let fits = standing.workers <= workers;
                assert!(
                    fits && (standing.workers == workers || !has_all),
                    "{kind:?}, {standing:?}"
                );
            }
            engine.process(FRAMES);
            let bits = stage::bits(engine.output(FRAMES));
            assert_eq!(&bits, expected, "{kind:?}, {steer:?}, block {block}");
        }
    }
}

#[test]
fn a_policy_that_nobody_named_at_the_start_is_refused_and_nothing_changes() {
    let _alone = stage::alone();
    let mut engine = steered(ScheduleKind::Dataflow, Steer::Costs, 2);
    let control = engine.control();
    let refused = control.set_sibling_policy(SiblingPolicy::IdleThread);
    assert_eq!(refused.unwrap_err(), ControlError::SiblingPolicy(SiblingPolicy::IdleThread));
    let before = control.standing();
    control.set_sibling_policy(SiblingPolicy::All).unwrap();
    assert_eq!(control.standing(), before, "it is the present one");
    engine.process(FRAMES);
    assert_eq!(control.standing().sibling, SiblingPolicy::All);
}

#[test]
fn an_engine_that_has_no_room_for_an_order_keeps_its_policy() {
    let _alone = stage::alone();
    let mut engine = changing(ScheduleKind::Dataflow, Steer::Fixed);
    let control = engine.control();
    let kinds = [ScheduleKind::Dataflow, ScheduleKind::Steal].into_iter().cycle();
    let mut sent = kinds.map(|kind| control.set_schedule(Some(kind)));
    assert_eq!(sent.find(Result::is_err), Some(Err(ControlError::Full)));
    let before = control.standing();
    let refused = control.set_sibling_policy(SiblingPolicy::All).unwrap_err();
    assert_eq!(refused, ControlError::Full);
    assert_eq!(control.standing(), before);
    engine.process(FRAMES);
    control.set_sibling_policy(SiblingPolicy::All).unwrap();
    assert_eq!((control.standing().sibling, control.standing().workers), (SiblingPolicy::All, 4));
}

#[test]
fn policies_that_change_the_system_do_not_change_while_it_plays() {
    let _alone = stage::alone();
    let start = |own, sibling_policies| {
        let policy = Policy { sibling: own, ..stage::policy(ScheduleKind::Dataflow) };
        let settings = Settings { sibling_policies, ..stage::settings(policy) };
        let seating = Seating::described(&stage::paired(2), own, None).unwrap();
        Engine::start(stage::prepared(), settings, seating).map(drop)
    };
    for fixed in [SiblingPolicy::Partition, SiblingPolicy::Offline] {
        for (own, more) in [(fixed, SiblingPolicy::Off), (SiblingPolicy::Off, fixed)] {
            let refused = start(own, vec![more]).unwrap_err();
            let why = SettingsError::SiblingPolicy(fixed);
            assert!(matches!(&refused, EngineError::Settings(it) if *it == why), "{refused}");
        }
        start(fixed, Vec::new()).unwrap();
    }
}
