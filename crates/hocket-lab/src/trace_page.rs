//! A trace of a run as one HTML page: lanes by seat, zoomed and panned with mouse, touch and keys.
//!
//! The page needs nothing but itself, and loads nothing. What it says in words is there without scripts; the timeline
//! is drawn by a script, from numbers that the page holds (`trace_page/data.rs`).

mod data;

use hocket_trace::cause::Cause;
use hocket_trace::run::{Kept, RunBlock, RunTrace};
use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::foreign::plain;
use crate::numbers::{count, quantity, us};
use crate::page_parts::{PLAIN_STYLE, choice, head, script_source};

/// What this page needs besides.
const OWN_STYLE: &str = include_str!("trace_page/style.css");
const SCRIPT: &str = include_str!("trace_page/script.js");

/// Late blocks in the table; the timeline has all of them.
const MOST_LATE: usize = 100;

/// A page about the run that needs nothing but itself.
///
/// Cost: linear in the spans; the page has some 25 bytes for each.
pub fn html(run: &RunTrace) -> String {
    let late = late_blocks(run);
    let title = format!("{} – hocket trace", plain(&run.about.session));
    // The browser runs this script and no other, whatever text a trace may hold.
    let scripts = format!("script-src {}; ", script_source(SCRIPT));
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            (head(&title, &scripts, &[PLAIN_STYLE, OWN_STYLE]))
            body {
                (top(run))
                main {
                    (verdict(run, &late))
                    (timeline())
                    (table(&late))
                    (limits(run))
                }
                footer { "Made by hocket " (plain(&run.about.hocket)) " of a trace of format " (hocket_trace::run::FORMAT) ". This page loads nothing." }
                script type="application/json" id="trace" { (PreEscaped(data::json(run))) }
                script { (PreEscaped(SCRIPT)) }
            }
        }
    };
    page.into_string()
}

/// The late blocks, the worst first.
fn late_blocks(run: &RunTrace) -> Vec<&RunBlock> {
    let mut late: Vec<&RunBlock> = run.blocks.iter().filter(|block| block.is_late()).collect();
    late.sort_by_key(|block| block.slack_ns());
    late
}

fn top(run: &RunTrace) -> Markup {
    let about = &run.about;
    html! {
        header {
            p.brand { "Hocket trace" }
            (choice("theme", "Colours", &[("auto", "auto"), ("light", "light"), ("dark", "dark")]))
            h1 { (plain(&about.session)) }
            p.setting {
                (run.frames()) " · deadline " (quantity(about.period_ns as f64, "ns")) " · "
                (plain(&about.policy)) " · " (count(run.played)) " blocks played"
                @if run.interrupted { ", interrupted" }
            }
        }
    }
}

fn verdict(run: &RunTrace, late: &[&RunBlock]) -> Markup {
    let class = if run.misses.total() > 0 { "verdict misses" } else { "verdict holds" };
    let misses = match run.misses.total() {
        0 => format!("All {} blocks were in time.", count(run.played)),
        _ => format!("Misses in {} blocks: {}.", count(run.played), run.misses),
    };
    let worst = run.worst().filter(|_| late.is_empty());
    html! {
        div class=(class) {
            p { (misses) }
            ul.findings {
                @for block in late.iter().take(3) {
                    @if let Some(verdict) = &block.verdict { li { (plain(&verdict.text)) "." } }
                }
                @if let Some(worst) = worst {
                    li { "The least slack: " (quantity(worst.slack_ns() as f64, "ns")) ", in block " (worst.number) "." }
                }
                li { (kept(run)) }
            }
        }
    }
}

fn kept(run: &RunTrace) -> String {
    let which = match run.about.kept {
        Kept::Every => "every block",
        Kept::OnMiss => "late blocks and their neighbours, or the worst block if none was late",
    };
    let mut text = format!("This page has {} blocks: {which}.", count(run.blocks.len() as u64));
    if run.lost_blocks > 0 {
        text += &format!(" There was no room for {} others.", count(run.lost_blocks));
    }
    if run.lost_spans > 0 {
        text += &format!(" There was no room for {} spans.", count(run.lost_spans));
    }
    text
}

/// What the script fills. Its height is kept, so that nothing moves when it comes.
fn timeline() -> Markup {
    html! {
        section.stage {
            h2 { "Timeline" }
            noscript { p { "The timeline needs scripts. The late blocks are listed below in words." } }
            div.tools hidden {
                label for="find" { "Find a unit" }
                input type="search" id="find" autocomplete="off" spellcheck="false";
                span #found role="status" {}
            }
            figure.trace aria-label="Timeline of the blocks" hidden {
                canvas.overview aria-hidden="true" {}
                div.plot tabindex="0" role="group" aria-label="Timeline, one lane per thread. Arrow keys move, plus and minus zoom, B and L go to the next block and the next late one." {
                    div.names {}
                    canvas.lanes-canvas aria-hidden="true" {}
                }
                p.readout aria-live="polite" {}
                ul.legend {}
            }
            details.keys hidden {
                summary { "Mouse, touch and keys" }
                dl.facts.long {
                    @for (keys, what) in KEYS { div { dt { (keys) } dd { (what) } } }
                }
            }
        }
    }
}

const KEYS: [(&str, &str); 9] = [
    ("drag, ← →", "moves"),
    ("wheel, pinch, + −", "zooms; the wheel after a click into the timeline, or with Ctrl"),
    ("0", "shows everything"),
    ("b, Shift+B", "the next block, the one before"),
    ("l, Shift+L", "the next late block, the one before"),
    ("click", "says what a span is"),
    ("Shift+→, Shift+←", "the next span of the lane, the one before"),
    ("↑ ↓", "another lane"),
    ("/, Enter, Shift+Enter", "finds a unit; its next span, the one before"),
];

fn table(late: &[&RunBlock]) -> Markup {
    html! {
        @if !late.is_empty() {
            section {
                h2 { "Late blocks" }
                div.scroll tabindex="0" role="region" aria-label="Late blocks" {
                    table.wide {
                        thead { tr { th scope="col" { "block" } th scope="col" { "late by, µs" } th.left scope="col" { "cause" } th.left scope="col" { "in words" } } }
                        tbody {
                            @for block in late.iter().take(MOST_LATE) { (row(block)) }
                        }
                    }
                }
                @if late.len() > MOST_LATE {
                    p.note { (late.len() - MOST_LATE) " more are in the timeline." }
                }
            }
        }
    }
}

fn row(block: &RunBlock) -> Markup {
    let cause = block.verdict.as_ref().map_or(Cause::Unknown, |verdict| verdict.cause);
    html! {
        tr data-block=(block.number) {
            th scope="row" { (block.number) }
            td.is-late { (us(block.slack_ns().saturating_neg() as f64)) }
            td.left { (cause) }
            td.why {
                @if let Some(verdict) = &block.verdict {
                    (plain(&verdict.text))
                    @for share in &verdict.others { "; also: " (plain(&share.text)) }
                    "."
                } @else { "This block was not explained." }
            }
        }
    }
}

fn limits(run: &RunTrace) -> Markup {
    html! {
        @if !run.remarks.is_empty() {
            section {
                h2 { "What the system granted and refused" }
                ul.plain { @for remark in &run.remarks { li { (plain(remark)) "." } } }
            }
        }
        section {
            h2 { "What it does not show" }
            ul.plain {
                @for limit in &run.limits { li { (plain(limit)) "." } }
                li { "What it costs to note spans is in the times: " (run.cost()) "." }
                li { "Other threads are shown for late blocks only, as far as this machine lets Hocket watch them." }
                li { "A cause is what the records show. It is not a proof." }
            }
        }
    }
}
