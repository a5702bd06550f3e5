//! The page that holds it all together.

use hocket_trace::BlockTrace;
use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::analysis::{Analysis, Measured, Row};
use super::counters::{COUNTERS, Counters};
use super::kind_counters;
use super::timeline::Strips;
use super::verdict::{Headline, Holding};
use super::{causes, distributions, machine, method, tables, timeline};
use crate::foreign::plain;
use crate::numbers::{block_time, count, counted};
use crate::page_parts::plots::Drawn;
use crate::page_parts::{STYLE, choice, head, script_source};
use crate::record::{BenchRecord, SessionFacts, Variant};
use crate::table::Table;

const SCRIPT: &str = include_str!("script.js");

/// How many variants get timelines; the record holds those of all.
const MOST_TIMELINES: usize = 4;

/// A page about the record that needs nothing but itself.
///
/// Cost: some 20 ms per variant of 3000 blocks, most of it the statistics.
pub fn html(record: &BenchRecord) -> String {
    html_with(record, &html! {})
}

/// The same with a way back, for a page that lies among others.
pub(crate) fn html_with(record: &BenchRecord, way_back: &Markup) -> String {
    let analysis = Analysis::of(record);
    let headline = analysis.headline();
    // The browser runs this script and no other, whatever text a record may hold.
    let scripts = format!("script-src {}; ", script_source(SCRIPT));
    let title = format!("{} – hocket bench", plain(&record.session.name));
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            (head(&title, &scripts, &[STYLE]))
            body {
                (top(&analysis, way_back))
                main {
                    (verdict(&headline))
                    (blocks(&analysis))
                    (then_and_now(&analysis))
                    (timelines(&analysis))
                    (machine_section(&analysis))
                    (method::method(&analysis))
                    (method::limits(&analysis))
                    (method::repeat(&analysis))
                }
                footer { "Made by hocket " (plain(&record.hocket.version)) " from a record of format " (plain(&record.format)) ". This page loads nothing." }
                script { (PreEscaped(SCRIPT)) }
            }
        }
    };
    page.into_string()
}

/// The distributions of all variants as one SVG file, readable on light and on dark pages.
pub fn svg_comparison(record: &BenchRecord) -> String {
    let analysis = Analysis::of(record);
    let verdict = analysis.headline().verdict;
    let caption = format!("{}: {verdict}", record.session.name);
    let drawn = distributions::ready(&analysis);
    drawn.unwrap_or_else(|| Drawn::empty("Nothing was measured")).file("hocket bench", &caption)
}

fn top(analysis: &Analysis, way_back: &Markup) -> Markup {
    let record = analysis.record;
    let it = &record.settings;
    html! {
        header {
            p.brand { "Hocket bench" }
            (choice("theme", "Colours", &[("auto", "auto"), ("light", "light"), ("dark", "dark")]))
            h1 { (plain(&record.session.name)) }
            p.setting {
                (it.frames) " frames at " (it.rate_hz) " Hz · deadline " (block_time(analysis.period_ns)) " · " (it.workers) " workers · "
                (count(it.blocks_per_variant)) " blocks per variant in " (counted(analysis.starts, "process start")) " · " (parts(&record.session))
                @if !it.disturb.is_empty() { " · beside " (plain(&it.disturb.join(" and "))) }
                @for shared in &analysis.shared { " · " (shared) }
                " · " (day(&record.started_at))
            }
            (way_back)
        }
    }
}

/// `8 tracks, 2 groups, 1 return`, without what there is none of.
fn parts(session: &SessionFacts) -> String {
    let named = [(session.tracks, "track"), (session.groups, "group"), (session.returns, "return")];
    let some = named.iter().filter(|(n, _)| *n > 0).map(|(n, name)| counted(*n, name));
    some.collect::<Vec<String>>().join(", ")
}

fn day(rfc3339: &str) -> String {
    plain(rfc3339.split('T').next().unwrap_or(rfc3339))
}

fn verdict(headline: &Headline) -> Markup {
    let class = match headline.holding {
        Some(Holding::Holds) => "verdict holds",
        Some(Holding::Misses) => "verdict misses",
        Some(Holding::TooFewBlocks | Holding::LikeTheLoop) | None => "verdict unsure",
    };
    html! {
        div class=(class) {
            p { (unbroken(&headline.verdict)) }
            @if !headline.findings.is_empty() {
                ul.findings { @for finding in &headline.findings { li { (unbroken(finding)) } } }
            }
        }
    }
}

/// The text with names like `dataflow / off` kept on one line.
fn unbroken(text: &str) -> String {
    text.replace(" / ", "\u{a0}/\u{a0}")
}

fn blocks(analysis: &Analysis) -> Markup {
    let (ready, took) = (distributions::ready(analysis), distributions::took(analysis));
    let note = html! { "A logarithmic axis. Each shape is scaled to its own peak." };
    html! {
        @if let Some(ready) = &ready {
            section {
                h2 { "All blocks" }
                div.pictures role="group" aria-label="Distributions of all variants" {
                    @if let Some(took) = &took {
                        (choice("view", "What is drawn", &[("ready", "output ready"), ("took", "block time alone")]))
                        div.view-ready { (ready.figure(&note)) }
                        div.view-took { (took.figure(&note)) }
                    } @else { (ready.figure(&note)) }
                }
                (titled(tables::READY, &tables::ready(analysis)))
                (causes::section(analysis))
                @if took.is_some() { (speeds(analysis)) }
            }
        }
    }
}

fn titled(title: &str, table: &Table) -> Markup {
    html! { h3 { (title) } (table.html(title)) }
}

/// Which variant is faster, and what it leaves to the neighbours.
fn speeds(analysis: &Analysis) -> Markup {
    html! {
        (titled(tables::TOOK, &tables::took(analysis)))
        @if let Some(changes) = distributions::changes(analysis) { (changes.figure(&html! { (tables::CHANGES) })) }
        @for words in [tables::tails(analysis), tables::settling(analysis), tables::without_disturbed(analysis)].into_iter().flatten() {
            p.note { (words) }
        }
        @if let Some(counters) = Counters::of(analysis) {
            h3 { (COUNTERS) }
            @for table in counters.tables() { (table.html(COUNTERS)) }
            @for sentence in counters.sentences() { p.note { (sentence) } }
            @for (title, tables) in kind_counters::sections(analysis) {
                h3 { (title) }
                @for table in tables { (table.html(&title)) }
            }
            @for sentence in kind_counters::sentences(analysis) { p.note { (sentence) } }
        }
        @if let Some(table) = tables::progress(analysis) {
            (titled(tables::PROGRESS, &table))
            p.note { "What keeps a block safe may keep others from working: this is the price." }
        }
    }
}

/// The old table beside today's figures in its own terms, where there is one for this session.
fn then_and_now(analysis: &Analysis) -> Markup {
    let settings = &analysis.record.settings;
    let of = |title: &str, table: &Table| html! { div { (titled(title, table)) } };
    html! {
        @if let Some(then) = tables::historic(analysis) {
            section {
                h2 { "Then and now" }
                p { (then.definition) " The right-hand figures are this run's in the same terms; machine and software are others, so at most the order of the configurations compares." }
                p.note { (then.caution(analysis.record.session.tracks, &settings.disturb)) }
                div.then-now {
                    (of(&format!("2009: \"{}\"", then.project), &tables::then(&then)))
                    (of("This run", &tables::now(analysis)))
                }
                p.note { "2009: " (then.machine) "; " (then.source) ". This run: " (count(settings.blocks_per_variant)) " blocks of " (settings.frames) " frames per variant." }
            }
        }
    }
}

/// Timelines of the variants that say most: the first, the fastest, the one with most late blocks
/// and the one with the slowest block.
fn timelines(analysis: &Analysis) -> Markup {
    let chosen = chosen(analysis);
    let drawn = chosen.iter().flat_map(|row| traces(row.variant)).map(|(trace, _)| trace);
    let strips = Strips::of(drawn);
    html! {
        @if !chosen.is_empty() {
            section {
                h2 { "Inside a block" }
                p { "One lane per thread. An ordinary block takes the median time; the worst is the one with the least slack." }
                @for (at, row) in chosen.iter().enumerate() {
                    @for (trace, what) in traces(row.variant) {
                        details open[at == 0 && what == "an ordinary block"] {
                            summary { (row.label) span { " · " (what) ", ready after " (block_time(trace.finished_ns as f64)) } }
                            @let why = if what == WORST { causes::of_the_worst(row.variant) } else { String::new() };
                            (timeline::timeline(trace, &format!("{}, {what}", row.label), &strips).figure(&html! { (why) }))
                        }
                    }
                }
                @if analysis.rows.iter().filter(|row| !traces(row.variant).is_empty()).count() > chosen.len() {
                    p.note { "The record holds such blocks of the other variants, too." }
                }
            }
        }
    }
}

/// What the worst block of a variant is called.
const WORST: &str = "the worst block";

fn traces(variant: &Variant) -> Vec<(&BlockTrace, &'static str)> {
    let ordinary = variant.ordinary.as_ref().map(|trace| (trace, "an ordinary block"));
    let worst = variant.worst.as_ref().map(|trace| (trace, WORST));
    ordinary.into_iter().chain(worst).collect()
}

fn chosen<'a, 'r>(analysis: &'a Analysis<'r>) -> Vec<&'a Row<'r>> {
    let by = |figure: fn(&Measured) -> f64| {
        analysis.measured().min_by(|a, b| figure(a.1).total_cmp(&figure(b.1))).map(|(row, _)| row)
    };
    let candidates =
        [analysis.rows.first(), by(|m| m.took.p50), by(|m| -m.late.share()), by(|m| -m.ready.max)];
    let mut chosen: Vec<&Row> = Vec::new();
    for row in candidates.into_iter().flatten() {
        let known = chosen.iter().any(|known| std::ptr::eq(*known, row));
        if !known && !traces(row.variant).is_empty() {
            chosen.push(row);
        }
    }
    chosen.truncate(MOST_TIMELINES);
    chosen
}

fn machine_section(analysis: &Analysis) -> Markup {
    let record = analysis.record;
    html! {
        section {
            h2 { "The machine" }
            (machine::topology(record))
            (machine::facts(&record.machine))
            @if record.grants.as_array().is_some_and(|grants| !grants.is_empty()) {
                h3 { "What the system allows" }
                div.scroll tabindex="0" role="region" aria-label="What the system allows" { (machine::grants(&record.grants)) }
            }
            (method::threads(analysis))
        }
    }
}
