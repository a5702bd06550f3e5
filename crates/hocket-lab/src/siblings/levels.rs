//! The levels of hand-over latency on a machine: core, cluster, package, far.

use super::{CERTAIN, Figure, Measurements};

/// Neighbouring latencies whose quotient is at least this are of two levels; less is what clocks
/// and the way across a mesh differ by anyway.
pub(super) const GAP: f64 = 1.25;

/// A group of similar latencies.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Level {
    /// The smallest median, in nanoseconds.
    pub low_ns: f64,
    /// The middle one.
    pub middle_ns: f64,
    /// The largest.
    pub high_ns: f64,
    /// How many pairs.
    pub pairs: usize,
}

/// The levels, nearest first: clusters in one dimension, cut at gaps that are wider than
/// 1.25 and than the noise of the pairs beside them. O(n^2 log n) for n CPUs.
pub fn levels(measurements: &Measurements) -> Vec<Level> {
    let mut latencies: Vec<Figure> =
        measurements.pairs().filter_map(|(a, b)| measurements.latency(a, b)).collect();
    latencies.sort_by(|a, b| a.median.total_cmp(&b.median));
    latencies.chunk_by(|near, far| !apart(near, far)).map(level).collect()
}

/// Whether `far` lies a level beyond `near`.
fn apart(near: &Figure, far: &Figure) -> bool {
    let noise = near.error.hypot(far.error);
    far.median >= GAP * near.median && far.median - near.median > CERTAIN * noise
}

fn level(of: &[Figure]) -> Level {
    Level {
        low_ns: of[0].median,
        middle_ns: of[of.len() / 2].median,
        high_ns: of[of.len() - 1].median,
        pairs: of.len(),
    }
}
