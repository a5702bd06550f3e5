//! Each record against the one before: of the same session, settings and machine, or of the same experiments and machine.

use std::collections::BTreeMap;

use maud::{Markup, html};

use super::entry::{Detail, Entry, Lab};
use super::frame::{Page, Place};
use super::{lab_entry, trends};
use crate::foreign::plain;
use crate::harness::{ExperimentPair, FigurePair, experiments_in_both};
use crate::numbers::{NONE, change_with, counted, digits, with_unit};
use crate::record::BenchRecord;
use crate::report::Baseline;
use crate::stats::MIN_STARTS;
use crate::store::Store;
use crate::table::Table;

/// Two records in a row.
pub(super) struct Pair<'e> {
    pub(super) before: &'e Entry,
    pub(super) now: &'e Entry,
    /// The name of their page, where they were judged.
    pub(super) page: String,
    /// What was found, or why they are not compared.
    pub(super) judged: Result<Judged, String>,
}

/// What two records differ by.
pub(super) struct Judged {
    /// The verdict on each figure, by the figure's name.
    pub(super) verdicts: BTreeMap<String, String>,
    /// How many of them are a difference.
    pub(super) shown: usize,
    /// How many of them there is no verdict on: too few process starts, or no level.
    pub(super) undecided: usize,
}

impl Judged {
    /// What was found, as a link.
    pub(super) fn in_short(&self) -> String {
        let of = counted(self.verdicts.len(), "figure");
        let (decided, undecided) =
            (self.verdicts.len().saturating_sub(self.undecided), self.undecided);
        let not_judged = match undecided {
            0 => String::new(),
            n => format!(", {n} not judged"),
        };
        match self.shown {
            0 if decided == 0 => format!("none of {of} could be judged"),
            0 => format!("no difference shown in {}{not_judged}", counted(decided, "figure")),
            1 => format!("1 of {of} differs{not_judged}"),
            n => format!("{n} of {of} differ{not_judged}"),
        }
    }
}

/// All pairs: the name of the page, its text where there is one, and what was found.
pub(super) fn pages(entries: &[Entry]) -> Vec<(String, Option<String>, Pair<'_>)> {
    let of_groups = trends::groups(entries);
    let benches = of_groups.iter().flat_map(|group| {
        let entries: Vec<&Entry> = group.members.iter().map(|(entry, _)| *entry).collect();
        entries.windows(2).map(|two| of_benches(two[0], two[1])).collect::<Vec<_>>()
    });
    benches.chain(of_runs(entries)).collect()
}

fn pair<'e>(
    before: &'e Entry,
    now: &'e Entry,
    told: Result<(Judged, String), String>,
) -> (String, Option<String>, Pair<'e>) {
    let page = format!("change-to-{}", now.page);
    let (judged, text) = match told {
        Ok((judged, text)) => (Ok(judged), Some(text)),
        Err(why) => (Err(why), None),
    };
    (page.clone(), text, Pair { before, now, page, judged })
}

fn of_benches<'e>(before: &'e Entry, now: &'e Entry) -> (String, Option<String>, Pair<'e>) {
    let (Detail::Bench(first), Detail::Bench(second)) = (&before.detail, &now.detail) else {
        return pair(before, now, Err("not compared: one of them is no bench".into()));
    };
    let told = match trends::apart(first, second) {
        Some(why) => Err(why),
        None => judge_benches(before, now),
    };
    pair(before, now, told)
}

/// Reads both again: their samples are too large to be kept for all records at once.
fn judge_benches(before: &Entry, now: &Entry) -> Result<(Judged, String), String> {
    let read = |entry: &Entry| BenchRecord::read(&entry.path).map_err(|why| why.to_string());
    let (first, second) = (read(before)?, read(now)?);
    let baseline = Baseline::of(&[first], &second).map_err(|misfit| misfit.why)?;
    let table = baseline.table();
    let verdict = |row: &Vec<String>| {
        Some((format!("{}: block time, median", plain(row.first()?)), row.last()?.clone()))
    };
    let verdicts: BTreeMap<String, String> = table.rows.iter().filter_map(verdict).collect();
    let body = html! {
        section {
            h2 { "Median block time, in µs" }
            p { (plain(baseline.head())) }
            (table.html("Median block time of both records"))
            @if let Some(caution) = baseline.caution() { p.note { (caution) } }
        }
    };
    let (shown, undecided) = (baseline.shown(), baseline.not_judged());
    let judged = Judged { verdicts, shown, undecided };
    let text = page(before, now, &judged, body);
    Ok((judged, text))
}

/// Each run of the lab after the last one before it that measured one of its experiments on its machine.
fn of_runs(entries: &[Entry]) -> Vec<(String, Option<String>, Pair<'_>)> {
    let mut pairs = Vec::new();
    let runs: Vec<(&Entry, &Lab)> = entries.iter().filter_map(run).collect();
    for (at, (now, lab)) in runs.iter().enumerate() {
        let is_earlier = |(_, other): &&(&Entry, &Lab)| {
            let shares = other.experiments.iter().any(|id| lab.experiments.contains(id));
            other.host == lab.host && shares
        };
        if let Some((before, _)) = runs[..at].iter().rev().find(is_earlier) {
            pairs.push(pair(before, now, judge_runs(before, now)));
        }
    }
    pairs
}

/// A run whose rows are at hand.
fn run(entry: &Entry) -> Option<(&Entry, &Lab)> {
    match &entry.detail {
        Detail::Lab(lab) if lab.run.is_some() && entry.seconds().is_some() => Some((entry, lab)),
        _ => None,
    }
}

fn judge_runs(before: &Entry, now: &Entry) -> Result<(Judged, String), String> {
    let (first, second) = (results(before)?, results(now)?);
    let both = experiments_in_both(&first, &second);
    let figures = || both.iter().filter_map(|pair| Some((pair, pair.figures.as_ref().ok()?)));
    if let (None, Some(ExperimentPair { id, figures: Err(why), .. })) =
        (figures().next(), both.first())
    {
        return Err(format!("not comparable: {}: {}", plain(id), plain(why)));
    }
    let named = |pair: &ExperimentPair, it: &FigurePair| {
        format!("{}: {}, {}", plain(&pair.id), plain(&it.variant), plain(&it.metric))
    };
    let all = figures().flat_map(|(pair, all)| all.iter().map(move |it| (named(pair, it), it)));
    let verdicts: BTreeMap<String, String> =
        all.map(|(name, it)| (name, it.verdict().to_string())).collect();
    let shown = figures().flat_map(|(_, all)| all).filter(|it| it.is_shown()).count();
    let undecided = figures().flat_map(|(_, all)| all).filter(|it| !it.is_decided()).count();
    let judged = Judged { verdicts, shown, undecided };
    let body = html! {
        p { "Rounds of two runs are not paired, so whatever changed between them (load, clock, kernel) is in the ratios. A difference is shown where the interval leaves 0 % out and the change is beyond what both runs show between two equal variants. An interval needs " (MIN_STARTS) " process starts in each run. One run of each does not tell a change of the program from what a second run of the same program would differ by." }
        @for pair in &both { (experiment(pair)) }
    };
    let text = page(before, now, &judged, body);
    Ok((judged, text))
}

fn results(entry: &Entry) -> Result<Vec<crate::harness::Results>, String> {
    let read = || {
        let store = Store::open(&entry.path)?;
        let runs = store.runs()?;
        let number = run(entry).and_then(|(_, lab)| lab.run);
        let run = runs.iter().find(|run| Some(run.run) == number);
        run.map_or(Ok(Vec::new()), |run| lab_entry::results(&store, run))
    };
    read().map_err(|why: crate::store::StoreError| why.to_string())
}

fn experiment(pair: &ExperimentPair) -> Markup {
    let row = |it: &FigurePair| {
        let compared = &it.compared;
        vec![
            plain(&it.variant),
            plain(&with_unit(&it.metric, &it.unit)),
            digits(compared.before),
            digits(compared.after),
            match compared.ratio.is_finite() {
                true => change_with(compared.ratio, compared.interval),
                false => NONE.into(),
            },
            it.verdict().into(),
        ]
    };
    html! {
        section {
            h2 { (plain(&pair.id)) }
            @if let Some(note) = &pair.note { p.note { "Note: " (plain(note)) "." } }
            @match &pair.figures {
                Ok(all) => {
                    @let heads = ["variant", "metric", "before", "now", "change", "verdict"];
                    (Table::new(heads, all.iter().map(row).collect()).html(&format!("{} in both runs", pair.id)))
                }
                Err(why) => p { "Not compared: " (plain(why)) "." }
            }
        }
    }
}

fn page(before: &Entry, now: &Entry, judged: &Judged, body: Markup) -> String {
    let class = if judged.shown > 0 { "verdict holds" } else { "verdict unsure" };
    let page = Page {
        place: Place::Within,
        title: &format!("{}: what changed", now.subject),
        setting: html! { (before.date()) " to " (now.date()) " · " (now.machine.name) },
        body: html! {
            div class=(class) {
                p { (crate::numbers::capital(&judged.in_short())) "." }
                ul.findings {
                    li { "Before: " a href=(before.page) { (before.kind) " of " (before.date()) } ", hocket " (before.program) "." }
                    li { "Now: " a href=(now.page) { (now.kind) " of " (now.date()) } ", hocket " (now.program) "." }
                }
            }
            (body)
        },
        script: None,
    };
    page.text()
}
