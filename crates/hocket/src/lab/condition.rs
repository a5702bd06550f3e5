//! `--fail-if`: when a run, or the change between two runs, counts as failed.

use std::fmt;

use hocket_lab::experiments::find;
use hocket_lab::harness::{Results, floor_of_both, incomparable, unpaired};
use hocket_lab::numbers::change_with;
use hocket_lab::stats::MIN_STARTS;

use super::names;
use crate::failure::Failure;

/// `ID.METRIC > X`, of one variant or of any.
#[derive(Debug, Clone, PartialEq)]
pub struct Condition {
    id: String,
    metric: String,
    variant: Option<String>,
    compare: Compare,
    bound: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Compare {
    Above,
    AtLeast,
    Below,
    AtMost,
}

impl Compare {
    /// Longer signs first, so that `>=` is not read as `>`.
    const ALL: [(&'static str, Compare); 4] = [
        (">=", Compare::AtLeast),
        ("<=", Compare::AtMost),
        (">", Compare::Above),
        ("<", Compare::Below),
    ];

    fn sign(self) -> &'static str {
        Compare::ALL.iter().find(|(_, compare)| *compare == self).map_or("", |(sign, _)| sign)
    }

    fn holds(self, value: f64, bound: f64) -> bool {
        match self {
            Compare::Above => value > bound,
            Compare::AtLeast => value >= bound,
            Compare::Below => value < bound,
            Compare::AtMost => value <= bound,
        }
    }
}

const FORM: &str = "write ID.METRIC > X or ID.METRIC[VARIANT] > X, as in \"wake.lateness-p99 > 100000\" (also <, >=, <=)";

impl Condition {
    /// Reads a condition.
    ///
    /// # Errors
    /// In words, with the form that is understood.
    pub fn parse(text: &str) -> Result<Condition, String> {
        let found = Compare::ALL
            .iter()
            .find_map(|(sign, compare)| Some((text.split_once(sign)?, *compare)));
        let ((what, bound), compare) = found.ok_or(FORM)?;
        let bound: f64 = bound.trim().parse().map_err(|_| FORM)?;
        let (id, metric) = what.trim().split_once('.').ok_or(FORM)?;
        let (metric, variant) = match metric.split_once('[') {
            Some((metric, rest)) => (metric, Some(rest.strip_suffix(']').ok_or(FORM)?.to_string())),
            None => (metric, None),
        };
        if !bound.is_finite() {
            return Err(FORM.into());
        }
        Ok(Condition {
            id: id.trim().into(),
            metric: metric.trim().into(),
            variant,
            compare,
            bound,
        })
    }

    /// That there is such an experiment and metric.
    ///
    /// # Errors
    /// With the nearest names.
    pub fn check(&self) -> Result<(), Failure> {
        let about = names::experiment(&self.id)?.about();
        if about.metric(&self.metric).is_some() {
            return Ok(());
        }
        let metrics: Vec<&str> = about.metrics.iter().map(|metric| metric.name).collect();
        let hint = names::nearest(&self.metric, metrics.iter().copied());
        let all = metrics.join(", ");
        Err(Failure::bad_input(format!(
            "--fail-if: experiment '{}' has no metric '{}'; {hint}it has {all}",
            self.id, self.metric
        )))
    }

    /// The experiment it is about.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// What holds, a sentence for each variant; empty where the condition does not hold. A variant
    /// that was not measured is told as an error.
    ///
    /// # Errors
    /// Nothing was measured that the condition could hold for.
    pub fn holding(&self, results: &Results) -> Result<Vec<String>, Failure> {
        let of = |variant: &String| Some((variant.clone(), results.median(variant, &self.metric)?));
        let wanted =
            |variant: &String| self.variant.as_ref().is_none_or(|wanted| wanted == variant);
        let measured: Vec<_> =
            results.variants().iter().filter(|v| wanted(v)).filter_map(of).collect();
        if measured.is_empty() {
            let variants = results.variants();
            let hint = match &self.variant {
                Some(wanted) => names::nearest(wanted, variants.iter().map(String::as_str)),
                None => String::new(),
            };
            let why = results
                .run
                .not_measurable
                .as_deref()
                .unwrap_or("nothing was measured that it names");
            return Err(Failure::bad_input(format!(
                "--fail-if \"{self}\": {why}; {hint}see `hocket lab report`"
            )));
        }
        let held = measured.into_iter().filter(|(_, value)| self.compare.holds(*value, self.bound));
        let unit =
            find(&self.id).and_then(|e| e.about().metric(&self.metric)).map_or("", |m| m.unit);
        Ok(held
            .map(|(variant, value)| format!("{self} holds for {variant}: {value:.6} {unit}"))
            .collect())
    }
}

/// `ID.METRIC > X%`, of one variant or of any: by how much the figure of a second run differs from that of a first.
#[derive(Debug, Clone, PartialEq)]
pub struct Change(Condition);

const FORM_OF_CHANGES: &str = "write ID.METRIC > X% for a figure that must not rise by more, or ID.METRIC < -X% for one that \
                               must not fall by more, as in \"wake.lateness > 10%\"; [VARIANT] after METRIC names one variant";

impl Change {
    /// Reads a condition.
    ///
    /// # Errors
    /// In words, with the form that is understood.
    pub fn parse(text: &str) -> Result<Change, String> {
        let percent = text.trim().strip_suffix('%').ok_or(FORM_OF_CHANGES)?;
        let condition = Condition::parse(percent).map_err(|_| FORM_OF_CHANGES)?;
        let rises = matches!(condition.compare, Compare::Above | Compare::AtLeast);
        match condition.bound {
            bound if rises && bound >= 0.0 => Ok(Change(condition)),
            bound if !rises && (-100.0..=0.0).contains(&bound) => Ok(Change(condition)),
            _ => Err(FORM_OF_CHANGES.into()),
        }
    }

    /// As [`Condition::check`].
    ///
    /// # Errors
    /// With the nearest names.
    pub fn check(&self) -> Result<(), Failure> {
        self.0.check()
    }

    /// What holds between two runs of all these conditions, a sentence for each variant; empty where none does. One holds
    /// where the ratio of the medians is shown to be beyond the bound: its interval leaves the bound out, and it is farther
    /// from the bound than the floor of both runs. The intervals of all variants of all conditions hold at once, since any of
    /// them fails the command.
    ///
    /// # Errors
    /// One of the runs does not have the figures, or too few of them to judge, or the runs are of different size.
    pub fn holding(
        all: &[Change],
        before: &[Results],
        after: &[Results],
    ) -> Result<Vec<String>, Failure> {
        let meant = all.iter().map(|change| change.meant(before, after));
        let meant: Vec<Meant> = meant.collect::<Result<_, _>>()?;
        let of = meant.iter().map(|it| it.variants.len()).sum();
        let held = all.iter().zip(&meant).map(|(change, meant)| change.held(meant, of));
        Ok(held.collect::<Result<Vec<_>, _>>()?.concat())
    }

    fn refuse(&self, why: impl fmt::Display) -> Failure {
        Failure::bad_input(format!("--fail-if \"{self}\": {why}"))
    }

    /// The variants that it names and both runs have.
    fn meant<'r>(&self, before: &'r [Results], after: &'r [Results]) -> Result<Meant<'r>, Failure> {
        let Condition { id, metric, variant: wanted, .. } = &self.0;
        let of = |all: &'r [Results]| all.iter().find(|results| results.run.id == *id);
        let (Some(a), Some(b)) = (of(before), of(after)) else {
            let why = format!("only runs that both have '{id}' can be judged; measure it");
            return Err(self.refuse(why));
        };
        if let Some(why) = incomparable(a, b) {
            return Err(self.refuse(why));
        }
        let [small, large] = [a, b].map(|results| results.run.size);
        if small != large {
            return Err(self.refuse(format_args!(
                "not comparable: one run is {}, the other {}, so their turns are of different length; repeat one of them",
                small.name(),
                large.name()
            )));
        }
        let is_wanted = |name: &String| wanted.as_ref().is_none_or(|wanted| wanted == name);
        let is_measured = |name: &String| unpaired(a, b, name, metric, 1).is_some();
        let names = a.variants();
        let both = names.iter().filter(|name| is_wanted(name) && is_measured(name));
        let variants: Vec<String> = both.cloned().collect();
        if variants.is_empty() {
            let known = names.iter().map(String::as_str);
            let hint = wanted.as_ref().map_or(String::new(), |it| names::nearest(it, known));
            return Err(self.refuse(format_args!(
                "nothing was measured in both runs that it names; {hint}see `hocket lab report`"
            )));
        }
        Ok(Meant { before: a, after: b, variants })
    }

    /// What holds, as some of `of` comparisons.
    fn held(&self, meant: &Meant, of: usize) -> Result<Vec<String>, Failure> {
        let Condition { metric, compare, bound, .. } = &self.0;
        let Meant { before, after, variants } = meant;
        let bound = 1.0 + bound / 100.0;
        let rises = matches!(compare, Compare::Above | Compare::AtLeast);
        let mut held = Vec::new();
        for name in variants {
            let Some(found) = unpaired(before, after, name, metric, of) else { continue };
            let floor = floor_of_both(before, after, name, metric);
            if !found.judged(floor, MIN_STARTS).is_decided() {
                return Err(self.refuse(format_args!(
                    "{name} cannot be judged: that takes {MIN_STARTS} process starts in each run, figures above zero and a \
                     variant that is measured twice; give both runs more time"
                )));
            }
            let beyond = found.judged_beyond(bound, floor, MIN_STARTS);
            let holds = if rises { beyond.is_more() } else { beyond.is_less() };
            if holds {
                let changed = change_with(found.ratio, found.interval);
                held.push(format!("{self} holds for {name}: {changed}"));
            }
        }
        Ok(held)
    }
}

/// What a condition is about: one experiment in two runs.
struct Meant<'r> {
    before: &'r Results,
    after: &'r Results,
    /// That both runs have figures of.
    variants: Vec<String>,
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}%", self.0)
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Condition { id, metric, variant, compare, bound } = self;
        let variant = variant.as_ref().map(|variant| format!("[{variant}]")).unwrap_or_default();
        write!(f, "{id}.{metric}{variant} {} {bound}", compare.sign())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_have_a_direction_and_a_percent_sign() {
        for text in ["wake.lateness > 10%", "locks.passes[mcs alone] < -5%", "a.b >= 0%"] {
            assert_eq!(Change::parse(text).unwrap().to_string(), text);
        }
        for bad in ["wake.lateness > 10", "wake.lateness > -10%", "a.b < 5%", "a.b < -200%", "%"] {
            assert!(Change::parse(bad).unwrap_err().contains("ID.METRIC > X%"), "{bad}");
        }
    }

    #[test]
    fn conditions_are_read_and_printed() {
        for text in ["wake.lateness > 10", "a.b[one line] <= 0.5", "a.b >= -3"] {
            assert_eq!(Condition::parse(text).unwrap().to_string(), text);
        }
        for bad in ["", "wake > 3", "wake.x", "wake.x > fast", "a.b[c > 3", "a.b > NaN"] {
            assert!(Condition::parse(bad).unwrap_err().contains("ID.METRIC"), "{bad}");
        }
    }
}
