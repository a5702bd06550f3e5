//! `hocket play`: runs, tells, ends when told.

use serde_json::Value;

use crate::support::{check_refused, example, one_track, run, session};

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
    // A frame lasts 5 us: nobody wakes up in that time.
    let (_folder, file) = session(
        "[session]\nsample_rate_hz = 44100\nresample = true\n\n[[track]]\nname = \"one\"\n\
         clip = [{ file = \"loop.flac\" }]\n",
    );
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
