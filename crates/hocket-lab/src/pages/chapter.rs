//! One experiment of a run with everything that its rows show.

use std::collections::{BTreeMap, BTreeSet};

use super::nearest::{Today, nearest};
use super::plots::Firm;
use super::{Flagged, VariantTable, figures};
use crate::experiments::find;
use crate::harness::{
    About, ContrastResult, Dumbbell, Estimate, Experiment, Historic, Plot, Results, Section,
    Sentence, Standing, TWIN, as_far_as_it_holds, contrast_sentence, contrast_sentences, framed,
    same_definition, standard_plots,
};
use crate::numbers::{conversion, counted};
use crate::stats::Judgement;

/// One experiment of a run.
#[derive(Debug)]
pub struct Chapter<'a> {
    /// Its rows.
    pub results: &'a Results,
    /// What stands in the catalogue; `None` where this version does not know it.
    pub about: Option<&'static About>,
    /// Whether the rows were measured by the definition that stands in the catalogue now.
    pub same_definition: bool,
    /// What it answers, the most important first.
    pub sentences: Vec<Sentence>,
    /// What follows from it for somebody who plays a session, in plain words.
    pub advice: Option<Sentence>,
    /// Its ratios of interest, each judged alone.
    pub contrasts: Vec<ContrastResult>,
    /// Which of these are shown if all of them are to hold at once. What is picked because it is shown is picked among
    /// these: of forty ratios of equal things, one or two are shown alone.
    shown_at_once: Vec<bool>,
    /// The figures of all variants, metric by metric.
    pub tables: Vec<VariantTable>,
    /// What to draw.
    pub plots: Vec<Plot>,
    /// Figures printed long ago.
    pub then_now: Vec<ThenNow>,
}

/// A figure printed long ago with what was measured now.
#[derive(Debug, Clone, PartialEq)]
pub struct ThenNow {
    /// What was printed.
    pub then: Historic,
    /// What was measured now, in the unit of then; `None` where no variant stands beside it.
    pub now: Option<Estimate>,
    /// The figure is computed from others, so no row holds it: it stands in the sentences.
    pub computed: bool,
    /// Where the old figure is defined otherwise: what is nearest of today.
    pub nearest: Vec<Today>,
}

impl ThenNow {
    /// What stands in the place of a figure of now that is not there.
    pub fn absent(&self) -> &'static str {
        if self.computed { "see the sentences" } else { "not measured" }
    }
}

impl<'a> Chapter<'a> {
    /// Computes what the rows show.
    pub fn of(results: &'a Results) -> Chapter<'a> {
        let about = find(&results.run.id).map(|known| known.about());
        let known = known(results);
        let measured = results.run.not_measurable.is_none();
        let contrasts = results.contrasts();
        let is_shown =
            |contrast: &ContrastResult| results.is_shown_among(contrast, contrasts.len());
        Chapter {
            results,
            about,
            same_definition: known.is_some(),
            sentences: sentences(results, known),
            advice: known
                .and_then(|known| known.advice(results))
                .map(|advice| as_far_as_it_holds(results, advice)),
            shown_at_once: contrasts.iter().map(is_shown).collect(),
            contrasts,
            tables: figures::tables(results, about.filter(|_| known.is_some())),
            plots: match known {
                _ if !measured => Vec::new(),
                Some(known) => telling(known.plots(results)),
                None => standard_plots(results),
            },
            then_now: results.historic.iter().map(|then| beside(results, *then)).collect(),
        }
    }

    /// How sure its advice is, in words.
    pub fn sure(&self) -> String {
        let measured = || {
            let (rounds, starts) = (self.results.complete_rounds(), self.results.starts());
            format!("{} of {}", counted(rounds, "round"), counted(starts, "process start"))
        };
        match self.advice.as_ref().map(|advice| advice.standing) {
            Some(Standing::Shown) => format!("Shown in {}.", measured()),
            Some(Standing::NotShown) => format!("Not sure, after {}.", measured()),
            Some(Standing::NotMeasurable) => "Cannot be measured here.".into(),
            Some(Standing::Failed) => "Not to be believed: a result was wrong.".into(),
            None => String::new(),
        }
    }

    /// Its name.
    pub fn id(&self) -> &str {
        &self.results.run.id
    }

    /// Where every round failed: the first cause.
    pub fn failure(&self) -> Option<&str> {
        self.results.failed_throughout()
    }

    /// Its section; `None` where this version does not know it.
    pub fn section(&self) -> Option<Section> {
        self.about.map(|about| about.section)
    }

    /// Its question.
    pub fn question(&self) -> &str {
        self.about.map_or("(not known to this version)", |about| about.question)
    }

    /// How firm its headline stands.
    pub fn standing(&self) -> Standing {
        self.headline().standing
    }

    /// The sentence for the summary: a wrong result before everything, then the first. Where sentences only
    /// tell one ratio each, in the order of the design, the first goes before the others that is shown even if all of
    /// them are to hold at once. Which one comes first was chosen for its figures, so what is shown alone is not enough.
    pub fn headline(&self) -> Sentence {
        let first = self.sentences.first();
        let failed = self.sentences.iter().find(|it| it.standing == Standing::Failed);
        let is_of_ratios = first.is_some_and(|first| self.ratio_of(first).is_some());
        let chosen = failed.or(is_of_ratios.then(|| self.found().next()).flatten()).or(first);
        match chosen {
            None => Sentence::not_shown("no round was measured"),
            Some(one) if one.standing == Standing::Shown && !self.holds_at_once(one) => {
                let all = counted(self.contrasts.len(), "ratio");
                Sentence::not_shown(format!("{}: no difference shown among {all}", one.text))
            }
            Some(one) => one.clone(),
        }
    }

    /// What the summary may pick from: the sentences that are shown, of those that tell a ratio only those that are so
    /// if all ratios are to hold at once.
    pub fn found(&self) -> impl Iterator<Item = &Sentence> {
        let shown = self.sentences.iter().filter(|sentence| sentence.standing == Standing::Shown);
        shown.filter(|sentence| self.holds_at_once(sentence))
    }

    /// How firm each of its ratios stands where all of them are looked at.
    pub(super) fn firm(&self) -> impl Iterator<Item = (&ContrastResult, Firm)> {
        let firm =
            |(contrast, at_once): (&ContrastResult, &bool)| match (contrast.is_shown(), at_once) {
                (_, true) => Firm::Shown,
                (true, false) => Firm::Alone,
                (false, false) => Firm::No,
            };
        let both = self.contrasts.iter().zip(&self.shown_at_once);
        both.map(move |pair| (pair.0, firm(pair)))
    }

    fn holds_at_once(&self, sentence: &Sentence) -> bool {
        self.ratio_of(sentence).is_none_or(|ratio| self.shown_at_once[ratio])
    }

    /// The ratio that a sentence tells, if it tells only that.
    fn ratio_of(&self, sentence: &Sentence) -> Option<usize> {
        self.contrasts.iter().position(|contrast| contrast_sentence(contrast) == *sentence)
    }

    /// What disturbed its rounds, and what that means for its verdicts.
    pub fn flagged(&self) -> Flagged {
        let (rounds, flagged) = self.results.flagged_rounds();
        // All that is not shown is one verdict, whatever the reason.
        let said = |judgement: Judgement| (judgement.is_less(), judgement.is_more());
        let is_unknown =
            |c: &&ContrastResult| c.judgement.is_decided() && !c.quiet_judgement.is_decided();
        let (unknown, known): (Vec<&ContrastResult>, Vec<&ContrastResult>) =
            self.contrasts.iter().partition(is_unknown);
        let differs = |c: &&&ContrastResult| said(c.judgement) != said(c.quiet_judgement);
        Flagged {
            rounds,
            flagged,
            causes: causes(self.results),
            contrasts: self.contrasts.len(),
            changed: known.iter().filter(differs).count(),
            unknown: unknown.len(),
        }
    }

    /// Then and now as pictures, one for each unit; none where the experiment draws them itself.
    pub fn dumbbells(&self) -> Vec<Plot> {
        if self.plots.iter().any(|plot| matches!(plot, Plot::Dumbbell { .. })) {
            return Vec::new();
        }
        let mut by_unit: BTreeMap<&str, Vec<Dumbbell>> = BTreeMap::new();
        for pair in self.then_now.iter().filter(|pair| pair.then.differs.is_none()) {
            let Historic { label, value, source, .. } = pair.then;
            let row = Dumbbell {
                label: label.into(),
                then: Some(value),
                source: source.into(),
                now: pair.now,
            };
            by_unit.entry(pair.then.unit).or_default().push(row);
        }
        let plot = |(unit, rows): (&str, Vec<Dumbbell>)| Plot::Dumbbell {
            title: "Then and now".into(),
            unit: unit.into(),
            rows,
        };
        telling(by_unit.into_iter().map(plot).collect())
    }

    /// Why it ended, in words.
    pub fn end(&self) -> &str {
        match (self.results.run.end.as_str(), &self.results.run.not_measurable) {
            ("", Some(_)) => "not measurable here",
            ("", None) => "not yet, or the run was killed",
            (end, _) => end,
        }
    }
}

/// Without those that would set old figures beside nothing; the table of then and now has them.
fn telling(plots: Vec<Plot>) -> Vec<Plot> {
    let has_both = |row: &Dumbbell| row.then.is_some() && row.now.is_some();
    let tells = |plot: &Plot| match plot {
        Plot::Dumbbell { rows, .. } => rows.iter().any(has_both),
        _ => true,
    };
    plots.into_iter().filter(tells).collect()
}

/// The experiment, where this version has it and means the same by it.
pub(super) fn known(results: &Results) -> Option<&'static dyn Experiment> {
    find(&results.run.id).filter(|known| {
        same_definition(&known.about().definition_digest(), &results.run.definition)
    })
}

fn sentences(results: &Results, known: Option<&'static dyn Experiment>) -> Vec<Sentence> {
    if let Some(cause) = results.failed_throughout() {
        return vec![Sentence::not_measurable(format!("every round failed: {cause}"))];
    }
    match (&results.run.not_measurable, known) {
        (Some(why), _) => vec![Sentence::not_measurable(format!("not measurable here: {why}"))],
        (None, Some(known)) => known.verdicts(results),
        (None, None) => framed(results, contrast_sentences(results)),
    }
}

/// In how many rounds each cause was seen.
fn causes(results: &Results) -> BTreeMap<String, usize> {
    let mut rounds: BTreeMap<String, BTreeSet<(u32, u32)>> = BTreeMap::new();
    for row in results.rows.iter().filter(|row| !row.warm_up) {
        for flag in &row.flags {
            rounds.entry(flag.clone()).or_default().insert((row.process, row.round));
        }
    }
    rounds.into_iter().map(|(cause, rounds)| (cause, rounds.len())).collect()
}

/// What was measured now beside an old figure: its variant, or the only one that there is. Where the old figure is defined
/// otherwise: what is nearest.
pub fn beside(results: &Results, then: Historic) -> ThenNow {
    if then.differs.is_some() {
        return ThenNow { then, now: None, computed: false, nearest: nearest(results, &then) };
    }
    let variants = results.variants();
    let mut originals = variants.iter().filter(|name| !name.ends_with(TWIN));
    let variant = match then.variant {
        Some(name) => Some(name),
        None => originals.next().filter(|_| originals.next().is_none()).map(String::as_str),
    };
    let unit = results
        .metrics()
        .into_iter()
        .find(|(metric, _)| metric == then.metric)
        .map(|(_, unit)| unit);
    let factor = unit.as_ref().and_then(|unit| conversion(unit, then.unit));
    let estimate = variant.and_then(|variant| results.estimate(variant, then.metric));
    let convert = |(e, by): (Estimate, f64)| Estimate {
        value: e.value * by,
        low: e.low.map(|v| v * by),
        high: e.high.map(|v| v * by),
    };
    let computed = unit.is_none() && !results.rows.is_empty();
    let now = estimate.zip(factor).map(convert);
    ThenNow { then, now, computed, nearest: Vec::new() }
}
