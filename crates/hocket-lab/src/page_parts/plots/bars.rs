//! Bars with intervals, lying, so that long names have room. On a logarithmic axis, which has no zero
//! to begin at, a dot on a thin line takes the place of the bar.

use maud::{Markup, html};

use super::ink::{hover, line, px, shape};
use super::rows::{RowOf, Track, draw};
use super::scale::Scale;
use super::{Drawn, Room, Table, values_of};
use crate::harness::{Axis, Bar, Estimate, TWIN};
use crate::numbers::{digits, estimate, with_unit};

pub(super) fn drawn(title: &str, axis: &Axis, bars: &[Bar]) -> Drawn {
    let scale = Scale::of(bars.iter().flat_map(|bar| values_of(&bar.estimate)), axis.logarithmic);
    let (rows, bar_of) = rows(bars, &axis.unit);
    let picture = |room| {
        draw(
            room,
            &scale,
            (&axis.title, &axis.unit),
            &rows,
            |_| html! {},
            |row, track| {
                html! { @if let Some(bar) = bar_of[row] { (mark(bar, &axis.unit, &scale, track)) } }
            },
        )
    };
    Drawn {
        title: title.into(),
        wide: picture(Room::Wide),
        narrow: picture(Room::Narrow),
        legend: Vec::new(),
        table: table(axis, bars),
    }
}

/// Rows with a heading where the group changes, and the bar that each of them shows.
fn rows<'a>(bars: &'a [Bar], unit: &str) -> (Vec<RowOf>, Vec<Option<&'a Bar>>) {
    let (mut rows, mut bar_of, mut group) = (Vec::new(), Vec::new(), "");
    for bar in bars {
        if bar.group != group {
            group = &bar.group;
            rows.push(RowOf::heading(group));
            bar_of.push(None);
        }
        let faint = bar.label.ends_with(TWIN);
        rows.push(RowOf { faint, ..RowOf::new(&bar.label, estimate(&bar.estimate, unit)) });
        bar_of.push(Some(bar));
    }
    (rows, bar_of)
}

fn mark(bar: &Bar, unit: &str, scale: &Scale, track: &Track<'_>) -> Markup {
    let Some(x) = track.x(bar.estimate.value) else { return html! {} };
    let from = track.from();
    let faint = bar.label.ends_with(TWIN);
    html! {
        g.faint[faint] {
            (hover(&format!("{}: {}", bar.label, estimate(&bar.estimate, unit))))
            @if scale.is_logarithmic() {
                (line("stem", (from, track.y), (x, track.y)))
                path class="dot" d=(shape(0, x, track.y, 4.5)) {}
            } @else {
                rect class="bar" x=(px(x.min(from))) y=(px(track.y - track.half)) width=(px((x - from).abs().max(0.5))) height=(px(2.0 * track.half)) {}
            }
            (whisker(&bar.estimate, track))
        }
    }
}

/// The interval of an estimate as a line with ends; nothing where there is none.
pub(super) fn whisker(estimate: &Estimate, track: &Track<'_>) -> Markup {
    let ends = estimate.low.zip(estimate.high);
    let Some((low, high)) = ends.and_then(|(l, h)| track.x(l).zip(track.x(h))) else {
        return html! {};
    };
    html! {
        (line("range", (low, track.y), (high, track.y)))
        @for x in [low, high] { (line("range", (x, track.y - 4.0), (x, track.y + 4.0))) }
    }
}

fn table(axis: &Axis, bars: &[Bar]) -> Table {
    let heads = ["", &with_unit(&axis.title, &axis.unit), "95 % from", "to"];
    let row = |bar: &Bar| {
        let name = if bar.group.is_empty() {
            bar.label.clone()
        } else {
            format!("{}: {}", bar.group, bar.label)
        };
        let end = |end: Option<f64>| digits(end.unwrap_or(f64::NAN));
        vec![name, digits(bar.estimate.value), end(bar.estimate.low), end(bar.estimate.high)]
    };
    Table::new(heads, bars.iter().map(row).collect())
}
