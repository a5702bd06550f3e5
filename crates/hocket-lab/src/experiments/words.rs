//! Words and plots that several experiments share.

use crate::harness::{Axis, Bar, ContrastResult, Dumbbell, Plot, Relation, Results, Series};

/// Where two threads are, as part of a sentence: `on one CPU`, `on two siblings`.
pub(super) fn where_two_are(relation: Relation) -> &'static str {
    match relation {
        Relation::SameCpu => "on one CPU",
        Relation::Siblings => "on two siblings",
        Relation::SameCache => "on two cores below one cache",
        Relation::Far => "on two cores without a common cache",
    }
}

/// Every comparable historic figure in `unit` beside today's figure of its variant; `None` without any.
pub(super) fn then_and_now(results: &Results, title: &str, unit: &str) -> Option<Plot> {
    let line = |old: &crate::harness::Historic| Dumbbell {
        label: old.label.into(),
        then: Some(old.value),
        source: old.source.into(),
        now: old.variant.and_then(|variant| results.estimate(variant, old.metric)),
    };
    let same = |old: &&crate::harness::Historic| old.unit == unit && old.differs.is_none();
    let comparable = results.historic.iter().filter(same);
    let rows: Vec<_> = comparable.map(line).collect();
    (!rows.is_empty()).then(|| Plot::Dumbbell { title: title.into(), unit: unit.into(), rows })
}

/// The ratios of interest as bars, those of one company together; candidates are called `WHAT COMPANY`. `None` without any.
pub(super) fn by_company(results: &Results, title: &str, axis: Axis) -> Option<Plot> {
    let bar = |contrast: ContrastResult| {
        let estimate = contrast.estimate()?;
        let (label, group) = contrast.candidate.split_once(' ')?;
        Some(Bar { label: label.into(), estimate, group: group.into() })
    };
    let mut bars: Vec<Bar> = results.contrasts().into_iter().filter_map(bar).collect();
    bars.sort_by(|a, b| a.group.cmp(&b.group));
    (!bars.is_empty()).then(|| Plot::Bars { title: title.into(), axis, bars })
}

/// One line: the medians of `metric` for the variants that stand at each x; absent ones are left out.
pub(super) fn series(
    results: &Results,
    name: impl Into<String>,
    metric: &str,
    at: impl IntoIterator<Item = (f64, String)>,
) -> Series {
    let point = |(x, variant): (f64, String)| Some((x, results.estimate(&variant, metric)?));
    Series { name: name.into(), points: at.into_iter().filter_map(point).collect() }
}
