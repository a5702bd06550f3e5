//! Every plot of a run as a file of its own, for read-mes and papers.

use std::collections::BTreeSet;

use serde_json::Value;

use super::section::{COMPARED, definitions};
use super::{Chapter, Lab, compared, plots};
use crate::harness::Plot;
use crate::numbers::counted;

/// A plot as a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picture {
    /// The file's name: the experiment's id, `ID-2.svg` and so on for its further plots.
    pub name: String,
    /// What it shows, in a line.
    pub title: String,
    /// The file: an SVG that needs no other file, ending with a line break.
    pub svg: String,
}

/// All plots of a run, those of each experiment by how much they tell: first what the experiment
/// itself draws, then its old figures beside today's, then its ratios.
///
/// Each names record, date, machine and definition below the picture. Cost: milliseconds.
pub fn pictures(lab: &Lab<'_>) -> Vec<Picture> {
    let mut taken = BTreeSet::new();
    lab.chapters.iter().flat_map(|chapter| of_chapter(lab, chapter, &mut taken)).collect()
}

fn of_chapter(lab: &Lab<'_>, chapter: &Chapter<'_>, taken: &mut BTreeSet<String>) -> Vec<Picture> {
    let dumbbells = chapter.dumbbells();
    let mut all: Vec<&Plot> = chapter.plots.iter().chain(&dumbbells).collect();
    all.sort_by_key(|plot| rank(plot));
    let mut drawn: Vec<(plots::Drawn, String)> = all
        .into_iter()
        .filter_map(|plot| Some((plots::drawn(plot)?, caption(lab, chapter, Some(plot)))))
        .collect();
    let ratios = compared::ratios(chapter.firm());
    if !ratios.is_empty() {
        drawn.push((plots::forest(COMPARED, &ratios), caption(lab, chapter, None)));
    }
    let picture = |(drawn, caption): (plots::Drawn, String)| Picture {
        name: name(chapter.id(), taken),
        title: drawn.title().into(),
        svg: drawn.file("hocket lab", &caption),
    };
    drawn.into_iter().map(picture).collect()
}

/// How much a plot tells beside the others of its experiment: less for a larger rank.
fn rank(plot: &Plot) -> usize {
    match plot {
        Plot::Lines { series, .. } if plots::only_place(series).is_some() => 1,
        Plot::Dumbbell { .. } => 2,
        _ => 0,
    }
}

/// What the record calls the experiment in letters that every file system takes, never one name twice.
fn name(id: &str, taken: &mut BTreeSet<String>) -> String {
    let safe = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let id: String = id.chars().take(80).map(safe).collect();
    let numbered = (2..).map(|number| format!("{id}-{number}.svg"));
    let mut names = std::iter::once(format!("{id}.svg")).chain(numbered);
    let free = names.find(|name| !taken.contains(name)).unwrap_or_default();
    taken.insert(free.clone());
    free
}

/// Experiment, question, definitions, record and machine.
fn caption(lab: &Lab<'_>, chapter: &Chapter<'_>, plot: Option<&Plot>) -> String {
    let defined: Vec<String> = match plot {
        Some(plot) => definitions(chapter, plot)
            .into_iter()
            .map(|(metric, definition)| format!("{metric}: {definition}"))
            .collect(),
        None => Vec::new(),
    };
    let cpus = lab
        .meta("/cpus")
        .and_then(Value::as_array)
        .map_or(String::new(), |cpus| format!(", {}", counted(cpus.len(), "CPU")));
    format!(
        "{}: {} {} Source: {}, {}; machine: {}{cpus}.",
        chapter.id(),
        chapter.question(),
        defined.join(" "),
        lab.name(),
        chapter.results.run.size.name(),
        lab.record.machine()
    )
}
