//! What is known of one block.

use serde::{Deserialize, Deserializer, Serialize};

use crate::BlockTrace;
use crate::switches::Switches;

/// What is known of one block. Times are nanoseconds since the planned start.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// What its threads did.
    pub trace: BlockTrace,
    /// How long each unit was expected to run, by index into [`BlockTrace::unit_names`]; NaN, or missing: unknown.
    /// JSON has no NaN: it is null there.
    #[serde(deserialize_with = "nulls")]
    pub estimates_ns: Vec<f64>,
    /// How long the whole block was expected to take, from the leader's awakening; NaN: unknown.
    #[serde(deserialize_with = "null")]
    pub expected_ns: f64,
    /// When the device signaled, after the planned start; 0 where it keeps time itself. Later, for instance, when the
    /// block before was still being computed.
    pub signaled_ns: i64,
    /// The threads of the engine, workers and guards: they are no strangers to each other's seats.
    pub engine_tids: Vec<i32>,
    /// The seat of each worker, leader first. A worker without a lane in the trace did not come in time. Guards need
    /// none.
    pub seats: Vec<Seat>,
}

/// What happened to one worker and around its seat.
///
/// The counts are differences of two readings that enclose the block. The closer they are, the less of what they count
/// happened outside it; where a reading before and after every block is too much, they are an upper bound.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Seat {
    /// The name of the worker's lane.
    pub lane: String,
    /// Who ran on its CPU; `None`: not watched.
    pub own: Option<Switches>,
    /// Who ran on the other seats of its core, as far as they were watched.
    pub siblings: Vec<Switches>,
    /// Page faults of the worker that needed no disk.
    pub minor_faults: u64,
    /// Page faults of the worker that needed the disk.
    pub major_faults: u64,
    /// How often the worker changed its CPU.
    pub migrations: u64,
    /// Steal time of its CPU; most kernels count it in steps of 10 ms.
    pub steal_ns: i64,
}

fn null<'de, D: Deserializer<'de>>(input: D) -> Result<f64, D::Error> {
    Ok(Option::deserialize(input)?.unwrap_or(f64::NAN))
}

fn nulls<'de, D: Deserializer<'de>>(input: D) -> Result<Vec<f64>, D::Error> {
    let numbers = Vec::<Option<f64>>::deserialize(input)?;
    Ok(numbers.into_iter().map(|number| number.unwrap_or(f64::NAN)).collect())
}
