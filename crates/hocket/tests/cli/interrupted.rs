//! Ctrl-C and worse: a bench keeps its whole turns and leaves no process behind, a render leaves nothing half done,
//! play tells what was played.

use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use hocket_lab::record::BenchRecord;

use crate::support::{Ran, example, files, hocket, one_track};

/// How often a process is looked at.
pub const POLL: Duration = Duration::from_millis(20);

fn start(args: &[&str]) -> Child {
    hocket(args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// Waits until the program catches Ctrl-C, which it does when everything is loaded.
pub fn await_handler(child: &Child) {
    await_that("Ctrl-C is not caught", POLL, || catches_ctrl_c(child.id()).then_some(()));
}

/// Waits until a process start of a bench has loaded everything, and returns its process.
pub fn await_start(bench: &Child) -> u32 {
    let loaded = || start_of(bench).filter(|start| catches_ctrl_c(*start));
    await_that("no process start has loaded the session", POLL, loaded)
}

/// Only there to end a hang: how soon something comes is the machine's business.
const HANG: Duration = Duration::from_secs(600);

/// Looks for something until it is there.
pub fn await_that<T>(else_say: &str, poll: Duration, found: impl Fn() -> Option<T>) -> T {
    let begun = Instant::now();
    while begun.elapsed() < HANG {
        if let Some(found) = found() {
            return found;
        }
        std::thread::sleep(poll);
    }
    panic!("{else_say} after {} s", HANG.as_secs());
}

fn catches_ctrl_c(process: u32) -> bool {
    const SIGINT_BIT: u64 = 1 << 1;
    let text = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let caught = text.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    let caught = caught.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    caught.is_some_and(|mask| mask & SIGINT_BIT != 0)
}

/// The process start that runs now.
pub fn start_of(bench: &Child) -> Option<u32> {
    let parent = format!("PPid:\t{}", bench.id());
    let processes = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let numbers = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    numbers.into_iter().find(|process: &u32| {
        let status = std::fs::read_to_string(format!("/proc/{process}/status"));
        status.is_ok_and(|text| text.lines().any(|line| line == parent))
    })
}

/// Whether the process is there and not merely waited for.
pub fn runs(process: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{process}/status"));
    status.is_ok_and(|text| !text.lines().any(|line| line.starts_with("State:\tZ")))
}

/// Interrupts and returns the exit code.
pub fn interrupt(mut child: Child) -> Option<i32> {
    kill("-INT", child.id());
    let start = Instant::now();
    loop {
        match child.try_wait().unwrap() {
            Some(status) => return status.code(),
            None if start.elapsed() > HANG => {
                child.kill().unwrap();
                panic!("the program did not end");
            }
            None => std::thread::sleep(Duration::from_millis(20)),
        }
    }
}

#[test]
fn a_bench_keeps_a_valid_partial_record() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("r.json");
    // How long one whole turn takes is the machine's business: a busy one is given more time.
    for seconds in [1, 4, 16, 64] {
        let Some(record) = interrupted_bench(&file, Duration::from_secs(seconds)) else { continue };
        assert!(record.partial.as_ref().unwrap().contains("interrupted"));
        let rounds: Vec<_> = record.variants.iter().flat_map(|variant| &variant.rounds).collect();
        assert!(rounds.iter().all(|round| round.duration_ns.len() == 20), "whole turns only");
        if !rounds.is_empty() {
            return;
        }
    }
    panic!("not one turn of 20 blocks was whole after a minute");
}

/// What a bench that would last for hours has kept when it is interrupted after this time; `None` where it was still
/// loading.
fn interrupted_bench(record: &Path, after: Duration) -> Option<BenchRecord> {
    let child = long_bench("1000000", record);
    let process = await_start(&child);
    std::thread::sleep(after);
    assert_eq!(interrupt(child), Some(130));
    assert!(!runs(process), "the process start goes on");
    record.exists().then(|| BenchRecord::read(record).unwrap())
}

/// A bench of so many blocks for each variant in turns of 20, in 5 process starts.
fn long_bench(blocks: &str, record: &Path) -> Child {
    let session = example("worst-case-4.toml");
    let mut args = vec!["bench", session.to_str().unwrap(), "--policy", "off"];
    args.extend(["--blocks", blocks, "--blocks-per-round", "20", "--disturb", "none"]);
    args.extend(["--record", record.to_str().unwrap()]);
    hocket(&args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

#[test]
fn a_killed_start_ends_a_bench_and_loses_nothing_of_the_others() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("r.json");
    let child = long_bench("500", &file);
    let first = await_start(&child);
    let later = await_that("there is no second start", POLL, || {
        start_of(&child).filter(|start| *start != first && catches_ctrl_c(*start))
    });
    kill("-KILL", later);
    let ran = Ran::from(child.wait_with_output().unwrap());
    assert_eq!(ran.code, Some(3), "{}", ran.err);
    assert!(ran.out.contains("bare wake-up loop"), "no table:\n{}", ran.out);
    // The second one, unless this test had to wait for a CPU.
    let number = (2..=5)
        .find(|n| ran.err.contains(&format!("process start {n} of 5 ended early (signal: 9")));
    let whole = number.unwrap_or_else(|| panic!("{}", ran.err)) - 1;
    let record = BenchRecord::read(&file).unwrap();
    let partial =
        format!("process start {} of 5 ended early after {} of 75 turns", whole + 1, 15 * whole);
    assert_eq!(record.partial, Some(partial));
    assert!(record.variants.iter().all(|variant| variant.blocks() == 100 * whole));
}

#[test]
fn a_killed_bench_leaves_no_start_behind() {
    let folder = tempfile::tempdir().unwrap();
    let mut child = long_bench("1000000", &folder.path().join("r.json"));
    let process = await_start(&child);
    child.kill().unwrap();
    child.wait().unwrap();
    await_that("the process start goes on", POLL, || (!runs(process)).then_some(()));
}

pub fn kill(signal: &str, process: u32) {
    let pid = process.to_string();
    assert!(std::process::Command::new("kill").args([signal, &pid]).status().unwrap().success());
}

#[test]
fn a_render_leaves_nothing() {
    let (folder, file) = one_track("");
    let out = folder.path().join("out.wav");
    let child =
        start(&["render", &file, "-o", out.to_str().unwrap(), "--length", "80000", "--force"]);
    await_handler(&child);
    std::thread::sleep(Duration::from_secs(1));
    assert_eq!(interrupt(child), Some(130));
    assert_eq!(files(folder.path()), ["loop.flac", "try.toml"]);
}

/// Whatever of it runs: Ctrl-C ends its process start and takes its files away.
#[test]
fn experiments_with_files_leave_none() {
    for experiment in ["aim9", "fileserver"] {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).to_str().unwrap().to_string();
        let (made, records) = (path("files"), path("lab.sqlite"));
        std::fs::create_dir(&made).unwrap();
        let arguments =
            ["lab", "run", experiment, "--time", "40s", "--folder", &made, "--records", &records];
        let lab = start(&arguments);
        await_handler(&lab);
        // The A/A experiment comes first, and makes no files.
        let in_use = || {
            let inside = files(Path::new(&made));
            let is_made = inside.iter().any(|name| !name.ends_with(".lock"));
            start_of(&lab).filter(|_| is_made)
        };
        let begun = await_that("no process start with files", POLL, in_use);
        assert_eq!(interrupt(lab), Some(130), "{experiment}");
        await_that("the process start lives on", POLL, || (!runs(begun)).then_some(()));
        assert_eq!(files(Path::new(&made)), [""; 0], "{experiment}");
    }
}

#[test]
fn play_tells_what_was_played() {
    let (_folder, file) = one_track("");
    let mut command = hocket(&["play", &file, "--length", "80000", "--json"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    await_handler(&child);
    let (code, out) = interrupt_and_read(child);
    assert_eq!(code, Some(130));
    let told: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert!(told["interrupted"] == true && told["blocks"].as_u64().unwrap() > 0, "{told:#}");
}

fn interrupt_and_read(mut child: Child) -> (Option<i32>, String) {
    let mut out = child.stdout.take().unwrap();
    let reader = std::thread::spawn(move || {
        let mut text = String::new();
        std::io::Read::read_to_string(&mut out, &mut text).map(|_| text)
    });
    (interrupt(child), reader.join().unwrap().unwrap())
}
