//! One block as lanes: who ran which unit when, who waited, where the deadline was.
//!
//! Boxes placed in per cent, so the picture follows the width of the page and a magnifier only
//! has to widen it; names are cut off by the browser where they do not fit.

use hocket_trace::{BlockTrace, Doing, Lane, Span};
use maud::{Markup, html};

use super::numbers::{count, plain, us};
use super::palette::STRIPS;
use super::scale::linear_ticks;

/// More spans than this on a lane are not drawn: nobody could tell them apart, and the page would
/// not load.
const MOST_SPANS: usize = 1500;
/// Strips named in the legend.
const MOST_STRIPS: usize = 18;
/// How much of the axis a block must fill for its deadline to be drawn rather than pointed at.
const NEAR: f64 = 0.55;

/// The timeline of a block; `what` says which block of which variant it is.
pub(super) fn timeline(trace: &BlockTrace, what: &str) -> Markup {
    let view = View::of(trace);
    let strips = strips(trace);
    let summary = summary(trace, what);
    html! {
        figure.timeline aria-label=(summary) {
            figcaption { (summary) }
            div.scroll tabindex="0" role="group" aria-label={ "Lanes of " (what) ", scrollable; arrow keys step through the units" } {
                div.lanes {
                    div.tl-row.tl-axis aria-hidden="true" { div.tl-who {} (view.axis()) }
                    @for lane in &trace.lanes { (view.lane(lane, trace, &strips)) }
                }
            }
            (legend(&strips, trace))
            p.readout aria-live="polite" { (longest(trace)) }
        }
    }
}

fn summary(trace: &BlockTrace, what: &str) -> String {
    // Saturating, because a record may come from anywhere.
    let slack = trace.deadline_ns.saturating_sub(trace.finished_ns);
    let end = if slack < 0 { "late by" } else { "ready with a slack of" };
    format!(
        "{what}: block {}, awake after {} µs, {} µs of processing, {end} {} µs",
        count(trace.block),
        us(trace.awake_ns as f64, 0),
        us(trace.finished_ns.saturating_sub(trace.awake_ns) as f64, 0),
        us(slack.unsigned_abs() as f64, 0)
    )
}

/// The part of time that is drawn.
struct View {
    from: f64,
    to: f64,
    deadline: f64,
}

impl View {
    fn of(trace: &BlockTrace) -> View {
        let ends = trace.lanes.iter().flat_map(|lane| lane.spans.iter().map(|span| span.end_ns));
        let last = ends.chain([trace.finished_ns]).max().unwrap_or(1).max(1) as f64;
        let deadline = trace.deadline_ns as f64;
        let near = last > NEAR * deadline;
        let to = if near { last.max(deadline) * 1.06 } else { last * 1.12 };
        View { from: (trace.awake_ns as f64).min(0.0), to, deadline }
    }

    fn place(&self, ns: i64) -> f64 {
        ((ns as f64 - self.from) / (self.to - self.from)).clamp(0.0, 1.0) * 100.0
    }

    fn axis(&self) -> Markup {
        let ticks = linear_ticks(self.to - self.from, 7);
        let words = format!("deadline {} µs", us(self.deadline, 0));
        html! {
            div.tl-track {
                @for tick in &ticks {
                    @let at = (tick) / (self.to - self.from) * 100.0;
                    @if at < 94.0 {
                        span.tl-tick style=(format!("left:{at:.2}%")) { (us(tick + self.from, 0)) @if *tick == 0.0 { " µs" } }
                    }
                }
                @if self.deadline <= self.to {
                    span.tl-deadline-name style=(format!("right:{:.2}%", 100.0 - self.place(self.deadline as i64))) { (words) }
                } @else {
                    span.tl-deadline-name style="right:0" { (words) " ▸" }
                }
            }
        }
    }

    fn lane(&self, lane: &Lane, trace: &BlockTrace, strips: &[String]) -> Markup {
        let name = plain(&lane.name);
        html! {
            div.tl-row {
                div.tl-who { b { (name) } @if let Some(cpu) = lane.cpu { span { "CPU " (cpu) } } }
                div.tl-track {
                    (self.asleep(lane))
                    @for span in lane.spans.iter().take(MOST_SPANS) { (self.span(span, &name, trace, strips)) }
                    @if lane.spans.len() > MOST_SPANS { span.tl-more { (lane.spans.len() - MOST_SPANS) " more" } }
                    @if self.deadline <= self.to {
                        i.tl-deadline style=(format!("left:{:.3}%", self.place(self.deadline as i64))) {}
                    }
                }
            }
        }
    }

    /// From the planned start until the thread was awake.
    fn asleep(&self, lane: &Lane) -> Markup {
        let (from, to) = (self.place(0), self.place(lane.awake_ns));
        let words =
            format!("{}: asleep until {} µs", plain(&lane.name), us(lane.awake_ns as f64, 1));
        html! {
            @if to > from {
                i.tl-asleep title=(words) style=(format!("left:{from:.3}%;width:{:.3}%", to - from)) {}
            }
        }
    }

    fn span(&self, span: &Span, lane: &str, trace: &BlockTrace, strips: &[String]) -> Markup {
        let (from, to) = (self.place(span.start_ns), self.place(span.end_ns));
        let name = name(&span.doing, trace);
        let class = class(&span.doing, trace, strips);
        let words = format!(
            "{name}: {lane}, {} to {} µs, took {} µs",
            us(span.start_ns as f64, 1),
            us(span.end_ns as f64, 1),
            us((span.end_ns.saturating_sub(span.start_ns)) as f64, 1)
        );
        html! {
            i class=(class) title=(words) style=(format!("left:{from:.3}%;width:{:.3}%", (to - from).max(0.0))) {
                @if let Doing::Unit(_) = span.doing { span { (name) } }
            }
        }
    }
}

fn name(doing: &Doing, trace: &BlockTrace) -> String {
    match doing {
        Doing::Unit(index) => {
            let known = trace.unit_names.get(*index as usize);
            known.map_or_else(|| format!("unit {index}"), |name| plain(name))
        }
        Doing::Barrier => "barrier".into(),
        Doing::Wait => "wait: nothing was ready".into(),
        Doing::Help => "help: passes of work that another worker has spread".into(),
        Doing::Guard => "guard: keeps the seat from strangers".into(),
    }
}

fn class(doing: &Doing, trace: &BlockTrace, strips: &[String]) -> String {
    match doing {
        Doing::Unit(_) => {
            let name = name(doing, trace);
            let index = strips.iter().position(|strip| strip == strip_of(&name)).unwrap_or(0);
            format!("u s{}", index % STRIPS.len())
        }
        Doing::Barrier => "w barrier".into(),
        Doing::Wait => "w wait".into(),
        Doing::Help => "w help".into(),
        Doing::Guard => "w guard".into(),
    }
}

/// `kick` of `kick: play, eq`.
fn strip_of(name: &str) -> &str {
    name.split_once(": ").map_or(name, |(strip, _)| strip)
}

/// The strips that run in the block, in order of their first unit.
fn strips(trace: &BlockTrace) -> Vec<String> {
    let mut strips: Vec<String> = Vec::new();
    for name in &trace.unit_names {
        let name = plain(name);
        let strip = strip_of(&name);
        if !strips.iter().any(|known| known == strip) {
            strips.push(strip.into());
        }
    }
    strips
}

fn legend(strips: &[String], trace: &BlockTrace) -> Markup {
    let seen = |doing: &Doing| {
        trace.lanes.iter().flat_map(|lane| &lane.spans).any(|span| span.doing == *doing)
    };
    let other = [
        (Doing::Barrier, "barrier", "barrier"),
        (Doing::Wait, "wait", "wait"),
        (Doing::Help, "help", "help"),
        (Doing::Guard, "guard", "guard"),
    ];
    html! {
        ul.legend {
            @for (at, strip) in strips.iter().take(MOST_STRIPS).enumerate() {
                li { i class={ "swatch s" (at % STRIPS.len()) } {} (strip) }
            }
            @if strips.len() > MOST_STRIPS { li { (strips.len() - MOST_STRIPS) " more" } }
            @for (doing, class, name) in &other {
                @if seen(doing) { li { i class={ "swatch " (class) } {} (name) } }
            }
        }
    }
}

/// The longest units in words: what hovering would tell, for those who cannot hover.
fn longest(trace: &BlockTrace) -> String {
    let mut units: Vec<(i64, String)> = trace
        .lanes
        .iter()
        .flat_map(|lane| &lane.spans)
        .filter(|span| matches!(span.doing, Doing::Unit(_)))
        .map(|span| (span.end_ns.saturating_sub(span.start_ns), name(&span.doing, trace)))
        .collect();
    units.sort_by_key(|(ns, _)| std::cmp::Reverse(*ns));
    let longest: Vec<String> =
        units.iter().take(3).map(|(ns, name)| format!("{name} {} µs", us(*ns as f64, 1))).collect();
    if longest.is_empty() {
        "No unit ran.".into()
    } else {
        format!("Longest: {}.", longest.join("; "))
    }
}
