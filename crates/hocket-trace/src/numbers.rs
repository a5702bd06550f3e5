//! Numbers that the trace events of a run hold besides what viewers show: one module writes them, the other reads them.

use serde::{Deserialize, Serialize};

use crate::cause::Verdict;
use crate::run::{RunBlock, RunLane};

/// A block, without its spans. They follow it as events of their own.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct BlockNumbers {
    pub number: u64,
    /// The planned start, on the monotonic clock. All other times are since then.
    pub start_ns: u64,
    pub awake_ns: i64,
    pub finished_ns: i64,
    pub deadline_ns: i64,
    pub skipped: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<u64>,
    /// Of each lane the event's `tid`, when the thread was awake, and when it had finished.
    pub lanes: Vec<(u32, i64, i64)>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
}

impl BlockNumbers {
    /// `tid`: that of the events of the thread with an index.
    pub fn of(block: &RunBlock, tid: impl Fn(usize) -> u32) -> BlockNumbers {
        let lane = |lane: &RunLane| (tid(lane.thread), lane.awake_ns, lane.finished_ns);
        BlockNumbers {
            number: block.number,
            start_ns: block.start_ns,
            awake_ns: block.awake_ns,
            finished_ns: block.finished_ns,
            deadline_ns: block.deadline_ns,
            skipped: block.skipped,
            plan: block.plan,
            lanes: block.lanes.iter().map(lane).collect(),
            verdict: block.verdict.clone(),
        }
    }
}
