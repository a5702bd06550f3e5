//! What the threads of a program did, as one HTML page: a timeline to zoom into, and tables of who met whom.
//!
//! The timeline is that of a run's trace, without blocks. Where scripts do not run, a picture stands in its place.

mod data;
mod picture;

use std::cmp::Reverse;
use std::ops::Range;

use hocket_trace::system::{Did, SystemTrace};
use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::foreign::plain;
use crate::numbers::{count, quantity, us};
use crate::page_parts::{PLAIN_STYLE, choice, head};
use crate::trace_page::{Stage, script, scripts, stage};

/// What this page needs besides, as that of a session's trace does.
const OWN_STYLE: &str = include_str!("trace_page/style.css");
/// Threads and pairs in a table.
const MOST: usize = 100;
/// What is shown before and after the longest wait, in parts of its length.
const MARGIN: i64 = 2;

/// A page that needs nothing but itself.
///
/// Cost: linear in the pieces; the page has some 45 bytes for each.
pub fn html(system: &SystemTrace) -> String {
    let title = format!("{} – hocket trace", plain(&system.about.program));
    let format = hocket_trace::system::FORMAT;
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            (head(&title, &scripts(), &[PLAIN_STYLE, OWN_STYLE]))
            body {
                (top(system))
                main {
                    (verdict(system))
                    (pictures(system))
                    (threads(system))
                    (in_the_way(system))
                    (beside(system))
                    (wakes(system))
                    (limits(system))
                }
                footer { "Made by hocket " (plain(&system.about.hocket)) " of a trace of format " (format) ". This page loads nothing." }
                (script())
            }
        }
    };
    page.into_string()
}

fn top(system: &SystemTrace) -> Markup {
    html! {
        header {
            p.brand { "Hocket trace" }
            (choice("theme", "Colours", &[("auto", "auto"), ("light", "light"), ("dark", "dark")]))
            h1 { (plain(&system.about.program)) }
            p.setting {
                "watched for " (time(system.length_ns())) " · " (system.cpus.len()) " CPUs · " (count(system.events)) " events · "
                (plain(&system.about.ended))
            }
        }
    }
}

fn verdict(system: &SystemTrace) -> Markup {
    let members = system.members();
    let waited_ns: i64 = members.iter().map(|it| system.threads[*it as usize].waited_ns).sum();
    let worst = system.in_the_way.iter().max_by_key(|(_, way)| way.ns);
    html! {
        div.verdict.holds {
            p { (count(members.len() as u64)) " threads were ready to run for " (time(waited_ns)) " in all and did not run." }
            ul.findings {
                @if let Some(((waiting, running), way)) = worst {
                    li { (title(system, *running)) " had the CPU of " (title(system, *waiting)) " for " (time(way.ns)) ", most of all." }
                }
                @if system.lost > 0 { li { (count(system.lost)) " records are lost, because they came faster than they were read." } }
            }
        }
    }
}

fn pictures(system: &SystemTrace) -> Markup {
    let about = &system.about;
    let until_ns = system.drawn_until_ns.unwrap_or(about.end_ns);
    let waits = system.pieces.iter().filter(|piece| piece.did == Did::Waited);
    let longest = waits.max_by_key(|piece| piece.length_ns);
    html! {
        (stage(&Stage {
            run: 0,
            suffix: "",
            heading: "Timeline",
            lanes: "threads and CPUs",
            moves: "slash finds a thread or a CPU",
            find: "Find a thread, a CPU or “ready”",
            keys: &KEYS,
            is_last: true,
            still: html! {
                p.note { "The height is the share of the time in which a thread ran. " (LANES) }
                (drawn(system, "Timeline", about.start_ns..until_ns))
            },
            data: data::json(system),
        }))
        section {
            @if system.drawn_until_ns.is_some() { p.note { "There was no room for later pieces. The tables count them." } }
            @if let Some(piece) = longest {
                @let margin_ns = MARGIN * i64::from(piece.length_ns);
                @let (from_ns, to_ns) = (piece.start_ns - margin_ns, piece.end_ns() + margin_ns);
                h2 { "Around the longest wait" }
                p data-begin=(from_ns - about.start_ns) data-end=(to_ns - about.start_ns) {
                    (title(system, piece.thread)) " was ready for " (us(f64::from(piece.length_ns))) " µs and did not run."
                }
                (drawn(system, "Around the longest wait", from_ns..to_ns))
                p.note { "The height is the share of the time in which a thread ran. " (LANES) }
            }
        }
    }
}

/// What the colours of a picture are.
const LANES: &str = "A thread's lane has the colours of the CPUs where it ran, and orange while it was ready and did not run. \
    A CPU's lane has the colours of the program's threads, and grey for others while they concern it.";

const KEYS: [(&str, &str); 7] = [
    ("drag, ← →", "moves"),
    ("wheel, pinch, + −", "zooms; the wheel after a click into the timeline, or with Ctrl"),
    ("0", "shows everything"),
    ("click", "says what a span is"),
    ("Shift+→, Shift+←", "the next span of the lane, the one before"),
    ("↑ ↓", "another lane"),
    ("/, Enter, Shift+Enter", "finds a thread, a CPU or “ready”; the next span, the one before"),
];

/// Where the page is narrow, the picture scrolls in place of becoming too small to read.
fn drawn(system: &SystemTrace, name: &str, span: Range<i64>) -> Markup {
    html! {
        div.scroll tabindex="0" role="region" aria-label=(name) { (PreEscaped(picture::svg(system, span))) }
    }
}

fn threads(system: &SystemTrace) -> Markup {
    let members = system.members();
    let head =
        ["thread", "ran, ms", "woken", "moves", "preempted", "ready, ms", "longest, µs", "CPUs"];
    let rows = members.iter().take(MOST).map(|index| {
        let seen = &system.threads[*index as usize];
        let cpus: Vec<String> =
            seen.by_cpu.iter().map(|(cpu, ns)| format!("{cpu}: {} ms", ms(*ns))).collect();
        vec![
            plain(&seen.title()),
            ms(seen.ran_ns),
            count(seen.woken),
            count(seen.moves),
            count(seen.preempted),
            ms(seen.waited_ns),
            us(seen.longest_wait_ns as f64),
            cpus.join(", "),
        ]
    });
    table("Threads", &head, rows.collect(), members.len())
}

fn in_the_way(system: &SystemTrace) -> Markup {
    let mut pairs: Vec<_> = system.in_the_way.iter().collect();
    pairs.sort_by_key(|(_, way)| Reverse(way.ns));
    let head = ["thread that was ready", "thread that had its CPU", "times", "ms", "longest, µs"];
    let rows = pairs.iter().take(MOST).map(|((waiting, running), way)| {
        let [waiting, running] = [*waiting, *running].map(|it| title(system, it));
        vec![waiting, running, count(way.times), ms(way.ns), us(way.longest_ns as f64)]
    });
    table("Who was in the way", &head, rows.collect(), pairs.len())
}

fn beside(system: &SystemTrace) -> Markup {
    let mut pairs: Vec<_> = system.beside.iter().collect();
    pairs.sort_by_key(|(_, beside)| Reverse((beside.one_core_ns, beside.elsewhere_ns)));
    let head = ["thread", "and", "on one core, ms", "on different cores, ms"];
    let rows = pairs.iter().take(MOST).map(|((a, b), beside)| {
        let [a, b] = [*a, *b].map(|it| title(system, it));
        vec![a, b, ms(beside.one_core_ns), ms(beside.elsewhere_ns)]
    });
    table("Who ran at the same time", &head, rows.collect(), pairs.len())
}

fn wakes(system: &SystemTrace) -> Markup {
    let mut pairs: Vec<_> = system.wakes.iter().collect();
    pairs.sort_by_key(|(_, times)| Reverse(**times));
    let head = ["woke", "woken", "times"];
    let rows = pairs.iter().take(MOST).map(|((by, woken), times)| {
        vec![plain(&system.waker(*by)), title(system, *woken), count(**times)]
    });
    table("Who woke whom", &head, rows.collect(), pairs.len())
}

/// A table; `all` rows exist, and perhaps not all are in it.
fn table(name: &str, head: &[&str], rows: Vec<Vec<String>>, all: usize) -> Markup {
    html! {
        @if !rows.is_empty() {
            section {
                h2 { (name) }
                div.scroll tabindex="0" role="region" aria-label=(name) {
                    table.wide {
                        thead { tr { @for cell in head { th scope="col" { (cell) } } } }
                        tbody {
                            @for row in &rows {
                                tr { @for (at, cell) in row.iter().enumerate() {
                                    @if at == 0 { th scope="row" { (cell) } } @else { td { (cell) } }
                                } }
                            }
                        }
                    }
                }
                @if all > rows.len() { p.note { (all - rows.len()) " more are in no table." } }
            }
        }
    }
}

fn limits(system: &SystemTrace) -> Markup {
    html! {
        section {
            h2 { "What it does not show" }
            ul.plain {
                @for limit in &system.limits { li { (plain(limit)) "." } }
                @if system.not_drawn > 0 { li { (count(system.not_drawn)) " pieces and wake-ups are not drawn, because there was no room." } }
                @if system.lost_pairs > 0 { li { (count(system.lost_pairs)) " meetings of further pairs are not counted." } }
                li { "Threads of other programs are drawn only while they run beside this program's threads, or have a CPU that one of them waits for." }
                @if members_not_drawn(system) > 0 { li { (members_not_drawn(system)) " threads of the program ran least, and have no lane." } }
                li { "What a thread did while it ran is not known." }
            }
        }
    }
}

fn members_not_drawn(system: &SystemTrace) -> usize {
    system.members().len().saturating_sub(data::MOST_THREADS)
}

fn title(system: &SystemTrace, index: u32) -> String {
    plain(&system.threads[index as usize].title())
}

fn time(ns: i64) -> String {
    quantity(ns as f64, "ns")
}

fn ms(ns: i64) -> String {
    format!("{:.2}", ns as f64 / 1e6)
}
