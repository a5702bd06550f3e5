//! Then and now: what was printed long ago and what was measured today on one logarithmic axis.

use maud::{Markup, html};

use super::bars::whisker;
use super::ink::{hover, line, shape};
use super::rows::{RowOf, Track, draw};
use super::scale::Scale;
use super::{Drawn, Key, Room, Table, values_of};
use crate::harness::Dumbbell;
use crate::numbers::{digits, estimate, quantity, with_unit};

pub(super) fn drawn(title: &str, unit: &str, pairs: &[Dumbbell]) -> Drawn {
    let now = pairs.iter().filter_map(|pair| pair.now.as_ref()).flat_map(values_of);
    let scale = Scale::log(pairs.iter().filter_map(|pair| pair.then).chain(now));
    let rows: Vec<RowOf> =
        pairs.iter().map(|pair| RowOf::new(&pair.label, note(pair, unit))).collect();
    let picture = |room| {
        draw(
            room,
            &scale,
            ("", unit),
            &rows,
            |_| html! {},
            |row, track| mark(&pairs[row], unit, track),
        )
    };
    let legend = vec![
        Key::mark("then", 3, "then: printed long ago"),
        Key::mark("dot", 0, "now: this run, with its 95 % interval"),
    ];
    Drawn {
        title: title.into(),
        wide: picture(Room::Wide),
        narrow: picture(Room::Narrow),
        legend,
        table: table(unit, pairs),
    }
}

/// `9.00 ms → 1.20 µs`.
fn note(pair: &Dumbbell, unit: &str) -> String {
    let then = pair.then.map(|value| quantity(value, unit));
    let now = pair.now.map(|now| quantity(now.value, unit));
    match (then, now) {
        (Some(then), Some(now)) => format!("{then} → {now}"),
        (Some(then), None) => format!("then {then}"),
        (None, Some(now)) => format!("now {now}"),
        (None, None) => String::new(),
    }
}

fn mark(pair: &Dumbbell, unit: &str, track: &Track<'_>) -> Markup {
    let then = pair.then.and_then(|value| track.x(value));
    let now = pair.now.and_then(|now| track.x(now.value));
    html! {
        g {
            (hover(&words(pair, unit)))
            @if let (Some(then), Some(now)) = (then, now) { (line("link", (then, track.y), (now, track.y))) }
            @if let Some(now) = &pair.now { (whisker(now, track)) }
            @if let Some(x) = then { path class="then" d=(shape(3, x, track.y, 4.5)) {} }
            @if let Some(x) = now { path class="dot" d=(shape(0, x, track.y, 5.0)) {} }
        }
    }
}

fn words(pair: &Dumbbell, unit: &str) -> String {
    let then = pair
        .then
        .map_or("nothing was printed".into(), |value| format!("then {}", quantity(value, unit)));
    let now = pair
        .now
        .map_or("nothing was measured now".into(), |now| format!("now {}", estimate(&now, unit)));
    let source = if pair.source.is_empty() { String::new() } else { format!(" ({})", pair.source) };
    format!("{}: {then}{source}, {now}", pair.label)
}

fn table(unit: &str, pairs: &[Dumbbell]) -> Table {
    let [then, now] = ["then", "now"].map(|name| with_unit(name, unit));
    let heads = ["", &then, &now, "95 % from", "to", "source"];
    let row = |pair: &Dumbbell| {
        let figure = |value: Option<f64>| digits(value.unwrap_or(f64::NAN));
        let now = pair.now;
        vec![
            pair.label.clone(),
            figure(pair.then),
            figure(now.map(|now| now.value)),
            figure(now.and_then(|now| now.low)),
            figure(now.and_then(|now| now.high)),
            pair.source.clone(),
        ]
    };
    Table::new(heads, pairs.iter().map(row).collect())
}
