//! Two runs of one experiment: by how much do they differ?
//!
//! Each process start counts once, by the median of its rounds ([`Unpaired`]).

use std::collections::BTreeMap;

use super::{Results, same_definition};
use crate::stats::{Judgement, MIN_STARTS, Unpaired, median};

/// One experiment in two runs: their figures, or why they cannot be compared.
#[derive(Debug, Clone, PartialEq)]
pub struct ExperimentPair {
    /// Its name.
    pub id: String,
    /// What both have, variant by variant.
    ///
    /// # Errors
    /// As [`incomparable`].
    pub figures: Result<Vec<FigurePair>, String>,
    /// What to know of all figures.
    pub note: Option<String>,
}

/// One variant's figure in two runs.
#[derive(Debug, Clone, PartialEq)]
pub struct FigurePair {
    /// The variant.
    pub variant: String,
    /// What was measured.
    pub metric: String,
    /// Its unit.
    pub unit: String,
    /// Both figures, and what they differ by.
    pub compared: Unpaired,
    /// The smallest difference that both runs can show, on the logarithmic scale.
    pub floor: Option<f64>,
    /// What the ratio shows if the intervals of all figures of both runs are to hold at once.
    pub among_all: Judgement,
}

impl FigurePair {
    /// What the ratio shows alone.
    fn alone(&self) -> Judgement {
        self.compared.judged(self.floor, MIN_STARTS)
    }

    /// Whether there is a verdict.
    pub fn is_decided(&self) -> bool {
        self.alone().is_decided()
    }

    /// Whether a difference is shown among all figures of both runs. Who counts them, or looks for those that differ, picks
    /// among all: of forty equal ones, one or two are shown alone.
    pub fn is_shown(&self) -> bool {
        self.among_all.is_shown()
    }

    /// What the ratio shows.
    pub fn verdict(&self) -> &'static str {
        match (self.alone(), self.is_shown()) {
            (it, _) if !it.is_decided() => "not judged",
            (it, true) if it.is_more() => "larger",
            (it, true) if it.is_less() => "smaller",
            (it, _) if it.is_more() => "larger, alone",
            (it, _) if it.is_less() => "smaller, alone",
            _ => "no difference shown",
        }
    }
}

/// The experiments that two runs have in common, in the order of the first.
pub fn experiments_in_both(before: &[Results], after: &[Results]) -> Vec<ExperimentPair> {
    let both = before
        .iter()
        .filter_map(|one| Some((one, after.iter().find(|two| two.run.id == one.run.id)?)));
    let both: Vec<(&Results, &Results)> = both.collect();
    let mut pairs: Vec<ExperimentPair> =
        both.iter().map(|(one, two)| experiment_pair(one, two)).collect();
    let figures = |pair: &ExperimentPair| pair.figures.as_ref().map_or(0, Vec::len);
    let all = pairs.iter().map(figures).sum();
    for ((one, two), pair) in both.into_iter().zip(&mut pairs) {
        for it in pair.figures.iter_mut().flatten() {
            it.among_all = among(one, two, it, all);
        }
    }
    pairs
}

/// What a figure shows as one of `all`; a wider interval shows nothing that a narrower one does not.
fn among(before: &Results, after: &Results, it: &FigurePair, all: usize) -> Judgement {
    match unpaired(before, after, &it.variant, &it.metric, all) {
        Some(compared) if it.alone().is_shown() => compared.judged(it.floor, MIN_STARTS),
        _ => it.alone(),
    }
}

fn experiment_pair(a: &Results, b: &Results) -> ExperimentPair {
    let (small, large) = (a.run.size, b.run.size);
    let note = (small != large).then(|| {
        format!(
            "one run is {}, the other {}: their turns are of different length",
            small.name(),
            large.name()
        )
    });
    let figures = incomparable(a, b).map_or_else(|| Ok(figure_pairs(a, b)), Err);
    ExperimentPair { id: a.run.id.clone(), figures, note }
}

fn figure_pairs(a: &Results, b: &Results) -> Vec<FigurePair> {
    let metrics = a.metrics();
    let of = |variant: String| {
        let figure = |(metric, unit): &(String, String)| {
            let compared = unpaired(a, b, &variant, metric, 1)?;
            let floor = floor_of_both(a, b, &variant, metric);
            Some(FigurePair {
                variant: variant.clone(),
                metric: metric.clone(),
                unit: unit.clone(),
                compared,
                floor,
                among_all: compared.judged(floor, MIN_STARTS),
            })
        };
        metrics.iter().filter_map(figure).collect::<Vec<_>>()
    };
    a.variants().into_iter().flat_map(of).collect()
}

/// The larger one of the floors of both runs, on the logarithmic scale.
pub fn floor_of_both(
    before: &Results,
    after: &Results,
    variant: &str,
    metric: &str,
) -> Option<f64> {
    let of = |results: &Results| results.floor_between([variant, variant], metric);
    Some(of(before)?.max(of(after)?).ln_1p())
}

/// Compares one variant's figure in two runs, as one of `of` comparisons whose intervals hold all at once. `None` where
/// either has none.
pub fn unpaired(
    before: &Results,
    after: &Results,
    variant: &str,
    metric: &str,
    of: usize,
) -> Option<Unpaired> {
    let of_run = |results| by_process(results, variant, metric);
    Unpaired::of(&of_run(before), &of_run(after), of)
}

/// The median of each process start.
fn by_process(results: &Results, variant: &str, metric: &str) -> Vec<f64> {
    let mut processes: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for row in results.rows_of(variant, metric) {
        processes.entry(row.process).or_default().push(row.sample.value);
    }
    processes.values().filter_map(|values| median(values)).collect()
}

/// Why two runs of one experiment cannot be compared, if so.
pub fn incomparable(a: &Results, b: &Results) -> Option<String> {
    if let Some(why) = a.run.not_measurable.as_ref().or(b.run.not_measurable.as_ref()) {
        return Some(format!("not measurable in one of them: {why}"));
    }
    if let Some(wrong) = a.failed_checks().into_iter().chain(b.failed_checks()).next() {
        return Some(format!("a result is wrong ({wrong}), so no figure is to be believed"));
    }
    let (first, second) = (&a.run.definition, &b.run.definition);
    if !same_definition(first, second) {
        return Some(format!(
            "their figures mean different things (definitions {first} and {second}); repeat the older run with \
             this version"
        ));
    }
    let variants = |results: &Results| results.design().map_or(Vec::new(), |d| d.variants.clone());
    let (mine, theirs) = (variants(a), variants(b));
    let other = mine.iter().find(|own| {
        theirs.iter().any(|other| other.name == own.name && other.factors != own.factors)
    });
    other.map(|variant| {
        format!("'{}' is not the same in both: another pattern or another setting", variant.name)
    })
}
