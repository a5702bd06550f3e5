//! `hocket play`: runs, tells, ends when told.

use std::process::Stdio;
use std::time::Duration;

use serde_json::Value;

use crate::support::{
    check_refused, example, in_small_file_system, one_track, run, runs_abreast, session, two_alike,
};

fn json(args: &[&str]) -> (Option<i32>, Value) {
    let ran = run(args);
    let told = serde_json::from_str(&ran.out)
        .unwrap_or_else(|error| panic!("{error}\n{}\n{}", ran.out, ran.err));
    (ran.code, told)
}

#[test]
fn a_session_is_played_to_its_end_and_told_as_a_table() {
    let (_folder, file) = one_track("");
    let ran = run(&["play", &file, "--length", "0.3"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    // 0.3 s at 44100 Hz in blocks of 64 frames.
    for word in ["try: 207 blocks of 64 frames at 44100 Hz", "p99 µs", "load: mean", "misses: "] {
        assert!(ran.out.contains(word), "'{word}' is missing:\n{}", ran.out);
    }
}

#[test]
fn what_is_told_as_json_adds_up() {
    let band = example("band.toml");
    let band = band.to_str().unwrap();
    for schedule in ["dataflow", "auto", "critical"] {
        let args = ["play", band, "--length", "0.5", "--json", "--schedule", schedule];
        let (code, told) = json(&args);
        assert_eq!((code, &told["schedule"]), (Some(0), &schedule.into()));
        let number = |key: &str| told[key].as_u64().unwrap();
        assert_eq!(number("misses"), number("late") + number("skipped"));
        let causes = told["causes"].as_object().unwrap().values();
        let explained: u64 = causes.map(|count| count.as_u64().unwrap()).sum();
        assert_eq!(number("late"), explained + number("unexplained"));
        let whose = told["whose"].as_object().unwrap().values();
        assert_eq!(number("misses"), whose.map(|count| count.as_u64().unwrap()).sum::<u64>());
        for times in ["ready_ns", "duration_ns", "lateness_ns"] {
            let of = |key: &str| told[times][key].as_u64().unwrap();
            assert!(of("p50") <= of("p99") && of("p99") <= of("max"), "{told:#}");
        }
        assert!(!told["worst"]["trace"]["lanes"].as_array().unwrap().is_empty());
        // The rehearsal of `auto` is not heard.
        assert!(told["worst"]["trace"]["block"].as_u64().unwrap() < number("blocks"), "{told:#}");
        assert!(!told["threads"].as_array().unwrap().is_empty() && told["interrupted"] == false);
    }
}

#[test]
fn misses_are_explained_and_give_exit_code_1_where_asked_for() {
    let (_folder, file) = hopeless();
    let hopeless = ["--frames", "1", "--rate", "192000", "--length", "0.02"];
    let mut args = vec!["play", &file, "--json"];
    args.extend(hopeless);
    assert_eq!(json(&args).0, Some(0));
    args.extend(["--max-misses", "0"]);
    let (code, told) = json(&args);
    assert_eq!(code, Some(1));
    assert!(told["late"].as_u64().unwrap() > 0);
    let explained = told["explanations"].as_array().unwrap();
    assert!(!explained.is_empty(), "{told:#}");
    assert!(explained.iter().all(|one| one["text"].as_str().unwrap().contains("too late: ")));
}

/// A session that nobody can play in time, because a frame lasts 5 µs.
fn hopeless() -> (tempfile::TempDir, String) {
    session(
        "[session]\nsample_rate_hz = 44100\nresample = true\n\n[[track]]\nname = \"one\"\n\
         clip = [{ file = \"loop.flac\" }]\n",
    )
}

fn lines(path: &std::path::Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap();
    assert!(text.ends_with('\n'), "the last line is whole");
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_log_has_a_line_for_each_miss_and_the_counts_at_its_end() {
    let (folder, file) = hopeless();
    let log = folder.path().join("log.jsonl");
    let path = log.to_str().unwrap();
    let args = ["play", &file, "--json", "--frames", "1", "--rate", "192000", "--length", "0.01"];
    let (code, told) = json(&[&args[..], &["--log", path]].concat());
    assert_eq!(code, Some(0));
    let lines = lines(&log);
    let (first, last) = (&lines[0], lines.last().unwrap());
    assert_eq!((&first["format"], &first["event"]), (&"hocket-play-log/1".into(), &"start".into()));
    assert_eq!((&first["device"], &first["frames"]), (&"virtual".into(), &1.into()));
    assert_eq!(
        (&first["rate_hz"], &first["hocket"]),
        (&192_000.into(), &env!("CARGO_PKG_VERSION").into())
    );
    assert!(first["schedule"].is_string() && first["sibling"].is_string(), "{first}");

    assert_eq!(last["event"], "end");
    for key in ["blocks", "misses", "late", "skipped", "whose", "causes", "xruns", "unexplained"] {
        assert_eq!(last[key], told[key], "{key}");
    }
    let incidents = &lines[1..lines.len() - 1];
    let of = |line: &Value, key: &str| line[key].as_u64().unwrap();
    assert_eq!((of(last, "lines_left_out"), of(last, "incidents_lost")), (0, 0));
    let late = incidents.iter().filter(|line| line["event"] == "late");
    assert_eq!(late.count() as u64, of(last, "late"));
    let skipped: u64 = incidents.iter().map(|line| of(line, "skipped_periods")).sum();
    assert_eq!(skipped, of(last, "skipped"));
    assert!(of(last, "late") > 0, "{last}");
    for party in ["ours", "server", "machine", "unknown"] {
        let its = incidents.iter().filter(|line| line["whose"] == party);
        let misses =
            its.map(|line| u64::from(line["event"] == "late") + of(line, "skipped_periods"));
        assert_eq!(misses.sum::<u64>(), of(&last["whose"], party), "{party}");
    }
    for line in incidents.iter().filter(|line| line["event"] == "late") {
        // A frame lasts 5208 ns; each that has begun counts.
        let (ns, frames) = (of(line, "late_ns"), of(line, "late_frames"));
        assert_eq!(frames, (ns * 192_000).div_ceil(1_000_000_000), "{line}");
        assert!(line["at"].as_str().unwrap().ends_with('Z') && line["after_s"].is_number());
        assert_eq!(line["cause"].is_null(), line["text"].is_null(), "{line}");
    }
    let explained = incidents.iter().filter(|line| line["text"].is_string());
    assert!(explained.clone().count() > 0, "nothing is explained");
    assert!(explained.clone().all(|line| line["text"].as_str().unwrap().contains("too late: ")));
}

#[test]
fn a_log_replaces_nothing_unless_it_is_forced_to() {
    let (folder, file) = one_track("");
    let log = folder.path().join("log.jsonl");
    let args = ["play", &file, "--length", "0.1", "--log", log.to_str().unwrap()];
    assert_eq!(run(&args).code, Some(0));
    let before = std::fs::read(&log).unwrap();
    check_refused(&args, 2, &["--log", "log.jsonl", "there is a file already", "--force"]);
    assert_eq!(std::fs::read(&log).unwrap(), before);
    let forced = run(&[&args[..], &["--force"]].concat());
    assert_eq!(forced.code, Some(0), "{}", forced.err);
    let lines = lines(&log);
    assert_eq!(
        (&lines[0]["event"], &lines.last().unwrap()["event"]),
        (&"start".into(), &"end".into())
    );
    check_refused(&["play", &file, "--log", &file], 2, &["--log", "the session", "name another"]);
    check_refused(&["play", &file, "--force"], 2, &["--log"]);
    for out in ["-", "/dev/stdout"] {
        let args = ["play", &file, "--length", "0.1", "--log", out];
        check_refused(&args, 2, &["--log", "standard output has the result", "name a file"]);
    }
    let nowhere = folder.path().join("no/log.jsonl");
    check_refused(
        &["play", &file, "--log", nowhere.to_str().unwrap()],
        3,
        &["--log", "no such folder"],
    );
}

/// A service starts again with the same command.
#[test]
fn with_numbers_each_run_has_a_log_with_the_number_of_its_takes() {
    let (folder, file) = one_track("");
    let at = |name: &str| folder.path().join(name);
    let take = format!("master={}", at("mix.wav").display());
    let log = at("log.jsonl").display().to_string();
    let args = ["play", &file, "--length", "0.1", "--number-takes", "--log", &log];
    for take in [&["--take", &take][..], &[], &["--take", &take]] {
        let ran = run(&[&args[..], take].concat());
        assert_eq!(ran.code, Some(0), "{}", ran.err);
    }
    for name in ["log.jsonl", "log-2.jsonl", "log-3.jsonl"] {
        assert_eq!(lines(&at(name)).last().unwrap()["event"], "end", "{name}");
    }
    let is_there = ["mix.wav", "mix-2.wav", "mix-3.wav"].map(|name| at(name).exists());
    assert_eq!(is_there, [true, false, true]);
    // What is no file has no number.
    let device = ["play", &file, "--length", "0.1", "--number-takes", "--log", "/dev/null"];
    assert_eq!(run(&device).code, Some(0));
}

/// The second one is refused however it was asked, and the first one keeps every line.
#[test]
fn two_runs_never_write_the_same_log() {
    let (folder, file) = one_track("");
    let log = folder.path().join("log.jsonl");
    let args = ["play", &file, "--length", "600", "--log", log.to_str().unwrap()];
    let mut first = crate::support::hocket(&args);
    let first = first.stdout(Stdio::null()).stderr(Stdio::null());
    let mut first = first.spawn().unwrap();
    let is_begun = || std::fs::read(&log).is_ok_and(|text| text.ends_with(b"\n"));
    while !is_begun() {
        assert_eq!(first.try_wait().unwrap(), None, "the first one has ended");
        std::thread::sleep(Duration::from_millis(10));
    }
    let begun = std::fs::read(&log).unwrap();
    check_refused(&[&args[..], &["--force"]].concat(), 3, &["log.jsonl", "another run writes"]);
    let text = std::fs::read(&log).unwrap();
    first.kill().unwrap();
    first.wait().unwrap();
    assert!(text.starts_with(&begun), "{}", String::from_utf8_lossy(&text));
}

#[test]
fn a_log_on_a_full_disk_is_told_once_and_the_session_plays_on() {
    let (_folder, file) = hopeless();
    let args = ["play", &file, "--json", "--frames", "1", "--rate", "192000", "--length", "0.01"];
    let ran = run(&[&args[..], &["--log", "/dev/full"]].concat());
    assert_eq!(ran.code, Some(4), "{}", ran.err);
    let warnings = ran.err.matches("--log /dev/full: cannot be written").count();
    assert_eq!(warnings, 1, "{}", ran.err);
    assert!(ran.err.contains("free some space"), "{}", ran.err);
    let told: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(told["frames_played"], 1_920);
}

#[test]
fn a_log_that_fills_the_disk_keeps_every_line_that_is_whole() {
    const NAME: &str = "a_log_that_fills_the_disk_keeps_every_line_that_is_whole";
    let (folder, file) = hopeless();
    let (full, kept) = (folder.path().join("full"), folder.path().join("kept.jsonl"));
    std::fs::create_dir(&full).unwrap();
    let play = format!(
        "'{}' play '{file}' --json --frames 1 --rate 192000 --length 0.01 --log '{full}/log'; code=$?; \
         cp '{full}/log' '{kept}'; exit $code",
        env!("CARGO_BIN_EXE_hocket"),
        full = full.display(),
        kept = kept.display(),
    );
    let Some(ran) = in_small_file_system(64, &full, &play) else {
        return println!("SKIPPED {NAME}: no mount in a namespace of its own here");
    };
    assert_eq!(ran.code, Some(4), "{}", ran.err);
    assert_eq!(ran.err.matches("cannot be written").count(), 1, "{}", ran.err);
    assert!(ran.err.contains("plays on"), "{}", ran.err);
    let told: Value = serde_json::from_str(&ran.out).unwrap();
    let lines = lines(&kept);
    assert_eq!(lines[0]["event"], "start");
    let late = lines.iter().filter(|line| line["event"] == "late").count() as u64;
    assert!(late > 0 && late < told["late"].as_u64().unwrap(), "{late} of {}", told["late"]);
}

#[test]
fn what_cannot_be_played_is_refused() {
    let (_folder, file) = one_track("");
    check_refused(&["play", &file, "--device", "pipewire"], 3, &["use jack", "hocket devices"]);
    check_refused(&["play", &file, "--device", "tape"], 2, &["tape", "choose jack, alsa"]);
    check_refused(&["play", &file, "--length", "0"], 2, &["--length 0"]);
    check_refused(&["play", &file, "--frames", "0"], 2, &["0 frames"]);
    check_refused(&["play", &file, "--workers", "1000"], 2, &["1000"]);
    check_refused(&["play", &file, "--schedule", "autom"], 2, &["autom", "auto"]);
    check_refused(&["play", "gone.toml"], 2, &["gone.toml"]);
}

#[test]
fn costs_are_kept_and_used_again() {
    let (folder, file) = one_track("");
    let costs = folder.path().join("costs.toml");
    let name = costs.to_str().unwrap();
    let args = ["play", &file, "--length", "0.3", "--costs", name, "--schedule", "auto"];
    let first = run(&args);
    assert_eq!(first.code, Some(0), "{}", first.err);
    assert!(first.err.contains("there is no such file yet"), "{}", first.err);
    let table = hocket_session::read_costs(&costs).unwrap();
    assert!(!table.rows.is_empty() && table.frames == 64);
    let again = run(&args);
    assert_eq!(again.code, Some(0), "{}", again.err);
    let chains = table.rows.len();
    assert!(
        again.err.contains(&format!("the costs of {chains} of {chains} chains")),
        "{}",
        again.err
    );

    std::fs::write(&costs, "format = 3").unwrap();
    check_refused(&args, 2, &["costs.toml:1:10", "must be a text", "remedy"]);
    assert_eq!(std::fs::read_to_string(&costs).unwrap(), "format = 3");
    let args = ["play", &file, "--length", "0.3", "--costs", folder.path().to_str().unwrap()];
    check_refused(&args, 2, &["this is no file"]);
    let nowhere = folder.path().join("no/where.toml");
    let args = ["play", &file, "--length", "0.3", "--costs", nowhere.to_str().unwrap()];
    check_refused(&args, 2, &["there is no folder", "create it"]);
}

/// The worst block names both strips of a unit. Costs have a row for each strip, so plans without lanes find them, too.
#[test]
fn strips_abreast_are_named_together_and_their_costs_apart() {
    let (folder, file) = two_alike();
    for lanes in ["off", "auto"] {
        let costs = folder.path().join(format!("{lanes}.toml"));
        let path = costs.to_str().unwrap();
        let args = ["play", &file, "--length", "0.3", "--json", "--schedule", "serial"];
        let (code, told) = json(&[&args[..], &["--lanes", lanes, "--costs", path]].concat());
        assert_eq!(code, Some(0));
        let names = told["worst"]["trace"]["unit_names"].as_array().unwrap().iter();
        let has = |name: &&Value, strip: &str| name.as_str().unwrap().contains(strip);
        let both =
            names.filter(|name| has(name, "one: ") && has(name, " | ") && has(name, "two: "));
        let expected = usize::from(lanes == "auto" && runs_abreast());
        assert_eq!(both.count(), expected, "{lanes}: {}", told["worst"]["trace"]);
        let rows = hocket_session::read_costs(&costs).unwrap().rows;
        for strip in ["one: ", "two: "] {
            let own = rows.iter().filter(|row| row.chain.starts_with(strip)).count();
            assert_eq!(own, 1, "{strip}, {lanes}: {rows:?}");
        }
        assert!(rows.iter().all(|row| !row.chain.contains(" | ")), "{lanes}: {rows:?}");
    }
}

#[test]
fn what_cannot_be_printed_is_not_lost_in_silence() {
    let (_folder, file) = one_track("");
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let mut command = crate::support::hocket(&["play", &file, "--length", "0.1", "--json"]);
    let ran = command.stdout(full).output().unwrap();
    let told = String::from_utf8_lossy(&ran.stderr).into_owned();
    assert_eq!(ran.status.code(), Some(3), "{told}");
    assert!(told.contains("what was to be printed is lost"), "{told}");
}

#[test]
fn lines_that_cannot_be_printed_are_told_once() {
    let (_folder, file) = one_track("");
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let mut command = crate::support::hocket(&["play", &file, "--length", "2.5", "--headless"]);
    let ran = command.stdout(full).output().unwrap();
    let told = String::from_utf8_lossy(&ran.stderr).into_owned();
    assert_eq!(ran.status.code(), Some(3), "{told}");
    assert_eq!(told.matches("what was to be printed is lost").count(), 1, "{told}");
}

#[test]
fn help_that_cannot_be_printed_is_not_lost_in_silence() {
    for args in [&["--help"][..], &["--version"], &["render", "--help"], &["help", "play"]] {
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let ran = crate::support::hocket(args).stdout(full).output().unwrap();
        let told = String::from_utf8_lossy(&ran.stderr).into_owned();
        assert_eq!(ran.status.code(), Some(3), "{args:?}: {told}");
        assert!(told.contains("what was to be printed is lost"), "{args:?}: {told}");
        assert_eq!(run(args).code, Some(0), "{args:?}");
    }
}

#[test]
fn every_wait_keeps_a_seat() {
    let (_folder, file) = one_track("");
    for wait in hocket_engine::Strategy::here() {
        let wait = wait.name();
        let args =
            ["play", &file, "--length", "0.1", "--policy", "idle-thread", "--seat-wait", wait];
        let ran = run(&args);
        assert_eq!(ran.code, Some(0), "{wait}: {}", ran.err);
    }
}
