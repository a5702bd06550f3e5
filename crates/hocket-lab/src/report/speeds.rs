//! Which variant is faster or slower than the reference, and which is the first of all.
//!
//! The table compares each variant with the reference, and those intervals hold all at once. That one of two shorter
//! variants is the shortest is another claim, and the figures that chose it say nothing for it: of two that are equal, one
//! always comes first. So a variant is named as the first only where it is shown against each of the others, the
//! reference among them, with intervals that hold for all pairs. Otherwise those that are shown against the reference
//! are listed.

use super::analysis::{
    Analysis, ENOUGH_STARTS, Judgement, Paired, Row, any, paired, round_figures,
};
use crate::foreign::plain;
use crate::numbers::{change_with, counted};
use crate::record::Round;
use crate::stats::{self, StartComparison, compare_steady};

/// A smaller loss of a neighbour is not worth a sentence.
const LOSS: f64 = 0.05;

/// A variant against the reference.
type Against<'f, 'a> = (&'f Row<'a>, StartComparison, stats::Judgement);

/// Which judgements count.
type Side = fn(stats::Judgement) -> bool;

impl<'a> Analysis<'a> {
    /// Which variants are faster or slower than the reference.
    pub(super) fn speeds(&self) -> Vec<String> {
        let all: Vec<Against> = self
            .measured()
            .filter_map(|(row, measured)| match self.judgement(row)? {
                Judgement::Judged(judgement) => Some((row, measured.typical?, judgement)),
                _ => None,
            })
            .collect();
        let Some(reference) = self.rows.first().filter(|_| !all.is_empty()) else {
            return Vec::new();
        };
        let all_are = |one: stats::Judgement| all.iter().all(|it| it.2 == one);
        if self.is_wrong() {
            let why = "a part of the session was not computed, and silence is fast";
            return vec![format!("No difference in speed is shown: {why}.")];
        }
        if all_are(stats::Judgement::TooFewStarts) {
            return vec![self.too_few_starts()];
        }
        let shorter = self.on_one_side(&all, stats::Judgement::is_less, ["Fastest", "Shorter"]);
        let longer = self.on_one_side(&all, stats::Judgement::is_more, ["Slowest", "Longer"]);
        let none = match all_are(stats::Judgement::TooFew) {
            true => "Too few rounds to say whether any variant is faster than another.".into(),
            false => format!("No variant is shown to be faster than {}.", reference.label),
        };
        [Some(shorter.unwrap_or(none)), longer].into_iter().flatten().collect()
    }

    /// The farthest from the reference on this side, if it is shown to be the first of all, else every one that is shown
    /// on this side; `None` where none is.
    fn on_one_side(&self, all: &[Against<'_, 'a>], side: Side, words: [&str; 2]) -> Option<String> {
        let far = |it: &Against| it.1.comparison.ratio.ln().abs();
        let mut shown: Vec<&Against> = all.iter().filter(|it| side(it.2)).collect();
        shown.sort_by(|a, b| far(b).total_cmp(&far(a)));
        let ((row, compared, _), reference) = (shown.first()?, self.rows.first()?);
        let took = |row: &Row<'a>, other: &Row<'a>| {
            let figures = |row: &Row<'a>| round_figures(row.variant, 0.5, any);
            Some(paired(figures(other), figures(row)))
        };
        if self.is_first(row, self.floor, side, took) {
            return Some(format!(
                "{}: {}, whose median block time is {} than that of {}: {}.",
                words[0],
                row.label,
                words[1].to_lowercase(),
                reference.label,
                told(compared)
            ));
        }
        let each =
            shown.iter().map(|(row, compared, _)| format!("{} {}", row.label, told(compared)));
        let each = each.collect::<Vec<String>>().join(", ");
        Some(format!("{} block times than {}: {each}.", words[1], reference.label))
    }

    /// Whether a row is shown on this side of every other one, in figures that `figures` pairs: those of the row last.
    fn is_first(
        &self,
        row: &Row<'a>,
        floor: Option<f64>,
        side: Side,
        figures: impl Fn(&Row<'a>, &Row<'a>) -> Option<Paired>,
    ) -> bool {
        let can_differ =
            |row: &&Row<'a>| !row.variant.twin && self.judgement(row) != Some(Judgement::SameHere);
        let differing: Vec<&Row<'a>> =
            self.measured().map(|(row, _)| row).filter(can_differ).collect();
        let pairs = differing.len() * differing.len().saturating_sub(1) / 2;
        let critical = stats::all_at_once(pairs);
        let is_beaten = |other: &Row<'a>| {
            let compared = figures(row, other).and_then(|(before, after)| {
                compare_steady(before, after, critical, self.record.settings.seed)
            });
            compared.is_some_and(|compared| side(self.judged(&compared, floor)))
        };
        let mut others = differing.into_iter().filter(|other| !std::ptr::eq(*other, row));
        others.all(is_beaten)
    }

    fn too_few_starts(&self) -> String {
        format!(
            "No difference in speed is shown: the run has {}, and a verdict needs {ENOUGH_STARTS}. Within a start each \
             variant keeps its place in memory, which alone can make it faster or slower. Measure with --starts {ENOUGH_STARTS}.",
            counted(self.starts, "process start")
        )
    }

    /// What protection costs the neighbours, where it is shown.
    pub(super) fn neighbours(&self) -> Option<String> {
        let (reference, others) = self.rows.split_first()?;
        let name = &reference.variant.disturbers.first()?.name;
        let twin = self.rows.iter().find(|row| row.variant.twin)?;
        // Nothing less than what the disturber does differently beside the reference's twin is shown.
        let floor = stats::floor(&self.neighbour(name, reference, twin)?);
        let ratio = |it: &StartComparison| it.comparison.ratio;
        let mut lost: Vec<(&Row<'a>, StartComparison)> = others
            .iter()
            .filter(|row| matches!(self.judgement(row), Some(Judgement::Judged(_))))
            .filter_map(|row| Some((row, self.neighbour(name, reference, row)?)))
            .filter(|(_, it)| self.judged(it, floor).is_less() && ratio(it) < 1.0 - LOSS)
            .collect();
        lost.sort_by(|a, b| ratio(&a.1).total_cmp(&ratio(&b.1)));
        let (row, compared) = lost.first()?;
        let done = |row: &Row<'a>, other: &Row<'a>| {
            Some(paired(progress(name, other)?, progress(name, row)?))
        };
        let (name, reference) = (plain(name), &reference.label);
        if self.is_first(row, floor, stats::Judgement::is_less, done) {
            return Some(format!(
                "The disturber \"{name}\" got least done beside {}: {} against {reference}.",
                row.label,
                told(compared)
            ));
        }
        let beside = |(row, compared): &(&Row, StartComparison)| {
            format!("beside {} {}", row.label, told(compared))
        };
        let each = lost.iter().map(beside);
        let each = each.collect::<Vec<String>>().join(", ");
        Some(format!("The disturber \"{name}\" got less done than beside {reference}: {each}."))
    }

    /// What is left of a disturber's progress.
    fn neighbour(&self, name: &str, reference: &Row, row: &Row) -> Option<StartComparison> {
        let (before, after) = paired(progress(name, reference)?, progress(name, row)?);
        compare_steady(before, after, self.critical(), self.record.settings.seed)
    }
}

/// What a disturber got done in each round of a variant.
fn progress<'a>(
    name: &str,
    row: &Row<'a>,
) -> Option<impl Iterator<Item = (&'a Round, f64)> + use<'a>> {
    let disturber = row.variant.disturbers.iter().find(|it| it.name == name)?;
    Some(row.variant.rounds.iter().zip(disturber.progress.iter().copied()))
}

/// With the interval where it covers how starts differ.
fn told(compared: &StartComparison) -> String {
    change_with(compared.comparison.ratio, compared.interval())
}
