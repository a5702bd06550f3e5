//! What hardware counters counted during a variant's turns.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::once::{added_up, each_once};

/// What was counted, and what was not.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counted {
    /// By thread and group of events, sums over the turns in which the group counted.
    #[serde(default)]
    pub groups: Vec<CountedGroup>,
    /// What cannot be counted on a kind of core here.
    #[serde(default)]
    pub missing: Vec<NotCounted>,
    /// Why nothing or not everything was counted, a sentence each.
    #[serde(default)]
    pub limits: Vec<String>,
    /// Whether the counters were read inside blocks, too.
    #[serde(default)]
    pub per_kind: bool,
    /// By kind of node, over all threads.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kinds: Vec<CountedKind>,
    /// What a reading itself counts, by core and group: it is in every count by kind, once per reading.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub readings: Vec<CountedKind>,
    /// Readings by kind that are left out, because others had the counters for a part of the time.
    #[serde(default)]
    pub refused: u64,
}

/// Counts while nodes of one kind ran, all of the same time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CountedKind {
    /// Such as `eq`; `sums` is what comes before the nodes of a chain.
    pub kind: String,
    /// The kind of core, as hocket-machine names it; `software` for what the kernel counts.
    pub core: String,
    /// The group of the events.
    pub group: String,
    /// How often the counters were read.
    pub readings: u64,
    /// Nodes that ran before these readings.
    pub nodes: u64,
    /// Events and their counts.
    pub counts: BTreeMap<String, u64>,
}

/// Counts of a thread in user code, all of the same time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CountedGroup {
    /// `leader`, `worker 1`.
    pub thread: String,
    /// The kind of core, as hocket-machine names it.
    pub core: String,
    /// The group of its events.
    pub group: String,
    /// Turns in which it counted.
    pub turns: u32,
    /// How long the thread ran in them.
    pub running_ns: u64,
    /// Events and their counts.
    pub counts: BTreeMap<String, u64>,
}

/// A measure that a kind of core cannot give here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotCounted {
    /// The kind of core.
    pub core: String,
    /// The measure.
    pub measure: String,
    /// Why.
    pub why: String,
}

impl Counted {
    /// Adds what another turn or process start counted.
    pub fn add(&mut self, more: Counted) {
        let groups = self.groups.drain(..).chain(more.groups);
        self.groups = added_up(groups, CountedGroup::is_like, CountedGroup::add);
        self.missing = each_once(self.missing.drain(..).chain(more.missing));
        self.limits = each_once(self.limits.drain(..).chain(more.limits));
        for (all, more) in [(&mut self.kinds, more.kinds), (&mut self.readings, more.readings)] {
            *all = added_up(all.drain(..).chain(more), CountedKind::is_like, CountedKind::add);
        }
        self.refused += more.refused;
        self.per_kind |= more.per_kind;
    }
}

impl CountedKind {
    fn is_like(&self, other: &CountedKind) -> bool {
        let names = (&self.kind, &self.core, &self.group);
        names == (&other.kind, &other.core, &other.group)
            && self.counts.keys().eq(other.counts.keys())
    }

    fn add(&mut self, more: CountedKind) {
        self.readings += more.readings;
        self.nodes += more.nodes;
        for (sum, count) in self.counts.values_mut().zip(more.counts.values()) {
            *sum = sum.saturating_add(*count);
        }
    }
}

impl CountedGroup {
    fn is_like(&self, other: &CountedGroup) -> bool {
        let names = (&self.thread, &self.core, &self.group);
        names == (&other.thread, &other.core, &other.group)
            && self.counts.keys().eq(other.counts.keys())
    }

    fn add(&mut self, more: CountedGroup) {
        self.turns += more.turns;
        self.running_ns += more.running_ns;
        for (sum, count) in self.counts.values_mut().zip(more.counts.values()) {
            *sum = sum.saturating_add(*count);
        }
    }
}
