//! `guest`: variants of a program of the user's.

use std::collections::BTreeMap;
use std::sync::OnceLock;
use std::time::Duration;

use crate::guest::{Stage, Turn};
use crate::harness::{
    About, Check, Design, Experiment, Fault, Host, Metric, NotMeasurable, Opened, Results, Rounds,
    Row, Sample, Section, Sentence, Size, Variant, contrast_sentences,
};
use crate::stats::quantile_sorted;

/// See [`About`].
pub struct Guest;

/// Its name.
pub const ID: &str = "guest";

static ABOUT: About = About {
    id: ID,
    section: Section::Programs,
    question: "How do the variants of a program of yours compare?",
    origin: "the lab's own harness, for programs in any language",
    method: "`hocket lab run --guest CMD` starts the program, which says which variants it has. In each round, each \
             variant gets one line of JSON on standard input, works once, and answers with one line: how long the work took \
             by its own clock, and a checksum. All checksums of a variant must be equal. docs/lab.md teaches the protocol. \
             Each process start of the lab starts the program anew.",
    limits: "Time is what the program says; an answer that claims more than the lab has waited is refused. What its own clock \
             leaves out is in `overhead`. CPU time is without the program's own children.",
    metrics: &[TIME, OVERHEAD, CPU_TIME],
    parameters: &[],
};

/// What a guest says.
pub(super) const TIME: Metric = Metric::less("time", "ms")
    .means("How long the work of a round took, by the guest's own clock.");

/// The cost of a round beyond its work.
pub(super) const OVERHEAD: Metric = Metric::less("overhead", "us")
    .means("From the lab's request to the answer, less the time in which the guest was busy with it: two lines through pipes \
            and two wake-ups. Where the guest does not say how long it was busy, less the time of its work.");

pub(super) const CPU_TIME: Metric = Metric::less("cpu-time", "ms").means(
    "CPU time of the guest's process from the request to the answer, all its threads together.",
);

/// What a round of ours beyond its work may cost: what shows differences of a few per cent in rounds of tens of
/// milliseconds.
const AIM_US: f64 = 1000.0;
/// The share of rounds that must not cost more. The rest is left to interrupts and other programs, which no guest can keep
/// away.
const MOST_ROUNDS: f64 = 0.95;

/// What the drawing threads of our guests used; the guest counts it.
pub(super) const DRAW_CPU_TIME: Metric = Metric::less("draw-cpu-time", "ms")
    .means("CPU time from the first thread's beginning to the last one's end, as the guest counts it; without starting the \
            threads.");

/// The same for context switches that a thread asked for.
pub(super) const VOLUNTARY: Metric = Metric::less("switches-voluntary", "")
    .means("Context switches of all threads of the guest because a thread waited.");

/// And those that it did not ask for.
pub(super) const INVOLUNTARY: Metric = Metric::less("switches-involuntary", "")
    .means("Context switches of all threads of the guest because another thread took the CPU.");

/// How long a round may take.
const PATIENCE: [Duration; 2] = [Duration::from_secs(5), Duration::from_secs(60)];

/// What a guest without variants has.
const ONLY: &str = "round";

/// A guest from the command line.
static ASKED: OnceLock<Asked> = OnceLock::new();

struct Asked {
    command: Vec<String>,
    variants: Vec<String>,
}

/// From now on `guest` measures this program; once a process. Starts it once for its greeting.
///
/// # Errors
/// It cannot be started, does not greet, cannot be ended, or `is_ending` says that it is to end.
pub fn ask_for(command: Vec<String>, is_ending: &dyn Fn() -> bool) -> Result<(), Fault> {
    let mut stage = Stage::open_unless(&command, is_ending)?;
    stage.end()?;
    let mut variants = std::mem::take(&mut stage.variants);
    if variants.is_empty() {
        variants.push(ONLY.into());
    }
    // A second one in the same process is not asked for by anybody.
    let _ = ASKED.set(Asked { command, variants });
    Ok(())
}

impl Experiment for Guest {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn design(&self, _: &Host, size: Size) -> Result<Design, NotMeasurable> {
        let asked = ASKED.get().ok_or_else(|| {
            NotMeasurable::new("no program is named; `hocket lab run --guest ./program` names one")
        })?;
        Ok(design(asked, size))
    }

    fn open(&self, _: &Host, size: Size, design: &Design) -> Opened {
        let command = command_of(&design.variants)?;
        let stage = Stage::open(&command).map_err(NotMeasurable::new)?;
        let mut stage = stage.with_patience(size.of(PATIENCE));
        let names: Vec<String> = design.variants.iter().map(|it| it.name.clone()).collect();
        let none = BTreeMap::new();
        Ok(Box::new(move |variant: usize| Ok(samples(&stage.turn(&names[variant], &none)?))))
    }

    fn findings(&self, results: &Results) -> Vec<Sentence> {
        contrast_sentences(results).into_iter().chain(overhead(results)).collect()
    }
}

fn design(asked: &Asked, size: Size) -> Design {
    let command = written(&asked.command);
    let variant = |name: &String| Variant::new(name).with(COMMAND, &command);
    let variants = asked.variants.iter().map(variant).collect();
    Design::against_first(variants, TIME.name, Rounds::usual(size)).twinned()
}

/// The factor that says what was run.
pub(super) const COMMAND: &str = "command";

/// The words of a command in one text.
pub(super) fn written(command: &[String]) -> String {
    serde_json::Value::from(command).to_string()
}

/// The command of a design.
pub(super) fn command_of(variants: &[Variant]) -> Result<Vec<String>, NotMeasurable> {
    let text = variants.first().map_or("", |variant| variant.level(COMMAND));
    serde_json::from_str(text).map_err(|_| NotMeasurable::new("a variant of another version"))
}

/// What every guest's turn has.
pub(super) fn samples(turn: &Turn) -> Vec<Sample> {
    let ops = turn.answer.ops;
    let busy_ns = turn.answer.busy_ns.unwrap_or(turn.answer.time_ns);
    let overhead_us = (turn.waited_ns as f64 - busy_ns).max(0.0) / 1e3;
    let mut samples = vec![
        Sample::new(TIME.name, turn.answer.time_ns / 1e6, ops, turn.check.clone()),
        Sample::new(OVERHEAD.name, overhead_us, 1, Check::None("a time has no result".into())),
    ];
    let cpu_ms = turn.cpu_ns.map(|ns| ns as f64 / 1e6);
    samples.extend(cpu_ms.map(|ms| Sample::new(CPU_TIME.name, ms, ops, turn.check.clone())));
    samples
}

/// The same, and what else our own guests say of their drawing threads.
pub(super) fn drawn_samples(turn: &Turn) -> Vec<Sample> {
    let said = [
        (DRAW_CPU_TIME.name, "draw_cpu_ns", 1e6),
        (VOLUNTARY.name, "voluntary", 1.0),
        (INVOLUNTARY.name, "involuntary", 1.0),
    ];
    let further = said.into_iter().filter_map(|(metric, name, by)| {
        let value = turn.answer.number(name)? / by;
        Some(Sample::new(metric, value, turn.answer.ops, turn.check.clone()))
    });
    samples(turn).into_iter().chain(further).collect()
}

/// What rounds cost beyond their work, and whether that is as little as we want. Where more threads than CPUs compute, the
/// answer waits for a CPU like everybody else, so these variants do not count. One round is as good as another, so all of
/// them are looked at together: a busy machine moves the upper quantiles, and the fastest round shows what is left without it.
pub(super) fn overhead(results: &Results) -> Option<Sentence> {
    let uncrowded = results.designed().iter().filter(|variant| !variant.crowded);
    let rows: Vec<&Row> =
        uncrowded.flat_map(|variant| results.rows_of(&variant.name, OVERHEAD.name)).collect();
    let mut costs: Vec<f64> = rows.iter().map(|row| row.sample.value).collect();
    costs.sort_unstable_by(f64::total_cmp);
    let fastest = *costs.first()?;
    let [median, most] = [0.5, MOST_ROUNDS].map(|q| quantile_sorted(&costs, q));
    let (median, most) = (median?, most?);
    let quiet = rows.iter().filter(|row| row.flags.is_empty());
    let quiet: Vec<f64> = quiet.map(|row| row.sample.value).collect();
    let share = |of: &[f64]| {
        let within = of.iter().filter(|cost| **cost <= AIM_US).count();
        100.0 * within as f64 / of.len() as f64
    };
    let verdict = match (most <= AIM_US, fastest <= AIM_US) {
        (true, _) => "the aim of at most 1 ms is met".into(),
        (false, false) => "every round misses the aim of at most 1 ms".into(),
        (false, true) if quiet.is_empty() => {
            format!(
                "{:.0} % of them meet the aim of at most 1 ms, all on a busy machine",
                share(&costs)
            )
        }
        (false, true) => format!(
            "{:.0} % of them meet the aim of at most 1 ms, and {:.0} % of the {} while nothing else ran",
            share(&costs),
            share(&quiet),
            quiet.len()
        ),
    };
    Some(Sentence::fact(format!(
        "besides its work a round costs {fastest:.0} µs at least, {median:.0} µs in the median, and at most {most:.0} µs in {:.0} \
         of 100 ({} rounds in which each thread has a CPU): {verdict}",
        MOST_ROUNDS * 100.0,
        costs.len()
    )))
}

/// Results of a described run: three process starts of four rounds, in which each figure is the same but for a thousandth.
#[cfg(test)]
pub(super) fn measured(design: Design, figures: &[(&str, &'static str, f64)]) -> Results {
    use crate::harness::{ExperimentRun, twin_of};
    let twins = design.twins.iter().map(|twin| design.variants[*twin].name.clone());
    let twins: Vec<String> = twins.collect();
    let row = |variant: &str, at: u32, metric: &str, value: f64| {
        let value = value * (1.0 + 0.001 * f64::from(at % 3));
        let sample = Sample::new(metric, value, 1, Check::Passed);
        Row { started_ns: u64::from(at), ..Row::new(variant, at / 4, at % 4, sample) }
    };
    let mut rows = Vec::new();
    for at in 0..12 {
        for (variant, metric, value) in figures {
            rows.push(row(variant, at, metric, *value));
            if twins.iter().any(|twin| twin == variant) {
                rows.push(row(&twin_of(variant), at, metric, *value));
            }
        }
    }
    let run = ExperimentRun { design: Some(design), ..ExperimentRun::new(ID, Size::Quick) };
    Results { run, rows, seed: 1, historic: Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCRIPT: &str = r#"echo '{"hocket-guest": 1, "variants": ["a", "b"]}'
        n=0
        while read line; do echo "{\"round\": $n, \"time_ns\": 2000000, \"ops\": 3, \"checksum\": \"x\"}"; n=$((n+1)); done"#;

    #[test]
    fn a_guest_is_compared_and_its_overhead_told() {
        let command = ["sh", "-c", SCRIPT].map(String::from).to_vec();
        let variants = Stage::open(&command).unwrap().variants.clone();
        let design = design(&Asked { command: command.clone(), variants }, Size::Quick);
        assert_eq!((design.fault(), design.contrasts.len()), (None, 1));
        assert_eq!(command_of(&design.variants).unwrap(), command);
        let turn = Turn {
            answer: crate::guest::Answer::read(
                r#"{"round": 0, "time_ns": 2000000, "ops": 3}"#,
                0,
                2_500_000,
            )
            .unwrap(),
            waited_ns: 2_500_000,
            cpu_ns: Some(1_000_000),
            check: Check::Passed,
        };
        let values: Vec<f64> = samples(&turn).iter().map(|sample| sample.value).collect();
        assert_eq!(values, [2.0, 500.0, 1.0]);
        assert_eq!(samples(&turn)[0].ops, 3);
    }

    #[test]
    fn nothing_is_run_that_nobody_named() {
        let host = Host::described_with_smt();
        let why = Guest.design(&host, Size::Quick).unwrap_err();
        assert!(why.0.contains("--guest"), "{why}");
    }

    /// What is counted beyond the work is what the lab waited longer than the guest was busy. How much that is depends on
    /// the machine; the report says whether it is little enough.
    #[test]
    fn the_cost_of_a_round_is_what_the_guest_was_not_busy_with() {
        let script = SCRIPT.replace("2000000", "1, \\\"busy_ns\\\": 1");
        let mut stage = Stage::open(&["sh", "-c", &script]).unwrap();
        let costs: Vec<(u64, f64)> = (0..50)
            .map(|_| {
                let turn = stage.turn("a", &BTreeMap::new()).unwrap();
                let cost = samples(&turn).into_iter().find(|it| it.metric == OVERHEAD.name);
                (turn.waited_ns, cost.unwrap().value)
            })
            .collect();
        for (waited_ns, cost_us) in &costs {
            assert_eq!(*cost_us, (*waited_ns as f64 - 1.0) / 1e3);
        }
        let smallest = costs.iter().map(|(_, cost)| *cost).fold(f64::INFINITY, f64::min);
        println!("the cheapest of {} rounds cost {smallest:.1} µs", costs.len());
    }

    fn told(change: impl Fn(&mut Vec<Row>)) -> String {
        let variants = vec![Variant::new("a"), Variant::new("b").crowded()];
        let design = Design::facts(variants, Rounds::few(Size::Quick));
        let figures = [("a", OVERHEAD.name, 180.0), ("b", OVERHEAD.name, 9e9)];
        let mut results = measured(design, &figures);
        change(&mut results.rows);
        overhead(&results).unwrap().text
    }

    /// Of the rounds that count, the first ones cost more, beside another program or not.
    fn with_slow(slow: usize, flags: &[&str]) -> String {
        told(|rows| {
            for row in rows.iter_mut().filter(|row| row.variant == "a").take(slow) {
                row.sample.value = 5000.0;
                row.flags = flags.iter().map(|flag| (*flag).to_owned()).collect();
            }
        })
    }

    #[test]
    fn the_report_says_whether_rounds_cost_little_enough() {
        let good = told(|_| {});
        assert!(good.contains("costs 180 µs at least") && good.contains("is met"), "{good}");
        assert!(good.contains("(12 rounds in which"), "crowded variants do not count: {good}");
        let slow = with_slow(12, &[]);
        assert!(slow.contains("every round misses the aim"), "{slow}");
    }

    #[test]
    fn a_busy_machine_is_told_from_a_guest_that_costs_too_much() {
        // The median would hide either.
        let own = with_slow(3, &[]);
        assert!(own.contains("75 % of them meet") && own.contains("75 % of the 12 while"), "{own}");
        let others = with_slow(3, &["foreign"]);
        assert!(others.contains("75 % of them meet"), "{others}");
        assert!(others.contains("100 % of the 9 while nothing else ran"), "{others}");
        let busy = told(|rows| {
            let of_a = rows.iter_mut().filter(|row| row.variant == "a");
            for (at, row) in of_a.enumerate() {
                row.sample.value = if at % 2 == 0 { 200.0 } else { 5000.0 };
                row.flags = vec!["foreign".into()];
            }
        });
        assert!(busy.contains("all on a busy machine"), "{busy}");
    }
}
