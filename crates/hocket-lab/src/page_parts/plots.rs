//! Plots as pictures and as tables.
//!
//! A picture is drawn for two widths, [`Room`], because text in an SVG that shrinks with a phone could
//! not be read. Every name is fitted to the room that it has by a table of letter widths, since nothing
//! here knows the reader's fonts; marks tell their full name and figures when pointed at, and the table
//! below a picture holds them all.

mod ink;
mod scale;
mod rows;

mod bars;
mod dumbbell;
mod lines;
mod heat;
mod ranks;
mod timeline;
mod forest;
mod ridges;

mod standalone;

use maud::{Markup, html};

pub(crate) use forest::{Firm, Ratio, drawn as forest};
pub(crate) use heat::css as heat_css;
pub(crate) use ridges::{Ridge, drawn as ridges};
pub(crate) use timeline::{Stretch, Timeline};

use crate::harness::{Axis, Bar, Estimate, Plot, Series};
use crate::numbers::{DATE, placed, printed, round};
use crate::table::Table;
use ink::{Drawing, KINDS, px, shape};

/// For which width a picture is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Room {
    /// A desk.
    Wide,
    /// A phone.
    Narrow,
    /// So many desks: it scrolls.
    Long(usize),
}

impl Room {
    fn width(self) -> f64 {
        match self {
            Room::Wide => 920.0,
            Room::Narrow => 380.0,
            Room::Long(desks) => 920.0 * desks as f64,
        }
    }
}

/// A picture with what belongs to it.
pub(crate) struct Drawn {
    title: String,
    wide: Drawing,
    narrow: Drawing,
    legend: Vec<Key>,
    table: Table,
}

/// What a mark means.
#[derive(Clone)]
pub(crate) struct Key {
    class: String,
    kind: usize,
    words: String,
}

impl Key {
    pub(crate) fn mark(class: &str, kind: usize, words: &str) -> Key {
        Key { class: class.into(), kind, words: words.into() }
    }

    fn series(at: usize, name: &str) -> Key {
        let dashed = if at / KINDS % 2 == 1 { " (dashed)" } else { "" };
        Key {
            class: format!("point c{}", at % KINDS),
            kind: at % KINDS,
            words: format!("{name}{dashed}"),
        }
    }
}

/// The figures of an estimate.
fn values_of(estimate: &Estimate) -> impl Iterator<Item = f64> + use<> {
    [Some(estimate.value), estimate.low, estimate.high].into_iter().flatten()
}

/// Draws a plot; `None` where it holds nothing.
pub(crate) fn drawn(plot: &Plot) -> Option<Drawn> {
    let drawn = match plot {
        Plot::Dumbbell { title, unit, rows } => dumbbell::drawn(title, unit, rows),
        Plot::Heat { title, unit, rows, columns, cells, borders } => {
            heat::drawn(title, unit, (rows, columns), cells, borders)
        }
        Plot::Lines { title, x, y, series, marks } => match only_place(series) {
            Some(at) => {
                let title = format!("{title}: {}", place_told(at, x));
                bars::drawn(&title, y, &points(series))
            }
            None => lines::drawn(title, x, y, series, marks),
        },
        Plot::Ranks { title, ranks, critical_difference } => {
            ranks::drawn(title, ranks, *critical_difference)
        }
        Plot::Timeline { title, lanes, spans } => timeline::of(title, lanes, spans).drawn(),
        Plot::Bars { title, axis, bars } => bars::drawn(title, axis, bars),
    };
    (!drawn.table.rows.is_empty()).then_some(drawn)
}

/// The place on the x axis that all points share, where lines would be dots above each other.
pub(crate) fn only_place(series: &[Series]) -> Option<f64> {
    let mut places = series.iter().flat_map(|one| one.points.iter().map(|point| point.0));
    let first = places.next().filter(|place| place.is_finite())?;
    places.all(|place| place == first).then_some(first)
}

/// `block length 128 frames`; of what has no unit, `2 threads`.
fn place_told(at: f64, axis: &Axis) -> String {
    let Axis { title, unit, .. } = axis;
    match unit.as_str() {
        "" => format!("{} {title}", round(at)),
        DATE => format!("{title} {}", placed(at, unit)),
        _ => format!("{title} {} {}", round(at), printed(unit)),
    }
}

/// The points of lines as bars.
fn points(series: &[Series]) -> Vec<Bar> {
    let bar = |name: &String, estimate| Bar { label: name.clone(), estimate, group: String::new() };
    let of = |one: &Series| one.points.iter().map(|p| bar(&one.name, p.1)).collect::<Vec<_>>();
    series.iter().flat_map(of).collect()
}

/// How many rows of the table are told to those who do not see the picture.
const TOLD: usize = 12;

impl Drawn {
    /// Nothing.
    pub(crate) fn empty(title: &str) -> Drawn {
        let (wide, narrow) = (Drawing::empty(), Drawing::empty());
        Drawn { title: title.into(), wide, narrow, legend: Vec::new(), table: Table::default() }
    }

    /// What is above it.
    pub(crate) fn title(&self) -> &str {
        &self.title
    }

    /// Its figures.
    pub(crate) fn table(&self) -> &Table {
        &self.table
    }

    /// Picture, legend and table; `source` says where the figures are from.
    pub(crate) fn figure(&self, source: &Markup) -> Markup {
        let about = self.about();
        let scrolls = self.narrow.width == 0.0;
        html! {
            figure.lab {
                @if !self.title.is_empty() { p.plot-title { (ink::plain(&self.title)) } }
                div class=(if scrolls { "scroll" } else { "wide-only" }) tabindex=[scrolls.then_some("0")] role=[scrolls.then_some("group")] aria-label=[scrolls.then(|| format!("{}, drawn", ink::plain(&self.title)))] { (self.wide.svg(&self.title, &about)) }
                @if !scrolls { div.narrow-only { (self.narrow.svg(&self.title, &about)) } }
                (self.legend())
                figcaption { (source) }
                details.numbers { summary { "The same as a table" } (self.table.html(&self.title)) }
            }
        }
    }

    fn legend(&self) -> Markup {
        html! {
            @if !self.legend.is_empty() {
                ul.legend {
                    @for key in &self.legend {
                        li {
                            svg.plot width="18" height="16" viewBox="0 0 18 16" aria-hidden="true" { path class=(key.class) d=(shape(key.kind, 9.0, 8.0, 5.0)) {} }
                            (ink::plain(&key.words))
                        }
                    }
                }
            }
        }
    }

    /// The first rows of the table in words.
    fn about(&self) -> String {
        let row = |row: &Vec<String>| row.join(" ");
        let told: Vec<String> = self.table.rows.iter().take(TOLD).map(row).collect();
        let heads = self.table.heads.join(" ");
        let more = self.table.rows.len().saturating_sub(TOLD);
        let more =
            if more > 0 { format!("; {more} rows more in the table below") } else { String::new() };
        format!("{}: {}{more}.", heads.trim(), told.join("; "))
    }
}

/// A bar of colours from the smallest to the largest figure.
fn ramp(x: f64, y: f64, width: f64, steps: usize, class: impl Fn(usize) -> String) -> Markup {
    let step = width / steps as f64;
    html! {
        @for at in 0..steps {
            rect class=(class(at)) x=(px(x + at as f64 * step)) y=(px(y)) width=(px(step + 0.5)) height="10" {}
        }
    }
}

#[cfg(test)]
mod tests;
