//! Threads come, end and leave nothing behind.

use std::time::{Duration, Instant};

use hocket_engine::{Engine, Policy, Seating, Settings};
use hocket_machine::float_mode::denormals_flushed;
use hocket_machine::{Topology, class, pin};
use hocket_plan::{ScheduleKind, SiblingPolicy};
use hocket_rt::Strategy;

use crate::stage::{self, FRAMES, RATE_HZ};

#[test]
fn an_engine_stops_while_its_threads_sleep_spin_or_never_worked() {
    let _alone = stage::alone();
    for schedule in ScheduleKind::ALL {
        for sibling in SiblingPolicy::ALL {
            for wait in Strategy::here() {
                for blocks in [0, 1, 3] {
                    let (prepared, _) = stage::lattice(2, 3);
                    let mut engine = stage::engine(prepared, Policy { schedule, sibling, wait }, 2);
                    (0..blocks).for_each(|_| _ = engine.process(FRAMES));
                    drop(engine);
                }
            }
        }
    }
}

#[test]
fn an_engine_stops_long_after_its_threads_fell_asleep() {
    let _alone = stage::alone();
    for wait in Strategy::here() {
        let policy = Policy { schedule: ScheduleKind::Dataflow, sibling: SiblingPolicy::All, wait };
        let (prepared, _) = stage::lattice(2, 3);
        let mut engine = stage::engine(prepared, policy, 3);
        engine.process(FRAMES);
        std::thread::sleep(Duration::from_millis(20));
        engine.process(FRAMES);
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Threads of this process that an engine started, by their names.
fn engine_threads() -> Option<usize> {
    let tasks = std::fs::read_dir("/proc/self/task").ok()?;
    let names =
        tasks.filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("comm")).ok());
    Some(names.filter(|name| name.starts_with("worker ") || name.starts_with("guard of")).count())
}

#[test]
fn a_thousand_engines_leave_no_thread_behind() {
    let _alone = stage::alone();
    if engine_threads().is_none() {
        return println!("SKIPPED a_thousand_engines_leave_no_thread_behind: no /proc/self/task");
    }
    for round in 0..1000 {
        let kind = ScheduleKind::ALL[round % ScheduleKind::ALL.len()];
        let policy = Policy { sibling: SiblingPolicy::IdleThread, ..stage::policy(kind) };
        let (prepared, _) = stage::lattice(1, 2);
        let mut engine = stage::engine(prepared, policy, 2);
        engine.process(FRAMES);
        // The leader is the caller's own thread.
        let own = engine.schedule().workers() * 2 - 1;
        assert_eq!(engine_threads(), Some(own), "one for each worker and guard");
        drop(engine);
        assert_eq!(threads_after_a_moment(), 0, "after engine {round}");
    }
}

/// A joined thread stays in the list until the kernel has cleared up after it.
fn threads_after_a_moment() -> usize {
    let started_at = Instant::now();
    loop {
        let left = engine_threads().unwrap_or(0);
        if left == 0 || started_at.elapsed() > Duration::from_secs(600) {
            return left;
        }
        std::thread::yield_now();
    }
}

#[test]
fn the_leader_gets_its_seat_and_class_back() {
    let _alone = stage::alone();
    let Ok(topology) = Topology::discover() else {
        return println!("SKIPPED the_leader_gets_its_seat_and_class_back: no topology here");
    };
    let state = || (pin::current_affinity().ok(), class::now().to_string());
    let before = state();
    for sibling in SiblingPolicy::ALL {
        let policy = Policy { sibling, ..stage::policy(ScheduleKind::Dataflow) };
        let seating = Seating::here(&topology, sibling, Some(1)).unwrap();
        let cpu = seating.worker_cpu(0).unwrap();
        let (prepared, _) = stage::lattice(1, 2);
        let settings = Settings::new(FRAMES as u32, RATE_HZ, policy);
        let mut engine = Engine::start(prepared, settings, seating).unwrap();
        let entered = engine.enter();
        assert_eq!(entered.report.cpu_asked, Some(cpu));
        assert_eq!(entered.report.cpus_got, cpu.to_string(), "{:?}", entered.report);
        assert_eq!(entered.report.class_asked, format!("SCHED_FIFO {}", Settings::PRIORITY));
        assert!(entered.report.denormals_flushed && !denormals_flushed(), "inside of blocks only");
        engine.process(FRAMES);
        drop(entered);
        assert_eq!(state(), before, "{}", sibling.name());
    }
}
