//! How near two CPUs were, time after time: on a virtual machine the host moves them.
//!
//! Hand-overs of one pair gather around a few values, one for each way in which the host places the two. Each such cluster
//! is a class. A probe between the clusters was disturbed, and has none.

use super::Figure;
use super::levels::GAP;
use super::nearness::{APART_NS, SIBLING_NS};

/// How near two CPUs were.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Nearness {
    /// They shared a core.
    Siblings,
    /// They were two cores, and as near as two cores were in these probes.
    Near,
    /// They were farther apart than that.
    Far,
}

impl Nearness {
    /// From the nearest on.
    pub const ALL: [Nearness; 3] = [Nearness::Siblings, Nearness::Near, Nearness::Far];

    /// In a word.
    pub fn word(self) -> &'static str {
        match self {
            Nearness::Siblings => "siblings",
            Nearness::Near => "near",
            Nearness::Far => "far",
        }
    }
}

/// A probe whose median may be off by more than this part saw two places, or was put aside.
const STEADY: f64 = 0.1;

/// Probes of one cluster have enough others within this factor to either side.
const BESIDE: f64 = 1.1;

/// So many: at least this number, and this part of all probes.
const ENOUGH: usize = 3;
const ENOUGH_OF: usize = 50;

/// A cluster of hand-overs, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Cluster {
    low_ns: f64,
    middle_ns: f64,
    high_ns: f64,
}

/// The classes of some probes.
#[derive(Debug, Clone, PartialEq)]
pub struct Classes {
    /// Nearest first.
    clusters: Vec<(Cluster, Option<Nearness>)>,
}

impl Classes {
    /// From all probes of a pair, in any order. O(n log n).
    pub fn of(probes: &[Figure]) -> Classes {
        let steady = probes.iter().filter(|probe| is_steady(probe));
        let mut times_ns: Vec<f64> = steady.map(|probe| probe.median).collect();
        times_ns.sort_unstable_by(f64::total_cmp);
        let clusters: Vec<Cluster> = dense(&times_ns)
            .chunk_by(|near, far| far / near < GAP)
            .map(|of| Cluster {
                low_ns: of[0],
                middle_ns: of[of.len() / 2],
                high_ns: of[of.len() - 1],
            })
            .collect();
        let nearest_apart = clusters.iter().map(|it| it.middle_ns).find(|ns| *ns > APART_NS);
        let named = |cluster: Cluster| {
            let nearness = match cluster.middle_ns {
                ns if ns < SIBLING_NS => Some(Nearness::Siblings),
                // Some processors' siblings are as slow, some others' cores as fast.
                ns if ns <= APART_NS => None,
                ns if Some(ns) == nearest_apart => Some(Nearness::Near),
                _ => Some(Nearness::Far),
            };
            (cluster, nearness)
        };
        Classes { clusters: clusters.into_iter().map(named).collect() }
    }

    /// The class of a probe; `None` for one that was disturbed, and for a cluster that may be either.
    pub fn class(&self, probe: &Figure) -> Option<Nearness> {
        let holds = |(it, _): &&(Cluster, Option<Nearness>)| {
            (it.low_ns / BESIDE..=it.high_ns * BESIDE).contains(&probe.median)
        };
        self.clusters.iter().find(holds).filter(|_| is_steady(probe))?.1
    }

    /// The middle of the nearest cluster of this class.
    pub fn typical_ns(&self, nearness: Nearness) -> Option<f64> {
        let of = self.clusters.iter().find(|(_, named)| *named == Some(nearness));
        of.map(|(cluster, _)| cluster.middle_ns)
    }
}

fn is_steady(probe: &Figure) -> bool {
    probe.median > 0.0 && probe.error <= STEADY * probe.median
}

/// Those of ascending times that have enough others beside them.
fn dense(times_ns: &[f64]) -> Vec<f64> {
    let enough = ENOUGH.max(times_ns.len() / ENOUGH_OF);
    let beside = |ns: f64| {
        let from = times_ns.partition_point(|other| *other < ns / BESIDE);
        let to = times_ns.partition_point(|other| *other <= ns * BESIDE);
        to - from
    };
    times_ns.iter().copied().filter(|ns| beside(*ns) > enough).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::Rng;

    fn probe(median: f64) -> Figure {
        Figure { median, error: 0.005 * median }
    }

    /// So many probes around each time, 3 % off as real ones are.
    fn around(times_ns: &[(f64, usize)]) -> Vec<Figure> {
        let mut rng = Rng::new(7);
        let mut all = Vec::new();
        for (ns, count) in times_ns {
            all.extend((0..*count).map(|_| probe(ns * (0.03 * rng.normal()).exp())));
        }
        all
    }

    fn check(classes: &Classes, expected: &[(f64, Option<Nearness>)]) {
        for (ns, nearness) in expected {
            assert_eq!(classes.class(&probe(*ns)), *nearness, "{ns} ns in {classes:?}");
        }
    }

    #[test]
    fn the_times_of_a_host_that_moves_its_cpus_are_three_classes() {
        let classes = Classes::of(&around(&[(26.0, 120), (10.0, 8), (155.0, 60)]));
        let (siblings, near, far) = (Nearness::Siblings, Nearness::Near, Nearness::Far);
        check(&classes, &[(10.0, Some(siblings)), (26.0, Some(near)), (155.0, Some(far))]);
        check(&classes, &[(60.0, None), (16.0, None), (400.0, None)]);
        assert!((classes.typical_ns(near).unwrap() - 26.0).abs() < 1.0);
    }

    #[test]
    fn disturbed_probes_join_no_clusters() {
        let mut probes = around(&[(26.0, 100), (155.0, 100)]);
        // One in five lies somewhere between.
        probes.extend((0..50).map(|at| probe(26.0 * 6.0_f64.powf(f64::from(at) / 50.0))));
        let classes = Classes::of(&probes);
        check(
            &classes,
            &[(26.0, Some(Nearness::Near)), (155.0, Some(Nearness::Far)), (65.0, None)],
        );
        let uncertain = Figure { median: 26.0, error: 6.0 };
        assert_eq!(classes.class(&uncertain), None);
    }

    #[test]
    fn a_pair_that_never_moves_is_of_one_class() {
        let classes = Classes::of(&around(&[(48.0, 200)]));
        check(&classes, &[(48.0, Some(Nearness::Near)), (10.0, None)]);
        assert_eq!(classes.typical_ns(Nearness::Siblings), None);
    }

    #[test]
    fn a_time_that_siblings_and_cores_both_have_is_neither() {
        check(
            &Classes::of(&around(&[(13.0, 50), (30.0, 50)])),
            &[(13.0, None), (30.0, Some(Nearness::Near))],
        );
    }

    #[test]
    fn few_probes_are_no_class() {
        assert_eq!(Classes::of(&around(&[(10.0, 3)])).class(&probe(10.0)), None);
        assert_eq!(Classes::of(&[]).class(&probe(10.0)), None);
    }
}
