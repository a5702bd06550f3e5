//! `auto` in a whole engine whose blocks take what the test says: it goes parallel, comes back, and the output is
//! that of the serial walk, bit for bit.

use std::time::{Duration, Instant};

use hocket_dsp::{Block, Processor};
use hocket_plan::{
    ChainCost, CostTable, Edge, Fusing, Graph, Node, NodeKind, ScheduleKind, Seat, Seats,
    SiblingPolicy,
};
use hocket_rt::Strategy;

use super::*;
use crate::leader::choose_walk::Reason;
use crate::{ControlError, Policy, Prepared, Seating, Settings, Steer};

const FRAMES: usize = 64;
/// Blocks in a second.
const SECOND: usize = 750;
const ROWS: usize = 8;

/// A random walk of its own per node: what a block gives depends on all blocks before.
struct Walker {
    state: u32,
    busy: Duration,
}

impl Processor for Walker {
    fn process(&mut self, block: &mut Block<'_>) {
        let begun = Instant::now();
        for sample in block.main.left.iter_mut().chain(&mut *block.main.right) {
            self.state = self.state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            *sample = *sample * 0.5 + (self.state >> 9) as f32 / (1 << 23) as f32;
        }
        while begun.elapsed() < self.busy {
            std::hint::spin_loop();
        }
    }

    fn reset(&mut self) {}
}

/// Nodes side by side, each of which keeps a CPU busy for so long, and a sum.
fn prepared(busy: Duration) -> Prepared {
    let mut graph = Graph::default();
    let mut add = |name: String, inputs| {
        let kind = NodeKind::Custom(0);
        graph
            .add(Node {
                name,
                kind,
                inputs,
                cost: 10.0,
                latency_frames: 0,
                ports: Default::default(),
            })
            .unwrap()
    };
    let rows: Vec<_> = (0..ROWS).map(|row| add(format!("row {row}"), vec![])).collect();
    add("sum".into(), rows.into_iter().map(|from| Edge::new(from, 0.1)).collect());
    let walker = |place: usize| -> Option<Box<dyn Processor>> {
        let busy = if place < ROWS { busy } else { Duration::ZERO };
        Some(Box::new(Walker { state: place as u32, busy }))
    };
    Prepared::from_graph(&graph, (0..=ROWS).map(walker).collect(), Fusing::None).unwrap()
}

/// An engine on described seats that nobody steers but the test.
fn engine(busy: Duration, steer: Steer) -> Engine {
    let (schedule, sibling) = (ScheduleKind::Serial, SiblingPolicy::All);
    let policy = Policy { schedule, sibling, wait: Strategy::Hybrid };
    let seats = Seats { seats: (0..2).map(|core| Seat { core, speed: 1.0 }).collect() };
    let seating = Seating::described(&seats, sibling, Some(2)).unwrap();
    let settings = Settings::new(FRAMES as u32, 48_000, policy);
    let settings = Settings { priority: None, steer, ..settings };
    let mut engine = Engine::start(prepared(busy), settings, seating).unwrap();
    engine.planner_thread = None;
    engine
}

fn us(us: u64) -> u64 {
    TickRate::get().ns_to_ticks(us * 1000)
}

fn bits(engine: &Engine) -> Vec<u32> {
    let rows = engine.output(FRAMES);
    rows.left.iter().chain(rows.right).map(|sample| sample.to_bits()).collect()
}

/// Plays `blocks` blocks on both engines, with serial blocks of 100 us, and compares each. Returns how many
/// of them the leader walked alone.
fn play(auto: &mut Engine, serial: &mut Engine, blocks: usize, parallel_us: u64) -> usize {
    let mut alone = 0;
    for block in 0..blocks {
        let walked = std::cell::Cell::new(Of::SerialWalk);
        auto.process_as_if(FRAMES, |of| {
            walked.set(of);
            us(if of == (Of::Plan { alone: false }) { parallel_us } else { 100 })
        });
        alone += usize::from(walked.get() != (Of::Plan { alone: false }));
        serial.process(FRAMES);
        assert_eq!(bits(auto), bits(serial), "block {block}");
    }
    alone
}

/// Costs by which two workers pay.
fn dear(engine: &Engine) -> CostTable {
    let row = |unit: &hocket_plan::Unit| ChainCost {
        chain: unit.name.clone(),
        kind: 0,
        alone_ns: Some(50_000.0),
        shared_ns: None,
    };
    let rows = engine.schedule().units().units().iter().map(row).collect();
    CostTable { frames: FRAMES as u32, rate_hz: 48_000, machine: String::new(), rows }
}

#[test]
fn the_leader_calls_the_workers_while_they_pay_and_leaves_them_when_they_do_not() {
    let mut auto = engine(Duration::ZERO, Steer::Auto);
    let mut serial = engine(Duration::ZERO, Steer::Fixed);
    let control = auto.control();
    assert_eq!(play(&mut auto, &mut serial, 100, 55), 100, "it begins alone");
    assert_eq!(control.standing().reason, Reason::OneWorker);
    control.adopt_costs(&dear(&auto)).unwrap();
    play(&mut auto, &mut serial, SECOND, 55);
    assert_eq!(auto.schedule().workers(), 2);
    let standing = control.standing();
    assert_eq!((standing.reason, standing.walks_alone), (Reason::WorkersPay, false));
    let near =
        |ns: Option<f64>, us: f64| ns.is_some_and(|ns| (ns / us / 1000.0 - 1.0).abs() < 0.02);
    assert!(near(standing.serial_ns, 100.0) && near(standing.workers_ns, 55.0), "{standing:?}");
    assert!(near(standing.measured_ns, 55.0) && standing.compared > 3, "{standing:?}");
    // Probes only: less than one block in a hundred.
    assert!(play(&mut auto, &mut serial, 2 * SECOND, 55) < 2 * SECOND / 100);

    // The host changes: hand-overs take so long that blocks with workers lose.
    play(&mut auto, &mut serial, SECOND, 130);
    let standing = control.standing();
    assert_eq!((standing.reason, standing.walks_alone), (Reason::SerialIsShorter, true));
    assert!(near(standing.measured_ns, 100.0), "{standing:?}");
    assert!(play(&mut auto, &mut serial, 4 * SECOND, 130) > 4 * SECOND * 95 / 100);

    // And back: within the longest wait that so few failures lead to.
    play(&mut auto, &mut serial, 6 * SECOND, 55);
    assert_eq!(control.standing().reason, Reason::WorkersPay);
    assert!(play(&mut auto, &mut serial, SECOND, 55) < SECOND / 20);
}

#[test]
fn the_planner_finds_the_kind_whose_blocks_are_shortest() {
    let mut auto = engine(Duration::from_micros(20), Steer::Auto);
    let mut serial = engine(Duration::ZERO, Steer::Fixed);
    let control = auto.control();
    // Two seconds: the first trial is over, the first challenge has not begun.
    for _ in 0..50 {
        let parallel_us = match control.standing().kind {
            ScheduleKind::Critical => 80,
            ScheduleKind::Dataflow => 60,
            _ => 120,
        };
        play(&mut auto, &mut serial, 30, parallel_us);
        control.lock().steer();
    }
    play(&mut auto, &mut serial, 1, 60);
    let standing = control.standing();
    assert_eq!((standing.kind, standing.workers), (ScheduleKind::Dataflow, 2), "{standing:?}");
    assert!(!standing.walks_alone, "{standing:?}");
}

#[test]
fn every_wait_that_is_asked_for_plays_the_same_bits() {
    let mut engine_of_two = engine(Duration::from_micros(20), Steer::Auto);
    let mut serial = engine(Duration::ZERO, Steer::Fixed);
    let control = engine_of_two.control();
    for kind in [ScheduleKind::Lists, ScheduleKind::Dataflow] {
        control.set_schedule(Some(kind)).unwrap();
        let mut came = 0;
        for wait in Strategy::here().chain(Strategy::here()) {
            control.set_wait(wait).unwrap();
            assert_eq!(control.standing().wait, wait);
            for block in 0..20 {
                came += engine_of_two.process(FRAMES).workers - 1;
                serial.process(FRAMES);
                assert_eq!(bits(&engine_of_two), bits(&serial), "{kind:?}, {wait}, block {block}");
            }
        }
        // With lists the leader waits for all; in a dataflow it may be done before a worker is awake.
        assert!(came > 0 || kind == ScheduleKind::Dataflow, "{kind:?}: the leader was alone");
    }
    let missing = Strategy::ALL.into_iter().filter(|wait| wait.missing().is_some());
    for wait in missing {
        let before = control.standing().wait;
        assert!(matches!(control.set_wait(wait), Err(ControlError::Wait(..))), "{wait}");
        assert_eq!(control.standing().wait, before);
    }
}

#[test]
fn a_kind_that_is_asked_for_is_walked_as_it_stands_until_auto_chooses_again() {
    let mut auto = engine(Duration::from_micros(20), Steer::Auto);
    let mut serial = engine(Duration::ZERO, Steer::Fixed);
    let control = auto.control();
    play(&mut auto, &mut serial, 100, 300);
    for kind in [ScheduleKind::Dataflow, ScheduleKind::Critical, ScheduleKind::Lists] {
        control.set_schedule(Some(kind)).unwrap();
        // Its blocks lose, and the leader walks none of them alone, nor tries a serial one.
        assert_eq!(play(&mut auto, &mut serial, SECOND, 300), 0, "{kind:?}");
        let standing = control.standing();
        assert_eq!((standing.kind, standing.workers), (kind, 2), "{standing:?}");
        assert_eq!((standing.reason, standing.walks_alone), (Reason::AsSettingsSay, false));
        assert_ne!(standing.steer, Steer::Auto);
    }
    control.set_schedule(Some(ScheduleKind::Serial)).unwrap();
    assert_eq!(play(&mut auto, &mut serial, 100, 300), 100);

    control.set_schedule(None).unwrap();
    assert_eq!(control.standing().steer, Steer::Auto);
    control.adopt_costs(&dear(&auto)).unwrap();
    play(&mut auto, &mut serial, SECOND, 300);
    let standing = control.standing();
    assert_eq!((standing.reason, standing.walks_alone), (Reason::SerialIsShorter, true));

    assert_eq!(serial.control().set_schedule(None), Err(ControlError::NeverChose));
    assert_eq!(serial.control().standing().steer, Steer::Fixed);
}

#[test]
fn workers_that_lose_are_left_with_short_blocks_too() {
    let lengths: [&[usize]; 4] =
        [&[FRAMES / 2], &[FRAMES / 4], &[FRAMES / 8, FRAMES / 4 - 1], &[1]];
    for lengths in lengths {
        let mut auto = engine(Duration::ZERO, Steer::Auto);
        let (control, dear) = (auto.control(), dear(&auto));
        let mut play = |blocks: usize, parallel_us: u64| {
            (0..blocks).for_each(|block| {
                let frames = lengths[block % lengths.len()];
                auto.process_as_if(frames, |of| {
                    us(if of == (Of::Plan { alone: false }) { parallel_us } else { 100 })
                        * frames as u64
                        / FRAMES as u64
                });
            });
            auto.schedule().workers()
        };
        play(100, 300);
        control.adopt_costs(&dear).unwrap();
        assert_eq!(play(2 * SECOND, 300), 2);
        let standing = control.standing();
        assert_eq!(
            (standing.reason, standing.walks_alone),
            (Reason::SerialIsShorter, true),
            "{lengths:?}"
        );
        play(SECOND * 30, 50);
        assert_eq!(control.standing().reason, Reason::WorkersPay, "{lengths:?}");
    }
}

#[test]
fn the_length_to_which_blocks_are_compared_follows_the_host() {
    let mut length = SteadyLength::of(1024);
    let notes = |length: &mut SteadyLength, frames: usize, count: usize| -> Vec<usize> {
        (0..count).filter_map(|_| length.note(frames)).collect()
    };
    assert!(notes(&mut length, 512, 100).is_empty());
    assert_eq!((length.scaled(10, 512), length.scaled(10, 511)), (Some(20), None));
    assert!(notes(&mut length, 256, 31).is_empty());
    assert!(notes(&mut length, 1000, 1).is_empty(), "the row begins anew");
    assert!(notes(&mut length, 64, 31).is_empty());
    assert_eq!(notes(&mut length, 256, 1), [256], "the longest of the row");
    assert!(notes(&mut length, 1024, 63).is_empty(), "the second change takes longer");
    assert_eq!(notes(&mut length, 1024, 1), [1024]);
    assert_eq!(scaled(u64::MAX, 1, 64), u64::MAX, "a clock that goes back stops nobody");
}

#[test]
fn blocks_of_another_length_are_walked_as_those_before() {
    let mut auto = engine(Duration::ZERO, Steer::Auto);
    let (control, dear) = (auto.control(), dear(&auto));
    // As long as it takes, whatever the length: with 64 frames workers pay, and a serial block of 16 would miss.
    let mut play = |blocks: usize, frames: usize, parallel_us: u64| -> usize {
        let alone = std::cell::Cell::new(0);
        (0..blocks).for_each(|_| {
            auto.process_as_if(frames, |of| {
                let together = of == (Of::Plan { alone: false });
                alone.set(alone.get() + usize::from(!together));
                us(if together { parallel_us } else { 900 })
            });
        });
        alone.get()
    };
    play(100, FRAMES, 300);
    control.adopt_costs(&dear).unwrap();
    play(2 * SECOND, FRAMES, 300);
    assert_eq!(control.standing().reason, Reason::WorkersPay);
    // 333 us: a serial block would miss, so none is tried once that is known.
    assert!(play(2 * SECOND, FRAMES / 4, 300) < 20);
    assert!(!control.standing().walks_alone);
}

#[test]
fn lengths_that_take_turns_are_compared_in_the_end() {
    let mut auto = engine(Duration::ZERO, Steer::Auto);
    let (control, dear) = (auto.control(), dear(&auto));
    let mut play = |rows: usize| {
        for row in 0..rows {
            let frames = if row % 2 == 0 { FRAMES } else { FRAMES / 4 };
            (0..40).for_each(|_| {
                auto.process_as_if(frames, |of| {
                    let whole = us(if of == (Of::Plan { alone: false }) { 300 } else { 100 });
                    whole * frames as u64 / FRAMES as u64
                });
            });
        }
    };
    play(4);
    control.adopt_costs(&dear).unwrap();
    play(100);
    let standing = control.standing();
    assert_eq!((standing.reason, standing.walks_alone), (Reason::SerialIsShorter, true));
}

#[test]
fn a_kind_that_is_refused_leaves_auto_choosing() {
    let mut auto = engine(Duration::from_micros(20), Steer::Auto);
    let mut serial = engine(Duration::ZERO, Steer::Fixed);
    let control = auto.control();
    control.adopt_costs(&dear(&auto)).unwrap();
    play(&mut auto, &mut serial, 100, 60);
    // So many plans are under way that there is no room for another one. The leader takes them over afterwards.
    while control.replan().is_ok() {}
    assert_eq!(control.set_schedule(Some(ScheduleKind::Dataflow)), Err(ControlError::Full));
    assert_eq!(control.standing().steer, Steer::Auto);
    play(&mut auto, &mut serial, SECOND, 300);
    let standing = control.standing();
    assert_eq!((standing.reason, standing.walks_alone), (Reason::SerialIsShorter, true));
}

#[test]
fn guards_keep_their_seats_while_the_leader_walks_alone() {
    let (schedule, sibling) = (ScheduleKind::Critical, SiblingPolicy::IdleThread);
    let policy = Policy { schedule, sibling, wait: Strategy::Futex };
    let seats = Seats { seats: (0..4).map(|seat| Seat { core: seat / 2, speed: 1.0 }).collect() };
    let seating = Seating::described(&seats, sibling, Some(2)).unwrap();
    let settings = Settings::new(FRAMES as u32, 48_000, policy);
    let settings = Settings { priority: None, steer: Steer::Auto, ..settings };
    let settings = Settings { seat_wait: Strategy::Futex, ..settings };
    let mut auto = Engine::start(prepared(Duration::ZERO), settings, seating).unwrap();
    auto.planner_thread = None;
    let mut serial = engine(Duration::ZERO, Steer::Fixed);
    play(&mut auto, &mut serial, 20, 300);
    auto.control().adopt_costs(&dear(&auto)).unwrap();
    play(&mut auto, &mut serial, SECOND, 300);
    assert!(auto.control().standing().walks_alone);
    let blocks = |engine: &Engine, desk: usize| engine.totals()[desk].blocks;
    let guard = (0..auto.totals().len()).find(|desk| *desk >= auto.worker_count()).unwrap();
    let (worker, before) = (blocks(&auto, 1), blocks(&auto, guard));
    // Whenever it gets to run; it has a thousand blocks to come.
    let came = (0..1000).any(|_| {
        auto.leader.lead_without_workers(FRAMES, auto.block);
        serial.process(FRAMES);
        auto.block += 1;
        std::thread::yield_now();
        blocks(&auto, guard) > before
    });
    assert!(came);
    assert_eq!(blocks(&auto, 1), worker, "the plan's worker stays away");
}

/// Guards and workers that one of the policies needs, on two cores of two seats each.
#[test]
fn threads_that_the_policy_does_not_need_sleep_until_one_does() {
    let (schedule, sibling) = (ScheduleKind::Dataflow, SiblingPolicy::Off);
    let policy = Policy { schedule, sibling, wait: Strategy::Futex };
    let seats = Seats { seats: (0..4).map(|seat| Seat { core: seat / 2, speed: 1.0 }).collect() };
    let seating = Seating::described(&seats, sibling, None).unwrap();
    let settings = Settings::new(FRAMES as u32, 48_000, policy);
    let settings = Settings { priority: None, seat_wait: Strategy::Futex, ..settings };
    let sibling_policies = vec![SiblingPolicy::All, SiblingPolicy::IdleThread];
    let settings = Settings { sibling_policies, ..settings };
    let mut engine = Engine::start(prepared(Duration::from_micros(50)), settings, seating).unwrap();
    let mut serial = self::engine(Duration::ZERO, Steer::Fixed);
    let control = engine.control();
    let (on_siblings, guards) = ([2, 3], [4, 5]);
    assert_eq!(engine.totals().len(), 6);
    let blocks = |engine: &Engine, desks: [usize; 2]| {
        let totals = engine.totals();
        desks.map(|desk| totals[desk].blocks)
    };
    let mut block = |engine: &mut Engine| {
        engine.process(FRAMES);
        serial.process(FRAMES);
        assert_eq!(bits(engine), bits(&serial));
        std::thread::yield_now();
    };
    let needed = [
        (SiblingPolicy::Off, None),
        (SiblingPolicy::All, Some(on_siblings)),
        (SiblingPolicy::IdleThread, Some(guards)),
    ];
    for (policy, come) in needed.into_iter().cycle().take(7) {
        control.set_sibling_policy(policy).unwrap();
        block(&mut engine);
        assert!(control.is_settled(), "the plan has been taken over");
        let before = (blocks(&engine, on_siblings), blocks(&engine, guards));
        (0..100).for_each(|_| block(&mut engine));
        // Whenever the machine lets them run: two minutes are only there to end a hang.
        let begun = std::time::Instant::now();
        if let Some(desks) = come {
            let first = blocks(&engine, desks);
            while blocks(&engine, desks) == first {
                assert!(begun.elapsed().as_secs() < 120, "{} calls nobody", policy.name());
                block(&mut engine);
            }
        }
        let after = (blocks(&engine, on_siblings), blocks(&engine, guards));
        assert!(come == Some(on_siblings) || before.0 == after.0, "{}", policy.name());
        assert!(come == Some(guards) || before.1 == after.1, "{}", policy.name());
    }
}
