//! Times of a block, its period, and counts of a thread.

use hocket_trace::Misses;

/// The period: how long a block of so many frames lasts when played, in whole nanoseconds.
///
/// Thread: any. Cost: a division.
#[inline]
pub const fn period_ns(frames: u64, rate_hz: u32) -> u64 {
    frames * 1_000_000_000 / rate_hz as u64
}

/// Times of one block, relative to its planned start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BlockTimes {
    /// Number of the block since the engine started.
    pub block: u64,
    /// Processed frames: as many as requested, at most [`Settings::frames`](crate::Settings).
    pub frames: usize,
    /// `signaled`: the planned start, on the system's monotonic clock.
    pub signaled_ns: u64,
    /// From the planned start to the leader's awakening.
    pub lateness_ns: u64,
    /// From the leader's awakening to the complete output.
    pub duration_ns: u64,
    /// From the planned start to the deadline.
    pub deadline_ns: u64,
    /// From the leader's awakening to that of the last worker that came. 0 if the block needed none.
    pub workers_awake_ns: u64,
    /// Workers that took part, the leader included.
    pub workers: u32,
    /// Orders from control threads that the leader carried out before the block.
    pub orders: u32,
    /// How long that took. The duration includes it.
    pub orders_ns: u64,
    /// Periods that passed without a block, after this one and before the leader was ready again. The device
    /// counts them. 0 if no device has counted.
    pub skipped: u64,
}

impl BlockTimes {
    /// The time left before the deadline. Negative: the block was late.
    pub fn slack_ns(&self) -> i64 {
        self.deadline_ns as i64 - (self.lateness_ns + self.duration_ns) as i64
    }

    /// Whether the block was finished after its deadline.
    pub fn is_late(&self) -> bool {
        self.misses().late > 0
    }

    /// Periods for which the device had nothing new to play because of this block: its own, if it was late, and
    /// the skipped ones.
    pub fn misses(&self) -> Misses {
        Misses::of_block(self.slack_ns(), self.skipped)
    }
}

/// What one thread of an engine did since it started.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WorkerTotals {
    /// Blocks it took part in.
    pub blocks: u64,
    /// Units it ran.
    pub units: u64,
    /// How often it really blocked inside a block.
    pub blocked: u64,
    /// How often it yielded inside a block.
    pub yielded: u64,
    /// Wake-up system calls that it made.
    pub wakes: u64,
    /// Spans that did not fit into its notes.
    pub spans_dropped: u64,
    /// Time spent in units.
    pub busy_ns: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_late_when_it_ends_after_its_deadline() {
        let block = |duration_ns| BlockTimes {
            lateness_ns: 300,
            duration_ns,
            deadline_ns: 1_000,
            skipped: 2,
            ..BlockTimes::default()
        };
        for (duration_ns, slack_ns) in [(650, 50), (700, 0), (701, -1)] {
            let times = block(duration_ns);
            assert_eq!((times.slack_ns(), times.is_late()), (slack_ns, slack_ns < 0));
            let misses = times.misses();
            assert_eq!((misses.late, misses.skipped), (u64::from(slack_ns < 0), 2));
        }
    }
}
