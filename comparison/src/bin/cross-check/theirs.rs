//! The other tools, each a process a figure, on the CPUs of the lab's variant.

use std::fmt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use hocket_files::ScratchFolder;
use hocket_lab::stats::median;
use serde_json::Value;

use crate::checks::Take;

/// How the folders begin in which criterion keeps its figures, among the temporary files.
pub const PREFIX: &str = "hocket-cross-check-";

/// Lateness of a thread that sleeps on the clock (Debian's package rt-tests).
pub struct Cyclictest {
    pub cpu: u32,
    /// Its priority in FIFO; `None`: the ordinary class.
    pub fifo: Option<u8>,
    pub loops: u32,
}

impl fmt::Display for Cyclictest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cyclictest {}, median", self.arguments().join(" "))
    }
}

impl Cyclictest {
    fn arguments(&self) -> Vec<String> {
        let class = match self.fifo {
            Some(priority) => format!("--policy=fifo -p {priority}"),
            // With any -p, even 0, it would be FIFO.
            None => "--policy=other".into(),
        };
        // The lab leaves the machine's power management alone; so does this.
        let text = format!(
            "--default-system -q -v -N -t 1 -i 500 -l {} -a {} {class}",
            self.loops, self.cpu
        );
        text.split(' ').map(str::to_string).collect()
    }

    pub fn taker(self) -> Take {
        Box::new(move || {
            let text = output(Command::new("cyclictest").args(self.arguments()))?;
            let late: Vec<f64> = text.lines().filter_map(lateness).collect();
            match late.len() as u32 >= self.loops / 2 {
                true => median(&late).ok_or_else(|| "no figures".to_string()),
                false => Err(format!("cyclictest told {} of {} wake-ups", late.len(), self.loops)),
            }
        })
    }
}

/// `       0:      17:   18370` is thread, wake-up and nanoseconds.
fn lateness(line: &str) -> Option<f64> {
    let (thread, rest) = line.split_once(':')?;
    let (wake, ns) = rest.split_once(':')?;
    thread.trim().parse::<u32>().ok()?;
    wake.trim().parse::<u32>().ok()?;
    ns.trim().parse().ok()
}

/// Two tasks and two pipes (Debian's package linux-perf). An operation is there and back: two hand-overs.
pub struct PipeBench {
    pub cpus: [u32; 2],
    pub threads: bool,
    pub loops: u32,
}

impl fmt::Display for PipeBench {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let who = if self.threads { "threads" } else { "processes" };
        let (arguments, [a, b]) = (self.arguments().join(" "), self.cpus);
        write!(f, "perf {arguments}, half an operation, {who} on CPUs {a} and {b}")
    }
}

impl PipeBench {
    fn arguments(&self) -> Vec<String> {
        let threads = if self.threads { " -T" } else { "" };
        let text = format!("bench sched pipe -l {}{threads}", self.loops);
        text.split(' ').map(str::to_string).collect()
    }

    pub fn taker(self) -> Take {
        Box::new(move || {
            let mut command = Command::new("taskset");
            command.args(["-c", &self.cpus[0].to_string(), "perf"]).args(self.arguments());
            let child = command
                .stdout(Stdio::piped())
                .spawn()
                .map_err(|error| format!("{command:?}: {error}"))?;
            if self.cpus[0] != self.cpus[1] {
                self.move_second(&child)?;
            }
            let done = child.wait_with_output().map_err(|error| error.to_string())?;
            let text = String::from_utf8_lossy(&done.stdout);
            Ok(ns_of_operation(&text)? / 2.0)
        })
    }

    /// perf cannot tie its tasks. Both begin on the first CPU; the second one is moved as soon as it is there.
    fn move_second(&self, child: &Child) -> Result<(), String> {
        let second = (0..2000).find_map(|_| {
            std::thread::sleep(Duration::from_micros(100));
            self.second(child.id())
        });
        let second = second.ok_or("perf did not start its second task")?;
        let cpu = self.cpus[1].to_string();
        output(Command::new("taskset").args(["-pc", &cpu, &second.to_string()])).map(drop)
    }

    /// The last of the threads, of which the first one only waits; or the child.
    fn second(&self, process: u32) -> Option<u32> {
        let folder = PathBuf::from(format!("/proc/{process}/task"));
        if !self.threads {
            let children = folder.join(format!("{process}/children"));
            return std::fs::read_to_string(children).ok()?.split_whitespace().last()?.parse().ok();
        }
        let name = |entry: std::fs::DirEntry| entry.file_name().to_str()?.parse::<u32>().ok();
        let mut threads: Vec<u32> =
            std::fs::read_dir(folder).ok()?.flatten().filter_map(name).collect();
        threads.sort_unstable();
        (threads.len() == 3).then(|| threads[2])
    }
}

/// What perf says of one operation.
fn ns_of_operation(text: &str) -> Result<f64, String> {
    let line = text.lines().find(|line| line.contains("usecs/op"));
    let us = line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok());
    us.map(|us| us * 1e3).ok_or_else(|| format!("perf said: {text}"))
}

/// Where the figure of half an operation is that of a whole one.
pub fn twice(mut half: Take) -> Take {
    Box::new(move || half().map(|ns| 2.0 * ns))
}

/// `getppid`, again and again.
pub struct SyscallBench {
    pub cpu: u32,
    pub loops: u32,
}

impl fmt::Display for SyscallBench {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "perf bench syscall basic -l {}, CPU {}", self.loops, self.cpu)
    }
}

impl SyscallBench {
    pub fn taker(self) -> Take {
        Box::new(move || {
            let mut command = Command::new("taskset");
            command.args(["-c", &self.cpu.to_string(), "perf", "bench", "syscall", "basic"]);
            ns_of_operation(&output(command.args(["-l", &self.loops.to_string()]))?)
        })
    }
}

/// A process that begins and ends, or runs a program, again and again (Debian's package stress-ng). One at a time, as in the lab.
pub struct StressNg {
    pub cpu: u32,
    pub way: Starting,
    pub times: u32,
}

/// How stress-ng starts processes.
#[derive(Clone, Copy)]
pub enum Starting {
    /// The child ends at once.
    Fork,
    /// The child runs stress-ng itself, which ends at once.
    Exec,
}

impl fmt::Display for StressNg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "stress-ng {}, real time by operations, CPU {}", self.arguments(), self.cpu)
    }
}

impl StressNg {
    fn name(&self) -> &'static str {
        match self.way {
            Starting::Fork => "fork",
            Starting::Exec => "exec",
        }
    }

    fn arguments(&self) -> String {
        let (name, times) = (self.name(), self.times);
        let more = match self.way {
            Starting::Fork => "",
            Starting::Exec => " --exec-fork-method fork --exec-method execve --exec-no-pthread",
        };
        format!("--{name} 1 --{name}-max 1 --{name}-ops {times}{more}")
    }

    pub fn taker(self) -> Take {
        Box::new(move || {
            // It refuses to run programs as root; its folder is removed with all that it leaves.
            let home = scratch_folder()?;
            let open = std::fs::Permissions::from_mode(0o777);
            std::fs::set_permissions(home.path(), open).map_err(|error| error.to_string())?;
            let mut command = Command::new("setpriv");
            if is_root() {
                command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups"]);
            }
            command.args(["taskset", "-c", &self.cpu.to_string(), "stress-ng", "--stdout"]);
            command.arg("--temp-path").arg(home.path()).arg("--metrics-brief");
            ns_of_start(&output(command.args(self.arguments().split(' ')))?, self.name())
        })
    }
}

fn is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0)
}

/// `stress-ng: metrc: [1502] fork  2000  1.73  0.52  0.44  1154.75  2068.41`: the time of one, by the fourth figure.
fn ns_of_start(text: &str, name: &str) -> Result<f64, String> {
    let figures = text.lines().find_map(|line| {
        let (_, rest) = line.split_once("metrc:")?.1.split_once(']')?;
        rest.trim_start().strip_prefix(name)
    });
    let rate = figures.and_then(|it| it.split_whitespace().nth(4)?.parse::<f64>().ok());
    let rate = rate.filter(|rate| *rate > 0.0);
    rate.map(|rate| 1e9 / rate).ok_or_else(|| format!("stress-ng said: {text}"))
}

/// Groups of 20 senders and 20 receivers, threads that write 100 bytes to each other over sockets (Debian's package
/// rt-tests). Each sender writes every message 20 times, as the lab's server of a room does.
pub struct Hackbench {
    pub groups: u32,
    pub loops: u32,
}

impl fmt::Display for Hackbench {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "hackbench {}, by messages", self.arguments().join(" "))
    }
}

impl Hackbench {
    fn arguments(&self) -> Vec<String> {
        let text = format!("-T -g {} -l {} -s 100", self.groups, self.loops);
        text.split(' ').map(str::to_string).collect()
    }

    pub fn taker(self) -> Take {
        Box::new(move || {
            let text = output(Command::new("hackbench").args(self.arguments()))?;
            let seconds = number_after(&text, "Time:");
            let messages = f64::from(self.groups) * 20.0 * 20.0 * f64::from(self.loops);
            let seconds = seconds.ok_or_else(|| format!("hackbench said: {text}"))?;
            Ok(seconds * 1e9 / messages)
        })
    }
}

/// Clients of a file server, played from its own trace (Debian's package dbench). A megabyte is 10^6 bytes there too.
pub struct Dbench {
    pub clients: u32,
    pub seconds: u32,
}

impl fmt::Display for Dbench {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "dbench -t {} {}, by megabytes", self.seconds, self.clients)
    }
}

impl Dbench {
    pub fn taker(self) -> Take {
        Box::new(move || {
            let home = scratch_folder_in(&hocket_lab::experiments::folder::below())?;
            let mut command = Command::new("dbench");
            command.arg("-D").arg(home.path()).args(["-t", &self.seconds.to_string()]);
            ns_of_megabyte(&output(command.arg(self.clients.to_string()))?)
        })
    }
}

/// The same trace over TCP on loopback. Its server listens on every address, so it has a network of its own, which ends
/// with it and with all that runs in it.
pub struct Tbench {
    pub clients: u32,
    pub seconds: u32,
}

impl fmt::Display for Tbench {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "tbench -t {} {} 127.0.0.1, by megabytes", self.seconds, self.clients)
    }
}

impl Tbench {
    pub fn taker(self) -> Take {
        Box::new(move || {
            let script = format!(
                "ip link set lo up && {{ tbench_srv >/dev/null & }} && sleep 0.5 && tbench -t {} {} 127.0.0.1",
                self.seconds, self.clients
            );
            let mut command = Command::new("unshare");
            command.args(["--user", "--map-root-user", "--net", "--pid", "--fork", "--kill-child"]);
            ns_of_megabyte(&output(command.args(["sh", "-c", &script]))?)
        })
    }
}

/// `Throughput 302.9 MB/sec  4 clients  4 procs  max_latency=139.2 ms`.
fn ns_of_megabyte(text: &str) -> Result<f64, String> {
    let rate = number_after(text, "Throughput").filter(|rate| *rate > 0.0);
    rate.map(|rate| 1e9 / rate).ok_or_else(|| format!("no throughput in: {text}"))
}

/// In the line that begins with this word.
fn number_after(text: &str, word: &str) -> Option<f64> {
    let rest = text.lines().find_map(|line| line.trim().strip_prefix(word))?;
    rest.split_whitespace().next()?.parse().ok()
}

/// A loop that criterion measures: the benchmark `passes`.
pub struct Criterion {
    pub program: PathBuf,
    pub cpu: u32,
    pub id: &'static str,
}

impl fmt::Display for Criterion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "criterion, benches/passes.rs, {}, median, CPU {}", self.id, self.cpu)
    }
}

impl Criterion {
    pub fn taker(self) -> Take {
        Box::new(move || {
            let home = scratch_folder()?;
            let times =
                "--warm-up-time 0.1 --measurement-time 0.3 --sample-size 20 --nresamples 1000";
            let mut command = Command::new("taskset");
            command.args(["-c", &self.cpu.to_string()]).arg(&self.program);
            command.args(["--bench", "--noplot", "--exact", self.id]).args(times.split(' '));
            output(command.env("CRITERION_HOME", home.path()))?;
            self.figure(home.path())
        })
    }

    fn figure(&self, home: &Path) -> Result<f64, String> {
        let path = home.join(self.id).join("new/estimates.json");
        let text = std::fs::read_to_string(&path)
            .map_err(|error| format!("criterion's estimates: {error}"))?;
        let value: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
        value["median"]["point_estimate"].as_f64().ok_or_else(|| "criterion told no median".into())
    }
}

fn scratch_folder() -> Result<ScratchFolder, String> {
    scratch_folder_in(&std::env::temp_dir())
}

fn scratch_folder_in(below: &Path) -> Result<ScratchFolder, String> {
    ScratchFolder::create(below, PREFIX)
        .map_err(|error| format!("{}: {error}; set TMPDIR to a folder with space", below.display()))
}

/// What a command that succeeds says.
pub fn output(command: &mut Command) -> Result<String, String> {
    let done = command.stderr(Stdio::piped()).output().map_err(|error| {
        format!(
            "{}: {error}; cross-check.sh names the packages",
            command.get_program().to_string_lossy()
        )
    })?;
    match done.status.success() {
        true => Ok(String::from_utf8_lossy(&done.stdout).into_owned()),
        false => Err(format!(
            "{}: {}: {}",
            command.get_program().to_string_lossy(),
            done.status,
            String::from_utf8_lossy(&done.stderr).trim()
        )),
    }
}

/// What was held against the lab, with its version.
pub fn versions() -> Value {
    let first = |program: &str, argument: &str| {
        // cyclictest ends its help with an error code.
        let said = Command::new(program).arg(argument).output().ok()?;
        let text = [said.stdout, said.stderr].concat();
        Some(String::from_utf8_lossy(&text).lines().next()?.trim().to_string())
    };
    serde_json::json!({
        "cyclictest": first("cyclictest", "--help"),
        "perf": first("perf", "--version"),
        "hackbench": packaged("rt-tests"),
        "dbench": packaged("dbench"),
        "stress-ng": packaged("stress-ng"),
        "criterion": locked("criterion"),
        "parking_lot": locked("parking_lot"),
    })
}

/// Of programs that do not tell their version: that of their Debian package.
fn packaged(name: &str) -> Option<String> {
    let asked = ["--show", "--showformat=${Version}", name];
    let said = Command::new("dpkg-query").args(asked).output().ok()?;
    let version = String::from_utf8(said.stdout).ok()?;
    (!version.is_empty()).then_some(version)
}

/// The version of a crate in the lock file.
fn locked(name: &str) -> Option<String> {
    let lock = include_str!("../../../Cargo.lock");
    let of = lock.split("[[package]]").find(|p| p.contains(&format!("name = \"{name}\"\n")))?;
    let line = of.lines().find_map(|line| line.strip_prefix("version = \""))?;
    Some(line.trim_end_matches('"').into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_cyclictest_is_told_from_its_other_lines() {
        assert_eq!(lateness("       0:      17:   18370"), Some(18370.0));
        assert_eq!(
            lateness("T: 0 ( 1902) P:50 I:500 C: 200 Min: 9 Act: 14 Avg: 18 Max: 121"),
            None
        );
        assert_eq!(lateness("Thread 0 Interval: 1000"), None);
    }

    #[test]
    fn figures_of_loads_are_told_from_their_other_lines() {
        let text = "   4     24601   310.22 MB/sec  execute   3 sec\n\nThroughput 250 MB/sec  4 clients  4 procs  max_latency=9.1 ms\n";
        assert_eq!(ns_of_megabyte(text), Ok(4e6));
        assert!(ns_of_megabyte("failed to open /usr/share/dbench/client.txt").is_err());
        assert_eq!(number_after("Running in threaded mode\nTime: 0.528\n", "Time:"), Some(0.528));
        let text = "stress-ng: metrc: [15] stressor bogo ops real time\nstress-ng: metrc: [15] fork 2000 1.73 0.52 0.44 1000.0 2068.41\n";
        assert_eq!(ns_of_start(text, "fork"), Ok(1e6));
        assert!(ns_of_start("stress-ng: info: skipping the stressor", "exec").is_err());
        assert_eq!(ns_of_operation("# Executed\n       0.125000 usecs/op\n"), Ok(125.0));
    }

    #[test]
    fn the_lock_file_names_criterion() {
        assert!(locked("criterion").is_some_and(|version| version.starts_with("0.")));
    }
}
