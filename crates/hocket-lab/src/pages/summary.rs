//! What was found, before everything else.

use maud::{Markup, html};

use super::page::VERDICTS;
use super::{Chapter, Lab};
use crate::foreign::plain;
use crate::harness::{Sentence, Standing};
use crate::numbers::capital;

/// The smallest difference, then a sentence for each experiment.
pub(super) fn section(lab: &Lab<'_>) -> Markup {
    let known = !lab.floors().is_empty();
    html! {
        (in_plain_words(lab))
        div id=(VERDICTS) class=(if known { "verdict holds" } else { "verdict unsure" }) {
            p { (lab.opening()) }
            p.small { "Found by measuring the same thing under two names in random order. What is smaller says \u{201c}no difference shown\u{201d} and is grey." }
        }
        @if lab.answers().next().is_some() {
            section {
                h2 { "Verdicts" }
                p.small { (capital(&lab.tally())) "." }
                table.answers {
                    thead.vh { tr { th scope="col" { "Experiment" } th scope="col" { "Verdict" } } }
                    tbody { @for chapter in lab.answers() { (answer(chapter)) } }
                }
            }
        }
    }
}

/// What to do, why, and how sure that is, for somebody who wants to play.
fn in_plain_words(lab: &Lab<'_>) -> Markup {
    let item = |(chapter, advice): (&Chapter<'_>, &Sentence)| {
        html! {
            li class=(class(advice.standing)) {
                (prose(advice.text.trim_end_matches('.'))) ". "
                span.sub { (chapter.sure()) " " a href={ "#" (anchor(chapter.id())) } { (plain(chapter.id())) } }
            }
        }
    };
    html! {
        @if lab.advised().next().is_some() {
            section {
                h2 { "In plain words" }
                ul.advice { @for one in lab.advised() { (item(one)) } }
            }
        }
    }
}

fn answer(chapter: &Chapter<'_>) -> Markup {
    let sentence = chapter.headline();
    let more = chapter.found().count();
    let more = more.saturating_sub(usize::from(sentence.standing == Standing::Shown));
    html! {
        tr class=(class(sentence.standing)) {
            th scope="row" { a href={ "#" (anchor(chapter.id())) } { (plain(chapter.id())) } }
            td { (words(&sentence)) @if more > 0 { " " span.sub { "and " (more) " more" } } }
        }
    }
}

/// A fragment name made of an id, whatever a record says.
pub(super) fn anchor(id: &str) -> String {
    let safe = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    format!("x-{}", id.chars().take(80).map(safe).collect::<String>())
}

/// How a sentence looks.
pub(super) fn class(standing: Standing) -> &'static str {
    match standing {
        Standing::Shown => "shown",
        Standing::NotShown => "not-shown",
        Standing::NotMeasurable => "absent",
        Standing::Failed => "failed",
    }
}

/// Text for people, in which backticks stand around what is typed. A single one is left as it is.
pub(super) fn prose(text: &str) -> Markup {
    let text = plain(text);
    let parts: Vec<&str> = text.split('`').collect();
    let is_paired = parts.len() % 2 == 1;
    html! {
        @if is_paired {
            @for (at, part) in parts.iter().enumerate() { @if at % 2 == 1 { code { (part) } } @else { (part) } }
        } @else { (text) }
    }
}

/// The sentence, with what its standing means where it does not say so itself.
pub(super) fn words(sentence: &Sentence) -> Markup {
    let tag = match sentence.standing {
        Standing::NotShown if !sentence.text.contains("no difference shown") => Some("not shown"),
        Standing::NotMeasurable if !sentence.text.contains("not measurable") => {
            Some("not measurable here")
        }
        Standing::Failed => Some("wrong result"),
        _ => None,
    };
    html! { (prose(&sentence.text)) @if let Some(tag) = tag { " " span.tag { (tag) } } }
}
