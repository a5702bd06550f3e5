//! Ctrl-C: a bench keeps its whole turns, a render leaves nothing half done, play tells what was played.

use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use hocket_lab::record::BenchRecord;

use crate::support::{example, files, hocket, one_track};

fn start(args: &[&str]) -> Child {
    hocket(args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// Waits until the program catches Ctrl-C, which it does when everything is loaded.
pub fn await_handler(child: &Child) {
    const SIGINT_BIT: u64 = 1 << 1;
    let status = format!("/proc/{}/status", child.id());
    for _ in 0..6000 {
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let caught = text.lines().find_map(|line| line.strip_prefix("SigCgt:"));
        let caught = caught.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
        if caught.is_some_and(|mask| mask & SIGINT_BIT != 0) {
            return;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    panic!("Ctrl-C is not caught after two minutes");
}

/// Interrupts and returns the exit code; three minutes are only there to end a hang.
fn interrupt(mut child: Child) -> Option<i32> {
    let pid = child.id().to_string();
    assert!(std::process::Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    let start = Instant::now();
    loop {
        match child.try_wait().unwrap() {
            Some(status) => return status.code(),
            None if start.elapsed() > Duration::from_secs(180) => {
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
        let record = interrupted_bench(&file, Duration::from_secs(seconds));
        assert!(record.partial.as_ref().unwrap().contains("interrupted"));
        let rounds: Vec<_> = record.variants.iter().flat_map(|variant| &variant.rounds).collect();
        assert!(rounds.iter().all(|round| round.duration_ns.len() == 20), "whole turns only");
        if !rounds.is_empty() {
            return;
        }
    }
    panic!("not one turn of 20 blocks was whole after a minute");
}

/// What a bench that would last for hours has kept when it is interrupted after this time.
fn interrupted_bench(record: &std::path::Path, after: Duration) -> BenchRecord {
    let session = example("worst-case-4.toml");
    let child = start(&[
        "bench",
        session.to_str().unwrap(),
        "--blocks",
        "1000000",
        "--blocks-per-round",
        "20",
        "--disturb",
        "none",
        "--record",
        record.to_str().unwrap(),
    ]);
    await_handler(&child);
    std::thread::sleep(after);
    assert_eq!(interrupt(child), Some(130));
    BenchRecord::read(record).unwrap()
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
