//! Why a block was late: the last blocks kept in memory, evidence put together away from the audio path.
//!
//! ```text
//! leader, between blocks                      any other thread, or the leader's between turns
//! FlightRecorder::note: copies the block's
//!   notes into a slot that was there before
//! a miss, or the worst so far (or every block):
//!   event with its neighbours  ----ring---->  FlightDrain::collect: names, estimates,
//!                              <---ring-----    who ran on the seats, counters -> Flight
//!                                             FlightLog: tally by cause, last explanations
//! ```
//!
//! The leader allocates nothing, locks nothing and calls nothing. Where events come faster than they
//! are collected they are counted and lost; the blocks before them go on.

mod threads;
mod drain;
mod block_notes;
mod log;
mod places;
mod recorder;
mod scene;

use hocket_machine::clock::TickRate;

use crate::block::stamps::{Noted, Stamps, What};
use crate::control::engine::Engine;

pub(crate) use block_notes::BlockNotes;
pub use drain::{Flight, FlightDrain, Neighbour};
pub use log::FlightLog;
pub use recorder::FlightRecorder;
pub(crate) use threads::EngineThreads;

/// How much a recorder keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlightSettings {
    /// The last blocks, whatever became of them; at least 2. None with [`HandOver::Every`].
    pub blocks: usize,
    /// Blocks on their way to the drain, each with its neighbours; at least 1.
    pub events: usize,
    /// Which blocks the drain gets.
    pub hand_over: HandOver,
}

/// Which blocks a recorder hands over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HandOver {
    /// Those that were late, before which periods were skipped, or the worst so far, each with its neighbours.
    LateOrWorst,
    /// Every block, without neighbours, and the recorder keeps none. The drain explains the late ones only.
    Every,
}

impl Default for FlightSettings {
    fn default() -> FlightSettings {
        // At 64 frames and 48 kHz: the last 85 ms, and as much that is late without a gap.
        FlightSettings { blocks: 64, events: 64, hand_over: HandOver::LateOrWorst }
    }
}

/// A recorder for `engine` and the drain for what it records. The engine has to keep spans
/// ([`Settings::spans`](crate::Settings::spans)), or no cause can be found.
///
/// Thread: control; allocates everything that the leader will need: some 25 bytes a span of a block,
/// times `blocks + 3 * events`, or times `events` with [`HandOver::Every`].
pub fn record(engine: &Engine, settings: FlightSettings) -> (FlightRecorder, FlightDrain) {
    let (recorder, ends) = recorder::new(engine, settings);
    (recorder, FlightDrain::new(engine, ends, settings.hand_over))
}

/// What it costs a thread to note one span, in nanoseconds: the median of some tries on the calling thread.
///
/// Thread: control. Cost: less than a millisecond.
pub fn span_cost_ns() -> u64 {
    const TRIES: u64 = 15;
    const SPANS: u64 = 1000;
    let rate = TickRate::get();
    let mut stamps = Stamps::new(SPANS as usize);
    let mut one_try = |block| {
        stamps.begin(block, Noted { spans: true, cpu_time: false });
        (0..SPANS).for_each(|_| _ = stamps.end_span(What::Wait));
        stamps.finish();
        rate.ticks_to_ns(stamps.finished.wrapping_sub(stamps.awake)).div_ceil(SPANS)
    };
    let mut costs: Vec<u64> = (0..TRIES).map(&mut one_try).collect();
    costs.sort_unstable();
    costs[costs.len() / 2]
}
