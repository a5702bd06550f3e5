//! `lost-updates`: what two threads lose that count without synchronisation.

use std::time::Duration;

use hocket_kernels::ThreadGroup;
use hocket_kernels::lost_updates::{Increment, LostUpdates, lost_updates};

use super::words::{then_and_now, where_two_are};
use crate::harness::settle::Settle;
use crate::harness::timed::calibrate;
use crate::harness::{
    About, Axis, Bar, Check, Design, Experiment, Fault, Historic, Host, Metric, NotMeasurable,
    Opened, Parameter, Plot, Relation, Results, Rounds, Sample, Section, Sentence, Size, Variant,
};
use crate::numbers::{self, quantity};

/// See [`About`].
pub struct LostIncrements;

static ABOUT: About = About {
    id: "lost-updates",
    section: Section::Sharing,
    question: "How many increments get lost without synchronisation?",
    origin: "tecCHANNEL article of 2003 on Hyper-Threading: even an integer is not thread-safe",
    method: "Two pinned threads increment one shared counter and one of their own each: by a load, an addition and a store, \
             as compilers make of i++, or by the one instruction `inc` where the processor has it, without a lock prefix; written \
             so that the language allows it. What the shared counter has less than \
             the private ones together got lost. Both begin together and end with the one that first has as many increments as \
             take some milliseconds (2003: one second), so that nobody counts alone. There are two threads on one CPU and on \
             two CPUs of every relation that the machine has. The first private counter must be exact, and the shared one \
             no larger than the sum of both.",
    limits: "How much is lost depends on how long a cache line stays with one core, so another processor, or a little \
             work between two increments, gives another share. On one CPU something is lost only if a thread is put \
             aside between load and store, and then much at once: most turns lose nothing.",
    metrics: &[
        Metric::fact("lost", "%")
            .means("Increments that are in the private counters and not in the shared one, in percent of all."),
        Metric::fact("made", "1/s")
            .means("Increments in the private counters of both threads together, a second."),
        Metric::fact("shared", "1/s").means("What the shared counter came to, a second."),
    ],
    parameters: &[Parameter::new("turn", &TURN)],
};

const TURN: [Duration; 2] = [Duration::from_millis(15), Duration::from_millis(100)];

impl Experiment for LostIncrements {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn design(&self, host: &Host, size: Size) -> Result<Design, NotMeasurable> {
        let pair = |(relation, (a, b)): (Relation, (u32, u32)), increment| {
            let variant = Variant::new(name(relation, increment)).with("relation", relation);
            let variant = variant.on(&[a, b], Some(relation));
            let variant = if increment == Increment::OneInstruction {
                variant.with(INC, INC)
            } else {
                variant
            };
            variant.crowded_if(relation == Relation::SameCpu)
        };
        let here = || Increment::ALL.into_iter().filter(|increment| increment.missing().is_none());
        let pairs = host.pairs_by_relation().into_iter();
        let variants = pairs.flat_map(|on| here().map(move |increment| pair(on, increment)));
        let mut design = Design::against_first(variants.collect(), "made", Rounds::usual(size));
        let absent = Increment::ALL.into_iter().filter_map(Increment::missing);
        design.missing.extend(absent.map(|why| (INC.into(), why.into())));
        Ok(design.without_relations_of(host).twinned())
    }

    fn open(&self, _: &Host, size: Size, design: &Design) -> Opened {
        let target = size.of(TURN);
        let mut pairs = Vec::new();
        for variant in &design.variants {
            let cpus = variant.cpus.clone();
            let increment = match variant.level(INC) {
                "" => Increment::ThreeInstructions,
                _ => Increment::OneInstruction,
            };
            let elapsed = |times| Ok(count(&cpus, times, increment)?.elapsed.as_nanos() as u64);
            let times = calibrate(target, elapsed).map_err(NotMeasurable::new)?;
            pairs.push((cpus, times, increment));
        }
        Ok(Box::new(move |variant: usize| {
            let (cpus, times, increment) = &pairs[variant];
            Ok(samples(&count(cpus, *times, *increment)?, *times))
        }))
    }

    fn findings(&self, results: &Results) -> Vec<Sentence> {
        let increments = Increment::ALL.into_iter();
        let measured = increments.flat_map(|how| Relation::ALL.map(|relation| (relation, how)));
        measured.filter_map(|(relation, how)| loss(results, relation, how)).collect()
    }

    fn plots(&self, results: &Results) -> Vec<Plot> {
        let bar = |(relation, how): (Relation, Increment)| {
            let label = name(relation, how);
            let estimate = results.estimate(&label, "lost")?;
            Some(Bar { label, estimate, group: String::new() })
        };
        let both = |relation| Increment::ALL.map(|how| (relation, how));
        let bars = Plot::Bars {
            title: "Lost increments".into(),
            axis: Axis::linear("lost", "%"),
            bars: Relation::ALL.into_iter().flat_map(both).filter_map(bar).collect(),
        };
        let title = "Increments a second, 2003 and now";
        then_and_now(results, title, "1/s").into_iter().chain([bars]).collect()
    }

    fn historic(&self) -> Vec<Historic> {
        HISTORIC.to_vec()
    }
}

/// The factor, and its only level: the one instruction.
const INC: &str = "inc";

fn name(relation: Relation, increment: Increment) -> String {
    match increment {
        Increment::ThreeInstructions => relation.name().into(),
        Increment::OneInstruction => format!("{} {INC}", relation.name()),
    }
}

/// Two threads on these CPUs, the faster one incrementing `times` times.
fn count(cpus: &[u32], times: u64, increment: Increment) -> Result<LostUpdates, Fault> {
    let settle = Settle::on(cpus);
    let place = |number| settle.thread(number);
    let counted = lost_updates(&ThreadGroup::new(cpus.len(), &place), times, increment);
    settle.end()?;
    counted.map_err(Fault::new)
}

fn samples(counted: &LostUpdates, times: u64) -> Vec<Sample> {
    let check = Check::of(counted.check(times));
    let seconds = counted.elapsed.as_secs_f64().max(1e-9);
    let sample = |metric, value| Sample::new(metric, value, counted.made(), check.clone());
    vec![
        sample("lost", counted.lost_share() * 100.0),
        sample("made", counted.made() as f64 / seconds),
        sample("shared", counted.shared as f64 / seconds),
    ]
}

/// How much is lost, in which share of the turns at all, and of how many increments.
fn loss(results: &Results, relation: Relation, increment: Increment) -> Option<Sentence> {
    let variant = &name(relation, increment);
    let by = match increment {
        Increment::ThreeInstructions => "",
        Increment::OneInstruction => ", in one instruction",
    };
    let shares = results.values(variant, "lost");
    let lossy = shares.iter().filter(|share| **share > 0.0).count();
    let lost = results.estimate(variant, "lost")?;
    let made = results.estimate(variant, "made")?;
    let most = shares.iter().copied().fold(0.0, f64::max);
    Some(Sentence::fact(format!(
        "{}{by}: {} of {} increments get lost (in {lossy} of {} turns something, at most {most:.1} %)",
        where_two_are(relation),
        numbers::estimate(&lost, "%"),
        quantity(made.value, "1/s"),
        shares.len()
    )))
}

const fn then(
    label: &'static str,
    metric: &'static str,
    value: f64,
    unit: &'static str,
    variant: &'static str,
) -> Historic {
    Historic::new(label, value, unit, metric)
        .beside(variant)
        .means("Two threads for one second, each incrementing a shared counter and one of its own without \
                synchronisation.")
        .printed_in("tecCHANNEL 2003, Hyper-Threading: even an integer is not thread-safe, Pentium 4 3.06 GHz, Windows XP")
}

const ONE_CPU: &str = "The system had one CPU; here two threads share one CPU of several.";

static HISTORIC: [Historic; 6] = [
    then("both threads, one CPU", "made", 476_957_449.0, "1/s", "same-cpu").differs(ONE_CPU),
    then("shared counter, one CPU", "shared", 476_957_449.0, "1/s", "same-cpu").differs(ONE_CPU),
    then("lost, one CPU", "lost", 0.0, "%", "same-cpu").differs(ONE_CPU),
    then("both threads, Hyper-Threading on", "made", 47_812_913.0, "1/s", "siblings"),
    then("shared counter, Hyper-Threading on", "shared", 29_339_340.0, "1/s", "siblings"),
    // 1 - 29,339,340 / 47,812,913
    then("lost, Hyper-Threading on", "lost", 38.6, "%", "siblings"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn private_counters_are_exact_and_the_shared_one_no_larger() {
        let host = Host::discover().unwrap();
        for cpus in [vec![host.cpus[0]; 2], host.spread(2)] {
            for increment in Increment::ALL {
                let found = samples(&count(&cpus, 20_000, increment).unwrap(), 20_000);
                assert!(found.iter().all(|s| s.check == Check::Passed));
                assert!((20_000..=40_000).contains(&found[0].ops), "{}", found[0].ops);
                assert!(found[2].value <= found[1].value);
            }
        }
    }

    #[test]
    fn the_share_of_2003_follows_from_its_counters() {
        let of = |label: &str| HISTORIC.iter().find(|old| old.label == label).unwrap().value;
        let (made, shared) =
            (of("both threads, Hyper-Threading on"), of("shared counter, Hyper-Threading on"));
        assert!((100.0 * (1.0 - shared / made) - of("lost, Hyper-Threading on")).abs() < 0.05);
    }
}
