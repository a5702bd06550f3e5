//! `hocket trace --attach` and `--system`: threads of a running program, and what the other CPUs did.
//!
//! The program that is watched is this one: it has threads that hand over to each other for as long as they are watched.

use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use serde_json::Value;

use crate::interrupted::{await_handler, interrupt};
use crate::support::{Ran, check_refused, example, hocket, one_track, run};

fn own() -> String {
    std::process::id().to_string()
}

/// Two threads that hand over to each other, and a third that starts short ones, until they are told to stop.
struct Program {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Program {
    fn start() -> Program {
        let stop = Arc::new(AtomicBool::new(false));
        let ((say, hear), (say_back, hear_back)) = (channel(), channel());
        say.send(()).unwrap();
        let threads = vec![
            hander("giver", &stop, hear_back, say),
            hander("taker", &stop, hear, say_back),
            starter(&stop),
        ];
        Program { stop, threads }
    }

    fn end(self) {
        // Relaxed: the flag publishes nothing.
        self.stop.store(true, Relaxed);
        self.threads.into_iter().for_each(|thread| thread.join().unwrap());
    }
}

fn named(name: &str, work: impl FnOnce() + Send + 'static) -> JoinHandle<()> {
    thread::Builder::new().name(name.into()).spawn(work).unwrap()
}

/// Waits for the other one, rests a little, and hands over.
fn hander(
    name: &str,
    stop: &Arc<AtomicBool>,
    hear: Receiver<()>,
    say: Sender<()>,
) -> JoinHandle<()> {
    let stop = Arc::clone(stop);
    named(name, move || {
        while hear.recv().is_ok() {
            thread::sleep(Duration::from_millis(1));
            // Relaxed: the flag publishes nothing.
            if stop.load(Relaxed) || say.send(()).is_err() {
                return;
            }
        }
    })
}

/// Starts one thread after the other, each of which rests for a while.
fn starter(stop: &Arc<AtomicBool>) -> JoinHandle<()> {
    let stop = Arc::clone(stop);
    named("starter", move || {
        // Relaxed: the flag publishes nothing.
        while !stop.load(Relaxed) {
            let newcomer = named("newcomer", || thread::sleep(Duration::from_millis(60)));
            newcomer.join().unwrap();
        }
    })
}

/// Whether the system lets this test see every CPU.
fn sees_all(test: &str, ran: &Ran) -> bool {
    let alone = "only the program's own threads are watched";
    if ran.code == Some(3) || ran.out.contains(alone) {
        println!("SKIPPED {test}: every CPU may not be watched here: {}{}", ran.out, ran.err);
        return false;
    }
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    true
}

#[test]
fn threads_that_hand_over_appear_and_wake_each_other() {
    const TEST: &str = "threads_that_hand_over_appear_and_wake_each_other";
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.json").display().to_string();
    let program = Program::start();
    let ran = run(&["trace", "--attach", &own(), "--length", "1", "-o", &file]);
    program.end();
    if !sees_all(TEST, &ran) {
        return;
    }
    let all: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    assert_eq!(all["otherData"]["format"], "hocket-threads/1");
    assert_eq!(all["otherData"]["ended"], "the time was over");
    let events = all["traceEvents"].as_array().unwrap();
    let lanes = events.iter().filter(|event| event["name"] == "thread_name");
    let lanes: Vec<(&str, i64)> = lanes
        .map(|event| (event["args"]["name"].as_str().unwrap(), event["tid"].as_i64().unwrap()))
        .collect();
    let lane = |name: &str| {
        let found = lanes.iter().find(|(lane, _)| lane.starts_with(name));
        found.unwrap_or_else(|| panic!("no lane of {name}: {lanes:?}")).1
    };
    for name in ["giver (", "taker (", "newcomer (", "CPU "] {
        let lane = lane(name);
        let ran = events.iter().filter(|event| event["tid"] == lane && event["cat"] == "ran");
        assert!(ran.count() > 0, "{name} did not run");
    }
    if ran.out.contains("wake-ups and moves between CPUs are not recorded") {
        println!("SKIPPED {TEST}: who woke whom: {}", ran.out);
        return;
    }
    let by = |name: &str, by: &str| {
        let woken = events.iter().filter(|it| it["tid"] == lane(name) && it["name"] == "woken");
        let by = format!("by {by} (");
        woken.filter(|it| it["args"]["detail"].as_str().unwrap().starts_with(&by)).count()
    };
    assert!(by("giver (", "taker") > 1 && by("taker (", "giver") > 1, "{}", ran.out);
    assert!(ran.out.contains(" woke taker ("), "{}", ran.out);
}

#[test]
fn each_format_is_written_and_replaced() {
    const TEST: &str = "each_format_is_written_and_replaced";
    let folder = tempfile::tempdir().unwrap();
    for name in ["a.html", "a.txt", "a.json", "a.pftrace"] {
        let file = folder.path().join(name).display().to_string();
        for _ in 0..2 {
            let args = ["trace", "--attach", &own(), "--length", "0.1", "-o", &file];
            let ran = run(&[&args[..], &["--children", "--interrupts"]].concat());
            if !sees_all(TEST, &ran) {
                return;
            }
        }
        let bytes = std::fs::read(&file).unwrap();
        let has = |mark: &[u8]| bytes.windows(mark.len()).any(|part| part == mark);
        assert!(has(b"hocket-threads/1"), "{name} does not say what it is");
        std::fs::write(&file, "mine\n").unwrap();
        let args = ["trace", "--attach", &own(), "--length", "0.1", "-o", &file];
        check_refused(&args, 2, &[name, "Hocket did not write", "--force"]);
    }
}

#[test]
fn a_program_that_ends_ends_the_trace() {
    const TEST: &str = "a_program_that_ends_ends_the_trace";
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.txt").display().to_string();
    let mut child = Command::new("sleep").arg("1").spawn().unwrap();
    let process = child.id().to_string();
    let ran = run(&["trace", "--attach", &process, "--length", "3600", "-o", &file]);
    child.wait().unwrap();
    // On a very slow machine it has ended before.
    if ran.err.contains("no such process") || !sees_all(TEST, &ran) {
        return;
    }
    assert!(ran.out.contains("the program ended"), "{}", ran.out);
    assert!(std::fs::read_to_string(&file).unwrap().contains("the program ended"));
}

#[test]
fn an_interruption_keeps_what_was_seen() {
    const TEST: &str = "an_interruption_keeps_what_was_seen";
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.txt").display().to_string();
    let mut command = hocket(&["trace", "--attach", &own(), "--length", "3600", "-o", &file]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    await_handler(&child);
    // The handler is there a moment before the watch, so the right to watch may still be refused.
    thread::sleep(Duration::from_millis(50));
    if child.try_wait().unwrap().is_some_and(|status| status.code() == Some(3)) {
        println!("SKIPPED {TEST}: threads may not be watched here");
        return;
    }
    assert_eq!(interrupt(child), Some(130));
    assert!(std::fs::read_to_string(&file).unwrap().contains("stopped by the user"));
}

/// Rights belong to the user, so this watches a program of one who has none, as that one.
#[test]
fn without_rights_only_its_own_threads_are_seen() {
    const TEST: &str = "without_rights_only_its_own_threads_are_seen";
    const NOBODY: u32 = 65_534;
    let folder = tempfile::tempdir().unwrap();
    let open = std::fs::Permissions::from_mode(0o777);
    std::fs::set_permissions(folder.path(), open).unwrap();
    let file = folder.path().join("a.txt").display().to_string();
    let sleeps = ["-c", "while :; do sleep 0.01; done"];
    let mut shell = match Command::new("sh").args(sleeps).uid(NOBODY).gid(NOBODY).spawn() {
        Ok(shell) => shell,
        Err(why) => return println!("SKIPPED {TEST}: {why}"),
    };
    let process = shell.id().to_string();
    let mut command = hocket(&["trace", "--attach", &process, "--length", "0.5", "-o", &file]);
    let ran = command.uid(NOBODY).gid(NOBODY).current_dir(folder.path()).output();
    shell.kill().unwrap();
    shell.wait().unwrap();
    let ran: Ran = match ran {
        Ok(output) => output.into(),
        Err(why) => return println!("SKIPPED {TEST}: {why}"),
    };
    match ran.code {
        Some(0) if !ran.out.contains("only the program's own threads are watched") => {
            println!("SKIPPED {TEST}: everybody may watch every CPU here");
        }
        Some(0) => {
            let help = "kernel.perf_event_paranoid=-1 as root, or give the program CAP_PERFMON";
            assert!(ran.out.contains(help), "{}", ran.out);
            assert!(
                std::fs::read_to_string(&file).unwrap().contains(" ran on CPU "),
                "{}",
                ran.out
            );
        }
        code => {
            assert_eq!(code, Some(3), "{}", ran.err);
            assert!(ran.err.contains("perf") || ran.err.contains("kernel"), "{}", ran.err);
        }
    }
}

#[test]
fn what_cannot_be_watched_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.txt").display().to_string();
    let mut ended = Command::new("true").spawn().unwrap();
    let process = ended.id().to_string();
    ended.wait().unwrap();
    let with = |more: &[&str], words: &[&str]| {
        check_refused(&[&["trace", "-o", &file][..], more].concat(), 2, words);
    };
    with(&["--attach", &process], &["no such process", &process, "pgrep"]);
    with(&["--attach", "0"], &["--attach"]);
    with(&["--attach", "music"], &["--attach", "music"]);
    with(&["--attach", &own(), "--length", "0"], &["--length 0"]);
    with(&["--attach", &own(), "--blocks", "7"], &["--attach", "--blocks"]);
    with(&["--attach", &own(), "--system"], &["--attach", "--system"]);
    with(&["--attach", &own(), "song.toml"], &["--attach", "SESSION"]);
    with(&["--children", "song.toml"], &["--attach"]);
    with(&[], &["SESSION"]);
    check_refused(&["trace", "--attach", &own(), "-o", "a.wav"], 2, &["no format has this ending"]);
    assert!(!std::path::Path::new(&file).exists());
}

#[test]
fn the_rest_of_the_machine_stands_beside_every_block() {
    const TEST: &str = "the_rest_of_the_machine_stands_beside_every_block";
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.json").display().to_string();
    let session = example("band.toml");
    let session = session.to_str().unwrap();
    let ran = run(&["trace", session, "--blocks", "600", "--system", "-o", &file]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    if ran.out.contains("--system: what the other CPUs did is not known") {
        println!("SKIPPED {TEST}: {}", ran.out);
        return;
    }
    let all: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    let events = all["traceEvents"].as_array().unwrap();
    // The thread that collects the trace is none of the engine's, and runs again and again.
    assert!(events.iter().any(|event| event["cat"] == "other"), "{}", ran.out);
    assert!(events.iter().any(|event| {
        event["name"] == "thread_name"
            && event["args"]["name"].as_str().unwrap().starts_with("others on CPU ")
    }));
}

/// The leader wakes the workers, or is woken up itself by the timer for which it sleeps.
#[test]
fn who_woke_whom_and_interrupts_stand_beside_blocks() {
    const TEST: &str = "who_woke_whom_and_interrupts_stand_beside_blocks";
    let folder = tempfile::tempdir().unwrap();
    let session = example("band.toml");
    let session = session.to_str().unwrap();
    for ending in ["json", "txt", "html", "pftrace"] {
        let file = folder.path().join(format!("a.{ending}")).display().to_string();
        let args = ["trace", session, "--blocks", "600", "--system", "--interrupts", "-o", &file];
        let ran = run(&args);
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        if ran.out.contains("--system: ") {
            println!("SKIPPED {TEST}: {}", ran.out);
            return;
        }
        let bytes = std::fs::read(&file).unwrap();
        let has = |mark: &str| bytes.windows(mark.len()).any(|part| part == mark.as_bytes());
        match ending {
            "json" => {
                let all: Value = serde_json::from_slice(&bytes).unwrap();
                let events = all["traceEvents"].as_array().unwrap();
                let of = |cat: &str| events.iter().filter(|it| it["cat"] == cat).count();
                assert!(of("woken") > 0 && of("interrupt") > 0, "{}", ran.out);
                let woken = events.iter().find(|event| event["cat"] == "woken").unwrap();
                let by = woken["args"]["detail"].as_str().unwrap();
                assert!(by.starts_with("by "), "{woken}");
            }
            "txt" => assert!(has("  woken on CPU ") && has("irq ") && has(", by ")),
            // Timers of the processor put work off without being an interrupt that the kernel names.
            "html" => assert!(has(" woken by ") && has("interrupts\",")),
            _ => assert!(has("woken: ") && has("by an interrupt")),
        }
    }
}

#[test]
fn interrupts_are_for_watches_of_all_cpus_only() {
    let (_folder, session) = one_track("");
    let args = ["trace", &session, "--interrupts", "-o", "a.json"];
    check_refused(&args, 2, &["--attach", "--system"]);
}

#[test]
fn a_refused_watch_of_the_system_leaves_the_session() {
    let (_folder, session) = one_track("");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.txt").display().to_string();
    let ran = run(&["trace", &session, "--system", "--blocks", "20", "-o", &file]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(std::fs::read_to_string(&file).unwrap().contains("kept: 20 blocks"));
}
