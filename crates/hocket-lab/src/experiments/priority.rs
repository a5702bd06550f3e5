//! `priority`: whether a high priority protects a thread from others.

use std::time::Duration;

use hocket_machine::class::Class;

use super::beside::{Outcome, Scene, granted};
use crate::harness::turn_threads::Place;
use crate::harness::{
    About, Check, Contrast, ContrastResult, Design, Experiment, Host, Metric, NamedRatio,
    NotMeasurable, Opened, Parameter, Relation, Results, Rounds, Sample, Section, Sentence, Size,
    Variant, contrast_sentence, judged_together, ratio_told, ratios_sentence,
};

/// See [`About`].
pub struct Priority;

static ABOUT: About = About {
    id: "priority",
    section: Section::Priority,
    question: "Does a high priority protect a thread from others?",
    origin: "the 2009 thesis on SMT in audio engines, 7.2.5, figures 42 and 43 (no measurable difference between \
             priorities on one core); a study of thread scaling of 2006, \
             test cases 3 to 6",
    method: "One observed thread, pinned, computes a fixed number of blocks of 32 filters while 1 or 3 load threads \
             compute the same on the same CPU, on its sibling, or on another core. Levels, the observed thread's \
             first: `equal` (nice 0 and 0), `over-nice-19` (nice 0 and 19), `nice-10-below-0` (nice -10 and 0), \
             `fifo` (FIFO 20 over ordinary threads), `fifo-over-fifo` (FIFO 20 and 10), `under` (nice 19 and 0), \
             `idle-class` (SCHED_IDLE and nice 0, in a full run). The load ends with the observed thread, and after \
             10 times its undisturbed time at the latest, so that larger slow-downs show as about that. Outputs are \
             checked.",
    limits: "Threads that compute without a pause. Threads that sleep and wake up are treated better by the \
             ordinary class than these figures say; `wake` shows how they fare.",
    metrics: &[
        Metric::less("time", "ms").means("Time that the observed thread needs for its work."),
        Metric::more("load-share", "%")
            .means("CPU time that all load threads got, in percent of the observed thread's time; a whole CPU is 100."),
    ],
    parameters: &[
        Parameter::new("turn", &TURN),
        Parameter::new("levels", &LEVELS),
        Parameter::new("limit", &LIMIT),
    ],
};

const ALONE: &str = "alone";
const TURN: [Duration; 2] = [Duration::from_millis(30), Duration::from_millis(60)];
/// The load ends after so many times the undisturbed time.
const LIMIT: u32 = 10;

/// Name, class of the observed thread, class of the load.
const LEVELS: [(&str, Class, Class); 7] = [
    ("equal", Class::Other { nice: 0 }, Class::Other { nice: 0 }),
    ("over-nice-19", Class::Other { nice: 0 }, Class::Other { nice: 19 }),
    ("nice-10-below-0", Class::Other { nice: -10 }, Class::Other { nice: 0 }),
    ("fifo", Class::Fifo { priority: 20 }, Class::Other { nice: 0 }),
    ("fifo-over-fifo", Class::Fifo { priority: 20 }, Class::Fifo { priority: 10 }),
    ("under", Class::Other { nice: 19 }, Class::Other { nice: 0 }),
    ("idle-class", Class::Idle, Class::Other { nice: 0 }),
];
/// What is asked on one CPU, and how many load threads.
const ON_ONE_CPU: [(&str, usize); 8] = [
    ("equal", 1),
    ("equal", 3),
    ("over-nice-19", 3),
    ("nice-10-below-0", 3),
    ("fifo", 1),
    ("fifo", 3),
    ("fifo-over-fifo", 3),
    ("under", 1),
];
/// What is asked where the load has a seat of its own.
const BESIDE: [(&str, usize); 3] = [("equal", 1), ("over-nice-19", 1), ("fifo", 1)];

pub(super) fn level(name: &str) -> Option<(Class, Class)> {
    LEVELS.iter().find(|level| level.0 == name).map(|level| (level.1, level.2))
}

impl Experiment for Priority {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn design(&self, host: &Host, size: Size) -> Result<Design, NotMeasurable> {
        let cpu = host.cpus[0];
        let alone = Variant::new(ALONE).with("load-threads", 0).with("level", "equal");
        let alone = alone.on(&[cpu], None);
        let rounds = Rounds { processes: size.pick(3, 8), ..Rounds::usual(size) };
        let mut design = Design::facts(vec![alone], rounds);
        add(&mut design, (cpu, cpu), Relation::SameCpu, &ON_ONE_CPU);
        if size == Size::Full {
            add(&mut design, (cpu, cpu), Relation::SameCpu, &[("idle-class", 1)]);
        }
        for relation in [Relation::Siblings, Relation::SameCache, Relation::Far] {
            if let Some(pair) = host.pair(relation) {
                add(&mut design, pair, relation, &BESIDE);
            }
        }
        Ok(design.without_relations_of(host).twinned())
    }

    fn turn_ms(&self) -> f64 {
        65.0
    }

    fn open(&self, _: &Host, size: Size, design: &Design) -> Opened {
        // Many ticks of the scheduler (4 ms where HZ is 250), or nobody would ever be put aside.
        apparatus(design, size.of(TURN))
    }

    fn findings(&self, results: &Results) -> Vec<Sentence> {
        let mut sentences: Vec<Sentence> = faster_than_alone(results).into_iter().collect();
        sentences.extend(protects(results));
        let ended = |contrast: &&ContrastResult| !at_the_limit(results, &contrast.candidate);
        sentences.extend(results.contrasts().iter().filter(ended).map(contrast_sentence));
        sentences
    }

    /// Of one CPU with three busy threads.
    fn advice(&self, results: &Results) -> Option<Sentence> {
        let name = |level: &str| format!("{level} same-cpu 3-load");
        let pairs = [
            NamedRatio::new("equal", ALONE, name("equal"), "time"),
            // That a load slows an ordinary thread does not say that a priority helps.
            NamedRatio::new("fifo", name("equal"), name("fifo"), "time"),
        ];
        let judged = judged_together(results, &pairs);
        let of = |level: &str| judged.iter().find(|(label, _)| label == level).map(|it| &it.1);
        let (equal, fifo) = (of("equal")?, of("fifo"));
        let against = |fifo| format!("; against that one in SCHED_FIFO needs {}", ratio_told(fifo));
        let needs = format!(
            "beside three busy threads an ordinary thread needs {} time{}",
            ratio_told(equal),
            fifo.map_or(String::new(), against)
        );
        let helps = fifo.is_none_or(|fifo| fifo.judgement.is_less());
        if !(equal.judgement.is_more() && helps) {
            let text = format!("Priorities: that they help is not shown here; {needs}.");
            return Some(Sentence::not_shown(text));
        }
        let text = match fifo {
            None => format!(
                "Get a real-time priority for audio threads, which this system refuses (`hocket doctor` says how): {needs}."
            ),
            Some(_) => format!("Give audio threads a real-time priority: {needs}."),
        };
        Some(Sentence::about(text, judged.iter().map(|(_, ratio)| ratio)))
    }
}

/// Adds what is granted of `asked` on a pair of CPUs; all are compared with the first variant.
pub(super) fn add(
    design: &mut Design,
    (cpu, other): (u32, u32),
    relation: Relation,
    asked: &[(&str, usize)],
) {
    for (name, loads) in asked {
        let Some((own, theirs)) = level(name) else { continue };
        let full = format!("{name} {relation} {loads}-load");
        if let Err(why) = granted(own).and(granted(theirs)) {
            design.missing.push((full, why));
            continue;
        }
        let variant = Variant::new(full)
            .with("level", name)
            .with("load-threads", loads)
            .with("relation", relation)
            .on(&[cpu, other], Some(relation));
        let crowded = relation == Relation::SameCpu;
        design.contrasts.push(Contrast::new(0, design.variants.len(), "time"));
        design.variants.push(variant.crowded_if(crowded));
    }
}

/// Measures what [`add`] added.
pub(super) fn apparatus(design: &Design, target: Duration) -> Opened {
    let on = |cpus: &[u32]| cpus.first().map_or_else(Place::anywhere, |cpu| Place::on(*cpu));
    let first = design.variants.first().map_or(&[][..], |variant| &variant.cpus);
    let passes = Scene::passes_for(target, &on(first)).map_err(NotMeasurable::new)?;
    let scene = |variant: &Variant| {
        let classes = level(variant.level("level"))?;
        let loads: usize = variant.level("load-threads").parse().ok()?;
        let beside = Place::on(*variant.cpus.last()?).class(classes.1);
        let observed = vec![on(&variant.cpus).class(classes.0)];
        Some(Scene { observed, load: vec![beside; loads], passes, most: target * LIMIT })
    };
    let scenes = design.each(scene)?;
    Ok(Box::new(move |variant: usize| Ok(samples(&scenes[variant].run()?, passes))))
}

fn samples(outcome: &Outcome, passes: u64) -> Vec<Sample> {
    let mut samples =
        vec![Sample::new("time", outcome.time_ns as f64 / 1e6, passes, outcome.check.clone())];
    if let Some(share) = outcome.load_share {
        let counted = Check::None("counted by the system".into());
        samples.push(Sample::new("load-share", share * 100.0, passes, counted));
    }
    samples
}

/// By how much each level is slowed down, in one sentence a relation.
fn protects(results: &Results) -> Vec<Sentence> {
    let sentence = |relation: Relation| {
        let design = results.design()?;
        let there = design.variants.iter().filter(|v| v.level("relation") == relation.name());
        let pair = |variant: &Variant| {
            let (level, loads) = (variant.level("level"), variant.level("load-threads"));
            let ends = if at_the_limit(results, &variant.name) {
                ", at least, the load gave up"
            } else {
                ""
            };
            NamedRatio::new(
                format!("{level} (load threads: {loads}{ends})"),
                ALONE,
                &variant.name,
                "time",
            )
        };
        let pairs: Vec<NamedRatio> = there.map(pair).collect();
        ratios_sentence(results, &format!("{relation}: time against alone"), &pairs)
    };
    Relation::ALL.into_iter().filter_map(sentence).collect()
}

/// A turn in which the load ends before the observed thread shows no more than that it would have lasted longer.
fn at_the_limit(results: &Results, variant: &str) -> bool {
    let of = |variant| results.median(variant, "time");
    of(ALONE).zip(of(variant)).is_some_and(|(alone, beside)| beside > LIMIT as f64 * 0.9 * alone)
}

/// That something is faster beside a load than alone: the CPU halts or clocks down when it is alone.
fn faster_than_alone(results: &Results) -> Option<Sentence> {
    let variants = &results.design()?.variants;
    let others: Vec<&str> =
        variants.iter().map(|v| v.name.as_str()).filter(|n| *n != ALONE).collect();
    let judged = others.iter().map(|name| results.judged_of(ALONE, name, "time", others.len()));
    let faster: Vec<ContrastResult> = judged.filter(|c| c.judgement.is_less()).collect();
    let names: Vec<&str> = faster.iter().map(|c| c.candidate.as_str()).collect();
    (!names.is_empty()).then(|| {
        let text = format!(
            "faster beside a load than alone: {}; alone, this CPU halts or clocks down between turns, so these ratios are \
             too low",
            names.join(", ")
        );
        Sentence::about(text, &faster)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::beside::cpu_taken_away;

    #[test]
    fn every_variant_of_this_machine_can_be_measured() {
        let name = "every_variant_of_this_machine_can_be_measured";
        let host = Host::discover().unwrap();
        let mut design = Priority.design(&host, Size::Quick).unwrap();
        // What ends only when the load gives up would take the time of all others.
        design.variants.retain(|v| !matches!(v.level("level"), "under" | "idle-class"));
        design.contrasts.clear();
        let mut apparatus = apparatus(&design, Duration::from_micros(200)).unwrap();
        for (index, variant) in design.variants.iter().enumerate() {
            let samples = match (apparatus.measure(index), cpu_taken_away(&variant.cpus)) {
                (Ok(samples), _) => samples,
                (Err(_), Some(why)) => {
                    println!("SKIPPED {name}: {}: {why}", variant.name);
                    continue;
                }
                (Err(fault), None) => panic!("{}: {fault:?}", variant.name),
            };
            assert_eq!(samples[0].check, Check::Passed, "{}", variant.name);
        }
    }
}
