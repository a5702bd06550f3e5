//! From rows to what the inference takes.

use std::collections::BTreeMap;

use super::HAND_OVER;
use super::contend::METRICS;
use super::pairs::{BARE, SAID, UNDER};
use crate::harness::{Results, Row, Sample, Variant};
use crate::siblings::{
    CpuPair, Figure, Inference, Measurements, Slowdown, SystemView, compare_said, cpu_pair, infer,
};

/// A figure of which no spread is known may be off by this part.
const UNKNOWN_SPREAD: f64 = 0.05;

/// The median of a turn and what it may be off, by the spread within the turn.
pub(crate) fn figure(sample: &Sample) -> Figure {
    let error = match sample.distribution {
        // Between these two quantiles lie 2.563 standard deviations of a normal distribution.
        Some(q) => 1.2533 * (q.p90 - q.p10) / 2.563 / (q.n.max(1) as f64).sqrt(),
        None => UNKNOWN_SPREAD * sample.value,
    };
    Figure { median: sample.value, error }
}

/// What the sample says of a kernel, if it does.
pub(crate) fn slowdown(sample: &Sample) -> Option<Slowdown> {
    let (kernel, _) = METRICS.into_iter().find(|(_, metric)| *metric == sample.metric)?;
    Some(Slowdown { kernel, ratio: figure(sample) })
}

/// All that the rows hold of pairs, in the order of the design's CPUs.
pub(crate) struct Evidence {
    /// The CPUs, ordered by topology.
    pub(crate) cpus: Vec<u32>,
    /// Latencies and slowdowns.
    pub(crate) known: Measurements,
    /// What they say.
    pub(crate) inference: Inference,
    /// Beside what the system says.
    pub(crate) system: SystemView,
}

impl Evidence {
    /// `None` where the design has no pairs.
    pub(crate) fn of(results: &Results) -> Option<Evidence> {
        let variants = &results.design()?.variants;
        let pairs: Vec<(CpuPair, &Variant)> =
            variants.iter().filter_map(|v| Some((pair(&v.cpus)?, v))).collect();
        let cpus = in_order(variants);
        let known = measurements(&cpus, &results.rows);
        let inference = infer(&known);
        let said: BTreeMap<CpuPair, &str> =
            pairs.iter().map(|(pair, v)| (*pair, v.level(SAID))).collect();
        let says = |pair: CpuPair| match said.get(&pair) {
            Some(&"siblings") => Some(true),
            Some(&"apart") => Some(false),
            _ => None,
        };
        let under = pairs.first()?.1.level(UNDER);
        let system = compare_said(&inference, says, (under != BARE).then_some(under));
        Some(Evidence { cpus, known, inference, system })
    }
}

/// The CPUs of pairs as they first stand there: the first pairs are those of the first CPU with all others.
fn in_order(variants: &[Variant]) -> Vec<u32> {
    let mut cpus = Vec::new();
    for cpu in variants.iter().filter(|v| v.cpus.len() == 2).flat_map(|v| &v.cpus) {
        if !cpus.contains(cpu) {
            cpus.push(*cpu);
        }
    }
    cpus
}

fn pair(cpus: &[u32]) -> Option<CpuPair> {
    match cpus {
        [a, b] => Some(cpu_pair(*a, *b)),
        _ => None,
    }
}

fn measurements(cpus: &[u32], rows: &[Row]) -> Measurements {
    let mut known = Measurements::new(cpus);
    let mut trials: BTreeMap<(u32, u32, CpuPair), Vec<Slowdown>> = BTreeMap::new();
    for row in rows.iter().filter(|row| !row.warm_up) {
        let Some(pair) = pair(&row.cpus) else { continue };
        if row.sample.metric == HAND_OVER {
            known.record_latency(pair, figure(&row.sample));
        } else if let Some(slowdown) = slowdown(&row.sample) {
            trials.entry((row.process, row.round, pair)).or_default().push(slowdown);
        }
    }
    trials.into_iter().for_each(|((_, _, pair), trial)| known.record_contention(pair, trial));
    known
}
