//! Room for the changes of parameters that a callback gets in a block.

use std::cell::UnsafeCell;
use std::sync::OnceLock;

use hocket_engine::{TimedChange as EngineChange, most_events};

use crate::processor::TimedChange;

/// Events of the smallest part.
const LEAST: usize = 64;

/// Each part has twice the room of the one before. The largest has room for a lane of every parameter.
const PARTS: usize = 21;

/// Where a node's processor puts the events of a block. Lanes need more room while the node plays, so a control thread
/// adds larger parts before it sends the lanes. A part stays as long as the node.
pub(crate) struct EventRoom {
    parts: [OnceLock<Part>; PARTS],
}

struct Part(UnsafeCell<Box<[TimedChange]>>);

// SAFETY: control threads only make parts. Only the node's processor reads and writes one that is made, in
// `EventRoom::fill`, and an engine runs a processor on one thread at a time (rule R3 of verified schedules).
unsafe impl Sync for Part {}

impl EventRoom {
    /// Room for a node without lanes.
    ///
    /// Thread: control; allocates.
    pub(crate) fn new() -> EventRoom {
        let room = EventRoom { parts: std::array::from_fn(|_| OnceLock::new()) };
        room.grow(0, 1);
        room
    }

    /// Makes room for a node with so many lanes, in blocks of up to `frames` frames.
    ///
    /// Thread: control; allocates.
    pub(crate) fn grow(&self, lanes: usize, frames: usize) {
        let place = place_for(most_events(lanes, frames));
        let events = || vec![TimedChange { frame: 0, param: 0, value: 0.0 }; LEAST << place];
        self.parts[place].get_or_init(|| Part(UnsafeCell::new(events().into())));
    }

    /// Copies the events of a block and returns where they are and how many. The largest part bounds their number.
    ///
    /// Thread: the worker, inside the callback's block. Cost: O(events); no allocation.
    ///
    /// # Safety
    /// Only the node's processor calls it, for its present block. The next call ends what this one returned.
    pub(crate) unsafe fn fill(&self, events: &[EngineChange]) -> (*const TimedChange, usize) {
        let enough = self.parts[place_for(events.len())..].iter().find_map(OnceLock::get);
        let part = enough.or_else(|| self.parts.iter().rev().find_map(OnceLock::get));
        let Some(part) = part else { return (std::ptr::null(), 0) };
        // SAFETY: the caller's obligation: nobody else uses the part.
        let copies = unsafe { &mut *part.0.get() };
        let both = copies.iter_mut().zip(events);
        both.for_each(|(copy, event)| *copy = TimedChange::from(event));
        (copies.as_ptr(), events.len().min(copies.len()))
    }
}

/// The smallest part that has room for so many events.
fn place_for(events: usize) -> usize {
    let times = events.div_ceil(LEAST).max(1).next_power_of_two();
    (times.trailing_zeros() as usize).min(PARTS - 1)
}

#[cfg(test)]
mod tests {
    use hocket_engine::Change;

    use super::*;

    fn events(count: usize) -> Vec<EngineChange> {
        let change = |index| Change::Param { index, value: f32::from(index) };
        (0..count).map(|at| EngineChange { frame: at as u32, change: change(at as u16) }).collect()
    }

    fn filled(room: &EventRoom, count: usize) -> usize {
        // SAFETY: no other thread, and the events are not used after the next call.
        let found = unsafe {
            let (first, count) = room.fill(&events(count));
            std::slice::from_raw_parts(first, count)
        };
        for (at, event) in found.iter().enumerate() {
            assert_eq!((event.frame, event.param, event.value), (at as u32, at as u32, at as f32));
        }
        found.len()
    }

    #[test]
    fn a_block_has_room_for_what_its_lanes_can_give() {
        let room = EventRoom::new();
        assert_eq!(filled(&room, 0), 0);
        assert_eq!(filled(&room, most_events(0, 1)), most_events(0, 1));
        assert_eq!(filled(&room, 5000), LEAST, "there is no larger part yet");
        for (lanes, frames) in [(1, 64), (3, 8192), (1, 64), (100, 512)] {
            room.grow(lanes, frames);
            let most = most_events(lanes, frames);
            assert_eq!(filled(&room, most), most, "{lanes} lanes, {frames} frames");
        }
    }

    #[test]
    fn the_largest_part_has_room_for_a_lane_of_every_parameter() {
        assert!(LEAST << (PARTS - 1) >= most_events(1 << 16, 8192));
        assert_eq!(place_for(most_events(1 << 16, 8192)), PARTS - 1);
    }
}
