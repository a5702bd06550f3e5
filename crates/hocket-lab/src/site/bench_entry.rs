//! A record of `hocket bench`.

use std::collections::BTreeMap;

use super::entry::{Bench, Detail, Entry, Figure, page_name};
use super::frame;
use super::identity::Machine;
use super::search::Candidate;
use crate::foreign::plain;
use crate::harness::Estimate;
use crate::numbers::{MICROSECONDS, in_microseconds};
use crate::record::{BenchRecord, FORMAT, Round, Variant, WakeLoop};
use crate::report::Analysis;
use crate::report::shared::{any, html_with, round_figures};
use crate::stats::{Z_95, compare_starts, median};

/// What the site knows of it, and its page.
pub(super) fn of(record: &BenchRecord, file: &Candidate, digest: &str) -> (Entry, String) {
    let headline = Analysis::of(record).headline();
    let build = &record.hocket;
    let entry = Entry {
        path: file.path.clone(),
        shown: file.shown.clone(),
        kind: "bench".into(),
        begun: Some(record.started_at.clone()),
        machine: Machine::of(&record.machine),
        subject: plain(&record.session.name),
        program: program(&build.version, build.commit.as_deref(), build.dirty),
        finding: headline.verdict,
        remarks: remarks(record),
        page: page_name("bench", &record.session.name, digest),
        figures: figures(record),
        detail: Detail::Bench(Box::new(Bench { outline: outline(record), points: points(record) })),
    };
    let page = html_with(record, &frame::way_back());
    (entry, page)
}

/// `0.1.0, commit 41e4c1372331`.
pub(super) fn program(version: &str, commit: Option<&str>, edited: bool) -> String {
    let commit = commit.map_or_else(|| "commit not known".into(), |it| format!("commit {it}"));
    let edited = if edited { " with edited sources" } else { "" };
    plain(&format!("{version}, {commit}{edited}"))
}

fn remarks(record: &BenchRecord) -> Vec<String> {
    let partial = record.partial.as_ref().map(|why| format!("Not complete: {}.", plain(why)));
    let older = (record.format != FORMAT).then(|| {
        format!(
            "Older format {}: one process start, so no interval covers how starts differ.",
            plain(&record.format)
        )
    });
    partial.into_iter().chain(older).collect()
}

/// Without samples, which only the page needs.
fn outline(record: &BenchRecord) -> BenchRecord {
    let bare = |round: &Round| Round {
        lateness_ns: Vec::new(),
        duration_ns: Vec::new(),
        slack_ns: Vec::new(),
        worker_awake_max_ns: Vec::new(),
        skipped_periods: Vec::new(),
        ..round.clone()
    };
    let variant = |it: &Variant| Variant {
        rounds: it.rounds.first().map(bare).into_iter().collect(),
        ordinary: None,
        worst: None,
        explained: None,
        disturbers: Vec::new(),
        ..it.clone()
    };
    BenchRecord {
        variants: record.variants.iter().map(variant).collect(),
        wake_loop: WakeLoop { thread: None, rounds: Vec::new() },
        ..record.clone()
    }
}

fn points(record: &BenchRecord) -> Vec<(String, [Estimate; 2])> {
    let seed = record.settings.seed;
    let of = |it: &Variant| {
        let both = [block_time(it, 0.5, seed)?, block_time(it, 0.99, seed)?];
        Some((plain(&it.name), both))
    };
    record.variants.iter().filter(|it| !it.twin).filter_map(of).collect()
}

/// The median over the rounds of a quantile of the block time, in nanoseconds. The interval covers how process starts
/// differ; there is none with too few of them.
fn block_time(variant: &Variant, q: f64, seed: u64) -> Option<Estimate> {
    let mut starts: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for (round, figure) in round_figures(variant, q, any) {
        starts.entry(round.start).or_default().push(figure);
    }
    let starts: Vec<Vec<f64>> = starts.into_values().collect();
    let value = median(&starts.concat())?;
    let ones: Vec<Vec<f64>> = starts.iter().map(|rounds| vec![1.0; rounds.len()]).collect();
    let interval = compare_starts(&ones, &starts, Z_95, seed).and_then(|it| it.interval());
    Some(Estimate {
        value,
        low: interval.map(|it| it.low.min(value)),
        high: interval.map(|it| it.high.max(value)),
    })
}

fn figures(record: &BenchRecord) -> Vec<Figure> {
    let mut figures = Vec::new();
    for (variant, [p50, p99]) in points(record) {
        for (what, estimate) in [("block time, median", p50), ("block time, p99", p99)] {
            figures.push(Figure {
                name: format!("{variant}: {what}"),
                unit: MICROSECONDS.into(),
                estimate: in_microseconds(&estimate),
            });
        }
        if let Some(it) = record.variants.iter().find(|it| plain(&it.name) == variant) {
            let misses = Estimate::exact(it.misses().total() as f64);
            let name = format!("{variant}: misses in {} blocks", it.blocks());
            figures.push(Figure { name, unit: String::new(), estimate: misses });
        }
    }
    figures
}
