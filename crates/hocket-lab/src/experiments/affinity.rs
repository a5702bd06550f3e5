//! `affinity`: whether it helps to tie threads to CPUs.

use std::time::Duration;

use super::beside::{Outcome, Scene};
use crate::harness::turn_threads::Place;
use crate::harness::{
    About, Check, Contrast, ContrastResult, Design, Experiment, Host, Metric, NamedRatio,
    NotMeasurable, Opened, Parameter, Results, Rounds, Sample, Section, Sentence, Size, Variant,
    contrast_sentences, judged_together, ratio_told, ratios_sentence,
};

/// See [`About`].
pub struct Affinity;

static ABOUT: About = About {
    id: "affinity",
    section: Section::Priority,
    question: "Does pinning help?",
    origin: "a study of thread scaling of 2006 (test case 7: on one of two CPUs half of \
             the power is left) and a comparison of quad cores of 2008",
    method: "One thread, or one for each CPU, computes a fixed number of blocks of 32 filters (64 frames each). \
             `scheduler` lets the system choose, `pinned` ties each thread to a CPU of its own, `one-cpu` ties all to \
             the same. Where cores have two seats, one thread for each core runs `spread` over all cores and `packed` on both \
             seats of half of them. `loaded` adds threads that compute the same all the time, half as many as there are CPUs, \
             wherever the system puts them; `apart` gives the observed thread one half of the CPUs and the load the \
             other (complementary masks), `same-cpu` ties both to one CPU. The output of every filter chain is checked.",
    limits: "Work that fits into the first-level cache: what moving costs is the refill of caches, so work with a \
             larger working set loses more by it, and on several packages or clusters far more. Migrations are \
             those seen between pieces of some 30 µs.",
    metrics: &[
        Metric::less("time", "ms")
            .means("From the first observed thread's start to the last one's end."),
        Metric::less("migrations", "")
            .means("How often an observed thread was on another CPU after 8 blocks than before them, in a turn."),
    ],
    parameters: &[Parameter::new("turn", &TURN)],
};

/// How long the observed threads work where nobody disturbs them.
const TURN: [Duration; 2] = [Duration::from_millis(24), Duration::from_millis(60)];

impl Experiment for Affinity {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn design(&self, host: &Host, size: Size) -> Result<Design, NotMeasurable> {
        if host.cpus.len() < 2 {
            return Err(NotMeasurable::new("there is one CPU, so there is nothing to choose from"));
        }
        let mut design = Design::facts(Vec::new(), Rounds::usual(size));
        for (foreign, ties) in [
            ("quiet", &["scheduler", "pinned"][..]),
            ("loaded", &["scheduler", "pinned", "apart", "same-cpu"]),
        ] {
            add(&mut design, host, 1, foreign, ties);
        }
        for (foreign, ties) in [
            ("quiet", &["scheduler", "pinned", "one-cpu"][..]),
            ("loaded", &["scheduler", "pinned"]),
        ] {
            add(&mut design, host, host.cpus.len(), foreign, ties);
        }
        let cores = host.one_per_core().len();
        match cores > 1 && host.packed(cores) != host.spread(cores) {
            true => add(&mut design, host, cores, "quiet", &["spread", "packed"]),
            false => {
                let why = "no two usable CPUs share a core, so threads are always spread";
                design.missing.push(("packed".into(), why.into()));
            }
        }
        Ok(design.twinned())
    }

    fn turn_ms(&self) -> f64 {
        35.0
    }

    fn open(&self, host: &Host, size: Size, design: &Design) -> Opened {
        let target = size.of(TURN);
        let passes = Scene::passes_for(target, &Place::anywhere()).map_err(NotMeasurable::new)?;
        let scenes: Vec<Scene> =
            design.variants.iter().map(|variant| scene(host, variant, passes, target)).collect();
        Ok(Box::new(move |variant: usize| {
            let outcome = scenes[variant].run()?;
            let all = scenes[variant].passes * scenes[variant].observed.len() as u64;
            Ok(samples(&outcome, all))
        }))
    }

    fn findings(&self, results: &Results) -> Vec<Sentence> {
        let mut sentences: Vec<Sentence> = pinning(results).into_iter().collect();
        sentences.extend(packing(results));
        sentences.extend(contrast_sentences(results));
        sentences.extend(moved(results));
        sentences
    }

    fn advice(&self, results: &Results) -> Option<Sentence> {
        let judged = judged_together(results, &pinned(results)?);
        let (faster, slower): (Vec<_>, Vec<_>) = judged
            .iter()
            .filter(|(_, ratio)| ratio.is_shown())
            .partition(|(_, ratio)| ratio.judgement.is_less());
        let told = |of: &[&(String, ContrastResult)]| {
            let each = of.iter().map(|(case, ratio)| format!("{case} {}", ratio_told(ratio)));
            each.collect::<Vec<String>>().join(", ")
        };
        let text = match (&*faster, &*slower) {
            ([], []) => "Do not tie threads to CPUs by hand: no difference shown.".into(),
            ([], slower) => format!("Do not tie threads to CPUs by hand: time {}.", told(slower)),
            (faster, []) => format!("Tie threads to CPUs: time {}.", told(faster)),
            (faster, slower) => format!(
                "Tie threads to CPUs only where it pays: time {}, but {}.",
                told(faster),
                told(slower)
            ),
        };
        (!judged.is_empty()).then(|| Sentence::about(text, judged.iter().map(|it| &it.1)))
    }
}

/// The ways `ties` of tying so many threads, each compared with the first.
fn add(design: &mut Design, host: &Host, threads: usize, foreign: &str, ties: &[&str]) {
    let variant = |tie: &&str| {
        let variant = Variant::new(format!("{} {tie} {foreign}", count(threads)))
            .with("threads", threads)
            .with("tie", tie)
            .with("load", foreign)
            .on(&tied_to(host, threads, tie), None);
        variant.crowded_if(foreign != "quiet" || *tie == "one-cpu")
    };
    design.group("time", ties.iter().map(variant));
}

fn count(threads: usize) -> String {
    if threads == 1 { "1-thread".into() } else { format!("{threads}-threads") }
}

/// What tying each thread to a CPU of its own changes, all cases in one sentence.
fn pinning(results: &Results) -> Option<Sentence> {
    let head = "time of a thread tied to a CPU against the scheduler's own choice";
    ratios_sentence(results, head, &pinned(results)?)
}

fn pinned(results: &Results) -> Option<Vec<NamedRatio>> {
    let design = results.design()?;
    let name = |index: usize| design.variants[index].name.clone();
    let own = design.contrasts.iter().filter(|c| name(c.candidate).contains(" pinned "));
    let pair = |c: &Contrast| {
        let candidate = name(c.candidate);
        NamedRatio::new(candidate.replace(" pinned", ""), name(c.reference), candidate, "time")
    };
    Some(own.map(pair).collect())
}

/// What it costs to fill cores instead of spreading over them.
fn packing(results: &Results) -> Option<Sentence> {
    let variants = &results.design()?.variants;
    let packed = variants.iter().find(|variant| variant.level("tie") == "packed")?;
    let spread = packed.name.replace(" packed ", " spread ");
    let pair = NamedRatio::new("time", spread, &packed.name, "time");
    let head = "threads on both seats of half of the cores against one on each core";
    ratios_sentence(results, head, &[pair])
}

/// The CPUs that the observed threads are tied to, in order; none where the system chooses.
fn tied_to(host: &Host, threads: usize, tie: &str) -> Vec<u32> {
    match tie {
        "pinned" | "spread" => host.spread(threads),
        "packed" => host.packed(threads),
        "apart" => halves(host).0,
        "one-cpu" | "same-cpu" => vec![host.cpus[0]],
        _ => Vec::new(),
    }
}

/// The first half of the CPUs, and the rest.
fn halves(host: &Host) -> (Vec<u32>, Vec<u32>) {
    let (first, rest) = host.cpus.split_at(host.cpus.len() / 2);
    (first.to_vec(), rest.to_vec())
}

fn scene(host: &Host, variant: &Variant, passes: u64, target: Duration) -> Scene {
    let threads: usize = variant.level("threads").parse().unwrap_or(1);
    let place = |thread: usize| match (variant.level("tie"), variant.cpus.as_slice()) {
        (_, []) => Place::anywhere(),
        ("pinned" | "spread" | "packed", cpus) => Place::on(cpus[thread % cpus.len()]),
        (_, cpus) => Place::among(cpus),
    };
    let load = match variant.level("load") {
        "loaded" => host.cpus.len() / 2,
        _ => 0,
    };
    let others = match variant.level("tie") {
        "apart" => Place::among(&halves(host).1),
        "same-cpu" => Place::on(host.cpus[0]),
        _ => Place::anywhere(),
    };
    Scene {
        observed: (0..threads).map(place).collect(),
        load: vec![others; load],
        passes,
        most: target * 20,
    }
}

fn samples(outcome: &Outcome, passes: u64) -> Vec<Sample> {
    let uncounted = Check::None("the system chooses".into());
    vec![
        Sample::new("time", outcome.time_ns as f64 / 1e6, passes, outcome.check.clone()),
        Sample::new("migrations", outcome.moves as f64, passes, uncounted),
    ]
}

/// How often the system moved the threads that it was free to move.
fn moved(results: &Results) -> Option<Sentence> {
    let names = results.design()?.variants.iter().map(|variant| variant.name.clone());
    let free = names.filter(|name| name.contains(" scheduler "));
    let told = |name: String| {
        let moves = results.values(&name, "migrations");
        let turns = moves.len();
        let mean = moves.iter().sum::<f64>() / turns.max(1) as f64;
        (turns > 0).then(|| format!("{name} {mean:.2}"))
    };
    let told: Vec<String> = free.filter_map(told).collect();
    let text =
        format!("where the system chose, threads moved so often a turn: {}", told.join(", "));
    (!told.is_empty()).then(|| Sentence::fact(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packed_threads_fill_a_core_and_spread_ones_take_two() {
        let design = Affinity.design(&Host::described_with_smt(), Size::Quick).unwrap();
        assert_eq!(design.fault(), None);
        let cpus = |name| design.variants[design.index(name).unwrap()].cpus.clone();
        assert_eq!(cpus("2-threads packed quiet"), [0, 2]);
        assert_eq!(cpus("2-threads spread quiet"), [0, 1]);
    }

    #[test]
    fn every_variant_of_this_machine_can_be_measured() {
        let host = Host::discover().unwrap();
        let Ok(design) = Affinity.design(&host, Size::Quick) else {
            println!("SKIPPED every_variant_of_this_machine_can_be_measured: two CPUs are needed");
            return;
        };
        for variant in &design.variants {
            let scene = scene(&host, variant, 20, Duration::from_millis(1));
            let samples = samples(&scene.run().unwrap(), 20);
            assert_eq!(samples[0].check, Check::Passed, "{}", variant.name);
            if variant.cpus.len() == 1 {
                assert!(samples[1].value == 0.0, "{}", variant.name);
            }
        }
    }
}
