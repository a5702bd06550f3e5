//! Words and plots that several experiments share.

use crate::harness::{
    Dumbbell, NamedRatio, Plot, Relation, Results, Sentence, Series, judged_together,
};
use crate::stats::Interval;

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

/// Ratios of times as how many times as fast the candidate is: `all CPUs 1.63 times [1.60, 1.65]`.
pub(super) fn times_as_fast(
    results: &Results,
    head: &str,
    pairs: &[NamedRatio],
) -> Option<Sentence> {
    let judged = judged_together(results, pairs);
    let told = judged.iter().filter_map(|(label, ratio)| {
        let all = ratio.all.as_ref()?;
        let interval = all.interval.map_or(String::new(), |Interval { low, high }| {
            format!(" [{:.2}, {:.2}]", 1.0 / high, 1.0 / low)
        });
        let shown = if ratio.is_shown() { "" } else { " (not shown)" };
        Some(format!("{label} {:.2} times{interval}{shown}", 1.0 / all.ratio))
    });
    let text = format!("{head}: {}", told.collect::<Vec<_>>().join(", "));
    (!judged.is_empty()).then(|| Sentence::about(text, judged.iter().map(|(_, ratio)| ratio)))
}
