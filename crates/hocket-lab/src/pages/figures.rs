//! The figures of all variants in one metric.

use crate::harness::{About, Estimate, Results, TWIN};
use crate::stats::{FOR_P99, quantile_sorted};

/// All variants in one metric.
#[derive(Debug, Clone, PartialEq)]
pub struct VariantTable {
    /// The metric.
    pub metric: String,
    /// Its unit.
    pub unit: String,
    /// What exactly it is; empty where this version does not know.
    pub definition: String,
    /// The variants, in the order of the design; those without a figure are left out.
    pub rows: Vec<VariantFigure>,
}

/// Over what minimum, p99 and maximum are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Over {
    /// Over the figures of the rounds.
    Rounds,
    /// Over the single values of all turns; p99 is that of a typical turn.
    Values,
}

/// One variant in one metric.
#[derive(Debug, Clone, PartialEq)]
pub struct VariantFigure {
    /// Its name.
    pub variant: String,
    /// Whether it is the one that is measured under two names.
    pub is_twin: bool,
    /// Median over the rounds with its interval.
    pub estimate: Estimate,
    /// The smallest.
    pub min: f64,
    /// 99 of 100 are at most this; `None` where there are fewer than 100, in a turn where it is that of a turn.
    pub p99: Option<f64>,
    /// The largest.
    pub max: f64,
    /// How many values.
    pub n: u64,
    /// Of what.
    pub over: Over,
}

/// The tables of an experiment, metric by metric.
pub(super) fn tables(results: &Results, about: Option<&'static About>) -> Vec<VariantTable> {
    let variants = results.variants();
    let table = |(metric, unit): (String, String)| {
        let rows =
            variants.iter().filter_map(|variant| figure(results, variant, &metric)).collect();
        let definition = about.and_then(|about| about.metric(&metric)).map_or("", |m| m.definition);
        VariantTable { definition: definition.into(), rows, metric, unit }
    };
    results.metrics().into_iter().map(table).collect()
}

fn figure(results: &Results, variant: &str, metric: &str) -> Option<VariantFigure> {
    let estimate = results.estimate(variant, metric)?;
    let (min, p99, max, n, over) = match results.distribution(variant, metric) {
        Some(q) => (q.min, q.p99, q.max, q.n, Over::Values),
        None => over_rounds(results.values(variant, metric))?,
    };
    let in_a_turn =
        results.rows_of(variant, metric).map(|row| row.sample.distribution.map_or(n, |q| q.n));
    let p99 = (in_a_turn.min().unwrap_or(0) >= FOR_P99 as u64).then_some(p99);
    Some(VariantFigure {
        variant: variant.into(),
        is_twin: variant.ends_with(TWIN),
        estimate,
        min,
        p99,
        max,
        n,
        over,
    })
}

fn over_rounds(mut values: Vec<f64>) -> Option<(f64, f64, f64, u64, Over)> {
    values.sort_by(f64::total_cmp);
    let p99 = quantile_sorted(&values, 0.99)?;
    Some((*values.first()?, p99, *values.last()?, values.len() as u64, Over::Rounds))
}
