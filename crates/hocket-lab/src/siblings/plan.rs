//! What to measure next: few trials of contention on large machines.
//!
//! Latencies of all pairs come first (some milliseconds each). Contention, which takes longer,
//! is tried where the latencies leave a choice:
//! 1. every seat with those that may be its siblings, and a random sample of other pairs, to
//!    see whether nearness is a good guide on this machine;
//! 2. the missing pairs of each group found, and each member with its nearest neighbour outside;
//! 3. again, whatever is not clear, up to [`MOST_TRIALS`] times.
//!
//! That is some trials a seat where all pairs would be half the square of their number.

use std::collections::{BTreeMap, BTreeSet};

use crate::stats::Rng;

use super::contention::Units;
use super::infer::{groups, pairs_of, tried_units};
use super::nearness::{candidates, is_nearer, row};
use super::{CpuPair, Measurements, cpu_pair};

/// A pair is measured at most so many times.
const MOST_TRIALS: usize = 5;

/// Pairs that may be siblings are tried twice before anything is said, at different times.
const LEAST_TRIALS: usize = 2;

/// With so many, one that was disturbed no longer decides: see [`super::Figure::combined`].
const SURE_TRIALS: usize = 3;

/// The random sample has at least so many pairs, and one for every fourth CPU.
const LEAST_SAMPLE: usize = 6;

/// One trial of contention: both CPUs of `pair` busy together, and each of them beside an
/// unrelated one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trial {
    /// Who runs together.
    pub pair: CpuPair,
    /// Who is busy beside the first and beside the second when the time without contention is
    /// taken: the farthest CPU of each. `None` on a machine of two CPUs; then each runs alone,
    /// and a clock that falls when both are busy cannot be told from contention.
    pub unrelated: Option<(u32, u32)>,
}

/// What to measure next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// The hand-over latency of these pairs, in this (random) order.
    Latencies(Vec<CpuPair>),
    /// The contention of these pairs, in this (random) order.
    Contention(Vec<Trial>),
    /// Enough was measured, or asked for.
    Done,
}

/// Asks for measurements until [`super::infer`] has what it needs.
///
/// Pairs that are asked for but not recorded (their CPU went away) are asked for again only a few
/// times, so it always ends.
#[derive(Debug, Clone)]
pub struct Plan {
    rng: Rng,
    sample: Option<Vec<CpuPair>>,
    latencies_asked: BTreeMap<CpuPair, usize>,
    trials_asked: BTreeMap<CpuPair, usize>,
}

impl Plan {
    /// A plan whose random choices follow from `seed`.
    pub fn new(seed: u64) -> Self {
        Plan {
            rng: Rng::new(seed),
            sample: None,
            latencies_asked: BTreeMap::new(),
            trials_asked: BTreeMap::new(),
        }
    }

    /// What to measure next, given what was recorded so far. O(n^2 log n) for n CPUs.
    pub fn next(&mut self, measurements: &Measurements) -> Step {
        let missing = |(a, b): &CpuPair| measurements.latency(*a, *b).is_none();
        let latencies = self.latencies(measurements.pairs().filter(missing).collect());
        if !latencies.is_empty() {
            return Step::Latencies(latencies);
        }
        let wanted = self.wanted(measurements);
        let trials = self.trials(measurements, wanted);
        if !trials.is_empty() {
            return Step::Contention(trials);
        }
        let unsure = self.latencies(unsure_latencies(measurements));
        if unsure.is_empty() { Step::Done } else { Step::Latencies(unsure) }
    }

    /// How many trials of contention were asked for so far.
    pub fn trials_so_far(&self) -> usize {
        self.trials_asked.values().sum()
    }

    fn latencies(&mut self, pairs: BTreeSet<CpuPair>) -> Vec<CpuPair> {
        take(&mut self.latencies_asked, pairs, &mut self.rng)
    }

    fn trials(&mut self, measurements: &Measurements, pairs: BTreeSet<CpuPair>) -> Vec<Trial> {
        let pairs = take(&mut self.trials_asked, pairs, &mut self.rng);
        let trial = |pair: CpuPair| Trial { pair, unrelated: unrelated(measurements, pair) };
        pairs.into_iter().map(trial).collect()
    }

    /// The pairs whose contention is needed and not known.
    fn wanted(&mut self, measurements: &Measurements) -> BTreeSet<CpuPair> {
        let units = tried_units(measurements);
        let trials = |pair: &CpuPair| measurements.trials(*pair);
        let unclear = |pair: &CpuPair| is_open(units.get(pair), trials(pair));
        let untried_twice = |pair: &CpuPair| trials(pair) < LEAST_TRIALS;
        let mut wanted: BTreeSet<CpuPair> =
            nearest_pairs(measurements).into_iter().filter(|p| untried_twice(p)).collect();
        wanted.extend(self.sample(measurements).iter().filter(|pair| unclear(pair)));
        for group in groups(&units) {
            wanted.extend(pairs_of(&group).filter(untried_twice));
        }
        wanted.extend(edges(measurements, &units).into_iter().filter(unclear));
        wanted.extend(units.keys().filter(|pair| unclear(pair)));
        wanted
    }

    /// The random sample, drawn once.
    fn sample(&mut self, measurements: &Measurements) -> &[CpuPair] {
        let rng = &mut self.rng;
        self.sample.get_or_insert_with(|| {
            let near = nearest_pairs(measurements);
            let mut far: Vec<CpuPair> =
                measurements.pairs().filter(|pair| !near.contains(pair)).collect();
            rng.shuffle(&mut far);
            far.truncate(LEAST_SAMPLE.max(measurements.cpus().len() / 4));
            far
        })
    }
}

/// Those of `pairs` that were not asked for too often, counted and in random order.
fn take(
    asked: &mut BTreeMap<CpuPair, usize>,
    pairs: BTreeSet<CpuPair>,
    rng: &mut Rng,
) -> Vec<CpuPair> {
    let open = |pair: &CpuPair| asked.get(pair).is_none_or(|times| *times < MOST_TRIALS);
    let mut taken: Vec<CpuPair> = pairs.into_iter().filter(open).collect();
    taken.iter().for_each(|pair| *asked.entry(*pair).or_default() += 1);
    rng.shuffle(&mut taken);
    taken
}

/// Every CPU with those that may be its siblings.
fn nearest_pairs(measurements: &Measurements) -> BTreeSet<CpuPair> {
    let of = |cpu: &u32| {
        let row = row(measurements, *cpu);
        candidates(&row).iter().map(|(other, _)| cpu_pair(*cpu, *other)).collect::<Vec<_>>()
    };
    measurements.cpus().iter().flat_map(of).collect()
}

/// Whether another trial of a pair is needed: nothing is clear yet, or it seems to share some units
/// only, which one disturbed trial makes of any pair.
fn is_open(units: Option<&Units>, trials: usize) -> bool {
    match units {
        None | Some(Units::Unclear) => true,
        Some(Units::Some(_)) => trials < SURE_TRIALS,
        Some(Units::All | Units::None) => false,
    }
}

/// Every CPU with the nearest one outside its group: the edge at which contention has to end.
/// Where trials have left a neighbour undecided, the edge is the next one beyond it.
fn edges(measurements: &Measurements, units: &BTreeMap<CpuPair, Units>) -> BTreeSet<CpuPair> {
    let groups = groups(units);
    let outside = |cpu: &u32| {
        let group = groups.iter().find(|group| group.contains(cpu));
        let is_edge = |other: &u32| {
            let trials = measurements.trials(cpu_pair(*cpu, *other));
            let open = is_open(units.get(&cpu_pair(*cpu, *other)), trials);
            let decided = units.get(&cpu_pair(*cpu, *other)) == Some(&Units::None);
            let inside = group.is_some_and(|group| group.contains(other));
            !inside && (decided || (open && trials < MOST_TRIALS))
        };
        let nearest = row(measurements, *cpu).into_iter().find(|(other, _)| is_edge(other))?;
        Some(cpu_pair(*cpu, nearest.0))
    };
    measurements.cpus().iter().filter_map(outside).collect()
}

/// Pairs whose latency decides whether a group is nearest to itself, where it does not do so yet.
fn unsure_latencies(measurements: &Measurements) -> BTreeSet<CpuPair> {
    let mut unsure = BTreeSet::new();
    for group in groups(&tried_units(measurements)) {
        for cpu in &group {
            let (inside, outside): (Vec<_>, Vec<_>) =
                row(measurements, *cpu).into_iter().partition(|(other, _)| group.contains(other));
            let (Some(far), Some(near)) = (inside.last(), outside.first()) else { continue };
            if !is_nearer(&far.1, &near.1) {
                unsure.extend([cpu_pair(*cpu, far.0), cpu_pair(*cpu, near.0)]);
            }
        }
    }
    unsure
}

/// The CPU farthest from each of a pair, neither of the two and not the same.
fn unrelated(measurements: &Measurements, (a, b): CpuPair) -> Option<(u32, u32)> {
    let far = |cpu: u32, taken: Option<u32>| {
        let free = |other: &u32| *other != a && *other != b && Some(*other) != taken;
        let row = row(measurements, cpu);
        row.into_iter().rev().map(|(other, _)| other).find(free)
    };
    let beside_a = far(a, None)?;
    // On three CPUs the same one serves both; they are measured one after the other.
    Some((beside_a, far(b, Some(beside_a)).unwrap_or(beside_a)))
}
