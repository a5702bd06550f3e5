//! What the rows say of the virtual machine.

use std::collections::BTreeMap;

use super::super::chance::hand_over_of;
use super::super::siblings::{Evidence, HAND_OVER};
use super::{GAP, LOST, under};
use crate::harness::{Axis, Estimate, Plot, Results, Row, Sentence, Series};
use crate::siblings::{Classes, Figure, Nearness, Relation};
use crate::stats::median;

/// Turns of a pair whose median is one point in time: one disturbed turn is none.
const WINDOW: usize = 5;

/// Points in time that differ by this factor are of two levels; see the gaps of `siblings`.
const ANOTHER_LEVEL: f64 = 1.5;

/// The topology, moves, lost time.
pub(super) fn sentences(results: &Results) -> Vec<Sentence> {
    let mut told = vec![topology(results)];
    told.extend(moves(results));
    told.extend(places(results));
    told.extend(lost(results));
    told.push(steal(results));
    told
}

fn topology(results: &Results) -> Sentence {
    let name = under(results);
    let Some(Evidence { inference, system, .. }) = Evidence::of(results) else {
        return Sentence::not_measurable(format!("one CPU: {name} has no topology to hide"));
    };
    let [_, _, unknown] = inference.counts();
    let siblings = !inference.cores.is_empty();
    match (system.hides_siblings, system.disagreements.is_empty(), system.agreed) {
        (true, ..) => Sentence::fact(format!("it hides its topology: {}", system.sentence)),
        (_, false, _) => {
            Sentence::fact(format!("what it says is not what is measured: {}", system.sentence))
        }
        (_, _, 1..) => Sentence::fact(format!("what it says stands the test: {}", system.sentence)),
        _ => {
            let reason = inference.findings.values().find(|f| f.relation == Relation::Unknown);
            let why = reason.map_or("the system says nothing".into(), |f| f.reason.words());
            let found = if siblings { "siblings were found, but " } else { "" };
            Sentence::not_shown(format!(
                "whether {name} hides its topology is unknown: {found}{unknown} of {} pairs are undecided ({why})",
                inference.findings.len()
            ))
        }
    }
}

/// Points in time of each pair: seconds since the first row, and nanoseconds.
fn series(results: &Results) -> BTreeMap<&str, Vec<(f64, f64)>> {
    let rows = || results.rows.iter().filter(|row| row.sample.metric == HAND_OVER && !row.warm_up);
    let first_ns = rows().map(|row| row.started_ns).min().unwrap_or(0);
    let mut by_pair: BTreeMap<&str, Vec<&Row>> = BTreeMap::new();
    rows().for_each(|row| by_pair.entry(&row.variant).or_default().push(row));
    let point = |rows: &[&Row]| {
        let values: Vec<f64> = rows.iter().map(|row| row.sample.value).collect();
        let at_s = (rows[0].started_ns - first_ns) as f64 / 1e9;
        Some((at_s, median(&values)?))
    };
    let points = |mut rows: Vec<&Row>| {
        rows.sort_by_key(|row| row.started_ns);
        rows.chunks_exact(WINDOW).filter_map(point).collect()
    };
    by_pair.into_iter().map(|(pair, rows)| (pair, points(rows))).collect()
}

/// Whether pairs change their latency in the run.
fn moves(results: &Results) -> Option<Sentence> {
    let all = series(results);
    let range = |points: &Vec<(f64, f64)>| {
        let low = points.iter().map(|p| p.1).reduce(f64::min)?;
        Some((low, points.iter().map(|p| p.1).reduce(f64::max)?))
    };
    let mut ranges: Vec<(&str, (f64, f64))> =
        all.iter().filter_map(|(pair, points)| Some((*pair, range(points)?))).collect();
    ranges.sort_by(|a, b| (b.1.1 / b.1.0).total_cmp(&(a.1.1 / a.1.0)));
    let (pair, (low, high)) = *ranges.first()?;
    let seconds = all.values().flatten().map(|p| p.0).fold(0.0, f64::max);
    let moved = ranges.iter().filter(|(_, (low, high))| high / low > ANOTHER_LEVEL).count();
    let of = ranges.len();
    Some(match moved {
        0 => Sentence::fact(format!(
            "no move between host CPUs was seen in {seconds:.0} s: the hand-over of no pair changed by more than {:.2} times ({pair}: {low:.0} to {high:.0} ns)",
            high / low
        )),
        n => Sentence::fact(format!(
            "the hand-over of {n} of {of} pairs changed its level in {seconds:.0} s ({pair}: {low:.0} to {high:.0} ns): host CPUs were changed, or lent to others"
        )),
    })
}

/// How often each pair that the host moved was how near; what that costs is measured by `smt-kernels`.
fn places(results: &Results) -> Option<Sentence> {
    let mut probes: BTreeMap<&str, Vec<Figure>> = BTreeMap::new();
    for row in results.rows.iter().filter(|row| row.sample.metric == HAND_OVER && !row.warm_up) {
        probes.entry(&row.variant).or_default().push(hand_over_of(&row.sample));
    }
    let told = |(pair, probes): (&&str, &Vec<Figure>)| {
        let classes = Classes::of(probes);
        let count =
            |it: Nearness| probes.iter().filter(|probe| classes.class(probe) == Some(it)).count();
        let seen = Nearness::ALL.into_iter().filter_map(|it| {
            let ns = classes.typical_ns(it)?;
            Some(format!("{} in {} ({ns:.0} ns)", it.word(), count(it)))
        });
        let seen: Vec<String> = seen.collect();
        (seen.len() > 1).then(|| format!("{pair}: of {} turns, {}", probes.len(), seen.join(", ")))
    };
    let moved: Vec<String> = probes.iter().filter_map(told).collect();
    let text = || format!("where the host had the two CPUs of a pair: {}", moved.join("; "));
    (!moved.is_empty()).then(|| Sentence::fact(text()))
}

/// Gaps in turns in which the guest's kernel put nobody aside.
fn lost(results: &Results) -> Option<Sentence> {
    let undisturbed = |row: &&Row| row.ledger.involuntary_switches == Some(0);
    let of = |metric: &str| -> Vec<f64> {
        let rows = results.rows.iter().filter(|row| row.sample.metric == metric);
        rows.filter(undisturbed).map(|row| row.sample.value).collect()
    };
    let (gaps, shares) = (of(GAP), of(LOST));
    if results.rows.iter().all(|row| row.sample.metric != GAP) {
        return None;
    }
    let Some(longest) = gaps.iter().copied().reduce(f64::max) else {
        return Some(Sentence::not_shown(
            "what the host takes is unknown: the guest's own programs put the thread aside in every turn",
        ));
    };
    let mean = shares.iter().sum::<f64>() / shares.len().max(1) as f64;
    Some(Sentence::fact(format!(
        "a busy thread that the guest did not put aside lost {mean:.2} % of its time in gaps above 50 µs, the longest {longest:.0} µs ({} turns)",
        gaps.len()
    )))
}

/// What the guest's kernel counts, once a turn.
fn steal(results: &Results) -> Sentence {
    let turns: BTreeMap<_, _> =
        results.rows.iter().map(|row| ((row.process, row.round, row.turn), &row.ledger)).collect();
    let counted: Option<u64> = turns.values().map(|ledger| ledger.steal_ns).sum();
    let wall_s = turns.values().map(|ledger| ledger.wall_ns).sum::<u64>() as f64 / 1e9;
    match counted {
        None => Sentence::not_measurable("the guest's kernel counts no steal time"),
        Some(0) => Sentence::fact(format!(
            "the guest's kernel counts no steal time in {wall_s:.1} s of turns; not every host reports it"
        )),
        Some(ns) => Sentence::fact(format!(
            "the guest's kernel counts {:.2} s of steal time, all CPUs together, in {wall_s:.1} s of turns",
            ns as f64 / 1e9
        )),
    }
}

/// The hand-over of each pair over the run.
pub(super) fn over_time(results: &Results) -> Option<Plot> {
    let line = |(pair, points): (&str, Vec<(f64, f64)>)| Series {
        name: pair.into(),
        points: points.into_iter().map(|(at, ns)| (at, Estimate::exact(ns))).collect(),
    };
    let series: Vec<Series> = series(results).into_iter().map(line).collect();
    (!series.is_empty()).then(|| Plot::Lines {
        title: "One-way hand-over of each pair over the run".into(),
        x: Axis::linear("time", "s"),
        y: Axis::linear(HAND_OVER, "ns"),
        series,
        marks: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::guest::measured;
    use crate::harness::{Design, Rounds, Size, Variant};

    fn places_of(times_ns: &[f64]) -> Option<String> {
        let rounds = Rounds::few(Size::Quick);
        let design = Design::facts(vec![Variant::new("cpus 0 1")], rounds);
        let figures: Vec<_> = times_ns.iter().map(|ns| ("cpus 0 1", HAND_OVER, *ns)).collect();
        places(&measured(design, &figures)).map(|it| it.text)
    }

    /// Each time stands in twelve turns.
    #[test]
    fn a_pair_that_is_moved_is_told_with_its_classes() {
        let text = places_of(&[10.0, 26.0, 26.0, 155.0]).expect("three classes");
        assert!(
            text.contains("cpus 0 1: of 48 turns, siblings in 12 (10 ns), near in 24"),
            "{text}"
        );
        assert!(text.contains("far in 12 (15"), "{text}");
        assert_eq!(places_of(&[26.0, 27.0]), None);
    }
}
