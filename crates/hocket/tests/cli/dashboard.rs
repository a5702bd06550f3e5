//! `hocket play` on a real pseudo-terminal: keys, ways out, a terminal that stands still; and `--headless`.

use std::io::{PipeWriter, Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::fs::{OFlags, fcntl_setfl};
use serde_json::Value;

use crate::interrupted::{POLL, await_that, kill};
use crate::pty::{PATIENCE, Pty, end, missing};
use crate::support::{example, hocket, one_track, run};

/// Words of one piece, because the gaps between words need not be sent.
#[test]
fn keys_steer_the_song_and_q_gives_the_terminal_back() {
    let file = example("band.toml").display().to_string();
    let pty = Pty::open();
    let before = pty.modes();
    let Some(mut child) = pty.start(&hocket(&["play", &file, "--device", "virtual"])) else {
        return missing("keys_steer_the_song_and_q_gives_the_terminal_back");
    };
    let mut reading = pty.read();
    reading.await_word("misses");
    assert_ne!(pty.modes(), before, "keys come one by one, and are not shown");
    reading.await_word("▶");
    reading.press(" ");
    reading.await_word("■");
    // The song stands still, so it does not end before the keys are through.
    reading.press("?");
    reading.await_word("Ctrl-L");
    reading.press("?");
    reading.await_word("aside");
    reading.press("p");
    // Before the colon: what came of it, or that nothing else is possible here.
    reading.await_word("policy");
    // Behind hybrid, which it begins with.
    reading.press("w");
    reading.await_word("futex");
    reading.press("s");
    reading.await_word("serial:");
    reading.press("s");
    reading.await_word("lists:");
    reading.press("l");
    reading.await_word("1.1.000");
    reading.press(" ");
    reading.await_word("▶");
    reading.press("q");
    assert_eq!(end(&mut child).code(), Some(0));
    assert_eq!(pty.modes(), before);
    let text = reading.text();
    let (picture, result) = text.rsplit_once("\x1b[?1049l").expect("the other screen is left");
    assert!(picture.contains("\x1b[?1049h"), "{picture:?}");
    assert!(
        result.contains("blocks of 64 frames") && !result.contains("interrupted"),
        "{result:?}"
    );
}

#[test]
fn signals_and_ctrl_c_give_the_terminal_back() {
    let (_folder, file) = one_track("");
    for way in ["TERM", "HUP", "key"] {
        let pty = Pty::open();
        let before = pty.modes();
        let Some(mut child) = pty.start(&hocket(&["play", &file, "--length", "600"])) else {
            return missing("signals_and_ctrl_c_give_the_terminal_back");
        };
        let mut reading = pty.read();
        reading.await_word("misses");
        match way {
            "key" => reading.press("\x03"),
            signal => {
                let args = [format!("-{signal}"), child.id().to_string()];
                assert!(Command::new("kill").args(args).status().unwrap().success());
            }
        }
        assert_eq!(end(&mut child).code(), Some(130), "{way}");
        assert_eq!(pty.modes(), before, "{way}");
        let text = reading.text();
        let result = text.rsplit_once("\x1b[?1049l").expect("the other screen is left").1;
        assert!(result.contains("interrupted"), "{way}: {result:?}");
    }
}

#[test]
fn a_terminal_that_stands_still_holds_nothing_up() {
    let (folder, file) = one_track("");
    let take = folder.path().join("take.wav");
    let pty = Pty::open();
    let before = pty.modes();
    pty.stall();
    let arg = format!("master={}", take.display());
    let args = ["play", &file, "--length", "1", "--take", &arg];
    let Some(mut child) = pty.start(&hocket(&args)) else {
        return missing("a_terminal_that_stands_still_holds_nothing_up");
    };
    await_take(&take, 44_100);
    assert_eq!(child.try_wait().unwrap(), None, "it waits to print its result");
    let reading = pty.read();
    assert_eq!(end(&mut child).code(), Some(0));
    assert_eq!(pty.modes(), before);
    assert!(reading.text().contains("blocks of 64 frames"));
}

/// Waits until a second was played and recorded, with nobody reading from the terminal.
fn await_take(take: &Path, frames: usize) {
    let begun = Instant::now();
    let is_there = || hocket_media::decode(take).is_ok_and(|audio| audio.frames() >= frames);
    while !is_there() {
        assert!(begun.elapsed() < PATIENCE, "the terminal holds the play up");
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// Who reads the lines may stand still. A signal closes takes and the log all the same, and the client leaves its server. A second
/// signal ends the program, which would wait to print its result.
#[test]
fn a_reader_that_stands_still_keeps_no_take_open() {
    for reads_on in [true, false] {
        let (folder, file) = one_track("");
        let at = |name: &str| folder.path().join(name);
        let (take, log) = (at("take.wav"), at("log.jsonl"));
        let (mut reader, mut writer) = std::io::pipe().unwrap();
        fill(&mut writer);
        let arg = format!("master={}", take.display());
        let args = ["play", &file, "--length", "600", "--headless", "--json", "--take", &arg];
        let mut command = hocket(&[&args[..], &["--log", log.to_str().unwrap()]].concat());
        let mut child = command.stdout(writer).stderr(Stdio::null()).spawn().unwrap();
        drop(command);
        // The first line is due after a second.
        await_take(&take, 3 * 44_100);
        kill("-TERM", child.id());
        let has = |file: &Path, word: &str| {
            std::fs::read_to_string(file).is_ok_and(|text| text.contains(word)).then_some(())
        };
        await_that("the log is open", POLL, || has(&log, "\"event\":\"end\""));
        assert_eq!(has(&at("take.wav.take.toml"), "[end]"), Some(()), "the take is open");
        assert_eq!(child.try_wait().unwrap(), None, "it waits to print");
        if reads_on {
            let mut text = String::new();
            reader.read_to_string(&mut text).unwrap();
            let told: Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
            assert_eq!(told["takes"][0]["whole"], true, "{told:#}");
        } else {
            // What comes within 0.3 s of the first one is the same request.
            let begun = Instant::now();
            while child.try_wait().unwrap().is_none() {
                assert!(begun.elapsed() < PATIENCE, "a second signal changes nothing");
                kill("-TERM", child.id());
                std::thread::sleep(POLL);
            }
        }
        assert_eq!(end(&mut child).code(), Some(130), "reads on: {reads_on}");
        assert!(hocket_media::decode(&take).unwrap().frames() >= 3 * 44_100);
    }
}

/// Fills a pipe with spaces, which JSON allows in front of a value.
fn fill(writer: &mut PipeWriter) {
    fcntl_setfl(&*writer, OFlags::NONBLOCK).unwrap();
    while writer.write(&[b' '; 256]).is_ok() {}
    while writer.write(b" ").is_ok() {}
    fcntl_setfl(&*writer, OFlags::empty()).unwrap();
}

#[test]
fn quiet_and_dumb_terminals_get_no_picture() {
    let (_folder, file) = one_track("");
    for more in [&["--quiet"][..], &["--headless"], &["--json"]] {
        let pty = Pty::open();
        let args = [&["play", &file, "--length", "0.2"][..], more].concat();
        let Some(mut child) = pty.start(&hocket(&args)) else {
            return missing("quiet_and_dumb_terminals_get_no_picture");
        };
        let reading = pty.read();
        assert_eq!(end(&mut child).code(), Some(0));
        let text = reading.text();
        assert!(text.contains("blocks") && !text.contains("\x1b["), "{more:?}: {text:?}");
    }
}

#[test]
fn headless_prints_a_line_each_second() {
    let (_folder, file) = one_track("");
    let ran = run(&["play", &file, "--length", "2.5", "--headless"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let lines = ran.out.lines().filter(|line| line.contains(" of 2.5 s, playing at bar "));
    assert!(lines.count() >= 1, "{}", ran.out);
    assert!(ran.out.contains("misses: "), "the result follows: {}", ran.out);
}

#[test]
fn headless_json_is_one_object_per_line_and_the_result_is_the_last() {
    let (_folder, file) = one_track("");
    let ran = run(&["play", &file, "--length", "2.5", "--headless", "--json"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let objects: Vec<Value> =
        ran.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let (result, looks) = objects.split_last().unwrap();
    assert_eq!(result["format"], "hocket-play/1");
    assert!(!looks.is_empty());
    let mut played = 0.0;
    for look in looks {
        assert_eq!(
            (&look["format"], &look["song"]["playing"]),
            (&"hocket-play-now/1".into(), &true.into())
        );
        assert!(look["played_s"].as_f64().unwrap() >= played);
        played = look["played_s"].as_f64().unwrap();
        let periods = look["periods_by_5_percent_of_the_deadline"].as_array().unwrap();
        let counted: u64 = periods.iter().map(|count| count.as_u64().unwrap()).sum();
        // The numbers are read one after another while it plays.
        assert!(counted <= result["blocks"].as_u64().unwrap());
        assert_eq!(look["peaks"][0]["output"], "main");
        assert_eq!(look["workers"][0]["name"], "leader");
    }
    // A part of the time needs two looks.
    assert_eq!(looks[0]["workers"][0]["awake"], Value::Null);
    for look in &looks[1..] {
        let awake = look["workers"][0]["awake"].as_f64().unwrap();
        assert!(0.0 < awake && awake <= 1.0, "{look}");
    }
    assert!(looks.iter().any(|look| look["peaks"][0]["peak"].as_f64().unwrap() > 0.0), "{looks:?}");
}
