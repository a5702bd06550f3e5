//! What stands about an experiment in the catalogue.

use std::fmt;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use sha2::{Digest, Sha256};

/// The chapter of the catalogue an experiment belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Section {
    /// What the lab itself can show here.
    Method,
    /// Topology and siblings.
    Topology,
    /// What SMT gives.
    Smt,
    /// Waiting.
    Waiting,
    /// Sharing.
    Sharing,
    /// Threads.
    Threads,
    /// Priority and affinity.
    Priority,
    /// Audio.
    Audio,
    /// Kernel and system.
    System,
    /// Other programs.
    Programs,
}

impl Section {
    /// For headings.
    pub fn title(self) -> &'static str {
        match self {
            Section::Method => "The lab itself",
            Section::Topology => "Topology and siblings",
            Section::Smt => "What SMT gives",
            Section::Waiting => "Waiting",
            Section::Sharing => "Sharing",
            Section::Threads => "Threads",
            Section::Priority => "Priority and affinity",
            Section::Audio => "Audio",
            Section::System => "Kernel and system",
            Section::Programs => "Other programs",
        }
    }
}

/// Which direction of a metric is welcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Better {
    /// Less is better: times, misses.
    Less,
    /// More is better: throughput.
    More,
    /// Neither: a fact.
    Neither,
}

/// One figure of an experiment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Metric {
    /// Its name in rows, tables and conditions; lower case, words joined by `-`.
    pub name: &'static str,
    /// Its unit: `ns`, `us`, `ms`, `s`, `1/s`, `%`, `` where it has none.
    pub unit: &'static str,
    /// Which direction is welcome.
    pub better: Better,
    /// What exactly the figure is, in a sentence or two.
    pub definition: &'static str,
}

impl Metric {
    /// A figure of which less is better. [`Metric::means`] says what it is.
    pub const fn less(name: &'static str, unit: &'static str) -> Metric {
        Metric { name, unit, better: Better::Less, definition: "" }
    }

    /// The same, of which more is better.
    pub const fn more(name: &'static str, unit: &'static str) -> Metric {
        Metric { better: Better::More, ..Metric::less(name, unit) }
    }

    /// A figure that is neither good nor bad.
    pub const fn fact(name: &'static str, unit: &'static str) -> Metric {
        Metric { better: Better::Neither, ..Metric::less(name, unit) }
    }

    /// With its definition.
    pub const fn means(self, definition: &'static str) -> Metric {
        Metric { definition, ..self }
    }
}

/// A constant of the code that decides what a figure is: the length of a turn, the size of a buffer. Where there are
/// two, the first is that of a quick run and the second that of a full one.
#[derive(Clone, Copy)]
pub struct Parameter {
    name: &'static str,
    value: &'static (dyn fmt::Debug + Sync),
}

impl Parameter {
    /// Refers to the constant that the code uses, so that both change together.
    pub const fn new(name: &'static str, value: &'static (dyn fmt::Debug + Sync)) -> Parameter {
        Parameter { name, value }
    }
}

/// `turn [5ms, 20ms]`.
impl fmt::Display for Parameter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:?}", self.name, self.value)
    }
}

impl fmt::Debug for Parameter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl Serialize for Parameter {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(Some(1))?;
        map.serialize_entry(self.name, &format!("{:?}", self.value))?;
        map.end()
    }
}

/// What stands about an experiment in the catalogue; `hocket lab explain` prints it.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct About {
    /// Its name on the command line; lower case, words joined by `-`.
    pub id: &'static str,
    /// Its chapter.
    pub section: Section,
    /// The one question that it answers, in plain words.
    pub question: &'static str,
    /// Where the experiment comes from.
    pub origin: &'static str,
    /// How it is measured: what is varied, what is timed, how it is checked.
    pub method: &'static str,
    /// What the figures do not show.
    pub limits: &'static str,
    /// Its figures, the most important first.
    pub metrics: &'static [Metric],
    /// The constants on which its figures depend.
    pub parameters: &'static [Parameter],
}

impl About {
    /// The metric of this name.
    pub fn metric(&self, name: &str) -> Option<&'static Metric> {
        self.metrics.iter().find(|metric| metric.name == name)
    }

    /// A digest of what the figures mean: of id, method and metrics, then, after a dash, of the parameters. Runs with
    /// different digests measured different things under one name and are not compared. The letter of microseconds is none
    /// of the meaning: it counts as the `us` that texts had before.
    pub fn definition_digest(&self) -> String {
        let metrics = self.metrics.iter().flat_map(|it| [it.name, it.unit, it.definition]);
        let words = digest([self.id, self.method].into_iter().chain(metrics));
        let parameters: Vec<String> = self.parameters.iter().map(Parameter::to_string).collect();
        format!("{words}-{}", &digest(parameters.iter().map(String::as_str))[..8])
    }
}

/// Whether two digests are of one definition. Records of before have no digest of the parameters: theirs are
/// unknown, and taken to be the same.
pub fn same_definition(one: &str, other: &str) -> bool {
    let parts = |digest: &str| match digest.split_once('-') {
        Some((words, parameters)) => (words.to_string(), Some(parameters.to_string())),
        None => (digest.to_string(), None),
    };
    let ((words, parameters), (other_words, others)) = (parts(one), parts(other));
    let differ = parameters.zip(others).is_some_and(|(one, other)| one != other);
    words == other_words && !differ
}

fn digest<'a>(texts: impl IntoIterator<Item = &'a str>) -> String {
    let mut digest = Sha256::new();
    for text in texts {
        let text = text.replace("µs", "us");
        digest.update((text.len() as u64).to_le_bytes());
        digest.update(text.as_bytes());
    }
    digest.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const METRIC: Metric = Metric::less("time", "ns").means("of one operation");
    const ABOUT: About = About {
        id: "x",
        section: Section::Method,
        question: "?",
        origin: "",
        method: "m",
        limits: "",
        metrics: &[METRIC],
        parameters: &[],
    };

    #[test]
    fn the_digest_follows_the_meaning_and_not_the_prose() {
        let digest = ABOUT.definition_digest();
        let (words, parameters) = digest.split_once('-').unwrap();
        assert_eq!((words.len(), parameters.len()), (16, 8));
        let same = |about: About| same_definition(&about.definition_digest(), &digest);
        assert!(same(About { question: "another", ..ABOUT }));
        assert!(!same(About { method: "another", ..ABOUT }));
        assert!(!same(About { metrics: &[Metric { unit: "us", ..METRIC }], ..ABOUT }));
        let of = |method| About { method, ..ABOUT }.definition_digest();
        assert_eq!(of("gaps above 50 µs"), of(concat!("gaps above 50", " us")));
    }

    #[test]
    fn the_digest_follows_the_constants_of_the_code() {
        let of = |parameters| About { parameters, ..ABOUT }.definition_digest();
        const ONE: &[Parameter] = &[Parameter::new("turn", &[5, 20])];
        const OTHER: &[Parameter] = &[Parameter::new("turn", &[5, 30])];
        let (one, other) = (ONE, OTHER);
        assert_eq!(one[0].to_string(), "turn [5, 20]");
        assert!(same_definition(&of(one), &of(one)) && !same_definition(&of(one), &of(other)));
        let before = of(one).split_once('-').unwrap().0.to_string();
        assert!(same_definition(&before, &of(one)) && same_definition(&of(other), &before));
    }
}
