//! Running estimates of block times: the leader writes them after each block, control threads read them.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use super::choose_walk::{Finding, Reason};
use crate::block::costs::towards;

/// What a block was computed by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Of {
    /// The plan; `alone`: one for the leader alone, which is the serial walk too.
    Plan { alone: bool },
    /// The serial walk instead of the plan, as `auto` chose.
    ChosenSerialWalk,
    /// The serial walk instead of the plan, as the caller asked.
    SerialWalk,
    /// Nothing: the engine rests (`leader/rest.rs`).
    Nothing,
}

/// How far an engine is and how long its blocks take. Written by the leader, read by anybody; all
/// accesses are relaxed, because each number stands for itself.
#[derive(Debug, Default)]
pub(crate) struct BlockEstimates {
    blocks: AtomicU64,
    since_order: AtomicU32,
    /// Running estimates in ticks, as the bits of `f32`: of the serial walk, and of the present plan.
    serial: AtomicU32,
    present: AtomicU32,
    /// What 99 of 100 blocks take at most, whichever way they were computed, in ticks, as the bits of `f32`.
    high: AtomicU32,
    /// What `auto` found out about the plan in use, packed: see [`BlockEstimates::publish`].
    finding: AtomicU64,
    /// Time of a serial block that this finding rests on, in ticks, as the bits of `f32`; 0: there is none.
    compared_serial: AtomicU32,
}

impl BlockEstimates {
    /// Notes a block; `ticks` for one of full length.
    ///
    /// Thread: leader, after the deadline-critical part.
    pub(crate) fn note(&self, of: Of, orders: u32, ticks: Option<u64>) {
        self.blocks.store(self.blocks.load(Relaxed) + 1, Relaxed);
        let since = match (orders, of) {
            (0, Of::SerialWalk | Of::Nothing) => self.since_order.load(Relaxed),
            (0, Of::Plan { .. } | Of::ChosenSerialWalk) => {
                self.since_order.load(Relaxed).saturating_add(1)
            }
            _ => 0,
        };
        self.since_order.store(since, Relaxed);
        if orders > 0 {
            self.present.store(0, Relaxed);
        }
        // The first blocks of a plan find cold caches and workers that are still on their way.
        let counts = since >= SETTLING && of != Of::Nothing;
        let Some(ticks) = ticks.filter(|_| counts) else { return };
        if of != Of::SerialWalk {
            follow_high(&self.high, ticks);
        }
        if matches!(of, Of::Plan { .. }) {
            follow(&self.present, ticks);
        }
        if of != (Of::Plan { alone: false }) {
            follow(&self.serial, ticks);
        }
    }

    /// Forgets what blocks took: they have another length from now on.
    ///
    /// Thread: leader.
    pub(crate) fn forget_times(&self) {
        self.serial.store(0, Relaxed);
        self.present.store(0, Relaxed);
        self.high.store(0, Relaxed);
    }

    /// Tells control threads what `auto` found out about the plan of this number.
    ///
    /// Thread: leader, after the deadline-critical part. Bits: 32 for the ratio (`f32`, 0: none), 16 for
    /// the plan's number, 8 for the windows, 8 for the reason; one store, so that they belong together.
    pub(crate) fn publish(&self, plan: u64, finding: Finding) {
        let ratio = u64::from((finding.ratio.unwrap_or(0.0) as f32).to_bits());
        let windows = u64::from(finding.windows.min(0xff));
        let packed = ratio << 32 | (plan & 0xffff) << 16 | windows << 8 | finding.reason as u64;
        self.finding.store(packed, Relaxed);
        let serial = finding.serial.unwrap_or(0.0) as f32;
        self.compared_serial.store(serial.to_bits(), Relaxed);
    }

    /// What `auto` found out about the plan of this number; `None`: no block of it has run.
    pub(crate) fn finding(&self, plan: u64) -> Option<Finding> {
        let packed = self.finding.load(Relaxed);
        let ratio = f64::from(f32::from_bits((packed >> 32) as u32));
        Some(Finding {
            reason: Reason::ALL.into_iter().find(|reason| *reason as u64 == packed & 0xff)?,
            windows: (packed >> 8 & 0xff) as u32,
            ratio: (ratio > 0.0).then_some(ratio),
            serial: ticks(&self.compared_serial),
        })
        .filter(|_| packed >> 16 & 0xffff == plan & 0xffff)
    }

    /// Blocks of the present plan since the last order.
    pub(crate) fn blocks_since_order(&self) -> u32 {
        self.since_order.load(Relaxed)
    }

    /// The serial walk's estimate for a block of full length, in ticks; `None`: it never ran.
    pub(crate) fn serial_ticks(&self) -> Option<f64> {
        ticks(&self.serial)
    }

    /// What 99 of 100 blocks of full length take at most, in ticks; `None` before there is an estimate.
    pub(crate) fn high_ticks(&self) -> Option<f64> {
        ticks(&self.high)
    }

    /// The present plan's estimate for a block of full length, in ticks; `None` before there is one.
    pub(crate) fn present_ticks(&self) -> Option<f64> {
        ticks(&self.present)
    }
}

fn ticks(estimate: &AtomicU32) -> Option<f64> {
    let ticks = f32::from_bits(estimate.load(Relaxed));
    (ticks > 0.0).then_some(f64::from(ticks))
}

/// Blocks after an order that are not looked at.
const SETTLING: u32 = 16;

/// The estimate of `block/costs.rs`, for whole blocks.
fn follow(estimate: &AtomicU32, ticks: u64) {
    let old = f32::from_bits(estimate.load(Relaxed));
    estimate.store(towards(old, ticks as f32).to_bits(), Relaxed);
}

/// By which part a longer block raises the estimate of a high quantile.
const RISE: f32 = 1.0 / 16.0;
/// The part of blocks that take longer than it.
const LONGER: f32 = 0.01;

/// An estimate that rises with each block that takes longer, and falls with each other one, so that it stands still where one
/// of 100 takes longer. How much longer does not matter: one block that a foreign thread held up moves it by a 16th.
fn follow_high(estimate: &AtomicU32, ticks: u64) {
    let (old, ticks) = (f32::from_bits(estimate.load(Relaxed)), ticks as f32);
    let new = match old {
        0.0 => ticks,
        old if ticks > old => old * (1.0 + RISE * (1.0 - LONGER)),
        old => old * (1.0 - RISE * LONGER),
    };
    estimate.store(new.to_bits(), Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers from 1 to 1000 in a mixed order, again and again: 99 of 100 are at most 990.
    #[test]
    fn the_high_estimate_finds_what_99_of_100_take_at_most() {
        let estimate = AtomicU32::new(0);
        let (mut sum, mut count) = (0.0, 0);
        for block in 0..200_000_u64 {
            follow_high(&estimate, 1 + block * 617 % 1000);
            if block >= 100_000 {
                sum += f64::from(f32::from_bits(estimate.load(Relaxed)));
                count += 1;
            }
        }
        let mean = sum / f64::from(count);
        assert!((950.0..1030.0).contains(&mean), "{mean}");
    }
}
