//! Siblings by chance: what two threads cost each other while a virtual machine's host has them on one core.
//!
//! A virtual CPU moves, and the guest is not told. So the hand-over between the two CPUs of a turn is probed before and after
//! it. Probes gather around one time for each way of being placed ([`Classes`]). A turn is of a class if both of its
//! probes are; between two classes the host has moved a CPU, and the turn counts for neither.
//!
//! Cost: two probes of up to a millisecond each turn, outside of what is timed.

use std::collections::BTreeMap;

use super::siblings::{figure, hand_over, hypervisor};
use crate::harness::{
    Circumstances, ContrastResult, Fault, Metric, Results, RoundSet, Row, Sample, Sentence, Size,
    Subject, ratio_told,
};
use crate::siblings::{Classes, Figure, Nearness};
use crate::stats::{MIN_ROUNDS, MIN_STARTS};

const BEFORE: &str = "hand-over-before";
const AFTER: &str = "hand-over-after";

/// What the experiments that probe have besides their own.
pub(super) const METRICS: [Metric; 2] = [
    Metric::fact(BEFORE, "ns")
        .means("On a virtual machine: one-way hand-over of a cache line between the two CPUs of the turn, as in \
                `siblings`, right before the turn."),
    Metric::fact(AFTER, "ns").means("The same right after it."),
];

/// The pair that is worth a probe: two CPUs of a virtual machine, which may be anywhere.
pub(super) fn pair(cpus: &[u32]) -> Option<[u32; 2]> {
    let pair = cpus.try_into().ok()?;
    hypervisor().map(|_| pair)
}

/// A turn, with a probe on either side of it where there is a pair.
///
/// # Errors
/// What could not be measured.
pub(super) fn probed(
    pair: Option<[u32; 2]>,
    size: Size,
    measure: impl FnOnce() -> Result<Vec<Sample>, Fault>,
) -> Result<Vec<Sample>, Fault> {
    let Some(pair) = pair else { return measure() };
    let before = hand_over(BEFORE, pair, size)?;
    let mut samples = measure()?;
    let after = hand_over(AFTER, pair, size)?;
    samples.extend([before, after]);
    Ok(samples)
}

/// What a probe says. Its error is that of the faster half of its stretches: in the others the host may have taken a CPU for
/// a while, which says nothing of where the two are.
pub(super) fn hand_over_of(sample: &Sample) -> Figure {
    match sample.distribution {
        // Between these two quantiles lie 1.282 standard deviations of a normal distribution.
        Some(q) => {
            let error = 1.2533 * (q.p50 - q.p10) / 1.282 / (q.n.max(1) as f64).sqrt();
            Figure { median: sample.value, error }
        }
        None => figure(sample),
    }
}

/// A work that one CPU does alone and both do together.
pub(super) struct Work {
    pub name: &'static str,
    /// The variant of one thread.
    pub alone: String,
    /// That of both, whose turns are probed.
    pub both: String,
}

/// What the rows say of siblings by chance: nothing where no turn was probed.
pub(super) fn sentences(results: &Results, metric: &str, works: &[Work]) -> Vec<Sentence> {
    let Some(found) = Found::of(results, works) else { return Vec::new() };
    let cost = [Nearness::Near, Nearness::Far].map(|than| found.cost(results, metric, works, than));
    let costs: Vec<Sentence> = cost.into_iter().flatten().collect();
    match costs.is_empty() {
        true => vec![Sentence::not_measurable(format!(
            "what siblings by chance cost is not measurable here: {}; a verdict needs {MIN_ROUNDS} turns of siblings beside as \
             many of another class, in {MIN_STARTS} process starts",
            found.told()
        ))],
        false => {
            let speed = found.speed(results, metric, works);
            let told = Sentence::fact(format!("siblings by chance: {}", found.told()));
            std::iter::once(told).chain(costs).chain(speed).collect()
        }
    }
}

/// The turns of each class.
struct Found {
    classes: Classes,
    /// For each work, the rounds of each class.
    rounds: Vec<[RoundSet; 3]>,
    /// Turns with two classes, and turns with a probe that has none.
    moved: usize,
    unclear: usize,
}

impl Found {
    /// `None`: no turn was probed.
    fn of(results: &Results, works: &[Work]) -> Option<Found> {
        let mut probes = Vec::new();
        for work in works {
            for metric in [BEFORE, AFTER] {
                probes.extend(
                    results.rows_of(&work.both, metric).map(|row| hand_over_of(&row.sample)),
                );
            }
        }
        let classes = (!probes.is_empty()).then(|| Classes::of(&probes))?;
        let rounds = works.iter().map(|_| <[RoundSet; 3]>::default()).collect();
        let mut found = Found { classes, rounds, moved: 0, unclear: 0 };
        for (at, work) in works.iter().enumerate() {
            found.sort(results, at, &work.both);
        }
        Some(found)
    }

    fn sort(&mut self, results: &Results, work: usize, both: &str) {
        let class =
            |row: &Row| ((row.process, row.round), self.classes.class(&hand_over_of(&row.sample)));
        let after: BTreeMap<(u32, u32), Option<Nearness>> =
            results.rows_of(both, AFTER).map(class).collect();
        let turns: Vec<_> = results.rows_of(both, BEFORE).map(class).collect();
        for (round, before) in turns {
            match (before, after.get(&round).copied().flatten()) {
                (Some(one), Some(other)) if one == other => {
                    self.rounds[work][one as usize].insert(round);
                }
                (Some(_), Some(_)) => self.moved += 1,
                _ => self.unclear += 1,
            }
        }
    }

    fn turns(&self, class: Nearness) -> usize {
        self.rounds.iter().map(|of| of[class as usize].len()).sum()
    }

    /// `the two CPUs were siblings in 12 turns (10 ns), near in 180 (26 ns) ...`
    fn told(&self) -> String {
        let class = |class: Nearness| {
            let around = self.classes.typical_ns(class);
            let around = around.map_or(String::new(), |ns| format!(" ({ns:.0} ns)"));
            format!("{} in {}{around}", class.word(), self.turns(class))
        };
        let all: usize = Nearness::ALL.iter().map(|class| self.turns(*class)).sum();
        format!(
            "of {} turns, the two CPUs were {}; the host moved one in {}, and {} were unclear",
            all + self.moved + self.unclear,
            Nearness::ALL.map(class).join(", "),
            self.moved,
            self.unclear
        )
    }

    /// Turns of siblings against those of another class. `None`: there are too few for a verdict.
    fn cost(
        &self,
        results: &Results,
        metric: &str,
        works: &[Work],
        than: Nearness,
    ) -> Option<Sentence> {
        let judged = |(work, rounds): (&Work, &[RoundSet; 3])| {
            let subject = Subject { yardstick: &work.alone, variant: &work.both, metric };
            let of = |class: Nearness| (class.word(), &rounds[class as usize]);
            let under = Circumstances { reference: of(than), candidate: of(Nearness::Siblings) };
            (work.name, results.judged_by_circumstance(subject, under, works.len()))
        };
        let head =
            format!("{metric} of two threads while they were siblings, against {}", than.word());
        told(&head, works.iter().zip(&self.rounds).map(judged))
    }

    /// One thread alone against two that were siblings: what SMT gives.
    fn speed(&self, results: &Results, metric: &str, works: &[Work]) -> Option<Sentence> {
        let judged = |(work, rounds): (&Work, &[RoundSet; 3])| {
            let siblings = &rounds[Nearness::Siblings as usize];
            let pair = [work.alone.as_str(), work.both.as_str()];
            (work.name, results.judged_in(siblings, pair, metric, works.len()))
        };
        let head = format!("{metric} of two threads while they were siblings, against one alone");
        told(&head, works.iter().zip(&self.rounds).map(judged))
    }
}

/// Those that have enough turns for a verdict, in one sentence.
fn told<'a>(
    head: &str,
    judged: impl Iterator<Item = (&'a str, ContrastResult)>,
) -> Option<Sentence> {
    let decided: Vec<(&str, ContrastResult)> =
        judged.filter(|(_, ratio)| ratio.judgement.is_decided()).collect();
    let ratios: Vec<String> =
        decided.iter().map(|(name, ratio)| format!("{name} {}", ratio_told(ratio))).collect();
    let text = format!("{head}: {}", ratios.join(", "));
    (!decided.is_empty()).then(|| Sentence::about(text, decided.iter().map(|(_, ratio)| ratio)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::{Check, Host};

    #[test]
    fn a_turn_is_probed_on_either_side() {
        let measure = || Ok(vec![Sample::new("time", 1.0, 1, Check::Passed)]);
        let metrics = |samples: &[Sample]| -> Vec<String> {
            samples.iter().map(|sample| sample.metric.clone()).collect()
        };
        let unprobed = probed(None, Size::Quick, measure).unwrap();
        assert_eq!(metrics(&unprobed), ["time"]);
        let cpus = Host::discover().map_or(Vec::new(), |host| host.cpus);
        let [first, second, ..] = cpus[..] else {
            println!("SKIPPED a_turn_is_probed_on_either_side: there are no two usable CPUs");
            return;
        };
        let samples = probed(Some([first, second]), Size::Quick, measure).unwrap();
        assert_eq!(metrics(&samples), ["time", BEFORE, AFTER]);
        assert!(
            samples.iter().all(|it| it.value > 0.0 && it.check == Check::Passed),
            "{samples:?}"
        );
    }

    #[test]
    fn only_two_cpus_of_a_virtual_machine_are_a_pair() {
        assert_eq!((pair(&[0]), pair(&[0, 1, 2])), (None, None));
        assert_eq!(pair(&[3, 5]), hypervisor().map(|_| [3, 5]));
    }
}
