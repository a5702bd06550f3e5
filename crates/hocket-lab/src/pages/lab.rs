//! A run with everything that its rows show, computed once for the page and the terminal.

use std::collections::BTreeMap;

use serde_json::Value;

use super::Chapter;
use crate::foreign::plain;
use crate::harness::{Results, Section, Sentence, Standing};
use crate::numbers::{capital, counted, percent, quantity};
use crate::store::RunRecord;

/// The id of the experiment that measures one thing twice.
pub(super) const AA: &str = "aa";

/// A run to report on.
#[derive(Debug)]
pub struct Lab<'a> {
    /// What stands about the run.
    pub record: &'a RunRecord,
    /// Its experiments, by section, in the order in which they were measured.
    pub chapters: Vec<Chapter<'a>>,
}

/// What disturbed the rounds of some experiments.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Flagged {
    /// Rounds that count.
    pub rounds: usize,
    /// Those of them in which a turn is flagged.
    pub flagged: usize,
    /// In how many rounds each cause was seen.
    pub causes: BTreeMap<String, usize>,
    /// Ratios of interest.
    pub contrasts: usize,
    /// Those whose verdict is another without the flagged rounds.
    pub changed: usize,
    /// Those for which too few rounds are left without the flagged ones.
    pub unknown: usize,
}

impl<'a> Lab<'a> {
    /// Computes what the rows show. Cost: what the intervals cost, milliseconds to a second for an
    /// experiment.
    pub fn of(record: &'a RunRecord, all: &'a [Results]) -> Lab<'a> {
        let mut chapters: Vec<Chapter<'a>> = all.iter().map(Chapter::of).collect();
        chapters.sort_by_key(|chapter| chapter.section().map_or(u8::MAX, |section| section as u8));
        Lab { record, chapters }
    }

    /// The sections that the run has, each with its experiments; those that this version does not know
    /// come last.
    pub fn sections(&self) -> Vec<(Option<Section>, Vec<&Chapter<'a>>)> {
        let mut sections: Vec<(Option<Section>, Vec<&Chapter<'a>>)> = Vec::new();
        for chapter in &self.chapters {
            match sections.last_mut().filter(|(section, _)| *section == chapter.section()) {
                Some((_, chapters)) => chapters.push(chapter),
                None => sections.push((chapter.section(), vec![chapter])),
            }
        }
        sections
    }

    /// Metric by metric, how large a difference the A/A experiment finds where there is none, as a ratio
    /// minus one; empty without it or with too few rounds.
    pub fn floors(&self) -> Vec<(String, f64)> {
        let Some(aa) = self.chapters.iter().find(|chapter| chapter.id() == AA) else {
            return Vec::new();
        };
        let floor = |table: &super::VariantTable| {
            Some((table.metric.clone(), aa.results.largest_floor(&table.metric)?))
        };
        aa.tables.iter().filter_map(floor).collect()
    }

    /// The sentence that every report opens with.
    pub fn opening(&self) -> String {
        let floors = self.floors();
        let aa = self.failed().find(|chapter| chapter.id() == AA);
        if let Some(cause) = aa.and_then(Chapter::failure) {
            return format!(
                "How large a difference nothing makes on this machine is not known: every round of the A/A experiment \
                 failed: {}.",
                plain(cause)
            );
        }
        if floors.is_empty() {
            return "How large a difference nothing makes on this machine is not known: the run has no A/A experiment with \
                    enough rounds."
                .into();
        }
        let each: Vec<String> = floors
            .iter()
            .map(|(metric, floor)| format!("{} ({metric})", percent(*floor)))
            .collect();
        format!("The smallest difference that this machine can show today: {}.", each.join(", "))
    }

    /// The experiments whose verdicts the summary lists: all but the A/A experiment.
    pub fn answers(&self) -> impl Iterator<Item = &Chapter<'a>> {
        self.chapters.iter().filter(|chapter| chapter.id() != AA)
    }

    /// The experiments that have an advice for somebody who plays a session.
    pub fn advised(&self) -> impl Iterator<Item = (&Chapter<'a>, &Sentence)> {
        self.chapters.iter().filter_map(|chapter| Some((chapter, chapter.advice.as_ref()?)))
    }

    /// The experiments of which every round failed.
    pub fn failed(&self) -> impl Iterator<Item = &Chapter<'a>> {
        self.chapters.iter().filter(|chapter| chapter.failure().is_some())
    }

    /// Whether any experiment gave a figure. The A/A experiment is in every run, so it counts only if it is alone.
    pub fn has_figures(&self) -> bool {
        let is_alone = self.answers().next().is_none();
        let mut asked = self.chapters.iter().filter(|chapter| is_alone || chapter.id() != AA);
        asked.any(|chapter| chapter.results.has_figures())
    }

    /// `8 experiments: 5 with a result, 2 with no difference shown, 1 not measurable here`.
    pub fn tally(&self) -> String {
        let kinds = [
            (Some(Standing::Failed), "with a wrong result"),
            (Some(Standing::Shown), "with a result"),
            (Some(Standing::NotShown), "with no difference shown"),
            (Some(Standing::NotMeasurable), "not measurable here"),
            (None, "in which every round failed"),
        ];
        // What failed throughout has no standing of its own.
        let kind = |chapter: &Chapter| chapter.failure().is_none().then(|| chapter.standing());
        let count = |of| self.answers().filter(|chapter| kind(chapter) == of).count();
        let words = |(of, words): (Option<Standing>, &str)| match count(of) {
            0 => None,
            n => Some(format!("{n} {words}")),
        };
        let said: Vec<String> = kinds.into_iter().filter_map(words).collect();
        format!("{}: {}", counted(self.answers().count(), "experiment"), said.join(", "))
    }

    /// What was found, as a title: the answer of a single experiment, or how many have one.
    pub fn title(&self) -> String {
        let mut answers = self.answers();
        match (answers.next(), answers.next()) {
            (None, _) => "The smallest difference that this machine can show".into(),
            (Some(only), None) => capital(&plain(&only.headline().text)),
            _ => self.tally(),
        }
    }

    /// What disturbed the whole run.
    pub fn flagged(&self) -> Flagged {
        let mut all = Flagged::default();
        self.chapters.iter().for_each(|chapter| all.add(&chapter.flagged()));
        all
    }

    /// A fact of the record by its place, such as `/clock/longest_gap_ns_in_100_ms`.
    pub(super) fn meta(&self, pointer: &str) -> Option<&Value> {
        self.record.meta.pointer(pointer)
    }

    /// `run 3 (1a2b3c4d) of 2026-11-22, host 9f8e7d6c`: what every figure names.
    pub fn name(&self) -> String {
        let day = self.record.started_at.split('T').next().unwrap_or_default();
        let short = |text: &str| text.chars().take(8).collect::<String>();
        format!(
            "run {} ({}) of {day}, host {}",
            self.record.run,
            short(&self.record.uuid),
            short(&self.record.host)
        )
    }

    /// Clock source, cost, step, longest gap and backward steps in a sentence.
    pub fn clock(&self) -> String {
        let number = |pointer: &str| self.meta(pointer).and_then(Value::as_f64);
        let source = self
            .meta("/clock/check/clocksource/value")
            .and_then(Value::as_str)
            .unwrap_or("of unknown source");
        let time =
            |value: Option<f64>| value.map_or("an unknown time".into(), |ns| quantity(ns, "ns"));
        let backward = match number("/clock/check/backward_steps") {
            Some(0.0) => "never backwards".into(),
            Some(n) => format!("{n:.0} times backwards"),
            None => "direction not checked".into(),
        };
        format!(
            "Clock {source}: {} a reading, steps of {}, {backward}; longest gap in a busy loop of 100 ms: {}.",
            time(number("/clock/check/monotonic_cost_ns")),
            time(number("/clock/check/resolution_ns/value")),
            time(number("/clock/longest_gap_ns_in_100_ms"))
        )
    }
}

impl Flagged {
    fn add(&mut self, other: &Flagged) {
        self.rounds += other.rounds;
        self.flagged += other.flagged;
        self.contrasts += other.contrasts;
        self.changed += other.changed;
        self.unknown += other.unknown;
        for (cause, n) in &other.causes {
            *self.causes.entry(cause.clone()).or_default() += n;
        }
    }

    /// `75 of 96 rounds disturbed (foreign 70, steal 5)`.
    pub fn rounds_in_words(&self) -> String {
        let causes: Vec<String> =
            self.causes.iter().map(|(cause, n)| format!("{cause} {n}")).collect();
        let causes =
            if causes.is_empty() { String::new() } else { format!(" ({})", causes.join(", ")) };
        format!("{} of {} rounds disturbed{causes}", self.flagged, self.rounds)
    }

    /// What becomes of the verdicts without the flagged rounds.
    pub fn verdicts_in_words(&self) -> String {
        match (self.contrasts, self.changed, self.unknown) {
            (0, ..) => "no ratios of interest".into(),
            (all, 0, 0) => format!("all {all} verdicts are the same without them"),
            (all, 0, unknown) if all == unknown => {
                "without them too few rounds are left for a verdict".into()
            }
            (all, changed, unknown) => {
                let same = all - changed - unknown;
                let mut words = vec![format!("of {all} verdicts {same} the same without them")];
                words.extend((changed > 0).then(|| format!("{changed} another")));
                words.extend((unknown > 0).then(|| format!("{unknown} without enough rounds")));
                words.join(", ")
            }
        }
    }
}
