//! The report for a terminal: plain text without colours.

use serde_json::Value;

use super::short::in_plain_words;
use super::{Chapter, Lab, plots, tables};
use crate::harness::{ContrastResult, Plot, Standing, contrast_sentence};
use crate::lines::Lines;

/// A plot's table with more rows or columns than this is left to the page.
const MOST_ROWS: usize = 40;
const MOST_COLUMNS: usize = 18;
/// Faults beyond these many are counted only.
const MOST_FAULTS: usize = 5;

/// The report as text, ending with a line break.
pub fn text(lab: &Lab<'_>) -> String {
    let mut out = Lines::default();
    head(lab, &mut out);
    summary(lab, &mut out);
    ground(lab, &mut out);
    for (section, chapters) in lab.sections() {
        out.blank();
        out.line(&format!("== {} ==", section.map_or("Not known to this version", |s| s.title())));
        chapters.iter().for_each(|chapter| experiment(chapter, &mut out));
    }
    out.text
}

pub(super) fn head(lab: &Lab<'_>, out: &mut Lines) {
    let record = lab.record;
    let (machine, end) = (record.machine(), record.end());
    out.prose("", &format!("Lab {}: {machine}, begun {}, {end}", lab.name(), record.started_at));
}

/// How a sentence is marked: shown, not shown, not measurable, wrong.
pub(super) fn mark(standing: Standing) -> &'static str {
    match standing {
        Standing::Shown => "* ",
        Standing::NotShown => "  ",
        Standing::NotMeasurable => "- ",
        Standing::Failed => "! ",
    }
}

fn summary(lab: &Lab<'_>, out: &mut Lines) {
    out.blank();
    out.prose("", &lab.opening());
    in_plain_words(lab, out);
    if lab.answers().next().is_none() {
        return;
    }
    out.blank();
    out.line(&format!("Verdicts: {}", lab.tally()));
    for chapter in lab.answers() {
        let sentence = chapter.headline();
        out.prose(
            &format!("  {}", mark(sentence.standing)),
            &format!("{}: {}", chapter.id(), sentence.text),
        );
    }
    out.line("  (* shown, ! wrong result, - not measurable here, unmarked: no difference shown)");
}

fn ground(lab: &Lab<'_>, out: &mut Lines) {
    out.blank();
    out.prose("", &lab.clock());
    let flagged = lab.flagged();
    out.prose(
        "",
        &format!("Noise: {}; {}.", flagged.rounds_in_words(), flagged.verdicts_in_words()),
    );
    let (granted, refused) = grants(lab);
    if !granted.is_empty() || !refused.is_empty() {
        let list =
            |names: &[String]| if names.is_empty() { "nothing".into() } else { names.join(", ") };
        out.prose("", &format!("Granted: {}. Refused: {}.", list(&granted), list(&refused)));
    }
}

/// Names of what the system grants and refuses.
pub(super) fn grants(lab: &Lab<'_>) -> (Vec<String>, Vec<String>) {
    let all = lab.meta("/grants").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let named = |granted: bool| {
        let is = |grant: &&Value| grant.get("granted").and_then(Value::as_bool) == Some(granted);
        let name = |grant: &Value| Some(grant.get("name")?.as_str()?.replace('_', " "));
        all.iter().filter(is).filter_map(name).collect()
    };
    (named(true), named(false))
}

fn experiment(chapter: &Chapter<'_>, out: &mut Lines) {
    out.blank();
    out.prose("", &format!("{}: {}", chapter.id(), chapter.question()));
    for sentence in &chapter.sentences {
        out.prose(&format!("  {}", mark(sentence.standing)), &sentence.text);
    }
    if chapter.results.run.not_measurable.is_some() {
        return;
    }
    if !chapter.same_definition {
        out.prose("  ", "(measured by another definition than that of this version; nothing but its rows is shown)");
    }
    for table in chapter.tables.iter().filter(|table| !table.rows.is_empty()) {
        out.blank();
        out.table("  ", &tables::variants(table));
    }
    contrasts(chapter, out);
    chapter.plots.iter().for_each(|plot| plot_table(plot, out));
    then_now(chapter, out);
    end(chapter, out);
}

/// The ratios of interest, where the sentences do not say them all.
fn contrasts(chapter: &Chapter<'_>, out: &mut Lines) {
    let said = |contrast: &ContrastResult| chapter.sentences.contains(&contrast_sentence(contrast));
    if !chapter.contrasts.iter().all(said) {
        out.blank();
        out.table("  ", &tables::contrasts(chapter));
    }
}

/// Plots that say more than the tables above.
fn plot_table(plot: &Plot, out: &mut Lines) {
    if matches!(plot, Plot::Bars { .. } | Plot::Timeline { .. }) {
        return;
    }
    let Some(drawn) = plots::drawn(plot) else { return };
    let table = drawn.table();
    out.blank();
    out.prose("  ", drawn.title());
    if table.rows.len() > MOST_ROWS || table.heads.len() > MOST_COLUMNS {
        out.prose(
            "  ",
            &format!("({} rows of {} columns: see the page)", table.rows.len(), table.heads.len()),
        );
        return;
    }
    out.table("  ", table);
}

fn then_now(chapter: &Chapter<'_>, out: &mut Lines) {
    if chapter.then_now.is_empty() {
        return;
    }
    for table in [tables::then_now(chapter), tables::then_nearest(chapter)].into_iter().flatten() {
        out.blank();
        out.table("  ", &table);
    }
    for words in tables::sources(chapter) {
        out.prose("    ", &words);
    }
}

fn end(chapter: &Chapter<'_>, out: &mut Lines) {
    out.blank();
    let flagged = chapter.flagged();
    out.prose(
        "  ",
        &format!(
            "{}; {}. Ended: {}.",
            flagged.rounds_in_words(),
            flagged.verdicts_in_words(),
            chapter.end()
        ),
    );
    let faults = &chapter.results.run.faults;
    faults.iter().take(MOST_FAULTS).for_each(|fault| out.prose("  ", &format!("Fault: {fault}")));
    if faults.len() > MOST_FAULTS {
        out.line(&format!("  and {} faults more", faults.len() - MOST_FAULTS));
    }
    if let Some(about) = chapter.about {
        out.prose("  ", &format!("Not shown by this: {}", about.limits));
    }
}
