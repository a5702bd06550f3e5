//! What stands about an experiment in the catalogue.

use serde::Serialize;
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

/// What stands about an experiment in the catalogue; `hocket lab explain` prints it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
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
}

impl About {
    /// The metric of this name.
    pub fn metric(&self, name: &str) -> Option<&'static Metric> {
        self.metrics.iter().find(|metric| metric.name == name)
    }

    /// A digest of what the figures mean: id, method and metrics. Runs with different digests measured
    /// different things under one name and are not compared.
    pub fn definition_digest(&self) -> String {
        let mut digest = Sha256::new();
        let mut part = |text: &str| {
            digest.update((text.len() as u64).to_le_bytes());
            digest.update(text.as_bytes());
        };
        part(self.id);
        part(self.method);
        for metric in self.metrics {
            [metric.name, metric.unit, metric.definition].into_iter().for_each(&mut part);
        }
        digest.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const METRIC: Metric =
        Metric { name: "time", unit: "ns", better: Better::Less, definition: "of one operation" };
    const ABOUT: About = About {
        id: "x",
        section: Section::Method,
        question: "?",
        origin: "",
        method: "m",
        limits: "",
        metrics: &[METRIC],
    };

    #[test]
    fn the_digest_follows_the_meaning_and_not_the_prose() {
        let digest = ABOUT.definition_digest();
        assert_eq!(digest.len(), 16);
        assert_eq!(About { question: "another", ..ABOUT }.definition_digest(), digest);
        assert_ne!(About { method: "another", ..ABOUT }.definition_digest(), digest);
        let other = &[Metric { unit: "us", ..METRIC }];
        assert_ne!(About { metrics: other, ..ABOUT }.definition_digest(), digest);
    }
}
