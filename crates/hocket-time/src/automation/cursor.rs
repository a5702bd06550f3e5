//! Plays a lane: which values it gives at which frames of a block.

use std::ops::Deref;

use super::lane::{Lane, Way};
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
/// Thread: the worker or leader that owns it, inside a block. Cost: O(values), O(log points) after a jump, a few
/// comparisons where nothing is due; no allocation.
#[derive(Debug, Clone, Default)]
#[repr(C)]
pub struct LaneCursor {
    // What a value on a ramp needs comes first: one cache line, and nothing of the lane.
    /// Song frame of the next value if nothing jumps.
    due: i64,
    /// Song frame of the next point.
    point: i64,
    /// The way to the next point, if the value moves on it.
    way: Option<Way>,
    /// Position of the next frame if nothing jumps, and whether the song played. `None`: chase.
    led_to: Option<(i64, bool)>,
    /// How many of the lane's points are behind.
    passed: usize,
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

    /// The song frame of its next value, if the song plays on without a jump. Before that frame a caller of many cursors
    /// may leave out [`run`](LaneCursor::run), and say so with [`rest`](LaneCursor::rest) before the next one. `None`: it
    /// has to run.
    pub fn rests_until(&self) -> Option<i64> {
        self.led_to.filter(|(_, playing)| *playing).map(|_| self.due)
    }

    /// The song has played on to `position` without a jump, and nothing was due on the way, or
    /// [`play_on`](LaneCursor::play_on) gave it.
    pub fn rest(&mut self, position: i64) {
        self.led_to = Some((position, true));
    }

    /// Gives the values of a segment in which the song plays on without a jump from where [`run`](LaneCursor::run) or
    /// `play_on` ended; for a caller of many cursors, which knows this for all of them. Returns the song frame of the next
    /// value. Before the next `run`, [`rest`](LaneCursor::rest) has to say where the song is.
    #[inline]
    pub fn play_on(
        &mut self,
        lane: &Lane,
        map: &impl Deref<Target = TempoMap>,
        segment: &Segment,
        mut give: impl FnMut(LaneValue),
    ) -> i64 {
        let end = segment.end_position();
        while self.due < end {
            give(self.next(lane, map, segment));
        }
        self.due
    }

    /// Gives the values of a block in order of their frames. `time.map` is the map that the lane was made with.
    pub fn run(&mut self, lane: &Lane, time: &BlockTime<'_>, mut give: impl FnMut(LaneValue)) {
        if self.paused {
            self.restart();
            return;
        }
        for segment in time.segments {
            if self.must_chase(segment) {
                give(self.chase(lane, time.map, segment));
            }
            while segment.playing && self.due < segment.end_position() {
                give(self.next(lane, &time.map, segment));
            }
            self.led_to = Some((segment.end_position(), segment.playing));
        }
    }

    fn must_chase(&self, segment: &Segment) -> bool {
        let Some((position, playing)) = self.led_to else { return true };
        segment.jumped || position != segment.position || (segment.playing && !playing)
    }

    /// The value of a segment's first frame.
    fn chase(&mut self, lane: &Lane, map: &TempoMap, segment: &Segment) -> LaneValue {
        let frame = segment.position;
        self.pass(lane, map, lane.knots_until(frame));
        let resting = lane.knots()[self.passed.saturating_sub(1)].value;
        let value = self.way.as_ref().map_or(resting, |way| way.value(&map, frame));
        let step = self.way.as_ref().map(|way| way.next_step(frame));
        self.due = self.point.min(step.unwrap_or(i64::MAX));
        LaneValue { offset: segment.offset, value, on_ramp: false }
    }

    /// The value that is due.
    #[inline]
    fn next(
        &mut self,
        lane: &Lane,
        map: &impl Deref<Target = TempoMap>,
        segment: &Segment,
    ) -> LaneValue {
        let frame = self.due;
        let offset = segment.offset + (frame - segment.position) as u32;
        if let Some(way) = &self.way
            && frame != self.point
        {
            let value = way.value(map, frame);
            self.due = self.point.min(frame + way.grid_frames());
            return LaneValue { offset, value, on_ramp: true };
        }
        LaneValue { offset, value: self.reach(lane, map, frame), on_ramp: false }
    }

    /// The value of the point that is due.
    fn reach(&mut self, lane: &Lane, map: &TempoMap, frame: i64) -> f64 {
        // Of several points at one frame the last holds. A search, and not just the next point: a lane that was
        // exchanged without `restart` gives wrong values at most.
        self.pass(lane, map, lane.knots_until(frame));
        let step = self.way.as_ref().map(|way| frame + way.grid_frames());
        self.due = self.point.min(step.unwrap_or(i64::MAX));
        lane.knots()[self.passed.saturating_sub(1)].value
    }

    /// The first `passed` points are behind.
    fn pass(&mut self, lane: &Lane, map: &TempoMap, passed: usize) {
        self.passed = passed;
        self.point = lane.knots().get(passed).map_or(i64::MAX, |knot| knot.frame);
        self.way = lane.way(passed, map);
    }
}
