//! What a page and a terminal say in tables.

use super::plots::Firm;
use super::summary::class;
use super::{Chapter, Over, ThenNow, VariantFigure, VariantTable};
use crate::harness::{ContrastResult, Standing};
use crate::numbers::{NONE, change, changed, digits, estimate, percent, quantity, with_unit};
use crate::once::each_once;
use crate::stats::Comparison;
use crate::table::Table;

/// All variants in one metric.
pub(super) fn variants(table: &VariantTable) -> Table {
    let name = with_unit(&table.metric, &table.unit);
    let heads = [name.as_str(), "median", "95 %", "min", "p99", "max", "n"];
    let looks = table.rows.iter().map(|row| if row.is_twin { "reference" } else { "" }).collect();
    Table { looks, ..Table::new(heads, table.rows.iter().map(variant).collect()) }
}

fn variant(row: &VariantFigure) -> Vec<String> {
    let range = match (row.estimate.low, row.estimate.high) {
        (Some(low), Some(high)) => format!("{} to {}", digits(low), digits(high)),
        _ => NONE.into(),
    };
    vec![
        row.variant.clone(),
        digits(row.estimate.value),
        range,
        digits(row.min),
        row.p99.map_or(NONE.into(), digits),
        digits(row.max),
        format!("{} {}", row.n, if row.over == Over::Rounds { "rounds" } else { "values" }),
    ]
}

/// Every ratio of interest with and without the disturbed rounds.
pub(super) fn contrasts(chapter: &Chapter<'_>) -> Table {
    let heads = ["compared", "all rounds", "undisturbed", "twice the same", "verdict"];
    let look = |(contrast, firm): (&ContrastResult, Firm)| match firm {
        Firm::Alone => class(Standing::NotShown),
        _ => class(contrast.standing),
    };
    let looks = chapter.firm().map(look).collect();
    Table { looks, ..Table::new(heads, chapter.firm().map(contrast).collect()) }
}

/// What is compared, both changes, the floor, and what that comes to.
fn contrast((contrast, firm): (&ContrastResult, Firm)) -> Vec<String> {
    let told = |c: &Option<Comparison>| match c {
        Some(c) if c.interval.is_none() => format!("{} ({} rounds)", change(c.ratio), c.rounds),
        Some(c) => changed(c),
        None => NONE.into(),
    };
    let standing = match contrast.standing {
        Standing::Shown => firm.unless_shown().unwrap_or("shown"),
        Standing::NotShown => "no difference shown",
        Standing::NotMeasurable => "not measurable here",
        Standing::Failed => "wrong result",
    };
    vec![
        compared(contrast),
        told(&contrast.all),
        told(&contrast.quiet),
        contrast.floor.map_or(NONE.into(), percent),
        standing.into(),
    ]
}

/// `time: b against a`.
pub(super) fn compared(contrast: &ContrastResult) -> String {
    format!("{}: {} against {}", contrast.metric, contrast.candidate, contrast.reference)
}

/// Figures printed long ago beside today's; `None` without any that mean the same.
pub(super) fn then_now(chapter: &Chapter<'_>) -> Option<Table> {
    let row = |pair: &ThenNow| {
        let unit = pair.then.unit;
        let now = pair.now.map_or_else(|| pair.absent().into(), |now| estimate(&now, unit));
        vec![pair.then.label.into(), pair.then.metric.into(), quantity(pair.then.value, unit), now]
    };
    let same = chapter.then_now.iter().filter(|pair| pair.then.differs.is_none());
    let rows: Vec<_> = same.map(row).collect();
    let heads = ["then and now", "metric", "then", "now"];
    (!rows.is_empty()).then(|| Table::new(heads, rows))
}

/// Figures printed long ago that are defined otherwise, and what is nearest of today; `None` without any.
pub(super) fn then_nearest(chapter: &Chapter<'_>) -> Option<Table> {
    let rows_of = |pair: &ThenNow| -> Vec<Vec<String>> {
        let then = [pair.then.label.to_string(), quantity(pair.then.value, pair.then.unit)];
        let row = |now: String, which: String| then.iter().cloned().chain([now, which]).collect();
        match pair.nearest.is_empty() {
            true => vec![row(NONE.into(), "not measured".into())],
            false => pair.nearest.iter().map(|it| row(it.told(), it.which())).collect(),
        }
    };
    let others = chapter.then_now.iter().filter(|pair| pair.then.differs.is_some());
    let rows: Vec<_> = others.flat_map(rows_of).collect();
    let heads = ["not compared", "then", "nearest of today", "which is"];
    (!rows.is_empty()).then(|| Table::new(heads, rows))
}

/// Definition and source of the old figures, each once.
pub(super) fn sources(chapter: &Chapter<'_>) -> Vec<String> {
    each_once(chapter.then_now.iter().map(|pair| {
        format!(
            "Then: {} Source: {}.{}",
            pair.then.definition,
            pair.then.source.trim_end_matches('.'),
            pair.then.differs.map_or(String::new(), |what| format!(" Not compared: {what}"))
        )
    }))
}
