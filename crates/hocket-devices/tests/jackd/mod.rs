//! A JACK server of a test's own, with the dummy driver: a clock, and no sound card.

pub mod sentry;

use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::{Duration, Instant};

use sentry::{Library, OtherClient};

/// Only to end a hang.
pub const HANGS: Duration = Duration::from_secs(600);

/// How long a server may take to end.
const PATIENCE: Duration = Duration::from_secs(20);

/// How a server runs its clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// A cycle lasts until every client has ended, however long that takes: nothing is lost on a busy machine.
    WaitsForClients,
    /// As on a stage: a client that is late is left out.
    Usual,
    /// [`Mode::WaitsForClients`], and the threads of server and clients are real-time threads. See [`may_be_real_time`].
    RealTime,
}

/// The priority of a [`Mode::RealTime`] server; its clients are five below.
pub const REAL_TIME: u8 = 70;

/// Whether the system grants threads such a priority.
pub fn may_be_real_time() -> bool {
    let granted = Command::new("chrt").args(["-f", &REAL_TIME.to_string(), "true"]).output();
    granted.is_ok_and(|granted| granted.status.success())
}

/// The server. It ends when this is dropped.
pub struct Server {
    process: Child,
    /// What `JACK_DEFAULT_SERVER` has to be.
    pub name: String,
    is_killed: bool,
}

impl Server {
    /// Starts a server and waits until it answers. `None`, and a line that says why: there is no JACK here.
    pub fn start(test: &str, rate_hz: u32, frames: u32, mode: Mode) -> Option<Server> {
        let (rate, period) = (rate_hz.to_string(), frames.to_string());
        Server::start_in(test, &[], mode, &["dummy", "--rate", &rate, "--period", &period])
    }

    /// The same with a driver and its options. `before`: a program that runs jackd in its own place, such as in another
    /// network.
    pub fn start_in(test: &str, before: &[&str], mode: Mode, driver: &[&str]) -> Option<Server> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let library = match Library::load() {
            Ok(library) => library,
            Err(why) => return skipped(test, &format!("no JACK library: {why}")),
        };
        let name = format!("hkt{}-{}", std::process::id(), NUMBER.fetch_add(1, Relaxed));
        let process = match command(&name, before, mode, driver).spawn() {
            Ok(process) => process,
            Err(why) => return skipped(test, &format!("no jackd: {why}")),
        };
        let mut server = Server { process, name, is_killed: false };
        server.await_answer(&library);
        Some(server)
    }

    /// Starts anew under the same name, after an end. It takes over the place that a killed server has kept.
    pub fn start_again(&mut self, rate_hz: u32, frames: u32, mode: Mode) {
        let (rate, period) = (rate_hz.to_string(), frames.to_string());
        let driver = ["dummy", "--rate", &rate, "--period", &period];
        self.process = command(&self.name, &[], mode, &driver).spawn().unwrap();
        self.is_killed = false;
        self.await_answer(&Library::load().unwrap());
    }

    fn await_answer(&mut self, library: &Arc<Library>) {
        wait_until("jackd", || {
            assert_eq!(
                self.process.try_wait().unwrap(),
                None,
                "jackd has ended; were eight servers killed here? /dev/shm/jack-shm-registry remembers them"
            );
            OtherClient::open(library, &self.name, "probe", (0, 0), 0).is_ok()
        });
    }

    /// Another client of this server.
    pub fn client(&self, name: &str, ports: (usize, usize), room: usize) -> OtherClient {
        let library = Library::load().unwrap();
        OtherClient::open(&library, &self.name, name, ports, room).unwrap()
    }

    /// Sends a signal and waits for the end. A server that has its network manager may never end by itself; it is killed.
    pub fn end(&mut self, signal: &str) {
        send(self.process.id(), signal);
        let until = Instant::now() + PATIENCE;
        while self.process.try_wait().unwrap().is_none() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(10));
        }
        self.is_killed = signal == "-KILL";
        if self.process.try_wait().unwrap().is_none() {
            send(self.process.id(), "-KILL");
            self.is_killed = true;
        }
        self.process.wait().unwrap();
    }

    /// Stops all its threads for that long.
    pub fn pause(&self, time: Duration) {
        self.while_it_stands(|| std::thread::sleep(time));
    }

    /// Stops all its threads meanwhile.
    pub fn while_it_stands<T>(&self, work: impl FnOnce() -> T) -> T {
        send(self.process.id(), "-STOP");
        let done = work();
        send(self.process.id(), "-CONT");
        done
    }

    /// A machine has places for eight servers, and a killed one keeps its place until a server of the same name takes
    /// it over and ends properly.
    fn give_back_place(&self) {
        let mut command = Command::new("jackd");
        command.args(["--name", &self.name, "--no-realtime", "-d", "dummy"]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut heir = command.spawn().unwrap();
        let library = Library::load().unwrap();
        wait_until("the next jackd of this name", || {
            heir.try_wait().unwrap().is_some()
                || OtherClient::open(&library, &self.name, "probe", (0, 0), 0).is_ok()
        });
        if let Ok(None) = heir.try_wait() {
            send(heir.id(), "-TERM");
            heir.wait().unwrap();
        }
    }

    /// Runs one of JACK's own tools on this server. `None`: it is not installed.
    pub fn tool(&self, name: &str, args: &[&str]) -> Option<bool> {
        let mut command = Command::new(name);
        command.args(args).env("JACK_DEFAULT_SERVER", &self.name);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.status().ok().map(|status| status.success())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // In its own way: a killed server leaves its shared memory behind.
        if let Ok(None) = self.process.try_wait() {
            self.end("-TERM");
        }
        if self.is_killed {
            self.give_back_place();
        }
        // What a killed server and its clients leave.
        for left in std::fs::read_dir("/dev/shm").into_iter().flatten().flatten() {
            if left.file_name().to_string_lossy().contains(&self.name) {
                let _ = std::fs::remove_file(left.path());
            }
        }
    }
}

/// jackd in a place of its own, with a driver and its options.
fn command(name: &str, before: &[&str], mode: Mode, driver: &[&str]) -> Command {
    let program = [before, &["jackd"]].concat();
    let mut command = Command::new(program[0]);
    command.args(&program[1..]).args(["--name", name]);
    match mode {
        Mode::RealTime => {
            command.args(["--realtime", "--realtime-priority", &REAL_TIME.to_string()])
        }
        _ => command.arg("--no-realtime"),
    };
    if mode != Mode::Usual {
        command.args(["--sync", "--timeout", "60000"]);
    }
    command.arg("-d").args(driver);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

fn skipped<T>(test: &str, why: &str) -> Option<T> {
    println!("SKIPPED {test}: {why}");
    None
}

/// Sends a signal to a child.
pub fn send(process: u32, signal: &str) {
    let sent = Command::new("kill").args([signal, &process.to_string()]).status().unwrap();
    assert!(sent.success(), "kill {signal} {process}");
}

/// Waits until it is so.
#[track_caller]
pub fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < HANGS, "{what}: nothing happens");
        std::thread::sleep(Duration::from_millis(10));
    }
}
