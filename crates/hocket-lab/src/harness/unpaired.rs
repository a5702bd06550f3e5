//! Two runs of one experiment: by how much do they differ?
//!
//! Each process start counts once, by the median of its rounds ([`Unpaired`]).

use std::collections::BTreeMap;

use super::{Results, same_definition};
use crate::stats::{Unpaired, median};

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
