//! A bench against an earlier one: have blocks become longer?

use std::collections::BTreeMap;

use super::analysis::{Analysis, ENOUGH_STARTS, any, round_figures};
use crate::bench::BenchPlan;
use crate::foreign::plain;
use crate::lines::Lines;
use crate::numbers::{change_with, us};
use crate::record::{BenchRecord, Variant};
use crate::stats::{Judgement, Unpaired, median};
use crate::table::Table;

/// The median block times of two runs.
#[derive(Debug, Clone, PartialEq)]
pub struct Baseline {
    head: String,
    changes: Vec<Change>,
}

/// One variant in both.
#[derive(Debug, Clone, PartialEq)]
struct Change {
    variant: String,
    compared: Unpaired,
    judgement: Judgement,
}

/// Why a run of this plan could not be judged against the record, so that nothing is measured in vain.
pub fn baseline_misfit(baseline: &BenchRecord, plan: &BenchPlan) -> Option<String> {
    let settings = &baseline.settings;
    let disturb: Vec<String> = plan.disturb.iter().map(ToString::to_string).collect();
    let has = |name: &String| baseline.variants.iter().any(|variant| variant.name == *name);
    let starts = settings.starts.min(plan.of_starts().len());
    differs("frames", settings.frames, plan.frames)
        .or_else(|| differs("Hz", settings.rate_hz, plan.rate_hz))
        .or_else(|| differs("load", settings.disturb.join(","), disturb.join(",")))
        .or_else(|| (starts < ENOUGH_STARTS).then(too_few_starts))
        .or_else(|| {
            let common = plan.variants.iter().any(|variant| has(&variant.to_string()));
            (!common).then(|| "the two runs have no variant in common".into())
        })
}

fn too_few_starts() -> String {
    format!("a verdict needs {ENOUGH_STARTS} process starts in each run; see --starts")
}

fn differs<T: PartialEq + ToString>(what: &str, before: T, now: T) -> Option<String> {
    let [one, other] = [&before, &now].map(|it| plain(&it.to_string()));
    (before != now)
        .then(|| format!("the two runs differ in {what}: {one} in the baseline, now {other}"))
}

impl Baseline {
    /// Compares the variants that both runs have; all intervals hold at once.
    ///
    /// # Errors
    /// Why they cannot be compared.
    pub fn of(baseline: &BenchRecord, now: &BenchRecord) -> Result<Baseline, String> {
        if let Some(why) = incomparable(baseline, now) {
            return Err(why);
        }
        let (before, after) = (Analysis::of(baseline), Analysis::of(now));
        if before.is_wrong() || after.is_wrong() {
            return Err("a part of the session was not computed in one of them".into());
        }
        let floor = before.floor.zip(after.floor).map(|(a, b)| a.max(b));
        let earlier = |now: &Variant| baseline.variants.iter().find(|it| it.name == now.name);
        let both: Vec<(&Variant, &Variant)> = now
            .variants
            .iter()
            .filter(|variant| !variant.twin && !variant.rounds.is_empty())
            .filter_map(|now| Some((earlier(now)?, now)))
            .collect();
        let change = |(before, now): &(&Variant, &Variant)| {
            let compared = Unpaired::of(&by_start(before), &by_start(now), both.len())?;
            let judgement = compared.judged(floor, ENOUGH_STARTS);
            Some(Change { variant: now.name.clone(), compared, judgement })
        };
        let changes: Vec<Change> = both.iter().filter_map(change).collect();
        match changes.is_empty() {
            true => Err("the two runs have no variant in common".into()),
            false => Ok(Baseline { head: head(baseline, now), changes }),
        }
    }

    /// As text for a terminal.
    pub fn text(&self) -> String {
        let row = |it: &Change| {
            let Unpaired { before, after, ratio, interval, .. } = it.compared;
            let changed = change_with(ratio, interval);
            vec![it.variant.clone(), us(before), us(after), changed, it.judgement.words().into()]
        };
        let heads = ["variant", "baseline", "now", "change", "verdict"];
        let mut out = Lines::default();
        out.blank();
        out.prose("", &self.head);
        out.table("", &Table::new(heads, self.changes.iter().map(row).collect()));
        out.text
    }

    /// Variants whose blocks are shown to take longer than before, by more than so many per cent.
    pub fn slower(&self, percent: f64) -> Vec<String> {
        let is_slower =
            |it: &&Change| it.judgement.is_more() && (it.compared.ratio - 1.0) * 100.0 > percent;
        let told = |it: &Change| {
            let changed = change_with(it.compared.ratio, it.compared.interval);
            format!("{}: the median block time is {changed} against the baseline", it.variant)
        };
        self.changes.iter().filter(is_slower).map(told).collect()
    }

    /// Why a variant cannot be judged, if so.
    pub fn undecided(&self) -> Option<String> {
        let it = self.changes.iter().find(|it| !it.judgement.is_decided())?;
        Some(match it.judgement {
            Judgement::TooFewStarts => too_few_starts(),
            _ => format!("{}: too few rounds, or no twin; see --blocks", it.variant),
        })
    }
}

/// Median block times of a variant's process starts, in nanoseconds.
fn by_start(variant: &Variant) -> Vec<f64> {
    let mut starts: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for (round, figure) in round_figures(variant, 0.5, any) {
        starts.entry(round.start).or_default().push(figure);
    }
    starts.values().filter_map(|figures| median(figures)).collect()
}

fn incomparable(baseline: &BenchRecord, now: &BenchRecord) -> Option<String> {
    let shape = |record: &BenchRecord| {
        let it = &record.session;
        format!(
            "{} tracks, {} groups, {} returns, {} edges",
            it.tracks, it.groups, it.returns, it.edges
        )
    };
    let media = |record: &BenchRecord| -> Vec<Option<String>> {
        record.session.media.iter().map(|media| media.sha256.clone()).collect()
    };
    let (a, b) = (&baseline.settings, &now.settings);
    differs("frames", a.frames, b.frames)
        .or_else(|| differs("Hz", a.rate_hz, b.rate_hz))
        .or_else(|| differs("workers", a.workers, b.workers))
        .or_else(|| differs("load", a.disturb.join(","), b.disturb.join(",")))
        .or_else(|| differs("the session", shape(baseline), shape(now)))
        .or_else(|| {
            let other = media(baseline) != media(now);
            other.then(|| "the two runs played other audio files".into())
        })
}

fn head(baseline: &BenchRecord, now: &BenchRecord) -> String {
    let processor = |record: &BenchRecord| record.machine.pointer("/facts/cpu_model").cloned();
    let commit = baseline.hocket.commit.as_deref().unwrap_or("unknown");
    let other = if processor(baseline) == processor(now) { "" } else { ", on another processor" };
    format!(
        "Against the run of {} (hocket {}, commit {commit}){other}: median block time, in µs. Rounds of two runs are not \
         paired, so whatever changed between them (load, clock, kernel) is in the change.",
        baseline.started_at, baseline.hocket.version
    )
}
