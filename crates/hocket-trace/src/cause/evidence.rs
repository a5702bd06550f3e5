//! What is known of one block.

use serde::{Deserialize, Deserializer, Serialize};

use crate::BlockTrace;
use crate::switches::Switches;

/// What is known of one block. Times are nanoseconds since the planned start.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// What its threads did.
    pub trace: BlockTrace,
    /// The expected time of each unit, by index into [`BlockTrace::unit_names`]. NaN or missing: unknown.
    /// JSON has null instead of NaN.
    #[serde(deserialize_with = "nulls")]
    pub estimates_ns: Vec<f64>,
    /// The expected time of the whole block, from the leader's awakening. NaN: unknown.
    #[serde(deserialize_with = "null")]
    pub expected_ns: f64,
    /// When the device signaled, after the planned start. 0 if the device keeps time itself. It is later if,
    /// for instance, the block before was not finished.
    pub signaled_ns: i64,
    /// The threads of the engine, workers and guards. They do not count as strangers.
    pub engine_tids: Vec<i32>,
    /// The seat of each worker, leader first. A worker without a lane in the trace did not come in time.
    /// Guards need no entry.
    pub seats: Vec<Seat>,
}

/// What happened to one worker, and around its seat.
///
/// The counts are differences of two readings, before and after the block. If the readings are further apart
/// than the block, the counts are an upper bound.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Seat {
    /// The name of the worker's lane.
    pub lane: String,
    /// Which threads ran on its CPU. `None`: not watched.
    pub own: Option<Switches>,
    /// Those of them that the worker outranks: it has a real-time class, and they are known to have a lower one or a
    /// lower priority. The scheduler keeps no worker from waking up for them.
    #[serde(default)]
    pub outranked: Vec<i32>,
    /// Which threads ran on the other seats of its core, as far as they were watched.
    pub siblings: Vec<Switches>,
    /// When the worker was woken up for the block. `None`: not recorded, or it did not sleep before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub woken_ns: Option<i64>,
    /// The thread that woke it up, for example one of a sound server. `None`: an interrupt such as that of a timer, or not
    /// recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub woken_by: Option<i32>,
    /// Page faults of the worker that needed no disk.
    pub minor_faults: u64,
    /// Page faults of the worker that needed the disk.
    pub major_faults: u64,
    /// How often the worker changed its CPU.
    pub migrations: u64,
    /// The steal time of its CPU. Most kernels count it in steps of 10 ms.
    pub steal_ns: i64,
}

impl Evidence {
    /// When the leader was woken up, if that was recorded.
    pub fn leader_woken_ns(&self) -> Option<i64> {
        let leader = &self.trace.lanes.first()?.name;
        self.seats.iter().find(|seat| seat.lane == *leader)?.woken_ns
    }
}

fn null<'de, D: Deserializer<'de>>(input: D) -> Result<f64, D::Error> {
    Ok(Option::deserialize(input)?.unwrap_or(f64::NAN))
}

fn nulls<'de, D: Deserializer<'de>>(input: D) -> Result<Vec<f64>, D::Error> {
    let numbers = Vec::<Option<f64>>::deserialize(input)?;
    Ok(numbers.into_iter().map(|number| number.unwrap_or(f64::NAN)).collect())
}
