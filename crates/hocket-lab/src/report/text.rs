//! The report for a terminal: plain text without colours.

use super::analysis::Analysis;
use super::counters::{COUNTERS, Counters};
use super::kind_counters;
use super::{causes, tables};
use crate::lines::Lines;
use crate::numbers::{block_time, counted};
use crate::record::BenchRecord;

/// The verdict and the tables of a record as text, ending with a line break.
pub fn text_table(record: &BenchRecord) -> String {
    let analysis = Analysis::of(record);
    let headline = analysis.headline();
    let mut out = Lines::default();
    let session = &record.session;
    out.prose("", &format!("hocket bench: {} ({})", session.name, session.file));
    out.prose("", &settings(&analysis));
    if !analysis.shared.is_empty() {
        out.prose("", &format!("the same in all variants: {}", analysis.shared.join(", ")));
    }
    out.blank();
    out.prose("", &headline.verdict);
    headline.findings.iter().for_each(|finding| out.prose("- ", finding));
    titled(tables::READY, &tables::ready(&analysis), &mut out);
    if let Some((_, measured)) = analysis.measured().next() {
        out.prose("", &format!("({})", measured.ready.p999_meaning()));
    }
    titled(tables::TOOK, &tables::took(&analysis), &mut out);
    for words in [tables::tails(&analysis), tables::settling(&analysis)].into_iter().flatten() {
        out.prose("", &format!("({words})"));
    }
    reasons(&analysis, &mut out);
    if let Some(table) = tables::progress(&analysis) {
        titled(tables::PROGRESS, &table, &mut out);
    }
    counters(&analysis, &mut out);
    if let Some(then) = tables::historic(&analysis) {
        let from = format!("\"{}\" in the {}, on an {}", then.project, then.source, then.machine);
        titled(&format!("For comparison: {from}"), &tables::then(&then), &mut out);
        let caution = then.caution(session.tracks, &record.settings.disturb);
        out.prose("", &format!("({} {caution})", then.definition));
    }
    out.text
}

/// The ratios of hardware counters, if somebody asked for them.
fn counters(analysis: &Analysis, out: &mut Lines) {
    let Some(counters) = Counters::of(analysis) else { return };
    out.blank();
    out.prose("", COUNTERS);
    counters.tables().iter().for_each(|table| out.table("", table));
    counters.sentences().iter().for_each(|sentence| out.prose("- ", sentence));
    for (title, tables) in kind_counters::sections(analysis) {
        out.blank();
        out.prose("", &title);
        tables.iter().for_each(|table| out.table("", table));
    }
    kind_counters::sentences(analysis).iter().for_each(|sentence| out.prose("- ", sentence));
}

fn titled(title: &str, table: &crate::table::Table, out: &mut Lines) {
    out.blank();
    out.prose("", title);
    out.table("", table);
}

fn settings(analysis: &Analysis) -> String {
    let it = &analysis.record.settings;
    let disturb = if it.disturb.is_empty() { "none".into() } else { it.disturb.join(", ") };
    format!(
        "{} frames at {} Hz, deadline {}, {}, {} in {} of {}, disturbers: {disturb}, seed {}",
        it.frames,
        it.rate_hz,
        block_time(analysis.period_ns),
        counted(it.workers, "worker"),
        counted(analysis.starts, "process start"),
        counted(it.rounds, "round"),
        counted(it.blocks_per_round as usize, "block"),
        it.seed
    )
}

fn reasons(analysis: &Analysis, out: &mut Lines) {
    if causes::explained(analysis).next().is_none() {
        return;
    }
    out.blank();
    out.line("Why blocks were late, and the worst block of each variant");
    for (row, explained) in causes::explained(analysis) {
        out.prose("", &format!("{}: {}", row.label, causes::in_words(explained)));
        let worst = causes::of_the_worst(row.variant);
        if !worst.is_empty() {
            out.prose("  worst: ", &worst);
        }
    }
    for limit in causes::limits(analysis) {
        out.prose("", &format!("(not seen in this run: {limit})"));
    }
}
