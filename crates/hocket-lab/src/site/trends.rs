//! Block times of one session on one machine over dates.

use maud::{Markup, html};

use super::changes::Pair;
use super::entry::{Bench, Detail, Entry};
use super::frame::{Page, Place};
use crate::foreign::plain;
use crate::harness::{Axis, Estimate, Mark, Plot, Series};
use crate::numbers::{DATE, MICROSECONDS, block_time, counted, in_microseconds};
use crate::page_parts::plots;
use crate::report::shared::incomparable;

/// Benches of one session with the same settings on one machine, by date.
pub(super) struct Group<'e> {
    /// What they have in common.
    pub(super) key: Key,
    pub(super) members: Vec<(&'e Entry, &'e Bench)>,
}

/// What makes a group.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    machine: String,
    session: String,
    frames: u32,
    rate_hz: u32,
    load: Vec<String>,
}

impl Key {
    fn of(entry: &Entry, bench: &Bench) -> Key {
        let settings = &bench.outline.settings;
        Key {
            machine: entry.machine.name.clone(),
            session: entry.subject.clone(),
            frames: settings.frames,
            rate_hz: settings.rate_hz,
            load: settings.disturb.iter().map(|load| plain(load)).collect(),
        }
    }

    /// Without the session.
    fn settings(&self) -> String {
        let load = match self.load.is_empty() {
            true => String::new(),
            false => format!(", beside {}", self.load.join(" and ")),
        };
        format!("{} frames at {} Hz{load}, on {}", self.frames, self.rate_hz, self.machine)
    }
}

/// All groups; `entries` are sorted by date. A bench without a date has no place in one.
pub(super) fn groups(entries: &[Entry]) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for entry in entries {
        let Detail::Bench(bench) = &entry.detail else { continue };
        if entry.seconds().is_none() {
            continue;
        }
        let key = Key::of(entry, bench);
        match groups.iter_mut().find(|group| group.key == key) {
            Some(group) => group.members.push((entry, bench)),
            None => groups.push(Group { key, members: vec![(entry, bench)] }),
        }
    }
    groups.sort_by(|a, b| a.key.cmp(&b.key));
    groups
}

/// Why no line joins two records of a group, if so.
pub(super) fn apart(before: &Bench, now: &Bench) -> Option<String> {
    let formats = [&before.outline.format, &now.outline.format].map(|it| plain(it));
    let [one, other] = &formats;
    (one != other)
        .then(|| format!("not comparable: their formats are {one} and {other}, which measure process starts differently"))
        .or_else(|| incomparable(&before.outline, &now.outline))
}

/// The page of all trends.
pub(super) fn page(entries: &[Entry], pairs: &[Pair<'_>]) -> String {
    let groups = groups(entries);
    let (several, single): (Vec<_>, Vec<_>) =
        groups.iter().partition(|group| group.members.len() > 1);
    let page = Page {
        place: Place::Trends,
        title: "Trends",
        setting: html! { "Block times of a session over dates. A line joins two records only where they can be compared." },
        body: html! {
            div class=(if several.is_empty() { "verdict unsure" } else { "verdict holds" }) {
                p {
                    @if several.is_empty() { "No session was benched twice with the same settings on one machine, so there is no trend." }
                    @else { (counted(several.len(), "session")) " with more than one record." }
                }
                p.small { "A point is the median over the rounds of a record. Its interval holds in 95 % of cases and covers how process starts differ. Only a page of changes says whether two records differ." }
            }
            @for group in &several { (section(group, pairs)) }
            @if !single.is_empty() { (singles(&single)) }
        },
        script: None,
    };
    page.text()
}

/// So many variants are on a plot, so that each has its interval.
const A_PLOT: usize = 4;

fn section(group: &Group<'_>, pairs: &[Pair<'_>]) -> Markup {
    let variants = variants(group);
    let quantiles = [("median", 0), ("99 % quantile", 1)];
    html! {
        section {
            h2 { (group.key.session) }
            p.note { (group.key.settings()) }
            @for chunk in variants.chunks(A_PLOT) {
                @for (name, quantile) in quantiles {
                    @if let Some(drawn) = plots::drawn(&plot(group, chunk, name, quantile)) {
                        (drawn.figure(&html! { "A gap in a line: the records on its sides cannot be compared. Flags: another build of Hocket." }))
                    }
                }
            }
            h3 { "Records" }
            ul.plain {
                @for (entry, _) in &group.members {
                    li { a href=(entry.page) { (entry.date()) } ", hocket " (entry.program) }
                }
            }
            (steps(group, pairs))
        }
    }
}

/// What lies between each two of the records.
fn steps(group: &Group<'_>, pairs: &[Pair<'_>]) -> Markup {
    let of = |at: usize| {
        let (before, now) = (group.members[at].0, group.members[at + 1].0);
        pairs.iter().find(|pair| pair.before.page == before.page && pair.now.page == now.page)
    };
    html! {
        h3 { "From each to the next" }
        ul.plain.breaks {
            @for at in 0..group.members.len() - 1 {
                @let (before, now) = (group.members[at].0, group.members[at + 1].0);
                li {
                    (before.date()) " to " (now.date()) ": "
                    @match of(at) {
                        Some(Pair { judged: Ok(judged), page, .. }) => { a href=(page) { (judged.in_short()) } }
                        Some(Pair { judged: Err(why), .. }) => { (plain(why)) }
                        None => { "not compared" }
                    }
                    "."
                }
            }
        }
    }
}

/// All variants of a group, in the order in which they appear.
fn variants(group: &Group<'_>) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for (name, _) in group.members.iter().flat_map(|(_, bench)| &bench.points) {
        if !names.contains(name) {
            names.push(name.clone());
        }
    }
    names
}

fn plot(group: &Group<'_>, variants: &[String], name: &str, quantile: usize) -> Plot {
    let line = |variant: &String| {
        let mut points: Vec<(f64, Estimate)> = Vec::new();
        let mut before: Option<&Bench> = None;
        for (entry, bench) in &group.members {
            let Some((_, both)) = bench.points.iter().find(|(name, _)| name == variant) else {
                continue;
            };
            let at = entry.seconds().unwrap_or(0) as f64;
            if before.is_some_and(|before| apart(before, bench).is_some()) {
                // No figure has no place, and so ends the line.
                points.push((at, Estimate::exact(f64::NAN)));
            }
            points.push((at, in_microseconds(&both[quantile])));
            before = Some(bench);
        }
        Series { name: variant.clone(), points }
    };
    Plot::Lines {
        title: format!("block time, {name}"),
        x: Axis::linear("begun", DATE),
        y: Axis::linear("block time", MICROSECONDS),
        series: variants.iter().map(line).collect(),
        marks: builds(group),
    }
}

/// Where the program is another one than before.
fn builds(group: &Group<'_>) -> Vec<Mark> {
    let build = |bench: &Bench| {
        let build = &bench.outline.hocket;
        (build.version.clone(), build.commit.clone(), build.dirty)
    };
    let mark = |two: &[(&Entry, &Bench)]| {
        let (entry, bench) = two[1];
        let changed = build(two[0].1) != build(bench);
        let (version, commit, _) = build(bench);
        let commit: String = commit.unwrap_or_default().chars().take(8).collect();
        let at = entry.seconds()? as f64;
        changed.then(|| Mark { at, label: plain(&format!("{version} {commit}")) })
    };
    group.members.windows(2).filter_map(mark).collect()
}

fn singles(groups: &[&Group<'_>]) -> Markup {
    html! {
        section {
            h2 { "Benched once" }
            p.note { "These sessions have one record each, with these settings on this machine." }
            ul.plain {
                @for group in groups {
                    @let (entry, bench) = group.members[0];
                    li {
                        a href=(entry.page) { (group.key.session) } ", " (group.key.settings())
                        @if let Some((name, [p50, p99])) = bench.points.first() {
                            ": " (name) " takes " (block_time(p50.value)) " (median) and " (block_time(p99.value)) " (p99)"
                        }
                        "."
                    }
                }
            }
        }
    }
}
