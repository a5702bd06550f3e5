//! What the latencies of one seat say: who may share its core.

use super::{Figure, Measurements};

/// No core has more hardware threads, so no seat more siblings than one less.
pub(super) const MOST_THREADS: usize = 8;

/// Siblings hand over faster than to anybody else by at least this factor. The closest seen are 8
/// against 16 ns (core-to-core-latency, Zen 3), a factor of 2; this leaves room for noise.
pub(super) const NEARER: f64 = 1.2;

/// Latencies up to this are those of siblings where there is nothing to compare with: 4.3 to
/// 10 ns on seven x86 processors.
pub(super) const SIBLING_NS: f64 = 11.0;

/// Latencies from this on are those of two cores: 16 ns and more on the same processors. Two
/// older designs hand over more slowly within a core (SPARC T4: 24, POWER7: 70 ns) and end as
/// unknown on a machine of a single core.
pub(super) const APART_NS: f64 = 15.0;

/// The other CPUs by latency from `cpu`, nearest first; those without a figure are left out.
pub(super) fn row(measurements: &Measurements, cpu: u32) -> Vec<(u32, Figure)> {
    let others = measurements.cpus().iter().filter(|other| **other != cpu);
    let mut row: Vec<(u32, Figure)> =
        others.filter_map(|other| Some((*other, measurements.latency(cpu, *other)?))).collect();
    row.sort_by(|a, b| a.1.median.total_cmp(&b.1.median));
    row
}

/// The CPUs that may be siblings of the owner of `row`: those before its widest gap among the
/// first eight. Where noise hides the gap some are missing; whoever follows the plan then finds
/// contention up to the edge and looks beyond it.
pub(super) fn candidates(row: &[(u32, Figure)]) -> &[(u32, Figure)] {
    let most = row.len().min(MOST_THREADS - 1);
    let gap = |at: &usize| match row.get(*at) {
        Some((_, far)) => far.median / row[at - 1].1.median,
        None => 1.0,
    };
    let widest = (1..=most).max_by(|a, b| gap(a).total_cmp(&gap(b)).then(b.cmp(a)));
    &row[..widest.unwrap_or(0)]
}

/// Whether `near` is certainly a level nearer than `far`.
pub(super) fn is_nearer(near: &Figure, far: &Figure) -> bool {
    NEARER * near.high() < far.low()
}

/// What a latency says where no other pair is there to compare it with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Absolute {
    Sibling,
    Apart,
    Between,
}

/// See [`SIBLING_NS`] and [`APART_NS`].
pub(super) fn absolute(latency: &Figure) -> Absolute {
    if latency.high() < SIBLING_NS {
        Absolute::Sibling
    } else if latency.low() > APART_NS {
        Absolute::Apart
    } else {
        Absolute::Between
    }
}
