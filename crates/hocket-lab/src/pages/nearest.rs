//! What of today is nearest to an old figure that is defined otherwise.

use serde::Serialize;

use super::chapter::known;
use crate::harness::{Contrast, Estimate, Historic, Nearest, Results};
use crate::numbers::{conversion, estimate, estimated_change};

/// A figure of today that is near to an old one, and yet another.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Today {
    /// Which figure of which variant, and against which other one.
    pub what: String,
    /// In the unit of the metric; a ratio where two variants are compared.
    pub figure: Estimate,
    /// Its unit; `ratio` where two variants are compared.
    pub unit: String,
    /// What else differs, if this machine lacks the nearer ones.
    pub instead: Option<&'static str>,
}

const RATIO: &str = "ratio";
const TIMES: &str = "times";

impl Today {
    /// The figure with its interval; a ratio as a change: `+1.4 % [+0.9, +1.9]`.
    pub fn told(&self) -> String {
        match self.unit.as_str() {
            RATIO => estimated_change(&self.figure),
            unit => estimate(&self.figure, unit),
        }
    }

    /// What it is, and what else differs: `time of pipe two-cores against pipe alone; two cores, as ...`.
    pub fn which(&self) -> String {
        let instead = self.instead.map_or(String::new(), |why| format!("; {why}"));
        format!("{}{instead}", self.what)
    }
}

/// What is nearest to an old figure; what only serves machines without these, if there is nothing else. Nothing where both
/// mean the same, or where the record follows another definition.
pub(super) fn nearest(results: &Results, then: &Historic) -> Vec<Today> {
    let Some(known) = known(results).filter(|_| then.differs.is_some()) else { return Vec::new() };
    let found = known.nearest(then).into_iter().filter_map(|one| today(results, then, &one));
    let (instead, nearer): (Vec<_>, Vec<_>) = found.partition(|today| today.instead.is_some());
    if nearer.is_empty() { instead } else { nearer }
}

fn today(results: &Results, then: &Historic, one: &Nearest) -> Option<Today> {
    let (_, unit) = results.metrics().into_iter().find(|(name, _)| name == one.metric)?;
    let is_relative = ["%", "", TIMES].contains(&then.unit);
    let compares = is_relative && conversion(&unit, then.unit).is_none();
    let ratio = match &one.from {
        Some(from) => return divided(results, then, one, from),
        None if compares => against(results, one),
        None => None,
    };
    let itself = || {
        let figure = results.estimate(&one.variant, one.metric)?;
        let what = format!("{} of {}", one.metric, one.variant);
        Some(Today { what, figure, unit, instead: one.instead })
    };
    ratio.or_else(itself)
}

/// The ratio of two variants: in times if the old figure is, else as a change.
fn divided(results: &Results, then: &Historic, one: &Nearest, from: &str) -> Option<Today> {
    let figure = results.judged(from, &one.variant, one.metric).estimate()?;
    let unit = if then.unit == TIMES { TIMES } else { RATIO };
    let what = format!("{} of {} against {from}", one.metric, one.variant);
    Some(Today { what, figure, unit: unit.into(), instead: one.instead })
}

/// The ratio of the variant to what the design compares it with.
fn against(results: &Results, one: &Nearest) -> Option<Today> {
    let design = results.design()?;
    let index = design.index(&one.variant)?;
    let is_of = |it: &&Contrast| it.candidate == index && it.metric == one.metric;
    let contrast = design.contrasts.iter().find(is_of)?;
    let reference = &design.variants[contrast.reference].name;
    let figure = results.judged(reference, &one.variant, one.metric).estimate()?;
    let what = format!("{} of {} against {reference}", one.metric, one.variant);
    Some(Today { what, figure, unit: RATIO.into(), instead: one.instead })
}
