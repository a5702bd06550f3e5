//! A trace of a run as one HTML page: lanes by seat, zoomed and panned with mouse, touch and keys.
//!
//! The page needs nothing but itself, and loads nothing. What it says in words is there without scripts; the timeline
//! is drawn by a script, from numbers that the page holds (`trace_page/data.rs`).

mod data;

use hocket_trace::cause::Cause;
use hocket_trace::run::{Kept, RunBlock, RunTrace};
use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::foreign::plain;
use crate::numbers::{block_time, count, counted, us};
use crate::once::each_once;
use crate::page_parts::{PLAIN_STYLE, choice, head, script_source};

/// What this page needs besides.
const OWN_STYLE: &str = include_str!("trace_page/style.css");
const SCRIPT: &str = include_str!("trace_page/script.js");

/// Late blocks in the table; the timeline has all of them.
const MOST_LATE: usize = 100;

/// A page about one run, or about two, one under the other. It needs nothing but itself.
///
/// Cost: linear in the spans; the page has some 25 bytes for each.
///
/// # Panics
/// If there is no run, or a third.
pub fn html(runs: &[RunTrace]) -> String {
    assert!((1..=2).contains(&runs.len()), "a page has one run or two");
    let sessions = sessions(runs);
    let shown: Vec<Shown> = (0..runs.len()).map(|index| Shown::of(runs, index)).collect();
    let title = format!("{sessions} – hocket trace");
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            (head(&title, &scripts(), &[PLAIN_STYLE, OWN_STYLE]))
            body {
                (top(&sessions, &shown))
                main {
                    @for it in &shown { (verdict(it)) }
                    @if runs.len() > 1 { p.note { (together(runs)) } }
                    @for it in &shown { (timeline(it)) }
                    @for it in &shown { (table(it)) }
                    (limits(runs))
                }
                footer { "Made by hocket " (plain(&runs[0].about.hocket)) " of a trace of format " (hocket_trace::run::FORMAT) ". This page loads nothing." }
                (script())
            }
        }
    };
    page.into_string()
}

/// The browser runs this script and no other, whatever text a trace may hold.
pub(crate) fn scripts() -> String {
    format!("script-src {}; ", script_source(SCRIPT))
}

/// What a page with two runs says about them.
fn together(runs: &[RunTrace]) -> String {
    let origin = match runs.iter().any(|run| !run.about.file.is_empty()) {
        true => "A and B are from two files.",
        false => "B was played after A.",
    };
    let periods = runs.iter().map(|run| run.about.period_ns);
    let deadlines = match each_once(periods.map(|ns| ns.to_string())).len() {
        1 => "",
        _ => " Their periods differ, and so do the distances of their deadlines.",
    };
    format!(
        "{origin} Their timelines have the same scale, move and zoom together, and the chosen blocks begin at the same \
         place.{deadlines} Choose a block in each to compare them. The pages of hocket bench judge which of two is better: \
         it lets them take turns."
    )
}

/// `The Band`; of two sessions, `The Band and the other`.
fn sessions(runs: &[RunTrace]) -> String {
    each_once(runs.iter().map(|run| plain(&run.about.session))).join(" and ")
}

/// One run of a page.
struct Shown<'a> {
    run: &'a RunTrace,
    /// 0 or 1.
    index: usize,
    is_alone: bool,
    /// What holds for both timelines stands below the last one.
    is_last: bool,
    /// The late blocks, the worst first.
    late: Vec<&'a RunBlock>,
}

impl Shown<'_> {
    fn of(runs: &[RunTrace], index: usize) -> Shown<'_> {
        let run = &runs[index];
        let mut late: Vec<&RunBlock> = run.blocks.iter().filter(|block| block.is_late()).collect();
        late.sort_by_key(|block| block.slack_ns());
        Shown { run, index, is_alone: runs.len() == 1, is_last: index + 1 == runs.len(), late }
    }

    /// The end of the names that this run's elements have: none for the first.
    fn suffix(&self) -> &'static str {
        ["", "-b"][self.index]
    }

    fn letter(&self) -> &'static str {
        ["A", "B"][self.index]
    }

    /// `Timeline`; of two runs, `Timeline B: critical / off / hybrid`, or `Timeline B: after.json`.
    fn heading(&self, what: &str) -> String {
        let about = &self.run.about;
        let name = if about.file.is_empty() { &about.policy } else { &about.file };
        match self.is_alone {
            true => what.into(),
            false => format!("{what} {}: {}", self.letter(), plain(name)),
        }
    }
}

fn top(sessions: &str, shown: &[Shown]) -> Markup {
    let settings = each_once(shown.iter().map(|it| setting(it.run)));
    html! {
        header {
            p.brand { "Hocket trace" }
            (choice("theme", "Colours", &[("auto", "auto"), ("light", "light"), ("dark", "dark")]))
            h1 { (sessions) }
            @if let [only] = shown {
                p.setting { (setting(only.run)) " · " (played(only.run)) }
            } @else {
                @if let [both] = &settings[..] { p.setting { (both) } }
                @for it in shown {
                    p.setting {
                        b { (it.letter()) }
                        @if sessions != plain(&it.run.about.session) { " · " (plain(&it.run.about.session)) }
                        " · " (played(it.run))
                        @if settings.len() > 1 { " · " (setting(it.run)) }
                    }
                }
            }
        }
    }
}

/// `48 frames at 48000 Hz · deadline 1000 µs`.
fn setting(run: &RunTrace) -> String {
    format!("{} · deadline {}", run.frames(), block_time(run.about.period_ns as f64))
}

fn blocks(n: u64) -> String {
    counted(n as usize, "block")
}

/// What stands in its file, where it was played and how.
fn played(run: &RunTrace) -> String {
    let about = &run.about;
    let interrupted = if run.interrupted { ", interrupted" } else { "" };
    let blocks = format!("{} played{interrupted}", blocks(run.played));
    // The cycles of an audio server have no other name than that of their file.
    let file = if about.file == about.session { "" } else { &about.file };
    let known = [file, &about.machine, &about.policy, &blocks].map(plain);
    known.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" · ")
}

fn verdict(shown: &Shown) -> Markup {
    let Shown { run, late, is_alone, .. } = shown;
    let class = if run.misses.total() > 0 { "verdict misses" } else { "verdict holds" };
    let misses = match run.misses.total() {
        0 if run.played == 1 => "The one block was in time.".into(),
        0 => format!("All {} were in time.", blocks(run.played)),
        _ => format!("Misses in {}: {}.", blocks(run.played), run.misses),
    };
    let worst = run.worst().filter(|_| late.is_empty());
    html! {
        div class=(class) {
            p { @if !is_alone { (shown.letter()) ": " } (misses) }
            ul.findings {
                @for block in late.iter().take(3) {
                    @if let Some(verdict) = &block.verdict { li { (plain(&verdict.text)) "." } }
                }
                @if let Some(worst) = worst {
                    li { "The least slack: " (block_time(worst.slack_ns() as f64)) ", in block " (worst.number) "." }
                }
                li { (kept(run)) }
            }
        }
    }
}

fn kept(run: &RunTrace) -> String {
    let which = match run.about.kept {
        Kept::Every => "all that were played",
        Kept::OnMiss => {
            "those that were late and their neighbours, or the worst one if none was late"
        }
    };
    let mut text = format!("Kept: {}, {which}.", blocks(run.blocks.len() as u64));
    if run.lost_blocks > 0 {
        text += &format!(" There was no room for {} others.", count(run.lost_blocks));
    }
    if run.lost_spans > 0 {
        text += &format!(" There was no room for {}.", counted(run.lost_spans as usize, "span"));
    }
    text
}

/// The timeline of a run.
fn timeline(shown: &Shown) -> Markup {
    let (suffix, heading) = (shown.suffix(), shown.heading("Timeline"));
    stage(&Stage {
        run: shown.index,
        suffix,
        heading: &heading,
        lanes: "the blocks",
        moves: "B and L go to the next block and the next late one",
        find: "Find a unit",
        keys: &KEYS,
        is_last: shown.is_last,
        still: html! { p { "The timeline needs scripts. The late blocks are listed below in words." } },
        data: data::json(shown.run),
    })
}

/// What the script fills.
pub(crate) struct Stage<'a> {
    /// Which of the page's timelines.
    pub run: usize,
    /// The end of the names of its elements.
    pub suffix: &'a str,
    pub heading: &'a str,
    /// What it shows beside lanes of threads.
    pub lanes: &'a str,
    /// What keys do besides, in words.
    pub moves: &'a str,
    pub find: &'a str,
    pub keys: &'a [(&'a str, &'a str)],
    pub is_last: bool,
    /// Instead of it where there are no scripts.
    pub still: Markup,
    /// JSON for the script, without `<`.
    pub data: String,
}

/// Its height is kept, so that nothing moves when the script fills it.
pub(crate) fn stage(it: &Stage) -> Markup {
    let Stage { suffix, heading, .. } = it;
    let find = format!("find{suffix}");
    html! {
        section.stage data-run=(it.run) {
            h2 { (heading) }
            noscript { (it.still) }
            div.tools hidden {
                label for=(find) { (it.find) }
                input type="search" id=(find) autocomplete="off" spellcheck="false";
                span.found id={ "found" (suffix) } role="status" {}
            }
            figure.trace aria-label={ (heading) ", " (it.lanes) } hidden {
                canvas.overview aria-hidden="true" {}
                div.plot tabindex="0" role="group" aria-label={ (heading) ", one lane per thread. Arrow keys move, plus and minus zoom, " (it.moves) "." } {
                    div.names {}
                    canvas.lanes-canvas aria-hidden="true" {}
                }
                p.readout aria-live="polite" {}
                @if it.is_last { ul.legend {} }
            }
            @if it.is_last {
                details.keys hidden {
                    summary { "Mouse, touch and keys" }
                    dl.facts.long {
                        @for (keys, what) in it.keys { div { dt { (keys) } dd { (what) } } }
                    }
                }
            }
            script type="application/json" id={ "trace" (suffix) } { (PreEscaped(&it.data)) }
        }
    }
}

/// The script of timelines, and what the head of their page allows it.
pub(crate) fn script() -> Markup {
    html! { script { (PreEscaped(SCRIPT)) } }
}

pub(crate) use data::{list, quoted};

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

fn table(shown: &Shown) -> Markup {
    let (late, heading) = (&shown.late, shown.heading("Late blocks"));
    html! {
        @if !late.is_empty() {
            section data-run=(shown.index) {
                h2 { (heading) }
                div.scroll tabindex="0" role="region" aria-label=(heading) {
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

fn limits(runs: &[RunTrace]) -> Markup {
    let remarks = each_once(runs.iter().flat_map(|run| &run.remarks).map(|text| plain(text)));
    let limits = each_once(runs.iter().flat_map(|run| &run.limits).map(|text| plain(text)));
    html! {
        @if !remarks.is_empty() {
            section {
                h2 { "What the system granted and refused" }
                ul.plain { @for remark in &remarks { li { (remark) "." } } }
            }
        }
        section {
            h2 { "What it does not show" }
            ul.plain {
                @for limit in &limits { li { (limit) "." } }
                @for cost in &each_once(runs.iter().map(RunTrace::cost)) {
                    li { "What it costs to note spans is in the times: " (cost) "." }
                }
                li { "Other threads are shown for late blocks only, as far as this machine lets Hocket watch them." }
                li { "A cause is what the records show. It is not a proof." }
            }
        }
    }
}
