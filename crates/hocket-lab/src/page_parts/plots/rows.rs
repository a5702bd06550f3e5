//! Pictures that are rows on one horizontal axis: names at the left (on a phone above the row),
//! figures at the right, marks between.

use maud::{Markup, html};

use super::Room;
use super::ink::{Anchor, Drawing, centred, fitted, line, text, width};
use super::scale::{Length, Names, Scale};

/// More rows than this are left to the table.
pub(super) const MOST_ROWS: usize = 160;

/// One row.
pub(super) struct RowOf {
    /// Its name.
    pub label: String,
    /// A figure at its right end, in words.
    pub note: String,
    /// A heading instead of a row.
    pub heading: bool,
    /// Greyed: not shown to differ, or measured twice.
    pub faint: bool,
    /// Height above the usual one, for what is drawn above the middle.
    pub above: f64,
}

impl RowOf {
    /// A row.
    pub(super) fn new(label: impl Into<String>, note: String) -> RowOf {
        RowOf { label: label.into(), note, heading: false, faint: false, above: 0.0 }
    }

    /// A heading over the rows that follow.
    pub(super) fn heading(label: impl Into<String>) -> RowOf {
        RowOf { heading: true, ..RowOf::new(label, String::new()) }
    }
}

/// Where marks of a row go.
pub(super) struct Track<'a> {
    scale: &'a Scale,
    left: f64,
    right: f64,
    /// The middle of the row.
    pub y: f64,
    /// Half of the height that marks may use.
    pub half: f64,
}

impl Track<'_> {
    /// Place of a figure; `None` where the axis has none for it.
    pub(super) fn x(&self, value: f64) -> Option<f64> {
        Some(self.left + self.scale.place(value)? * (self.right - self.left))
    }

    /// Where the axis begins.
    pub(super) fn begin(&self) -> f64 {
        self.left
    }

    /// Where it ends.
    pub(super) fn end(&self) -> f64 {
        self.right
    }

    /// The end of the axis at which bars begin.
    pub(super) fn from(&self) -> f64 {
        self.x(0.0).unwrap_or(self.left)
    }
}

/// What rows look like in a room.
struct Layout {
    width: f64,
    left: f64,
    right: f64,
    names: f64,
    row: f64,
    /// From the top of a row to the middle of its marks.
    middle: f64,
    above: bool,
}

const EDGE: f64 = 8.0;
const HEAD: f64 = 6.0;
const FOOT: f64 = 44.0;

impl Layout {
    fn of(room: Room, rows: &[RowOf]) -> Layout {
        let most = |of: &dyn Fn(&RowOf) -> f64| rows.iter().map(of).fold(0.0, f64::max);
        let total = room.width();
        match room {
            Room::Wide | Room::Long(_) => {
                let names = most(&|row| if row.heading { 0.0 } else { width(&row.label) })
                    .clamp(60.0, 480.0);
                let notes = most(&|row| width(&row.note)).min(230.0);
                let right = total - EDGE - if notes > 0.0 { notes + 14.0 } else { 6.0 };
                Layout {
                    width: total,
                    left: names + 16.0,
                    right,
                    names,
                    row: 26.0,
                    middle: 13.0,
                    above: false,
                }
            }
            Room::Narrow => Layout {
                width: total,
                left: EDGE,
                right: total - EDGE,
                names: total - 2.0,
                row: 42.0,
                middle: 29.0,
                above: true,
            },
        }
    }

    fn height_of(&self, row: &RowOf) -> f64 {
        if row.heading { 27.0 } else { self.row + row.above }
    }

    fn names(&self, row: &RowOf, top: f64) -> Markup {
        let class = if row.faint { "t" } else { "l" };
        if row.heading {
            return text(0.0, top + 19.0, Anchor::Start, "l b", &fitted(&row.label, self.width));
        }
        if !self.above {
            let y = top + row.above + self.middle + 4.5;
            let note = fitted(&row.note, self.width - self.right - EDGE);
            return html! {
                (text(self.names + 2.0, y, Anchor::End, class, &fitted(&row.label, self.names)))
                (text(self.width - 2.0, y, Anchor::End, "t", &note))
            };
        }
        let note = fitted(&row.note, self.names * 0.6);
        let room = self.names - width(&note) - 10.0;
        html! {
            (text(0.0, top + 14.0, Anchor::Start, class, &fitted(&row.label, room)))
            (text(self.width - 1.0, top + 14.0, Anchor::End, "t", &note))
        }
    }
}

/// Draws rows. `marks` draws what a row shows; `behind` what lies behind all of them, from the first
/// row's top to the last one's bottom.
pub(super) fn draw(
    room: Room,
    scale: &Scale,
    (title, unit): (&str, &str),
    rows: &[RowOf],
    behind: impl Fn(&Track<'_>) -> Markup,
    marks: impl Fn(usize, &Track<'_>) -> Markup,
) -> Drawing {
    let rows = &rows[..rows.len().min(MOST_ROWS)];
    let layout = Layout::of(room, rows);
    let bottom = HEAD + rows.iter().map(|row| layout.height_of(row)).sum::<f64>();
    let track =
        |y: f64, half: f64| Track { scale, left: layout.left, right: layout.right, y, half };
    let mut top = HEAD;
    let body = html! {
        (grid(scale, (title, unit), &layout, bottom))
        (behind(&track((HEAD + bottom) / 2.0, (bottom - HEAD) / 2.0)))
        @for (at, row) in rows.iter().enumerate() {
            (layout.names(row, top))
            @if !row.heading { (marks(at, &track(top + row.above + layout.middle, 8.0))) }
            ({ top += layout.height_of(row); "" })
        }
    };
    Drawing { width: layout.width, height: bottom + FOOT, body }
}

/// Lines at round figures, their names below and the title of the axis.
fn grid(scale: &Scale, (title, unit): (&str, &str), layout: &Layout, bottom: f64) -> Markup {
    let length = layout.right - layout.left;
    let names = Names::of(scale, unit);
    html! {
        @for tick in scale.ticks(&names, &Length::within(layout.left, layout.right, layout.width), width) {
            @let x = layout.left + tick.place * length;
            (line("g", (x, HEAD), (x, bottom)))
            (centred(x, bottom + 16.0, (0.0, layout.width), "t", &tick.name))
        }
        (line("a", (layout.left, bottom), (layout.right, bottom)))
        (centred((layout.left + layout.right) / 2.0, bottom + 36.0, (0.0, layout.width), "l", &axis_title(scale, &names.title(title))))
    }
}

/// Says of a logarithmic axis that it is one.
pub(super) fn axis_title(scale: &Scale, title: &str) -> String {
    match (scale.is_logarithmic(), title.is_empty()) {
        (false, _) => title.into(),
        (true, true) => "logarithmic".into(),
        (true, false) => format!("{title}, logarithmic"),
    }
}
