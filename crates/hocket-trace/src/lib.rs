//! What happened in a block, as plain data.
//!
//! The engine fills these, reports and exporters read them. Times are nanoseconds since the
//! block's planned start, so a block can be read without knowing any clock.
#![forbid(unsafe_code)]

pub mod cause;
pub mod misses;
pub mod switches;

pub use misses::Misses;
use serde::{Deserialize, Serialize};

/// What a worker did during a span of time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Doing {
    /// Ran the unit with this index into [`BlockTrace::unit_names`].
    Unit(u32),
    /// Waited at a barrier for the other workers.
    Barrier,
    /// Had nothing that was ready and waited for another worker to finish something.
    Wait,
    /// Kept its seat busy so that nobody else runs beside its partner.
    Guard,
}

/// One span on a lane.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Span {
    /// What was done.
    pub doing: Doing,
    /// Start.
    pub start_ns: i64,
    /// End.
    pub end_ns: i64,
}

/// What one thread did in the block.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Lane {
    /// `worker 0 (leader)`, `worker 1`, `guard of worker 0`.
    pub name: String,
    /// The CPU it is pinned to, where it is.
    pub cpu: Option<u32>,
    /// When it woke up.
    pub awake_ns: i64,
    /// When it had no more to do in this block.
    pub finished_ns: i64,
    /// In order of time, not overlapping.
    pub spans: Vec<Span>,
}

/// One block.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BlockTrace {
    /// Number of the block since the start of the run.
    pub block: u64,
    /// When the leader woke up, after the planned start.
    pub awake_ns: i64,
    /// When the output was complete, after the planned start.
    pub finished_ns: i64,
    /// The deadline, after the planned start.
    pub deadline_ns: i64,
    /// Names of the units.
    pub unit_names: Vec<String>,
    /// One lane a thread, leader first.
    pub lanes: Vec<Lane>,
}

impl BlockTrace {
    /// Time left before the deadline; negative: late.
    pub fn slack_ns(&self) -> i64 {
        self.deadline_ns - self.finished_ns
    }

    /// From the leader's awakening to the complete output.
    pub fn duration_ns(&self) -> i64 {
        self.finished_ns - self.awake_ns
    }
}
