//! What an experiment varies on this machine.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Host, Relation};

/// How thorough a run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Size {
    /// Seconds an experiment.
    Quick,
    /// Minutes an experiment.
    Full,
}

impl Size {
    /// One of two values.
    pub fn pick<T>(self, quick: T, full: T) -> T {
        match self {
            Size::Quick => quick,
            Size::Full => full,
        }
    }

    /// Of what is set for a quick and for a full run.
    pub fn of<T: Copy>(self, [quick, full]: [T; 2]) -> T {
        self.pick(quick, full)
    }

    /// As on the command line.
    pub fn name(self) -> &'static str {
        self.pick("quick", "full")
    }
}

/// Why a whole experiment cannot be measured here: what is missing and, where something would, what
/// would help.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[error("{0}")]
pub struct NotMeasurable(pub String);

impl NotMeasurable {
    /// From anything that can be told.
    pub fn new(why: impl std::fmt::Display) -> NotMeasurable {
        NotMeasurable(why.to_string())
    }
}

/// One of the things that are compared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Variant {
    /// Short, unique within the design and the same on every machine that can run it.
    pub name: String,
    /// What was varied, factor by factor, for tables and plots.
    pub factors: BTreeMap<String, String>,
    /// CPUs it is pinned to, by the system's numbers; empty where the scheduler chooses.
    pub cpus: Vec<u32>,
    /// How those CPUs are related.
    pub relation: Option<Relation>,
    /// Its threads compete for CPUs on purpose, so that being put aside is no disturbance.
    pub crowded: bool,
}

impl Variant {
    /// A variant without factors, pinned nowhere.
    pub fn new(name: impl Into<String>) -> Variant {
        Variant {
            name: name.into(),
            factors: BTreeMap::new(),
            cpus: Vec::new(),
            relation: None,
            crowded: false,
        }
    }

    /// With the level of a factor.
    pub fn with(mut self, factor: &str, level: impl ToString) -> Variant {
        self.factors.insert(factor.into(), level.to_string());
        self
    }

    /// Pinned to CPUs that are so related.
    pub fn on(mut self, cpus: &[u32], relation: Option<Relation>) -> Variant {
        self.cpus = cpus.to_vec();
        self.relation = relation;
        self
    }

    /// More threads than CPUs, or a load of its own.
    pub fn crowded(self) -> Variant {
        self.crowded_if(true)
    }

    /// The same where it holds.
    pub fn crowded_if(self, crowded: bool) -> Variant {
        Variant { crowded, ..self }
    }

    /// The level of a factor; empty where it has none.
    pub fn level(&self, factor: &str) -> &str {
        self.factors.get(factor).map_or("", String::as_str)
    }
}

/// Two variants whose ratio is of interest; below 1 the candidate's figure is smaller.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contrast {
    /// Index of what it is compared with.
    pub reference: usize,
    /// Index of what is compared.
    pub candidate: usize,
    /// In which metric.
    pub metric: String,
}

impl Contrast {
    /// A contrast.
    pub fn new(reference: usize, candidate: usize, metric: &str) -> Contrast {
        Contrast { reference, candidate, metric: metric.into() }
    }
}

/// How often everything is repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rounds {
    /// Process starts.
    pub processes: u32,
    /// Rounds that a process start has where time allows; the time limit may leave fewer, and at
    /// least one.
    pub per_process: u32,
    /// Rounds at the start of a process that are measured, kept and left out of what is computed.
    pub warm_up: u32,
}

impl Rounds {
    /// After which process starts the harness looks whether the intervals are narrow enough to end. Each
    /// look is a chance to be wrong, so their number is fixed and the intervals are widened for it.
    /// `None` below three starts: then it does not look.
    pub fn looks(&self) -> Option<crate::stats::Looks> {
        let (first, last) = (crate::stats::MIN_STARTS, self.processes as usize);
        crate::stats::Looks::spread(first, last, 2)
    }

    /// What most experiments use: 5 process starts in a quick run, 10 in a full one. With 5 starts of 16
    /// rounds a difference of 2 % is found in 95 of 100 runs under most kinds of noise
    /// (`tests/stats_noise.rs`).
    pub fn usual(size: Size) -> Rounds {
        Rounds { processes: size.pick(5, 10), per_process: size.pick(40, 150), warm_up: 1 }
    }

    /// The same, of which the first round of each process start warms up.
    pub fn warmed_up(self) -> Rounds {
        Rounds { warm_up: 1, ..self }
    }

    /// For experiments whose turns are long: the fewest process starts that show anything, few rounds, of which none
    /// warms up.
    pub fn few(size: Size) -> Rounds {
        Rounds { processes: size.pick(3, 5), per_process: size.pick(4, 12), warm_up: 0 }
    }
}

/// What is appended to the name of a variant that is measured twice.
pub const TWIN: &str = " (again)";

/// The name under which a variant is measured again.
pub fn twin_of(variant: &str) -> String {
    format!("{variant}{TWIN}")
}

/// A list, or what stood there before: one index or nothing.
fn one_or_several<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Vec<usize>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Twins {
        Several(Vec<usize>),
        OneOrNone(Option<usize>),
    }
    Ok(match Twins::deserialize(from)? {
        Twins::Several(twins) => twins,
        Twins::OneOrNone(twin) => twin.into_iter().collect(),
    })
}

/// What an experiment varies on this machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Design {
    /// The variants, in the order of tables.
    pub variants: Vec<Variant>,
    /// The ratios of interest, the most important first.
    pub contrasts: Vec<Contrast>,
    /// Variants that are not possible here, and why.
    pub missing: Vec<(String, String)>,
    /// How often.
    pub rounds: Rounds,
    /// The variants that are measured twice under two names, so that the report can say how large a
    /// difference nothing makes: of every contrast the reference. The harness adds the second ones at
    /// the end. Records of before have one or none, under another name.
    #[serde(alias = "twin", deserialize_with = "one_or_several")]
    pub twins: Vec<usize>,
}

impl Design {
    /// Variants that are all compared with the first in `metric`; the first has a twin.
    pub fn against_first(variants: Vec<Variant>, metric: &str, rounds: Rounds) -> Design {
        let contrasts = (1..variants.len()).map(|i| Contrast::new(0, i, metric)).collect();
        Design { variants, contrasts, missing: Vec::new(), rounds, twins: vec![0] }
    }

    /// Variants without a comparison and without a twin.
    pub fn facts(variants: Vec<Variant>, rounds: Rounds) -> Design {
        Design { variants, contrasts: Vec::new(), missing: Vec::new(), rounds, twins: Vec::new() }
    }

    /// With the relations that no two usable CPUs have among what is missing.
    pub fn without_relations_of(mut self, host: &Host) -> Design {
        let absent = host.absent_relations().into_iter();
        self.missing.extend(absent.map(|(relation, why)| (relation.name().into(), why)));
        self
    }

    /// With a twin of every reference that has none yet; without contrasts, of the first variant.
    pub fn twinned(mut self) -> Design {
        let references = self.contrasts.iter().map(|contrast| contrast.reference);
        self.twins.extend(references);
        self.twins.sort_unstable();
        self.twins.dedup();
        if self.twins.is_empty() && !self.variants.is_empty() {
            self.twins.push(0);
        }
        self
    }

    /// Adds variants of which the first is what the others are compared with in `metric`.
    pub fn group(&mut self, metric: &str, variants: impl IntoIterator<Item = Variant>) {
        let reference = self.variants.len();
        self.variants.extend(variants);
        let others = reference + 1..self.variants.len();
        self.contrasts.extend(others.map(|other| Contrast::new(reference, other, metric)));
    }

    /// Whether anything is compared; otherwise the figures are facts.
    pub fn compares(&self) -> bool {
        !self.contrasts.is_empty() || !self.twins.is_empty()
    }

    /// With another ratio of interest.
    pub fn contrast(mut self, reference: usize, candidate: usize, metric: &str) -> Design {
        self.contrasts.push(Contrast::new(reference, candidate, metric));
        self
    }

    /// With a variant that is not possible here.
    pub fn missing(mut self, variant: impl Into<String>, why: impl ToString) -> Design {
        self.missing.push((variant.into(), why.to_string()));
        self
    }

    /// What `of` makes of each variant, in order.
    ///
    /// # Errors
    /// It makes nothing of one: another version of the program has designed this.
    pub fn each<T>(&self, of: impl FnMut(&Variant) -> Option<T>) -> Result<Vec<T>, NotMeasurable> {
        let all: Option<Vec<T>> = self.variants.iter().map(of).collect();
        all.ok_or_else(|| NotMeasurable::new("a variant of another version"))
    }

    /// The index of the variant of this name.
    pub fn index(&self, name: &str) -> Option<usize> {
        self.variants.iter().position(|variant| variant.name == name)
    }

    /// Turns of a round: the variants, and the twins after them.
    pub fn turns(&self) -> usize {
        self.variants.len() + self.twins.len()
    }

    /// The variant that turn `turn` measures, and the name under which.
    pub fn turn(&self, turn: usize) -> (usize, String) {
        match turn.checked_sub(self.variants.len()) {
            Some(twin) => (self.twins[twin], twin_of(&self.variants[self.twins[twin]].name)),
            None => (turn, self.variants[turn].name.clone()),
        }
    }

    /// What is wrong with the design, for tests and for the start of a run.
    pub fn fault(&self) -> Option<String> {
        let n = self.variants.len();
        let names: std::collections::BTreeSet<_> = self.variants.iter().map(|v| &v.name).collect();
        if n == 0 {
            return Some("it has no variants".into());
        }
        if names.len() != n {
            return Some("two variants have one name".into());
        }
        let outside = |index: usize| index >= n;
        let bad = self.contrasts.iter().any(|c| outside(c.reference) || outside(c.candidate));
        if bad || self.twins.iter().copied().any(outside) {
            return Some("it names a variant that is not there".into());
        }
        let lonely = self.contrasts.iter().find(|c| !self.twins.contains(&c.reference));
        lonely
            .map(|c| format!("'{}' is a reference without a twin", self.variants[c.reference].name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn twins_are_the_last_turns_and_measure_their_originals() {
        let variants = vec![Variant::new("a").with("n", 1), Variant::new("b")];
        let design = Design::against_first(variants, "time", Rounds::usual(Size::Quick));
        assert_eq!((design.turns(), design.fault()), (3, None));
        assert_eq!(design.turn(1), (1, "b".into()));
        assert_eq!(design.turn(2), (0, "a (again)".into()));
        let design = design.contrast(1, 0, "time");
        assert!(design.fault().unwrap().contains("'b' is a reference without a twin"));
        let design = design.twinned();
        assert_eq!((design.turns(), design.fault()), (4, None));
        assert_eq!(design.turn(3), (1, "b (again)".into()));
        assert_eq!(design.variants[0].level("n"), "1");
    }

    #[test]
    fn designs_of_earlier_records_are_read() {
        let design = Design::against_first(vec![Variant::new("a")], "x", Rounds::few(Size::Quick));
        let text = serde_json::to_string(&design).unwrap();
        let read = |twins: &str| -> Design {
            serde_json::from_str(&text.replace("\"twins\":[0]", twins)).unwrap()
        };
        assert_eq!(read("\"twins\":[0]"), design);
        assert_eq!(read("\"twin\":0"), design);
        assert!(read("\"twin\":null").twins.is_empty());
    }

    #[test]
    fn impossible_designs_are_told() {
        let rounds = Rounds::usual(Size::Full);
        assert!(Design::facts(vec![], rounds).fault().is_some());
        let twice = vec![Variant::new("a"), Variant::new("a")];
        assert!(Design::facts(twice, rounds).fault().is_some());
        let design = Design::facts(vec![Variant::new("a")], rounds).contrast(0, 1, "time");
        assert!(design.fault().is_some());
    }
}
