//! Every way of running a block keeps to its promises.

use hocket_dsp::{BiquadCascade, CascadeKernel, Coefficients};
use hocket_engine::{Couples, Engine, FlightSettings, Seating, Settings, cascade_kernel, flight};
use hocket_machine::Topology;
use hocket_plan::{ScheduleKind, SiblingPolicy};
use hocket_rt::Strategy;

use crate::stage::{self, FRAMES, RATE_HZ};
use crate::watching::{self, Watch};

/// Long enough for every clip to begin, end and loop. Threads that share a CPU may wait for a time
/// slice in each block, so where seats are described there are no more than that.
const ONCE_AROUND: usize = 60;
const MANY: usize = 400;

#[test]
fn described_seats_leave_no_trace_of_the_system() {
    let _alone = stage::alone();
    watching::announce("described_seats_leave_no_trace_of_the_system");
    for (schedule, sibling, wait) in every_policy() {
        let policy = stage::policy(schedule, sibling, wait);
        for workers in [2, 4] {
            let prepared = stage::session_of_everything();
            let mut engine = stage::described_engine(prepared, policy, workers);
            check(&mut engine, ONCE_AROUND, &format!("{policy}, {workers} described workers"));
        }
    }
}

#[test]
fn pinned_seats_leave_no_trace_of_the_system() {
    let _alone = stage::alone();
    watching::announce("pinned_seats_leave_no_trace_of_the_system");
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
        check(&mut engine, MANY, &format!("{policy}, {workers} workers here"));
        if let Some(why) = &entered.report.why {
            println!("leader: {why}");
        }
    }
}

#[test]
fn strips_abreast_leave_no_trace_of_the_system() {
    let _alone = stage::alone();
    watching::announce("strips_abreast_leave_no_trace_of_the_system");
    for schedule in ScheduleKind::ALL {
        for workers in [1, 2] {
            let policy = stage::policy(schedule, SiblingPolicy::All, Strategy::Hybrid);
            let seating =
                Seating::described(&stage::paired_cores(1), policy.sibling, Some(workers)).unwrap();
            let settings = Settings { couples: Couples::Always, ..stage::ordinary(policy) };
            let mut engine = Engine::start(stage::session_of_equals(), settings, seating).unwrap();
            let mut units = engine.schedule().units().units().iter();
            assert!(units.any(|unit| !unit.couples.is_empty()), "{policy}: no strips abreast");
            check(&mut engine, ONCE_AROUND, &format!("{policy}, abreast"));
        }
    }
}

fn every_policy() -> impl Iterator<Item = (ScheduleKind, SiblingPolicy, Strategy)> {
    ScheduleKind::ALL.into_iter().flat_map(|schedule| {
        SiblingPolicy::ALL
            .into_iter()
            .flat_map(move |sibling| Strategy::here().map(move |wait| (schedule, sibling, wait)))
    })
}

fn check(engine: &mut Engine, blocks: usize, what: &str) {
    let (mut recorder, mut drain) = flight::record(engine, FlightSettings::default());
    watching::forget();
    let mut peak = 0.0f32;
    for _ in 0..blocks {
        // Wider than the engine's own watch: accounting and reading the output are clean as well.
        let _watch = Watch::begin();
        let times = engine.process(FRAMES as usize);
        recorder.note(engine, &times);
        let rows = engine.output(FRAMES as usize);
        peak = rows.left.iter().chain(rows.right).fold(peak, |peak, sample| peak.max(sample.abs()));
    }
    assert!(peak > 1.0e-3, "{what}: nothing was played");
    assert_eq!(engine.contained(), [], "{what}");
    watching::check(engine, blocks, what);
    recorder.end_run();
    // The first block at least was the worst until then.
    assert!(!drain.collect().is_empty(), "{what}");
}

/// Who builds voices for other engines calls cascades from there.
#[test]
fn cascades_leave_no_trace_of_the_system() {
    let _alone = stage::alone();
    watching::announce("cascades_leave_no_trace_of_the_system");
    let section = Coefficients { b0: 0.2, b1: 0.3, b2: 0.2, a1: -0.5, a2: 0.25 };
    for kernel in [CascadeKernel::PORTABLE, cascade_kernel()] {
        let mut cascade = BiquadCascade::with_kernel(&[section; 39], kernel);
        let (mut left, mut right) = ([0.0; FRAMES as usize], [0.0; FRAMES as usize]);
        watching::forget();
        for _ in 0..ONCE_AROUND {
            let _watch = Watch::begin();
            left[0] = 1.0;
            cascade.process_stereo(&mut left, &mut right);
        }
        watching::check_clean(&format!("{kernel:?}"));
        assert!(left.iter().any(|sample| *sample != 0.0));
    }
}
