//! The report for a terminal: plain text without colours.

use serde_json::Value;

use super::grid::Lines;
use super::number::{NONE, change_with, digits, estimate, percent, quantity, with_unit};
use super::{Chapter, Lab, Over, VariantTable, plots};
use crate::harness::{ContrastResult, Estimate, Plot, Standing, contrast_sentence};
use crate::stats::Comparison;

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
    chapter
        .tables
        .iter()
        .filter(|table| !table.rows.is_empty())
        .for_each(|table| variants(table, out));
    contrasts(chapter, out);
    chapter.plots.iter().for_each(|plot| plot_table(plot, out));
    then_now(chapter, out);
    end(chapter, out);
}

fn variants(table: &VariantTable, out: &mut Lines) {
    out.blank();
    let heads = [
        with_unit(&table.metric, &table.unit),
        "median".into(),
        "95 %".into(),
        "min".into(),
        "p99".into(),
        "max".into(),
        "n".into(),
    ];
    let rows: Vec<Vec<String>> = table
        .rows
        .iter()
        .map(|row| {
            let over = if row.over == Over::Rounds { "rounds" } else { "values" };
            vec![
                row.variant.clone(),
                digits(row.estimate.value),
                range(&row.estimate),
                digits(row.min),
                row.p99.map_or(NONE.into(), digits),
                digits(row.max),
                format!("{} {over}", row.n),
            ]
        })
        .collect();
    out.table("  ", &heads, &rows);
}

pub(super) fn range(estimate: &Estimate) -> String {
    match (estimate.low, estimate.high) {
        (Some(low), Some(high)) => format!("{} to {}", digits(low), digits(high)),
        _ => NONE.into(),
    }
}

/// Every ratio of interest with and without the disturbed rounds, where the sentences do not say them all.
fn contrasts(chapter: &Chapter<'_>, out: &mut Lines) {
    let said = |contrast: &ContrastResult| chapter.sentences.contains(&contrast_sentence(contrast));
    if chapter.contrasts.iter().all(said) {
        return;
    }
    out.blank();
    let heads = ["compared", "all rounds", "undisturbed", "twice the same", ""].map(String::from);
    let rows: Vec<Vec<String>> = chapter.contrasts.iter().map(contrast_cells).collect();
    out.table("  ", &heads, &rows);
}

/// What is compared, both changes, the floor, and what that comes to.
pub(super) fn contrast_cells(contrast: &ContrastResult) -> Vec<String> {
    let changed = |c: &Option<Comparison>| match c {
        Some(c) if c.interval.is_none() => {
            format!("{} ({} rounds)", change_with(c.ratio, None), c.rounds)
        }
        Some(c) => change_with(c.ratio, c.interval.map(|i| (i.low, i.high))),
        None => NONE.into(),
    };
    let standing = match contrast.standing {
        Standing::Shown => "shown",
        Standing::NotShown => "no difference shown",
        Standing::NotMeasurable => "not measurable here",
        Standing::Failed => "wrong result",
    };
    vec![
        compared(contrast),
        changed(&contrast.all),
        changed(&contrast.quiet),
        contrast.floor.map_or(NONE.into(), percent),
        standing.into(),
    ]
}

/// `time: b against a`.
pub(super) fn compared(contrast: &ContrastResult) -> String {
    format!("{}: {} against {}", contrast.metric, contrast.candidate, contrast.reference)
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
    out.table("  ", &table.heads, &table.rows);
}

fn then_now(chapter: &Chapter<'_>, out: &mut Lines) {
    if chapter.then_now.is_empty() {
        return;
    }
    out.blank();
    let heads = ["then and now", "then", "now"].map(String::from);
    let row = |pair: &super::ThenNow| {
        let now =
            pair.now.map_or_else(|| pair.absent().into(), |now| estimate(&now, pair.then.unit));
        vec![pair.then.label.into(), quantity(pair.then.value, pair.then.unit), now]
    };
    out.table("  ", &heads, &chapter.then_now.iter().map(row).collect::<Vec<_>>());
    for words in sources(chapter) {
        out.prose("    ", &words);
    }
}

/// Definition and source of the old figures, each once.
pub(super) fn sources(chapter: &Chapter<'_>) -> Vec<String> {
    let mut said: Vec<String> = Vec::new();
    for pair in &chapter.then_now {
        let words = format!(
            "Then: {} Source: {}.{}",
            pair.then.definition,
            pair.then.source.trim_end_matches('.'),
            pair.then.differs.map_or(String::new(), |what| format!(" Not compared: {what}"))
        );
        if !said.contains(&words) {
            said.push(words);
        }
    }
    said
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
