//! The leader in the real-time thread of a real sound server: jackd with its dummy driver.

use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use hocket_engine::{Engine, FollowReport, Following, Seating, Settings, Steer};
use hocket_machine::class::{self, Class};
use hocket_machine::pin::{self, CpuSet, ThreadId};
use hocket_machine::{Topology, clock};
use hocket_plan::{ScheduleKind, SiblingPolicy};
use hocket_rt::Strategy;

use crate::sentry::libjack::{Jack, terminate};
use crate::stage;
use crate::watching::{self, Watch};

const FRAMES: usize = 256;
const CYCLES: usize = 400;
/// Cycles within which a thread that moves is followed: a minute.
const MOST_CYCLES: usize = 12_000;
/// A server that needs longer than this hangs.
const HANGS: Duration = Duration::from_secs(600);

/// How jackd schedules its threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    RealTime,
    Ordinary,
}

/// The driver's priority. jackd gives clients five less.
const DRIVER_PRIORITY: u8 = 70;

/// A server of this test's own.
struct Server {
    process: Child,
    name: String,
}

impl Server {
    fn start(mode: Mode) -> Result<Server, String> {
        let name = format!("hocket-test-{}-{mode:?}", std::process::id());
        let priority = DRIVER_PRIORITY.to_string();
        let class = match mode {
            Mode::RealTime => vec!["--realtime", "--realtime-priority", &priority],
            Mode::Ordinary => vec!["--no-realtime"],
        };
        let process = Command::new("jackd")
            .args(["--name", &name])
            .args(class)
            .args(["-d", "dummy", "--rate", "48000", "--period", &FRAMES.to_string()])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let process = process.map_err(|error| format!("jackd cannot be started: {error}"))?;
        Ok(Server { process, name })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        terminate(self.process.id());
        let _ = self.process.wait();
    }
}

/// What the system reports for the calling thread.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Own {
    thread: ThreadId,
    cpus: CpuSet,
    class: String,
}

impl Own {
    fn now() -> Own {
        let cpus = pin::current_affinity().unwrap();
        Own { thread: pin::current_thread(), cpus, class: class::now().to_string() }
    }
}

/// What the process callback works on.
struct Host {
    engine: Engine,
    /// Room for all samples, so that keeping them allocates nothing.
    played: Vec<u32>,
    cycles: usize,
    own: Vec<Own>,
    /// System calls of the first cycle, which are no edges.
    first_calls: Vec<&'static str>,
}

impl Host {
    fn new(engine: Engine) -> Host {
        let played = Vec::with_capacity(2 * FRAMES * MOST_CYCLES);
        Host { engine, played, cycles: 0, own: Vec::new(), first_calls: Vec::new() }
    }

    /// One cycle. What the test itself notes is outside of the watch. Returns whether it was cycle number `last` or a later
    /// one.
    fn cycle(&mut self, frames: usize, last: usize) -> bool {
        if self.cycles == 0 {
            self.own.push(Own::now());
        }
        {
            // The leader is followed, so it asks for its thread's number.
            let _watch = match self.cycles {
                0 => Watch::begin_with_a_call(),
                _ => Some(Watch::begin()),
            };
            self.engine.process_planned(frames, clock::monotonic_ns());
        }
        let rows = self.engine.output(frames);
        self.played.extend(rows.left.iter().chain(rows.right).map(|sample| sample.to_bits()));
        if self.cycles == 0 {
            self.first_calls = watching::take_calls();
        }
        self.cycles += 1;
        let is_last = self.cycles >= last;
        if is_last {
            self.own.push(Own::now());
        }
        is_last
    }
}

/// As many pinned workers as there are seats, at most four.
fn engine(topology: &Topology) -> Result<Engine, String> {
    let sibling = SiblingPolicy::All;
    let seats = |workers| Seating::here(topology, sibling, workers).map_err(|e| e.to_string());
    let workers = seats(None)?.placement().workers.len().min(4);
    let policy = stage::policy(ScheduleKind::Dataflow, sibling, Strategy::Hybrid);
    let settings = Settings::new(FRAMES as u32, stage::RATE_HZ, policy);
    let settings = Settings { steer: Steer::Fixed, ..settings };
    let prepared = stage::session_of_everything();
    Engine::start(prepared, settings, seats(Some(workers))?).map_err(|error| error.to_string())
}

/// The same session, rendered offline on one thread.
fn reference(cycles: usize) -> Vec<u32> {
    let policy = stage::policy(ScheduleKind::Serial, SiblingPolicy::All, Strategy::Hybrid);
    let settings = Settings { frames: FRAMES as u32, ..stage::ordinary(policy) };
    let seating = Seating::described(&stage::paired_cores(1), policy.sibling, Some(1)).unwrap();
    let mut engine = Engine::start(stage::session_of_everything(), settings, seating).unwrap();
    let mut rendered = Vec::new();
    for _ in 0..cycles {
        engine.process(FRAMES);
        let rows = engine.output(FRAMES);
        rendered.extend(rows.left.iter().chain(rows.right).map(|sample| sample.to_bits()));
    }
    rendered
}

fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < HANGS, "{what}: nothing happens");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn fifo_is_granted() -> bool {
    let ask = || class::request(Class::Fifo { priority: DRIVER_PRIORITY }).granted;
    std::thread::spawn(ask).join().unwrap()
}

/// What the tests of this file need, or why one is skipped.
fn jack_and_topology() -> Result<(Jack, Topology), String> {
    let topology = Topology::discover().map_err(|error| error.to_string())?;
    let jack = Jack::load().map_err(|why| format!("no JACK library: {why}"))?;
    let version = Command::new("jackd").arg("--version").output();
    version.map_err(|why| format!("no jackd: {why}"))?;
    Ok((jack, topology))
}

/// How a test plays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Run {
    /// So many cycles, in a thread that nobody touches.
    Cycles,
    /// While the server's thread is moved.
    Moved,
}

fn play_in_every_mode(name: &str, run: Run) {
    let _alone = stage::alone();
    let (jack, topology) = match jack_and_topology() {
        Ok(both) => both,
        Err(why) => return println!("SKIPPED {name}: {why}"),
    };
    watching::announce(name);
    for mode in [Mode::RealTime, Mode::Ordinary] {
        if mode == Mode::RealTime && !fifo_is_granted() {
            println!("SKIPPED {name}, {mode:?}: SCHED_FIFO {DRIVER_PRIORITY} is not granted");
            continue;
        }
        if let Err(why) = play_in_server(&jack, &topology, mode, run) {
            println!("SKIPPED {name}, {mode:?}: {why}");
        }
    }
}

#[test]
fn an_engine_plays_in_the_thread_of_a_sound_server_and_leaves_it_as_it_is() {
    play_in_every_mode("an_engine_plays_in_the_thread_of_a_sound_server", Run::Cycles);
}

#[test]
fn workers_follow_the_thread_of_a_sound_server_that_moves_in_mid_run() {
    play_in_every_mode("workers_follow_the_thread_of_a_sound_server", Run::Moved);
}

/// Errors: why this is not possible here.
fn play_in_server(jack: &Jack, topology: &Topology, mode: Mode, run: Run) -> Result<(), String> {
    let engine = engine(topology).unwrap();
    if run == Run::Moved && engine.reports().is_empty() {
        return Err("no worker has a seat beside the leader's".into());
    }
    let mut server = Server::start(mode).unwrap();
    let following = engine.follow_leader().unwrap();
    let host = Arc::new(Mutex::new(Host::new(engine)));
    let left = Arc::new(AtomicBool::new(false));
    let cycles = if run == Run::Cycles { CYCLES } else { MOST_CYCLES };
    let last = Arc::new(AtomicUsize::new(cycles));

    let mut client = None;
    wait_until("jackd", || {
        let (host, left, last) = (Arc::clone(&host), Arc::clone(&left), Arc::clone(&last));
        let process = move |frames| {
            if left.load(SeqCst) {
                return;
            }
            let is_last = host.lock().unwrap().cycle(frames, last.load(SeqCst));
            // From now on the callback does not touch the engine, so the server may cancel its thread.
            left.store(is_last, SeqCst);
        };
        assert_eq!(server.process.try_wait().unwrap(), None, "{mode:?}: jackd has ended");
        client = jack.open(&server.name, process).ok();
        client.is_some()
    });
    let client = client.unwrap();
    watching::forget();
    client.activate().unwrap();
    let moved = (run == Run::Moved).then(|| move_the_leader(&following, &left, mode));
    // The next cycle is the last one.
    moved.iter().for_each(|_| last.store(0, SeqCst));
    wait_until("the process callback", || left.load(SeqCst));
    let report = following.look();
    watching::check_clean(&format!("{mode:?}, {run:?}"));
    client.deactivate().unwrap();
    drop(client);

    let host = host.lock().unwrap();
    check_host(&host, mode, moved);
    check_workers(&report, host.own.last().unwrap(), mode);
    let bits = host.played == reference(host.cycles);
    assert!(bits, "{mode:?}, {run:?}: the output differs from the offline render");
    Ok(())
}

/// Moves the server's thread to the CPU of a worker, away and back again, and sees each time that the workers give way. Returns
/// where it stays.
fn move_the_leader(following: &Following, left: &AtomicBool, mode: Mode) -> CpuSet {
    wait_until("the first cycle", || following.look().leader.is_some());
    let first = following.look();
    let leader = first.leader.unwrap().tid;
    let (of_worker, home) = (first.threads[0].cpu_asked.unwrap(), first.kept_free.unwrap());
    assert_ne!(of_worker, home, "{mode:?}: a worker sits beside the leader");
    for cpu in [of_worker, home, of_worker] {
        let before = following.look();
        let there = pin::pin_thread(leader, &CpuSet::single(cpu)).unwrap();
        assert_eq!(there, CpuSet::single(cpu));
        let mut report = before.clone();
        wait_until("the thread on its new CPU", || {
            report = following.look();
            assert!(
                !left.load(SeqCst),
                "{mode:?}: {MOST_CYCLES} cycles, and no move is seen: {report:?}"
            );
            let seen = report.leader.as_ref().map(|leader| leader.cpu);
            (seen, report.kept_free) == (Some(cpu), Some(cpu))
        });
        let seen = report.leader.unwrap();
        assert_eq!((seen.tid, seen.cpus), (leader, cpu.to_string()), "{mode:?}");
        assert!(report.reseated > before.reseated, "{mode:?}: CPU {cpu}, {}", report.reseated);
        for worker in &report.threads {
            assert_ne!(worker.cpu_asked, Some(cpu), "{mode:?}: {worker:?}");
            assert_eq!(pin::affinity_of_thread(worker.tid).unwrap().to_string(), worker.cpus_got);
            assert_ne!(worker.cpus_got, cpu.to_string(), "{mode:?}: {worker:?}");
        }
    }
    CpuSet::single(of_worker)
}

/// The thread is as the server made it, but for the CPU to which the test has moved it.
fn check_host(host: &Host, mode: Mode, moved: Option<CpuSet>) {
    let [first, last] = &host.own[..] else { panic!("{mode:?}: {:?}", host.own) };
    let cpus = moved.unwrap_or_else(|| first.cpus.clone());
    assert_eq!(*last, Own { cpus, ..first.clone() }, "{mode:?}");
    match mode {
        Mode::RealTime => assert!(first.class.starts_with("SCHED_FIFO"), "{}", first.class),
        Mode::Ordinary => assert!(first.class.starts_with("SCHED_OTHER"), "{}", first.class),
    }
    watching::check_first_calls(&host.first_calls);
}

/// Every worker sits elsewhere, and below the leader.
fn check_workers(report: &FollowReport, own: &Own, mode: Mode) {
    let leader = report.leader.as_ref().unwrap();
    assert_eq!((leader.tid, &leader.class), (own.thread, &own.class));
    let below = match mode {
        Mode::RealTime => format!("SCHED_FIFO {}", DRIVER_PRIORITY - 6),
        Mode::Ordinary => "SCHED_OTHER".into(),
    };
    let free = report.kept_free.unwrap();
    for worker in &report.threads {
        assert_eq!((&worker.class_asked, &worker.why), (&below, &None), "{worker:?}");
        assert!(worker.class_got.starts_with(&below), "{worker:?}");
        assert_ne!(worker.cpus_got, free.to_string(), "{worker:?}");
        assert_eq!(worker.cpu_asked.map(|cpu| cpu.to_string()), Some(worker.cpus_got.clone()));
    }
    assert!(report.reseated > 0);
}
