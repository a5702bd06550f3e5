//! The tables of the page.

use maud::{Markup, html};

use super::analysis::{Analysis, Judgement, Measured, Row, Wake};
use super::numbers::{count, decimals, of, percent, percent_range, plain, ratio, ratio_range, us};
use crate::historic::{HistoricTable, SessionKind, for_session_kind};
use crate::record::{Disturber, Variant};
use crate::stats::{StartComparison, Summary};

fn digits(analysis: &Analysis) -> usize {
    analysis.measured().map(|(_, m)| decimals(m.took.p50)).max().unwrap_or(0)
}

/// A table that scrolls inside its own box where the page is narrow.
fn scrolling(name: &str, table: Markup) -> Markup {
    html! { div.scroll tabindex="0" role="region" aria-label=(name) { (table) } }
}

/// A row that says why it has no figures.
fn absent(row: &Row, columns: usize) -> Markup {
    let why = row.variant.refused.as_deref().map_or("no blocks were measured".into(), plain);
    html! { tr { th scope="row" { (row.label) } td.why colspan=(columns) { "not measurable here: " (why) } } }
}

/// `first` for the first variant.
fn place(row: &Row, analysis: &Analysis) -> &'static str {
    let first = analysis.rows.first().is_some_and(|first| std::ptr::eq(first, row));
    if first { "first" } else { "" }
}

/// Whether the deadline is met.
pub(super) fn ready(analysis: &Analysis) -> Markup {
    let digits = digits(analysis);
    let name = "Output ready after the planned start, in µs";
    let table = html! {
        table.wide {
            thead { tr {
                th scope="col" { "Variant" }
                // What the page is about stands first: a phone shows no more without scrolling.
                @for head in ["late", "95 % interval of late", "mean", "p50", "p99", "p99.9", "max", "misses = late + skipped"] { th scope="col" { (head) } }
            } }
            tbody {
                @for row in &analysis.rows {
                    @match &row.measured {
                        None => (absent(row, 8)),
                        Some(m) => tr class=(place(row, analysis)) {
                            th scope="row" { (row.label) }
                            td.is-late[m.late.count > 0] { (of(m.late)) }
                            td { (percent_range(m.late.interval())) }
                            (times(&m.ready, digits, analysis.period_ns))
                            td.is-late[m.misses.total() > 0] { (m.misses_words()) }
                        },
                    }
                }
                @if let Some(wake) = &analysis.wake { (wake_row(wake, digits, analysis.period_ns)) }
            }
        }
    };
    html! { h3 { (name) } (scrolling(name, table)) }
}

fn wake_row(wake: &Wake, digits: usize, period_ns: f64) -> Markup {
    html! {
        tr.reference {
            th scope="row" { "bare wake-up loop" }
            td { (of(wake.late)) }
            td { (percent_range(wake.late.interval())) }
            (times(&wake.lateness, digits, period_ns))
            td { "" }
        }
    }
}

fn times(it: &Summary, digits: usize, period_ns: f64) -> Markup {
    html! {
        @for ns in [it.mean, it.p50, it.p99, it.p999, it.max] {
            td.is-late[ns > period_ns] { (us(ns, digits)) }
        }
    }
}

/// Which variant is faster, and what it leaves to the neighbours.
pub(super) fn took(analysis: &Analysis) -> Markup {
    let digits = digits(analysis);
    let forest = Forest::of(analysis);
    let name = "Block time, in µs from the leader's awakening to the complete output";
    let table = html! {
        table.wide {
            thead { tr {
                th scope="col" { "Variant" }
                @for head in ["mean", "p50", "p99", "max", "p50 ratio, 95 %"] { th scope="col" { (head) } }
                th.left scope="col" { span.vh { "picture" } }
                th scope="col" { "p99 ratio" }
                th.left scope="col" { "Verdict on p50" }
            } }
            tbody {
                @for row in &analysis.rows {
                    @if let Some(m) = &row.measured {
                        tr class=(place(row, analysis)) {
                            th scope="row" { (row.label) }
                            @for ns in [m.took.mean, m.took.p50, m.took.p99, m.took.max] { td { (us(ns, digits)) } }
                            (ratios(m, &forest, analysis.judgement(row)))
                        }
                    }
                }
            }
        }
    };
    html! {
        h3 { (name) }
        (scrolling(name, table))
        p.note { "Ratios to the first variant: one round's figure divided by the first variant's in the same round; the median over the rounds of a process start, and the mean of that over the starts. Below one is faster. The 95 % intervals cover how starts differ, and hold for all variants at once." }
        (without_disturbed(analysis))
    }
}

fn ratios(measured: &Measured, forest: &Forest, judgement: Option<Judgement>) -> Markup {
    html! {
        @match measured.typical {
            None => { td { "1" } td.left { span.sub { "reference" } } },
            Some(c) => {
                td { b { (ratio(c.comparison.ratio)) } br; span.sub { (ratio_range(c.interval())) } }
                td.left { (forest.drawing(&c, judgement)) }
            },
        }
        td { (measured.tail.map_or("1".into(), ratio)) }
        td.left { (judgement.map_or("", Judgement::words)) }
    }
}

/// The common axis of the small interval pictures.
struct Forest {
    /// Largest deviation from one, as a logarithm.
    reach: f64,
}

impl Forest {
    fn of(analysis: &Analysis) -> Forest {
        let far = |c: StartComparison| {
            let ratio = c.comparison.ratio;
            let ends = c.interval().map_or([ratio; 2], |interval| [interval.low, interval.high]);
            ends.iter().map(|end| end.ln().abs()).fold(0.0, f64::max)
        };
        let all = analysis.measured().filter_map(|(_, m)| m.typical.map(far));
        Forest { reach: all.fold(0.01, f64::max) * 1.15 }
    }

    fn x(&self, ratio: f64) -> f64 {
        65.0 + 62.0 * (ratio.ln() / self.reach).clamp(-1.0, 1.0)
    }

    fn drawing(&self, c: &StartComparison, judgement: Option<Judgement>) -> Markup {
        let none = !judgement.is_some_and(Judgement::is_shown);
        let (point, interval) = (c.comparison.ratio, c.interval());
        let words = ratio_range(interval);
        html! {
            svg class=(if none { "forest none" } else { "forest" }) width="130" height="16" role="img" aria-label={ "ratio " (ratio(point)) ", interval " (words) } {
                line.one x1="65" x2="65" y1="0" y2="16" {}
                @if let Some(interval) = interval {
                    line.range x1=(format!("{:.1}", self.x(interval.low))) x2=(format!("{:.1}", self.x(interval.high))) y1="8" y2="8" {}
                }
                circle.point cx=(format!("{:.1}", self.x(point))) cy="8" r="3.5" {}
            }
        }
    }
}

/// What the disturbers got done beside each variant; nothing where none ran.
pub(super) fn progress(analysis: &Analysis) -> Markup {
    let disturbers = disturbers(analysis);
    let name = "What the disturbers got done, mean of the rounds";
    let table = html! {
        table.wide {
            thead { tr {
                th scope="col" { "Beside" }
                @for (name, unit) in &disturbers {
                    th scope="col" { (name) ", " (unit) }
                    th scope="col" { "of the first" }
                    th scope="col" { "on siblings" }
                }
            } }
            tbody {
                @for row in analysis.rows.iter().filter(|row| row.measured.is_some()) {
                    tr class=(place(row, analysis)) {
                        th scope="row" { (row.label) }
                        @for (name, _) in &disturbers { (progress_cells(row.variant, name, analysis)) }
                    }
                }
            }
        }
    };
    html! {
        @if !disturbers.is_empty() {
            h3 { (name) }
            (scrolling(name, table))
            p.note { "What keeps a block safe may keep others from working: this is the price." }
        }
    }
}

/// Names and units of the disturbers, of all variants.
fn disturbers(analysis: &Analysis) -> Vec<(String, String)> {
    let mut out: Vec<(String, String)> = Vec::new();
    for disturber in analysis.rows.iter().flat_map(|row| &row.variant.disturbers) {
        let named = (plain(&disturber.name), plain(&disturber.unit));
        if !out.contains(&named) {
            out.push(named);
        }
    }
    out
}

fn named<'v>(variant: &'v Variant, name: &str) -> Option<&'v Disturber> {
    variant.disturbers.iter().find(|disturber| plain(&disturber.name) == name)
}

fn progress_cells(variant: &Variant, name: &str, analysis: &Analysis) -> Markup {
    let mean = |variant| named(variant, name).and_then(Disturber::mean_progress);
    let done = mean(variant);
    let base = analysis.rows.first().and_then(|row| mean(row.variant)).filter(|base| *base > 0.0);
    let share = done.zip(base).map_or("–".into(), |(done, base)| percent(done / base));
    html! {
        td { (done.map_or("–".into(), |done| format!("{done:.1}"))) }
        td { (share) }
        td { @if let Some(it) = named(variant, name) { (where_it_ran(it)) } }
    }
}

/// The share on the workers' siblings, which is what sibling policies are about, and in the
/// tooltip the others.
fn where_it_ran(disturber: &Disturber) -> Markup {
    html! {
        @if let Some(it) = disturber.ran_on {
            @let all = format!(
                "workers' seats {}, their siblings {}, elsewhere {}",
                percent(it.worker_seat), percent(it.sibling), percent(it.elsewhere)
            );
            span.sub title=(all) { (percent(it.sibling)) }
        } @else { span.sub { "not known" } }
    }
}

/// The comparison again without the rounds that saw foreign work, where that is possible.
fn without_disturbed(analysis: &Analysis) -> Markup {
    let words: Vec<String> = analysis
        .measured()
        .filter_map(|(row, m)| {
            let (left, rounds) = m.undisturbed?;
            Some(format!("{} {} ({rounds} rounds)", row.label, ratio(left)))
        })
        .collect();
    html! {
        @if !words.is_empty() {
            p.note { "The ratios without the rounds in which either was disturbed by foreign work: " (words.join("; ")) "." }
        }
    }
}

/// The old table beside today's figures in its own terms, where there is one for this session.
pub(super) fn historic(analysis: &Analysis) -> Markup {
    let session = &analysis.record.session;
    let kind = SessionKind::of_name(&session.name).or_else(|| SessionKind::of_name(&session.file));
    html! { @if let Some(table) = kind.and_then(for_session_kind) { (then_and_now(&table, analysis)) } }
}

fn then_and_now(table: &HistoricTable, analysis: &Analysis) -> Markup {
    let session = &analysis.record.session;
    html! {
        section {
            h2 { "Then and now" }
            p { (table.definition) " The right-hand figures are this run's in the same terms; machine and software are others, so at most the order of the configurations compares." }
            p.note { (table.caution(session.tracks, !analysis.record.settings.disturb.is_empty())) }
            div.then-now {
                div {
                    h3 { "2009: \"" (table.project) "\"" }
                    (mean_and_max("Table of 2009", table.rows.iter().map(|row| (format!("{}, {}", row.os, row.configuration), row.mean_ms * 1e6, row.max_ms * 1e6))))
                    p.note { (table.machine) "; " (table.source) "." }
                }
                div {
                    h3 { "This run" }
                    (mean_and_max("This run", analysis.measured().map(|(row, m)| (row.label.clone(), m.took.mean, m.took.max))))
                    p.note { (count(analysis.record.settings.blocks_per_variant)) " blocks of " (analysis.record.settings.frames) " frames per variant." }
                }
            }
        }
    }
}

/// Times in nanoseconds.
fn mean_and_max(name: &str, rows: impl Iterator<Item = (String, f64, f64)>) -> Markup {
    let table = html! {
        table.wide {
            thead { tr { th scope="col" { "Configuration" } th scope="col" { "mean, µs" } th scope="col" { "max, µs" } } }
            tbody { @for (name, mean, max) in rows {
                tr { th scope="row" { (name) } td { (us(mean, 0)) } td { (us(max, 0)) } }
            } }
        }
    };
    scrolling(name, table)
}
