//! What experiments advise follows from their figures, and says where these show nothing.

use super::affinity::Affinity;
use super::capacity::Capacity;
use super::guest::measured;
use super::priority::Priority;
use super::schedules::Schedules;
use super::smt_bound::SmtBound;
use super::tuning::Tuning;
use super::wake::Wake;
use crate::harness::{Design, Experiment, Host, Sentence, Size, Standing};

fn design_of(experiment: &dyn Experiment) -> Design {
    experiment.design(&Host::described_with_smt(), Size::Quick).unwrap()
}

/// What it advises where the variants whose names `value` knows have these figures.
fn advised(
    experiment: &dyn Experiment,
    metric: &'static str,
    value: impl Fn(&str) -> Option<f64>,
) -> Sentence {
    let design = design_of(experiment);
    let names: Vec<String> = design.variants.iter().map(|it| it.name.clone()).collect();
    let figures = names.iter().filter_map(|name| Some((name.as_str(), metric, value(name)?)));
    let figures: Vec<_> = figures.collect();
    assert!(figures.len() >= 2, "{names:?}");
    experiment.advice(&measured(design, &figures)).unwrap()
}

#[track_caller]
fn check(sentence: &Sentence, standing: Standing, begins: &str, has: &str) {
    let Sentence { text, .. } = sentence;
    assert_eq!(sentence.standing, standing, "{text}");
    assert!(text.starts_with(begins) && text.contains(has), "{text}");
}

#[test]
fn whether_smt_pays() {
    let of =
        |gain: f64| advised(&SmtBound, "speed-up", |name| name.contains("biquads").then_some(gain));
    check(&of(1.3), Standing::Shown, "Leave SMT on:", "+30");
    check(&of(0.8), Standing::Shown, "Use one thread of each core:", "-20");
    check(&of(0.999), Standing::NotShown, "Leave SMT as it is, no difference shown", "");
    let mut results = measured(design_of(&SmtBound), &[]);
    results.run.not_measurable = Some("there are no siblings".into());
    let none = SmtBound.advice(&results).unwrap();
    check(&none, Standing::NotMeasurable, "Whether SMT pays:", "no siblings");
}

#[test]
fn whether_several_workers_pay() {
    let of = |parallel: f64| {
        advised(&Schedules, "duration", |name| match name {
            "64 dataflow all hybrid" => Some(parallel),
            _ if name.starts_with("64 serial") => Some(400.0),
            _ => name.starts_with("64 ").then_some(420.0),
        })
    };
    check(&of(200.0), Standing::Shown, "Use all workers: at 64 frames", "dataflow all hybrid");
    check(&of(410.0), Standing::NotShown, "Leave the schedule to `auto`", "not shown");
}

#[test]
fn whether_priorities_pay() {
    let of = |equal: f64, fifo: Option<f64>| {
        advised(&Priority, "time", |name| match name {
            "alone" => Some(10.0),
            "equal same-cpu 3-load" => Some(equal),
            "fifo same-cpu 3-load" => fifo,
            _ => None,
        })
    };
    check(&of(40.0, None), Standing::Shown, "Get a real-time priority", "hocket doctor");
    if design_of(&Priority).index("fifo same-cpu 3-load").is_none() {
        println!("SKIPPED whether_priorities_pay, in part: SCHED_FIFO is refused here");
        return;
    }
    check(
        &of(40.0, Some(9.99)),
        Standing::Shown,
        "Give audio threads a real-time priority",
        "+300",
    );
    let none = "Priorities: that they help is not shown";
    check(&of(9.99, Some(9.99)), Standing::NotShown, none, "");
    // The load slows both alike.
    check(&of(40.0, Some(40.0)), Standing::NotShown, none, "+300");
}

#[test]
fn whether_it_pays_to_tie_threads_to_cpus() {
    let of = |pinned: f64| {
        advised(&Affinity, "time", |name| {
            Some(if name.contains(" pinned ") { pinned } else { 10.0 })
        })
    };
    check(&of(10.0), Standing::NotShown, "Do not tie threads to CPUs by hand: no difference", "");
    check(&of(14.0), Standing::Shown, "Do not tie threads to CPUs by hand: time", "+40");
    check(&of(7.0), Standing::Shown, "Tie threads to CPUs: time", "-30");
}

#[test]
fn how_workers_wait_and_how_much_fits() {
    let waits = |futex_ns: f64| {
        advised(&Wake, "lateness", |name| match name {
            "spin fifo idle" | "spin ordinary idle" => Some(200.0),
            "futex fifo idle" | "futex ordinary idle" => Some(futex_ns),
            _ => None,
        })
    };
    check(&waits(27_000.0), Standing::Shown, "Let workers look for a moment", "27.0 µs");
    check(&waits(200.0), Standing::NotShown, "How workers wait is open", "");
    let fits = advised(&Capacity, "channels", |_| Some(400.0));
    check(&waits(180.0), Standing::Shown, "Let workers sleep at once", "");
    check(&fits, Standing::Shown, "How much fits:", "400 channels at 64 frames");
}

#[test]
fn which_settings_are_worth_it() {
    let of = |slack_ns: f64| {
        advised(&Tuning, "lateness", |name| match name {
            "ordinary timer-slack rest" => Some(slack_ns),
            "ordinary as-is rest" => Some(60_000.0),
            _ => None,
        })
    };
    let helps = of(6_000.0);
    check(&helps, Standing::Shown, "Worth setting here: the least timer slack", "(at rest: ");
    assert!(helps.text.contains("-90"), "{}", helps.text);
    let leave = "Leave the system's settings as they are: none of those tried";
    check(&of(60_000.0), Standing::NotShown, leave, "no difference shown");
    check(&of(90_000.0), Standing::Shown, leave, "run earlier");
}
