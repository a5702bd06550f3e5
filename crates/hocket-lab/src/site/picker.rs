//! Any two records beside each other. The figures are those of the records; a verdict is shown only of two that
//! [`super::changes`] has judged.

use maud::html;
use serde_json::{Value, json};

use super::changes::Pair;
use super::entry::{Entry, Figure};
use super::frame::{Page, Place, in_script};
use crate::foreign::plain;
use crate::numbers::{count, estimate};

const SCRIPT: &str = include_str!("picker.js");

/// Figures of a record beyond these many are left to its page.
const MOST_FIGURES: usize = 3_000;

/// The page.
pub(super) fn page(entries: &[Entry], pairs: &[Pair<'_>]) -> String {
    let with_figures: Vec<&Entry> =
        entries.iter().rev().filter(|it| !it.figures.is_empty()).collect();
    let number = |entry: &Entry| with_figures.iter().position(|it| it.page == entry.page);
    let pair = |it: &Pair<'_>| {
        let (before, now) = (number(it.before)?, number(it.now)?);
        Some(match &it.judged {
            Ok(judged) => {
                json!({ "before": before, "now": now, "page": it.page, "verdicts": judged.verdicts })
            }
            Err(why) => json!({ "before": before, "now": now, "why": why }),
        })
    };
    let records: Vec<Value> = with_figures.iter().map(|entry| record(entry)).collect();
    let pairs: Vec<Value> = pairs.iter().filter_map(pair).collect();
    let data = json!({ "records": records, "pairs": pairs });
    let page = Page {
        place: Place::Compare,
        title: "Compare two",
        setting: html! { "The figures of any two records beside each other." },
        body: html! {
            noscript { p { "This page needs scripts. The pages of changes, to which Trends leads, do not." } }
            @if with_figures.len() < 2 { div.verdict.unsure { p { "There are fewer than two records with figures to compare." } } }
            @else {
                form.pick hidden {
                    label for="first" { "First" } select id="first" {}
                    label for="second" { "Second" } select id="second" {}
                }
                div.verdict.unsure #said role="status" hidden { p {} p.small {} }
                div #figures {}
            }
        },
        script: Some((SCRIPT, in_script(&data))),
    };
    page.text()
}

fn record(entry: &Entry) -> Value {
    let figure = |it: &Figure| {
        json!([it.name, told(it), Some(it.estimate.value).filter(|it| it.is_finite()), it.unit])
    };
    let file = entry.path.file_name().map(|name| plain(&name.to_string_lossy()));
    let file = file.unwrap_or_default();
    json!({
        "name": format!("{}: {}, {} ({file})", entry.date(), entry.subject, entry.kind),
        "page": entry.page,
        "kind": entry.kind,
        "machine": entry.machine.name,
        "program": entry.program,
        "figures": entry.figures.iter().take(MOST_FIGURES).map(figure).collect::<Vec<_>>(),
        "left_out": entry.figures.len().saturating_sub(MOST_FIGURES),
    })
}

/// A figure with its unit and interval; what was counted as a whole number.
fn told(it: &Figure) -> String {
    let value = it.estimate.value;
    let is_counted = it.unit.is_empty() && it.estimate.low.is_none() && value.fract() == 0.0;
    match is_counted && (0.0..1e9).contains(&value) {
        true => count(value as u64),
        false => estimate(&it.estimate, &it.unit),
    }
}
