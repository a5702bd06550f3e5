//! Running estimates of block times: the leader writes them after each block, control threads read them.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use crate::block::costs::towards;

/// What a block was computed by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Of {
    /// The plan; `alone`: one for the leader alone, which is the serial walk too.
    Plan { alone: bool },
    /// The serial walk instead of the plan.
    SerialWalk,
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
}

impl BlockEstimates {
    /// Notes a block; `ticks` for one of full length.
    ///
    /// Thread: leader, after the deadline-critical part.
    pub(crate) fn note(&self, of: Of, orders: u32, ticks: Option<u64>) {
        self.blocks.store(self.blocks.load(Relaxed) + 1, Relaxed);
        let since = match (orders, of) {
            (0, Of::SerialWalk) => self.since_order.load(Relaxed),
            (0, Of::Plan { .. }) => self.since_order.load(Relaxed).saturating_add(1),
            _ => 0,
        };
        self.since_order.store(since, Relaxed);
        if orders > 0 {
            self.present.store(0, Relaxed);
        }
        // The first blocks of a plan find cold caches and workers that are still on their way.
        let Some(ticks) = ticks.filter(|_| since >= SETTLING) else { return };
        if of != Of::SerialWalk {
            follow(&self.present, ticks);
        }
        if of != (Of::Plan { alone: false }) {
            follow(&self.serial, ticks);
        }
    }

    /// Blocks of the present plan since the last order.
    pub(crate) fn blocks_since_order(&self) -> u32 {
        self.since_order.load(Relaxed)
    }

    /// The serial walk's estimate for a block of full length, in ticks; `None`: it never ran.
    pub(crate) fn serial_ticks(&self) -> Option<f64> {
        ticks(&self.serial)
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
