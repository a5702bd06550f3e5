//! A section of the catalogue and its experiments.

use maud::{Markup, html};

use super::page::{back, heading};
use super::summary::{anchor, class, prose, words};
use super::{Chapter, Lab, Over, VariantTable, compared, plots, tables};
use crate::foreign::plain;
use crate::harness::{Plot, Section, Sentence, Standing};
use crate::numbers::capital;

/// A section with its experiments.
pub(super) fn section(
    lab: &Lab<'_>,
    section: Option<Section>,
    chapters: &[&Chapter<'_>],
) -> Markup {
    html! {
        section id=(anchor(title(section))) {
            (heading(title(section)))
            @for chapter in chapters { (experiment(lab, chapter)) }
        }
    }
}

/// The heading of a section; `None` is for experiments that this version does not know.
pub(super) fn title(section: Option<Section>) -> &'static str {
    section.map_or("Not known to this version", Section::title)
}

fn experiment(lab: &Lab<'_>, chapter: &Chapter<'_>) -> Markup {
    let (absent, found): (Vec<&Sentence>, Vec<&Sentence>) =
        chapter.sentences.iter().partition(|sentence| sentence.standing == Standing::NotMeasurable);
    html! {
        article.experiment id=(anchor(chapter.id())) {
            h3 { (plain(chapter.question())) " " span.id { (plain(chapter.id())) } }
            @if !chapter.same_definition && chapter.results.run.not_measurable.is_none() {
                p.note { "Measured by another definition than that of this version, so only its rows are shown." }
            }
            @if !found.is_empty() { ul.sentences { @for sentence in found { li class=(class(sentence.standing)) { (words(sentence)) } } } }
            @for plot in chapter.plots.iter().chain(&chapter.dumbbells()) { (figure(lab, chapter, plot)) }
            (contrasts(lab, chapter))
            @for table in chapter.tables.iter().filter(|table| !table.rows.is_empty()) { (variants(chapter, table)) }
            (then_now(chapter))
            @if !absent.is_empty() { ul.sentences { @for sentence in absent { li.absent { (words(sentence)) } } } }
            (method(lab, chapter))
            (back())
        }
    }
}

/// The figure with run, definition and origin below it.
fn figure(lab: &Lab<'_>, chapter: &Chapter<'_>, plot: &Plot) -> Markup {
    let source = html! {
        (source(lab, chapter))
        @for (metric, definition) in definitions(chapter, plot) { " " b { (plain(metric)) } ": " (prose(definition)) }
    };
    html! { @if let Some(drawn) = plots::drawn(plot) { (drawn.figure(&source)) } }
}

fn source(lab: &Lab<'_>, chapter: &Chapter<'_>) -> Markup {
    html! { "Source: " (plain(&lab.name())) ", " (plain(chapter.id())) "." }
}

/// Metrics that a plot names, with their definitions; all where it names none and they are few.
pub(super) fn definitions<'a>(chapter: &'a Chapter<'_>, plot: &Plot) -> Vec<(&'a str, &'a str)> {
    let titles = titles(plot).join(" ").to_lowercase();
    let named = |metric: &str| {
        titles.split(|c: char| !c.is_alphanumeric() && c != '-').any(|word| word == metric)
    };
    let defined = || chapter.tables.iter().filter(|table| !table.definition.is_empty());
    let both = |table: &'a VariantTable| (table.metric.as_str(), table.definition.as_str());
    let found: Vec<_> = defined().filter(|table| named(&table.metric)).map(both).collect();
    match (found.is_empty(), defined().count()) {
        (true, 1..=2) => defined().map(both).collect(),
        _ => found,
    }
}

fn titles(plot: &Plot) -> Vec<&str> {
    match plot {
        Plot::Dumbbell { title, .. }
        | Plot::Heat { title, .. }
        | Plot::Ranks { title, .. }
        | Plot::Timeline { title, .. } => vec![title],
        Plot::Lines { title, x, y, .. } => vec![title, &x.title, &y.title],
        Plot::Bars { title, axis, .. } => vec![title, &axis.title],
    }
}

/// Above the ratios of interest.
pub(super) const COMPARED: &str = "What is compared, paired round by round";

/// Ratios of interest as a picture and, in full, as a table.
fn contrasts(lab: &Lab<'_>, chapter: &Chapter<'_>) -> Markup {
    let ratios = compared::ratios(chapter.firm());
    html! {
        @if !ratios.is_empty() {
            (plots::forest(COMPARED, &ratios).figure(&source(lab, chapter)))
            details {
                summary { "Ratios with and without the disturbed rounds" }
                (tables::contrasts(chapter).html(&format!("Ratios of {}", chapter.id())))
            }
        }
    }
}

fn variants(chapter: &Chapter<'_>, table: &VariantTable) -> Markup {
    let values = table.rows.iter().any(|row| row.over == Over::Values);
    html! {
        (tables::variants(table).html(&format!("{}: variants in {}", chapter.id(), table.metric)))
        @if !table.definition.is_empty() {
            p.small { b { (plain(&table.metric)) } ": " (plain(&table.definition)) @if values { " Minimum and maximum are those of all single values, p99 that of a typical turn." } }
        }
    }
}

fn then_now(chapter: &Chapter<'_>) -> Markup {
    html! {
        @if !chapter.then_now.is_empty() {
            @if let Some(table) = tables::then_now(chapter) { (table.html(&format!("Then and now, {}", chapter.id()))) }
            @if let Some(table) = tables::then_nearest(chapter) { (table.html(&format!("Then, and the nearest of today, {}", chapter.id()))) }
            @for words in tables::sources(chapter) { p.small { (plain(&words)) } }
        }
    }
}

/// How it was measured, what it does not show, how it ended.
fn method(lab: &Lab<'_>, chapter: &Chapter<'_>) -> Markup {
    let run = &chapter.results.run;
    html! {
        @if let Some(about) = chapter.about {
            p.small { b { "What it does not show. " } (prose(about.limits)) }
        }
        details {
            summary { "Method and record" }
            @if let Some(about) = chapter.about {
                p { (prose(about.method)) }
                p.small { "Origin: " (plain(about.origin)) "." }
            }
            p.small {
                (capital(&plain(&lab.name()))) ", begun " (plain(&run.started_at)) ", " (run.size.name()) ", definition " (plain(&run.definition))
                "; " (chapter.flagged().rounds_in_words()) "; ended: " (plain(chapter.end())) "."
            }
            @if !run.faults.is_empty() { (faults(&run.faults)) }
        }
    }
}

/// Faults beyond these many are counted only.
const MOST_FAULTS: usize = 20;

fn faults(faults: &[String]) -> Markup {
    html! {
        p.small { "What could not be measured:" }
        ul.plain {
            @for fault in faults.iter().take(MOST_FAULTS) { li { (plain(fault)) } }
            @if faults.len() > MOST_FAULTS { li { (faults.len() - MOST_FAULTS) " more" } }
        }
    }
}
