//! What the rows of one experiment show.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{
    Check, Design, Estimate, Historic, LedgerEntry, Quantiles, Sample, Size, Variant, twin_of,
};
use crate::stats::{self, Comparison, Interval, Judgement, MIN_STARTS, StartComparison};

/// One figure of one turn with all that is known of the turn: what the record keeps.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// Process start, from 0.
    pub process: u32,
    /// Round within the process start, from 0.
    pub round: u32,
    /// Place within the round, from 0.
    pub turn: u32,
    /// Left out of what is computed.
    pub warm_up: bool,
    /// The variant's name; of a twin with [`TWIN`](super::design::TWIN).
    pub variant: String,
    /// The CPUs it was pinned to.
    pub cpus: Vec<u32>,
    /// When the turn began, nanoseconds since 1970.
    pub started_ns: u64,
    /// The metric's unit.
    pub unit: String,
    /// The figure.
    pub sample: Sample,
    /// What else happened in the turn.
    pub ledger: LedgerEntry,
    /// Why the turn is flagged; empty where it is not.
    pub flags: Vec<String>,
}

impl Row {
    /// A figure of a turn of which nothing else is known.
    pub fn new(variant: impl Into<String>, process: u32, round: u32, sample: Sample) -> Row {
        Row {
            process,
            round,
            turn: 0,
            warm_up: false,
            variant: variant.into(),
            cpus: Vec::new(),
            started_ns: 0,
            unit: String::new(),
            sample,
            ledger: LedgerEntry::default(),
            flags: Vec::new(),
        }
    }
}

/// One experiment in one run: what the record says of it besides its rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExperimentRun {
    /// Which experiment.
    pub id: String,
    /// What its figures mean, [`super::About::definition_digest`].
    pub definition: String,
    /// How thorough.
    pub size: Size,
    /// When it began, RFC 3339.
    pub started_at: String,
    /// What was varied; `None` where it was not measurable.
    pub design: Option<Design>,
    /// Why it ended, in words; empty while it runs.
    pub end: String,
    /// Why it could not be measured here, if so.
    pub not_measurable: Option<String>,
    /// What went wrong: turns that could not be measured, process starts that died.
    pub faults: Vec<String>,
}

impl ExperimentRun {
    /// A run of which nothing else is known yet.
    pub fn new(id: impl Into<String>, size: Size) -> ExperimentRun {
        ExperimentRun {
            id: id.into(),
            definition: String::new(),
            size,
            started_at: String::new(),
            design: None,
            end: String::new(),
            not_measurable: None,
            faults: Vec::new(),
        }
    }
}

/// The rows of one experiment in one run.
#[derive(Debug, Clone, PartialEq)]
pub struct Results {
    /// What it was.
    pub run: ExperimentRun,
    /// Its rows, in the order in which they were measured.
    pub rows: Vec<Row>,
    /// Seed of the intervals.
    pub seed: u64,
    /// Figures printed long ago.
    pub historic: Vec<Historic>,
}

/// Whether a difference is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Standing {
    /// The interval leaves equality out, and the difference is larger than what the twin shows.
    Shown,
    /// It is not, or there are too few rounds.
    NotShown,
    /// It cannot be measured here.
    NotMeasurable,
    /// A check failed: nothing is to be believed.
    Failed,
}

/// One ratio of interest.
#[derive(Debug, Clone, PartialEq)]
pub struct ContrastResult {
    /// What it is compared with.
    pub reference: String,
    /// What is compared.
    pub candidate: String,
    /// In which metric.
    pub metric: String,
    /// All rounds.
    pub all: Option<Comparison>,
    /// Rounds in which neither side is flagged.
    pub quiet: Option<Comparison>,
    /// Process starts that have rounds of both.
    pub starts: usize,
    /// The smallest difference that this run can show between the two, as a ratio minus one; `None`
    /// where no twin tells.
    pub floor: Option<f64>,
    /// What interval, floor, starts, steadiness and checks say together.
    pub judgement: Judgement,
    /// What they would say of the quiet rounds alone, with the same floor.
    pub quiet_judgement: Judgement,
    /// What that comes to.
    pub standing: Standing,
}

impl Standing {
    /// What a judgement comes to.
    fn of(judgement: Judgement) -> Standing {
        match judgement {
            Judgement::Shown(_) => Standing::Shown,
            Judgement::Wrong => Standing::Failed,
            _ => Standing::NotShown,
        }
    }
}

impl ContrastResult {
    /// Whether a difference is shown: the only place that sentences ask.
    pub fn is_shown(&self) -> bool {
        self.judgement.is_shown()
    }

    /// The ratio with its interval.
    pub fn estimate(&self) -> Option<Estimate> {
        let all = self.all?;
        let (low, high) = all.interval.map(|it| (it.low, it.high)).unzip();
        Some(Estimate { value: all.ratio, low, high })
    }
}

impl Results {
    /// The design; an empty slice of everything where it was not measurable.
    pub fn design(&self) -> Option<&Design> {
        self.run.design.as_ref()
    }

    /// The variants of the design, without twins; none where it was not measurable.
    pub fn designed(&self) -> &[Variant] {
        self.design().map_or(&[][..], |design| &design.variants)
    }

    /// The rows of a variant and metric that count.
    pub fn rows_of<'a>(
        &'a self,
        variant: &'a str,
        metric: &'a str,
    ) -> impl Iterator<Item = &'a Row> {
        let is = move |row: &&Row| row.variant == variant && row.sample.metric == metric;
        self.rows.iter().filter(|row| !row.warm_up).filter(is)
    }

    /// The figures of a variant, one a round.
    pub fn values(&self, variant: &str, metric: &str) -> Vec<f64> {
        self.rows_of(variant, metric).map(|row| row.sample.value).collect()
    }

    /// The median over the rounds with its 95 % interval, where all figures are above zero and there are enough of
    /// them. What varies most is the process start, so the interval is that of [`stats::compare_starts`] and needs
    /// [`MIN_STARTS`] of them; it holds the median of all rounds, which the starts need not share alike. It ends where
    /// the figures end: beyond the smallest and the largest it would only repeat how few they are. None is given where
    /// it spans more than a factor of ten: the figures jump between levels, and an interval around
    /// their median would say nothing about either.
    pub fn estimate(&self, variant: &str, metric: &str) -> Option<Estimate> {
        let values = self.values(variant, metric);
        let median = stats::median(&values)?;
        let interval = match values.iter().all(|value| *value > 0.0) {
            true => self.around_starts(variant, metric),
            false => None,
        };
        let interval = interval
            .map(|it| Interval { low: it.low.min(median), high: it.high.max(median) })
            .and_then(|interval| within(interval, &values));
        Some(Estimate {
            value: median,
            low: interval.map(|i| i.low),
            high: interval.map(|i| i.high),
        })
    }

    /// How far a figure of other process starts may be from these; `None` with too few of them.
    fn around_starts(&self, variant: &str, metric: &str) -> Option<Interval> {
        let mut starts: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
        for row in self.rows_of(variant, metric) {
            starts.entry(row.process).or_default().push(row.sample.value);
        }
        let values: Vec<Vec<f64>> = starts.into_values().collect();
        let ones: Vec<Vec<f64>> = values.iter().map(|start| vec![1.0; start.len()]).collect();
        stats::compare_starts(&ones, &values, stats::Z_95, self.seed)?.interval()
    }

    /// A variant's figure where there is one.
    pub fn median(&self, variant: &str, metric: &str) -> Option<f64> {
        stats::median(&self.values(variant, metric))
    }

    /// The distribution of a typical turn: the median of each quantile over the rounds, with the
    /// smallest minimum and the largest maximum of all.
    pub fn distribution(&self, variant: &str, metric: &str) -> Option<Quantiles> {
        let all: Vec<Quantiles> =
            self.rows_of(variant, metric).filter_map(|row| row.sample.distribution).collect();
        let mid =
            |of: fn(&Quantiles) -> f64| stats::median(&all.iter().map(of).collect::<Vec<_>>());
        Some(Quantiles {
            n: all.iter().map(|q| q.n).sum(),
            min: all.iter().map(|q| q.min).reduce(f64::min)?,
            p10: mid(|q| q.p10)?,
            p50: mid(|q| q.p50)?,
            p90: mid(|q| q.p90)?,
            p99: mid(|q| q.p99)?,
            p999: mid(|q| q.p999)?,
            max: all.iter().map(|q| q.max).reduce(f64::max)?,
            mean: mid(|q| q.mean)?,
        })
    }

    /// Figures of two variants, `[start][round]`, in the rounds that have both; with `quiet` only where neither
    /// is flagged.
    pub(crate) fn paired_starts(
        &self,
        reference: &str,
        candidate: &str,
        metric: &str,
        quiet: bool,
    ) -> Paired {
        let counts = |row: &&Row| !quiet || row.flags.is_empty();
        let at = |row: &Row| (row.process, row.round);
        let before: BTreeMap<_, _> = self
            .rows_of(reference, metric)
            .filter(counts)
            .map(|row| (at(row), row.sample.value))
            .collect();
        let mut starts: BTreeMap<u32, (Vec<f64>, Vec<f64>)> = BTreeMap::new();
        for row in self.rows_of(candidate, metric).filter(counts) {
            if let Some(reference) = before.get(&at(row)) {
                let (all, own) = starts.entry(row.process).or_default();
                all.push(*reference);
                own.push(row.sample.value);
            }
        }
        starts.into_values().unzip()
    }

    /// Candidate against reference, round by round; below 1 the candidate's figure is smaller. For pictures
    /// and estimates; whether a difference is shown says [`Results::judged`].
    pub fn compare(&self, reference: &str, candidate: &str, metric: &str) -> Option<Comparison> {
        Some(self.measured(reference, candidate, metric, false, 1)?.comparison)
    }

    /// The comparison over process starts ([`stats::compare_steady`]). Its interval covers the looks that were taken on
    /// the way ([`stats::Looks`]), and holds for `of` comparisons at once.
    fn measured(
        &self,
        reference: &str,
        candidate: &str,
        metric: &str,
        quiet: bool,
        of: usize,
    ) -> Option<StartComparison> {
        let (before, after) = self.paired_starts(reference, candidate, metric, quiet);
        self.compared(before, after, of)
    }

    pub(super) fn compared(
        &self,
        before: Vec<Vec<f64>>,
        after: Vec<Vec<f64>>,
        of: usize,
    ) -> Option<StartComparison> {
        // Bonferroni widens boundaries of several looks by no more than those of one.
        let critical = self.critical() * stats::all_at_once(of) / stats::Z_95;
        stats::compare_steady(before, after, critical, self.seed)
    }

    /// The critical value of an interval of this run, widened for its looks.
    fn critical(&self) -> f64 {
        let looks = self.design().and_then(|design| design.rounds.looks());
        looks.map_or(stats::Z_95, |looks| looks.critical())
    }

    /// How far a variant measured twice can be from itself, as a ratio minus one. `None` without a twin, or with
    /// too few rounds or process starts.
    pub fn floor(&self, variant: &str, metric: &str) -> Option<f64> {
        let twins = self.measured(variant, &twin_of(variant), metric, false, 1)?;
        stats::floor(&twins).map(f64::exp_m1)
    }

    /// The floor of a ratio: the larger one of those of its two variants that have a twin. Where neither has
    /// one, as in earlier records, the largest of all.
    pub(super) fn floor_between(&self, variants: [&str; 2], metric: &str) -> Option<f64> {
        let own = variants.iter().filter_map(|variant| self.floor(variant, metric));
        own.reduce(f64::max).or_else(|| self.largest_floor(metric))
    }

    /// The largest floor of all variants that were measured twice.
    pub fn largest_floor(&self, metric: &str) -> Option<f64> {
        let design = self.design()?;
        let twins = design.twins.iter().filter_map(|twin| design.variants.get(*twin));
        twins.filter_map(|twin| self.floor(&twin.name, metric)).reduce(f64::max)
    }

    /// The ratios of interest, each judged alone: of equal ones, one in twenty may be called different. What is picked
    /// among them because it is shown has to be so for all of them at once ([`Results::is_shown_among`]). Cost: some
    /// thousand bootstrap draws for each, up to a tenth of a second for a thousand rounds.
    pub fn contrasts(&self) -> Vec<ContrastResult> {
        let Some(design) = self.design() else { return Vec::new() };
        let name = |index: usize| design.variants[index].name.as_str();
        let of = |contrast: &super::Contrast| {
            self.judged(name(contrast.reference), name(contrast.candidate), &contrast.metric)
        };
        design.contrasts.iter().map(of).collect()
    }

    /// Whether a ratio is shown as one of `of`, all of which hold at once.
    pub fn is_shown_among(&self, contrast: &ContrastResult, of: usize) -> bool {
        let ContrastResult { reference, candidate, metric, .. } = contrast;
        // A wider interval shows nothing that a narrower one does not.
        contrast.is_shown() && self.judged_of(reference, candidate, metric, of).is_shown()
    }

    /// Whether all ratios of interest are known to so small a part to either side.
    pub fn are_narrow(&self, width: f64) -> bool {
        let contrasts = self.contrasts();
        let narrow = |c: &ContrastResult| {
            let interval = c.all.and_then(|all| Some((all.interval?, all.ratio)));
            interval.is_some_and(|(interval, ratio)| {
                let away = |end: f64| (end / ratio).ln().abs();
                away(interval.low).max(away(interval.high)) <= width
            })
        };
        !contrasts.is_empty() && contrasts.iter().all(narrow)
    }

    /// Two variants that were chosen before the run. Every verdict rests on this or on [`Results::judged_of`].
    pub fn judged(&self, reference: &str, candidate: &str, metric: &str) -> ContrastResult {
        self.judged_of(reference, candidate, metric, 1)
    }

    /// Two variants that are one of `of` pairs in a sentence, or were chosen among so many for their figures:
    /// the best of k. All of these hold at once in 95 % of runs.
    pub fn judged_of(
        &self,
        reference: &str,
        candidate: &str,
        metric: &str,
        of: usize,
    ) -> ContrastResult {
        let compared = self.measured(reference, candidate, metric, false, of);
        let rows = || self.rows_of(reference, metric).chain(self.rows_of(candidate, metric));
        let quiet = match rows().any(|row| !row.flags.is_empty()) {
            true => self.measured(reference, candidate, metric, true, of),
            false => compared,
        };
        self.result([reference, candidate], metric, compared, quiet)
    }

    /// A figure that is a ratio by itself, against one: the geometric mean of `variants` round by round. Their floors
    /// are its floor.
    pub fn judged_ratio(&self, variants: [&str; 2], metric: &str) -> ContrastResult {
        let [first, second] = variants;
        let (before, after) = self.paired_starts(first, second, metric, false);
        let mean = |(a, b): (&Vec<f64>, &Vec<f64>)| -> Vec<f64> {
            a.iter().zip(b).map(|(a, b)| (a * b).sqrt()).collect()
        };
        let means: Vec<Vec<f64>> = before.iter().zip(&after).map(mean).collect();
        let ones = means.iter().map(|start| vec![1.0; start.len()]).collect();
        let compared = self.compared(ones, means, 1);
        self.result(variants, metric, compared, compared)
    }

    fn result(
        &self,
        variants: [&str; 2],
        metric: &str,
        compared: Option<StartComparison>,
        quiet: Option<StartComparison>,
    ) -> ContrastResult {
        let floor = self.floor_between(variants, metric);
        self.result_above(variants, metric, [compared, quiet], floor)
    }

    /// What a comparison comes to above a floor: the only way to a [`ContrastResult`].
    pub(super) fn result_above(
        &self,
        [reference, candidate]: [&str; 2],
        metric: &str,
        [compared, quiet]: [Option<StartComparison>; 2],
        floor: Option<f64>,
    ) -> ContrastResult {
        let wrong = self.is_wrong();
        let judged = |it: StartComparison| it.judged(floor.map(f64::ln_1p), MIN_STARTS, wrong);
        let of = |it: Option<StartComparison>| it.map_or(Judgement::TooFew, judged);
        let judgement = of(compared);
        ContrastResult {
            reference: reference.into(),
            candidate: candidate.into(),
            metric: metric.into(),
            all: compared.map(|compared| compared.comparison),
            quiet: quiet.map(|quiet| quiet.comparison),
            starts: compared.map_or(0, |compared| compared.starts),
            floor,
            judgement,
            quiet_judgement: of(quiet),
            standing: if wrong { Standing::Failed } else { Standing::of(judgement) },
        }
    }

    /// Whether a round that counts has a figure.
    pub fn has_figures(&self) -> bool {
        self.rows.iter().any(|row| !row.warm_up)
    }

    /// Where a turn failed in every round that counts, so that none is complete: the first cause.
    pub fn failed_in_every_round(&self) -> Option<&str> {
        let has_begun = self.run.not_measurable.is_none();
        let cause = self.run.faults.first().filter(|_| has_begun && self.complete_rounds() == 0);
        cause.map(String::as_str)
    }

    /// The same where no turn of these rounds has a figure.
    pub fn failed_throughout(&self) -> Option<&str> {
        self.failed_in_every_round().filter(|_| !self.has_figures())
    }

    /// Whether some result is wrong, so that no figure is to be believed.
    pub fn is_wrong(&self) -> bool {
        self.rows.iter().any(|row| matches!(row.sample.check, Check::Failed(_)))
    }

    /// What was computed wrongly: variant, metric, what.
    pub fn failed_checks(&self) -> Vec<String> {
        let failed = |row: &Row| match &row.sample.check {
            Check::Failed(what) => Some(format!("{}, {}: {what}", row.variant, row.sample.metric)),
            _ => None,
        };
        self.rows.iter().filter_map(failed).collect()
    }

    /// Rounds that count, and how many of them hold a flagged turn.
    pub fn flagged_rounds(&self) -> (usize, usize) {
        let mut rounds = std::collections::BTreeMap::new();
        for row in self.rows.iter().filter(|row| !row.warm_up) {
            *rounds.entry((row.process, row.round)).or_insert(false) |= !row.flags.is_empty();
        }
        (rounds.len(), rounds.values().filter(|flagged| **flagged).count())
    }

    /// Process starts that have rows that count.
    pub fn starts(&self) -> usize {
        let counted = self.rows.iter().filter(|row| !row.warm_up).map(|row| row.process);
        counted.collect::<std::collections::BTreeSet<u32>>().len()
    }

    /// Rounds that count and in which every variant and the twin have a row.
    pub fn complete_rounds(&self) -> usize {
        let turns = self.design().map_or(0, Design::turns);
        let mut rounds = std::collections::BTreeMap::new();
        for row in self.rows.iter().filter(|row| !row.warm_up) {
            let seen: &mut std::collections::BTreeSet<&str> =
                rounds.entry((row.process, row.round)).or_default();
            seen.insert(row.variant.as_str());
        }
        rounds.values().filter(|seen| seen.len() >= turns).count()
    }

    /// The names of the variants, in the order of the design, the twin last.
    pub fn variants(&self) -> Vec<String> {
        self.design().map_or_else(Vec::new, |d| (0..d.turns()).map(|turn| d.turn(turn).1).collect())
    }

    /// The metrics that were measured, in the order of their first row.
    pub fn metrics(&self) -> Vec<(String, String)> {
        let mut found: Vec<(String, String)> = Vec::new();
        for row in &self.rows {
            if found.iter().all(|(name, _)| *name != row.sample.metric) {
                found.push((row.sample.metric.clone(), row.unit.clone()));
            }
        }
        found
    }
}

/// A figure that is not known better than to this factor is told without an interval.
pub const UNKNOWN: f64 = 10.0;

/// The part of an interval that lies within the range of the figures; `None` where it tells nothing.
fn within(interval: Interval, values: &[f64]) -> Option<Interval> {
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let (low, high) = (interval.low.max(least), interval.high.min(most));
    (low <= high && high <= low * UNKNOWN).then_some(Interval { low, high })
}

/// Figures of reference and candidate, `[start][round]`.
pub(crate) type Paired = (Vec<Vec<f64>>, Vec<Vec<f64>>);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::Rounds;
    use crate::stats::Rng;

    /// `b` takes `factor` as long as `a`; both drift together, and some rounds of `a` are disturbed.
    fn results(factor: f64) -> Results {
        let mut rng = Rng::new(3);
        let mut rows = Vec::new();
        for round in 0..60 {
            let drift = 1.0 + f64::from(round) * 0.02;
            for (variant, factor) in [("a", 1.0), ("b", factor), ("a (again)", 1.0)] {
                let disturbed = variant == "a" && round % 10 == 9;
                let value = 100.0 * drift * factor * (1.0 + 0.002 * rng.normal())
                    + if disturbed { 500.0 } else { 0.0 };
                let flags = if disturbed { vec!["foreign".to_string()] } else { Vec::new() };
                rows.push(row(variant, round, value, flags));
            }
        }
        let variants = vec![Variant::new("a"), Variant::new("b")];
        let design = Design::against_first(variants, "time", Rounds::usual(Size::Quick));
        let run = ExperimentRun { design: Some(design), ..ExperimentRun::new("x", Size::Quick) };
        Results { run, rows, seed: 1, historic: Vec::new() }
    }

    fn row(variant: &str, round: u32, value: f64, flags: Vec<String>) -> Row {
        let sample = Sample::new("time", value, 1, Check::Passed);
        Row { unit: "ns".into(), flags, ..Row::new(variant, round / 20, round % 20, sample) }
    }

    #[test]
    fn the_standard_plot_has_the_metric_of_most_variants_whichever_ran_first() {
        let mut results = results(1.02);
        let count = Row {
            unit: "count".into(),
            sample: Sample::new("threads", 3.0, 1, Check::Passed),
            ..row("a", 0, 0.0, Vec::new())
        };
        results.rows.insert(0, count);
        let plots = crate::harness::standard_plots(&results);
        let crate::harness::Plot::Bars { title, bars, .. } = &plots[0] else { panic!("{plots:?}") };
        assert_eq!((title.as_str(), bars.len()), ("Median time of each variant", 3), "{plots:?}");
        // Of equal ones, the first.
        results.rows.retain(|row| row.variant == "a");
        let plots = crate::harness::standard_plots(&results);
        let crate::harness::Plot::Bars { title, .. } = &plots[0] else { panic!("{plots:?}") };
        assert_eq!(title, "Median threads of each variant");
    }

    #[test]
    fn a_difference_above_the_floor_is_shown_and_one_below_is_not() {
        let shown = &results(1.02).contrasts()[0];
        assert_eq!(shown.standing, Standing::Shown, "{shown:?}");
        assert!((shown.all.unwrap().ratio - 1.02).abs() < 0.003 && shown.floor.unwrap() < 0.01);
        assert_eq!((shown.all.unwrap().rounds, shown.quiet.unwrap().rounds), (60, 54));
        assert_eq!(results(1.0).contrasts()[0].standing, Standing::NotShown);
    }

    #[test]
    fn a_wrong_result_takes_every_verdict_away() {
        let mut results = results(2.0);
        results.rows[4].sample.check = Check::Failed("7 is not 8".into());
        assert_eq!(results.contrasts()[0].standing, Standing::Failed);
        assert_eq!(results.failed_checks().len(), 1);
        let own = crate::harness::contrast_sentences(&results);
        let first = &crate::harness::framed(&results, own)[0];
        assert!(first.text.contains("7 is not 8"), "{first:?}");
    }

    #[test]
    fn intervals_stay_within_the_figures_and_say_nothing_absurd() {
        let of = |values: &[f64], starts: u32| {
            let mut results = results(1.0);
            let row = |(value, round): (&f64, u32)| Row {
                process: round % starts,
                ..row("a", round, *value, Vec::new())
            };
            results.rows = values.iter().zip(0..).map(row).collect();
            results.estimate("a", "time").unwrap()
        };
        let few = of(&[1.0, 1.1, 1.3, 1.0, 2.0, 1.2, 1.1], 3);
        assert!(few.low >= Some(1.0) && few.high <= Some(2.0), "{few:?}");
        let jumps = of(&[1e7, 80.0, 9e6, 70.0, 1.1e7, 75.0, 9e6, 8e6, 60.0], 3);
        assert_eq!((jumps.low, jumps.high), (None, None), "{jumps:?}");
    }

    /// Rounds of one start agree however far the next start is from it: they are no evidence of their own.
    #[test]
    fn the_interval_of_a_figure_covers_how_starts_differ() {
        let of = |levels: &[f64]| {
            let mut results = results(1.0);
            let level = |(level, start): (&f64, u32)| {
                let level = *level;
                (0..20).map(move |round| {
                    let value = level * (1.0 + 0.001 * f64::from(round % 5));
                    Row { process: start, ..row("a", round, value, Vec::new()) }
                })
            };
            results.rows = levels.iter().zip(0..).flat_map(level).collect();
            results.estimate("a", "time").unwrap()
        };
        for few in [of(&[100.0]), of(&[100.0, 104.0])] {
            assert_eq!((few.low, few.high), (None, None), "{few:?}");
        }
        let apart = of(&[100.0, 104.0, 98.0, 103.0, 100.0]);
        assert!(apart.low < Some(98.5) && apart.high > Some(103.5), "{apart:?}");
        assert!(apart.low <= Some(apart.value) && apart.high >= Some(apart.value), "{apart:?}");
        let alike = of(&[100.0, 100.01, 99.99, 100.0, 100.0]);
        assert!(alike.low > Some(99.9) && alike.high < Some(100.5), "{alike:?}");
    }

    /// The rounds without flags are judged like all rounds, floor and starts included.
    #[test]
    fn the_quiet_rounds_have_a_judgement_of_their_own() {
        let contrast = |results: &Results| results.contrasts().remove(0);
        let mut flagged = results(1.02);
        assert!(contrast(&flagged).quiet_judgement.is_more());
        for row in flagged.rows.iter_mut().filter(|row| row.process > 0) {
            row.flags = vec!["foreign".into()];
        }
        let one_start = contrast(&flagged);
        assert!(one_start.judgement.is_more(), "{one_start:?}");
        assert_eq!(one_start.quiet_judgement, Judgement::TooFewStarts, "{one_start:?}");
    }

    #[test]
    fn runs_are_compared_by_process_starts() {
        let (before, after) = (results(1.5), results(3.0));
        let same = crate::harness::unpaired(&before, &before, "b", "time", 1).unwrap();
        assert!(same.ratio == 1.0 && same.interval.unwrap().contains(1.0));
        let twice = crate::harness::unpaired(&before, &after, "b", "time", 1).unwrap();
        assert!((twice.ratio - 2.0).abs() < 0.01);
        assert_eq!(same.judged(Some(0.01), 3), Judgement::NotShown);
        assert!(twice.judged(Some(0.01), 3).is_more());
        assert_eq!(twice.judged(Some(1.5), 3), Judgement::BelowFloor);
        assert_eq!(twice.judged(None, 3), Judgement::TooFew);
        let many = crate::harness::unpaired(&before, &after, "b", "time", 100).unwrap();
        let width = |it: &crate::stats::Unpaired| it.interval.unwrap().half_width();
        assert!(width(&many) >= width(&twice), "what holds for many at once is wider");
        let floor = crate::harness::floor_of_both(&before, &after, "b", "time").unwrap();
        assert!(floor > 0.0 && floor < 0.05, "{floor}");
        assert!(crate::harness::unpaired(&before, &after, "gone", "time", 1).is_none());
    }
}
