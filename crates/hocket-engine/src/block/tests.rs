//! Interleavings of leader and workers, forced by a delay of one thread, and plans exchanged by hand.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::SeqCst};
use std::thread::yield_now;

use hocket_machine::clock::{TickRate, ticks};
use hocket_plan::{Edge, Fusing, Graph, ScheduleKind, SiblingPolicy};
use hocket_rt::Strategy;

use crate::block::costs::Circumstance;
use crate::block::runner::{Moment, ORDINARY_NS, Runner};
use crate::block::stamps::What;
use crate::test_engines::{self, FRAMES, does, ends};
use crate::{Engine, Prepared, Settings, Spans};

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
            let prepared = test_engines::side_by_side(ran.iter().map(count).collect(), None);
            let settings = test_engines::settings(kind, SiblingPolicy::All);
            let settings = Settings { alone_is_serial: false, ..settings };
            let mut engine = test_engines::engine(prepared, settings, 2);
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
            let prepared = test_engines::side_by_side((0..8).map(|_| ones()).collect(), None);
            let settings = test_engines::settings(ScheduleKind::Lists, SiblingPolicy::PairBarrier);
            let mut engine = test_engines::engine(prepared, Settings { seat_wait, ..settings }, 4);
            let paired =
                (0..4).any(|worker| !engine.seating().placement().partners[worker].is_empty());
            assert!(paired, "{:?}", engine.seating().placement());
            for workers in [3, 4, 2, 4, 1, 3, 4, 3, 2, 1, 4] {
                test_engines::go_on_with(&engine, ScheduleKind::Lists, workers);
                for _ in 0..5 {
                    let times = engine.process(FRAMES);
                    assert_eq!(times.workers as usize, workers, "{seat_wait}");
                    assert_eq!(engine.output(FRAMES).left, [8.0; FRAMES]);
                }
            }
        });
    }
}

/// In `lists` the partner does not come to the barrier before the leader gives its seat up; elsewhere a
/// unit does not end before the partner of its worker does so.
#[test]
fn a_seat_is_kept_for_a_partner_that_is_at_work() {
    for kind in [ScheduleKind::Lists, ScheduleKind::Dataflow, ScheduleKind::Steal] {
        ends(move || {
            let given_up = Arc::new(AtomicBool::new(false));
            let seen = Arc::clone(&given_up);
            let waits = does(move |_| {
                if kind != ScheduleKind::Lists {
                    until(&seen);
                }
            });
            let prepared = test_engines::side_by_side(vec![waits, does(|_| ())], None);
            let settings = test_engines::settings(kind, SiblingPolicy::PairBarrier);
            let settings = Settings { seat_wait: Strategy::Pause, ..settings };
            let mut engine = test_engines::engine(prepared, settings, 2);
            assert_eq!(engine.schedule().workers(), 2);
            engine.leader.runner().real_time.store(true, SeqCst);
            let started_at = AtomicU64::new(0);
            hold(&engine, move |runner, moment| match moment {
                Moment::Opened => started_at.store(ticks(), SeqCst),
                Moment::Awake(_) if kind == ScheduleKind::Lists => until(&given_up),
                Moment::Kept if !given_up.swap(true, SeqCst) => {
                    let kept_ticks = ticks() - started_at.load(SeqCst);
                    let least_ticks = TickRate::get().ns_to_ticks(runner.waits.longest_ns);
                    assert!(kept_ticks >= least_ticks, "{kind:?}: {kept_ticks} < {least_ticks}");
                }
                _ => {}
            });
            engine.process(FRAMES);
        });
    }
}

/// The first of three units ends when the other worker waits. The two that it makes ready wait for each
/// other. (In `critical` a leader that stands in may hold both lists.)
#[test]
fn a_worker_that_waits_is_woken_for_a_unit_that_becomes_ready() {
    for kind in [ScheduleKind::Dataflow, ScheduleKind::Steal] {
        ends(move || {
            let idle = Arc::new(AtomicBool::new(false));
            let started = Arc::new(AtomicU32::new(0));
            let meets = || {
                let started = Arc::clone(&started);
                does(move |_| {
                    started.fetch_add(1, SeqCst);
                    (0..).take_while(|_| started.load(SeqCst) < 2).for_each(|_| yield_now());
                })
            };
            let seen = Arc::clone(&idle);
            let processors = [does(move |_| until(&seen)), meets(), meets(), does(|_| ())];
            let mut graph = Graph::default();
            let inputs: [&[usize]; 4] = [&[], &[0], &[0], &[1, 2]];
            let mut ids = Vec::new();
            for (index, inputs) in inputs.into_iter().enumerate() {
                let edge = |from: &usize| Edge::new(ids[*from], 1.0);
                ids.push(
                    graph
                        .add(test_engines::node(index, inputs.iter().map(edge).collect()))
                        .unwrap(),
                );
            }
            let processors = processors.into_iter().map(Some).collect();
            let prepared = Prepared::from_graph(&graph, processors, Fusing::None).unwrap();
            let mut engine =
                test_engines::engine(prepared, test_engines::settings(kind, SiblingPolicy::All), 2);
            assert_eq!(engine.schedule().workers(), 2, "{kind:?}");
            hold(&engine, move |_, moment| {
                if moment == Moment::Kept {
                    idle.store(true, SeqCst);
                }
            });
            assert_eq!(engine.process(FRAMES).workers, 2, "{kind:?}");
        });
    }
}

#[test]
fn workers_that_a_plan_does_without_sleep_at_reserve_and_come_back() {
    ends(|| {
        let ones = || does(|block| block.main.left.fill(1.0));
        let prepared = test_engines::side_by_side((0..6).map(|_| ones()).collect(), None);
        let settings = test_engines::settings(ScheduleKind::Lists, SiblingPolicy::All);
        // The gate also moves for blocks of one worker.
        let settings = Settings { alone_is_serial: false, ..settings };
        let mut engine = test_engines::engine(prepared, settings, 3);
        let awake = Arc::new(AtomicU32::new(0));
        let counted = Arc::clone(&awake);
        hold(&engine, move |_, moment| {
            if let Moment::Awake(_) = moment {
                counted.fetch_add(1, SeqCst);
            }
        });
        for round in 0..20 {
            test_engines::go_on_with(&engine, ScheduleKind::Lists, 3);
            let reserve = engine.leader.runner().reserve.value();
            for block in 0..5 {
                let workers = engine.process(FRAMES).workers;
                assert_eq!(workers, 3, "round {round}, block {block}: in `lists` all must come");
                assert_eq!(engine.output(1).left, [6.0]);
            }
            let woken = engine.leader.runner().reserve.value().wrapping_sub(reserve);
            assert_eq!(woken, u32::from(round > 0), "the first plan has them already");
            test_engines::go_on_with(&engine, ScheduleKind::Lists, 1);
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
            let prepared = test_engines::side_by_side((0..6).map(|_| ones()).collect(), None);
            let settings = test_engines::settings(ScheduleKind::Critical, SiblingPolicy::All);
            let mut engine = test_engines::engine(prepared, Settings { seat_wait, ..settings }, 2);
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
            let prepared =
                test_engines::side_by_side((0..6).map(|_| nothing()).collect(), Some(output));
            let settings = test_engines::settings(kind, SiblingPolicy::All);
            let mut engine = test_engines::engine(prepared, settings, 2);
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

/// The block waits for the guard: a thread that guards for ever would be seen by the test's end.
#[test]
fn a_guard_keeps_its_seat_for_its_time_and_no_longer() {
    for real_time in [false, true] {
        ends(move || {
            let prepared = test_engines::side_by_side(vec![does(|_| ())], None);
            let settings =
                test_engines::settings(ScheduleKind::Dataflow, SiblingPolicy::IdleThread);
            let settings = Settings { seat_wait: Strategy::Pause, ..settings };
            let mut engine = test_engines::engine(prepared, settings, 1);
            let runner = engine.leader.runner();
            let kept_ns = if real_time { runner.waits.longest_ns } else { ORDINARY_NS };
            runner.real_time.store(real_time, SeqCst);
            let started_at = AtomicU64::new(0);
            let guarded = Arc::new(AtomicBool::new(false));
            let kept_ticks = Arc::new(AtomicU64::new(0));
            let seen = Arc::clone(&kept_ticks);
            hold(&engine, move |runner, moment| match moment {
                Moment::Opened => {
                    runner.gate.advance();
                    until(&guarded);
                }
                Moment::Guarding(_) => started_at.store(ticks(), SeqCst),
                Moment::Guarded(_) => {
                    kept_ticks.store(ticks() - started_at.load(SeqCst), SeqCst);
                    guarded.store(true, SeqCst);
                }
                _ => {}
            });
            engine.process(FRAMES);
            let kept_ticks = seen.load(SeqCst);
            assert!(kept_ticks >= TickRate::get().ns_to_ticks(kept_ns), "{kept_ticks} ticks");
            assert_eq!(engine.totals()[1].blocks, 1);
            let [span] = engine.leader().stamps(1).spans() else { panic!("not one span") };
            assert_eq!(span.what(), What::Guard);
        });
    }
}

/// A quarter of a block is the shortest that says what a whole one costs.
#[test]
fn costs_are_noted_in_proportion_for_large_parts_of_a_block() {
    let shortest = FRAMES / 4;
    for frames in [FRAMES, FRAMES / 2, shortest, shortest - 1, 1] {
        let prepared = test_engines::side_by_side(vec![does(|_| ())], None);
        let settings = test_engines::settings(ScheduleKind::Serial, SiblingPolicy::Off);
        let mut engine = test_engines::engine(prepared, settings, 1);
        engine.process(frames);
        let costs = &engine.leader.runner().plan().costs;
        let spans = engine.leader().stamps(0).spans();
        assert_eq!(spans.len(), 2);
        for span in spans {
            let What::Unit(unit) = span.what() else { panic!("{:?}", span.what()) };
            let whole = (span.end - span.start) * FRAMES as u64 / frames as u64;
            let noted = (frames >= shortest && whole > 0).then_some(f64::from(whole as f32));
            let alone = Circumstance { kind: 0, sibling_busy: false };
            assert_eq!(costs.get(unit as usize, alone), noted, "{frames} frames");
        }
    }
}

#[test]
fn what_is_noted_changes_while_it_plays() {
    let slept = std::time::Duration::from_millis(2);
    let sleeps = does(move |_| std::thread::sleep(slept));
    let prepared = test_engines::side_by_side(vec![sleeps, does(|_| ())], None);
    let settings = test_engines::settings(ScheduleKind::Serial, SiblingPolicy::Off);
    let mut engine = test_engines::engine(prepared, settings, 1);
    let control = engine.control();
    assert_eq!(control.spans(), Spans::Times);
    for now in [Spans::Times, Spans::Off, Spans::CpuTime, Spans::Off, Spans::Times] {
        control.set_spans(now);
        assert_eq!(control.spans(), now);
        let (spans, cpu_time) = (now != Spans::Off, now == Spans::CpuTime);
        engine.process(FRAMES);
        let noted = engine.leader().stamps(0).spans();
        assert_eq!(noted.is_empty(), !spans);
        let away: Vec<i64> = noted.iter().filter_map(|span| span.away_ns()).collect();
        // The sleep, and whatever else this machine made long.
        let slept_ns = slept.as_nanos() as i64 * 9 / 10;
        let longest = away.iter().copied().max();
        assert_eq!(longest.is_some_and(|ns| ns >= slept_ns), cpu_time, "{away:?}");
        assert_eq!(longest.is_some(), cpu_time, "{away:?}");
        for span in noted {
            let took_ns = TickRate::get().ticks_to_ns(span.end - span.start) as i64;
            assert!(span.away_ns().is_none_or(|ns| ns <= took_ns));
        }
    }
    assert_eq!(engine.totals()[0].spans_dropped, 0);
}

#[test]
fn blocks_that_are_not_finite_are_silent_and_counted() {
    let mut block_number = 0;
    let slips = does(move |block| {
        block_number += 1;
        block.main.left.fill(if [2, 3].contains(&block_number) { f32::NAN } else { 1.0 });
    });
    let settings = test_engines::settings(ScheduleKind::Serial, SiblingPolicy::Off);
    let mut engine =
        test_engines::engine(test_engines::side_by_side(vec![slips], None), settings, 1);
    for expected in [1.0, 0.0, 0.0, 1.0] {
        engine.process(FRAMES);
        assert_eq!(engine.output(FRAMES).left, [expected; FRAMES]);
    }
    let contained = engine.contained();
    assert_eq!(contained.len(), 1);
    assert_eq!((contained[0].not_finite, contained[0].panicked), (2, false));
}

#[test]
fn a_node_that_panicked_does_not_pass_its_input_on() {
    let ones = does(|block| block.main.left.fill(1.0));
    let panics = does(|_| panic!("enough"));
    let settings = test_engines::settings(ScheduleKind::Serial, SiblingPolicy::Off);
    let mut engine =
        test_engines::engine(test_engines::side_by_side(vec![ones], Some(panics)), settings, 1);
    for _ in 0..3 {
        engine.process(FRAMES);
        assert_eq!(engine.output(FRAMES).left, [0.0; FRAMES]);
    }
    assert_eq!(engine.contained()[0].message.as_deref(), Some("enough"));
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
fn what_is_removed_is_freed_on_the_main_thread() {
    use crate::block::node::NodeCell;
    use crate::control::planner::Installation;

    let (freed, ids) = std::sync::mpsc::channel();
    let (kept, inside, payload) = (Freed(freed.clone()), Freed(freed.clone()), freed);
    let plays = does(move |_| _ = &kept);
    let panics = does(move |_| {
        let _ = &inside;
        std::panic::panic_any(Freed(payload.clone()));
    });
    let prepared = test_engines::side_by_side(vec![plays, panics], None);
    let settings = test_engines::settings(ScheduleKind::Dataflow, SiblingPolicy::All);
    let mut engine = test_engines::engine(prepared, settings, 2);
    let control = engine.control();
    let on_the_leader = |engine: &mut Engine| {
        std::thread::scope(|scope| _ = scope.spawn(|| engine.process(FRAMES)).join().unwrap());
    };
    on_the_leader(&mut engine);
    assert_eq!(engine.contained().len(), 1);
    let (graph, nodes) = {
        let planner = control.lock();
        let cell = |name: &str| Arc::new(NodeCell::new(name.into(), does(|_| ())));
        let nodes: Vec<_> =
            planner.nodes().iter().map(|n| n.as_ref().map(|_| cell("new"))).collect();
        (planner.graph.clone(), nodes)
    };
    let new = Installation { graph, nodes, changes: Vec::new(), fades: false };
    control.lock().install(new, |_| None).unwrap();
    on_the_leader(&mut engine);
    assert!(ids.try_recv().is_err(), "nothing is freed by the leader or a worker");
    assert!(control.is_settled(), "looks at what came back");
    // Two processors and what one of them panicked with. A hang means that nobody frees them.
    let all = [0; 3].map(|_| ids.recv().unwrap());
    assert!(all.iter().all(|id| *id == all[0]), "all on the main thread: {all:?}");
    assert_ne!(all[0], std::thread::current().id(), "not on the thread that took the plan back");
    assert_eq!(engine.contained(), []);
}
