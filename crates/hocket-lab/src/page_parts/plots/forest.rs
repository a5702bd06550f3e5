//! Ratios with their intervals beside what the same thing measured twice differs by.

use maud::{Markup, html};

use super::bars::whisker;
use super::ink::{hover, line, px, shape};
use super::rows::{RowOf, Track, draw};
use super::scale::Scale;
use super::{Drawn, Key, Room, Table, values_of};
use crate::harness::Estimate;
use crate::numbers::{change, estimated_change, percent};

/// One ratio of interest.
pub(crate) struct Ratio {
    /// What is compared with what, in full.
    pub label: String,
    /// The same as short as its place in the picture allows.
    pub name: String,
    /// What stands once above all rows that share it; empty for nothing.
    pub group: String,
    /// Candidate divided by reference.
    pub ratio: Estimate,
    /// The smallest difference that the run can show, as a ratio minus one.
    pub floor: Option<f64>,
    /// Whether it stands.
    pub firm: Firm,
}

/// How firm a ratio stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Firm {
    /// Shown, also if all ratios of the picture are to hold at once.
    Shown,
    /// Shown only where nobody looks at the others.
    Alone,
    /// No difference is shown.
    No,
}

impl Ratio {
    fn is_faint(&self) -> bool {
        self.firm != Firm::Shown
    }
}

impl Firm {
    /// The words for a ratio that is not shown.
    pub(crate) fn unless_shown(self) -> Option<&'static str> {
        match self {
            Firm::Shown => None,
            Firm::Alone => Some("shown alone, not among all"),
            Firm::No => Some("no difference shown"),
        }
    }
}

pub(crate) fn drawn(title: &str, ratios: &[Ratio]) -> Drawn {
    let floors = ratios
        .iter()
        .filter_map(|ratio| ratio.floor)
        .flat_map(|floor| [1.0 + floor, 1.0 / (1.0 + floor)]);
    let scale = Scale::log(
        ratios.iter().flat_map(|ratio| values_of(&ratio.ratio)).chain(floors).chain([1.0]),
    );
    let (rows, ratio_of) = rows(ratios);
    let picture = |room| {
        draw(room, &scale, ("ratio to the reference", ""), &rows, equality, |row, track| {
            html! { @if let Some(ratio) = ratio_of[row] { (mark(ratio, track)) } }
        })
    };
    let legend = vec![
        Key::mark("dot", 0, "shown"),
        Key::mark("dot faint", 0, "not shown"),
        Key::mark("floor", 5, "what the same thing twice differs by"),
    ];
    Drawn {
        title: title.into(),
        wide: picture(Room::Wide),
        narrow: picture(Room::Narrow),
        legend,
        table: table(ratios),
    }
}

/// Rows with a heading where the group changes, and the ratio that each of them shows.
fn rows(ratios: &[Ratio]) -> (Vec<RowOf>, Vec<Option<&Ratio>>) {
    let (mut rows, mut ratio_of, mut group) = (Vec::new(), Vec::new(), "");
    for ratio in ratios {
        if ratio.group != group {
            group = &ratio.group;
            rows.push(RowOf::heading(group));
            ratio_of.push(None);
        }
        let note = ratio.firm.unless_shown();
        let note = note.map_or_else(|| change(ratio.ratio.value), String::from);
        rows.push(RowOf { faint: ratio.is_faint(), ..RowOf::new(&ratio.name, note) });
        ratio_of.push(Some(ratio));
    }
    (rows, ratio_of)
}

fn equality(track: &Track<'_>) -> Markup {
    html! { @if let Some(x) = track.x(1.0) { (line("one", (x, track.y - track.half), (x, track.y + track.half))) } }
}

fn mark(ratio: &Ratio, track: &Track<'_>) -> Markup {
    let floor =
        ratio.floor.and_then(|floor| track.x(1.0 / (1.0 + floor)).zip(track.x(1.0 + floor)));
    html! {
        g.faint[ratio.is_faint()] {
            (hover(&words(ratio)))
            @if let Some((from, to)) = floor {
                rect class="floor" x=(px(from)) y=(px(track.y - track.half)) width=(px(to - from)) height=(px(2.0 * track.half)) {}
            }
            (whisker(&ratio.ratio, track))
            @if let Some(x) = track.x(ratio.ratio.value) { path class="dot" d=(shape(0, x, track.y, 4.5)) {} }
        }
    }
}

fn words(ratio: &Ratio) -> String {
    let verdict = ratio.firm.unless_shown().map_or(String::new(), |words| format!(": {words}"));
    format!("{}: {}{verdict}", ratio.label, estimated_change(&ratio.ratio))
}

/// Changes in per cent, as the smallest difference and all other lists have them.
fn table(ratios: &[Ratio]) -> Table {
    let row = |ratio: &Ratio| {
        let end = |end: Option<f64>| change(end.unwrap_or(f64::NAN));
        let floor = ratio.floor.map_or("–".into(), percent);
        vec![
            ratio.label.clone(),
            change(ratio.ratio.value),
            end(ratio.ratio.low),
            end(ratio.ratio.high),
            floor,
        ]
    };
    let heads = ["", "change", "95 % from", "to", "smallest difference that can be shown"];
    Table::new(heads, ratios.iter().map(row).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_changes_has_them_all_in_per_cent() {
        let ratio = Ratio {
            label: "steal".into(),
            name: "steal".into(),
            group: String::new(),
            ratio: Estimate { value: 1.5, low: Some(1.25), high: Some(2.0) },
            floor: Some(0.02),
            firm: Firm::Shown,
        };
        assert_eq!(words(&ratio), "steal: +50.0 % [+25.0, +100]");
        let rows = table(&[ratio]).rows;
        assert_eq!(rows, [["steal", "+50.0 %", "+25.0 %", "+100 %", "2.0 %"]]);
    }
}
