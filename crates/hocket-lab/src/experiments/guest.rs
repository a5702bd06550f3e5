//! `guest`: variants of a program of the user's.

use std::collections::BTreeMap;
use std::sync::OnceLock;
use std::time::Duration;

use crate::guest::{Stage, Turn};
use crate::harness::{
    About, Better, Check, Design, Experiment, Fault, Host, Metric, NotMeasurable, Opened, Results,
    Rounds, Sample, Section, Sentence, Size, Variant, contrast_sentences,
};

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
pub(super) const TIME: Metric = Metric {
    name: "time",
    unit: "ms",
    better: Better::Less,
    definition: "How long the work of a round took, by the guest's own clock.",
};

/// The cost of a round beyond its work.
pub(super) const OVERHEAD: Metric = Metric {
    name: "overhead",
    unit: "us",
    better: Better::Less,
    definition: "From the lab's request to the answer, less the time in which the guest was busy with it: two lines through pipes \
                 and two wake-ups. Where the guest does not say how long it was busy, less the time of its work.",
};

pub(super) const CPU_TIME: Metric = Metric {
    name: "cpu-time",
    unit: "ms",
    better: Better::Less,
    definition: "CPU time of the guest's process from the request to the answer, all its threads together.",
};

/// What a round of ours beyond its work may cost: what shows differences of a few per cent in rounds of tens of
/// milliseconds.
const AIM_US: f64 = 1000.0;

/// What the drawing threads of our guests used; the guest counts it.
pub(super) const DRAW_CPU_TIME: Metric = Metric {
    name: "draw-cpu-time",
    unit: "ms",
    better: Better::Less,
    definition: "CPU time from the first thread's beginning to the last one's end, as the guest counts it; without starting the \
                 threads.",
};

/// The same for context switches that a thread asked for.
pub(super) const VOLUNTARY: Metric = Metric {
    name: "switches-voluntary",
    unit: "",
    better: Better::Less,
    definition: "Context switches of all threads of the guest because a thread waited.",
};

/// And those that it did not ask for.
pub(super) const INVOLUNTARY: Metric = Metric {
    name: "switches-involuntary",
    unit: "",
    better: Better::Less,
    definition: "Context switches of all threads of the guest because another thread took the CPU.",
};

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

/// The largest median of the cost of a round beyond its work, and whether that is as little as we want. Where more threads
/// than CPUs compute, the answer waits for a CPU like everybody else, so these variants do not count.
pub(super) fn overhead(results: &Results) -> Option<Sentence> {
    let uncrowded = results.designed().iter().filter(|variant| !variant.crowded);
    let of = |variant: &Variant| results.median(&variant.name, OVERHEAD.name);
    let largest = uncrowded.filter_map(of).fold(f64::NEG_INFINITY, f64::max);
    let verdict = match largest <= AIM_US {
        true => "the aim of at most 1 ms is met",
        false => "the aim of at most 1 ms is missed; end other programs and run it again",
    };
    largest.is_finite().then(|| {
        Sentence::fact(format!(
            "a round costs at most {largest:.0} µs besides its work (medians, where each thread has a CPU): {verdict}"
        ))
    })
}

/// Results of a described run: three process starts of four rounds, in which each figure is the same but for a thousandth.
#[cfg(test)]
pub(super) fn measured(design: Design, figures: &[(&str, &'static str, f64)]) -> Results {
    use crate::harness::{ExperimentRun, LedgerEntry, Row, twin_of};
    let twins = design.twins.iter().map(|twin| design.variants[*twin].name.clone());
    let twins: Vec<String> = twins.collect();
    let row = |variant: &str, at: u32, metric: &str, value: f64| Row {
        process: at / 4,
        round: at % 4,
        turn: 0,
        warm_up: false,
        variant: variant.into(),
        cpus: Vec::new(),
        started_ns: u64::from(at),
        unit: String::new(),
        sample: Sample::new(metric, value * (1.0 + 0.001 * f64::from(at % 3)), 1, Check::Passed),
        ledger: LedgerEntry::default(),
        flags: Vec::new(),
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
    let run = ExperimentRun {
        id: ID.into(),
        definition: String::new(),
        size: Size::Quick,
        started_at: String::new(),
        design: Some(design),
        end: String::new(),
        not_measurable: None,
        faults: Vec::new(),
    };
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

    #[test]
    fn the_report_says_whether_a_round_costs_little_enough() {
        let told = |cost_us: f64| {
            let variants = vec![Variant::new("a"), Variant::new("b").crowded()];
            let design = Design::facts(variants, Rounds::few(Size::Quick));
            let figures = [("a", OVERHEAD.name, cost_us), ("b", OVERHEAD.name, 9e9)];
            overhead(&measured(design, &figures)).unwrap().text
        };
        assert!(told(180.0).contains("at most 180 µs") && told(180.0).contains("is met"));
        assert!(told(990.0).contains("is met") && told(1010.0).contains("is missed"));
    }
}
