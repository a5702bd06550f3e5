//! A leader and its workers on one CPU: whoever waits lets the other run.

use hocket_engine::{Engine, Policy, Settings, Steer};
use hocket_machine::class::{self, Class, ClassGuard};
use hocket_machine::pin::{self, CpuSet};
use hocket_plan::{ScheduleKind, SiblingPolicy};
use hocket_rt::Strategy;

use crate::stage::{self, FRAMES};

const BLOCKS: usize = 10;

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
    let seats = stage::paired(2);
    let seating = hocket_engine::Seating::described(&seats, sibling, Some(2)).unwrap();
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
        for sibling in [SiblingPolicy::All, SiblingPolicy::PairBarrier] {
            for wait in Strategy::here() {
                let (mut engine, expected) = start(ScheduleKind::Lists, sibling, wait);
                let _class = ClassGuard::remember();
                if let Some(why) = class::request(Class::Fifo { priority: 10 }).why {
                    return println!("SKIPPED a_fifo_leader_blocks_for_an_ordinary_worker: {why}");
                }
                let blocked = play(&mut engine, expected);
                assert!(blocked > 0, "{wait}, {}: the leader never blocked", sibling.name());
            }
        }
    });
}
