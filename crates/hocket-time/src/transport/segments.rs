//! The pieces of a block in which song time runs without a jump.

use super::{MAX_BLOCK_FRAMES, MAX_PENDING, MIN_LOOP_FRAMES};

/// The most segments of one block: one, one per pass of the shortest loop, and two per pending command (one for its
/// change, and one for the pass that a locate shortens).
pub const MAX_SEGMENTS: usize =
    2 + MAX_BLOCK_FRAMES as usize / MIN_LOOP_FRAMES as usize + 2 * MAX_PENDING;

/// A piece of a block in which the song plays without a jump, or stands still.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    /// Its first frame, counted from the block's beginning.
    pub offset: u32,
    /// Its length in frames, at least 1.
    pub frames: u32,
    /// The song position of its first frame. If the song plays, each further frame is one further.
    pub position: i64,
    /// Whether the song plays; if not, every frame has the same position.
    pub playing: bool,
    /// Whether its position is another one than the frames before it led to: a locate or a loop's pass. Starting
    /// and stopping are no jumps.
    pub jumped: bool,
}

impl Segment {
    /// The frame behind it, counted from the block's beginning.
    #[inline]
    pub fn end(&self) -> u32 {
        self.offset + self.frames
    }

    /// The song position of a frame of the block. Frames outside of the segment count on, or stand still.
    #[inline]
    pub fn position_at(&self, offset: u32) -> i64 {
        if self.playing {
            self.position + i64::from(offset) - i64::from(self.offset)
        } else {
            self.position
        }
    }

    /// The song position behind its last frame.
    #[inline]
    pub fn end_position(&self) -> i64 {
        self.position_at(self.end())
    }
}

/// The segments of one block, in order and without gaps. A fixed array: copying it allocates nothing.
#[derive(Clone, Copy)]
pub struct Segments {
    list: [Segment; MAX_SEGMENTS],
    len: u32,
}

const NOTHING: Segment =
    Segment { offset: 0, frames: 0, position: 0, playing: false, jumped: false };

impl Segments {
    /// No segment, for a block of no frames.
    pub const EMPTY: Segments = Segments { list: [NOTHING; MAX_SEGMENTS], len: 0 };

    /// A block in which the song plays from `position` on, without a jump: what a host gives that has no transport.
    pub fn playing(position: i64, frames: u32) -> Segments {
        let mut segments = Segments::EMPTY;
        segments.push(Segment { offset: 0, frames, position, playing: true, jumped: false });
        segments
    }

    /// Forgets all segments.
    pub(crate) fn clear(&mut self) {
        self.len = 0;
    }

    /// Adds frames behind the last one. Joins them with the last segment if they continue it, which a jump never does.
    pub(crate) fn push(&mut self, segment: Segment) {
        if segment.frames == 0 {
            return;
        }
        if let Some(last) = self.last_mut()
            && last.playing == segment.playing
            && last.end_position() == segment.position
        {
            last.frames += segment.frames;
            return;
        }
        if self.len as usize == MAX_SEGMENTS {
            // Only a history can ask for more; see its limits.
            self.list[MAX_SEGMENTS - 1].frames += segment.frames;
            return;
        }
        self.list[self.len as usize] = segment;
        self.len += 1;
    }

    /// The segments of the frames from `start` up to but not including `end`, counted from `start`.
    ///
    /// Cost: a copy of about 2 KiB.
    pub fn part(&self, start: u32, end: u32) -> Segments {
        let mut part = Segments::EMPTY;
        for segment in self {
            let (from, to) = (segment.offset.max(start), segment.end().min(end));
            if from < to {
                part.push(Segment {
                    offset: from - start,
                    frames: to - from,
                    position: segment.position_at(from),
                    jumped: segment.jumped && from == segment.offset,
                    ..*segment
                });
            }
        }
        part
    }

    fn last_mut(&mut self) -> Option<&mut Segment> {
        self.list[..self.len as usize].last_mut()
    }

    /// The segments, first to last.
    #[inline]
    pub fn as_slice(&self) -> &[Segment] {
        &self.list[..self.len as usize]
    }

    /// How many frames they cover.
    pub fn frames(&self) -> u32 {
        self.as_slice().last().map_or(0, Segment::end)
    }

    /// The segment of a frame of the block; behind the block, the last one. `None` if there is none.
    pub fn at(&self, offset: u32) -> Option<&Segment> {
        let begun = self.as_slice().partition_point(|segment| segment.offset <= offset);
        self.as_slice().get(begun.checked_sub(1)?)
    }
}

/// In order, as [`Segments::as_slice`].
impl<'a> IntoIterator for &'a Segments {
    type Item = &'a Segment;
    type IntoIter = std::slice::Iter<'a, Segment>;

    fn into_iter(self) -> Self::IntoIter {
        self.as_slice().iter()
    }
}

impl PartialEq for Segments {
    fn eq(&self, other: &Segments) -> bool {
        self.as_slice() == other.as_slice()
    }
}

impl Eq for Segments {}

impl std::fmt::Debug for Segments {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.as_slice()).finish()
    }
}
