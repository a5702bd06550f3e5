//! Distributions beside each other, each in nine figures: a line from the smallest to the largest, a
//! box for the middle eight tenths, and marks of different shapes for the rest.

use maud::{Markup, html};

use super::ink::{hover, line, px, shape};
use super::rows::{RowOf, Track, draw};
use super::scale::Scale;
use super::{Drawn, Key, Room, Table};
use crate::harness::{Axis, Quantiles};
use crate::pages::number::{digits, quantity, with_unit};

pub(super) fn drawn(title: &str, axis: &Axis, series: &[(String, Quantiles)]) -> Drawn {
    let ends = series.iter().flat_map(|(_, q)| [q.min, q.p10, q.p50, q.p90, q.p99, q.p999, q.max]);
    let scale = Scale::of(ends, axis.logarithmic);
    let note = |q: &Quantiles| {
        format!("p50 {}, p99 {}", quantity(q.p50, &axis.unit), quantity(q.p99, &axis.unit))
    };
    let rows: Vec<RowOf> = series.iter().map(|(name, q)| RowOf::new(name, note(q))).collect();
    let picture = |room| {
        draw(
            room,
            &scale,
            (&axis.title, &axis.unit),
            &rows,
            |_| html! {},
            |row, track| {
                let (name, quantiles) = &series[row];
                mark(name, quantiles, &axis.unit, track)
            },
        )
    };
    Drawn {
        title: title.into(),
        wide: picture(Room::Wide),
        narrow: picture(Room::Narrow),
        legend: legend(),
        table: table(axis, series),
    }
}

fn legend() -> Vec<Key> {
    vec![
        Key::mark("box", 5, "from p10 to p90"),
        Key::mark("ink", 6, "p50"),
        Key::mark("ink", 3, "p99"),
        Key::mark("ink", 2, "p99.9"),
        Key::mark("ring", 0, "max"),
    ]
}

fn mark(name: &str, q: &Quantiles, unit: &str, track: &Track<'_>) -> Markup {
    let y = track.y;
    let span = |low: f64, high: f64| {
        track.x(low).or(track.x(high).map(|_| track.from())).zip(track.x(high))
    };
    let marks = [(q.p99, 3, "ink", 4.5), (q.p999, 2, "ink", 4.5), (q.max, 0, "ring", 4.5)];
    html! {
        g {
            (hover(&words(name, q, unit)))
            @if let Some((from, to)) = span(q.min, q.max) { (line("whisker", (from, y), (to, y))) }
            @if let Some((from, to)) = span(q.p10, q.p90) {
                rect class="box" x=(px(from)) y=(px(y - track.half + 1.0)) width=(px((to - from).max(1.0))) height=(px(2.0 * track.half - 2.0)) {}
            }
            @if let Some(x) = track.x(q.p50) { (line("median", (x, y - track.half - 1.0), (x, y + track.half + 1.0))) }
            @for (value, kind, class, r) in marks {
                @if let Some(x) = track.x(value) { path class=(class) d=(shape(kind, x, y, r)) {} }
            }
        }
    }
}

fn words(name: &str, q: &Quantiles, unit: &str) -> String {
    let all = [
        ("min", q.min),
        ("p10", q.p10),
        ("p50", q.p50),
        ("p90", q.p90),
        ("p99", q.p99),
        ("p99.9", q.p999),
        ("max", q.max),
    ];
    let each: Vec<String> =
        all.iter().map(|(what, value)| format!("{what} {}", quantity(*value, unit))).collect();
    format!("{name}: {}, {} values", each.join(", "), q.n)
}

fn table(axis: &Axis, series: &[(String, Quantiles)]) -> Table {
    let first = with_unit(&axis.title, &axis.unit);
    let heads =
        [first.as_str(), "min", "p10", "p50", "p90", "p99", "p99.9", "max", "mean", "values"];
    let row = |(name, q): &(String, Quantiles)| {
        let figures = [q.min, q.p10, q.p50, q.p90, q.p99, q.p999, q.max, q.mean].map(digits);
        [name.clone()].into_iter().chain(figures).chain([q.n.to_string()]).collect()
    };
    Table { heads: heads.map(String::from).into(), rows: series.iter().map(row).collect() }
}
