//! The cost of each unit: a running estimate that a single interruption hardly moves.
//!
//! The worker that runs a unit notes how long it took. The estimate moves towards each sample by a
//! sixteenth of the difference. A difference of more than a quarter of the estimate counts as a quarter.
//! This is a stochastic approximation (Robbins and Monro 1951) of Huber's location estimate (1964).
//!
//! So an interruption of 50 ms moves the estimate by 1.6 %. When a cost really changes by half, the
//! estimate follows within about 40 blocks.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// How far the estimate moves, as a fraction of the difference.
const RATE: f32 = 1.0 / 16.0;
/// The largest difference that counts, as a fraction of the estimate.
const REACH: f32 = 0.25;
/// How many kinds of seats have estimates of their own. Machines have up to three.
pub(crate) const KINDS: usize = 4;

/// The circumstances under which a unit ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Circumstance {
    /// Index of the seat's kind, below [`KINDS`].
    pub kind: usize,
    /// Whether another worker on the same core was working when the unit ended.
    pub sibling_busy: bool,
}

/// Estimates of one unit in ticks, as the bits of `f32`. 0: the unit never ran under this circumstance.
///
/// Only the worker that runs the unit writes (invariant ONE-WRITER of `bus.rs`). Any thread may read at
/// any time. All accesses are relaxed: an estimate publishes nothing else.
///
/// Each cell has a cache line, because different workers often run neighbouring units.
#[derive(Debug)]
#[repr(align(64))]
struct Cell([[AtomicU32; 2]; KINDS]);

/// Estimates of all units of a plan.
#[derive(Debug)]
pub(crate) struct Costs {
    cells: Box<[Cell]>,
}

impl Costs {
    /// Estimates without a sample.
    ///
    /// Thread: control; allocates.
    pub(crate) fn new(units: usize) -> Costs {
        let cell = |_| Cell(std::array::from_fn(|_| [AtomicU32::new(0), AtomicU32::new(0)]));
        Costs { cells: (0..units).map(cell).collect() }
    }

    /// Notes that `unit` took `ticks`.
    ///
    /// Thread: worker, inside a block. Cost: a load, a store, five operations.
    #[inline]
    pub(crate) fn note(&self, unit: usize, circumstance: Circumstance, ticks: u64) {
        let cell = &self.cells[unit].0[circumstance.kind][usize::from(circumstance.sibling_busy)];
        let (old, sample) = (f32::from_bits(cell.load(Relaxed)), ticks as f32);
        cell.store(towards(old, sample).to_bits(), Relaxed);
    }

    /// The estimate in ticks. `None`: the unit never ran under this circumstance.
    pub(crate) fn get(&self, unit: usize, circumstance: Circumstance) -> Option<f64> {
        let cell = &self.cells[unit].0[circumstance.kind][usize::from(circumstance.sibling_busy)];
        let ticks = f32::from_bits(cell.load(Relaxed));
        (ticks > 0.0).then_some(f64::from(ticks))
    }
}

/// The estimate after a sample. `old` is 0 before the first sample.
///
/// An interruption makes a sample too long, and it may hit the first one. So an estimate of more than twice
/// the sample moves halfway at once. Otherwise it would take hundreds of blocks to come down.
#[inline]
pub(crate) fn towards(old: f32, sample: f32) -> f32 {
    if old == 0.0 {
        return sample;
    }
    if sample < old / 2.0 {
        return (old + sample) / 2.0;
    }
    let reach = old * REACH;
    // Not `clamp`: it checks the order of its bounds.
    old + RATE * (sample - old).max(-reach).min(reach)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALONE: Circumstance = Circumstance { kind: 0, sibling_busy: false };

    fn after(samples: impl Iterator<Item = u64>) -> f64 {
        let costs = Costs::new(1);
        samples.for_each(|sample| costs.note(0, ALONE, sample));
        costs.get(0, ALONE).unwrap_or(0.0)
    }

    #[test]
    fn what_never_ran_is_not_known() {
        let costs = Costs::new(2);
        costs.note(1, Circumstance { kind: 3, sibling_busy: true }, 77);
        assert_eq!(costs.get(0, ALONE), None);
        assert_eq!(costs.get(1, ALONE), None);
        assert_eq!(costs.get(1, Circumstance { kind: 3, sibling_busy: true }), Some(77.0));
    }

    #[test]
    fn one_interruption_hardly_counts() {
        let samples = std::iter::repeat_n(1000, 100).chain([100_000_000]);
        assert!((after(samples) - 1000.0 * (1.0 + 0.25 / 16.0)).abs() < 1.0);
    }

    #[test]
    fn a_cost_that_changed_is_followed() {
        let samples = std::iter::repeat_n(1000, 100).chain(std::iter::repeat_n(2000, 150));
        assert!((after(samples) - 2000.0).abs() < 20.0);
        let samples = std::iter::repeat_n(2000, 100).chain(std::iter::repeat_n(500, 150));
        assert!((after(samples) - 500.0).abs() < 20.0);
    }

    #[test]
    fn a_first_sample_that_was_interrupted_is_soon_forgotten() {
        let samples = [5_000_000].into_iter().chain(std::iter::repeat_n(1000, 60));
        assert!((after(samples) - 1000.0).abs() < 100.0);
    }

    #[test]
    fn one_bad_sample_in_ten_moves_it_by_less_than_a_tenth() {
        let samples = (0..2000).map(|i| if i % 10 == 3 { 50_000 } else { 1000 });
        assert!((after(samples) - 1000.0).abs() < 100.0);
    }
}
