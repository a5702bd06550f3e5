//! Pairs of CPUs, measured turn by turn as the plan asks.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use super::contend::Contention;
use super::evidence::{figure, slowdown};
use super::measured_cpus::says_siblings;
use super::{HAND_OVER, hand_over::hand_over};
use crate::harness::{Design, Fault, Host, Sample, Size, Variant};
use crate::siblings::{CpuPair, Measurements, Plan, Step, Trial, cpu_pair};

/// The plan's random sample of pairs is the same in every process start.
const SEED: u64 = 1;

/// One variant for each pair of `cpus`, with what the system says of it and of itself.
pub(crate) fn variants(host: &Host, cpus: &[u32]) -> Vec<Variant> {
    let under = hypervisor().unwrap_or_else(|| BARE.into());
    let later = |at: usize| cpus[at + 1..].iter();
    let pairs = cpus.iter().enumerate().flat_map(|(at, a)| later(at).map(|b| [*a, *b]));
    let variant = |[a, b]: [u32; 2]| {
        let says = match says_siblings(host, a, b) {
            Some(true) => "siblings",
            Some(false) => "apart",
            None => "nothing",
        };
        Variant::new(format!("cpus {a} {b}"))
            .with(SAID, says)
            .with(UNDER, &under)
            .on(&[a, b], Some(host.relation(a, b)))
    };
    pairs.map(variant).collect()
}

/// Factor: what the system says of the pair.
pub(crate) const SAID: &str = "system says";
/// Factor: the hypervisor, or [`BARE`].
pub(crate) const UNDER: &str = "under";
/// No hypervisor.
pub(crate) const BARE: &str = "bare metal";

/// What this runs under; `None` on bare metal or where the processor does not say.
pub(crate) fn hypervisor() -> Option<String> {
    let name = hocket_machine::facts::read().hypervisor;
    name.value().filter(|name| *name != "none").map(|name| plain(name))
}

/// `KVMKVMKVM` is the signature of one, said once.
fn plain(name: &str) -> String {
    let words = name.split_whitespace().map(|word| if word == "KVMKVMKVM" { "KVM" } else { word });
    words.collect::<Vec<_>>().join(" ")
}

/// The pairs of a design, in its order; variants of one CPU are left out.
pub(crate) fn pairs_of(design: &Design) -> Vec<[u32; 2]> {
    design.variants.iter().filter_map(|v| v.cpus.as_slice().try_into().ok()).collect()
}

/// Measures what the plan asks for. Every turn has the hand-over of its pair, and a trial of contention
/// where the plan wants one. Once the plan has enough, another one begins.
pub(crate) struct Pairs {
    pairs: Vec<[u32; 2]>,
    size: Size,
    contention: Contention,
    plan: Plan,
    known: Measurements,
    latencies: BTreeSet<CpuPair>,
    trials: BTreeMap<CpuPair, Trial>,
    /// Plans that had enough.
    finished: u64,
}

impl Pairs {
    /// Calibrated, with the first plan asked.
    pub(crate) fn new(pairs: Vec<[u32; 2]>, size: Size) -> Result<Pairs, Fault> {
        let known = Measurements::new(&pairs.concat());
        let mut new = Pairs {
            pairs,
            size,
            contention: Contention::new(size)?,
            plan: Plan::new(SEED),
            known,
            latencies: BTreeSet::new(),
            trials: BTreeMap::new(),
            finished: 0,
        };
        new.ask();
        Ok(new)
    }

    /// One turn of the pair of this index.
    ///
    /// # Errors
    /// What could not be measured; the plan counts it as asked for and goes on.
    pub(crate) fn turn(&mut self, index: usize) -> Result<Vec<Sample>, Fault> {
        if self.latencies.is_empty() && self.trials.is_empty() {
            self.ask();
        }
        let [a, b] = self.pairs[index];
        let pair = cpu_pair(a, b);
        self.latencies.remove(&pair);
        let trial = self.trials.remove(&pair);
        let mut samples = vec![hand_over(HAND_OVER, [a, b], self.size)?];
        self.known.record_latency(pair, figure(&samples[0]));
        if let Some(trial) = trial {
            let tried = self.contention.trial(trial)?;
            self.known.record_contention(pair, tried.iter().filter_map(slowdown).collect());
            samples.extend(tried);
        }
        Ok(samples)
    }

    /// Measures without rounds until the plan has enough or the time is over.
    ///
    /// # Errors
    /// The first pair that could not be measured.
    pub(crate) fn all(mut self, limit: Duration) -> Result<Measurements, Fault> {
        let started = Instant::now();
        loop {
            for index in self.asked_for() {
                self.turn(index)?;
                if started.elapsed() > limit {
                    return Ok(self.known);
                }
            }
            let known = self.known.clone();
            self.ask();
            if self.finished > 0 {
                return Ok(known);
            }
        }
    }

    fn asked_for(&self) -> Vec<usize> {
        let wanted = |index: &usize| {
            let pair = cpu_pair(self.pairs[*index][0], self.pairs[*index][1]);
            self.latencies.contains(&pair) || self.trials.contains_key(&pair)
        };
        (0..self.pairs.len()).filter(wanted).collect()
    }

    fn ask(&mut self) {
        match self.plan.next(&self.known) {
            Step::Latencies(pairs) => self.latencies = pairs.into_iter().collect(),
            Step::Contention(trials) => {
                self.trials = trials.into_iter().map(|trial| (trial.pair, trial)).collect();
            }
            Step::Done => {
                self.finished += 1;
                self.plan = Plan::new(SEED + self.finished);
                self.known = Measurements::new(&self.pairs.concat());
                self.latencies = self.known.pairs().collect();
            }
        }
    }
}
