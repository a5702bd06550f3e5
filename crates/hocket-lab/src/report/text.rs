//! The report for a terminal: plain text, at most [`WIDTH`] columns, no colours.

use super::analysis::{Analysis, Judgement, Measured, Row};
use super::causes;
use super::numbers::{count, decimals, of, percent_range, plain, ratio, ratio_range, us};
use crate::historic::{HistoricTable, SessionKind, for_session_kind};
use crate::record::{BenchRecord, Disturber, Variant};

/// No line is longer than this.
const WIDTH: usize = 120;
/// The first column of every table.
const NAME: usize = 36;

/// The verdict and the tables of a record as text, ending with a line break.
pub fn text_table(record: &BenchRecord) -> String {
    let analysis = Analysis::of(record);
    let headline = analysis.headline();
    let mut out = Page::default();
    out.wrapped("", &title(record));
    out.wrapped("", &settings(&analysis));
    if !analysis.shared.is_empty() {
        out.wrapped("", &format!("the same in all variants: {}", analysis.shared.join(", ")));
    }
    out.blank();
    out.wrapped("", &headline.verdict);
    for finding in &headline.findings {
        out.wrapped("- ", finding);
    }
    ready_table(&analysis, &mut out);
    took_table(&analysis, &mut out);
    causes_table(&analysis, &mut out);
    progress_table(&analysis, &mut out);
    if let Some(table) = SessionKind::of_name(&record.session.name).and_then(for_session_kind) {
        historic_table(&table, record, &mut out);
    }
    out.text
}

fn title(record: &BenchRecord) -> String {
    format!("hocket bench: {} ({})", plain(&record.session.name), plain(&record.session.file))
}

fn settings(analysis: &Analysis) -> String {
    let it = &analysis.record.settings;
    let disturb = if it.disturb.is_empty() { "none".into() } else { plain(&it.disturb.join(", ")) };
    format!(
        "{} frames at {} Hz, deadline {} µs, {} workers, {} in {} rounds of {} blocks, disturbers: {disturb}, seed {}",
        it.frames,
        it.rate_hz,
        us(analysis.period_ns, 0),
        it.workers,
        super::numbers::starts(analysis.starts),
        it.rounds,
        it.blocks_per_round,
        it.seed
    )
}

fn digits(analysis: &Analysis) -> usize {
    analysis.measured().map(|(_, m)| decimals(m.took.p50)).max().unwrap_or(0)
}

fn ready_table(analysis: &Analysis, out: &mut Page) {
    let digits = digits(analysis);
    out.blank();
    out.line("When the output was ready, in µs after the block's planned start");
    out.row("variant", &cells(["mean", "p50", "p99", "p99.9", "max", "late", "95 % of late"]));
    for row in &analysis.rows {
        out.row(
            &row.label,
            &or_refused(row, |m| {
                let all = [m.ready.mean, m.ready.p50, m.ready.p99, m.ready.p999, m.ready.max];
                figures(&all, digits, of(m.late), percent_range(m.late.interval()))
            }),
        );
    }
    if let Some(wake) = &analysis.wake {
        let it = &wake.lateness;
        let all = [it.mean, it.p50, it.p99, it.p999, it.max];
        out.row(
            "bare wake-up loop (lateness)",
            &figures(&all, digits, of(wake.late), percent_range(wake.late.interval())),
        );
    }
    if let Some((_, measured)) = analysis.measured().next() {
        out.wrapped("", &format!("({})", measured.ready.p999_meaning()));
    }
    let misses = |(row, m): (&Row, &Measured)| format!("{}: {}", row.label, m.misses_words());
    let misses: Vec<String> = analysis.measured().map(misses).collect();
    if !misses.is_empty() {
        out.wrapped("", &format!("misses = late blocks + skipped periods; {}", misses.join("; ")));
    }
}

fn cells<const N: usize>(texts: [&str; N]) -> Vec<(String, usize)> {
    const WIDTHS: [usize; 7] = [9, 9, 9, 9, 10, 16, 18];
    texts.iter().zip(WIDTHS).map(|(text, width)| ((*text).into(), width)).collect()
}

fn figures(times: &[f64; 5], digits: usize, late: String, range: String) -> Vec<(String, usize)> {
    let [a, b, c, d, e] = times.map(|ns| us(ns, digits));
    cells([&a, &b, &c, &d, &e, &late, &range])
}

/// The cells of a row, or why there are none.
fn or_refused(
    row: &Row,
    cells: impl Fn(&Measured) -> Vec<(String, usize)>,
) -> Vec<(String, usize)> {
    row.measured.as_ref().map_or_else(|| vec![(absence(row.variant), 0)], cells)
}

fn absence(variant: &Variant) -> String {
    match variant.refused {
        Some(_) => "  not measurable here, see above".into(),
        None => "  no blocks were measured".into(),
    }
}

fn took_table(analysis: &Analysis, out: &mut Page) {
    let digits = digits(analysis);
    out.blank();
    out.line("Block time, in µs from the leader's awakening to the complete output; ratios to the first variant, paired by round");
    let head = ["mean", "p50", "max", "p50 ratio", "95 %", "p99 ratio", "verdict on p50"];
    out.row("variant", &took_cells(head));
    for row in analysis.rows.iter().filter(|row| row.measured.is_some()) {
        out.row(
            &row.label,
            &or_refused(row, |m| {
                let [mean, p50, max] =
                    [m.took.mean, m.took.p50, m.took.max].map(|ns| us(ns, digits));
                let verdict = analysis.judgement(row).map_or("reference", Judgement::words);
                let range = m.typical.map_or(String::new(), |c| ratio_range(c.interval()));
                let typical = m.typical.map(|c| c.comparison.ratio);
                let [typical, tail] = [typical, m.tail].map(|c| c.map_or("1".into(), ratio));
                took_cells([&mean, &p50, &max, &typical, &range, &tail, verdict])
            }),
        );
    }
}

fn took_cells(texts: [&str; 7]) -> Vec<(String, usize)> {
    const WIDTHS: [usize; 7] = [9, 9, 10, 10, 16, 10, 20];
    texts.iter().zip(WIDTHS).map(|(text, width)| ((*text).into(), width)).collect()
}

fn causes_table(analysis: &Analysis, out: &mut Page) {
    if causes::explained(analysis).next().is_none() {
        return;
    }
    out.blank();
    out.line("Why blocks were late, and the worst block of each variant");
    for (row, explained) in causes::explained(analysis) {
        let name = format!("{:<NAME$}", shortened(&plain(&row.label), NAME - 1));
        out.wrapped(&name, &causes::in_words(explained));
        let worst = causes::of_the_worst(row.variant);
        if !worst.is_empty() {
            out.wrapped("  worst: ", &worst);
        }
    }
    for limit in causes::limits(analysis) {
        out.wrapped("", &format!("(not seen in this run: {limit})"));
    }
}

fn progress_table(analysis: &Analysis, out: &mut Page) {
    let Some(first) = analysis.rows.iter().find(|row| !row.variant.disturbers.is_empty()) else {
        return;
    };
    out.blank();
    out.line("What the disturbers got done, mean of the rounds");
    let columns: Vec<(&str, &str)> = first
        .variant
        .disturbers
        .iter()
        .map(|d| (d.name.as_str(), d.unit.as_str()))
        .take(4)
        .collect();
    let width = ((WIDTH - NAME) / columns.len().max(1)).min(42);
    let head = columns
        .iter()
        .map(|(name, unit)| (shortened(&plain(&format!("{name}, {unit}")), width - 1), width));
    out.row("variant", &head.collect::<Vec<_>>());
    for row in analysis.rows.iter().filter(|row| row.measured.is_some()) {
        let cells = columns.iter().map(|(name, _)| (mean_progress(row.variant, name), width));
        out.row(&row.label, &cells.collect::<Vec<_>>());
    }
}

fn mean_progress(variant: &Variant, name: &str) -> String {
    let found = variant.disturbers.iter().find(|disturber| disturber.name == name);
    let mean = found.and_then(Disturber::mean_progress);
    mean.map_or("-".into(), |mean| format!("{mean:.1}"))
}

fn historic_table(table: &HistoricTable, record: &BenchRecord, out: &mut Page) {
    let disturbed = !record.settings.disturb.is_empty();
    out.blank();
    out.wrapped(
        "",
        &format!(
            "For comparison: \"{}\" in the {}, on an {}",
            table.project, table.source, table.machine
        ),
    );
    out.row("configuration", &[("mean, µs".into(), 12), ("max, µs".into(), 12)]);
    for row in table.rows {
        let name = format!("{}, {}", row.os, row.configuration);
        out.wide_row(
            &name,
            40,
            &[(count((row.mean_ms * 1e3) as u64), 4), (count((row.max_ms * 1e3) as u64), 12)],
        );
    }
    out.wrapped(
        "",
        &format!("({} {})", table.definition, table.caution(record.session.tracks, disturbed)),
    );
}

/// Lines that end up in the text.
#[derive(Default)]
struct Page {
    text: String,
}

impl Page {
    fn line(&mut self, line: &str) {
        self.text.push_str(line.trim_end());
        self.text.push('\n');
    }

    fn blank(&mut self) {
        self.text.push('\n');
    }

    fn row(&mut self, name: &str, cells: &[(String, usize)]) {
        self.wide_row(name, NAME, cells);
    }

    /// A name that fills `width` columns, then cells aligned to the right.
    fn wide_row(&mut self, name: &str, width: usize, cells: &[(String, usize)]) {
        let mut line = format!("{:<width$}", shortened(&plain(name), width - 1));
        for (text, width) in cells {
            line.push_str(&format!("{text:>width$}"));
        }
        self.line(&line);
    }

    /// Prose, broken between words; `mark` stands before the first line and is matched by spaces
    /// before the others.
    fn wrapped(&mut self, mark: &str, prose: &str) {
        let mut line = String::from(mark);
        for word in prose.split_whitespace() {
            if line.chars().count() + 1 + word.chars().count() > WIDTH && line.len() > mark.len() {
                self.line(&line);
                line = " ".repeat(mark.len());
            }
            let word = shortened(word, WIDTH - mark.len() - 1);
            if !line.ends_with(' ') && !line.is_empty() {
                line.push(' ');
            }
            line.push_str(&word);
        }
        self.line(&line);
    }
}

/// The text itself, or its beginning with an ellipsis where it is longer than `most`.
fn shortened(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.into();
    }
    text.chars().take(most.saturating_sub(1)).chain(['…']).collect()
}
