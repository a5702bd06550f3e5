//! Ctrl-C: a bench keeps its whole turns, a render leaves nothing half done, play tells what was played.

use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use hocket_lab::record::BenchRecord;

use crate::support::{example, files, hocket, one_track};

fn start(args: &[&str]) -> Child {
    hocket(args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// Waits until the program catches Ctrl-C, which it does when everything is loaded.
fn await_handler(child: &Child) {
    const SIGINT_BIT: u64 = 1 << 1;
    let status = format!("/proc/{}/status", child.id());
    for _ in 0..3000 {
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let caught = text.lines().find_map(|line| line.strip_prefix("SigCgt:"));
        let caught = caught.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
        if caught.is_some_and(|mask| mask & SIGINT_BIT != 0) {
            return;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    panic!("Ctrl-C is not caught after a minute");
}

/// Interrupts and returns the exit code; a minute is only there to end a hang.
fn interrupt(mut child: Child) -> Option<i32> {
    let pid = child.id().to_string();
    assert!(std::process::Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    let start = Instant::now();
    loop {
        match child.try_wait().unwrap() {
            Some(status) => return status.code(),
            None if start.elapsed() > Duration::from_secs(60) => {
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
    let record = folder.path().join("r.json");
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
    std::thread::sleep(Duration::from_secs(6));
    assert_eq!(interrupt(child), Some(130));
    let record = BenchRecord::read(&record).unwrap();
    assert!(record.partial.unwrap().contains("interrupted"));
    let variants = &record.variants;
    assert!(variants.iter().flat_map(|v| &v.rounds).all(|round| round.duration_ns.len() == 20));
    assert!(variants.iter().map(|variant| variant.rounds.len()).sum::<usize>() > 0);
}

#[test]
fn a_render_leaves_nothing() {
    let (folder, file) = one_track("");
    let out = folder.path().join("out.wav");
    let child = start(&["render", &file, "-o", out.to_str().unwrap(), "--length", "80000"]);
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
