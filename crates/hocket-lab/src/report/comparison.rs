//! The picture of all distributions: one ridge per variant on a common log time axis.
//!
//! Drawn twice from the same [`Panel`]s: as rows of a page that adapt to its width (places in per
//! cent, so text keeps its size on a phone), and as one SVG file for a read-me.

use maud::{Markup, PreEscaped, html};

use super::analysis::{Analysis, Measured};
use super::numbers::{of, us};
use super::palette::NEUTRAL;
use super::scale::{LogScale, outline};
use crate::stats::Summary;

/// How many of the slowest blocks get a dot of their own.
const DOTS: usize = 60;

/// Times on one axis.
pub(super) struct Panel<'a> {
    /// What the times are.
    pub caption: &'static str,
    scale: LogScale,
    /// `None`: not on this axis, or the times are not what the deadline is about.
    deadline_ns: Option<f64>,
    ridges: Vec<Ridge<'a>>,
}

/// One distribution.
struct Ridge<'a> {
    label: String,
    sorted: &'a [f64],
    summary: Summary,
    note: String,
    reference: bool,
}

/// When the outputs were ready, and below them how late the bare wake-up loop was: both count from the planned start,
/// so they share the axis and the deadline.
pub(super) fn ready<'a>(analysis: &'a Analysis) -> Option<Panel<'a>> {
    let engine = analysis.measured().map(|(row, m)| ridge(&row.label, m, &m.ready_sorted, m.ready));
    let ridges: Vec<Ridge> = engine.chain(wake(analysis)).collect();
    let caption = match (ridges.first().is_some_and(|it| it.reference), analysis.wake.is_some()) {
        (true, _) => "Wake-up lateness, µs after the planned time",
        (false, true) => {
            "Output ready, and the bare loop awake, µs after the block's planned start"
        }
        (false, false) => "Output ready, µs after the block's planned start",
    };
    panel(caption, ridges, Some(analysis.period_ns))
}

/// How long the processing took, which the deadline line would misjudge by the wake-up.
pub(super) fn took<'a>(analysis: &'a Analysis) -> Option<Panel<'a>> {
    let ridges: Vec<Ridge> =
        analysis.measured().map(|(row, m)| ridge(&row.label, m, &m.took_sorted, m.took)).collect();
    panel("Block time, µs from the leader's awakening to the complete output", ridges, None)
}

/// How late the bare wake-up loop was.
fn wake<'a>(analysis: &'a Analysis) -> Option<Ridge<'a>> {
    let wake = analysis.wake.as_ref()?;
    Some(Ridge {
        label: "bare wake-up loop".into(),
        sorted: &wake.sorted,
        summary: wake.lateness,
        note: format!("{} late", of(wake.late)),
        reference: true,
    })
}

fn ridge<'a>(label: &str, measured: &Measured, sorted: &'a [f64], summary: Summary) -> Ridge<'a> {
    Ridge {
        label: label.into(),
        sorted,
        summary,
        note: format!("{} late", of(measured.late)),
        reference: false,
    }
}

/// A deadline this many times the slowest block away is pointed at instead of drawn, or the
/// distributions would shrink to needles.
const FAR: f64 = 6.0;

/// Where a logarithmic axis begins: some wake-ups come at the very moment that was planned.
const EARLIEST_NS: f64 = 500.0;

fn panel<'a>(
    caption: &'static str,
    ridges: Vec<Ridge<'a>>,
    deadline_ns: Option<f64>,
) -> Option<Panel<'a>> {
    let lowest = ridges
        .iter()
        .filter_map(|r| crate::stats::quantile_sorted(r.sorted, 0.001))
        .reduce(f64::min)?
        .max(EARLIEST_NS);
    let highest = ridges.iter().map(|r| r.summary.max).reduce(f64::max)?;
    let near = deadline_ns.filter(|deadline| *deadline < FAR * highest);
    let high = near.map_or(highest, |deadline| deadline.max(highest));
    Some(Panel { caption, scale: LogScale::new(lowest * 0.94, high * 1.06), deadline_ns, ridges })
}

fn percent(place: f64) -> String {
    format!("{:.3}%", place * 100.0)
}

// ------------------------------------------------------------------------------------------------
// As rows of a page

/// Height of a row in pixels, its baseline and the height of a ridge.
const ROW: f64 = 58.0;
const BASE: f64 = 46.0;
const RIDGE: f64 = 40.0;

impl Panel<'_> {
    /// The panel as rows that adapt to the width of the page.
    pub(super) fn rows(&self) -> Markup {
        html! {
            div.panel {
                p.axis-name { (self.caption) }
                @if let Some(words) = self.deadline_words() {
                    div.ridge.head aria-hidden="true" {
                        div.who {}
                        div.lane { span.deadline-name style=(self.deadline_style()) { (words) } }
                    }
                }
                @for ridge in &self.ridges { (self.row(ridge)) }
                div.ridge.foot aria-hidden="true" {
                    div.who {}
                    svg.lane width="100%" height="24" { (self.tick_labels()) }
                }
            }
        }
    }

    fn deadline_words(&self) -> Option<String> {
        let deadline = self.deadline_ns?;
        let far = if self.scale.shows(deadline) { "" } else { " ▸" };
        Some(format!("deadline {} µs{far}", us(deadline, 0)))
    }

    /// Where the deadline's name stands: left of its line, or right of it near the left edge.
    fn deadline_style(&self) -> String {
        let place =
            self.deadline_ns.map_or(1.0, |deadline| self.scale.at(deadline)).clamp(0.0, 1.0);
        if place > 0.3 {
            format!("right:{}", percent(1.0 - place))
        } else {
            format!("left:{}", percent(place))
        }
    }

    fn row(&self, ridge: &Ridge) -> Markup {
        let class = if ridge.reference { "ridge reference" } else { "ridge" };
        let spoken = ridge.spoken();
        html! {
            div class=(class) {
                div.who { b { (ridge.label) } span { (ridge.note) } }
                svg.lane width="100%" height=(ROW) role="img" aria-label=(spoken) {
                    title { (spoken) }
                    (self.ground())
                    svg x="0" y=(BASE - RIDGE) width="100%" height=(RIDGE) viewBox="0 0 1000 100" preserveAspectRatio="none" {
                        path.density d=(outline(&self.scale.density(ridge.sorted))) {}
                    }
                    line.base x1="0" x2="100%" y1=(BASE) y2=(BASE) {}
                    (self.dots(ridge))
                    (self.marks(ridge))
                }
            }
        }
    }

    /// Grid, deadline and the late side of it.
    fn ground(&self) -> Markup {
        let deadline = self.deadline_ns.filter(|deadline| self.scale.shows(*deadline));
        html! {
            @for tick in self.scale.ticks() {
                @let x = percent(self.scale.at(tick));
                line.grid x1=(x) x2=(x) y1="0" y2=(ROW) {}
            }
            @if let Some(deadline) = deadline {
                @let place = self.scale.at(deadline);
                rect.late-side x=(percent(place)) y="0" width=(percent(1.0 - place)) height=(ROW) {}
                line.deadline x1=(percent(place)) x2=(percent(place)) y1="0" y2=(ROW) {}
            }
        }
    }

    fn is_late(&self, ns: f64) -> bool {
        self.deadline_ns.is_some_and(|deadline| ns > deadline)
    }

    /// The slowest blocks beyond the 99 % quantile, one dot each.
    fn dots(&self, ridge: &Ridge) -> Markup {
        let slow = ridge.sorted.iter().rev().take(DOTS).filter(|ns| **ns > ridge.summary.p99);
        html! {
            @for ns in slow {
                circle class=(if self.is_late(*ns) { "dot late" } else { "dot" })
                    cx=(percent(self.scale.at(*ns))) cy=(BASE + 6.0) r="1.7" {}
            }
        }
    }

    fn marks(&self, ridge: &Ridge) -> Markup {
        let it = &ridge.summary;
        let marks =
            [(it.p50, Mark::P50), (it.p99, Mark::P99), (it.p999, Mark::P999), (it.max, Mark::Max)];
        html! {
            @for (ns, mark) in marks {
                svg class=(if self.is_late(ns) { "mark late" } else { "mark" })
                    x=(percent(self.scale.at(ns))) y=(BASE) overflow="visible" { (mark.shape()) }
            }
        }
    }

    fn tick_labels(&self) -> Markup {
        html! {
            @for (at, tick) in self.scale.ticks().into_iter().enumerate() {
                @let x = self.scale.at(tick);
                text class=(if at % 2 == 1 { "tick odd" } else { "tick" }) x=(percent(x)) y="15"
                    text-anchor=(anchor(x)) { (tick_text(tick)) }
            }
        }
    }
}

/// Keeps the outermost labels inside the picture.
fn anchor(place: f64) -> &'static str {
    match place {
        p if p < 0.03 => "start",
        p if p > 0.97 => "end",
        _ => "middle",
    }
}

fn tick_text(ns: f64) -> String {
    us(ns, if ns < 1_000.0 { 1 } else { 0 })
}

impl Ridge<'_> {
    /// The row in words, for screen readers and on hover.
    fn spoken(&self) -> String {
        let it = &self.summary;
        let [p50, p99, p999, max] = [it.p50, it.p99, it.p999, it.max].map(|ns| us(ns, 0));
        format!(
            "{}: p50 {p50} µs, p99 {p99} µs, p99.9 {p999} µs, max {max} µs, {}",
            self.label, self.note
        )
    }
}

/// The marks on a ridge. Told apart by shape, not colour.
#[derive(Clone, Copy)]
pub(super) enum Mark {
    P50,
    P99,
    P999,
    Max,
}

impl Mark {
    /// The mark around the point 0, 0 on the baseline.
    pub(super) fn shape(self) -> Markup {
        let path = match self {
            Mark::P50 => "M0 -40V3",
            Mark::P99 => "M0 -6L5 0L0 6L-5 0Z",
            Mark::P999 => "M0 -6L5.5 4L-5.5 4Z",
            Mark::Max => "M-5 0A5 5 0 1 0 5 0A5 5 0 1 0 -5 0Z",
        };
        let class = match self {
            Mark::P50 => "p50",
            Mark::Max => "max",
            _ => "solid",
        };
        html! { path class=(class) d=(path) {} }
    }
}

/// What the marks mean.
pub(super) fn legend(deadline: bool) -> Markup {
    let all = [(Mark::P50, "p50"), (Mark::P99, "p99"), (Mark::P999, "p99.9"), (Mark::Max, "max")];
    html! {
        ul.legend {
            @for (mark, name) in all {
                li {
                    svg width="16" height="16" aria-hidden="true" {
                        @if let Mark::P50 = mark { path.p50 d="M8 1V15" {} }
                        @else { svg.mark x="8" y="8" overflow="visible" { (mark.shape()) } }
                    }
                    (name)
                }
            }
            li {
                svg width="16" height="16" aria-hidden="true" { circle.dot cx="8" cy="8" r="2" {} }
                "one of the slowest 1 %"
            }
            @if deadline {
                li {
                    svg width="16" height="16" aria-hidden="true" { circle.dot.late cx="8" cy="8" r="2.5" {} }
                    "late"
                }
            }
        }
    }
}

// ------------------------------------------------------------------------------------------------
// As a file

/// Width of the picture, of its label column, and what is free at its right edge.
const WIDTH: f64 = 960.0;
const LABELS: f64 = 210.0;
const EDGE: f64 = 18.0;

/// The comparison of all variants as one SVG file that is readable on light and dark pages.
///
/// Self-contained and still: no style sheets, scripts, fonts or links.
pub(super) fn standalone(analysis: &Analysis) -> String {
    let panels: Vec<Panel> = ready(analysis).into_iter().collect();
    let height: f64 = panels.iter().map(Panel::height).sum::<f64>() + 34.0;
    let mut top = 0.0;
    let title = super::numbers::plain(&format!(
        "{}: {}",
        analysis.record.session.name,
        analysis.headline().verdict
    ));
    let picture = html! {
        svg xmlns="http://www.w3.org/2000/svg" viewBox=(format!("0 0 {WIDTH} {height}")) role="img"
            data-from="hocket bench" font-family="system-ui,-apple-system,'Segoe UI',Roboto,sans-serif" font-size="14" fill=(NEUTRAL.ink) {
            title { (title) }
            desc {
                @for ridge in panels.iter().flat_map(|panel| &panel.ridges) { (ridge.spoken()) ". " }
            }
            @for panel in &panels {
                g transform=(format!("translate(0 {top})")) { (panel.drawing()) }
                ({ top += panel.height(); "" })
            }
            g transform=(format!("translate({LABELS} {})", height - 14.0)) font-size="13" { (key()) }
        }
    };
    picture.into_string()
}

fn key() -> Markup {
    let all = [(Mark::P99, "p99"), (Mark::P999, "p99.9"), (Mark::Max, "max")];
    html! {
        path d="M5 -12V4" stroke=(NEUTRAL.ink) stroke-width="2" {}
        text x="14" y="0" { "p50" }
        @for (at, (mark, name)) in all.into_iter().enumerate() {
            @let x = 75.0 + 80.0 * at as f64;
            g transform=(format!("translate({x} -4)")) { (plain_mark(mark, NEUTRAL.ink)) }
            text x=(x + 11.0) y="0" { (name) }
        }
        circle cx="330" cy="-4" r="2" fill=(NEUTRAL.blue) {}
        text x="340" y="0" { "one of the slowest 1 %" }
        circle cx="510" cy="-4" r="2.5" fill=(NEUTRAL.late) {}
        text x="520" y="0" fill=(NEUTRAL.late) { "late" }
    }
}

/// A mark with its colours written out, since a file has no style sheet.
fn plain_mark(mark: Mark, colour: &str) -> Markup {
    let (fill, stroke) = match mark {
        Mark::P50 | Mark::Max => ("none", colour),
        _ => (colour, "none"),
    };
    html! { g fill=(fill) stroke=(stroke) stroke-width="2" { (mark.shape()) } }
}

impl Panel<'_> {
    fn height(&self) -> f64 {
        self.ridges.len() as f64 * ROW + 78.0
    }

    fn x(&self, ns: f64) -> f64 {
        LABELS + self.scale.at(ns).clamp(0.0, 1.0) * (WIDTH - LABELS - EDGE)
    }

    fn drawing(&self) -> Markup {
        let bottom = 42.0 + self.ridges.len() as f64 * ROW;
        html! {
            text x=(LABELS) y="14" { (self.caption) }
            @for tick in self.scale.ticks() {
                path d=(format!("M{:.1} 42V{bottom}", self.x(tick))) stroke=(NEUTRAL.line) stroke-opacity=".3" {}
                text x=(format!("{:.1}", self.x(tick))) y=(bottom + 18.0) font-size="12" text-anchor="middle" { (tick_text(tick)) }
            }
            (self.deadline_drawing(bottom))
            @for (at, ridge) in self.ridges.iter().enumerate() {
                g transform=(format!("translate(0 {})", 42.0 + at as f64 * ROW)) { (self.ridge_drawing(ridge)) }
            }
        }
    }

    fn deadline_drawing(&self, bottom: f64) -> Markup {
        let Some(words) = self.deadline_words() else { return PreEscaped(String::new()) };
        let x = self.deadline_ns.map_or(WIDTH, |deadline| self.x(deadline));
        let shown = self.deadline_ns.is_some_and(|deadline| self.scale.shows(deadline));
        html! {
            @if shown {
                rect x=(format!("{x:.1}")) y="42" width=(format!("{:.1}", WIDTH - EDGE - x)) height=(bottom - 42.0) fill=(NEUTRAL.late) fill-opacity=".08" {}
                path d=(format!("M{x:.1} 34V{bottom}")) stroke=(NEUTRAL.late) stroke-width="2" {}
            }
            text x=(format!("{:.1}", x - 4.0)) y="31" text-anchor="end" font-size="13" fill=(NEUTRAL.late) { (words) }
        }
    }

    fn ridge_drawing(&self, ridge: &Ridge) -> Markup {
        let colour = if ridge.reference { NEUTRAL.grey } else { NEUTRAL.blue };
        let scaling = format!(
            "translate({LABELS} {}) scale({} {})",
            BASE - RIDGE,
            (WIDTH - LABELS - EDGE) / 1000.0,
            RIDGE / 100.0
        );
        let it = &ridge.summary;
        let marks =
            [(it.p50, Mark::P50), (it.p99, Mark::P99), (it.p999, Mark::P999), (it.max, Mark::Max)];
        let tone = |ns: f64| if self.is_late(ns) { NEUTRAL.late } else { NEUTRAL.ink };
        html! {
            text x=(LABELS - 14.0) y="32" text-anchor="end" font-weight="600" { (ridge.label) }
            text x=(LABELS - 14.0) y="49" text-anchor="end" font-size="12" { (ridge.note) }
            path transform=(scaling) d=(outline(&self.scale.density(ridge.sorted))) fill=(colour) fill-opacity=".45" stroke=(colour) stroke-width="1.5" vector-effect="non-scaling-stroke" {}
            path d=(format!("M{LABELS} {BASE}H{}", WIDTH - EDGE)) stroke=(NEUTRAL.line) stroke-opacity=".6" {}
            @for ns in ridge.sorted.iter().rev().take(DOTS).filter(|ns| **ns > it.p99) {
                circle cx=(format!("{:.1}", self.x(*ns))) cy=(BASE + 6.0) r="1.7" fill=(if self.is_late(*ns) { NEUTRAL.late } else { colour }) {}
            }
            @for (ns, mark) in marks {
                g transform=(format!("translate({:.1} {BASE})", self.x(ns))) { (plain_mark(mark, tone(ns))) }
            }
        }
    }
}
