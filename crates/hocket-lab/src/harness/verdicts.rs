//! Sentences that the rows allow.

use serde::Serialize;

use super::{Axis, Bar, ContrastResult, Plot, Results, Standing};
use crate::stats::{Comparison, MIN_ROUNDS};

/// One statement of a report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Sentence {
    /// In words, with its figures.
    pub text: String,
    /// How firm it stands; what is not shown is greyed.
    pub standing: Standing,
}

impl Sentence {
    /// A statement of fact that the rows show.
    pub fn shown(text: impl Into<String>) -> Sentence {
        Sentence { text: text.into(), standing: Standing::Shown }
    }

    /// A difference that the rows do not show.
    pub fn not_shown(text: impl Into<String>) -> Sentence {
        Sentence { text: text.into(), standing: Standing::NotShown }
    }

    /// What cannot be measured here, and why.
    pub fn not_measurable(text: impl Into<String>) -> Sentence {
        Sentence { text: text.into(), standing: Standing::NotMeasurable }
    }
}

/// Failed checks first, then one sentence a contrast, then what is missing here.
pub fn standard_verdicts(results: &Results) -> Vec<Sentence> {
    framed_verdicts(results, results.contrasts().iter().map(contrast_sentence))
}

/// Failed checks first, then the experiment's own sentences, then what is missing here.
pub fn framed_verdicts(
    results: &Results,
    own: impl IntoIterator<Item = Sentence>,
) -> Vec<Sentence> {
    let failed = results.failed_checks();
    let mut sentences = Vec::new();
    if let Some(first) = failed.first() {
        let text =
            format!("{} results are wrong, so no figure is to be believed: {first}", failed.len());
        sentences.push(Sentence { text, standing: Standing::Failed });
    }
    let rounds = results.complete_rounds();
    sentences.extend(own.into_iter().map(|sentence| held_back(sentence, rounds)));
    let missing = results.design().map_or(&[][..], |design| &design.missing);
    let absent = |(variant, why): &(String, String)| {
        Sentence::not_measurable(format!("{variant}: not measurable here: {why}"))
    };
    sentences.extend(missing.iter().map(absent));
    sentences
}

/// A finding from fewer rounds than a verdict takes is none yet.
fn held_back(sentence: Sentence, rounds: usize) -> Sentence {
    match sentence.standing {
        Standing::Shown if rounds < MIN_ROUNDS => {
            let text = sentence.text;
            Sentence::not_shown(format!("{text}: too few rounds ({rounds}) for a verdict"))
        }
        _ => sentence,
    }
}

/// `time of b against a: -12.1 % [-13.0, -11.2]`, and what holds it back where something does.
pub fn contrast_sentence(contrast: &ContrastResult) -> Sentence {
    let ContrastResult { reference, candidate, metric, .. } = contrast;
    let head = format!("{metric} of {candidate} against {reference}");
    let text = match &contrast.all {
        None => format!("{head}: no round has both"),
        Some(all) => {
            format!(
                "{head}: {}{}{}",
                change(all),
                undisturbed(contrast, all),
                reservation(contrast, all)
            )
        }
    };
    Sentence { text, standing: contrast.standing }
}

/// A ratio as a change in percent with its interval. Always percent, so that the changes of a list can be compared.
pub fn change(comparison: &Comparison) -> String {
    let range = comparison.interval.map_or(String::new(), |interval| {
        format!(" [{}, {}]", percent_change(interval.low), percent_change(interval.high))
    });
    format!("{} %{range}", percent_change(comparison.ratio))
}

/// A ratio as a change in percent, without the sign for percent: `-12.1`, `+549`.
pub fn percent_change(ratio: f64) -> String {
    let percent = (ratio - 1.0) * 100.0;
    if percent.abs() < 100.0 { format!("{percent:+.1}") } else { format!("{percent:+.0}") }
}

/// The same without the rounds that hold a flagged turn, where there are some and enough are left.
fn undisturbed(contrast: &ContrastResult, all: &Comparison) -> String {
    match &contrast.quiet {
        Some(quiet) if quiet.rounds < all.rounds && quiet.interval.is_some() => {
            format!(
                " (the {} undisturbed rounds of {}: {})",
                quiet.rounds,
                all.rounds,
                change(quiet)
            )
        }
        _ => String::new(),
    }
}

fn reservation(contrast: &ContrastResult, all: &Comparison) -> String {
    let floor = contrast.floor.map(|floor| floor * 100.0);
    match (contrast.standing, all.interval, floor) {
        (Standing::Failed, ..) => ": a result was wrong".into(),
        (Standing::NotShown, ..) if contrast.unsteady => {
            ": no verdict, the ratio came to no steady state".into()
        }
        (_, None, _) => format!(": too few rounds ({}) for a verdict", all.rounds),
        (Standing::NotShown, Some(interval), Some(floor)) if !interval.contains(1.0) => {
            format!(": no difference shown, the same twice differs by up to {floor:.1} %")
        }
        (Standing::NotShown, ..) => ": no difference shown".into(),
        _ => String::new(),
    }
}

/// From this ratio of the largest to the smallest bar on, the axis is logarithmic: the smallest could
/// not be seen.
const WIDE_RANGE: f64 = 20.0;

/// The medians of the first metric as bars.
pub fn standard_plots(results: &Results) -> Vec<Plot> {
    let Some((metric, unit)) = results.metrics().into_iter().next() else { return Vec::new() };
    let bar = |variant: String| {
        let estimate = results.estimate(&variant, &metric)?;
        Some(Bar { label: variant, estimate, group: String::new() })
    };
    let bars: Vec<Bar> = results.variants().into_iter().filter_map(bar).collect();
    let medians = || bars.iter().map(|bar| bar.estimate.value);
    let least = medians().fold(f64::INFINITY, f64::min);
    let most = medians().fold(f64::NEG_INFINITY, f64::max);
    let axis = Axis {
        logarithmic: least > 0.0 && most > least * WIDE_RANGE,
        ..Axis::linear(metric.clone(), unit)
    };
    vec![Plot::Bars { title: format!("Median {metric} of each variant"), axis, bars }]
}
