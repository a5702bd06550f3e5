//! The report for one screen: what was found, and what to do. [`super::text()`] has the rest.

use super::lab::AA;
use super::text::{grants, head, mark};
use super::{Chapter, Lab};
use crate::foreign::plain;
use crate::harness::{Sentence, Standing};
use crate::lines::{Lines, WIDTH, shortened};

/// With at most so many experiments, all their sentences fit on a screen.
const FEW: usize = 3;
/// Above this share of disturbed rounds, verdicts suffer.
const MUCH_NOISE: f64 = 0.25;

/// The report in short, ending with a line break.
pub fn short(lab: &Lab<'_>) -> String {
    let mut out = Lines::default();
    head(lab, &mut out);
    out.prose("", &lab.opening());
    match lab.answers().count() <= FEW {
        true => in_plain_words(lab, &mut out),
        false => what_is_sure_in_plain_words(lab, &mut out),
    }
    if lab.answers().next().is_some() {
        out.blank();
        out.line(&format!("Verdicts: {}", lab.tally()));
        if lab.answers().count() <= FEW { in_full(lab, &mut out) } else { in_lines(lab, &mut out) }
    }
    out.blank();
    out.line("What to do:");
    advice(lab).iter().for_each(|words| out.prose("  ", words));
    out.text
}

/// What to do, for somebody who wants to play.
pub(super) fn in_plain_words(lab: &Lab<'_>, out: &mut Lines) {
    if lab.advised().next().is_none() {
        return;
    }
    out.blank();
    out.line("In plain words:");
    for (chapter, advice) in lab.advised() {
        advised(chapter, advice, out);
    }
}

fn advised(chapter: &Chapter<'_>, advice: &Sentence, out: &mut Lines) {
    let sure = chapter.sure();
    let words = format!("{} ({}: {})", advice.text, chapter.id(), sure.trim_end_matches('.'));
    out.prose(&format!("  {}", mark(advice.standing)), &words);
}

fn is_shown(advice: &Sentence) -> bool {
    advice.standing == Standing::Shown
}

/// Of many experiments only what is sure; the others by name.
fn what_is_sure_in_plain_words(lab: &Lab<'_>, out: &mut Lines) {
    if !lab.advised().any(|(_, advice)| is_shown(advice)) {
        return;
    }
    out.blank();
    out.line("In plain words:");
    for (chapter, advice) in lab.advised().filter(|(_, advice)| is_shown(advice)) {
        advised(chapter, advice, out);
    }
    let unsure = lab.advised().filter(|(_, advice)| !is_shown(advice));
    let unsure: Vec<&str> = unsure.map(|(chapter, _)| chapter.id()).collect();
    if !unsure.is_empty() {
        out.prose("  ", &format!("No advice that is sure: {} (see `--all`).", unsure.join(", ")));
    }
}

/// Every sentence of every experiment.
fn in_full(lab: &Lab<'_>, out: &mut Lines) {
    for chapter in lab.answers() {
        out.prose("  ", &format!("{}: {}", chapter.id(), chapter.question()));
        for sentence in &chapter.sentences {
            out.prose(&format!("  {}", mark(sentence.standing)), &sentence.text);
        }
    }
}

/// A line for each experiment with a result, and the cause where every round failed; the others by name.
fn in_lines(lab: &Lab<'_>, out: &mut Lines) {
    let has_result = |standing| matches!(standing, Standing::Shown | Standing::Failed);
    // What was said in plain words is not said twice.
    let is_said = |chapter: &Chapter| chapter.advice.as_ref().is_some_and(is_shown);
    let results = lab.answers().filter(|it| has_result(it.standing()) && !is_said(it));
    results.for_each(|chapter| out.line(&line(chapter.id(), &chapter.headline())));
    for chapter in lab.answers().filter(|chapter| chapter.failure().is_some()) {
        let Sentence { text, standing } = chapter.headline();
        out.prose(&format!("  {}", mark(standing)), &format!("{}: {text}", chapter.id()));
    }
    for (standing, words) in [
        (Standing::NotShown, "No difference shown:"),
        (Standing::NotMeasurable, "Not measurable here:"),
    ] {
        let is_of = |it: &&Chapter| it.standing() == standing && it.failure().is_none();
        let of = lab.answers().filter(is_of);
        let names: Vec<&str> = of.map(Chapter::id).collect();
        if !names.is_empty() {
            out.prose("  ", &format!("{words} {}.", names.join(", ")));
        }
    }
}

/// One line, cut at the width of the screen.
fn line(id: &str, sentence: &Sentence) -> String {
    let whole = format!("  {}{}: {}", mark(sentence.standing), plain(id), plain(&sentence.text));
    shortened(&whole, WIDTH)
}

/// What follows from the run for who reads it, the most urgent first.
fn advice(lab: &Lab<'_>) -> Vec<String> {
    let mut advice = Vec::new();
    if lab.answers().any(|chapter| chapter.standing() == Standing::Failed) {
        advice.push(
            "Results marked ! are wrong: believe no figure of theirs, and report them.".into(),
        );
    }
    let failed: Vec<&str> = lab.failed().map(Chapter::id).collect();
    if !failed.is_empty() {
        advice.push(format!(
            "Every round of {} failed: remove the cause named above, and run it again.",
            failed.join(", ")
        ));
    }
    for chapter in lab.answers().filter(|chapter| chapter.failure().is_none()) {
        if let Some(cause) = chapter.results.failed_in_every_round() {
            let id = chapter.id();
            advice.push(format!(
                "A turn failed in every round of {id} ({cause}): remove the cause, and run it again."
            ));
        }
    }
    let flagged = lab.flagged();
    // Other programs are not why no round is complete.
    let failed_in_all =
        lab.answers().all(|chapter| chapter.results.failed_in_every_round().is_some());
    let is_alone = lab.answers().next().is_none();
    let is_disturbed = lab.has_figures() && (is_alone || !failed_in_all) && flagged.rounds > 0;
    if is_disturbed && flagged.flagged as f64 > MUCH_NOISE * flagged.rounds as f64 {
        advice.push(format!(
            "Other programs disturbed the run ({} of {} rounds): end them and run it again for firmer verdicts.",
            flagged.flagged, flagged.rounds
        ));
    }
    if lab.floors().is_empty() && !failed.contains(&AA) {
        advice.push("Give the same command more time, as in `--time 10m`.".into());
    }
    let (_, refused) = grants(lab);
    if !refused.is_empty() {
        advice.push(format!(
            "The system refused {}; `hocket machine` says why.",
            crate::numbers::counted(refused.len(), "right")
        ));
    }
    advice.push(
        "`hocket tune` turns such figures into defaults for `bench`, `play` and `render`.".into(),
    );
    advice.push("`hocket lab report --all` prints every figure; `--html` writes a page.".into());
    advice
}
