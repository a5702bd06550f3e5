//! A table of figures by colour, such as every CPU against every CPU.
//!
//! The colours run from dark blue to yellow with steadily rising lightness, so that they keep their
//! order in print and in every form of colour blindness (the stops are those of "cividis": Nunez,
//! Anderton and Renslow 2018). Rows between two borders that are also columns, such as the seats of a
//! core, are framed on the diagonal.

use maud::{Markup, html};

use super::ink::{Anchor, Drawing, SIZE, fitted, hover, px, text, width};
use super::scale::{Length, Names, Scale};
use super::{Drawn, Key, Room, Table, ramp};
use crate::numbers::{digits, quantity, with_unit};

/// Number of colours.
const COLOURS: usize = 32;
const STOPS: [[f64; 3]; 6] = [
    [0.0, 32.0, 77.0],
    [49.0, 68.0, 107.0],
    [102.0, 105.0, 112.0],
    [149.0, 143.0, 120.0],
    [203.0, 186.0, 105.0],
    [255.0, 234.0, 70.0],
];
/// More rows or columns than this are left to the table.
const MOST: usize = 256;
/// With more columns than this a phone scrolls.
const SCROLLS: usize = 24;
/// Colours span at least this share of the middle figure to either side.
const ALIKE: f64 = 0.15;
/// From this ratio of the largest to the smallest figure on, colours follow the logarithm.
const WIDE_RANGE: f64 = 4.0;

/// Colours of cells and of the text on them.
pub(crate) fn css() -> String {
    let rule = |at: usize| {
        let [r, g, b] = colour(at).map(|channel| channel.round() as u8);
        let ink = if is_dark(at) { "#fff" } else { "#15181c" };
        format!(".h{at}{{fill:#{r:02x}{g:02x}{b:02x}}}.o{at}{{fill:{ink}}}")
    };
    (0..COLOURS).map(rule).collect()
}

fn colour(at: usize) -> [f64; 3] {
    let place = at as f64 / (COLOURS - 1) as f64 * (STOPS.len() - 1) as f64;
    let below = (place as usize).min(STOPS.len() - 2);
    let part = place - below as f64;
    std::array::from_fn(|i| STOPS[below][i] * (1.0 - part) + STOPS[below + 1][i] * part)
}

fn is_dark(at: usize) -> bool {
    let [r, g, b] = colour(at);
    0.2126 * r + 0.7152 * g + 0.0722 * b < 125.0
}

pub(super) fn drawn(
    title: &str,
    unit: &str,
    (rows, columns): (&[String], &[String]),
    cells: &[Vec<Option<f64>>],
    borders: &[usize],
) -> Drawn {
    let known = || cells.iter().flatten().flatten().copied().filter(|value| value.is_finite());
    let (low, high) =
        (known().fold(f64::INFINITY, f64::min), known().fold(f64::NEG_INFINITY, f64::max));
    let (low, high) = at_least(low, high);
    let scale = match low > 0.0 && high / low > WIDE_RANGE {
        true => Scale::log(known()),
        false => Scale::between(low, high),
    };
    let map = Map { unit, rows, columns, cells, borders, scale };
    let scrolls = columns.len() > SCROLLS;
    let narrow = if scrolls { Drawing::empty() } else { map.draw(Room::Narrow) };
    Drawn {
        title: title.into(),
        wide: map.draw(Room::Wide),
        narrow,
        legend: map.legend(),
        table: map.table(),
    }
}

/// The ends of the colours. Figures that differ by a few per cent are not drawn from one end to the
/// other, or noise would look like structure.
fn at_least(low: f64, high: f64) -> (f64, f64) {
    let middle = (low + high) / 2.0;
    let half = middle.abs() * ALIKE;
    if high - low >= 2.0 * half { (low, high) } else { (middle - half, middle + half) }
}

struct Map<'a> {
    unit: &'a str,
    rows: &'a [String],
    columns: &'a [String],
    cells: &'a [Vec<Option<f64>>],
    borders: &'a [usize],
    scale: Scale,
}

/// Where the cells are.
struct Grid {
    left: f64,
    top: f64,
    cell: f64,
    width: f64,
    upright: bool,
}

impl Map<'_> {
    fn size(&self) -> (usize, usize) {
        (self.rows.len().min(MOST), self.columns.len().min(MOST))
    }

    fn grid(&self, room: Room) -> Grid {
        let (rows, columns) = self.size();
        let longest = |names: &[String]| names.iter().map(|name| width(name)).fold(0.0, f64::max);
        let most = if room == Room::Wide { 170.0 } else { 90.0 };
        let left = longest(&self.rows[..rows]).clamp(12.0, most) + 8.0;
        let cell = ((room.width() - left - 4.0) / columns.max(1) as f64)
            .min(if room == Room::Wide { 46.0 } else { 40.0 })
            .max(5.0);
        let names = longest(&self.columns[..columns]);
        let upright = names + 4.0 > cell;
        let top = if upright { names.min(150.0) + 10.0 } else { 22.0 };
        let full = left + cell * columns as f64 + 4.0;
        Grid { left, top, cell, width: full.max(room.width().min(360.0)), upright }
    }

    fn draw(&self, room: Room) -> Drawing {
        let grid = self.grid(room);
        let (rows, _) = self.size();
        let bottom = grid.top + grid.cell * rows as f64;
        let body = html! {
            (self.row_names(&grid))
            (self.column_names(&grid))
            @for row in 0..rows { (self.row(&grid, row)) }
            @for (from, to) in self.blocks() { (frame(&grid, from, to)) }
            (self.key(&grid, bottom + 18.0))
        };
        Drawing { width: grid.width, height: bottom + 52.0, body }
    }

    fn row_names(&self, grid: &Grid) -> Markup {
        let (rows, _) = self.size();
        html! {
            @for at in (0..rows).step_by(every(grid.cell)) {
                @let y = grid.top + (at as f64 + 0.5) * grid.cell + 4.5;
                (text(grid.left - 5.0, y.max(12.0), Anchor::End, "t", &fitted(&self.rows[at], grid.left - 6.0)))
            }
        }
    }

    fn column_names(&self, grid: &Grid) -> Markup {
        let (_, columns) = self.size();
        let x = |at: usize| grid.left + (at as f64 + 0.5) * grid.cell;
        html! {
            @for at in (0..columns).step_by(if grid.upright { every(grid.cell) } else { 1 }) {
                @if grid.upright {
                    @let (x, y) = (px(x(at) + 4.5), px(grid.top - 5.0));
                    text class="t" transform={ "translate(" (x) " " (y) ")rotate(-90)" } { (fitted(&self.columns[at], grid.top - 6.0)) }
                } @else {
                    (text(x(at), grid.top - 6.0, Anchor::Middle, "t", &self.columns[at]))
                }
            }
        }
    }

    fn row(&self, grid: &Grid, row: usize) -> Markup {
        let (_, columns) = self.size();
        let cell = |column: usize| {
            self.cells.get(row).and_then(|cells| cells.get(column)).copied().flatten()
        };
        let known = (0..columns)
            .filter_map(|column| Some((column, cell(column).filter(|v| v.is_finite())?)));
        html! { @for (column, value) in known { (self.cell(grid, (row, column), value)) } }
    }

    fn cell(&self, grid: &Grid, (row, column): (usize, usize), value: f64) -> Markup {
        let (x, y) = (grid.left + column as f64 * grid.cell, grid.top + row as f64 * grid.cell);
        let gap = if grid.cell > 12.0 { 1.0 } else { 0.0 };
        let at = self.colour_of(value);
        let words = digits_short(value);
        html! {
            rect class={ "h" (at) } x=(px(x)) y=(px(y)) width=(px(grid.cell - gap)) height=(px(grid.cell - gap)) {
                (hover(&format!("{}, {}: {}", self.rows[row], self.columns[column], quantity(value, self.unit))))
            }
            @if width(&words) + 4.0 <= grid.cell && grid.cell > SIZE + 3.0 {
                (text(x + grid.cell / 2.0, y + grid.cell / 2.0 + 4.5, Anchor::Middle, &format!("v o{at}"), &words))
            }
        }
    }

    fn colour_of(&self, value: f64) -> usize {
        let place = self.scale.place(value).unwrap_or(0.0);
        ((place * COLOURS as f64) as usize).min(COLOURS - 1)
    }

    /// Stretches between borders with two or more rows that are the same as the columns.
    fn blocks(&self) -> Vec<(usize, usize)> {
        if self.rows != self.columns {
            return Vec::new();
        }
        let (rows, _) = self.size();
        let mut ends: Vec<usize> = self
            .borders
            .iter()
            .map(|last| last.saturating_add(1))
            .filter(|end| *end < rows)
            .collect();
        ends.push(rows);
        ends.sort_unstable();
        ends.dedup();
        let starts = [0].into_iter().chain(ends.iter().copied());
        let blocks = starts.zip(ends.iter().copied()).filter(|(from, to)| to - from > 1);
        if self.borders.is_empty() { Vec::new() } else { blocks.collect() }
    }

    fn legend(&self) -> Vec<Key> {
        if self.blocks().is_empty() {
            Vec::new()
        } else {
            vec![Key::mark("frame", 1, "framed: these share a core")]
        }
    }

    fn key(&self, grid: &Grid, y: f64) -> Markup {
        let length = 280.0_f64.min(grid.width - grid.left - 40.0).max(60.0);
        let names = Names::of(&self.scale, self.unit);
        html! {
            (ramp(grid.left, y, length, COLOURS, |at| format!("h{at}")))
            @for tick in self.scale.ticks(&names, &Length::within(grid.left, grid.left + length, grid.width), width) {
                @let x = grid.left + tick.place * length;
                (super::ink::centred(x, y + 26.0, (0.0, grid.width), "t", &tick.name))
            }
            (text(grid.left + length + 8.0, y + 10.0, Anchor::Start, "t", &fitted(&names.title(""), grid.width - grid.left - length - 8.0)))
        }
    }

    fn table(&self) -> Table {
        let heads = [with_unit("", self.unit)].into_iter().chain(self.columns.iter().cloned());
        let row = |(name, cells): (&String, &Vec<Option<f64>>)| {
            let figure = |at: usize| digits(cells.get(at).copied().flatten().unwrap_or(f64::NAN));
            [name.clone()].into_iter().chain((0..self.columns.len()).map(figure)).collect()
        };
        Table::new(heads, self.rows.iter().zip(self.cells).map(row).collect())
    }
}

/// Every how many rows there is room for a name.
fn every(cell: f64) -> usize {
    ((SIZE + 2.0) / cell).ceil().max(1.0) as usize
}

/// What fits into a cell: three digits.
fn digits_short(value: f64) -> String {
    match value.abs() {
        v if v >= 100.0 => format!("{value:.0}"),
        v if v >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

/// A frame around the cells of rows and columns `from..to`.
fn frame(grid: &Grid, from: usize, to: usize) -> Markup {
    let at = |i: usize| i as f64 * grid.cell - 0.5;
    let side = (to - from) as f64 * grid.cell;
    html! { rect class="frame" x=(px(grid.left + at(from))) y=(px(grid.top + at(from))) width=(px(side)) height=(px(side)) {} }
}
