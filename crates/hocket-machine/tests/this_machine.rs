//! The machine the tests run on. Affinity and environment belong to the whole process, so this binary has one test, and
//! runs its parts one after the other.

use std::process::Command;
use std::sync::mpsc;
use std::time::Duration;

use hocket_machine::class::{self, Class, ClassGuard, Policy, Reservation};
use hocket_machine::idle_latency::{self, IdleLatencyError};
use hocket_machine::memory::{self, LockScope};
use hocket_machine::pin::{self, CpuSet, PinError};
use hocket_machine::{Topology, clock, facts, grants};

#[test]
fn this_machine() {
    discovery_finds_the_cpus_of_this_process();
    hwloc_and_the_kernel_agree();
    a_replaced_machine_is_not_this_one();
    pinning_is_read_back();
    pinning_elsewhere_is_refused_with_a_reason();
    a_confined_process_is_released();
    threads_that_start_later_are_confined_when_somebody_looks();
    classes_are_read_back();
    another_thread_is_named_ranked_and_missed();
    probing_leaves_no_trace();
    clocks_are_checked();
    timer_slack_is_read_back_and_ends_with_its_thread();
    reserved_time_is_read_back_or_refused_with_a_reason();
    idle_latency_is_held_and_let_go();
}

fn discovery_finds_the_cpus_of_this_process() {
    let t = Topology::discover().unwrap_or_else(|e| panic!("{e}"));
    assert!(t.is_this_system && !t.kinds.is_empty());
    let mine = pin::current_affinity().expect("readable");
    assert_eq!(t.cpus_of(&t.allowed_seats()), mine);
    let cpu = pin::current_cpu().expect("Linux says where we are");
    assert!(t.seat_of_cpu(cpu).is_some());
}

fn hwloc_and_the_kernel_agree() {
    let t = Topology::discover().unwrap_or_else(|e| panic!("{e}"));
    let kernel = Topology::from_sysfs("/".as_ref()).unwrap_or_else(|e| panic!("{e}"));
    let disagree = t.notes.iter().any(|n| n.contains("disagree"));
    let siblings = |t: &Topology| t.pairs.iter().map(|p| t.cpus_of(&p.seats)).collect::<Vec<_>>();
    assert!(disagree || siblings(&t) == siblings(&kernel), "{:?}", t.notes);
}

/// In a child, since the environment is the process's.
fn a_replaced_machine_is_not_this_one() {
    if std::env::var_os("HWLOC_SYNTHETIC").is_some() {
        return;
    }
    let child = |key: &str, value: &str| {
        let me = std::env::current_exe().expect("a path");
        let output =
            Command::new(me).args(["--ignored", "--nocapture", "child"]).env(key, value).output();
        String::from_utf8_lossy(&output.expect("the child runs").stdout).into_owned()
    };
    let synthetic = child("HWLOC_SYNTHETIC", "pack:2 core:4 pu:2");
    if synthetic.contains("through hwloc") {
        assert!(synthetic.contains("16 seats, this system: false"), "{synthetic}");
    } else {
        println!("SKIPPED a_replaced_machine_is_not_this_one: no hwloc library here");
    }
    let forced = child("HOCKET_NO_HWLOC", "1");
    assert!(forced.contains("from the kernel") && forced.contains("this system: true"), "{forced}");
}

/// Run by [`a_replaced_machine_is_not_this_one`] only.
#[test]
#[ignore = "a helper process of this_machine"]
fn child() {
    let t = Topology::discover().unwrap_or_else(|e| panic!("{e}"));
    let how = match t.source {
        hocket_machine::topology::Source::HwlocLive { .. } => "through hwloc",
        _ => "from the kernel",
    };
    println!("{how}: {} seats, this system: {}", t.seats.len(), t.is_this_system);
}

fn pinning_is_read_back() {
    let before = pin::current_affinity().expect("readable");
    for cpu in before.iter() {
        let one = CpuSet::single(cpu);
        assert_eq!(pin::pin_current_thread(&one), Ok(one));
        assert_eq!(pin::current_cpu(), Some(cpu));
    }
    assert_eq!(pin::pin_current_thread(&before), Ok(before.clone()));
    assert_eq!(pin::current_affinity(), Ok(before));
}

fn pinning_elsewhere_is_refused_with_a_reason() {
    let before = pin::current_affinity().expect("readable");
    assert_eq!(pin::pin_current_thread(&CpuSet::new()), Err(PinError::Empty));
    let nowhere = CpuSet::single(hocket_machine::MAX_CPUS - 1);
    let error = pin::pin_current_thread(&nowhere).expect_err("no such CPU");
    assert!(error.to_string().contains("16383"), "{error}");
    assert_eq!(pin::current_affinity(), Ok(before.clone()), "a refusal changes nothing");
    let partly = before.union(&nowhere);
    assert_eq!(
        pin::pin_current_thread(&partly),
        Err(PinError::Partly { asked: partly.clone(), got: before })
    );
}

fn a_confined_process_is_released() {
    let before = pin::current_affinity().expect("readable");
    let one = CpuSet::single(before.first().expect("at least one CPU"));
    let worker = Worker::start();
    let spared = Worker::start();
    let confined = pin::confine_process(&one, &[spared.id]).unwrap_or_else(|e| panic!("{e}"));
    assert!(confined.threads() >= 2 && confined.refused().is_empty(), "{:?}", confined.refused());
    assert_eq!(worker.affinity(), one);
    assert_eq!(spared.affinity(), before);
    assert_eq!(pin::current_affinity(), Ok(one.clone()));
    let born = Worker::start();
    assert_eq!(born.affinity(), one, "threads inherit");
    let released = confined.release();
    assert!(released.failed.is_empty() && released.restored >= 2, "{released:?}");
    assert_eq!(released.born_since, 1);
    for thread in [&worker, &spared, &born] {
        assert_eq!(thread.affinity(), before);
    }
    assert!(pin::confine_process(&CpuSet::new(), &[]).is_err());
    assert_eq!(pin::current_affinity(), Ok(before));
}

fn threads_that_start_later_are_confined_when_somebody_looks() {
    let before = pin::current_affinity().expect("readable");
    if before.len() < 2 {
        println!("SKIPPED threads that start later: one CPU is the whole machine");
        return;
    }
    let [first, last] =
        [before.first(), before.last()].map(|cpu| CpuSet::single(cpu.expect("two")));
    let mut confined = pin::confine_process(&first, &[]).unwrap_or_else(|e| panic!("{e}"));
    let [inside, outside] = [Worker::start(), Worker::start()];
    assert_eq!(confined.confine_newcomers(), Ok(0), "they inherit");
    pin::pin_thread(outside.id, &last).expect("it may use that one");
    assert_eq!(confined.confine_newcomers(), Ok(1));
    assert_eq!([inside.affinity(), outside.affinity()], [first.clone(), first.clone()]);
    assert_eq!(confined.confine_newcomers(), Ok(0), "it is known now");
    let released = confined.release();
    assert!(released.failed.is_empty() && released.born_since == 1, "{released:?}");
    assert_eq!([inside.affinity(), outside.affinity()], [before.clone(), last]);
    assert_eq!(pin::current_affinity(), Ok(before));
}

/// A thread that says which CPUs it may use whenever it is asked, and ends when it is dropped.
struct Worker {
    id: pin::ThreadId,
    ask: mpsc::Sender<mpsc::Sender<CpuSet>>,
}

impl Worker {
    fn start() -> Self {
        let (ask, asked) = mpsc::channel::<mpsc::Sender<CpuSet>>();
        let (tell, told) = mpsc::channel();
        std::thread::spawn(move || {
            tell.send(pin::current_thread()).expect("heard");
            for answer in asked {
                answer.send(pin::current_affinity().expect("readable")).expect("heard");
            }
        });
        Self { id: told.recv().expect("the thread says its number"), ask }
    }

    fn affinity(&self) -> CpuSet {
        let (answer, answered) = mpsc::channel();
        self.ask.send(answer).expect("the thread listens");
        answered.recv().expect("the thread answers")
    }
}

fn classes_are_read_back() {
    std::thread::spawn(|| {
        let before = class::now();
        for asked in [
            Class::Fifo { priority: 10 },
            Class::RoundRobin { priority: 5 },
            Class::Fifo { priority: 200 },
        ] {
            let guard = ClassGuard::remember();
            let report = class::request(asked);
            let got = *report.got.value().expect("readable");
            assert_eq!(report.granted, got.is(asked), "{report}");
            assert_eq!(report.granted, report.why.is_none(), "{report:?}");
            assert!(!report.granted || got.reset_on_fork);
            drop(guard);
            let after = class::now();
            let same = |fact: &hocket_machine::Fact<class::ClassNow>| {
                fact.value().map(|c| (c.policy, c.priority, c.nice))
            };
            assert_eq!(same(&after), same(&before));
        }
        for asked in [Class::Other { nice: 5 }, Class::Batch { nice: 7 }, Class::Idle] {
            let report = class::request(asked);
            assert!(report.granted, "going down needs no rights: {report:?}");
        }
    })
    .join()
    .expect("the thread ends");
}

fn another_thread_is_named_ranked_and_missed() {
    let (own, own_class) = (pin::thread_mark(), class::now());
    let (number, numbers) = mpsc::channel();
    let (go_on, wait) = mpsc::channel::<()>();
    let other = std::thread::spawn(move || {
        number.send((pin::current_thread(), pin::thread_mark())).unwrap();
        let _ = wait.recv();
        class::now()
    });
    let (thread, mark) = numbers.recv().expect("it is alive");
    assert_eq!(own, pin::thread_mark());
    assert_ne!(own, mark);
    assert_eq!(pin::ThreadId::from_number(thread.number()), thread);
    assert!(pin::is_own_thread(thread));
    let report = class::request_of(thread, Class::Batch { nice: 0 });
    assert!(report.granted, "a thread may give up what it has: {report}");
    drop(go_on);
    assert!(other.join().unwrap().value().is_some_and(|now| now.is(Class::Batch { nice: 0 })));
    assert_eq!(class::now(), own_class, "the caller stays as it is");
    // The kernel ends a thread shortly after the join.
    while pin::is_own_thread(thread) {
        std::thread::yield_now();
    }
    assert!(!class::request_of(thread, Class::Batch { nice: 0 }).granted);
}

fn probing_leaves_no_trace() {
    let state = || (class::now(), memory::locked_bytes(), pin::current_affinity());
    let before = state();
    let table = grants::probe();
    assert_eq!(state(), before);
    for grant in &table {
        assert!(!grant.detail.is_empty(), "{grant:?}");
        assert!(!grant.granted || grant.remedy.is_none(), "{grant:?}");
    }
    let names: std::collections::BTreeSet<&str> = table.iter().map(|g| g.name.label()).collect();
    assert_eq!(names.len(), table.len());
    memory_lock_is_undone();
    assert!(facts::read().kernel_version.value().is_some());
}

fn memory_lock_is_undone() {
    let lock = memory::lock(LockScope::Present);
    let report = lock.report().clone();
    assert_eq!(report.granted, report.why.is_none(), "{report:?}");
    if report.granted {
        assert!(report.locked_bytes.value().is_some_and(|&bytes| bytes > 0));
    }
    assert_eq!(lock.unlock().value(), Some(&0));
}

fn clocks_are_checked() {
    let check = clock::check();
    assert_eq!(check.backward_steps, 0, "{check:?}");
    assert!(check.tick_cost_ns > 0.0 && check.rate.ticks_per_second > 1e3);
    // The rate was measured with a known error; a second measurement must agree within both.
    let again = clock::TickRate::calibrate(std::time::Duration::from_millis(30));
    let ppm = (again.ticks_per_second / check.rate.ticks_per_second - 1.0).abs() * 1e6;
    let allowed = again.uncertainty_ppm + check.rate.uncertainty_ppm + 500.0;
    assert!(ppm <= allowed, "{ppm} ppm apart, {allowed} allowed");
}

fn timer_slack_is_read_back_and_ends_with_its_thread() {
    let now = || std::fs::read_to_string("/proc/thread-self/timerslack_ns").ok();
    let before = now();
    let asked = std::thread::spawn(|| clock::request_timer_slack(1));
    assert_eq!(asked.join().expect("no panic").value(), Some(&1));
    assert_eq!(now(), before);
}

fn reserved_time_is_read_back_or_refused_with_a_reason() {
    let asked =
        Reservation { runtime: Duration::from_micros(200), period: Duration::from_millis(2) };
    let try_it = move || {
        let got = class::request_reservation(asked);
        (got, class::now().value().map(|now| now.policy))
    };
    let (got, policy) = std::thread::spawn(try_it).join().expect("no panic");
    match (got.value(), got.why()) {
        (Some(got), _) => assert_eq!((*got, policy), (asked, Some(Policy::Deadline))),
        (None, why) => {
            assert_ne!(policy, Some(Policy::Deadline));
            println!("SKIPPED reserved_time_is_read_back: {}", why.unwrap_or_default());
        }
    }
}

/// The limit of the machine: only its own part of it is certain, since other programs may hold one, too.
fn idle_latency_is_held_and_let_go() {
    let held = match idle_latency::hold(500) {
        Ok(held) => held,
        Err(why @ (IdleLatencyError::NoFile(_) | IdleLatencyError::AlreadyThere(_))) => {
            return println!("SKIPPED idle_latency_is_held_and_let_go: {why}");
        }
        Err(why) => panic!("{why}"),
    };
    assert!(held.now_us() <= 500 && idle_latency::now_us().is_ok_and(|us| us <= 500));
    drop(held);
    // A second request for it finds none, or what another program holds.
    let again = idle_latency::hold(500);
    assert!(matches!(again, Ok(_) | Err(IdleLatencyError::AlreadyThere(_))), "{again:?}");
}
