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
fn what_is_wrong_comes_with_a_reason_and_a_remedy() {
    let (code, value) = findings(&[]);
    assert_eq!(code, Some(0));
    let all = value["findings"].as_array().unwrap();
    assert!(all.len() >= 12, "{all:?}");
    for finding in all {
        let text = |name: &str| finding[name].as_str().unwrap_or_default().to_owned();
        assert!(!text("check").is_empty() && !text("found").is_empty(), "{finding}");
        let is_wrong = ["problem", "advice"].contains(&&*text("verdict"));
        assert_eq!(is_wrong, !text("why").is_empty() && !text("remedy").is_empty(), "{finding}");
    }
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
