//! Whose thread the leader may be: any, whether it has entered or not, one after the other.

use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use hocket_engine::{Engine, Policy, Seating, Settings};
use hocket_machine::pin::{self, CpuSet};
use hocket_machine::{Topology, class};
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

/// A thread that answers questions about itself until nobody asks any more.
fn bystander() -> (std::sync::mpsc::Sender<()>, std::sync::mpsc::Receiver<CpuSet>) {
    let ((ask, asked), (answer, answers)) = (channel::<()>(), channel());
    std::thread::spawn(move || {
        asked.iter().for_each(|()| answer.send(pin::current_affinity().unwrap()).unwrap());
    });
    (ask, answers)
}

/// A control thread changes the policy while this thread leads.
#[test]
fn a_policy_that_changes_while_it_plays_moves_other_threads_and_gives_them_back() {
    const NAME: &str = "a_policy_that_changes_while_it_plays";
    let _alone = stage::alone();
    let (own, other) = (SiblingPolicy::Off, SiblingPolicy::ReserveCore);
    let policy = Policy { schedule: ScheduleKind::Dataflow, sibling: own, wait: Strategy::Hybrid };
    let topology = Topology::discover().ok();
    let seating = topology.and_then(|it| Seating::here(&it, own, None).ok());
    let reserves = |it: &Seating| it.is_pinned() && it.placement().workers.len() > 1;
    let Some(seating) = seating.filter(reserves) else {
        return println!("SKIPPED {NAME}: no second core to reserve");
    };
    let workers = seating.placement().workers.len();
    let reserved = seating.under(other).unwrap().placement().others.clone().unwrap();
    let reserved: CpuSet = reserved.iter().map(|seat| seating.cpu(*seat).unwrap()).collect();
    let (prepared, _) = stage::lattice(2, 3);
    let at_home = pin::current_affinity().unwrap();
    let settings = Settings::new(FRAMES as u32, RATE_HZ, policy);
    let settings = Settings { sibling_policies: vec![other], ..settings };
    let mut engine = Engine::start(prepared, settings, seating).unwrap();
    let control = engine.control();
    let ((change, changes), (granted, grants)) = (channel(), channel());
    let changer = std::thread::spawn(move || {
        let set = |policy| granted.send(control.set_sibling_policy(policy).unwrap()).unwrap();
        changes.iter().for_each(set);
    });
    let (ask, cpus) = bystander();
    let now = || {
        ask.send(()).unwrap();
        cpus.recv().unwrap()
    };
    let free = now();
    let entered = engine.enter();
    let led_on = pin::current_affinity().unwrap();
    let seats: Vec<_> = engine.reports().iter().map(|it| it.cpus_got.clone()).collect();
    for _ in 0..3 {
        change.send(other).unwrap();
        let report = grants.recv().unwrap();
        assert!(report.is_complete() && report.moved > 0, "{report:?}");
        let same = entered.others();
        assert_eq!((same.asked, same.got, same.moved), (report.asked, report.got, report.moved));
        assert_eq!((now(), pin::current_affinity().unwrap()), (reserved.clone(), led_on.clone()));
        engine.process(FRAMES);
        assert_eq!(engine.schedule().workers(), workers - 1);
        assert!((engine.output(1).left[0] - 3.0).abs() < 1.0e-5);

        change.send(own).unwrap();
        assert_eq!(grants.recv().unwrap().summary(), None);
        assert_eq!((now(), pin::current_affinity().unwrap()), (free.clone(), led_on.clone()));
        engine.process(FRAMES);
        assert_eq!(engine.schedule().workers(), workers);
    }
    let still =
        engine.reports().iter().map(|it| pin::affinity_of_thread(it.tid).unwrap().to_string());
    assert_eq!(still.collect::<Vec<_>>(), seats);
    change.send(other).unwrap();
    grants.recv().unwrap();
    drop(entered);
    assert_eq!(now(), free, "a leader that leaves gives back what the newest policy asked");
    // Nobody leads now: the next leader makes the request.
    change.send(own).unwrap();
    change.send(other).unwrap();
    let unasked = [grants.recv().unwrap(), grants.recv().unwrap()];
    assert!(unasked.iter().all(|it| it.asked.is_none()), "{unasked:?}");
    let entered = engine.enter();
    assert_eq!((now(), entered.others().moved > 0), (reserved, true));
    // It entered under a policy that moves threads, and leaves under one that moves none.
    change.send(own).unwrap();
    grants.recv().unwrap();
    assert_eq!(pin::current_affinity().unwrap(), led_on);
    drop(entered);
    assert_eq!((now(), pin::current_affinity().unwrap()), (free, at_home));
    drop(change);
    changer.join().unwrap();
}

/// Plug-ins start threads when they like, and some choose CPUs for them.
#[test]
fn threads_that_start_while_it_plays_stay_off_the_workers_cores_too() {
    let _alone = stage::alone();
    let sibling = SiblingPolicy::ReserveCore;
    let policy = Policy { schedule: ScheduleKind::Serial, sibling, wait: Strategy::Futex };
    let seating = match Topology::discover() {
        Ok(topology) => Seating::here(&topology, sibling, Some(1)).ok(),
        Err(_) => None,
    };
    let reserves = |it: &Seating| it.is_pinned() && it.placement().others.is_some();
    let Some(seating) = seating.filter(reserves) else {
        return println!("SKIPPED threads_that_start_while_it_plays: no second core to reserve");
    };
    let workers_cpu = CpuSet::single(seating.worker_cpu(0).unwrap());
    let (prepared, _) = stage::lattice(2, 3);
    let engine = Engine::start(prepared, stage::settings(policy), seating).unwrap();
    let entered = engine.enter();
    assert!(entered.others().is_complete(), "{:?}", entered.others().summary());
    let before = entered.others().summary().unwrap();
    let (number, numbers) = channel();
    let (go_on, wait) = channel::<()>();
    let chosen = workers_cpu.clone();
    let plug_in = std::thread::spawn(move || {
        pin::pin_current_thread(&chosen).unwrap();
        number.send(pin::current_thread()).unwrap();
        let _ = wait.recv();
        pin::current_affinity().unwrap()
    });
    let thread = numbers.recv().unwrap();
    let until = Instant::now() + Duration::from_secs(60);
    while entered.others().moved_since() == 0 && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(20));
    }
    let moved = pin::affinity_of_thread(thread).unwrap();
    assert!(!moved.intersects(&workers_cpu), "it is on {moved}, a worker on {workers_cpu}");
    let after = entered.others().summary().unwrap();
    assert_eq!(after, format!("{before}, and one that started since"));
    drop(entered);
    drop(go_on);
    assert_eq!(plug_in.join().unwrap(), workers_cpu, "it has what it chose");
}
