//! Every way of running a block keeps to its promises.

use hocket_engine::{Engine, Seating, Settings, WorkerTotals};
use hocket_machine::Topology;
use hocket_plan::{ScheduleKind, SiblingPolicy};
use hocket_rt::Strategy;

use crate::stage::{self, FRAMES, RATE_HZ};
use crate::watching::Watch;

/// Long enough for every clip to begin, end and loop, and for every ring to wrap around.
const BLOCKS: usize = 120;

#[test]
fn described_seats_leave_no_trace_of_the_system() {
    let _alone = stage::alone();
    announce("described_seats_leave_no_trace_of_the_system");
    for (schedule, sibling, wait) in every_policy() {
        let policy = stage::policy(schedule, sibling, wait);
        for workers in [2, 4] {
            let prepared = stage::session_of_everything();
            let mut engine = stage::described_engine(prepared, policy, workers);
            check(&mut engine, &format!("{policy}, {workers} described workers"));
        }
    }
}

#[test]
fn pinned_seats_leave_no_trace_of_the_system() {
    let _alone = stage::alone();
    announce("pinned_seats_leave_no_trace_of_the_system");
    let topology = match Topology::discover() {
        Ok(topology) => topology,
        Err(error) => return println!("SKIPPED pinned seats: {error}"),
    };
    for (schedule, sibling, wait) in every_policy() {
        let policy = stage::policy(schedule, sibling, wait);
        let seating = Seating::here(&topology, sibling, None).unwrap();
        let workers = seating.placement().workers.len().min(4);
        let seating = Seating::here(&topology, sibling, Some(workers)).unwrap();
        let settings = Settings::new(FRAMES, RATE_HZ, policy);
        let mut engine = Engine::start(stage::session_of_everything(), settings, seating).unwrap();
        let entered = engine.enter();
        check(&mut engine, &format!("{policy}, {workers} workers here"));
        if let Some(why) = &entered.report.why {
            println!("leader: {why}");
        }
    }
}

fn every_policy() -> impl Iterator<Item = (ScheduleKind, SiblingPolicy, Strategy)> {
    ScheduleKind::ALL.into_iter().flat_map(|schedule| {
        SiblingPolicy::ALL.into_iter().flat_map(move |sibling| {
            Strategy::ALL.into_iter().map(move |wait| (schedule, sibling, wait))
        })
    })
}

fn check(engine: &mut Engine, what: &str) {
    forget_what_was_before();
    let mut peak = 0.0f32;
    for _ in 0..BLOCKS {
        // Wider than the engine's own watch: accounting and reading the output are clean as well.
        let _watch = Watch::begin();
        engine.process(FRAMES as usize);
        let rows = engine.output(FRAMES as usize);
        peak = rows.left.iter().chain(rows.right).fold(peak, |peak, sample| peak.max(sample.abs()));
    }
    assert!(peak > 1.0e-3, "{what}: nothing was played");
    assert_eq!(engine.contained(), [], "{what}");
    check_counts(engine, what);
}

#[cfg(not(feature = "sentry"))]
fn announce(test: &str) {
    crate::watching::skip_without_sentry(test);
}

#[cfg(not(feature = "sentry"))]
fn forget_what_was_before() {}

#[cfg(not(feature = "sentry"))]
fn check_counts(_: &Engine, _: &str) {
    let _: Option<WorkerTotals> = None;
}

#[cfg(feature = "sentry")]
fn announce(test: &str) {
    crate::watching::sees_calls(test);
}

#[cfg(feature = "sentry")]
fn forget_what_was_before() {
    crate::watching::take_report();
    crate::sentry::take_allocations();
}

#[cfg(feature = "sentry")]
fn check_counts(engine: &Engine, what: &str) {
    let (allocations, largest) = crate::sentry::take_allocations();
    assert_eq!(allocations, 0, "{what}: allocator called, largest size {largest} bytes");
    let report = crate::watching::take_report();
    if crate::watching::available().is_err() {
        return;
    }
    let violations: Vec<String> = report.violations.iter().map(ToString::to_string).collect();
    assert!(violations.is_empty(), "{what}: {}", violations.join(", "));
    assert_eq!((report.more_violations, report.cut_short), (0, 0), "{what}");
    let totals = sum(&engine.totals());
    // At least the leader's part of every block; the other workers' as often as they came.
    assert!(report.blocks_watched >= BLOCKS as u64, "{what}: {report:?}");
    assert!(report.blocks_watched >= totals.blocks, "{what}: {report:?} {totals:?}");
    assert_eq!(report.sleeps, totals.blocked, "{what}: {report:?}");
    assert_eq!(report.yields, totals.yielded, "{what}: {report:?}");
    // The last to come to a barrier wakes the others, which nobody counts.
    let barriers = (engine.schedule().barriers() * BLOCKS) as u64;
    let wakes = totals.wakes..=totals.wakes + barriers;
    assert!(wakes.contains(&report.wakes), "{what}: {report:?} {totals:?}");
    // A wait whose word changes while it is on its way to the kernel is turned back there; without
    // sleeping there is no other reason to go there.
    assert!(engine.settings().policy.wait != Strategy::Pause || report.edges() == report.wakes);
}

#[cfg(feature = "sentry")]
fn sum(totals: &[WorkerTotals]) -> WorkerTotals {
    totals.iter().fold(WorkerTotals::default(), |sum, one| WorkerTotals {
        blocks: sum.blocks + one.blocks,
        blocked: sum.blocked + one.blocked,
        yielded: sum.yielded + one.yielded,
        wakes: sum.wakes + one.wakes,
        ..sum
    })
}
