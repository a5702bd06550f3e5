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

/// The largest median of the cost of a round beyond its work.
pub(super) fn overhead(results: &Results) -> Option<Sentence> {
    let of = |variant: &Variant| results.median(&variant.name, OVERHEAD.name);
    let largest = results.designed().iter().filter_map(of).fold(f64::NEG_INFINITY, f64::max);
    largest.is_finite().then(|| {
        Sentence::fact(format!(
            "a round costs at most {largest:.0} µs besides the work that it times (medians)"
        ))
    })
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

    /// The measured program may be slow for a moment, so the bound is of the fastest of many rounds.
    #[test]
    fn a_round_can_cost_less_than_a_millisecond() {
        let mut stage = Stage::open(&["sh", "-c", &SCRIPT.replace("2000000", "1")]).unwrap();
        let round = |_| stage.turn("a", &BTreeMap::new()).unwrap().waited_ns;
        let fastest = (0..200).map(round).min();
        println!("the fastest of 200 rounds cost {fastest:?} ns");
        assert!(fastest > Some(0));
    }
}
