//! Processes blocks: all that the leader does for one, from the device's call to its return.

use hocket_dsp::StereoRef;
use hocket_machine::clock::{monotonic_ns, ticks};
use hocket_machine::float_mode::FlushDenormals;

use super::block_estimates::Of;
use crate::block::times::BlockTimes;
use crate::control::engine::Engine;
use crate::watch::Watch;

/// How far ahead a block may be announced.
const FURTHEST_NS: u64 = 1_000_000_000;

/// How a block is computed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Walk {
    /// As the plan says.
    Plan,
    /// By the leader, unit after unit.
    Serial,
}

impl Engine {
    /// Processes one block that was planned for now.
    pub fn process(&mut self, frames: usize) -> BlockTimes {
        self.process_planned(frames, monotonic_ns())
    }

    /// Processes one block of `frames` frames planned for `signaled_ns`.
    ///
    /// A block has [`Settings::frames`](crate::Settings) frames at most. Of a longer one the first so many
    /// are processed, and [`BlockTimes::frames`] says how many: read [`Engine::output`], then ask for the
    /// rest. A block of no frames processes nothing and moves nothing.
    ///
    /// Thread: leader. No allocation, no lock. System calls: see the crate's documentation, section Costs.
    pub fn process_planned(&mut self, frames: usize, signaled_ns: u64) -> BlockTimes {
        self.run(frames, signaled_ns, Walk::Plan)
    }

    /// Says when the block after the coming one is planned, on the monotonic clock, so that workers
    /// can be awake by then. Holds for one block; a device that knows its period says it each time.
    ///
    /// A time more than a second ahead is not believed (another clock?): the workers then sleep until they
    /// are woken. A block that comes sooner than announced wakes them, as one that was not announced does.
    pub fn expect_next(&mut self, next_ns: u64) {
        let soon = next_ns.saturating_sub(monotonic_ns()) < FURTHEST_NS;
        self.next_ns = if soon { next_ns } else { 0 };
    }

    /// Processes one block in serial order on the calling thread, on the same memory.
    pub fn process_serial(&mut self, frames: usize) -> BlockTimes {
        self.run(frames, monotonic_ns(), Walk::Serial)
    }

    fn run(&mut self, frames: usize, signaled_ns: u64, walk: Walk) -> BlockTimes {
        let frames = frames.min(self.settings.frames as usize);
        if frames == 0 {
            return BlockTimes { block: self.block, signaled_ns, ..BlockTimes::default() };
        }
        let awake_ns = monotonic_ns();
        let awake_ticks = ticks();
        let orders;
        {
            let _float = FlushDenormals::enter();
            let _watch = Watch::begin();
            orders = self.inbox.carry_out(&mut self.leader, self.position);
            self.last.begun_ticks = ticks();
            match walk {
                Walk::Plan => {
                    let next_ns = std::mem::take(&mut self.next_ns);
                    self.leader.lead(frames, self.block, next_ns);
                }
                Walk::Serial => self.leader.lead_serial(frames, self.block),
            }
        }
        let finished_ticks = ticks();
        self.last.awake_ticks = awake_ticks;
        self.last.times = BlockTimes {
            block: self.block,
            frames,
            signaled_ns,
            lateness_ns: awake_ns.saturating_sub(signaled_ns),
            duration_ns: self.rate.ticks_to_ns(finished_ticks.wrapping_sub(awake_ticks)),
            deadline_ns: self.deadline_ns(frames),
            orders,
            orders_ns: self.rate.ticks_to_ns(self.last.begun_ticks.wrapping_sub(awake_ticks)),
            ..BlockTimes::default()
        };
        self.account_workers();
        let took = finished_ticks.wrapping_sub(self.last.begun_ticks);
        let whole = frames == self.settings.frames as usize;
        let alone = self.leader.runner().plan().workers() == 1;
        let of = if walk == Walk::Serial { Of::SerialWalk } else { Of::Plan { alone } };
        self.progress.note(of, orders, whole.then_some(took));
        self.block += 1;
        self.position += frames as u64;
        self.last.times
    }

    fn deadline_ns(&self, frames: usize) -> u64 {
        frames as u64 * 1_000_000_000 / u64::from(self.settings.rate_hz)
    }

    /// After the deadline-critical part: who came, and when.
    fn account_workers(&mut self) {
        let mut last_awake = self.last.awake_ticks;
        for desk in 0..self.leader.runner().plan().workers() {
            let stamps = self.leader.stamps(desk);
            if stamps.block == self.block {
                self.last.times.workers += 1;
                if desk > 0 {
                    last_awake = last_awake.max(stamps.awake);
                }
            }
        }
        self.last.times.workers_awake_ns =
            self.rate.ticks_to_ns(last_awake - self.last.awake_ticks);
    }

    /// The master's rows of the last block.
    pub fn output(&self, frames: usize) -> StereoRef<'_> {
        let output = self.leader.runner().plan().schedule.output().index();
        let unit = self.leader.unit(output);
        unit.rows(frames.min(self.settings.frames as usize))
    }

    /// Forgets all history: the next block is the session's first.
    pub fn reset(&mut self) {
        self.leader.reset();
        self.position = 0;
    }
}
