//! Why blocks were late: a bar for each variant, and sentences.

use hocket_trace::cause::Cause;
use maud::{Markup, html};

use super::analysis::{Analysis, Row};
use crate::foreign::plain;
use crate::numbers::count;
use crate::once::each_once;
use crate::page_parts::palette::STRIPS;
use crate::record::{Explained, Variant};

/// Explanations of single blocks that are shown for a variant.
const MOST_SENTENCES: usize = 3;

/// Variants of which it is known why blocks were late, or that none was.
pub(super) fn explained<'a>(
    analysis: &'a Analysis,
) -> impl Iterator<Item = (&'a Row<'a>, &'a Explained)> {
    let rows = analysis.rows.iter().filter(|row| row.measured.is_some());
    rows.filter_map(|row| Some((row, row.variant.explained.as_ref()?)))
}

/// `seat-taken 2, unit-slow 1, not explained 4`.
pub(super) fn in_words(explained: &Explained) -> String {
    let causes = explained.causes.by_count().into_iter();
    let causes = causes.map(|(cause, blocks)| format!("{cause} {}", count(blocks)));
    let rest = (explained.unexplained > 0)
        .then(|| format!("not explained {}", count(explained.unexplained)));
    let all: Vec<String> = causes.chain(rest).collect();
    if all.is_empty() { "no late blocks".into() } else { all.join(", ") }
}

/// Why the worst block of a variant was as long as it was; empty where nobody knows.
pub(super) fn of_the_worst(variant: &Variant) -> String {
    let verdict = variant.explained.as_ref().and_then(|explained| explained.worst.as_ref());
    verdict.map_or(String::new(), |verdict| plain(&verdict.text))
}

/// What could not be seen in the run, each once.
pub(super) fn limits(analysis: &Analysis) -> Vec<String> {
    let limits = explained(analysis).flat_map(|(_, explained)| &explained.limits);
    each_once(limits.map(|limit| plain(limit)))
}

/// The section of the page; nothing where the record has no explanations.
pub(super) fn section(analysis: &Analysis) -> Markup {
    let most = explained(analysis).map(|(_, e)| all_of(e)).max().unwrap_or(0);
    html! {
        @if explained(analysis).next().is_some() {
            h3 { "Why blocks were late" }
            div.scroll tabindex="0" role="region" aria-label="Why blocks were late" {
                table.wide {
                    thead { tr {
                        th scope="col" { "Variant" }
                        th scope="col" { "late" }
                        th.left scope="col" { span.vh { "picture" } }
                        th.left scope="col" { "causes" }
                    } }
                    tbody { @for (row, explained) in explained(analysis) { (variant_row(row, explained, most)) } }
                }
            }
            (sentences(analysis))
            p.note { "A cause is named where it explains at least half of a block's lateness: from the times of its units against what they usually take, from the system's records of who ran on the workers' seats and beside them, and from counters of faults, moves and steal time. It is what the records show, and no proof." }
            @for limit in limits(analysis) { p.note { "Not seen in this run: " (limit) "." } }
        }
    }
}

fn all_of(explained: &Explained) -> u64 {
    explained.causes.total().saturating_add(explained.unexplained)
}

fn variant_row(row: &Row, explained: &Explained, most: u64) -> Markup {
    html! {
        tr {
            th scope="row" { (row.label) }
            td { (count(all_of(explained))) }
            td.left { (bar(explained, most)) }
            td.left { (in_words(explained)) }
        }
    }
}

/// A piece for each cause, in one colour throughout the page.
fn bar(explained: &Explained, most: u64) -> Markup {
    let width = |blocks: u64| 130.0 * blocks as f64 / most.max(1) as f64;
    let mut pieces = Vec::new();
    let mut at = 0.0;
    for (cause, blocks) in explained.causes.by_count() {
        pieces.push((at, width(blocks), format!("{cause}: {}", count(blocks)), colour(cause)));
        at += width(blocks);
    }
    let rest = explained.unexplained;
    pieces.push((at, width(rest), format!("not explained: {}", count(rest)), STRIPS[8]));
    html! {
        svg width="130" height="16" role="img" aria-label=(in_words(explained)) {
            @for (x, width, words, fill) in pieces.iter().filter(|piece| piece.1 > 0.0) {
                rect x=(format!("{x:.1}")) y="2" width=(format!("{width:.1}")) height="12" fill=(fill) { title { (words) } }
            }
        }
    }
}

fn colour(cause: Cause) -> &'static str {
    let index = Cause::ALL.iter().position(|one| *one == cause).unwrap_or(0);
    // The last one is grey: for what is not explained.
    if cause == Cause::Unknown { STRIPS[8] } else { STRIPS[index % 8] }
}

fn sentences(analysis: &Analysis) -> Markup {
    let late = |(_, explained): &(&Row, &Explained)| !explained.last.is_empty();
    html! {
        @for (row, explained) in explained(analysis).filter(late) {
            details {
                summary { (row.label) span { " · the last late blocks" } }
                ul { @for verdict in explained.last.iter().rev().take(MOST_SENTENCES) { li { (plain(&verdict.text)) } } }
            }
        }
    }
}
