//! The bare wake-up loop: the leader's pinning, class and period, and no work at all.
//!
//! Its lateness is what this machine does to a block before any engine touches it.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use hocket_engine::{Engine, VirtualDevice, period_ns};
use hocket_machine::clock::{monotonic_ns, sleep_until_ns};

use super::BenchPlan;
use super::turn::{At, grant};
use super::turn_noise::TurnNoise;
use crate::record::{WakeLoop, WakeRound};

pub(super) struct WakeTurns {
    record: WakeLoop,
    cpu: Option<u32>,
}

impl WakeTurns {
    /// Sits where the leader of `engine` sits.
    pub(super) fn new(_plan: &BenchPlan, engine: &Engine) -> WakeTurns {
        let record = WakeLoop { thread: None, rounds: Vec::new() };
        WakeTurns { record, cpu: engine.seating().worker_cpu(0) }
    }

    /// One turn; returns whether it came to its end.
    pub(super) fn measure(&mut self, plan: &BenchPlan, at: At, stop: &AtomicBool) -> bool {
        let (saved, report) = hocket_engine::settle_leader("wake-up loop", self.cpu, plan.priority);
        if self.record.thread.is_none() {
            self.record.thread = Some(grant(&report));
        }
        let ledger = TurnNoise::begin_alone();
        let lateness_ns = wake_ups(plan, stop);
        let noise = ledger.end();
        drop(saved);
        let complete = lateness_ns.len() as u64 == plan.blocks_per_round;
        if complete {
            let (round, order) = (at.round, at.order);
            self.record.rounds.push(WakeRound { start: 0, round, order, noise, lateness_ns });
        }
        complete
    }

    pub(super) fn finish(self) -> WakeLoop {
        self.record
    }
}

fn wake_ups(plan: &BenchPlan, stop: &AtomicBool) -> Vec<i64> {
    let mut lateness = Vec::with_capacity(plan.blocks_per_round as usize);
    let period_ns = period_ns(plan.frames.into(), plan.rate_hz);
    let mut planned = monotonic_ns() + VirtualDevice::LEAD_IN_NS;
    for _ in 0..plan.blocks_per_round {
        sleep_until_ns(planned);
        let now = monotonic_ns();
        lateness.push(now.saturating_sub(planned) as i64);
        if stop.load(Relaxed) {
            break;
        }
        // A period that has passed already is skipped, as the device does.
        planned += period_ns * (1 + now.saturating_sub(planned) / period_ns);
    }
    lateness
}
