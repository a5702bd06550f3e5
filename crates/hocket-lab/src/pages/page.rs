//! The page that holds it all together.

use maud::{DOCTYPE, Markup, html};
use serde_json::Value;

use super::{Lab, ground, plots, section, summary};
use crate::foreign::plain;
use crate::page_parts::{STYLE, choice, head};

/// Places of the page.
pub(super) const VERDICTS: &str = "verdicts";
/// What the figures rest on.
pub(super) const GROUND: &str = "ground";
const REPEAT: &str = "repeat";
const REPEAT_TITLE: &str = "To measure it again";

/// The heading of a section, with the way back.
pub(super) fn heading(title: &str) -> Markup {
    html! { h2 { (title) } (back()) }
}

/// The way back to what was found.
pub(super) fn back() -> Markup {
    html! { p.back { a href={ "#" (VERDICTS) } { "Back to the verdicts" } } }
}

/// A page about a run that needs nothing but itself, not even a script.
///
/// Cost: milliseconds; what is expensive was done by [`Lab::of`].
pub fn html(lab: &Lab<'_>) -> String {
    html_with(lab, &html! {})
}

/// The same with a way back, for a page that lies among others.
pub(crate) fn html_with(lab: &Lab<'_>, way_back: &Markup) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            (head(&format!("{} – hocket lab", lab.title()), "", &[&plots::heat_css(), STYLE]))
            body {
                (top(lab, way_back))
                main {
                    (summary::section(lab))
                    (ground::section(lab))
                    @for (section, chapters) in lab.sections() { (section::section(lab, section, &chapters)) }
                    (repeat(lab))
                }
                footer { "Made from " (plain(&lab.name())) ". Intervals of figures are 95 % intervals that cover how process starts differ, within the range of the figures; with fewer than three starts, or where one would span more than a factor of ten, none is given. This page loads nothing." }
            }
        }
    };
    page.into_string()
}

fn top(lab: &Lab<'_>, way_back: &Markup) -> Markup {
    let record = lab.record;
    let size = lab.meta("/size").and_then(Value::as_str).unwrap_or("of unknown size");
    html! {
        header {
            p.brand { "Hocket lab" }
            (choice("theme", "Colours", &[("auto", "auto"), ("light", "light"), ("dark", "dark")]))
            h1 { (lab.title()) }
            p.setting {
                (plain(&record.machine())) " · " (plain(&lab.name())) " · begun " (plain(&record.started_at)) " · " (plain(size))
                " · " (plain(&record.end()))
            }
            (way_back)
            (contents(lab))
        }
    }
}

/// The way to each section; each leads back to the verdicts.
fn contents(lab: &Lab<'_>) -> Markup {
    html! {
        nav.contents aria-label="Sections" {
            ul {
                li { a href={ "#" (VERDICTS) } { "Verdicts" } }
                li { a href={ "#" (GROUND) } { (ground::TITLE) } }
                @for (section, _) in lab.sections() {
                    @let title = section::title(section);
                    li { a href={ "#" (summary::anchor(title)) } { (title) } }
                }
                li { a href={ "#" (REPEAT) } { (REPEAT_TITLE) } }
            }
        }
    }
}

/// What it takes to measure the same again.
fn repeat(lab: &Lab<'_>) -> Markup {
    let words = lab.meta("/command").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
    let version =
        lab.meta("/build/version").and_then(Value::as_str).unwrap_or("of unknown version");
    let commit = lab.meta("/build/commit").and_then(Value::as_str).unwrap_or("unknown");
    let edited = lab.meta("/build/dirty").and_then(Value::as_bool).unwrap_or(false);
    let now = crate::about::commit();
    html! {
        section id=(REPEAT) {
            (heading(REPEAT_TITLE))
            @if !words.is_empty() { pre { (plain(&words.join(" "))) } }
            p.small {
                "hocket " (plain(version)) ", commit " (plain(commit)) (if edited { " with edited sources" } else { "" })
                ", seed " (lab.record.seed) "."
                @if let Some(now) = now.filter(|now| now != commit) {
                    " This page was drawn by commit " (plain(&now)) "; the figures are those of the code of " (plain(commit)) "."
                }
            }
        }
    }
}
