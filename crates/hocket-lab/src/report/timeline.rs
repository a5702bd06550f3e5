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
/// How much of the axis a block must fill for its deadline to be drawn rather than pointed at.
const NEAR: f64 = 0.55;

/// Which strip has which colour, in all timelines of a page.
///
/// No two strips that have a colour share it: where there are more strips than colours, those that take most time
/// have one, and all others are grey.
pub(super) struct Strips {
    coloured: Vec<String>,
    others: usize,
}

/// The grey of [`STRIPS`], for all strips without a colour of their own.
const OTHERS: usize = STRIPS.len() - 1;

impl Strips {
    /// The strips of these blocks, in order of their first unit.
    pub fn of<'t>(traces: impl IntoIterator<Item = &'t BlockTrace>) -> Strips {
        let mut strips: Vec<(String, i64)> = Vec::new();
        for trace in traces {
            let times = unit_times(trace);
            for (name, time) in trace.unit_names.iter().zip(times) {
                let name = plain(name);
                let strip = strip_of(&name);
                match strips.iter_mut().find(|(known, _)| known == strip) {
                    Some((_, sum)) => *sum = sum.saturating_add(time),
                    None => strips.push((strip.into(), time)),
                }
            }
        }
        let all = strips.len();
        if all > STRIPS.len() {
            strips.sort_by_key(|(_, time)| std::cmp::Reverse(*time));
            strips.truncate(OTHERS);
        }
        let coloured: Vec<String> = strips.into_iter().map(|(strip, _)| strip).collect();
        Strips { others: all - coloured.len(), coloured }
    }

    fn colour(&self, unit: &str) -> usize {
        let strip = strip_of(unit);
        self.coloured.iter().position(|known| known == strip).unwrap_or(OTHERS)
    }
}

/// The time of each unit in a block, in nanoseconds.
fn unit_times(trace: &BlockTrace) -> Vec<i64> {
    let mut times = vec![0_i64; trace.unit_names.len()];
    for span in trace.lanes.iter().flat_map(|lane| &lane.spans) {
        if let Doing::Unit(index) = span.doing
            && let Some(time) = times.get_mut(index as usize)
        {
            *time = time.saturating_add(span.end_ns.saturating_sub(span.start_ns));
        }
    }
    times
}

/// The timeline of a block; `what` says which block of which variant it is.
pub(super) fn timeline(trace: &BlockTrace, what: &str, strips: &Strips) -> Markup {
    let view = View::of(trace);
    let summary = summary(trace, what);
    html! {
        figure.timeline aria-label=(summary) {
            figcaption { (summary) }
            div.scroll tabindex="0" role="group" aria-label={ "Lanes of " (what) ", scrollable; arrow keys step through the units" } {
                div.lanes {
                    div.tl-row.tl-axis aria-hidden="true" { div.tl-who {} (view.axis()) }
                    @for lane in &trace.lanes { (view.lane(lane, trace, strips)) }
                }
            }
            (legend(strips, trace))
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

    fn lane(&self, lane: &Lane, trace: &BlockTrace, strips: &Strips) -> Markup {
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

    fn span(&self, span: &Span, lane: &str, trace: &BlockTrace, strips: &Strips) -> Markup {
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

fn class(doing: &Doing, trace: &BlockTrace, strips: &Strips) -> String {
    match doing {
        Doing::Unit(_) => format!("u s{}", strips.colour(&name(doing, trace))),
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

fn legend(strips: &Strips, trace: &BlockTrace) -> Markup {
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
            @for (at, strip) in strips.coloured.iter().enumerate() {
                li { i class={ "swatch s" (at) } {} (strip) }
            }
            @if strips.others > 0 {
                li { i class={ "swatch s" (OTHERS) } {} (strips.others) " others, which take less time" }
            }
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
