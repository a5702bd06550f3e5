//! What happened in a block, as plain data.
//!
//! The engine fills these types. Reports and exporters read them. Times are nanoseconds since the block's
//! planned start, so a reader needs no clock.
#![forbid(unsafe_code)]

pub mod cause;
#[cfg(feature = "write")]
pub mod cycles;
pub mod misses;
#[cfg(feature = "write")]
mod numbers;
#[cfg(feature = "write")]
pub mod read;
pub mod run;
pub mod sched_text;
pub mod switches;
pub mod system;
mod words;
#[cfg(feature = "write")]
pub mod write;

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
    /// Had no ready unit, and waited until another worker finished one.
    Wait,
    /// Helped another worker with the work that its unit had spread.
    Help,
    /// Kept its seat busy so that no other thread runs beside its partner.
    Guard,
}

/// One span on a lane.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Span {
    /// What the worker did.
    pub doing: Doing,
    /// Start.
    pub start_ns: i64,
    /// End.
    pub end_ns: i64,
    /// For how much of it the thread had no CPU. `None`: it was not asked, or the span was short.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub away_ns: Option<i64>,
}

/// What one thread did in the block.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Lane {
    /// For example `worker 0 (leader)`, `worker 1` or `guard of worker 0`.
    pub name: String,
    /// The CPU to which it is pinned, if it is.
    pub cpu: Option<u32>,
    /// When it woke up.
    pub awake_ns: i64,
    /// When it had no more work in this block.
    pub finished_ns: i64,
    /// Ordered by time, without overlap.
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
    /// The number of the plan that was run. `None`: not known, as in a record, which has the units' names for it.
    #[serde(skip)]
    pub plan: Option<u64>,
    /// Names of the units.
    pub unit_names: Vec<String>,
    /// One lane per thread, the leader's first.
    pub lanes: Vec<Lane>,
}

impl BlockTrace {
    /// The time left before the deadline. Negative: the block was late.
    pub fn slack_ns(&self) -> i64 {
        self.deadline_ns - self.finished_ns
    }

    /// From the leader's awakening to the complete output.
    pub fn duration_ns(&self) -> i64 {
        self.finished_ns - self.awake_ns
    }
}
