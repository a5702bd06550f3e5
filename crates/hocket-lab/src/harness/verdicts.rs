//! Sentences that the rows allow.

use serde::Serialize;

use super::{Axis, Bar, ContrastResult, Design, Plot, Results, Standing};
use crate::numbers::changed;
use crate::stats::{Comparison, Judgement, MIN_ROUNDS, MIN_STARTS};

/// One statement of a report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Sentence {
    /// In words, with its figures.
    pub text: String,
    /// How firm it stands; what is not shown is greyed.
    pub standing: Standing,
}

impl Sentence {
    /// A statement of fact that the rows show. What compares goes through [`Sentence::about`].
    pub fn fact(text: impl Into<String>) -> Sentence {
        Sentence { text: text.into(), standing: Standing::Shown }
    }

    /// A statement about ratios: shown where one of them is. Where none is, it says so.
    pub fn about<'r>(
        text: impl Into<String>,
        ratios: impl IntoIterator<Item = &'r ContrastResult>,
    ) -> Sentence {
        let text = text.into();
        let standings: Vec<Standing> = ratios.into_iter().map(|ratio| ratio.standing).collect();
        let has = |standing| standings.contains(&standing);
        match [Standing::Failed, Standing::Shown].into_iter().find(|standing| has(*standing)) {
            Some(standing) => Sentence { text, standing },
            None if text.contains("not shown") || text.contains("no difference shown") => {
                Sentence::not_shown(text)
            }
            None => Sentence::not_shown(format!("{text}: no difference shown")),
        }
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

/// What a report says: failed checks first, then what the experiment says of its rows as far as it holds,
/// then what is missing here.
pub fn framed(results: &Results, own: Vec<Sentence>) -> Vec<Sentence> {
    let failed = results.failed_checks();
    let mut sentences = Vec::new();
    if let Some(first) = failed.first() {
        let text =
            format!("{} results are wrong, so no figure is to be believed: {first}", failed.len());
        sentences.push(Sentence { text, standing: Standing::Failed });
    }
    sentences.extend(own.into_iter().map(|sentence| as_far_as_it_holds(results, sentence)));
    let missing = results.design().map_or(&[][..], |design| &design.missing);
    let absent = |(variant, why): &(String, String)| {
        Sentence::not_measurable(format!("{variant}: not measurable here: {why}"))
    };
    sentences.extend(missing.iter().map(absent));
    sentences
}

/// The sentence, or what holds it back.
pub fn as_far_as_it_holds(results: &Results, sentence: Sentence) -> Sentence {
    match (held_back(results), sentence.standing) {
        (Some((standing, why)), Standing::Shown) => {
            let text = sentence.text.trim_end_matches('.');
            Sentence { text: format!("{text}: {why}"), standing }
        }
        _ => sentence,
    }
}

/// Why nothing is shown, whatever a sentence says of itself: facts need right results, comparisons need rounds and
/// process starts as well.
fn held_back(results: &Results) -> Option<(Standing, String)> {
    let (rounds, starts) = (results.complete_rounds(), results.starts());
    match results.design().is_some_and(Design::compares) {
        _ if results.is_wrong() => Some((Standing::Failed, "a result was wrong".into())),
        true if results.failed_in_every_round().is_some() => {
            Some((Standing::NotShown, "a turn failed in every round".into()))
        }
        true if rounds < MIN_ROUNDS => {
            Some((Standing::NotShown, format!("too few rounds ({rounds}) for a verdict")))
        }
        true if starts < MIN_STARTS => {
            Some((Standing::NotShown, format!("too few process starts ({starts}) for a verdict")))
        }
        _ => None,
    }
}

/// One sentence a contrast of the design.
pub fn contrast_sentences(results: &Results) -> Vec<Sentence> {
    results.contrasts().iter().map(contrast_sentence).collect()
}

/// Two variants as a sentence names them.
#[derive(Debug, Clone)]
pub struct NamedRatio {
    /// What stands before the ratio.
    pub label: String,
    /// What it is compared with.
    pub reference: String,
    /// What is compared.
    pub candidate: String,
    /// In which metric.
    pub metric: &'static str,
}

impl NamedRatio {
    /// A pair.
    pub fn new(
        label: impl Into<String>,
        reference: impl Into<String>,
        candidate: impl Into<String>,
        metric: &'static str,
    ) -> NamedRatio {
        let (label, reference, candidate) = (label.into(), reference.into(), candidate.into());
        NamedRatio { label, reference, candidate, metric }
    }
}

/// Ratios that stand in one sentence and therefore hold all at once; pairs that no round has are left out.
pub fn judged_together(results: &Results, pairs: &[NamedRatio]) -> Vec<(String, ContrastResult)> {
    let measured = |pair: &&NamedRatio| {
        let has = |variant: &str| results.rows_of(variant, pair.metric).next().is_some();
        has(&pair.reference) && has(&pair.candidate)
    };
    let pairs: Vec<&NamedRatio> = pairs.iter().filter(measured).collect();
    let judged = |pair: &&NamedRatio| {
        let NamedRatio { label, reference, candidate, metric } = pair;
        (label.clone(), results.judged_of(reference, candidate, metric, pairs.len()))
    };
    pairs.iter().map(judged).collect()
}

/// `HEAD: spin -12.1 % [-13.0, -11.2], futex +0.4 % [-0.1, +0.8] (not shown)`; shown where one of the ratios is.
/// `None` without a ratio.
pub fn ratios_sentence(results: &Results, head: &str, pairs: &[NamedRatio]) -> Option<Sentence> {
    let judged = judged_together(results, pairs);
    let told = judged.iter().map(|(label, ratio)| format!("{label} {}", ratio_told(ratio)));
    let told: Vec<String> = told.collect();
    let text = format!("{head}: {}", told.join(", "));
    let ratios = judged.iter().map(|(_, ratio)| ratio);
    (!judged.is_empty()).then(|| Sentence::about(text, ratios))
}

/// `-12.1 % [-13.0, -11.2]`, and `(not shown)` where that is no finding.
pub fn ratio_told(ratio: &ContrastResult) -> String {
    let told = ratio.all.as_ref().map_or("no round has both".into(), changed);
    if ratio.is_shown() { told } else { format!("{told} (not shown)") }
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
                changed(all),
                undisturbed(contrast, all),
                reservation(contrast, all)
            )
        }
    };
    Sentence { text, standing: contrast.standing }
}

/// The same without the rounds that hold a flagged turn, where there are some and enough are left.
fn undisturbed(contrast: &ContrastResult, all: &Comparison) -> String {
    match &contrast.quiet {
        Some(quiet) if quiet.rounds < all.rounds && quiet.interval.is_some() => {
            format!(
                " (the {} undisturbed rounds of {}: {})",
                quiet.rounds,
                all.rounds,
                changed(quiet)
            )
        }
        _ => String::new(),
    }
}

fn reservation(contrast: &ContrastResult, all: &Comparison) -> String {
    let floor = contrast.floor.map_or(0.0, |floor| floor * 100.0);
    match contrast.judgement {
        Judgement::Wrong => ": a result was wrong".into(),
        Judgement::TooFewStarts => {
            format!(": too few process starts ({}) for a verdict", contrast.starts)
        }
        Judgement::TooFew if all.interval.is_some() => {
            ": no verdict, neither of the two was measured twice".into()
        }
        Judgement::TooFew => format!(": too few rounds ({}) for a verdict", all.rounds),
        Judgement::Unsteady => ": no verdict, the ratio came to no steady state".into(),
        Judgement::BelowFloor => {
            format!(": no difference shown, the same twice differs by up to {floor:.1} %")
        }
        Judgement::NotShown => ": no difference shown".into(),
        Judgement::Shown(_) => String::new(),
    }
}

/// From this ratio of the largest to the smallest bar on, the axis is logarithmic: the smallest could
/// not be seen.
const WIDE_RANGE: f64 = 20.0;

/// The medians of one metric as bars: of the one that most variants have, or the first of several such. Which variant ran
/// first is chance.
pub fn standard_plots(results: &Results) -> Vec<Plot> {
    let variants = results.variants();
    let having = |(metric, _): &(String, String)| {
        variants.iter().filter(|variant| results.rows_of(variant, metric).next().is_some()).count()
    };
    // Of equal ones, `max_by_key` takes the last.
    let Some((metric, unit)) = results.metrics().into_iter().rev().max_by_key(having) else {
        return Vec::new();
    };
    let bar = |variant: String| {
        let estimate = results.estimate(&variant, &metric)?;
        Some(Bar { label: variant, estimate, group: String::new() })
    };
    let bars: Vec<Bar> = variants.into_iter().filter_map(bar).collect();
    let medians = || bars.iter().map(|bar| bar.estimate.value);
    let least = medians().fold(f64::INFINITY, f64::min);
    let most = medians().fold(f64::NEG_INFINITY, f64::max);
    let axis = Axis {
        logarithmic: least > 0.0 && most > least * WIDE_RANGE,
        ..Axis::linear(metric.clone(), unit)
    };
    vec![Plot::Bars { title: format!("Median {metric} of each variant"), axis, bars }]
}
