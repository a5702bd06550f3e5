//! Whose thread the leader may be: any, whether it has entered or not, one after the other.

use hocket_engine::{Engine, Policy, Seating, Settings};
use hocket_machine::{Topology, class, pin};
use hocket_plan::{ScheduleKind, SiblingPolicy};
use hocket_rt::Strategy;

use crate::stage::{self, FRAMES, RATE_HZ};

/// Pinned workers that ask for a real-time class.
fn live(topology: &Topology, schedule: ScheduleKind, wait: Strategy) -> Option<Engine> {
    let policy = Policy { schedule, sibling: SiblingPolicy::All, wait };
    let seating = Seating::here(topology, policy.sibling, Some(2)).ok()?;
    let settings = Settings::new(FRAMES as u32, RATE_HZ, policy);
    let (prepared, _) = stage::lattice(2, 3);
    Some(Engine::start(prepared, settings, seating).unwrap())
}

/// A thread of the host's, of any class and on any CPU, leads for a while and dies without a word.
#[test]
fn a_leader_that_never_entered_leads_and_dies_and_another_goes_on() {
    let _alone = stage::alone();
    let Ok(topology) = Topology::discover() else {
        return println!("SKIPPED a_leader_that_never_entered_leads: no topology here");
    };
    for kind in ScheduleKind::ALL {
        for wait in Strategy::here() {
            let Some(mut engine) = live(&topology, kind, wait) else {
                return println!("SKIPPED a_leader_that_never_entered_leads: no two seats here");
            };
            for turn in 0..3u64 {
                std::thread::scope(|scope| {
                    let foreign = || {
                        let before = (pin::current_affinity().ok(), class::now().to_string());
                        for block in 0..20 {
                            let times = engine.process(FRAMES);
                            assert_eq!(times.block, 20 * turn + block);
                            assert!((engine.output(1).left[0] - 3.0).abs() < 1.0e-5);
                        }
                        let after = (pin::current_affinity().ok(), class::now().to_string());
                        assert_eq!(before, after, "the thread stays the host's");
                    };
                    scope.spawn(foreign).join().unwrap();
                });
            }
        }
    }
}
