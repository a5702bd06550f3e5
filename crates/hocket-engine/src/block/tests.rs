//! Interleavings of leader and workers, forced by a delay of one thread, and plans exchanged by hand.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use std::thread::yield_now;

use hocket_plan::{ScheduleKind, SiblingPolicy};
use hocket_rt::Strategy;

use crate::block::runner::{Moment, Runner};
use crate::stage::{self, FRAMES, does, ends};
use crate::{Engine, Settings};

/// Lets `hold` delay threads of this engine. Call it before the first block.
fn hold(engine: &Engine, hold: impl Fn(&Runner, Moment) + Send + Sync + 'static) {
    assert!(engine.leader.runner().hold.set(Box::new(hold)).is_ok());
}

fn until(flag: &AtomicBool) {
    while !flag.load(SeqCst) {
        yield_now();
    }
}

/// A worker that comes from `reserve` may read the gate after the turnstile opened and before it moves.
#[test]
fn a_worker_that_comes_in_twice_walks_a_block_once() {
    for kind in ScheduleKind::ALL {
        let ran = ends(move || {
            let ran: Vec<_> = (0..6).map(|_| Arc::new(AtomicU32::new(0))).collect();
            let count = |ran: &Arc<AtomicU32>| {
                let ran = Arc::clone(ran);
                does(move |_| _ = ran.fetch_add(1, SeqCst))
            };
            let prepared = stage::side_by_side(ran.iter().map(count).collect(), None);
            let settings = stage::settings(kind, SiblingPolicy::All);
            let settings = Settings { alone_is_serial: false, ..settings };
            let mut engine = stage::engine(prepared, settings, 2);
            if engine.schedule().workers() < 2 {
                return vec![1];
            }
            let entered = AtomicU32::new(0);
            hold(&engine, move |runner, moment| match moment {
                Moment::Entered(_, true) => _ = entered.fetch_add(1, SeqCst),
                // The test moves the gate here, so the worker comes before the leader's own advance.
                Moment::Opened => {
                    runner.gate.advance();
                    (0..).take_while(|_| entered.load(SeqCst) == 0).for_each(|_| yield_now());
                }
                // The block stays open until the worker has come a second time, if it may.
                Moment::Finished if runner.plan().schedule.kind() == ScheduleKind::Lists => {
                    (0..).take_while(|_| entered.load(SeqCst) == 1).for_each(|_| yield_now());
                }
                _ => {}
            });
            let times = engine.process(FRAMES);
            assert_eq!(times.workers, 2, "{kind:?}");
            assert_eq!(engine.totals()[1].blocks, 1, "{kind:?}: one block, one note");
            ran.iter().map(|ran| ran.load(SeqCst)).collect()
        });
        assert!(ran.iter().all(|ran| *ran == 1), "{kind:?}: {ran:?}");
    }
}

#[test]
fn partners_that_a_plan_does_without_are_not_waited_for() {
    for seat_wait in [Strategy::Pause, Strategy::Futex] {
        ends(move || {
            let ones = || does(|block| block.main.left.fill(1.0));
            let prepared = stage::side_by_side((0..8).map(|_| ones()).collect(), None);
            let settings = stage::settings(ScheduleKind::Lists, SiblingPolicy::PairBarrier);
            let mut engine = stage::engine(prepared, Settings { seat_wait, ..settings }, 4);
            let paired =
                (0..4).any(|worker| !engine.seating().placement().partners[worker].is_empty());
            assert!(paired, "{:?}", engine.seating().placement());
            for workers in [3, 4, 2, 4, 1, 3, 4, 3, 2, 1, 4] {
                stage::go_on_with(&engine, ScheduleKind::Lists, workers);
                for _ in 0..5 {
                    let times = engine.process(FRAMES);
                    assert_eq!(times.workers as usize, workers, "{seat_wait}");
                    assert_eq!(engine.output(FRAMES).left, [8.0; FRAMES]);
                }
            }
        });
    }
}

#[test]
fn workers_that_a_plan_does_without_sleep_at_reserve_and_come_back() {
    ends(|| {
        let ones = || does(|block| block.main.left.fill(1.0));
        let prepared = stage::side_by_side((0..6).map(|_| ones()).collect(), None);
        let settings = stage::settings(ScheduleKind::Lists, SiblingPolicy::All);
        // The gate also moves for blocks of one worker.
        let settings = Settings { alone_is_serial: false, ..settings };
        let mut engine = stage::engine(prepared, settings, 3);
        let awake = Arc::new(AtomicU32::new(0));
        let counted = Arc::clone(&awake);
        hold(&engine, move |_, moment| {
            if let Moment::Awake(_) = moment {
                counted.fetch_add(1, SeqCst);
            }
        });
        for round in 0..20 {
            stage::go_on_with(&engine, ScheduleKind::Lists, 3);
            let reserve = engine.leader.runner().reserve.value();
            for block in 0..5 {
                let workers = engine.process(FRAMES).workers;
                assert_eq!(workers, 3, "round {round}, block {block}: in `lists` all must come");
                assert_eq!(engine.output(1).left, [6.0]);
            }
            let woken = engine.leader.runner().reserve.value().wrapping_sub(reserve);
            assert_eq!(woken, u32::from(round > 0), "the first plan has them already");
            stage::go_on_with(&engine, ScheduleKind::Lists, 1);
            let before = awake.load(SeqCst);
            for _ in 0..50 {
                assert_eq!(engine.process(FRAMES).workers, 1);
            }
            // Each may be on its way to the gate when the plan changes. Then it goes back, once.
            let came = awake.load(SeqCst) - before;
            assert!(came <= 2 * 2, "round {round}: {came} times in 50 blocks");
        }
    });
}

/// The other worker comes only after the block is over. Nobody advances `progress` meanwhile.
#[test]
fn a_seat_wait_that_blocks_does_not_keep_the_leader_from_standing_in() {
    for seat_wait in [Strategy::Pause, Strategy::Futex] {
        let workers = ends(move || {
            let ones = || does(|block| block.main.left.fill(1.0));
            let prepared = stage::side_by_side((0..6).map(|_| ones()).collect(), None);
            let settings = stage::settings(ScheduleKind::Critical, SiblingPolicy::All);
            let mut engine = stage::engine(prepared, Settings { seat_wait, ..settings }, 2);
            assert_eq!(engine.schedule().workers(), 2);
            let over = AtomicBool::new(false);
            hold(&engine, move |_, moment| match moment {
                Moment::Awake(_) => until(&over),
                Moment::Finished => over.store(true, SeqCst),
                _ => {}
            });
            let times = engine.process(FRAMES);
            assert_eq!(engine.output(1).left, [6.0]);
            times.workers
        });
        assert_eq!(workers, 1, "{seat_wait}: the leader stood in");
    }
}

#[test]
fn a_worker_that_comes_when_the_last_unit_is_claimed_is_not_let_in() {
    for kind in [ScheduleKind::Dataflow, ScheduleKind::Steal, ScheduleKind::Critical] {
        let entered = ends(move || {
            let [running, asked, inside] =
                std::array::from_fn(|_| Arc::new(AtomicBool::new(false)));
            let output = {
                let (running, asked) = (Arc::clone(&running), Arc::clone(&asked));
                does(move |_| {
                    running.store(true, SeqCst);
                    until(&asked);
                })
            };
            let nothing = || does(|_| ());
            let prepared = stage::side_by_side((0..6).map(|_| nothing()).collect(), Some(output));
            let settings = stage::settings(kind, SiblingPolicy::All);
            let mut engine = stage::engine(prepared, settings, 2);
            assert_eq!(engine.schedule().workers(), 2, "{kind:?}");
            let let_in = Arc::clone(&inside);
            hold(&engine, move |_, moment| match moment {
                Moment::Awake(_) => until(&running),
                Moment::Entered(_, entered) => {
                    let_in.store(entered, SeqCst);
                    asked.store(true, SeqCst);
                }
                _ => {}
            });
            engine.process(FRAMES);
            inside.load(SeqCst)
        });
        assert!(!entered, "{kind:?}");
    }
}

/// Sends the thread's id when it is dropped.
struct Freed(std::sync::mpsc::Sender<std::thread::ThreadId>);

impl Drop for Freed {
    fn drop(&mut self) {
        let _ = self.0.send(std::thread::current().id());
    }
}

/// The new plan replaces nodes of every kind: one that plays, one that panicked with its own payload.
#[test]
fn what_is_removed_is_freed_on_the_control_side() {
    use crate::block::node::NodeCell;
    use crate::control::planner::Installation;

    let (freed, ids) = std::sync::mpsc::channel();
    let (kept, inside, payload) = (Freed(freed.clone()), Freed(freed.clone()), freed);
    let plays = does(move |_| _ = &kept);
    let panics = does(move |_| {
        let _ = &inside;
        std::panic::panic_any(Freed(payload.clone()));
    });
    let prepared = stage::side_by_side(vec![plays, panics], None);
    let settings = stage::settings(ScheduleKind::Dataflow, SiblingPolicy::All);
    let mut engine = stage::engine(prepared, settings, 2);
    let control = engine.control();
    let on_the_leader = |engine: &mut Engine| {
        std::thread::scope(|scope| _ = scope.spawn(|| engine.process(FRAMES)).join().unwrap());
    };
    on_the_leader(&mut engine);
    assert_eq!(engine.contained().len(), 1);
    let (base, nodes) = {
        let planner = control.lock();
        let cell = |name: &str| Arc::new(NodeCell::new(name.into(), does(|_| ())));
        let nodes: Vec<_> =
            planner.nodes().iter().map(|n| n.as_ref().map(|_| cell("new"))).collect();
        (planner.base.clone(), nodes)
    };
    let fresh = nodes.iter().flatten().cloned().collect();
    let new = Installation { base, nodes, fresh, changes: Vec::new() };
    control.lock().install(new, |_| None).unwrap();
    on_the_leader(&mut engine);
    assert!(ids.try_recv().is_err(), "nothing is freed by the leader or a worker");
    assert!(control.is_settled(), "looks at what came back");
    let here = std::thread::current().id();
    let mut all: Vec<_> = ids.try_iter().collect();
    assert_eq!(all.len(), 3, "two processors and what one of them panicked with");
    all.retain(|id| *id != here);
    assert_eq!(all, [], "freed on this thread");
    assert_eq!(engine.contained(), []);
}
