//! Calls on the block path that neither allocate nor free, and why.

use std::path::Path;

/// A call that looks as if it grew something.
pub(super) struct Exempt {
    /// Under `crates/hocket-engine/src`.
    pub file: &'static str,
    /// Receiver and method, as the check reports them.
    pub call: &'static str,
    /// What fixes the room, and where; or what is copied.
    #[cfg_attr(not(test), expect(dead_code, reason = "for people"))]
    pub why: &'static str,
}

impl Exempt {
    pub(super) fn covers(&self, file: &Path, call: &str) -> bool {
        self.call == call && file.ends_with(self.file)
    }
}

const fn exempt(file: &'static str, call: &'static str, why: &'static str) -> Exempt {
    Exempt { file, call, why }
}

#[rustfmt::skip]
pub(super) const EXEMPT: [Exempt; 27] = [
    exempt("block/abreast.rs", "stretch.clone", "a range of numbers"),
    exempt("block/bus.rs", "rows.clone", "a range of numbers"),
    exempt("block/bus.rs", "piece.clone", "a range of numbers"),
    exempt("block/bus.rs", "terms.push", "writes into an array, and is summed as soon as it is full"),
    exempt("block/clip_player.rs", "frames.clone", "a range of numbers"),
    exempt("block/ring.rs", "before.push", "a ring of rows, made by control threads; it copies"),
    exempt("block/ring.rs", "range.clone", "a range of numbers"),
    exempt("block/ring.rs", "self.append", "a ring of rows, made by control threads; it copies"),
    exempt("block/delay.rs", "ring.append", "a ring of rows, made by control threads; it copies"),
    exempt("block/delay.rs", "ring.push", "a ring of rows, made by control threads; it copies"),
    exempt("block/events.rs", "to.push", "an `EventBuffer` refuses what it has no room for"),
    exempt("block/events.rs", "received.push", "an `EventBuffer` refuses what it has no room for"),
    exempt("block/events.rs", "buffer.push", "an `EventBuffer` refuses what it has no room for"),
    exempt("block/lanes.rs", "self.push", "the method below, which looks at `room_now`"),
    exempt("block/lanes.rs", "list.push", "made with room for all values and edits of a block; `push` looks at `room_now`"),
    exempt("block/lanes.rs", "events.push", "a node's changes, made with room for all values and edits of a block"),
    exempt("block/leader.rs", "history.push", "hocket-time's history never grows beyond its first capacity"),
    exempt("block/node.rs", "events.push", "made with room for all edits of a block, `EVENTS_A_BLOCK`"),
    exempt("block/port.rs", "ring.push", "a ring of rows, made by control threads; it copies"),
    exempt("block/sum.rs", "rows.clone", "a range of numbers"),
    exempt("block/walk.rs", "sets.push", "hocket-rt's set of ready units: a bit for each unit"),
    exempt("block/walk.rs", "deques.push", "hocket-rt's deque, made with room for all units"),
    exempt("block/work.rs", "send.push", "a ring of fixed length, which gives back what it has no room for"),
    exempt("block/work.rs", "give_back.push", "a ring of fixed length, which gives back what it has no room for"),
    exempt("leader/choose_walk.rs", "serial.push", "the last 16 samples, in an array"),
    exempt("leader/inbox.rs", "done.push", "a ring with room for all orders that can be on their way"),
    exempt("leader/inbox.rs", "events.push", "made with room for `EVENTS_A_BLOCK`, which is looked at before"),
];
