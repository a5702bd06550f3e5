//! Lines with shaded intervals, and places on the x axis that mean something.

use maud::{Markup, html};

use super::ink::{Anchor, Drawing, KINDS, centred, fitted, hover, line, px, shape, text, width};
use super::rows::axis_title;
use super::scale::{Length, Names, Scale, Tick};
use super::{Drawn, Key, Room, Table, values_of};
use crate::harness::{Axis, Estimate, Mark, Series};
use crate::numbers::{digits, estimate, placed, rescaled, round, with_unit};

pub(super) fn drawn(title: &str, x: &Axis, y: &Axis, series: &[Series], marks: &[Mark]) -> Drawn {
    let picture = |room| Picture::of(room, x, y, series, marks).draw();
    let legend = series.iter().enumerate().map(|(at, one)| Key::series(at, &one.name)).collect();
    Drawn {
        title: title.into(),
        wide: picture(Room::Wide),
        narrow: picture(Room::Narrow),
        legend,
        table: table(x, y, series),
    }
}

/// Everything with its place.
struct Picture<'a> {
    axes: (&'a Axis, &'a Axis),
    series: &'a [Series],
    x: Scale,
    y: Scale,
    width: f64,
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
    flags: Vec<Flag>,
    y_ticks: Vec<Tick>,
    y_title: String,
}

/// A mark with the row in which its name stands.
struct Flag {
    x: f64,
    name: String,
    at: f64,
    row: usize,
}

impl Flag {
    /// The baseline of its name.
    fn y(&self) -> f64 {
        36.0 + self.row.min(FLAG_ROWS - 1) as f64 * FLAG
    }
}

/// Of more lines than this the intervals would cover each other; the table has them.
const MOST_RIBBONS: usize = 4;
const FLAG: f64 = 17.0;
/// Names of marks stand in so many rows at most; more marks than that are told by pointing only.
const FLAG_ROWS: usize = 4;

impl<'a> Picture<'a> {
    fn of(
        room: Room,
        x_axis: &'a Axis,
        y_axis: &'a Axis,
        series: &'a [Series],
        marks: &[Mark],
    ) -> Picture<'a> {
        let points = || series.iter().flat_map(|one| &one.points);
        let at = marks.iter().map(|mark| mark.at);
        let x = x_scale(points().map(|point| point.0).chain(at), x_axis.logarithmic);
        let y = Scale::of(heights(series), y_axis.logarithmic);
        let height = if room == Room::Wide { 300.0 } else { 230.0 };
        let names = Names::of(&y, &y_axis.unit);
        let y_ticks =
            y.ticks(&names, &Length { axis: height, before: 20.0, after: 20.0 }, |_| 14.0);
        let left =
            y_ticks.iter().map(|tick| width(&tick.name)).fold(20.0, f64::max).min(110.0) + 10.0;
        let right = room.width() - 16.0;
        let mut flags = flags(marks, &x, (left, right), room.width());
        let rows = flags.iter().map(|flag| flag.row + 1).max().unwrap_or(0).min(FLAG_ROWS);
        flags.iter_mut().filter(|flag| flag.row >= FLAG_ROWS).for_each(|flag| flag.name.clear());
        let top = 24.0 + rows as f64 * FLAG;
        let y_title = axis_title(&y, &names.title(&y_axis.title));
        Picture {
            axes: (x_axis, y_axis),
            series,
            x,
            y,
            width: room.width(),
            left,
            right,
            top,
            bottom: top + height,
            flags,
            y_ticks,
            y_title,
        }
    }

    fn draw(&self) -> Drawing {
        let body = html! {
            (text(0.0, 14.0, Anchor::Start, "l", &fitted(&self.y_title, self.width)))
            (self.grid())
            @for flag in &self.flags { (self.flag(flag)) }
            @for flag in &self.flags { (centred(flag.x, flag.y(), (0.0, self.width), "t halo", &flag.name)) }
            @if self.series.len() <= MOST_RIBBONS { @for (at, one) in self.series.iter().enumerate() { (self.ribbon(at, one)) } }
            @for (at, one) in self.series.iter().enumerate() { (self.line(at, one)) }
        };
        Drawing { width: self.width, height: self.bottom + 44.0, body }
    }

    fn place(&self, x: f64, y: f64) -> Option<(f64, f64)> {
        let x = self.left + self.x.place(x)? * (self.right - self.left);
        Some((x, self.bottom - self.y.place(y)? * (self.bottom - self.top)))
    }

    fn grid(&self) -> Markup {
        let names = Names::of(&self.x, &self.axes.0.unit);
        html! {
            @for tick in &self.y_ticks {
                @let y = self.bottom - tick.place * (self.bottom - self.top);
                (line("g", (self.left, y), (self.right, y)))
                (text(self.left - 6.0, y + 4.5, Anchor::End, "t", &fitted(&tick.name, self.left - 8.0)))
            }
            @for tick in self.x_ticks(&names) {
                @let x = self.left + tick.place * (self.right - self.left);
                (line("a", (x, self.bottom), (x, self.bottom + 4.0)))
                (centred(x, self.bottom + 18.0, (0.0, self.width), "t", &tick.name))
            }
            (line("a", (self.left, self.bottom), (self.right, self.bottom)))
            (centred((self.left + self.right) / 2.0, self.bottom + 38.0, (0.0, self.width), "l", &axis_title(&self.x, &names.title(&self.axes.0.title))))
        }
    }

    /// The measured places where they are few and no times, such as numbers of threads; else round ones.
    fn x_ticks(&self, names: &Names) -> Vec<Tick> {
        let mut measured: Vec<f64> =
            self.series.iter().flat_map(|one| one.points.iter().map(|p| p.0)).collect();
        measured.sort_by(f64::total_cmp);
        measured.dedup();
        let length = Length::within(self.left, self.right, self.width);
        let counted = rescaled(1.0, &self.axes.0.unit).is_none();
        let few = (2..=14).contains(&measured.len()) && counted;
        let own = few.then(|| self.x.ticks_at(&measured, names, &length, width)).flatten();
        own.unwrap_or_else(|| self.x.ticks(names, &length, width))
    }

    fn flag(&self, flag: &Flag) -> Markup {
        let top = if flag.name.is_empty() { self.top } else { flag.y() + 4.0 };
        html! {
            g {
                (hover(&format!("{} at {}", flag.name, round(flag.at))))
                (line("flag", (flag.x, top), (flag.x, self.bottom)))
            }
        }
    }

    fn ribbon(&self, at: usize, series: &Series) -> Markup {
        let ends =
            |(x, e): &(f64, Estimate)| Some((self.place(*x, e.low?)?, self.place(*x, e.high?)?));
        let stretches = series.points.split(|point| ends(point).is_none());
        let outline = |points: &[(f64, Estimate)]| {
            let ends: Vec<_> = points.iter().filter_map(ends).collect();
            let forth = ends.iter().map(|(low, _)| *low);
            path(forth.chain(ends.iter().rev().map(|(_, high)| *high))) + "Z"
        };
        html! {
            @for stretch in stretches.filter(|points| points.len() > 1) {
                path class={ "ribbon c" (at % KINDS) } d=(outline(stretch)) {}
            }
        }
    }

    /// The interval of a point that stands alone.
    fn whisker(&self, (x, e): &(f64, Estimate)) -> Markup {
        let ends =
            e.low.zip(e.high).and_then(|(low, high)| self.place(*x, low).zip(self.place(*x, high)));
        html! {
            @if let Some((low, high)) = ends {
                (line("range", low, high))
                @for (x, y) in [low, high] { (line("range", (x - 4.0, y), (x + 4.0, y))) }
            }
        }
    }

    /// Whether there is room for the intervals of a series.
    fn has_intervals(&self, series: &Series) -> bool {
        self.series.len() <= MOST_RIBBONS || series.points.len() == 1
    }

    fn line(&self, at: usize, series: &Series) -> Markup {
        let place = |(x, e): &(f64, Estimate)| self.place(*x, e.value);
        let colour = at % KINDS;
        let dashed = at / KINDS % 2 == 1;
        html! {
            @for stretch in series.points.split(|point| place(point).is_none()).filter(|points| points.len() > 1) {
                path class={ "line c" (colour) @if dashed { " dashed" } } d=(path(stretch.iter().filter_map(place))) {}
            }
            @for stretch in series.points.split(|point| place(point).is_none()) {
                @if let [point] = stretch { @if self.has_intervals(series) { (self.whisker(point)) } }
            }
            @for point in &series.points {
                @if let Some((x, y)) = place(point) {
                    path class={ "point c" (colour) } d=(shape(colour, x, y, 4.0)) {
                        (hover(&format!("{}, {}: {}", series.name, placed(point.0, &self.axes.0.unit), estimate(&point.1, &self.axes.1.unit))))
                    }
                }
            }
        }
    }
}

/// Figures and the ends of those intervals that are drawn.
fn heights(series: &[Series]) -> impl Iterator<Item = f64> {
    let all = series.len() <= MOST_RIBBONS;
    let points = series.iter().flat_map(move |one| {
        let with_interval = all || one.points.len() == 1;
        one.points.iter().map(move |point| (with_interval, &point.1))
    });
    points.flat_map(|(with_interval, estimate)| match with_interval {
        true => values_of(estimate).collect(),
        false => vec![estimate.value],
    })
}

/// A linear x axis ends where the figures end and need not hold zero.
fn x_scale(values: impl Iterator<Item = f64>, logarithmic: bool) -> Scale {
    if logarithmic {
        return Scale::log(values);
    }
    let finite: Vec<f64> = values.filter(|value| value.is_finite()).collect();
    let low = finite.iter().copied().fold(f64::INFINITY, f64::min);
    let high = finite.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let room = (high - low) * 0.02;
    Scale::between(low - room, high + room)
}

fn path(points: impl Iterator<Item = (f64, f64)>) -> String {
    let points: Vec<String> = points.map(|(x, y)| format!("{} {}", px(x), px(y))).collect();
    format!("M{}", points.join("L"))
}

/// Marks from left to right, each in the first row where its name touches no other.
fn flags(marks: &[Mark], scale: &Scale, (left, right): (f64, f64), total: f64) -> Vec<Flag> {
    let mut marks: Vec<&Mark> = marks.iter().collect();
    marks.sort_by(|a, b| a.at.total_cmp(&b.at));
    let mut ends: Vec<f64> = Vec::new();
    let flag = |mark: &&Mark| {
        let x = left + scale.place(mark.at)? * (right - left);
        let name = fitted(&mark.label, 160.0);
        let half = width(&name) / 2.0;
        let middle = x.max(half).min(total - half);
        let free = ends.iter().position(|end| middle - half > end + 8.0);
        let row = free.unwrap_or(ends.len());
        ends.resize(ends.len().max(row + 1), 0.0);
        ends[row] = middle + half;
        Some(Flag { x, name, at: mark.at, row })
    };
    marks.iter().filter_map(flag).collect()
}

fn table(x: &Axis, y: &Axis, series: &[Series]) -> Table {
    let names =
        ["", &with_unit(&x.title, &x.unit), &with_unit(&y.title, &y.unit), "95 % from", "to"];
    let row = |name: &str, (at, e): &(f64, Estimate)| {
        let end = |end: Option<f64>| digits(end.unwrap_or(f64::NAN));
        vec![name.to_string(), placed(*at, &x.unit), digits(e.value), end(e.low), end(e.high)]
    };
    // What is no number only ends a stretch of a line.
    let is_known = |point: &&(f64, Estimate)| point.1.value.is_finite();
    let rows = series.iter().flat_map(|one| {
        let known = one.points.iter().filter(is_known);
        known.map(|point| row(&one.name, point))
    });
    Table::new(names, rows.collect())
}
