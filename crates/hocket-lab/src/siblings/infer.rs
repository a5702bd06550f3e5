//! From measurements to groups of siblings.
//!
//! 1. Pairs that contend are joined into groups.
//! 2. A group stands if all its pairs contend and each member hands over faster inside it than to
//!    any seat outside it. Otherwise none of its pairs is decided.
//! 3. A pair outside such a group is apart if it certainly does not contend. If it was not tried,
//!    it is apart if some nearer neighbour of both its seats was tried and does not contend, and
//!    its own latency is certainly not a level nearer than that.

use std::collections::{BTreeMap, BTreeSet};

use super::contention::{Units, units};
use super::nearness::{Absolute, MOST_THREADS, NEARER, absolute, is_nearer, row};
use super::{CpuPair, Figure, Kernel, Level, Measurements, cpu_pair, levels};

/// Whether two CPUs share a core.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Relation {
    /// They share a core: latency and contention agree.
    Siblings,
    /// They do not.
    Apart,
    /// The evidence disagrees or does not suffice; see the [`Reason`].
    Unknown,
}

/// Why a pair was decided so.
#[derive(Debug, Clone, PartialEq)]
pub enum Reason {
    /// They contend, and hand over faster than to anybody else.
    NearAndContending,
    /// They do not contend.
    NoContention,
    /// Not tried; farther apart than neighbours of both that do not contend.
    BeyondNeighbours,
    /// They contend, but some other CPU is as near: the two kinds of evidence disagree.
    ContendingNotNearest,
    /// They are as near as siblings are, but do not contend: the two kinds of evidence disagree.
    NearNotContending,
    /// They contend in these kernels and certainly not in others.
    SharesSomeUnits(Vec<Kernel>),
    /// One of them contends with a third CPU with which the other does not, or more CPUs
    /// contend than a core has threads.
    NotTransitive,
    /// Latency or slowdowns vary too much to tell.
    TooNoisy,
    /// Not measured.
    Unmeasured,
}

impl Reason {
    /// In words, for tables.
    pub fn words(&self) -> String {
        match self {
            Reason::NearAndContending => "nearest to each other, and slow each other down".into(),
            Reason::NoContention => "do not slow each other down".into(),
            Reason::BeyondNeighbours => "farther apart than neighbours that share nothing".into(),
            Reason::ContendingNotNearest => {
                "slow each other down, but another CPU is as near".into()
            }
            Reason::NearNotContending => "as near as siblings, but no slowdown".into(),
            Reason::SharesSomeUnits(kernels) => {
                let names: Vec<&str> = kernels.iter().map(|kernel| kernel.words()).collect();
                format!("share only the {}", names.join(" and the "))
            }
            Reason::NotTransitive => "slow each other down, but not as one group".into(),
            Reason::TooNoisy => "the measurements vary too much".into(),
            Reason::Unmeasured => "not measured".into(),
        }
    }
}

/// What was found about a pair.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// Whether they share a core.
    pub relation: Relation,
    /// Why.
    pub reason: Reason,
}

impl Finding {
    fn siblings() -> Self {
        Finding { relation: Relation::Siblings, reason: Reason::NearAndContending }
    }

    fn apart(reason: Reason) -> Self {
        Finding { relation: Relation::Apart, reason }
    }

    fn unknown(reason: Reason) -> Self {
        Finding { relation: Relation::Unknown, reason }
    }
}

/// What the measurements say about a machine.
#[derive(Debug, Clone, PartialEq)]
pub struct Inference {
    /// The CPUs, ascending.
    pub cpus: Vec<u32>,
    /// Every pair.
    pub findings: BTreeMap<CpuPair, Finding>,
    /// The CPUs of each core of which two or more threads were found, ascending.
    pub cores: Vec<Vec<u32>>,
    /// The levels of latency, nearest first.
    pub levels: Vec<Level>,
}

impl Inference {
    /// Whether `a` and `b` share a core; unknown for a CPU that was not measured.
    pub fn relation(&self, a: u32, b: u32) -> Relation {
        self.findings.get(&cpu_pair(a, b)).map_or(Relation::Unknown, |found| found.relation)
    }

    /// How many pairs are siblings, apart, unknown.
    pub fn counts(&self) -> [usize; 3] {
        let of = |relation| self.findings.values().filter(|f| f.relation == relation).count();
        [of(Relation::Siblings), of(Relation::Apart), of(Relation::Unknown)]
    }
}

/// Decides every pair. O(n^2 log n) for n CPUs; 128 take some tens of milliseconds.
pub fn infer(measurements: &Measurements) -> Inference {
    let evidence = Evidence::gather(measurements);
    let findings: BTreeMap<CpuPair, Finding> =
        measurements.pairs().map(|pair| (pair, evidence.decide(pair))).collect();
    let cores = evidence.groups.iter().filter(|group| group.fault.is_none());
    let cores = cores.map(|group| group.cpus.iter().copied().collect()).collect();
    let cpus = measurements.cpus().to_vec();
    Inference { cpus, findings, cores, levels: evidence.levels }
}

/// CPUs that are joined by contention.
struct Group {
    cpus: BTreeSet<u32>,
    /// Why they are not one core, if they are not.
    fault: Option<Reason>,
}

/// All that the decision of a pair needs.
struct Evidence<'a> {
    measurements: &'a Measurements,
    units: BTreeMap<CpuPair, Units>,
    groups: Vec<Group>,
    levels: Vec<Level>,
    /// The slowest hand-over within a core that was confirmed, in nanoseconds.
    slowest_siblings_ns: Option<f64>,
    /// For each CPU the nearest one that was tried and does not contend.
    boundary: BTreeMap<u32, Figure>,
}

impl<'a> Evidence<'a> {
    fn gather(measurements: &'a Measurements) -> Self {
        let units = tried_units(measurements);
        let found = groups(&units).into_iter().map(|cpus| {
            let fault = fault(measurements, &units, &cpus);
            Group { cpus, fault }
        });
        let groups: Vec<Group> = found.collect();
        let cpus = measurements.cpus().iter();
        let boundary =
            cpus.filter_map(|cpu| Some((*cpu, boundary(measurements, &units, *cpu)?))).collect();
        Evidence {
            slowest_siblings_ns: slowest(measurements, &groups),
            levels: levels(measurements),
            measurements,
            units,
            groups,
            boundary,
        }
    }

    fn decide(&self, pair: CpuPair) -> Finding {
        let both = |group: &&Group| group.cpus.contains(&pair.0) && group.cpus.contains(&pair.1);
        match (self.groups.iter().find(both), self.units.get(&pair)) {
            (Some(Group { fault: None, .. }), _) => Finding::siblings(),
            (Some(Group { fault: Some(reason), .. }), _) => Finding::unknown(reason.clone()),
            (None, Some(Units::None)) => self.without_contention(pair),
            (None, Some(Units::Some(kernels))) => {
                Finding::unknown(Reason::SharesSomeUnits(kernels.clone()))
            }
            (None, Some(_)) => Finding::unknown(Reason::TooNoisy),
            (None, None) => self.untried(pair),
        }
    }

    /// A pair that does not contend is apart, unless it is as near as siblings are.
    fn without_contention(&self, (a, b): CpuPair) -> Finding {
        let Some(latency) = self.measurements.latency(a, b) else {
            return Finding::unknown(Reason::Unmeasured);
        };
        let near = match self.slowest_siblings_ns {
            Some(slowest) => latency.median <= slowest,
            None => self.levels.len() == 1 && absolute(&latency) == Absolute::Sibling,
        };
        if near {
            return Finding::unknown(Reason::NearNotContending);
        }
        Finding::apart(Reason::NoContention)
    }

    fn untried(&self, (a, b): CpuPair) -> Finding {
        if let Some(reason) = self.fault_of(a).or_else(|| self.fault_of(b)) {
            return Finding::unknown(reason);
        }
        let bounds = (self.boundary.get(&a), self.boundary.get(&b));
        match (self.measurements.latency(a, b), bounds) {
            (Some(latency), (Some(of_a), Some(of_b))) => {
                let beyond = |bound: &Figure| NEARER * latency.low() > bound.median;
                if beyond(of_a) && beyond(of_b) {
                    Finding::apart(Reason::BeyondNeighbours)
                } else {
                    Finding::unknown(Reason::TooNoisy)
                }
            }
            _ => Finding::unknown(Reason::Unmeasured),
        }
    }

    fn fault_of(&self, cpu: u32) -> Option<Reason> {
        let of = self.groups.iter().find(|group| group.cpus.contains(&cpu))?;
        of.fault.clone()
    }
}

/// What each tried pair shares.
pub(super) fn tried_units(measurements: &Measurements) -> BTreeMap<CpuPair, Units> {
    measurements.tried().map(|pair| (pair, units(&measurements.slowdowns(pair)))).collect()
}

/// The CPUs joined by pairs that contend, two or more each.
pub(super) fn groups(units: &BTreeMap<CpuPair, Units>) -> Vec<BTreeSet<u32>> {
    let mut groups: Vec<BTreeSet<u32>> = Vec::new();
    for (pair, _) in units.iter().filter(|(_, units)| **units == Units::All) {
        let touches = |group: &BTreeSet<u32>| group.contains(&pair.0) || group.contains(&pair.1);
        let (touched, rest): (Vec<_>, Vec<_>) = groups.into_iter().partition(touches);
        let mut joined: BTreeSet<u32> = touched.into_iter().flatten().collect();
        joined.extend([pair.0, pair.1]);
        groups = rest;
        groups.push(joined);
    }
    groups.sort();
    groups
}

/// Every pair of a group.
pub(super) fn pairs_of(group: &BTreeSet<u32>) -> impl Iterator<Item = CpuPair> + '_ {
    group.iter().flat_map(move |a| group.range(a + 1..).map(move |b| (*a, *b)))
}

/// Why a group is not one core.
fn fault(
    measurements: &Measurements,
    units: &BTreeMap<CpuPair, Units>,
    group: &BTreeSet<u32>,
) -> Option<Reason> {
    if group.len() > MOST_THREADS {
        return Some(Reason::NotTransitive);
    }
    let of_pair = |pair: CpuPair| match units.get(&pair) {
        Some(Units::All) => None,
        Some(Units::None) => Some(Reason::NotTransitive),
        Some(Units::Some(kernels)) => Some(Reason::SharesSomeUnits(kernels.clone())),
        Some(Units::Unclear) => Some(Reason::TooNoisy),
        None => Some(Reason::Unmeasured),
    };
    pairs_of(group).find_map(of_pair).or_else(|| not_near(measurements, group))
}

/// Why the members of a group are not nearer to each other than to anybody outside, if so.
fn not_near(measurements: &Measurements, group: &BTreeSet<u32>) -> Option<Reason> {
    group.iter().find_map(|cpu| {
        let (inside, outside): (Vec<_>, Vec<_>) =
            row(measurements, *cpu).into_iter().partition(|(other, _)| group.contains(other));
        if inside.len() + 1 < group.len() {
            return Some(Reason::Unmeasured);
        }
        let farthest = inside.last()?.1;
        match outside.first() {
            Some((_, nearest)) if is_nearer(&farthest, nearest) => None,
            Some((_, nearest)) if NEARER * farthest.median < nearest.median => {
                Some(Reason::TooNoisy)
            }
            Some(_) => Some(Reason::ContendingNotNearest),
            None => not_sibling_like(&farthest),
        }
    })
}

/// Where the group is the whole machine, the latency has to be that of siblings in itself.
fn not_sibling_like(latency: &Figure) -> Option<Reason> {
    match absolute(latency) {
        Absolute::Sibling => None,
        Absolute::Apart => Some(Reason::ContendingNotNearest),
        Absolute::Between => Some(Reason::TooNoisy),
    }
}

/// The slowest hand-over within the cores that stand.
fn slowest(measurements: &Measurements, groups: &[Group]) -> Option<f64> {
    let sound = groups.iter().filter(|group| group.fault.is_none());
    let latencies = sound
        .flat_map(|group| pairs_of(&group.cpus))
        .filter_map(|(a, b)| measurements.latency(a, b));
    latencies.map(|latency| latency.median).max_by(f64::total_cmp)
}

/// The nearest of those that were tried with `cpu` and do not contend.
fn boundary(
    measurements: &Measurements,
    units: &BTreeMap<CpuPair, Units>,
    cpu: u32,
) -> Option<Figure> {
    let free = |other: &u32| units.get(&cpu_pair(cpu, *other)) == Some(&Units::None);
    row(measurements, cpu).into_iter().find(|(other, _)| free(other)).map(|(_, latency)| latency)
}
