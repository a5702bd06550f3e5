//! Running estimates of block times: the leader writes them after each block, control threads read them.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};

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
    /// Whether the last block was left out.
    rests: AtomicBool,
    since_order: AtomicU32,
    /// Running estimates in ticks, as the bits of `f32`: of the serial walk, and of the present plan.
    serial: AtomicU32,
    present: AtomicU32,
    /// What 99 of 100 blocks of one plan take at most, whichever way they were computed: [`High`], packed.
    high: AtomicU64,
    /// What `auto` found out about the plan in use, packed: see [`BlockEstimates::publish`].
    finding: AtomicU64,
    /// Time of a serial block that this finding rests on, in ticks, as the bits of `f32`; 0: there is none.
    compared_serial: AtomicU32,
}

impl BlockEstimates {
    /// Notes a block of the plan of this number; `ticks` for one of full length.
    ///
    /// Thread: leader, after the deadline-critical part.
    pub(crate) fn note(&self, of: Of, plan: u64, orders: u32, ticks: Option<u64>) {
        self.blocks.store(self.blocks.load(Relaxed) + 1, Relaxed);
        self.rests.store(of == Of::Nothing, Relaxed);
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
        self.note_high(of, plan, ticks);
        // The first blocks of a plan find cold caches and workers that are still on their way.
        let counts = since >= SETTLING && of != Of::Nothing;
        let Some(ticks) = ticks.filter(|_| counts) else { return };
        if matches!(of, Of::Plan { .. }) {
            follow(&self.present, ticks);
        }
        if of != (Of::Plan { alone: false }) {
            follow(&self.serial, ticks);
        }
    }

    /// Other plans forget it; other orders do not, because a fader may move in every block.
    fn note_high(&self, of: Of, plan: u64, ticks: Option<u64>) {
        let old = High::unpacked(self.high.load(Relaxed));
        let new = match (old.plan == number(plan), of, ticks) {
            // The plan's first block is the one that exchanged it.
            (false, ..) => High { plan: number(plan), ..High::default() },
            (true, Of::Plan { .. } | Of::ChosenSerialWalk, Some(ticks)) => old.followed(ticks),
            _ => return,
        };
        self.high.store(new.packed(), Relaxed);
    }

    /// Forgets what blocks took: they have another length from now on.
    ///
    /// Thread: leader.
    pub(crate) fn forget_times(&self) {
        self.serial.store(0, Relaxed);
        self.present.store(0, Relaxed);
        let High { plan, .. } = High::unpacked(self.high.load(Relaxed));
        self.high.store(High { plan, ..High::default() }.packed(), Relaxed);
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

    /// Whether the last block was left out.
    pub(crate) fn rests(&self) -> bool {
        self.rests.load(Relaxed)
    }

    /// Blocks of the present plan since the last order.
    pub(crate) fn blocks_since_order(&self) -> u32 {
        self.since_order.load(Relaxed)
    }

    /// The serial walk's estimate for a block of full length, in ticks; `None`: it never ran.
    pub(crate) fn serial_ticks(&self) -> Option<f64> {
        ticks(&self.serial)
    }

    /// What 99 of 100 blocks of full length take at most under the plan of this number, in ticks, and whether enough of them
    /// have run to rely on it. `None` before there is an estimate.
    pub(crate) fn high_ticks(&self, plan: u64) -> Option<(f64, bool)> {
        let high = High::unpacked(self.high.load(Relaxed));
        let is_known = high.plan == number(plan) && high.ticks > 0.0;
        is_known.then(|| (high.ticks.into(), high.blocks >= SETTLING as u16 + RELIABLE))
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

/// Blocks after those from which on [`High`] is relied on.
const RELIABLE: u16 = 32;

/// How a plan's number is packed.
fn number(plan: u64) -> u16 {
    plan as u16
}

/// An estimate that rises with each block that takes longer, and falls with each other one, so that it stands still where one
/// of 100 takes longer. How much longer does not matter: one block that a foreign thread held up moves it by a 16th.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct High {
    /// The number of the plan.
    plan: u16,
    /// Blocks of it that were counted, also those that are not looked at.
    blocks: u16,
    /// 0: none yet.
    ticks: f32,
}

impl High {
    /// One store, so that they belong together.
    fn packed(self) -> u64 {
        let bits = u64::from(self.ticks.to_bits());
        bits << 32 | u64::from(self.plan) << 16 | u64::from(self.blocks)
    }

    fn unpacked(packed: u64) -> High {
        let ticks = f32::from_bits((packed >> 32) as u32);
        High { plan: (packed >> 16) as u16, blocks: packed as u16, ticks }
    }

    /// After another block.
    fn followed(self, ticks: u64) -> High {
        let (old, ticks) = (self.ticks, ticks as f32);
        let followed = self.blocks.saturating_sub(SETTLING as u16);
        // By which part a longer block raises it, and the part of blocks that take longer. At first large steps find about
        // where it is.
        let (rise, longer) = match followed {
            0..RELIABLE => (1.0 / 4.0, 0.1),
            RELIABLE..200 => (1.0 / 8.0, 0.1),
            _ => (1.0 / 16.0, 0.01),
        };
        let new = match followed {
            _ if self.blocks < SETTLING as u16 => 0.0,
            _ if old == 0.0 => ticks,
            // One of the first may have been held up.
            0..8 => old.min(ticks),
            _ if ticks > old => old * (1.0 + rise * (1.0 - longer)),
            _ => old * (1.0 - rise * longer),
        };
        High { blocks: self.blocks.saturating_add(1), ticks: new, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// After so many blocks that take what `took` says.
    fn after(blocks: u64, took: impl Fn(u64) -> u64) -> High {
        (0..blocks).fold(High::default(), |high, block| high.followed(took(block)))
    }

    /// Numbers from 1 to 1000 in a mixed order, again and again: 99 of 100 are at most 990.
    #[test]
    fn the_high_estimate_finds_what_99_of_100_take_at_most() {
        let mut high = High::default();
        let (mut sum, mut count) = (0.0, 0);
        for block in 0..200_000_u64 {
            high = high.followed(1 + block * 617 % 1000);
            if block >= 100_000 {
                sum += f64::from(high.ticks);
                count += 1;
            }
        }
        let mean = sum / f64::from(count);
        assert!((950.0..1030.0).contains(&mean), "{mean}");
    }

    /// Wherever it is held up, at once or after a while.
    #[test]
    fn one_block_that_is_held_up_does_not_count_for_long() {
        for outlier in 0..40 {
            let high = after(48, |block| if block == outlier { 10_000 } else { 1000 });
            assert!((800.0..2000.0).contains(&high.ticks), "{outlier}: {high:?}");
        }
    }

    /// It falls to the times of lighter blocks within 200 of them.
    #[test]
    fn it_falls_soon_after_a_heavy_beginning() {
        let high = after(250, |block| if block < 30 { 5000 } else { 1000 });
        assert!((900.0..1200.0).contains(&high.ticks), "{high:?}");
    }

    const PLAN: Of = Of::Plan { alone: false };

    fn noted(estimates: &BlockEstimates, plan: u64, orders: u32, blocks: usize) {
        (0..blocks).for_each(|_| estimates.note(PLAN, plan, orders, Some(1000)));
    }

    #[test]
    fn another_plan_begins_anew_and_an_order_without_one_does_not() {
        let estimates = BlockEstimates::default();
        noted(&estimates, 7, 1, 1);
        assert_eq!(estimates.high_ticks(7), None);
        // A fader moves in each block.
        noted(&estimates, 7, 1, 17);
        assert_eq!(estimates.high_ticks(7), Some((1000.0, false)));
        noted(&estimates, 7, 1, 31);
        assert!(estimates.high_ticks(7).is_some_and(|(_, relies)| relies));
        assert_eq!(estimates.high_ticks(8), None, "it is on its way");
        noted(&estimates, 8, 1, 1);
        assert_eq!((estimates.high_ticks(7), estimates.high_ticks(8)), (None, None));
        noted(&estimates, 8, 0, 17);
        assert_eq!(estimates.high_ticks(8), Some((1000.0, false)));
        estimates.forget_times();
        assert_eq!(estimates.high_ticks(8), None);
        noted(&estimates, 8, 0, 17);
        assert_eq!(estimates.high_ticks(8), Some((1000.0, false)));
    }
}
