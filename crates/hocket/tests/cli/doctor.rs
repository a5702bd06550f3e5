//! `hocket doctor`: every check answers, on a machine of whatever kind the tests run on.

use serde_json::Value;

use crate::support::{check_refused, run};

fn findings(args: &[&str]) -> (Option<i32>, Value) {
    let ran = run(&[&["doctor", "--json", "--seconds", "0"], args].concat());
    let value: Value =
        serde_json::from_str(&ran.out).unwrap_or_else(|e| panic!("{e}: {}", ran.out));
    assert_eq!(value["format"], "hocket-doctor/1");
    (ran.code, value)
}

#[test]
fn every_finding_has_a_reason_and_what_is_wrong_a_remedy() {
    let (code, value) = findings(&[]);
    assert_eq!(code, Some(0));
    let all = value["findings"].as_array().unwrap();
    assert!(all.len() >= 12, "{all:?}");
    for finding in all {
        let text = |name: &str| finding[name].as_str().unwrap_or_default().to_owned();
        for name in ["check", "found", "why"] {
            assert!(!text(name).is_empty(), "{name}: {finding}");
        }
        let is_wrong = ["problem", "advice"].contains(&&*text("verdict"));
        assert_eq!(is_wrong, !text("remedy").is_empty(), "{finding}");
        let measured = &finding["measured"];
        let is_named = measured["what"].is_string() && measured["record"].is_string();
        assert!(measured.is_null() || is_named, "{finding}");
    }
}

#[test]
fn what_gives_priority_and_what_takes_memory_away_are_named() {
    let (_, value) = findings(&[]);
    let of = |check: &str| {
        let all = value["findings"].as_array().unwrap();
        let found = all.iter().find(|finding| finding["check"] == check).unwrap();
        found["found"].as_str().unwrap().to_owned()
    };
    let rtkit = of("RealtimeKit");
    assert!(["installed (", "not here: "].iter().any(|word| rtkit.starts_with(word)), "{rtkit}");
    let swap = of("swap");
    assert!(swap.contains("swappiness"), "{swap}");
}

#[test]
fn the_text_has_the_reason_of_each_finding_and_the_record_of_each_figure() {
    let ran = run(&["doctor", "--seconds", "0"]);
    let count = |word: &str| ran.out.lines().filter(|line| line.trim().starts_with(word)).count();
    let (_, value) = findings(&[]);
    let all = value["findings"].as_array().unwrap();
    assert_eq!(count("why: "), all.len(), "{}", ran.out);
    let measured = all.iter().filter(|finding| !finding["measured"].is_null()).count();
    assert_eq!(count("measured: "), measured, "{}", ran.out);
    assert!(ran.out.contains("(docs/results/live-2cpu-vm.json)"), "{}", ran.out);
}

#[test]
fn a_problem_is_an_exit_code_where_one_is_asked_for() {
    // The limits of this process decide: without them, a thread gets no real-time priority.
    let (code, value) = findings(&["--check"]);
    let has_problem =
        value["findings"].as_array().unwrap().iter().any(|finding| finding["verdict"] == "problem");
    assert_eq!(code, Some(i32::from(has_problem)));
}

#[test]
fn wake_ups_are_measured_as_an_ordinary_thread_and_as_the_best_one() {
    let ran = run(&["doctor", "--seconds", "1"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let line = ran.out.lines().find(|line| line.contains("wake-ups: measured now")).unwrap();
    assert!(line.contains("an ordinary thread woke ") && line.contains("µs at p99"), "{line}");
    let line = ran.out.lines().find(|line| line.contains("timers: ")).unwrap();
    assert!(line.contains("resolution") && line.contains("µs late at p50, "), "{line}");
    let last = ran.out.lines().last().unwrap();
    assert!(last.contains("problem"), "{last}");
}

#[test]
fn what_is_not_measured_is_unknown_and_never_good() {
    let (_, value) = findings(&[]);
    let all = value["findings"].as_array().unwrap();
    let wake_ups = all.iter().find(|finding| finding["check"] == "wake-ups").unwrap();
    assert_eq!((&wake_ups["verdict"], &value["wake_ups"]), (&"unknown".into(), &Value::Null));
    let timers = all.iter().find(|finding| finding["check"] == "timers").unwrap();
    assert!(["unknown", "problem"].contains(&timers["verdict"].as_str().unwrap()), "{timers}");
}

#[test]
fn an_endless_measurement_is_refused() {
    check_refused(&["doctor", "--seconds", "3601"], 2, &["--seconds", "3600"]);
}
