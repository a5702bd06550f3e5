//! What a block cost, as numbers.

/// Times of one block, against its plan.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BlockTimes {
    /// Number of the block since the engine started.
    pub block: u64,
    /// Frames that were processed: as many as were asked for, at most [`Settings::frames`](crate::Settings).
    pub frames: usize,
    /// `signaled`: the planned start, on the system's monotonic clock.
    pub signaled_ns: u64,
    /// From the planned start to the leader's awakening.
    pub lateness_ns: u64,
    /// From the leader's awakening to the complete output.
    pub duration_ns: u64,
    /// From the planned start to the deadline.
    pub deadline_ns: u64,
    /// From the leader's awakening to the last worker's that came; 0 where none was needed.
    pub workers_awake_ns: u64,
    /// Workers that took part, the leader included.
    pub workers: u32,
    /// Orders from control threads that were carried out before the block.
    pub orders: u32,
    /// How long that took, as a part of the duration.
    pub orders_ns: u64,
    /// Further periods that passed before the leader was ready again: the device had nothing to
    /// play in them either.
    pub skipped: u64,
}

impl BlockTimes {
    /// Time left before the deadline; negative: the block came too late.
    pub fn slack_ns(&self) -> i64 {
        self.deadline_ns as i64 - (self.lateness_ns + self.duration_ns) as i64
    }

    /// Whether the device had nothing to play.
    pub fn missed(&self) -> bool {
        self.slack_ns() < 0
    }
}

/// What one thread of an engine did since it started.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WorkerTotals {
    /// Blocks it took part in.
    pub blocks: u64,
    /// Units it ran.
    pub units: u64,
    /// Times it truly blocked inside a block.
    pub blocked: u64,
    /// Times it yielded inside a block.
    pub yielded: u64,
    /// Wake-up system calls it made.
    pub wakes: u64,
    /// Spans that did not fit into its notes.
    pub spans_dropped: u64,
    /// Time spent in units.
    pub busy_ns: u64,
}
