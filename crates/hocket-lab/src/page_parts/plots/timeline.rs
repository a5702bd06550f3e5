//! Who did what when: a lane each.

use maud::{Markup, html};

use super::ink::{Anchor, Drawing, KINDS, fitted, hover, line, px, text, width};
use super::rows::{RowOf, Track, draw};
use super::scale::Scale;
use super::{Drawn, Key, Room};
use crate::harness::Span;
use crate::numbers::{counted, quantity};
use crate::table::Table;

/// More than this is left out: nobody could tell it apart, and the page would not load.
const MOST: usize = 4000;
/// More rows than this are left out of the table.
const MOST_ROWS: usize = 500;
const LEGEND: usize = 12;
/// So much of a lane has room for names; with more, the picture is wider than the page and scrolls.
const READABLE: usize = 30;
/// The widest picture, in widths of a page.
const WIDEST: usize = 5;
/// How much of the axis what is done must fill for the deadline to be drawn rather than named.
const NEAR: f64 = 0.55;

/// Lanes with what happens on them, in nanoseconds.
pub(crate) struct Timeline {
    /// Above it.
    pub title: String,
    /// Names.
    pub lanes: Vec<String>,
    /// What happens.
    pub stretches: Vec<Stretch>,
    /// When everything has to be done.
    pub deadline: Option<f64>,
    /// In which they are told: `ns`, or [`OF_BLOCKS`](crate::numbers::OF_BLOCKS).
    pub unit: &'static str,
    /// What the looks mean.
    pub legend: Vec<Key>,
}

/// A stretch of time.
pub(crate) struct Stretch {
    /// On which lane, from 0.
    pub lane: usize,
    /// Its begin.
    pub from: f64,
    /// Its end.
    pub to: f64,
    /// What happens.
    pub label: String,
    /// How it looks.
    pub class: String,
}

/// What a plot holds, each label in one colour.
pub(super) fn of(title: &str, lanes: &[String], spans: &[Span]) -> Timeline {
    let names = names(spans);
    let class = |label: &String| names.iter().position(|name| name == label).unwrap_or(0) % KINDS;
    let stretch = |span: &Span| Stretch {
        lane: span.lane,
        from: span.from_ns as f64,
        to: span.to_ns.max(span.from_ns) as f64,
        label: span.label.clone(),
        class: format!("fill s{}", class(&span.label)),
    };
    let key = |(at, name): (usize, &&str)| Key::mark(&format!("fill s{}", at % KINDS), 1, name);
    Timeline {
        title: title.into(),
        lanes: lanes.to_vec(),
        stretches: spans.iter().map(stretch).collect(),
        deadline: None,
        unit: "ns",
        legend: match names.len() > LEGEND {
            true => Vec::new(),
            false => names.iter().enumerate().map(key).collect(),
        },
    }
}

/// What happens, each once, in the order of its first span.
fn names(spans: &[Span]) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for span in spans.iter().take(MOST) {
        if names.len() < KINDS * 4 && !names.contains(&span.label.as_str()) {
            names.push(&span.label);
        }
    }
    names
}

impl Timeline {
    /// The picture.
    pub(crate) fn drawn(&self) -> Drawn {
        let all = &self.stretches[..self.stretches.len().min(MOST)];
        let first = all.iter().map(|it| it.from).fold(0.0, f64::min);
        let last = all.iter().map(|it| it.to).fold(0.0, f64::max);
        let near = self.deadline.filter(|deadline| last > NEAR * deadline);
        let end = near.map_or(last, |deadline| deadline.max(last));
        let scale = Scale::between(first, end + (end - first) * 0.01);
        let rows: Vec<RowOf> =
            self.lanes.iter().map(|lane| RowOf::new(lane, String::new())).collect();
        let picture = |room| {
            let deadline = |track: &Track<'_>| deadline_line(near, track);
            draw(room, &scale, ("time", self.unit), &rows, deadline, |lane, track| {
                let own = all.iter().filter(|it| it.lane == lane);
                html! { @for it in own { (mark(it, (&self.lanes[lane], self.unit), track)) } }
            })
        };
        let fullest =
            (0..self.lanes.len()).map(|lane| all.iter().filter(move |it| it.lane == lane));
        let widths = fullest.map(Iterator::count).max().unwrap_or(0).div_ceil(READABLE);
        let (wide, narrow) = match widths {
            0 | 1 => (picture(Room::Wide), picture(Room::Narrow)),
            n => (picture(Room::Long(n.min(WIDEST))), Drawing::empty()),
        };
        Drawn { title: self.title(), wide, narrow, legend: self.keys(), table: self.table() }
    }

    fn title(&self) -> String {
        match self.stretches.len() > MOST {
            true => format!(
                "{} (the first {} of {})",
                self.title,
                counted(MOST, "span"),
                self.stretches.len()
            ),
            false => self.title.clone(),
        }
    }

    fn keys(&self) -> Vec<Key> {
        let deadline = self.deadline.map(|deadline| {
            Key::mark("late", 6, &format!("deadline, {}", quantity(deadline, self.unit)))
        });
        self.legend.iter().cloned().chain(deadline).collect()
    }

    fn table(&self) -> Table {
        let row = |it: &Stretch| {
            let lane = self.lanes.get(it.lane).cloned();
            let lane = lane.unwrap_or_else(|| format!("lane {}", it.lane));
            let times = [it.from, it.to, it.to - it.from].map(|ns| quantity(ns, self.unit));
            [lane, it.label.clone()].into_iter().chain(times).collect()
        };
        let rows = self.stretches.iter().take(MOST_ROWS).map(row);
        Table::new(["lane", "what", "from", "to", "took"], rows.collect())
    }
}

fn deadline_line(deadline: Option<f64>, track: &Track<'_>) -> Markup {
    let ends = (track.y - track.half, track.y + track.half);
    html! {
        @if let Some(x) = deadline.and_then(|it| track.x(it)) { (line("deadline", (x, ends.0), (x, ends.1))) }
    }
}

fn mark(it: &Stretch, (lane, unit): (&str, &str), track: &Track<'_>) -> Markup {
    let Some((x, end)) = track.x(it.from).zip(track.x(it.to)) else { return html! {} };
    let [from, to, took] = [it.from, it.to, it.to - it.from].map(|ns| quantity(ns, unit));
    let words = format!("{}: {lane}, {from} to {to}, took {took}", it.label);
    let fits = width(&it.label) + 8.0 <= end - x;
    html! {
        rect class=(it.class) x=(px(x)) y=(px(track.y - 10.0)) width=(px((end - x).max(0.6))) height="20" { (hover(&words)) }
        @if fits { (text(x + 4.0, track.y + 4.5, Anchor::Start, "in", &fitted(&it.label, end - x - 4.0))) }
    }
}
