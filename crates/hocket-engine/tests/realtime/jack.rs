//! The leader in the real-time thread of a real sound server: jackd with its dummy driver.

use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use hocket_engine::{Engine, FollowReport, Seating, Settings, Steer};
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
/// A server that needs longer than this hangs.
const HANGS: Duration = Duration::from_secs(60);

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
        let played = Vec::with_capacity(2 * FRAMES * CYCLES);
        Host { engine, played, cycles: 0, own: Vec::new(), first_calls: Vec::new() }
    }

    /// One cycle. What the test itself notes is outside of the watch.
    fn cycle(&mut self, frames: usize) {
        if self.cycles == 0 {
            self.own.push(Own::now());
        }
        {
            let _watch = Watch::begin();
            self.engine.process_planned(frames, clock::monotonic_ns());
        }
        let rows = self.engine.output(frames);
        self.played.extend(rows.left.iter().chain(rows.right).map(|sample| sample.to_bits()));
        if self.cycles == 0 {
            self.first_calls = watching::take_calls();
        }
        self.cycles += 1;
        if self.cycles == CYCLES {
            self.own.push(Own::now());
        }
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
fn reference() -> Vec<u32> {
    let policy = stage::policy(ScheduleKind::Serial, SiblingPolicy::All, Strategy::Hybrid);
    let settings = Settings { frames: FRAMES as u32, ..stage::ordinary(policy) };
    let seating = Seating::described(&stage::paired_cores(1), policy.sibling, Some(1)).unwrap();
    let mut engine = Engine::start(stage::session_of_everything(), settings, seating).unwrap();
    let mut rendered = Vec::new();
    for _ in 0..CYCLES {
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

#[test]
fn an_engine_plays_in_the_thread_of_a_sound_server_and_leaves_it_as_it_is() {
    const NAME: &str = "an_engine_plays_in_the_thread_of_a_sound_server";
    let _alone = stage::alone();
    let topology = match Topology::discover() {
        Ok(topology) => topology,
        Err(error) => return println!("SKIPPED {NAME}: {error}"),
    };
    let jack = match Jack::load() {
        Ok(jack) => jack,
        Err(why) => return println!("SKIPPED {NAME}: no JACK library: {why}"),
    };
    if let Err(why) = Command::new("jackd").arg("--version").output() {
        return println!("SKIPPED {NAME}: no jackd: {why}");
    }
    watching::announce(NAME);
    for mode in [Mode::RealTime, Mode::Ordinary] {
        if mode == Mode::RealTime && !fifo_is_granted() {
            println!("SKIPPED {NAME}, {mode:?}: SCHED_FIFO {DRIVER_PRIORITY} is not granted");
            continue;
        }
        play_in_server(&jack, &topology, mode);
    }
}

fn play_in_server(jack: &Jack, topology: &Topology, mode: Mode) {
    let mut server = Server::start(mode).unwrap();
    let engine = engine(topology).unwrap();
    let following = engine.follow_leader().unwrap();
    let host = Arc::new(Mutex::new(Host::new(engine)));
    let left = Arc::new(AtomicBool::new(false));

    let mut client = None;
    wait_until("jackd", || {
        let (host, left) = (Arc::clone(&host), Arc::clone(&left));
        let process = move |frames| {
            if left.load(SeqCst) {
                return;
            }
            let mut host = host.lock().unwrap();
            host.cycle(frames);
            // From now on the callback does not touch the engine, so the server may cancel its thread.
            left.store(host.cycles == CYCLES, SeqCst);
        };
        assert_eq!(server.process.try_wait().unwrap(), None, "{mode:?}: jackd has ended");
        client = jack.open(&server.name, process).ok();
        client.is_some()
    });
    let client = client.unwrap();
    watching::forget();
    client.activate().unwrap();
    wait_until("the process callback", || left.load(SeqCst));
    let report = following.look();
    watching::check_clean(&format!("{mode:?}"));
    client.deactivate().unwrap();
    drop(client);

    let host = host.lock().unwrap();
    check_host(&host, mode);
    check_workers(&report, &host.own[0], mode);
    assert!(host.played == reference(), "{mode:?}: the output differs from the offline render");
}

/// The thread is as the server made it.
fn check_host(host: &Host, mode: Mode) {
    let [first, last] = &host.own[..] else { panic!("{mode:?}: {:?}", host.own) };
    assert_eq!(first, last, "{mode:?}");
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
