//! A leader whose thread belongs to somebody else: it keeps its class and CPUs, and the workers sit beside it.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use hocket_engine::{
    Engine, FollowError, FollowReport, Following, Policy, Seating, Settings, ThreadReport,
};
use hocket_machine::class::{self, Class};
use hocket_machine::pin::{self, CpuSet, ThreadId};
use hocket_machine::{Fact, Topology};
use hocket_plan::{ScheduleKind, SiblingPolicy};
use hocket_rt::Strategy;

use crate::stage::{self, FRAMES, RATE_HZ};

const VOICES: usize = 12;
const OWN_PRIORITY: u8 = Settings::PRIORITY;

/// Two pinned workers that ask for a real-time class, and the CPUs of their seats.
fn live(schedule: ScheduleKind, sibling: SiblingPolicy) -> Result<(Engine, [u32; 2]), String> {
    let topology = Topology::discover().map_err(|error| error.to_string())?;
    let policy = Policy { schedule, sibling, wait: Strategy::Hybrid };
    let seating = Seating::here(&topology, sibling, Some(2)).map_err(|error| error.to_string())?;
    let seats = [0, 1].map(|worker| seating.worker_cpu(worker).unwrap());
    let priority = Some(OWN_PRIORITY);
    let settings = Settings { priority, ..Settings::new(FRAMES as u32, RATE_HZ, policy) };
    Ok((Engine::start(stage::voices(VOICES), settings, seating).unwrap(), seats))
}

/// What a server does with its thread.
enum Deed {
    Blocks(usize),
    Pin(CpuSet),
    Class(Class),
}

/// What the server's thread has afterwards, and what it played.
struct After {
    thread: ThreadId,
    cpus: CpuSet,
    class: String,
    played: Vec<Vec<u32>>,
}

/// The server's thread, until no more deeds come.
fn serve(engine: &mut Engine, deeds: &Receiver<Deed>, done: &SyncSender<After>) {
    for deed in deeds {
        let mut played = Vec::new();
        match deed {
            Deed::Blocks(blocks) => played = stage::play(engine, blocks),
            Deed::Pin(cpus) => drop(pin::pin_current_thread(&cpus).unwrap()),
            Deed::Class(class) => drop(class::request(class)),
        }
        let cpus = pin::current_affinity().unwrap();
        let (thread, class) = (pin::current_thread(), class::now().to_string());
        done.send(After { thread, cpus, class, played }).unwrap();
    }
}

/// The control thread's side of a server.
struct Server<'a> {
    deeds: SyncSender<Deed>,
    done: Receiver<After>,
    following: &'a Following,
    played: Vec<Vec<u32>>,
}

impl Server<'_> {
    fn do_it(&mut self, deed: Deed) -> After {
        self.deeds.send(deed).unwrap();
        let mut after = self.done.recv().unwrap();
        self.played.append(&mut after.played);
        after
    }

    /// Does it, plays, and lets the follower look.
    fn then_look(&mut self, deed: Deed) -> (After, FollowReport) {
        let before = self.do_it(deed);
        let after = self.do_it(Deed::Blocks(3));
        let report = self.following.look();
        let still = self.do_it(Deed::Blocks(1));
        for now in [&after, &still] {
            assert_eq!((&now.cpus, &now.class), (&before.cpus, &before.class), "the server's own");
        }
        let leader = report.leader.clone().unwrap();
        assert_eq!((leader.tid, &leader.class), (still.thread, &still.class));
        assert_eq!(leader.cpus, still.cpus.to_string());
        assert!(still.cpus.contains(leader.cpu));
        (still, report)
    }
}

/// Plays server with an engine, and returns what it played.
fn with_server(
    engine: &mut Engine,
    following: &Following,
    test: impl FnOnce(&mut Server<'_>),
) -> Vec<Vec<u32>> {
    let (deeds, orders) = sync_channel(0);
    let (answers, done) = sync_channel(0);
    std::thread::scope(|scope| {
        scope.spawn(move || serve(engine, &orders, &answers));
        let mut server = Server { deeds, done, following, played: Vec::new() };
        test(&mut server);
        server.played
    })
}

/// What the same voices sound like, block after block on one thread.
fn reference(blocks: usize) -> Vec<Vec<u32>> {
    let policy = stage::policy(ScheduleKind::Serial);
    stage::play(&mut stage::engine(stage::voices(VOICES), policy, 1), blocks)
}

/// The only worker: its CPU, and the class that it asked for and, if granted, has.
fn check_worker(report: &FollowReport, cpu: u32, class: &str) {
    let [worker] = &report.threads[..] else { panic!("one worker: {report:?}") };
    assert_eq!((worker.cpu_asked, &worker.class_asked[..]), (Some(cpu), class));
    assert_eq!(worker.cpus_got, cpu.to_string(), "{worker:?}");
    if worker.why.is_none() {
        assert!(worker.class_got.starts_with(class), "{worker:?}");
    }
}

/// As the system reports it now.
fn cpus_of(thread: ThreadId) -> CpuSet {
    pin::affinity_of_thread(thread).unwrap()
}

fn class_of(thread: ThreadId) -> String {
    class::now_of(thread).to_string()
}

fn is_real_time(now: &Fact<class::ClassNow>) -> bool {
    now.value().is_some_and(class::ClassNow::is_real_time)
}

/// Whether this process may have a SCHED_FIFO thread of this priority.
fn fifo_is_granted(priority: u8) -> bool {
    std::thread::spawn(move || class::request(Class::Fifo { priority }).granted).join().unwrap()
}

#[test]
fn workers_follow_a_server_that_moves_and_play_the_same_bits() {
    let _alone = stage::alone();
    for kind in ScheduleKind::ALL {
        let (mut engine, [home, other]) = match live(kind, SiblingPolicy::All) {
            Ok(live) => live,
            Err(why) => return println!("SKIPPED workers_follow_a_server_that_moves: {why}"),
        };
        if engine.reports().is_empty() {
            continue;
        }
        let fifo = fifo_is_granted(OWN_PRIORITY);
        if !fifo {
            println!("SKIPPED the classes of workers_follow_a_server_that_moves: no SCHED_FIFO");
        }
        let following = engine.follow_leader().unwrap();
        assert_eq!(following.look().leader, None, "no block yet");
        let both = CpuSet::single(home).union(&CpuSet::single(other));
        let played = with_server(&mut engine, &following, |server| {
            if fifo {
                server.do_it(Deed::Class(Class::Fifo { priority: 50 }));
            }
            let beside = if fifo { "SCHED_FIFO 49" } else { "SCHED_OTHER" };
            // On the CPU of the worker, then back.
            for (cpu, free) in [(other, home), (home, other), (other, home)] {
                let (_, report) = server.then_look(Deed::Pin(CpuSet::single(cpu)));
                assert_eq!(report.kept_free, Some(cpu));
                check_worker(&report, free, beside);
                assert_eq!(report.waits_long, fifo && report.threads[0].real_time);
            }
            let (_, report) = server.then_look(Deed::Pin(both.clone()));
            assert!(!report.waits_long, "the leader may use the worker's CPU");
            let reseated = report.reseated;
            if fifo {
                let (_, report) = server.then_look(Deed::Class(Class::RoundRobin { priority: 7 }));
                check_worker(&report, report.threads[0].cpu_asked.unwrap(), "SCHED_FIFO 6");
                assert!(report.reseated > reseated);
            }
            let (_, report) = server.then_look(Deed::Class(Class::Other { nice: 0 }));
            check_worker(&report, report.threads[0].cpu_asked.unwrap(), "SCHED_OTHER");
            assert!(!report.waits_long && !report.threads[0].real_time);
        });
        assert_eq!(played, reference(played.len()), "{kind:?}");

        let worker: ThreadReport = engine.reports()[0].clone();
        drop(following);
        assert_eq!(cpus_of(worker.tid), CpuSet::single(other), "its own seat");
        assert_eq!(class_of(worker.tid), worker.class_got, "its own class");
    }
}

#[test]
fn the_next_leader_is_followed_even_if_it_looks_like_the_last_one() {
    let _alone = stage::alone();
    let (mut engine, _) = match live(ScheduleKind::Dataflow, SiblingPolicy::All) {
        Ok(live) => live,
        Err(why) => return println!("SKIPPED the_next_leader_is_followed: {why}"),
    };
    let following = engine.follow_leader().unwrap();
    let mut played = Vec::new();
    for turn in 0..4 {
        // A thread that starts after the end of another one usually gets its memory, and with it its mark.
        played.extend(with_server(&mut engine, &following, |server| {
            let mut seen = None;
            let mut own = None;
            // The first look finds that the thread of this mark has ended, the next block reads the new number.
            for _ in 0..100 {
                own = Some(server.do_it(Deed::Blocks(2)).thread);
                seen = following.look().leader.map(|leader| leader.tid);
                if seen == own {
                    break;
                }
            }
            assert_eq!(seen, own, "turn {turn}");
        }));
        let report = following.look();
        assert!(!report.waits_long, "the thread has ended");
    }
    assert_eq!(played, reference(played.len()));
}

#[test]
fn an_engine_has_one_follower_and_may_end_before_it() {
    let _alone = stage::alone();
    let (mut engine, _) = match live(ScheduleKind::Dataflow, SiblingPolicy::All) {
        Ok(live) => live,
        Err(why) => return println!("SKIPPED an_engine_has_one_follower: {why}"),
    };
    let first = engine.follow_leader().unwrap();
    assert!(matches!(engine.follow_leader(), Err(FollowError::Already)));
    drop(first);
    let second = engine.follow_leader().unwrap();
    engine.process(FRAMES);
    assert!(second.look().leader.is_some());
    let before = second.report();
    drop(engine);
    // The numbers of the ended threads may belong to others now.
    assert_eq!(second.look(), before);
}

#[test]
fn no_policy_moves_or_marks_a_thread_of_the_server() {
    let _alone = stage::alone();
    for sibling in [SiblingPolicy::ProcessAffinity, SiblingPolicy::ReserveCore] {
        let (mut engine, _) = match live(ScheduleKind::Dataflow, sibling) {
            Ok(live) => live,
            Err(why) => {
                println!("SKIPPED no_policy_moves_or_marks, {}: {why}", sibling.name());
                continue;
            }
        };
        let own = pin::current_affinity().unwrap();
        let following = engine.follow_leader().unwrap();
        assert_eq!(following.others().got, None);
        let [refused] = &following.others().refused[..] else { panic!("{:?}", following.others()) };
        assert!(refused.contains(sibling.name()), "{refused}");
        engine.process(FRAMES);
        following.look();
        assert_eq!(pin::current_affinity().unwrap(), own);
        assert!(!is_real_time(&class::now()));
    }
}

#[test]
fn a_policy_that_changes_beside_a_server_moves_none_of_its_threads_either() {
    let _alone = stage::alone();
    let (own, other) = (SiblingPolicy::Off, SiblingPolicy::ReserveCore);
    let policy = Policy { schedule: ScheduleKind::Dataflow, sibling: own, wait: Strategy::Hybrid };
    let topology = Topology::discover().ok();
    let seating = topology.and_then(|it| Seating::here(&it, own, None).ok());
    let are_two = |it: &Seating| it.is_pinned() && it.placement().workers.len() > 1;
    let Some(seating) = seating.filter(are_two) else {
        return println!("SKIPPED a_policy_that_changes_beside_a_server: no two seats here");
    };
    let settings = Settings::new(FRAMES as u32, RATE_HZ, policy);
    let settings = Settings { sibling_policies: vec![other], ..settings };
    let mut engine = Engine::start(stage::voices(VOICES), settings, seating).unwrap();
    let following = engine.follow_leader().unwrap();
    let cpus = pin::current_affinity().unwrap();
    engine.process(FRAMES);
    let granted = engine.control().set_sibling_policy(other).unwrap();
    assert_eq!((granted.got, granted.refused.len()), (None, 1), "{:?}", granted.refused);
    assert_eq!(following.others().refused, granted.refused);
    engine.process(FRAMES);
    following.look();
    assert_eq!(pin::current_affinity().unwrap(), cpus);
    assert!(!is_real_time(&class::now()));
    engine.control().set_sibling_policy(own).unwrap();
    assert_eq!(following.others().summary(), None);
}
