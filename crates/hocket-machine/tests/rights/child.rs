//! A case in a process of its own: without rights where the test has them to give away, and without any bus but the
//! one that the case names.

use std::fmt::Write;
use std::os::unix::process::CommandExt;
use std::process::Command;

use hocket_machine::Fact;
use hocket_machine::class::{self, ClassNow};
use hocket_machine::pin::{ThreadId, current_thread};
use hocket_machine::rights::{self, Obtained, RightsGuard, Way};

const ASKED: &str = "HOCKET_TEST_RIGHTS";
const NOBODY: u32 = 65_534;

/// What the child reports of itself.
#[derive(Debug, Default)]
pub struct Said {
    pub threads: Vec<SaidOfThread>,
    pub all_ordinary_afterwards: bool,
    pub probe: String,
    pub threads_left: usize,
    pub sockets_left: usize,
}

/// What it reports of one of its threads.
#[derive(Debug, Default)]
pub struct SaidOfThread {
    pub way: String,
    pub policy: String,
    pub priority: u64,
    pub reset_on_fork: bool,
    pub rttime_us: Option<u64>,
    pub outcomes: Vec<String>,
}

/// A case to run.
pub struct Case {
    ways: &'static str,
    session: String,
    system: String,
}

impl Case {
    /// With the ways `default` (all of them) or `services` (no SCHED_FIFO, for users who may have it).
    pub fn new(ways: &'static str) -> Self {
        let none = || "unix:path=/nowhere/bus".to_string();
        Self { ways, session: none(), system: none() }
    }

    pub fn session_bus(mut self, address: &str) -> Self {
        self.session = address.into();
        self
    }

    pub fn system_bus(mut self, address: &str) -> Self {
        self.system = address.into();
        self
    }

    /// Runs it and returns what it says.
    pub fn run(self) -> Said {
        // A copy: another user may not be able to reach the folder that this program was built in.
        let folder = super::bus::open_folder();
        let program = folder.path().join("rights");
        let here = std::env::current_exe().expect("Linux knows");
        std::fs::copy(here, &program).expect("room for a copy");
        let mut child = Command::new(program);
        child.args(["--exact", "child", "--nocapture", "--test-threads=1"]).current_dir("/");
        child.env(ASKED, self.ways).env("DBUS_SESSION_BUS_ADDRESS", self.session);
        child.env("DBUS_SYSTEM_BUS_ADDRESS", self.system);
        if is_root() {
            child.uid(NOBODY).gid(NOBODY);
        }
        let output = start(&mut child);
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{text}\n{}", String::from_utf8_lossy(&output.stderr));
        Said::read(&text)
    }
}

/// Runs it to its end. A child that another test has just forked may still hold the copy open for
/// writing until it becomes another program; then the copy cannot be started yet (ETXTBSY).
fn start(child: &mut Command) -> std::process::Output {
    // A minute is only there to end a hang.
    for _ in 0..6_000 {
        match child.output() {
            Err(busy) if busy.kind() == std::io::ErrorKind::ExecutableFileBusy => {
                std::thread::sleep(std::time::Duration::from_millis(10));
            }
            ended => return ended.expect("it starts"),
        }
    }
    panic!("the copy stays busy")
}

/// Whether this process is root's.
pub fn is_root() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux has it");
    status.lines().any(|line| line.starts_with("Uid:\t0\t0\t"))
}

/// Runs the case that the environment names, if it names one.
pub fn run_if_asked() {
    if let Ok(ways) = std::env::var(ASKED) {
        let before = entries("task", "");
        let (stop, stopped) = std::sync::mpsc::channel::<()>();
        let (tell, told) = std::sync::mpsc::channel();
        let waits = move || (tell.send(current_thread()), stopped.recv());
        let other = std::thread::spawn(waits);
        let threads = [current_thread(), told.recv().expect("it tells")];
        let mut text = ask(&ways, &threads);
        drop(stop);
        let _ = other.join();
        let _ = writeln!(text, "probe {}", probe());
        let threads_left = threads_left(before);
        let _ = writeln!(text, "left {threads_left} {}", entries("fd", "socket:"));
        println!("\n{text}");
    }
}

/// Threads more than before. One that was joined may stand in /proc for a moment longer.
fn threads_left(before: usize) -> usize {
    for _ in 0..6_000 {
        if entries("task", "") <= before {
            return 0;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    entries("task", "") - before
}

fn ask(ways: &str, threads: &[ThreadId]) -> String {
    let guard = RightsGuard::remember(threads);
    let got = match ways {
        "services" => rights::obtain_by(&[Way::Portal, Way::Rtkit, Way::Slice], threads, 70),
        _ => rights::obtain_for(threads, 70),
    };
    drop(guard);
    let mut text: String = got.iter().map(said_of).collect();
    let is_ordinary = |&thread: &ThreadId| {
        class::now_of(thread).value().is_some_and(|now: &ClassNow| !now.is_real_time())
    };
    let _ = writeln!(text, "afterwards {}", threads.iter().all(is_ordinary));
    text
}

fn said_of(got: &Obtained) -> String {
    format!("thread {}\n", serde_json::to_string(got).expect("plain data"))
}

fn probe() -> String {
    match rights::probe(Way::Rtkit) {
        Fact::Value(offer) => format!("{} of {}", offer.got, offer.max_priority),
        Fact::Unknown(why) => why,
    }
}

/// How many entries of a folder of this process are links to something that begins with `prefix`.
fn entries(folder: &str, prefix: &str) -> usize {
    let all = std::fs::read_dir(format!("/proc/self/{folder}")).expect("Linux has it").flatten();
    let is = |path: std::path::PathBuf| {
        prefix.is_empty()
            || std::fs::read_link(path).is_ok_and(|to| to.to_string_lossy().starts_with(prefix))
    };
    all.filter(|entry| is(entry.path())).count()
}

impl Said {
    fn read(text: &str) -> Self {
        let mut said = Self::default();
        for line in text.lines() {
            match line.split_once(' ') {
                Some(("thread", json)) => said.threads.push(SaidOfThread::read(json)),
                Some(("afterwards", yes)) => said.all_ordinary_afterwards = yes == "true",
                Some(("probe", words)) => said.probe = words.into(),
                Some(("left", counts)) => {
                    let mut counts = counts.split(' ').map(|n| n.parse().expect("a number"));
                    said.threads_left = counts.next().expect("two numbers");
                    said.sockets_left = counts.next().expect("two numbers");
                }
                _ => {}
            }
        }
        assert!(!said.threads.is_empty(), "the child said nothing:\n{text}");
        said
    }
}

impl SaidOfThread {
    fn read(json: &str) -> Self {
        let got: serde_json::Value = serde_json::from_str(json).expect("what we wrote");
        let class = &got["class"]["value"];
        let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_string();
        let tried = got["tried"].as_array().cloned().unwrap_or_default();
        Self {
            way: text(&got["way"]),
            policy: text(&class["policy"]),
            priority: class["priority"].as_u64().unwrap_or_default(),
            reset_on_fork: class["reset_on_fork"] == true,
            rttime_us: got["rttime_us"].as_u64(),
            outcomes: tried.iter().map(|t| text(&t["outcome"])).collect(),
        }
    }
}
