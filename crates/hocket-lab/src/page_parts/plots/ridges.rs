//! The distribution of many values of each variant, with the deadline that they are measured against.

use maud::{Markup, html};

use super::ink::{hover, line, px, shape};
use super::rows::{RowOf, Track, draw};
use super::scale::Scale;
use super::{Drawn, Key, Room};
use crate::numbers::{NONE, OF_BLOCKS, block_time};
use crate::stats::{Summary, quantile_sorted};
use crate::table::Table;

/// How many of the slowest get a dot of their own.
const DOTS: usize = 60;
/// How finely a distribution is drawn.
const BINS: usize = 160;
/// How high, in pixels.
const HEIGHT: f64 = 36.0;
/// A deadline this many times the slowest away is named instead of drawn, or the distributions would shrink to needles.
const FAR: f64 = 6.0;
/// Where the axis begins: some wake-ups come at the very moment that was planned.
const EARLIEST_NS: f64 = 500.0;

/// One distribution of times in nanoseconds.
pub(crate) struct Ridge<'a> {
    /// Its name.
    pub label: String,
    /// Further sentences about it.
    pub note: String,
    /// Every value, ascending.
    pub sorted: &'a [f64],
    /// Its quantiles.
    pub summary: Summary,
    /// Greyed: what others are measured against.
    pub faint: bool,
}

/// A ridge for each; `None` without any.
pub(crate) fn drawn(title: &str, ridges: &[Ridge<'_>], deadline_ns: Option<f64>) -> Option<Drawn> {
    let lowest = ridges.iter().filter_map(|it| quantile_sorted(it.sorted, 0.001));
    let lowest = lowest.reduce(f64::min)?.max(EARLIEST_NS);
    let highest = ridges.iter().map(|ridge| ridge.summary.max).fold(lowest, f64::max);
    let near = deadline_ns.filter(|deadline| *deadline < FAR * highest);
    let scale = Scale::log([lowest, highest].into_iter().chain(near));
    let rows: Vec<RowOf> = ridges.iter().map(row).collect();
    let picture = |room| {
        let late = |track: &Track<'_>| late_side(near, track);
        draw(room, &scale, ("time", OF_BLOCKS), &rows, late, |row, track| {
            mark(&ridges[row], &scale, deadline_ns, track)
        })
    };
    Some(Drawn {
        title: title.into(),
        wide: picture(Room::Wide),
        narrow: picture(Room::Narrow),
        legend: legend(ridges, deadline_ns, near),
        table: table(ridges),
    })
}

fn row(ridge: &Ridge<'_>) -> RowOf {
    let row = RowOf::new(ridge.label.clone(), ridge.note.clone());
    RowOf { faint: ridge.faint, above: HEIGHT - 8.0, ..row }
}

fn legend(ridges: &[Ridge<'_>], deadline_ns: Option<f64>, near: Option<f64>) -> Vec<Key> {
    let has = |shown: fn(&Summary) -> Option<f64>| {
        ridges.iter().any(|ridge| shown(&ridge.summary).is_some())
    };
    let mut keys = vec![Key::mark("ink", 6, "p50")];
    keys.extend(has(Summary::shown_p99).then(|| Key::mark("ink", 3, "p99")));
    keys.extend(has(Summary::shown_p999).then(|| Key::mark("ink", 2, "p99.9")));
    keys.push(Key::mark("ring", 0, "max"));
    keys.push(Key::mark("dot", 0, "one of the slowest 1 %"));
    if let Some(deadline) = deadline_ns {
        let beyond = if near.is_none() { ", beyond the axis" } else { "" };
        let words = format!("late: after the deadline, {}{beyond}", block_time(deadline));
        keys.push(Key::mark("late", 1, &words));
    }
    keys
}

/// The deadline and what is beyond it, behind all rows.
fn late_side(deadline: Option<f64>, track: &Track<'_>) -> Markup {
    let Some(x) = deadline.and_then(|deadline| track.x(deadline)) else { return html! {} };
    let (top, bottom) = (track.y - track.half, track.y + track.half);
    html! {
        rect class="late-side" x=(px(x)) y=(px(top)) width=(px(track.end() - x)) height=(px(bottom - top)) {}
        (line("deadline", (x, top), (x, bottom)))
    }
}

fn mark(ridge: &Ridge<'_>, scale: &Scale, deadline_ns: Option<f64>, track: &Track<'_>) -> Markup {
    let it = &ridge.summary;
    let class = |class: &'static str, ns: f64| match deadline_ns {
        Some(deadline) if ns > deadline => "late",
        _ => class,
    };
    let slow = ridge.sorted.iter().rev().take(DOTS).filter(|ns| **ns > it.p99);
    let marks =
        [(it.shown_p99(), 3, "ink"), (it.shown_p999(), 2, "ink"), (Some(it.max), 0, "ring")];
    html! {
        g.faint[ridge.faint] {
            (hover(&words(ridge)))
            path class="bar" d=(outline(&density(scale, ridge.sorted), track)) {}
            @for ns in slow {
                @if let Some(x) = track.x(*ns) { path class=(class("dot", *ns)) d=(shape(0, x, track.y + 5.0, 1.7)) {} }
            }
            @if let Some(x) = track.x(it.p50) { (line("median", (x, track.y - HEIGHT), (x, track.y + 3.0))) }
            @for (ns, kind, own) in marks {
                @if let Some((ns, x)) = ns.and_then(|ns| Some((ns, track.x(ns)?))) { path class=(class(own, ns)) d=(shape(kind, x, track.y, 4.5)) {} }
            }
        }
    }
}

fn words(ridge: &Ridge<'_>) -> String {
    let it = &ridge.summary;
    let times = [Some(it.p50), it.shown_p99(), it.shown_p999(), Some(it.max)];
    let [p50, p99, p999, max] = times.map(shown);
    format!("{}: p50 {p50}, p99 {p99}, p99.9 {p999}, max {max}, {}", ridge.label, ridge.note)
}

/// A dash for a quantile that is not shown of so few values.
fn shown(ns: Option<f64>) -> String {
    ns.map_or(NONE.into(), block_time)
}

fn table(ridges: &[Ridge<'_>]) -> Table {
    let row = |ridge: &Ridge<'_>| {
        let it = &ridge.summary;
        let times = [Some(it.min), Some(it.p50), it.shown_p99(), it.shown_p999(), Some(it.max)];
        let times = times.map(shown);
        [ridge.label.clone()].into_iter().chain(times).chain([ridge.note.clone()]).collect()
    };
    let heads = ["", "min", "p50", "p99", "p99.9", "max", "late blocks"];
    Table::new(heads, ridges.iter().map(row).collect())
}

/// Density of ascending values along the axis as heights from 0 to 1, at equal distances.
///
/// A Gaussian kernel on the axis; its width is Silverman's rule from the quartiles, so a handful of very late values
/// does not smear the bulk. They are drawn as dots instead.
fn density(scale: &Scale, sorted: &[f64]) -> Vec<f64> {
    let mut counts = vec![0.0; BINS];
    for place in sorted.iter().filter(|ns| scale.shows(**ns)).filter_map(|ns| scale.place(*ns)) {
        counts[((place * BINS as f64) as usize).min(BINS - 1)] += 1.0;
    }
    let quartile = |q: f64| quantile_sorted(sorted, q).and_then(|ns| scale.place(ns));
    let spread = quartile(0.75).unwrap_or(0.0) - quartile(0.25).unwrap_or(0.0);
    let silverman = 0.9 * spread / 1.34 * BINS as f64 * (sorted.len() as f64).powf(-0.2);
    let smooth = convolve(&counts, silverman.clamp(0.9, 10.0));
    let peak = smooth.iter().copied().fold(0.0, f64::max);
    smooth.iter().map(|height| if peak > 0.0 { height / peak } else { 0.0 }).collect()
}

fn convolve(counts: &[f64], sigma: f64) -> Vec<f64> {
    let reach = (3.5 * sigma).ceil() as isize;
    let weight = |step: isize| (-0.5 * (step as f64 / sigma).powi(2)).exp();
    let near = |at: isize| {
        (-reach..=reach).filter_map(move |step| {
            Some(counts.get(usize::try_from(at + step).ok()?)? * weight(step))
        })
    };
    (0..counts.len() as isize).map(|at| near(at).sum()).collect()
}

/// A filled outline of heights above the middle of a row, without its flat parts.
fn outline(heights: &[f64], track: &Track<'_>) -> String {
    let is_visible = |at: &usize| heights[*at] > 0.002;
    let Some(first) = (0..heights.len()).find(is_visible) else { return String::new() };
    let last = (0..heights.len()).rfind(is_visible).unwrap_or(first);
    let step = (track.end() - track.begin()) / heights.len() as f64;
    let x = |at: usize| px(track.begin() + (at as f64 + 0.5) * step);
    let mut path = format!("M{} {}", x(first), px(track.y));
    for (at, height) in heights.iter().enumerate().take(last + 1).skip(first) {
        path += &format!("L{} {}", x(at), px(track.y - HEIGHT * height));
    }
    path + &format!("L{} {}Z", x(last), px(track.y))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn density_peaks_where_the_values_are() {
        let scale = Scale::log([1e3, 1e6].into_iter());
        let heights = density(&scale, &[1e4; 500]);
        let peak = heights.iter().position(|height| *height == 1.0).expect("normalised");
        assert!((peak as f64 / BINS as f64 - scale.place(1e4).unwrap()).abs() < 0.01);
        assert_eq!(density(&scale, &[]).iter().sum::<f64>(), 0.0);
    }
}
