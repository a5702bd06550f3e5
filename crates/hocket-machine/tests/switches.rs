//! Thread switches, watched for real. Pins only threads of its own.

use std::fs::File;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Barrier, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use hocket_machine::pin::{self, CpuSet};
use hocket_machine::switches::system::{Happened, SystemEvent, SystemWatch};
use hocket_machine::switches::{Drained, Scope, Switch, SwitchError, SwitchWatch};
use hocket_machine::{clock, noise};

fn own_cpu() -> u32 {
    pin::current_affinity().expect("readable").first().expect("somewhere")
}

/// For tests with tracepoints: the kernel may leave records out while it starts and ends those of another one.
fn alone() -> MutexGuard<'static, ()> {
    static STAGE: Mutex<()> = Mutex::new(());
    STAGE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The watch, or why this test has to be passed over.
fn watch(test: &str, cpu: u32, ring_bytes: usize) -> Option<SwitchWatch> {
    match SwitchWatch::start(&[cpu], ring_bytes) {
        Ok(watch) => Some(watch),
        Err(why) => {
            println!("SKIPPED {test}: {why}");
            None
        }
    }
}

/// Two threads on one CPU that hand a number to and fro, and stay until [`Players::leave`] lets them go: the names of
/// those who are gone can no longer be looked up.
struct Players {
    tids: [i32; 2],
    threads: [JoinHandle<()>; 2],
    end: Arc<Barrier>,
}

impl Players {
    fn play(cpu: u32, turns: u32) -> Players {
        let ((say_ping, hear_ping), (say_pong, hear_pong)) = (channel(), channel());
        say_ping.send(turns).expect("open");
        let end = Arc::new(Barrier::new(3));
        let (ping, ping_tid) = player("hocket ping", cpu, hear_ping, say_pong, end.clone());
        let (pong, pong_tid) = player("hocket pong", cpu, hear_pong, say_ping, end.clone());
        let tids = [ping_tid, pong_tid].map(|tid| tid.recv().expect("played to the end"));
        Players { tids, threads: [ping, pong], end }
    }

    fn leave(self) {
        self.end.wait();
        self.threads.into_iter().for_each(|thread| thread.join().expect("no panic"));
    }
}

/// A thread on `cpu` that answers every message with one, says at last who it is, and waits for the end.
fn player(
    name: &str,
    cpu: u32,
    hear: Receiver<u32>,
    say: Sender<u32>,
    end: Arc<Barrier>,
) -> (JoinHandle<()>, Receiver<i32>) {
    let (tell, told) = channel();
    let play = move || {
        pin::pin_current_thread(&CpuSet::single(cpu)).expect("an own CPU");
        while let Ok(turn) = hear.recv() {
            if turn == 0 || say.send(turn - 1).is_err() {
                break;
            }
        }
        // The other one hears that there is no more to come.
        drop(say);
        tell.send(pin::current_thread().number()).expect("open");
        end.wait();
    };
    (thread::Builder::new().name(name.into()).spawn(play).expect("a thread"), told)
}

fn between(drained: &Drained, from: i32, to: i32) -> Vec<Switch> {
    let wanted = |s: &&Switch| s.out_tid == Some(from) && s.in_tid == Some(to);
    drained.switches.iter().filter(wanted).copied().collect()
}

/// Whoever leaves is the one that came before, as far as both are told.
fn follows(before: Switch, after: Switch) -> bool {
    before.in_tid.zip(after.out_tid).is_none_or(|(came, left)| came == left)
}

#[test]
fn a_thread_of_which_wake_ups_were_asked_is_seen_to_be_woken_up_and_no_other() {
    const TEST: &str = "a_thread_of_which_wake_ups_were_asked";
    let _alone = alone();
    let cpus: Vec<u32> = pin::current_affinity().expect("readable").iter().collect();
    let watch = SwitchWatch::start(&cpus, 1 << 20).map_err(|why| why.to_string());
    let me = pin::current_thread();
    let watch = watch.and_then(|mut watch| watch.add_wakes(me).map(|()| watch));
    let mut watch = match watch {
        Ok(watch) => watch,
        Err(why) => return println!("SKIPPED {TEST}: {why}"),
    };
    let mut all = SystemWatch::start(false).expect("as the other one");
    let players = Players::play(cpus[0], 50);
    let before = clock::monotonic_ns();
    (0..5).for_each(|_| thread::sleep(std::time::Duration::from_millis(2)));
    let after = clock::monotonic_ns();
    let seen = watch.drain();
    let mut told = Vec::new();
    all.drain(&mut told);
    players.leave();
    let during: Vec<_> =
        seen.wakes.iter().filter(|wake| (before..=after).contains(&wake.at_ns)).collect();
    // Linux 6.18 may leave out, until it is started again, what interrupts do on a CPU that is idle. Both suffer alike.
    let own = |what| matches!(what, Happened::Woken { tid, .. } if tid == me.number());
    let told = told.iter().filter(|e| own(e.what) && (before..=after).contains(&e.at_ns)).count();
    assert_eq!(during.len(), told, "{:?}", seen.wakes);
    assert!(seen.wakes.iter().all(|wake| wake.tid == me.number()), "{:?}", seen.wakes);
    assert!(seen.wakes.is_sorted_by_key(|wake| wake.at_ns));
    // Between two wake-ups it gets a CPU, unless the timer fires before it has left its own.
    let came = |between: std::ops::Range<u64>| {
        let mut ran = seen.switches.iter().filter(|s| s.in_tid == Some(me.number()));
        ran.any(|switch| between.contains(&switch.at_ns))
    };
    match during.len() {
        0 | 1 => {
            println!("SKIPPED a part of {TEST}: the kernel told {told} of 5 wake-ups by a timer")
        }
        _ => assert!(during.windows(2).any(|pair| came(pair[0].at_ns..pair[1].at_ns)), "{seen:?}"),
    }
    let threads = SwitchWatch::start_threads(&[me], 4096);
    let refused = threads.map(|mut watch| watch.add_wakes(me));
    assert!(refused.is_err() || refused == Ok(Err("no CPUs are watched".into())));
}

#[test]
fn two_threads_on_one_cpu_are_seen_to_change_places() {
    let cpu = own_cpu();
    let Some(mut watch) = watch("two_threads_on_one_cpu", cpu, 1 << 20) else { return };
    let before = clock::monotonic_ns();
    let players = Players::play(cpu, 200);
    let [ping, pong] = players.tids;
    let after = clock::monotonic_ns();
    let seen = watch.drain();
    players.leave();
    let there = between(&seen, ping, pong);
    let back = between(&seen, pong, ping);
    // How often is the scheduler's business: others run on this CPU too.
    assert!(!there.is_empty() && !back.is_empty());
    assert!(seen.switches.windows(2).all(|pair| follows(pair[0], pair[1])), "{seen:?}");
    assert!(there.iter().all(|s| s.cpu == cpu && (before..=after).contains(&s.at_ns)));
    assert_eq!(
        (watch.name_of(ping), watch.name_of(pong)),
        (Some("hocket ping"), Some("hocket pong"))
    );
    assert!(seen.switches.is_sorted_by_key(|s| s.at_ns));
    assert_eq!((watch.lost(), watch.scope()), (0, &Scope::Cpus(vec![cpu])));
    let told_again = watch.drain().switches.into_iter().any(|s| s.at_ns <= after);
    assert!(!told_again, "told once only");
}

#[test]
fn what_does_not_fit_into_the_ring_is_counted() {
    let cpu = own_cpu();
    let Some(mut watch) = watch("what_does_not_fit", cpu, 4096) else { return };
    Players::play(cpu, 2000).leave();
    watch.drain();
    Players::play(cpu, 10).leave();
    let seen = watch.drain();
    assert!(watch.lost() > 1000, "{} lost", watch.lost());
    assert!(seen.gaps.iter().all(|gap| gap.after_ns <= gap.until_ns && gap.cpu == cpu));
}

#[test]
fn an_own_thread_is_seen_to_leave_and_return() {
    let own = pin::current_thread();
    let mut watch = match SwitchWatch::start_threads(&[own], 1 << 16) {
        Ok(watch) => watch,
        Err(why) => return println!("SKIPPED an_own_thread_is_seen: {why}"),
    };
    clock::sleep_until_ns(clock::monotonic_ns() + 2_000_000);
    let seen = watch.drain();
    assert!(seen.switches.iter().any(|s| s.out_tid == Some(own.number()) && s.in_tid.is_none()));
    assert!(seen.switches.iter().any(|s| s.in_tid == Some(own.number()) && s.out_tid.is_none()));
    assert!(watch.limits().iter().any(|limit| limit.contains("not for whom")));
}

#[test]
fn a_cpu_that_does_not_exist_is_named() {
    match SwitchWatch::start(&[1_000_000], 4096) {
        Err(SwitchError::NotAllowed { .. }) => {
            println!("SKIPPED a_cpu_that_does_not_exist: no right")
        }
        other => assert_eq!(other.err(), Some(SwitchError::NoSuchCpu { cpu: 1_000_000 })),
    }
}

/// Rights belong to the process, so a child gives them up.
#[test]
fn without_rights_own_threads_are_watched() {
    let me = std::env::current_exe().expect("a path");
    let mut child = Command::new(me);
    child.args(["--ignored", "--nocapture", "--exact", "without_rights"]).uid(65534).gid(65534);
    let said = match child.output() {
        Ok(output) => String::from_utf8_lossy(&output.stdout).into_owned(),
        Err(why) => return println!("SKIPPED without_rights_own_threads_are_watched: {why}"),
    };
    match said.lines().find(|line| line.contains("SKIPPED")) {
        Some(line) => println!("{line}"),
        None => assert!(said.contains("fell back"), "{said}"),
    }
}

/// Run by [`without_rights_own_threads_are_watched`] only.
#[test]
#[ignore = "a helper process"]
fn without_rights() {
    let refused = match SwitchWatch::start(&[own_cpu()], 4096) {
        Err(refused @ SwitchError::NotAllowed { .. }) => refused,
        other => return println!("SKIPPED without_rights: everybody may watch here: {other:?}"),
    };
    assert!(refused.to_string().contains("perf_event_paranoid"), "{refused}");
    match SwitchWatch::start_best(&[own_cpu()], &[pin::current_thread()], 4096) {
        Ok(watch) => {
            assert!(matches!(watch.scope(), Scope::Threads { why: Some(_), .. }));
            println!("fell back: {:?}", watch.limits());
        }
        Err(error) => println!("SKIPPED without_rights: not even own threads: {error}"),
    }
}

#[test]
fn the_counters_of_another_thread_are_read() {
    let (say, hear) = channel::<()>();
    let (tell, told) = channel();
    let idler = thread::spawn(move || {
        // The stack may be that of a thread that has ended, and known to the kernel already.
        std::hint::black_box(vec![1_u8; 1 << 20]);
        tell.send(pin::current_thread()).expect("open");
        hear.recv()
    });
    let thread = told.recv().expect("a number");
    let before = noise::ThreadSnapshot::of(thread);
    say.send(()).expect("open");
    let counters = before.0.value().cloned().expect("alive while it was read");
    assert!(counters.minor_faults > 0, "new memory is touched: {counters:?}");
    assert!(idler.join().is_ok());
    // Joined is not yet gone: the kernel ends a thread a little later than it says so.
    let gone = std::iter::repeat_with(|| noise::ThreadSnapshot::of(thread).0)
        .inspect(|_| clock::sleep_until_ns(clock::monotonic_ns() + 1_000_000))
        .find_map(|counters| counters.why().map(String::from));
    assert!(gone.is_some_and(|why| why.contains("/task/")));
}

#[test]
fn what_all_cpus_did_has_switches_wake_ups_and_births_in_order() {
    const TEST: &str = "what_all_cpus_did";
    let _alone = alone();
    let mut watch = match SystemWatch::start(true) {
        Ok(watch) => watch,
        Err(why) => return println!("SKIPPED {TEST}: {why}"),
    };
    let cpu = own_cpu();
    let players = Players::play(cpu, 200);
    let [ping, pong] = players.tids;
    let mut events = Vec::new();
    let complete_ns = watch.drain(&mut events);
    assert!(complete_ns < clock::monotonic_ns());
    players.leave();
    assert!(events.is_sorted_by_key(|event| event.at_ns));
    let has = |wanted: &dyn Fn(&SystemEvent) -> bool| events.iter().any(wanted);
    for tid in [ping, pong] {
        assert!(has(&|event| event.cpu == cpu
            && matches!(event.what, Happened::Switch { in_tid, .. } if in_tid == Some(tid))));
        let own = std::process::id() as i32;
        assert!(has(&|event| matches!(event.what, Happened::Born { tid: born, process, .. }
            if born == tid && process == own)));
    }
    assert_eq!(watch.name_of(ping), Some("hocket ping"));
    let woke = |by: i32, woken: i32| {
        has(&|event| event.what == Happened::Woken { tid: woken, by: Some(by) })
    };
    match watch.limits().iter().find(|limit| limit.starts_with("wake-ups and moves")) {
        Some(limit) => println!("SKIPPED {TEST}: {limit}"),
        None => assert!(woke(ping, pong) && woke(pong, ping), "they wake each other"),
    }
}

#[test]
fn a_thread_is_watched_alone_and_one_that_has_ended_is_named() {
    let own = pin::current_thread().number();
    let mut watch = match SystemWatch::of_threads(&[own]) {
        Ok(watch) => watch,
        Err(why) => return println!("SKIPPED a_thread_is_watched_alone: {why}"),
    };
    watch.add_thread(own).expect("it is watched already");
    clock::sleep_until_ns(clock::monotonic_ns() + 2_000_000);
    let mut events = Vec::new();
    watch.drain(&mut events);
    let comes = |event: &SystemEvent| matches!(event.what, Happened::Switch { in_tid, out_tid: None, .. } if in_tid == Some(own));
    assert!(events.iter().any(comes) && watch.cpus().is_empty());
    let ended = thread::spawn(|| pin::current_thread().number()).join().expect("a number");
    let gone = SystemWatch::of_threads(&[ended]).err();
    assert!(
        matches!(gone, Some(SwitchError::NoSuchThread { tid }) if tid == ended),
        "the number is not given again so soon"
    );
    assert_eq!(SystemWatch::of_threads(&[]).err(), Some(SwitchError::Nobody));
}

/// Runs one of the ignored tests below with such limits. Passes over where it says so; otherwise it must say `watched`.
fn with_limits(limits: &str, helper: &str) {
    let me = std::env::current_exe().expect("a path");
    let script = format!("{limits} && exec \"$0\" --ignored --nocapture --exact {helper}");
    let ran = Command::new("bash").args(["-c", &script]).arg(me).output().expect("a shell");
    let said = String::from_utf8_lossy(&ran.stdout).into_owned();
    match said.lines().find(|line| line.contains("SKIPPED")) {
        Some(line) => println!("{line}"),
        None => assert!(said.contains("watched"), "{said}{}", String::from_utf8_lossy(&ran.stderr)),
    }
}

/// Files of this process that are performance events.
fn open_events() -> usize {
    let files = std::fs::read_dir("/proc/self/fd").expect("this process");
    let links = files.filter_map(|file| std::fs::read_link(file.ok()?.path()).ok());
    links.filter(|link| link.to_string_lossy().contains("perf_event")).count()
}

/// Threads that rest until they are let go.
struct Sleepers {
    tids: Vec<i32>,
    threads: Vec<JoinHandle<()>>,
    end: Arc<Barrier>,
}

impl Sleepers {
    fn start(count: usize) -> Sleepers {
        let end = Arc::new(Barrier::new(count + 1));
        let (tell, told) = channel();
        let sleep = |_| {
            let (end, tell) = (end.clone(), tell.clone());
            thread::spawn(move || {
                tell.send(pin::current_thread().number()).expect("open");
                end.wait();
            })
        };
        let threads: Vec<_> = (0..count).map(sleep).collect();
        Sleepers { tids: told.iter().take(count).collect(), threads, end }
    }

    fn leave(self) {
        self.end.wait();
        self.threads.into_iter().for_each(|thread| thread.join().expect("no panic"));
    }
}

#[test]
fn threads_beyond_the_limit_of_open_files_are_a_limit_of_the_watch() {
    with_limits("ulimit -n 100", "few_files");
}

/// Run by the test above only.
#[test]
#[ignore = "a helper process"]
fn few_files() {
    let sleepers = Sleepers::start(100);
    let mut watch = match SystemWatch::of_threads(&sleepers.tids) {
        Ok(watch) => watch,
        Err(why) => return println!("SKIPPED few_files: {why}"),
    };
    let [limit] = watch.limits() else { panic!("{:?}", watch.limits()) };
    assert!(limit.starts_with("not all threads") && limit.contains("ulimit -n"), "{limit}");
    let watched = open_events();
    assert!((1..100).contains(&watched), "{watched}");
    watch.add_thread(sleepers.tids[0]).expect("it is watched already");
    watch.add_thread(sleepers.tids[99]).expect_err("there is no room");
    assert_eq!((open_events(), watch.limits().len()), (watched, 1), "a refused one leaves nothing");
    // What was seen can still be written.
    let files: Vec<_> = (0..20).map(|_| File::open("/proc/self/stat").expect("room")).collect();
    drop(files);
    sleepers.leave();
    println!("watched");
}

#[test]
fn the_limit_of_open_files_is_raised_for_a_watch() {
    with_limits("ulimit -Sn 60", "many_files");
}

/// Run by the test above only.
#[test]
#[ignore = "a helper process"]
fn many_files() {
    let sleepers = Sleepers::start(100);
    match SystemWatch::of_threads(&sleepers.tids) {
        // Memory may be short, files may not.
        Ok(watch) => {
            assert!(!watch.limits().iter().any(|it| it.contains("ulimit")), "{:?}", watch.limits());
        }
        Err(why) => println!("SKIPPED many_files: {why}"),
    }
    sleepers.leave();
    println!("watched");
}

#[test]
fn a_thread_that_has_ended_is_no_longer_watched() {
    with_limits("true", "threads_that_end");
}

/// Run by the test above only.
#[test]
#[ignore = "a helper process"]
fn threads_that_end() {
    let own = pin::current_thread().number();
    let mut watch = match SystemWatch::of_threads(&[own]) {
        Ok(watch) => watch,
        Err(why) => return println!("SKIPPED threads_that_end: {why}"),
    };
    let mut events = Vec::new();
    for _ in 0..3 {
        let sleepers = Sleepers::start(10);
        sleepers.tids.iter().for_each(|tid| watch.add_thread(*tid).expect("it lives"));
        watch.drain(&mut events);
        assert_eq!(open_events(), 11, "those that live stay watched");
        sleepers.leave();
        // Joined is not yet gone: the kernel ends a thread a little later than it says so.
        let is_one = std::iter::repeat_with(|| {
            clock::sleep_until_ns(clock::monotonic_ns() + 1_000_000);
            watch.drain(&mut events);
            open_events() == 1
        });
        assert!(is_one.take(60_000).any(|is_one| is_one), "{} are open", open_events());
    }
    assert_eq!(watch.limits(), [""; 0]);
    println!("watched");
}

#[test]
fn tracepoints_that_are_too_many_are_closed_again() {
    let _alone = alone();
    let cpus = match SystemWatch::start(false) {
        Ok(watch) => watch.cpus().len(),
        Err(why) => return println!("SKIPPED tracepoints_that_are_too_many: {why}"),
    };
    // The rings fit, and so do some of the tracepoints.
    with_limits(&format!("ulimit -n {}", 40 + cpus), "few_files_for_tracepoints");
}

/// Run by the test above only.
#[test]
#[ignore = "a helper process"]
fn few_files_for_tracepoints() {
    let watch = match SystemWatch::start(false) {
        Ok(watch) => watch,
        Err(why) => return println!("SKIPPED few_files_for_tracepoints: {why}"),
    };
    let missing = watch.limits().iter().find(|limit| limit.starts_with("wake-ups and moves"));
    match missing {
        Some(limit) if limit.contains("ulimit -n") => {
            assert_eq!(open_events(), watch.cpus().len());
            println!("watched");
        }
        Some(limit) => println!("SKIPPED few_files_for_tracepoints: {limit}"),
        None if watch.cpus().len() == 1 => println!("SKIPPED few_files_for_tracepoints: one CPU"),
        None => panic!("{} tracepoints are open", open_events()),
    }
}
