//! Events of one port, sorted, in memory that is allocated once.

use super::event::{Event, EventKind, Source, SysEx};
use super::thin::Thinner;

/// Room that only note ends may use.
pub const END_ROOM: usize = 64;

/// What became of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "a refused event is lost unless it is sent again"]
pub enum Pushed {
    /// It is in the buffer.
    Stored,
    /// Another event stands for it: see the rules of [`EventBuffer`].
    Merged,
    /// There is no room. Send it again after the next block, or count it as lost.
    Refused,
}

/// What a buffer could not store as it came, since it was made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct EventCounts {
    /// Parameter changes that were thinned out or replaced by a later one.
    pub merged_params: u64,
    /// Note ends that became [`EventKind::EndAllNotes`].
    pub merged_ends: u64,
    /// Events that were refused.
    pub refused: u64,
}

/// Events of one port, sorted by frame, then source, then the order in which they came.
///
/// A block of n frames has the events of the frames 0 to n - 1. The others wait in the buffer for later blocks
/// ([`advance`](EventBuffer::advance)).
///
/// # When it is full
/// Nothing allocates, and nothing is dropped without a count ([`counts`](EventBuffer::counts)):
/// 1. Parameter changes on ramps are thinned out: of each parameter every second one goes, except its first and its
///    last. Points and jumps stay.
/// 2. If that frees nothing, a new parameter change replaces the last one of its parameter. The value at the end of
///    the block stays right.
/// 3. Note ends and released pedals have room of their own ([`END_ROOM`]). Beyond it they become one
///    [`EventKind::EndAllNotes`] at the frame of the last of them: more notes end than should, but none hangs.
/// 4. Everything else is refused, and its sender keeps it.
///
/// Thread: one at a time. Cost of a push: O(1) in order, else O(events) moves; a full buffer is sorted by parameter
/// once per thinning. Only [`new`](EventBuffer::new) allocates.
///
/// ```
/// use hocket_time::{Event, EventBuffer, EventKind, Pushed, Source};
///
/// let mut events = EventBuffer::new(100, 0);
/// let change = |frame, source, value| Event::new(frame, source, EventKind::param(7, value));
/// assert_eq!(events.push(change(70, Source::LANE, 1.0)), Pushed::Stored);
/// assert_eq!(events.push(change(5, Source::LIVE, 2.0)), Pushed::Stored);
/// assert_eq!(events.push(change(5, Source::LANE, 3.0)), Pushed::Stored);
/// assert_eq!(events.block(64), [change(5, Source::LANE, 3.0), change(5, Source::LIVE, 2.0)]);
/// events.advance(64);
/// assert_eq!(events.block(64), [change(6, Source::LANE, 1.0)]);
/// ```
#[derive(Debug, Clone)]
pub struct EventBuffer {
    /// Sorted. It has room for `capacity + END_ROOM` and never grows beyond.
    events: Vec<Event>,
    capacity: usize,
    /// Bytes of system-exclusive messages. It has room for `most_bytes` and never grows beyond.
    bytes: Vec<u8>,
    most_bytes: usize,
    thinner: Thinner,
    /// Thinning frees nothing until events leave.
    is_thin: bool,
    counts: EventCounts,
}

/// Making and reading.
impl EventBuffer {
    /// An empty buffer for `capacity` events, with `sysex_bytes` for system-exclusive messages. It has room for
    /// [`END_ROOM`] note ends besides.
    ///
    /// Thread: control; allocates about 45 bytes per event.
    pub fn new(capacity: usize, sysex_bytes: usize) -> EventBuffer {
        // Messages count their bytes in 32 bits.
        let sysex_bytes = sysex_bytes.min(u32::MAX as usize);
        EventBuffer {
            events: Vec::with_capacity(capacity + END_ROOM),
            capacity,
            bytes: Vec::with_capacity(sysex_bytes),
            most_bytes: sysex_bytes,
            thinner: Thinner::new(capacity + END_ROOM),
            is_thin: false,
            counts: EventCounts::default(),
        }
    }

    /// The events of the next `frames` frames.
    pub fn block(&self, frames: u32) -> &[Event] {
        &self.events[..self.count_before(frames)]
    }

    /// All events, also those of later blocks.
    pub fn all(&self) -> &[Event] {
        &self.events
    }

    /// The bytes of a system-exclusive message that this buffer holds. Empty for one that it does not hold.
    pub fn sysex(&self, message: SysEx) -> &[u8] {
        let start = message.start as usize;
        self.bytes.get(start..start + message.len()).unwrap_or(&[])
    }

    /// What it could not store as it came.
    pub fn counts(&self) -> EventCounts {
        self.counts
    }

    fn count_before(&self, frames: u32) -> usize {
        self.events.partition_point(|event| event.frame < frames)
    }
}

/// Between blocks.
impl EventBuffer {
    /// Ends a block: its events go, and the frames of the others count from the block's end.
    pub fn advance(&mut self, frames: u32) {
        let done = self.count_before(frames);
        // One by one: a block has no copy by the C library.
        for place in done..self.events.len() {
            let later = self.events[place];
            self.events[place - done] = Event { frame: later.frame - frames, ..later };
        }
        self.events.truncate(self.events.len() - done);
        self.is_thin &= done == 0;
        self.free_bytes();
    }

    /// Removes all events; the counts stay.
    pub fn clear(&mut self) {
        self.events.clear();
        self.bytes.clear();
        self.is_thin = false;
    }

    /// Frees the bytes before those of the first message that is left.
    fn free_bytes(&mut self) {
        if self.bytes.is_empty() {
            return;
        }
        let starts = self.events.iter().filter_map(|event| match event.kind {
            EventKind::SysEx(message) => Some(message.start),
            _ => None,
        });
        let unused = starts.min().unwrap_or(self.bytes.len() as u32);
        self.bytes.drain(..unused as usize);
        for event in &mut self.events {
            if let EventKind::SysEx(message) = &mut event.kind {
                message.start -= unused;
            }
        }
    }
}

/// Writing.
impl EventBuffer {
    /// Adds an event behind all that are not later. See the rules of [`EventBuffer`] for a full one.
    ///
    /// It refuses [`EventKind::SysEx`], whose bytes it lacks: use [`push_sysex`](EventBuffer::push_sysex).
    pub fn push(&mut self, event: Event) -> Pushed {
        if matches!(event.kind, EventKind::SysEx(_)) {
            return self.refuse();
        }
        let room = if event.kind.ends_notes() { END_ROOM - 1 } else { 0 };
        if self.events.len() < self.capacity + room {
            self.insert(event);
            return Pushed::Stored;
        }
        self.push_to_full(event)
    }

    /// Adds a system-exclusive message, of which it copies the bytes.
    pub fn push_sysex(&mut self, frame: u32, source: Source, bytes: &[u8]) -> Pushed {
        let fits = self.bytes.len() + bytes.len() <= self.most_bytes;
        if !fits || self.events.len() >= self.capacity {
            return self.refuse();
        }
        let message = SysEx { start: self.bytes.len() as u32, len: bytes.len() as u32 };
        self.bytes.extend_from_slice(bytes);
        self.insert(Event::new(frame, source, EventKind::SysEx(message)));
        Pushed::Stored
    }

    /// Adds the events of the first `frames` frames of another buffer, as those of `source`. Returns how many of
    /// them were refused.
    ///
    /// Cost: O(events of both) if they fit, else a push for each.
    pub fn merge(&mut self, other: &EventBuffer, frames: u32, source: Source) -> u32 {
        let events = other.block(frames);
        let has_sysex = events.iter().any(|event| matches!(event.kind, EventKind::SysEx(_)));
        // The others are sorted by frame, and all have one source now.
        if !has_sysex && self.events.len() + events.len() <= self.capacity {
            self.merge_sorted(events, source);
            return 0;
        }
        let mut refused = 0;
        for event in events {
            let pushed = match event.kind {
                EventKind::SysEx(message) => {
                    self.push_sysex(event.frame, source, other.sysex(message))
                }
                _ => self.push(Event { source, ..*event }),
            };
            refused += u32::from(pushed == Pushed::Refused);
        }
        refused
    }

    /// Merges from the end, so that each event moves once.
    fn merge_sorted(&mut self, events: &[Event], source: Source) {
        let mut old = self.events.len();
        // One by one: a block has no copy by the C library.
        events.iter().for_each(|event| self.events.push(*event));
        let mut place = self.events.len();
        for event in events.iter().rev() {
            let event = Event { source, ..*event };
            while old > 0 && self.events[old - 1].key() > event.key() {
                old -= 1;
                place -= 1;
                self.events[place] = self.events[old];
            }
            place -= 1;
            self.events[place] = event;
        }
    }

    /// Inserts behind all that are not later. There is room.
    fn insert(&mut self, event: Event) {
        let mut place = self.events.len();
        self.events.push(event);
        // One by one: a block has no copy by the C library.
        while place > 0 && self.events[place - 1].key() > event.key() {
            self.events.swap(place - 1, place);
            place -= 1;
        }
    }

    fn refuse(&mut self) -> Pushed {
        self.counts.refused += 1;
        Pushed::Refused
    }
}

/// When it is full.
impl EventBuffer {
    fn push_to_full(&mut self, event: Event) -> Pushed {
        while !self.is_thin {
            let freed = self.thinner.thin(&mut self.events);
            self.counts.merged_params += freed as u64;
            self.is_thin = freed == 0;
            // Note ends in their own room may still leave too many.
            if self.events.len() < self.capacity {
                self.insert(event);
                return Pushed::Stored;
            }
        }
        if event.kind.ends_notes() {
            return self.end_all_notes(event);
        }
        match event.kind.changes() {
            Some(param) => self.replace_last(event, param),
            None => self.refuse(),
        }
    }

    /// Rule 2.
    fn replace_last(&mut self, event: Event, param: u32) -> Pushed {
        let Some(last) = self.events.iter().rposition(|it| it.kind.changes() == Some(param)) else {
            return self.refuse();
        };
        self.counts.merged_params += 1;
        // The later one decides.
        if self.events[last].key() <= event.key() {
            self.events.remove(last);
            self.insert(event);
            return Pushed::Stored;
        }
        Pushed::Merged
    }

    /// Rule 3. The last place is kept for this.
    fn end_all_notes(&mut self, event: Event) -> Pushed {
        self.counts.merged_ends += 1;
        let all = Event { kind: EventKind::EndAllNotes, ..event };
        let is_all = |event: &Event| event.kind == EventKind::EndAllNotes;
        match self.events.iter().rposition(is_all) {
            Some(place) if self.events[place].key() > all.key() => {}
            Some(place) => {
                self.events.remove(place);
                self.insert(all);
            }
            None => self.insert(all),
        }
        Pushed::Merged
    }
}
