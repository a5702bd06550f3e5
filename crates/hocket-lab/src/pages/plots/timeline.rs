//! Who did what when: a lane each.

use maud::{Markup, html};

use super::ink::{Anchor, KINDS, fitted, hover, px, text, width};
use super::rows::{RowOf, Track, draw};
use super::scale::Scale;
use super::{Drawn, Key, Room, Table};
use crate::harness::Span;
use crate::pages::number::{count, quantity};

/// More spans than this are left out: nobody could tell them apart, and the page would not load.
const MOST_SPANS: usize = 4000;
/// More rows than this are left out of the table.
const MOST_ROWS: usize = 500;
const LEGEND: usize = 12;

pub(super) fn drawn(title: &str, lanes: &[String], spans: &[Span]) -> Drawn {
    let names = names(spans);
    let end = spans.iter().map(|span| span.to_ns.max(span.from_ns)).max().unwrap_or(0) as f64;
    let scale = Scale::between(0.0, end * 1.01);
    let rows: Vec<RowOf> = lanes.iter().map(|lane| RowOf::new(lane, String::new())).collect();
    let picture = |room| {
        draw(
            room,
            &scale,
            ("time", "ns"),
            &rows,
            |_| html! {},
            |lane, track| {
                let own = spans.iter().take(MOST_SPANS).filter(|span| span.lane == lane);
                html! { @for span in own { (mark(span, &lanes[lane], &names, track)) } }
            },
        )
    };
    let title = match spans.len() > MOST_SPANS {
        true => format!("{title} (the first {} of {})", count(MOST_SPANS, "span"), spans.len()),
        false => title.into(),
    };
    Drawn {
        title,
        wide: picture(Room::Wide),
        narrow: picture(Room::Narrow),
        legend: legend(&names),
        table: table(lanes, spans),
    }
}

/// What happens, each once, in the order of its first span.
fn names(spans: &[Span]) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for span in spans.iter().take(MOST_SPANS) {
        if names.len() < KINDS * 4 && !names.contains(&span.label.as_str()) {
            names.push(&span.label);
        }
    }
    names
}

fn legend(names: &[&str]) -> Vec<Key> {
    let key = |(at, name): (usize, &&str)| Key::mark(&format!("fill s{}", at % KINDS), 1, name);
    if names.len() > LEGEND { Vec::new() } else { names.iter().enumerate().map(key).collect() }
}

fn mark(span: &Span, lane: &str, names: &[&str], track: &Track<'_>) -> Markup {
    let (from, to) = (span.from_ns as f64, span.to_ns.max(span.from_ns) as f64);
    let Some((x, end)) = track.x(from).zip(track.x(to)) else { return html! {} };
    let kind = names.iter().position(|name| *name == span.label).unwrap_or(0) % KINDS;
    let words = format!(
        "{}: {lane}, {} to {}, took {}",
        span.label,
        quantity(from, "ns"),
        quantity(to, "ns"),
        quantity(to - from, "ns")
    );
    let fits = width(&span.label) + 8.0 <= end - x;
    html! {
        rect class={ "fill s" (kind) } x=(px(x)) y=(px(track.y - 10.0)) width=(px((end - x).max(0.6))) height="20" { (hover(&words)) }
        @if fits { (text(x + 4.0, track.y + 4.5, Anchor::Start, "in", &fitted(&span.label, end - x - 4.0))) }
    }
}

fn table(lanes: &[String], spans: &[Span]) -> Table {
    let row = |span: &Span| {
        let lane = lanes.get(span.lane).cloned().unwrap_or_else(|| format!("lane {}", span.lane));
        let took = span.to_ns.saturating_sub(span.from_ns);
        vec![
            lane,
            span.label.clone(),
            span.from_ns.to_string(),
            span.to_ns.to_string(),
            took.to_string(),
        ]
    };
    let heads = ["lane", "what", "from [ns]", "to [ns]", "took [ns]"].map(String::from);
    Table { heads: heads.into(), rows: spans.iter().take(MOST_ROWS).map(row).collect() }
}
