//! A leader and its workers on one CPU: whoever waits lets the other run.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::thread::sleep;
use std::time::Duration;

use hocket_dsp::{Block, Processor};
use hocket_engine::{Engine, Policy, Prepared, Seating, Settings, Steer};
use hocket_machine::Topology;
use hocket_machine::class::{self, Class, ClassGuard};
use hocket_machine::pin::{self, CpuSet, ThreadId};
use hocket_plan::{
    Edge, Fusing, Graph, Node, NodeKind, Schedule, ScheduleKind, SiblingPolicy, Step, UnitId,
    VerifiedSchedule,
};
use hocket_rt::Strategy;

use crate::stage::{self, Does, FRAMES};

const BLOCKS: usize = 10;
const FIFO: Class = Class::Fifo { priority: 10 };
/// How long a unit sleeps before it looks again.
const MOMENT: Duration = Duration::from_millis(1);

/// Runs `test` on a thread that is held to one CPU, as are those that it starts.
fn on_one_cpu(test: impl FnOnce() + Send) {
    let cpu = pin::current_affinity().ok().and_then(|cpus| cpus.iter().next());
    let Some(cpu) = cpu else { return println!("SKIPPED on_one_cpu: affinity is not known here") };
    let held = || {
        pin::pin_current_thread(&CpuSet::single(cpu)).unwrap();
        test();
    };
    std::thread::scope(|scope| {
        if let Err(panicked) = scope.spawn(held).join() {
            std::panic::resume_unwind(panicked);
        }
    });
}

fn start(kind: ScheduleKind, sibling: SiblingPolicy, wait: Strategy) -> (Engine, f32) {
    let policy = Policy { schedule: kind, sibling, wait };
    let settings = Settings { steer: Steer::Fixed, seat_wait: wait, ..stage::settings(policy) };
    let (prepared, expected) = stage::lattice(2, 4);
    let seating = Seating::described(&stage::paired(2), sibling, Some(2)).unwrap();
    (Engine::start(prepared, settings, seating).unwrap(), expected)
}

/// How often the leader blocked.
fn play(engine: &mut Engine, expected: f32) -> u64 {
    for block in 0..BLOCKS {
        let times = engine.process(FRAMES);
        assert_eq!(times.block, block as u64);
        assert!((engine.output(1).left[0] - expected).abs() < 1.0e-5);
    }
    engine.totals()[0].blocked
}

#[test]
fn ordinary_threads_on_one_cpu_complete_every_block() {
    let _alone = stage::alone();
    on_one_cpu(|| {
        for kind in ScheduleKind::ALL {
            for wait in Strategy::here() {
                let (mut engine, expected) = start(kind, SiblingPolicy::All, wait);
                play(&mut engine, expected);
            }
        }
    });
}

/// In `lists` the leader needs its worker, which gets the CPU only when the leader blocks: no yield of a
/// SCHED_FIFO thread lets an ordinary one run.
#[test]
fn a_fifo_leader_blocks_for_an_ordinary_worker_on_its_cpu() {
    let _alone = stage::alone();
    on_one_cpu(|| {
        if !may_be_fifo("a_fifo_leader_blocks_for_an_ordinary_worker_on_its_cpu") {
            return;
        }
        for sibling in [SiblingPolicy::All, SiblingPolicy::PairBarrier] {
            for wait in Strategy::here() {
                let (mut engine, expected) = start(ScheduleKind::Lists, sibling, wait);
                let blocked = play_as_fifo(&mut engine, expected);
                assert!(blocked > 0, "{wait}, {}: the leader never blocked", sibling.name());
            }
        }
    });
}

/// The leader has no unit left while the worker has one, in each block.
#[test]
fn a_fifo_leader_without_units_sleeps_while_an_ordinary_worker_on_its_cpu_has_one() {
    let _alone = stage::alone();
    let test = "a_fifo_leader_without_units_sleeps_while_an_ordinary_worker_on_its_cpu_has_one";
    on_one_cpu(|| {
        if !may_be_fifo(test) {
            return;
        }
        for kind in [ScheduleKind::Dataflow, ScheduleKind::Steal, ScheduleKind::Critical] {
            let unit = |watch: &Arc<LeaderWatch>| {
                let watch = Arc::clone(watch);
                move || watch.one_each()
            };
            check_that_the_leader_sleeps(kind, |watch| {
                [adds_one(unit(watch)), adds_one(unit(watch)), adds_one(|| ())]
            });
        }
    });
}

/// The leader has passed the last barrier, and waits for the end of the block.
#[test]
fn a_fifo_leader_sleeps_while_an_ordinary_worker_on_its_cpu_runs_the_last_unit() {
    let _alone = stage::alone();
    let test = "a_fifo_leader_sleeps_while_an_ordinary_worker_on_its_cpu_runs_the_last_unit";
    on_one_cpu(|| {
        if !may_be_fifo(test) {
            return;
        }
        check_that_the_leader_sleeps(ScheduleKind::Lists, |watch| {
            let watch = Arc::clone(watch);
            [adds_one(|| ()), adds_one(|| ()), adds_one(move || watch.look())]
        });
    });
}

/// Whether the calling thread gets the class of the leaders here. Says it if not.
fn may_be_fifo(test: &str) -> bool {
    let _class = ClassGuard::remember();
    let why = class::request(FIFO).why;
    if let Some(why) = &why {
        println!("SKIPPED {test}: {why}");
    }
    why.is_none()
}

/// How often the leader blocked, a SCHED_FIFO thread.
fn play_as_fifo(engine: &mut Engine, expected: f32) -> u64 {
    let _class = ClassGuard::remember();
    assert_eq!(class::request(FIFO).why, None);
    play(engine, expected)
}

/// Plays three units that `make` returns: the first of the leader, the second of its worker, and the last one. One unit of each
/// block looks at the leader, which has to sleep.
fn check_that_the_leader_sleeps(
    kind: ScheduleKind,
    make: impl Fn(&Arc<LeaderWatch>) -> [Box<dyn Processor>; 3],
) {
    for sibling in [SiblingPolicy::All, SiblingPolicy::PairBarrier] {
        for wait in Strategy::here() {
            for seating in seatings(sibling) {
                let what = format!(
                    "{}, {}, {wait}, pinned: {}",
                    kind.name(),
                    sibling.name(),
                    seating.is_pinned()
                );
                let watch = LeaderWatch::of_calling_thread();
                let mut engine = start_pair(make(&watch), kind, sibling, wait, seating);
                join_the_worker(&engine);
                let blocked = play_as_fifo(&mut engine, 2.0);
                assert_eq!(*watch.states.lock().unwrap(), "S".repeat(BLOCKS), "{what}");
                assert!(blocked >= BLOCKS as u64, "{what}: blocked {blocked} times");
            }
        }
    }
}

/// Seats on paper, with which waits yield before they block, and those of this machine.
fn seatings(sibling: SiblingPolicy) -> impl Iterator<Item = Seating> {
    let described = Seating::described(&stage::paired(2), sibling, Some(2)).unwrap();
    let topology = Topology::discover().ok();
    let here = topology.and_then(|it| Seating::here(&it, sibling, Some(2)).ok());
    [Some(described), here].into_iter().flatten()
}

/// The leader has the first unit, its worker the second. Of `lists` the worker has the last one, too.
fn start_pair(
    processors: [Box<dyn Processor>; 3],
    kind: ScheduleKind,
    sibling: SiblingPolicy,
    wait: Strategy,
    seating: Seating,
) -> Engine {
    let mut graph = Graph::default();
    let mut add = |inputs| {
        let node = Node { inputs, ..Node::new("unit", NodeKind::Custom(0)) };
        graph.add(node).unwrap()
    };
    let halves = [add(vec![]), add(vec![])].map(|from| Edge::new(from, 0.5));
    add(halves.to_vec());
    let processors = processors.into_iter().map(Some).collect();
    let prepared = Prepared::from_graph(&graph, processors, Fusing::None).unwrap();
    let [first, second, last] = [UnitId(0), UnitId(1), prepared.units.last()].map(Step::Run);
    let lists = match kind {
        ScheduleKind::Lists => {
            vec![vec![first, Step::Barrier], vec![second, Step::Barrier, last]]
        }
        ScheduleKind::Critical => vec![vec![first, last], vec![second]],
        _ => vec![vec![first], vec![second]],
    };
    let schedule = Schedule { kind, lists };
    let schedule = VerifiedSchedule::verify(prepared.units.clone(), schedule).unwrap();
    let policy = Policy { schedule: kind, sibling, wait };
    // Threads with a seat and a class wait in another way than those on paper.
    let priority = seating.is_pinned().then_some(Settings::PRIORITY);
    let fixed = Settings { steer: Steer::Fixed, seat_wait: wait, ..stage::settings(policy) };
    let settings = Settings { priority, ..fixed };
    Engine::start_verified(prepared, schedule, settings, seating).unwrap()
}

/// Makes the worker an ordinary thread, and goes to its CPU.
fn join_the_worker(engine: &Engine) {
    for worker in engine.reports().iter().filter(|worker| worker.real_time) {
        let now = class::request_of(worker.tid, Class::Other { nice: 0 });
        assert_eq!(now.why, None);
    }
    if let Some(cpu) = engine.seating().worker_cpu(1) {
        pin::pin_current_thread(&CpuSet::single(cpu)).unwrap();
    }
}

/// A unit that adds one to what it reads, after a deed.
fn adds_one(mut deed: impl FnMut() + Send + 'static) -> Box<dyn Processor> {
    Box::new(Does(move |block: &mut Block<'_>| {
        deed();
        block.main.left.iter_mut().for_each(|sample| *sample += 1.0);
    }))
}

/// What units see of the leader. An ordinary worker runs on the CPU of a SCHED_FIFO leader only while the leader sleeps, or after
/// the leader has spun so long that the kernel takes the CPU away from it. In the second case the leader does not sleep.
struct LeaderWatch {
    leader: ThreadId,
    /// Units that the worker has begun, and those that the leader has ended. Relaxed: each number stands for itself.
    begun: AtomicU64,
    ended: AtomicU64,
    /// What the leader did each time a unit looked, one letter each.
    states: Mutex<String>,
}

impl LeaderWatch {
    fn of_calling_thread() -> Arc<LeaderWatch> {
        let [begun, ended] = [0; 2].map(AtomicU64::new);
        let (leader, states) = (pin::current_thread(), Mutex::default());
        Arc::new(LeaderWatch { leader, begun, ended, states })
    }

    /// A unit in the midst of a block of two. The leader's one ends after the other one has begun, and before that one ends.
    fn one_each(&self) {
        if pin::current_thread() == self.leader {
            let block = self.ended.load(Relaxed);
            // The worker gets the CPU.
            sleep_while(|| self.begun.load(Relaxed) <= block);
            self.ended.store(block + 1, Relaxed);
        } else {
            let block = self.begun.fetch_add(1, Relaxed);
            sleep_while(|| self.ended.load(Relaxed) <= block);
            self.look();
        }
    }

    /// Sleeps for a moment, then notes what the leader does.
    fn look(&self) {
        sleep(MOMENT);
        self.states.lock().unwrap().push(state_of(self.leader));
    }
}

fn sleep_while(condition: impl Fn() -> bool) {
    while condition() {
        sleep(MOMENT);
    }
}

/// What a thread of this process does: `S` sleeps in the kernel, `R` runs or waits for a CPU.
fn state_of(thread: ThreadId) -> char {
    let stat = std::fs::read_to_string(format!("/proc/self/task/{thread}/stat"));
    let state = stat.ok().and_then(|stat| stat.rsplit(") ").next()?.chars().next());
    state.unwrap_or('?')
}
