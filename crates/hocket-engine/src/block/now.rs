//! What all workers share of the present block: where the song is, and work that is spread.

use std::sync::Arc;

use super::spread::SpreadWork;
use hocket_time::{BlockTime, SegmentHistory, Segments, TempoMap};

/// The latest that sound may reach a node that keeps time, in frames. A node behind a longer latency gets the time of
/// this one.
pub(crate) const LATEST_FRAMES: u32 = 1 << 18;

/// The time of a block, and its spread work. The leader writes it between blocks, and workers read it inside (invariant
/// FILLED).
pub(crate) struct Now {
    pub steady_frame: u64,
    pub segments: Segments,
    pub map: Arc<TempoMap>,
    pub history: SegmentHistory,
    /// The loops of processors that spread their work.
    pub spread: SpreadWork,
}

impl Now {
    /// Before the first block.
    ///
    /// Thread: control; allocates.
    pub(crate) fn new(map: Arc<TempoMap>, spread: SpreadWork) -> Now {
        let (segments, history) = (Segments::EMPTY, SegmentHistory::new(LATEST_FRAMES));
        Now { steady_frame: 0, segments, map, history, spread }
    }

    /// The time of what reaches a node `late` frames after it left its source. `room`: for a time that is late.
    #[inline]
    pub(super) fn time_in<'a>(&'a self, late: u32, room: &'a mut Segments) -> BlockTime<'a> {
        let (steady_frame, map) = (self.steady_frame, &*self.map);
        let segments = if late == 0 {
            &self.segments
        } else {
            self.history.delayed_into(late, room);
            room
        };
        BlockTime { steady_frame, segments, map }
    }
}
