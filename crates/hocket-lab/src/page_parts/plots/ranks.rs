//! Mean ranks on a line, with those joined that cannot be told apart: the critical-difference diagram
//! (Demšar 2006).

use maud::{Markup, html};

use super::ink::{Anchor, Drawing, centred, fitted, hover, line, text, width};
use super::scale::{Length, Names, Scale};
use super::{Drawn, Room, Table};
use crate::harness::Rank;
use crate::numbers::{digits, round};

pub(super) fn drawn(title: &str, ranks: &[Rank], critical: f64) -> Drawn {
    let mut sorted: Vec<&Rank> = ranks.iter().filter(|rank| rank.mean_rank.is_finite()).collect();
    sorted.sort_by(|a, b| a.mean_rank.total_cmp(&b.mean_rank));
    let critical = if critical.is_finite() { critical.max(0.0) } else { 0.0 };
    let groups = groups(&sorted, critical);
    let high = sorted.last().map_or(2.0, |last| last.mean_rank.max(ranks.len() as f64)).max(2.0);
    let low = sorted.first().map_or(1.0, |first| first.mean_rank.min(1.0));
    let diagram =
        Diagram { ranks: &sorted, groups: &groups, critical, scale: Scale::between(low, high) };
    let table = table(&sorted, &groups);
    Drawn {
        title: title.into(),
        wide: diagram.draw(Room::Wide),
        narrow: diagram.draw(Room::Narrow),
        legend: Vec::new(),
        table,
    }
}

/// Runs of two or more neighbours that lie within the critical difference, without those that are part
/// of a longer one: first and last index.
fn groups(sorted: &[&Rank], critical: f64) -> Vec<(usize, usize)> {
    let mut groups: Vec<(usize, usize)> = Vec::new();
    for first in 0..sorted.len() {
        let near = |rank: &&&Rank| rank.mean_rank - sorted[first].mean_rank <= critical;
        let last = first + sorted[first..].iter().take_while(near).count() - 1;
        if last > first && groups.last().is_none_or(|(_, end)| *end < last) {
            groups.push((first, last));
        }
    }
    groups
}

struct Diagram<'a> {
    ranks: &'a [&'a Rank],
    groups: &'a [(usize, usize)],
    critical: f64,
    scale: Scale,
}

/// Height of the axis below the top, of a group and of a name.
const AXIS: f64 = 66.0;
const GROUP: f64 = 9.0;
const NAME: f64 = 22.0;

impl Diagram<'_> {
    fn draw(&self, room: Room) -> Drawing {
        let total = room.width();
        let named = |rank: &&Rank| width(&label(rank));
        let gutter = self.ranks.iter().map(named).fold(40.0, f64::max).min(total * 0.33) + 8.0;
        let x = |rank: f64| gutter + self.scale.place(rank).unwrap_or(0.0) * (total - 2.0 * gutter);
        let first = AXIS + 14.0 + GROUP * self.groups.len() as f64 + 12.0;
        let left = self.ranks.len().div_ceil(2);
        let body = html! {
            (self.ruler(&x, total))
            (self.axis(gutter, total))
            @for (at, rank) in self.ranks.iter().enumerate() {
                @let right = at >= left;
                @let row = if right { self.ranks.len() - 1 - at } else { at };
                (leader(rank, x(rank.mean_rank), first + NAME * row as f64, (gutter, total), right))
            }
            @for (at, (from, to)) in self.groups.iter().enumerate() {
                @let y = AXIS + 12.0 + GROUP * at as f64;
                (line("group", (x(self.ranks[*from].mean_rank) - 4.0, y), (x(self.ranks[*to].mean_rank) + 4.0, y)))
            }
        };
        Drawing { width: total, height: first + NAME * left.max(1) as f64, body }
    }

    /// How long the critical difference is.
    fn ruler(&self, x: &dyn Fn(f64) -> f64, total: f64) -> Markup {
        let length = x(1.0 + self.critical) - x(1.0);
        let words = format!("critical difference {}", round(self.critical));
        let from = x(1.0);
        html! {
            (line("group", (from, 22.0), (from + length, 22.0)))
            (centred(from + length / 2.0, 14.0, (0.0, total), "t", &words))
        }
    }

    fn axis(&self, gutter: f64, total: f64) -> Markup {
        let names = Names::of(&self.scale, "");
        let (from, to) = (gutter, total - gutter);
        html! {
            (line("a", (from, AXIS), (to, AXIS)))
            @for tick in self.scale.ticks(&names, &Length::within(from, to, total), width) {
                @let x = from + tick.place * (to - from);
                (line("a", (x, AXIS - 5.0), (x, AXIS)))
                (centred(x, AXIS - 10.0, (0.0, total), "t", &tick.name))
            }
        }
    }
}

fn label(rank: &Rank) -> String {
    format!("{} ({})", rank.name, round((rank.mean_rank * 100.0).round() / 100.0))
}

/// From the axis down and out to the name.
fn leader(rank: &Rank, x: f64, y: f64, (gutter, total): (f64, f64), right: bool) -> Markup {
    let edge = if right { total - gutter + 4.0 } else { gutter - 4.0 };
    let anchor = if right { Anchor::Start } else { Anchor::End };
    let name = fitted(&label(rank), gutter - 8.0);
    let beyond = if right { edge + 3.0 } else { edge - 3.0 };
    html! {
        g {
            (hover(&label(rank)))
            (line("leader", (x, AXIS), (x, y)))
            (line("leader", (x, y), (edge, y)))
            (text(beyond, y + 4.5, anchor, "l", &name))
        }
    }
}

fn table(sorted: &[&Rank], groups: &[(usize, usize)]) -> Table {
    let row = |(at, rank): (usize, &&Rank)| {
        let in_group = |(i, (from, to)): (usize, &(usize, usize))| {
            (*from..=*to).contains(&at).then(|| (i + 1).to_string())
        };
        let joined: Vec<String> = groups.iter().enumerate().filter_map(in_group).collect();
        vec![
            rank.name.clone(),
            digits(rank.mean_rank),
            if joined.is_empty() { "–".into() } else { joined.join(", ") },
        ]
    };
    let heads = ["", "mean rank", "group that cannot be told apart"];
    Table::new(heads, sorted.iter().enumerate().map(row).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_within_the_critical_difference_are_joined() {
        let rank = |mean_rank| Rank { name: "x".into(), mean_rank };
        let all = [1.0, 1.4, 2.2, 4.0, 4.1].map(rank);
        let sorted: Vec<&Rank> = all.iter().collect();
        assert_eq!(groups(&sorted, 0.9), [(0, 1), (1, 2), (3, 4)]);
        assert_eq!(groups(&sorted, 5.0), [(0, 4)]);
        assert!(groups(&sorted, 0.0).is_empty() && groups(&[], 1.0).is_empty());
    }
}
