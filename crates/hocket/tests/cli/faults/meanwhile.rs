//! Faults 1 and 8: what happens to the outputs of a command while it works.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::interrupted::{await_handler, interrupt};
use crate::support::{Ran, files, hocket, one_track, run};

fn signal(name: &str, process: u32) {
    let sent = Command::new("kill").args([name, &process.to_string()]).status().unwrap();
    assert!(sent.success());
}

/// Renders so many seconds to this file, and changes something while the render stands still in the middle; `None` where it
/// had ended by then.
fn render_while(paths: [&str; 2], seconds: u64, change: impl Fn()) -> Option<Ran> {
    let [file, out] = paths;
    let folder = Path::new(out).parent().unwrap();
    let mut command = hocket(&["render", file, "-o", out, "--length", &seconds.to_string()]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let part = || files(folder).into_iter().any(|name| name.ends_with(".part"));
    let mut ended = false;
    while !part() && !ended {
        ended = child.try_wait().unwrap().is_some();
    }
    if !ended {
        signal("-STOP", child.id());
    }
    let stands = part();
    if stands {
        change();
    }
    if !ended {
        signal("-CONT", child.id());
    }
    let ran = child.wait_with_output().unwrap().into();
    stands.then_some(ran)
}

/// `is_there`: an earlier render is at the place.
fn check_that_another_file_stays(name: &str, is_there: bool) {
    let (folder, file) = one_track("");
    let out = folder.path().join(name);
    let path = out.to_str().unwrap();
    // A machine that is fast, or looks late, gets more to do.
    for seconds in [100, 1000, 10_000] {
        let _ = std::fs::remove_file(&out);
        if is_there {
            assert_eq!(run(&["render", &file, "-o", path, "--length", "0.1"]).code, Some(0));
        }
        let change = || std::fs::write(&out, "mine").unwrap();
        let Some(ran) = render_while([&file, path], seconds, change) else { continue };
        assert_eq!(ran.code, Some(3), "{}", ran.err);
        assert!(ran.err.contains("it stays") && ran.err.contains("out-new."), "{}", ran.err);
        assert_eq!(std::fs::read(&out).unwrap(), b"mine");
        // The work is not lost.
        let new = name.replace("out", "out-new");
        let kept = hocket_media::decode(&folder.path().join(&new)).unwrap();
        assert_eq!(kept.frames() as u64, seconds * 44_100);
        assert_eq!(files(folder.path()), ["loop.flac", &new, name, "try.toml"]);
        return;
    }
    panic!("every render had ended before it could be stopped");
}

#[test]
fn fault_01_a_file_that_comes_or_changes_during_a_render_stays() {
    check_that_another_file_stays("out.wav", false);
    check_that_another_file_stays("out.wav", true);
    check_that_another_file_stays("out.flac", true);
}

/// A program that opens a pipe waits for its reader. Ctrl-C has to end that wait.
#[test]
fn fault_08_ctrl_c_ends_the_wait_for_the_reader_of_a_pipe() {
    let (folder, file) = one_track("");
    let pipe = folder.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let pipe = pipe.to_str().unwrap();
    let bench = ["bench", &file, "--blocks", "20", "--blocks-per-round", "20", "--policy", "off"];
    let bench = [&bench[..], &["--disturb", "none", "--report", pipe]].concat();
    let play = ["play", &file, "--length", "0.2", "--log", pipe];
    for args in [&["render", &file, "-o", pipe, "--length", "0.2"][..], &play, &bench] {
        let child = hocket(args).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        await_handler(&child);
        // So it has come to the pipe, as a rule. Before that, Ctrl-C ends it as well.
        std::thread::sleep(std::time::Duration::from_secs(3));
        assert_eq!(interrupt(child), Some(130), "{args:?}");
    }
    // With a reader all of it arrives.
    let reader = || Command::new("cat").arg(pipe).stdout(Stdio::piped()).spawn().unwrap();
    let reads = reader();
    let ran = run(&play);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let log = String::from_utf8(reads.wait_with_output().unwrap().stdout).unwrap();
    assert!(log.lines().last().unwrap().contains("\"event\":\"end\""), "{log}");
    let reader = reader();
    let ran = run(&["render", &file, "-o", pipe, "--length", "0.2"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let out = folder.path().join("out.wav");
    assert_eq!(
        run(&["render", &file, "-o", out.to_str().unwrap(), "--length", "0.2"]).code,
        Some(0)
    );
    assert!(reader.wait_with_output().unwrap().stdout == std::fs::read(out).unwrap());
}
