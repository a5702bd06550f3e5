//! Plays a lane: which values it gives at which frames of a block.

use super::lane::Lane;
use crate::block_time::BlockTime;
use crate::events::{Event, EventKind, ParamChange, Source};
use crate::tempo::TempoMap;
use crate::transport::Segment;

/// A value that a lane gives at a frame of a block.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LaneValue {
    /// The frame, counted from the block's beginning.
    pub offset: u32,
    /// The value, in the parameter's unit.
    pub value: f64,
    /// Whether it is one of many on the way between two points. Such a value may be thinned out.
    pub on_ramp: bool,
}

impl LaneValue {
    /// The value as an event of a parameter, with the source [`Source::LANE`].
    pub fn event(&self, param: u32) -> Event {
        let change = ParamChange { param, value: self.value, on_ramp: self.on_ramp };
        Event::new(self.offset, Source::LANE, EventKind::Param(change))
    }
}

/// Plays a lane.
///
/// It gives a value
/// 1. at each point, at its frame,
/// 2. between points whose values differ, every [`Lane::grid_frames`] frames, counted from the point before,
/// 3. where the song is not where the last block ended: at the start, after a locate, at each pass of a loop, and
///    where the song starts to play. There it gives the value of that frame, so a parameter is right at once
///    ("chasing").
///
/// While the song stands still, only rule 3 applies. Frames are those of the song, so the values do not depend on
/// how time is cut into blocks.
///
/// Thread: the worker or leader that owns it, inside a block. Cost: O(values), O(log points) after a jump, O(1)
/// where nothing is due; no allocation.
#[derive(Debug, Clone, Default)]
pub struct LaneCursor {
    /// How many of the lane's points are behind.
    passed: usize,
    /// Position of the next frame if nothing jumps, and whether the song played. `None`: chase.
    led_to: Option<(i64, bool)>,
    /// The lane is not read.
    paused: bool,
}

impl LaneCursor {
    /// A cursor that chases at its first frame.
    pub fn new() -> LaneCursor {
        LaneCursor::default()
    }

    /// Chases at the next frame. Call it when the lane was exchanged.
    pub fn restart(&mut self) {
        self.led_to = None;
    }

    /// Gives no values (while somebody holds the control), or gives them again, beginning with a chase.
    pub fn set_paused(&mut self, paused: bool) {
        self.paused = paused;
    }

    /// Gives the values of a block in order of their frames. `time.map` is the map that the lane was made with.
    pub fn run(&mut self, lane: &Lane, time: &BlockTime<'_>, mut give: impl FnMut(LaneValue)) {
        if self.paused {
            self.restart();
            return;
        }
        for segment in time.segments {
            self.run_segment(lane, time.map, segment, &mut give);
        }
    }

    fn run_segment(
        &mut self,
        lane: &Lane,
        map: &TempoMap,
        segment: &Segment,
        give: &mut impl FnMut(LaneValue),
    ) {
        let mut from = segment.position;
        if self.must_chase(lane, segment) {
            self.passed = lane.knots_until(from);
            let value = lane.value_before(self.passed, map, from);
            give(LaneValue { offset: segment.offset, value, on_ramp: false });
            from += 1;
        }
        if segment.playing {
            self.play(lane, map, segment, from, give);
        }
        self.led_to = Some((segment.end_position(), segment.playing));
    }

    fn must_chase(&self, lane: &Lane, segment: &Segment) -> bool {
        let Some((position, playing)) = self.led_to else { return true };
        let starts = segment.playing && !playing;
        // The last: a shorter lane came without `restart`.
        segment.jumped || position != segment.position || starts || self.passed > lane.knots().len()
    }

    /// Gives all values from song frame `from` to the segment's end.
    fn play(
        &mut self,
        lane: &Lane,
        map: &TempoMap,
        segment: &Segment,
        mut from: i64,
        give: &mut impl FnMut(LaneValue),
    ) {
        let end = segment.end_position();
        let offset = |frame: i64| segment.offset + (frame - segment.position) as u32;
        loop {
            let next = lane.knots().get(self.passed).filter(|knot| knot.frame < end);
            let until = next.map_or(end, |knot| knot.frame);
            if lane.moves_before(self.passed) {
                let mut frame = next_on_grid(lane, self.passed, from);
                while frame < until {
                    let value = lane.value_before(self.passed, map, frame);
                    give(LaneValue { offset: offset(frame), value, on_ramp: true });
                    frame += i64::from(lane.grid_frames());
                }
            }
            let Some(knot) = next else { break };
            self.passed += 1;
            // Of two at one frame the second one holds.
            if lane.knots().get(self.passed).is_none_or(|second| second.frame != knot.frame) {
                give(LaneValue { offset: offset(knot.frame), value: knot.value, on_ramp: false });
            }
            from = knot.frame + 1;
        }
    }
}

/// The first frame at or behind `from` that lies a whole number of grid steps behind the last knot.
fn next_on_grid(lane: &Lane, passed: usize, from: i64) -> i64 {
    let start = lane.knots()[passed - 1].frame;
    let grid = i64::from(lane.grid_frames());
    // `from` is behind the knot, so this is at least one step.
    start + (from - start + grid - 1) / grid * grid
}
