//! What an experiment has to provide.

use std::path::Path;

use hocket_files::ScratchFolder;
use serde::{Deserialize, Serialize};

use super::design::{Design, NotMeasurable, Size};
use super::results::Results;
use super::{About, Host, Plot, Sentence, contrast_sentences, framed, standard_plots};
use crate::stats::quantile_sorted;

/// One experiment. A unit struct in a file of its own, listed in [`crate::experiments::ALL`].
///
/// `design` runs in the program that the user started; `open` and everything after it in a child
/// process, once for each process start; `verdicts` and `plots` wherever the rows are read, possibly on
/// another machine and years later, so they look at nothing but the rows.
pub trait Experiment: Sync {
    /// What stands in the catalogue.
    fn about(&self) -> &'static About;

    /// Which variants this machine can run, and which it cannot and why.
    ///
    /// # Errors
    /// [`NotMeasurable`]: the whole experiment is not possible here; the report says so in its place.
    fn design(&self, host: &Host, size: Size) -> Result<Design, NotMeasurable>;

    /// Prepares one process start: buffers, calibrated repetitions. `design` is the one that was made
    /// before, in the same order.
    ///
    /// # Errors
    /// [`NotMeasurable`], as above.
    fn open(&self, host: &Host, size: Size, design: &Design) -> Opened;

    /// Makes what all process starts need, once a run, in the program that the user started: a folder of programs that
    /// were built. It goes with the run.
    ///
    /// # Errors
    /// [`NotMeasurable`], as above; also if `is_ending` says that nobody needs it any more.
    fn prepare(&self, is_ending: &dyn Fn() -> bool) -> Prepared {
        let _ = is_ending;
        Ok(None)
    }

    /// As [`Experiment::open`], with the folder that [`Experiment::prepare`] made.
    ///
    /// # Errors
    /// [`NotMeasurable`], as above.
    fn open_in(&self, host: &Host, size: Size, design: &Design, folder: Option<&Path>) -> Opened {
        let _ = folder;
        self.open(host, size, design)
    }

    /// How long a turn of a quick run takes, more or less: by this and by its turns an experiment gets its share of the
    /// time.
    fn turn_ms(&self) -> f64 {
        12.0
    }

    /// How long it takes until the first round of a quick run begins, more or less: compilers that build a guest, programs
    /// that start. A run keeps this time free for it.
    fn start_ms(&self) -> f64 {
        100.0
    }

    /// What the experiment says of its rows, the most important first; by default one sentence a contrast.
    /// Reports show [`Experiment::verdicts`], which takes back what does not hold.
    fn findings(&self, results: &Results) -> Vec<Sentence> {
        contrast_sentences(results)
    }

    /// What the rows show: wrong results, [`Experiment::findings`] as far as they hold, and what is missing.
    fn verdicts(&self, results: &Results) -> Vec<Sentence> {
        framed(results, self.findings(results))
    }

    /// What follows for somebody who plays a session, in plain words: what to do, then the figure that says so. Most
    /// experiments answer other questions.
    fn advice(&self, results: &Results) -> Option<Sentence> {
        let _ = results;
        None
    }

    /// What to draw; by default the medians of the first metric as bars.
    fn plots(&self, results: &Results) -> Vec<Plot> {
        standard_plots(results)
    }

    /// Figures printed long ago, to stand beside today's.
    fn historic(&self) -> Vec<Historic> {
        Vec::new()
    }

    /// What of today is nearest to an old figure that is defined otherwise; by default the figure of its own metric and
    /// variant. Reports name it next to the old one, with what differs, and compare nothing.
    fn nearest(&self, old: &Historic) -> Vec<Nearest> {
        old.variant.map(|variant| Nearest::of(old.metric, variant)).into_iter().collect()
    }
}

/// What [`Experiment::prepare`] gives: a folder that is there until the run has ended, or none.
pub type Prepared = Result<Option<ScratchFolder>, NotMeasurable>;

/// What [`Experiment::open`] gives: a process start that is prepared, or why there is none.
pub type Opened = Result<Box<dyn Apparatus>, NotMeasurable>;

/// What measures, in one process start.
pub trait Apparatus {
    /// One turn of one variant (an index into [`Design::variants`]) in one round: at least one sample.
    ///
    /// Runs on the main thread of the child. Aim at a turn of 5 to 50 ms in [`Size::Quick`] so that a
    /// round stays short against what drifts; the threads of a turn end with it.
    ///
    /// # Errors
    /// [`Fault`]: this turn could not be measured; the others go on.
    fn measure(&mut self, variant: usize) -> Result<Vec<Sample>, Fault>;
}

impl<F: FnMut(usize) -> Result<Vec<Sample>, Fault>> Apparatus for F {
    fn measure(&mut self, variant: usize) -> Result<Vec<Sample>, Fault> {
        self(variant)
    }
}

/// Why a turn could not be measured.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Fault(pub String);

impl Fault {
    /// From anything that can be told.
    pub fn new(what: impl std::fmt::Display) -> Fault {
        Fault(what.to_string())
    }
}

/// Whether a result was right.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Check {
    /// It was compared with what it must be, and is.
    Passed,
    /// It is not what it must be: the figure is not to be believed and the run fails.
    Failed(String),
    /// There is nothing to compare it with, and why.
    None(String),
}

impl Check {
    /// Passed, or what is wrong.
    pub fn of<E: std::fmt::Display>(outcome: Result<(), E>) -> Check {
        outcome.map_or_else(|wrong| Check::Failed(wrong.to_string()), |()| Check::Passed)
    }

    /// Passed where `got` is `expected`.
    pub fn equal<T: PartialEq + std::fmt::Display>(what: &str, got: T, expected: T) -> Check {
        match got == expected {
            true => Check::Passed,
            false => Check::Failed(format!("{what} is {got} and must be {expected}")),
        }
    }

    /// Both passed, or the first that did not.
    pub fn and(self, other: Check) -> Check {
        match (self, other) {
            (failed @ Check::Failed(_), _) | (_, failed @ Check::Failed(_)) => failed,
            (Check::None(why), _) | (_, Check::None(why)) => Check::None(why),
            (Check::Passed, Check::Passed) => Check::Passed,
        }
    }
}

/// One figure of one turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// Which, one of [`About::metrics`].
    pub metric: String,
    /// In the metric's unit.
    pub value: f64,
    /// How many operations the figure rests on.
    pub ops: u64,
    /// Whether what was computed was right.
    pub check: Check,
    /// Where the figure is one quantile of many values: the others.
    pub distribution: Option<Quantiles>,
}

impl Sample {
    /// A figure that rests on `ops` operations.
    pub fn new(metric: &str, value: f64, ops: u64, check: Check) -> Sample {
        Sample { metric: metric.into(), value, ops, check, distribution: None }
    }

    /// The median of some values, which are kept as quantiles; `None` for no values.
    pub fn median_of(metric: &str, values: &[f64], check: Check) -> Option<Sample> {
        let quantiles = Quantiles::of(values)?;
        Some(Sample {
            metric: metric.into(),
            value: quantiles.p50,
            ops: quantiles.n,
            check,
            distribution: Some(quantiles),
        })
    }
}

/// A distribution in nine figures, in the unit of its values.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Quantiles {
    /// How many values.
    pub n: u64,
    /// The smallest.
    pub min: f64,
    /// 10 of 100 are at most this.
    pub p10: f64,
    /// The median.
    pub p50: f64,
    /// 90 of 100 are at most this.
    pub p90: f64,
    /// 99 of 100 are at most this.
    pub p99: f64,
    /// 999 of 1000 are at most this.
    pub p999: f64,
    /// The largest.
    pub max: f64,
    /// The mean, because historic tables print it.
    pub mean: f64,
}

impl Quantiles {
    /// Of values in any order; `None` for no values. O(n log n), one allocation.
    pub fn of(values: &[f64]) -> Option<Quantiles> {
        let mut sorted = values.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        let at = |q| quantile_sorted(&sorted, q);
        Some(Quantiles {
            n: sorted.len() as u64,
            min: *sorted.first()?,
            p10: at(0.1)?,
            p50: at(0.5)?,
            p90: at(0.9)?,
            p99: at(0.99)?,
            p999: at(0.999)?,
            max: *sorted.last()?,
            mean: sorted.iter().sum::<f64>() / sorted.len() as f64,
        })
    }
}

/// A figure printed long ago.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Historic {
    /// What it was measured on or with.
    pub label: &'static str,
    /// The figure.
    pub value: f64,
    /// Its unit.
    pub unit: &'static str,
    /// The metric beside which it stands.
    pub metric: &'static str,
    /// The variant beside which it stands, where it is that of one.
    pub variant: Option<&'static str>,
    /// What the figure is.
    pub definition: &'static str,
    /// What differs from the metric beside which it stands, in a sentence. Then it is quoted with this sentence, drawn on no
    /// axis, and what is nearest of today is named apart ([`Experiment::nearest`]).
    pub differs: Option<&'static str>,
    /// Where it is printed.
    pub source: &'static str,
}

impl Historic {
    /// A figure for the page of `metric`. The methods below add what it means and where it was printed.
    pub const fn new(
        label: &'static str,
        value: f64,
        unit: &'static str,
        metric: &'static str,
    ) -> Historic {
        let (variant, differs) = (None, None);
        Historic { label, value, unit, metric, variant, definition: "", differs, source: "" }
    }

    /// With the variant beside which it stands.
    pub const fn beside(self, variant: &'static str) -> Historic {
        Historic { variant: Some(variant), ..self }
    }

    /// With its definition.
    pub const fn means(self, definition: &'static str) -> Historic {
        Historic { definition, ..self }
    }

    /// With what differs from the metric, so that the two are not compared.
    pub const fn differs(self, what: &'static str) -> Historic {
        Historic { differs: Some(what), ..self }
    }

    /// With where it is printed.
    pub const fn printed_in(self, source: &'static str) -> Historic {
        Historic { source, ..self }
    }
}

/// A figure of today that is near to an old one, and yet another. Where the old figure is a change in per cent or a ratio
/// and the metric is neither, this is the change of the metric from another variant: the one that is named, or else what
/// the design compares the variant with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Nearest {
    /// Which figure.
    pub metric: &'static str,
    /// Of which variant.
    pub variant: String,
    /// From which variant, where the design does not say it. An old figure in times is then such a ratio.
    pub from: Option<String>,
    /// What else differs, if it only serves machines that lack the nearer ones; in words that follow a figure.
    pub instead: Option<&'static str>,
}

impl Nearest {
    /// The figure of a variant.
    pub fn of(metric: &'static str, variant: impl Into<String>) -> Nearest {
        Nearest { metric, variant: variant.into(), from: None, instead: None }
    }

    /// The figure of a variant divided by that of another one.
    pub fn ratio(
        metric: &'static str,
        variant: impl Into<String>,
        from: impl Into<String>,
    ) -> Nearest {
        Nearest { from: Some(from.into()), ..Nearest::of(metric, variant) }
    }

    /// One for machines without the nearer ones.
    pub fn instead(metric: &'static str, variant: impl Into<String>, why: &'static str) -> Nearest {
        Nearest { instead: Some(why), ..Nearest::of(metric, variant) }
    }
}
