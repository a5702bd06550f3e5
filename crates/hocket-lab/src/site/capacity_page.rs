//! Channels that hold their deadlines, by block length, of all machines on one plot.

use maud::{Markup, html};

use super::entry::{Capacity, Detail, Entry};
use super::frame::{Page, Place};
use super::lab_entry::CAPACITY;
use crate::harness::{Axis, Plot, Series, same_definition};
use crate::numbers::counted;
use crate::page_parts::plots;

/// So many curves are on one plot at most, the latest ones.
const MOST: usize = 12;

type Curve<'e> = (&'e Entry, &'e Capacity);

/// The page.
pub(super) fn page(entries: &[Entry]) -> String {
    let curves: Vec<Curve<'_>> = entries.iter().filter_map(curve).collect();
    let latest = latest(&curves);
    let groups = groups(&latest);
    let mut machines: Vec<&str> =
        latest.iter().map(|(entry, _)| entry.machine.name.as_str()).collect();
    machines.sort_unstable();
    machines.dedup();
    let page = Page {
        place: Place::Capacity,
        title: "Capacity",
        setting: html! { "How many channels hold their deadlines, by the length of a block." },
        body: html! {
            div class=(if latest.is_empty() { "verdict unsure" } else { "verdict holds" }) {
                p {
                    @if latest.is_empty() { "No run of the lab has measured the experiment " code { (CAPACITY) } "." }
                    @else { (counted(machines.len(), "machine")) " with a capacity curve." }
                }
                p.small {
                    @if latest.is_empty() { "hocket lab run " (CAPACITY) " measures it." }
                    @else { "Of each machine, the latest run of each size counts. A difference between two curves is no verdict: nothing here compares machines." }
                }
            }
            @for (at, group) in groups.iter().enumerate() { (section(group, at, groups.len())) }
        },
        script: None,
    };
    page.text()
}

fn curve(entry: &Entry) -> Option<Curve<'_>> {
    match &entry.detail {
        Detail::Lab(lab) => Some((entry, lab.capacity.as_ref()?)),
        _ => None,
    }
}

/// The latest of each machine, size and definition; `all` are sorted by date, those without one last.
fn latest<'e>(all: &[Curve<'e>]) -> Vec<Curve<'e>> {
    let dated = all.iter().filter(|(entry, _)| entry.seconds().is_some()).rev();
    let mut kept: Vec<Curve<'e>> = Vec::new();
    for (entry, capacity) in dated.chain(all.iter().filter(|(entry, _)| entry.seconds().is_none()))
    {
        let is_known = kept.iter().any(|(other, known)| {
            let same = same_definition(&known.definition, &capacity.definition);
            other.machine == entry.machine && known.size == capacity.size && same
        });
        if !is_known {
            kept.push((entry, capacity));
        }
    }
    kept
}

/// Curves that mean the same.
fn groups<'c, 'e>(all: &'c [Curve<'e>]) -> Vec<Vec<&'c Curve<'e>>> {
    let mut groups: Vec<Vec<&Curve<'_>>> = Vec::new();
    for curve in all {
        let same = |group: &&mut Vec<&Curve<'_>>| {
            same_definition(&group[0].1.definition, &curve.1.definition)
        };
        match groups.iter_mut().find(same) {
            Some(group) => group.push(curve),
            None => groups.push(vec![curve]),
        }
    }
    groups
}

fn section(group: &[&Curve<'_>], at: usize, of: usize) -> Markup {
    let shown = &group[..group.len().min(MOST)];
    let line = |(entry, capacity): &&Curve<'_>| Series {
        name: format!("{} ({}, {})", entry.machine.name, capacity.size, entry.date()),
        points: capacity.points.clone(),
    };
    let plot = Plot::Lines {
        title: "channels that hold their deadlines".into(),
        x: Axis::log("block length", "frames"),
        y: Axis::linear("channels", ""),
        series: shown.iter().map(line).collect(),
        marks: Vec::new(),
    };
    html! {
        section {
            h2 { @if of == 1 { "All machines" } @else { "Definition " (at + 1) " of " (of) } }
            @if of > 1 { p.note { "Curves of another definition are on a plot of their own: their figures do not mean the same (definition " (group[0].1.definition) ")." } }
            @if let Some(drawn) = plots::drawn(&plot) { (drawn.figure(&html! { "Experiment " (CAPACITY) " of the lab: the median over the rounds. A quick run plays for a shorter time." })) }
            @if group.len() > shown.len() { p.note { (counted(group.len() - shown.len(), "older curve")) " left out." } }
            ul.plain { @for (entry, _) in group { li { a href=(entry.page) { (entry.machine.name) ", " (entry.date()) } ": " (entry.kind) ", hocket " (entry.program) } } }
        }
    }
}
