//! Figures in words, and plots that several experiments share.

use crate::harness::{
    Dumbbell, Estimate, Plot, Relation, Results, Sentence, Series, Standing, percent_change,
};

/// `51.1 M/s`, `251 k/s`, `11 /s`.
pub(super) fn rate(per_second: f64) -> String {
    scaled(per_second, &[(1e9, " G/s"), (1e6, " M/s"), (1e3, " k/s"), (1.0, " /s")])
}

/// `1.59 s`, `21.4 ms`, `870 µs`, `43.2 ns`.
pub(super) fn duration(ns: f64) -> String {
    scaled(ns, &[(1e9, " s"), (1e6, " ms"), (1e3, " µs"), (1.0, " ns")])
}

/// Three digits before the first unit that the value reaches; the last one for smaller values.
fn scaled(value: f64, units: &[(f64, &str)]) -> String {
    let unit = units.iter().find(|(size, _)| value.abs() >= *size).or(units.last());
    let (size, name) = unit.copied().unwrap_or((1.0, ""));
    let value = value / size;
    let digits = match value.abs() {
        large if large >= 99.95 => 0,
        middle if middle >= 9.995 => 1,
        _ => 2,
    };
    format!("{value:.digits$}{name}")
}

/// `+29.0 %`: a ratio as everything else says it.
pub(super) fn more(ratio: f64) -> String {
    format!("{} %", percent_change(ratio))
}

/// A sentence about one ratio, as it stands.
pub(super) fn standing_as(text: String, standing: Standing) -> Sentence {
    match standing {
        Standing::NotShown => Sentence::not_shown(format!("{text}: no difference shown")),
        standing => Sentence { text, standing },
    }
}

/// A median in words, with its interval where there is one: `9.77 M/s [9.71, 9.80]`.
pub(super) fn told(estimate: Estimate, in_words: fn(f64) -> String) -> String {
    match (estimate.low, estimate.high) {
        (Some(low), Some(high)) => {
            format!("{} [{}, {}]", in_words(estimate.value), in_words(low), in_words(high))
        }
        _ => in_words(estimate.value),
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_three_digits_and_a_unit() {
        assert_eq!(rate(51_058_000.0), "51.1 M/s");
        assert_eq!(rate(250_758.0), "251 k/s");
        assert_eq!(rate(11.0), "11.0 /s");
        assert_eq!(rate(0.25), "0.25 /s");
        assert_eq!(duration(1_594e6), "1.59 s");
        assert_eq!(duration(43.21), "43.2 ns");
        let estimate = Estimate { value: 1e3, low: Some(900.0), high: Some(1.1e3) };
        assert_eq!(told(estimate, duration), "1.00 µs [900 ns, 1.10 µs]");
    }
}
