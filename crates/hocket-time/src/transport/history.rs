//! The song as a node with latency before it sees it: some frames late.

use std::collections::VecDeque;

use super::segments::{Segment, Segments};
use super::{MAX_BLOCK_FRAMES, MAX_PENDING, MIN_LOOP_FRAMES};

/// A segment on the steady clock, over as many blocks as it lasts.
#[derive(Debug, Clone, Copy)]
struct Past {
    /// Steady frame of its first frame.
    first: u64,
    frames: u64,
    position: i64,
    playing: bool,
    jumped: bool,
}

impl Past {
    fn end(&self) -> u64 {
        self.first + self.frames
    }

    fn position_at(&self, steady: u64) -> i64 {
        if self.playing { self.position + (steady - self.first) as i64 } else { self.position }
    }
}

/// The segments of the last blocks, for nodes whose input is late.
///
/// The sound that reaches a node behind plug-ins with a latency of `d` frames in all belongs to a song position `d`
/// frames earlier. Its automation and its clock have to be those of that position. The leader keeps one history and
/// adds every block to it. Each node asks for its block as it was `d` frames before, and makes its
/// [`BlockTime`](crate::BlockTime) of that.
///
/// Before the engine's start the song stands still at the position of the first frame.
///
/// Limits: a history keeps room for the shortest loop all the time, and for [`MAX_PENDING`] commands in each of eight
/// blocks besides. With more it forgets the oldest frames, where the song then stands still. A block that had more than
/// [`MAX_SEGMENTS`](crate::MAX_SEGMENTS) segments plays on in its last one. The next block is right again.
///
/// Thread: the leader adds; leader and workers ask. Cost: O(segments). Only [`new`](SegmentHistory::new) allocates.
///
/// ```
/// use hocket_time::{SegmentHistory, Transport, TransportCommand};
///
/// let (mut transport, mut history) = (Transport::new(), SegmentHistory::new(1_000));
/// transport.apply(TransportCommand::Play);
/// for _ in 0..10 {
///     history.push(&transport.next_block(64));
/// }
/// // The last block began at frame 576. Behind 100 frames of latency it begins at 476.
/// assert_eq!(history.delayed(100).as_slice()[0].position, 476);
/// ```
#[derive(Debug, Clone)]
pub struct SegmentHistory {
    /// Without gaps. It never grows beyond its first capacity.
    past: VecDeque<Past>,
    most: usize,
    max_delay: u32,
    /// Steady frame behind the last block, counted from the first block that was added.
    end: u64,
    /// Length of the last block.
    frames: u32,
}

impl SegmentHistory {
    /// An empty history for delays of up to `max_delay_frames`.
    ///
    /// Thread: control; allocates 40 bytes per 256 frames of delay, and 6 KB.
    pub fn new(max_delay_frames: u32) -> SegmentHistory {
        let passes = max_delay_frames.saturating_add(MAX_BLOCK_FRAMES) / MIN_LOOP_FRAMES as u32;
        let most = passes as usize + 8 * MAX_PENDING;
        SegmentHistory {
            past: VecDeque::with_capacity(most),
            most,
            max_delay: max_delay_frames,
            end: 0,
            frames: 0,
        }
    }

    /// The longest delay, in frames.
    pub fn max_delay_frames(&self) -> u32 {
        self.max_delay
    }

    /// Forgets all blocks.
    pub fn clear(&mut self) {
        self.past.clear();
        (self.end, self.frames) = (0, 0);
    }

    /// Adds the segments of a block.
    pub fn push(&mut self, block: &Segments) {
        let needed = u64::from(self.max_delay) + u64::from(MAX_BLOCK_FRAMES);
        for segment in block {
            self.add(segment);
        }
        self.frames = block.frames();
        while self.past.front().is_some_and(|past| past.end() + needed <= self.end) {
            self.past.pop_front();
        }
    }

    fn add(&mut self, segment: &Segment) {
        let Segment { frames, position, playing, jumped, .. } = *segment;
        let (first, frames) = (self.end, u64::from(frames));
        self.end += frames;
        if let Some(last) = self.past.back_mut()
            && last.playing == playing
            && last.position_at(first) == position
        {
            last.frames += frames;
            return;
        }
        if self.past.len() == self.most {
            self.past.pop_front();
        }
        self.past.push_back(Past { first, frames, position, playing, jumped });
    }

    /// The last block as it is `delay_frames` later: the song positions that reach its frames. A longer delay than
    /// the longest counts as that.
    pub fn delayed(&self, delay_frames: u32) -> Segments {
        let mut segments = Segments::EMPTY;
        self.delayed_into(delay_frames, &mut segments);
        segments
    }

    /// As [`delayed`](SegmentHistory::delayed), in memory that is there already: it writes the segments that there are.
    pub fn delayed_into(&self, delay_frames: u32, segments: &mut Segments) {
        segments.clear();
        let delay = u64::from(delay_frames.min(self.max_delay));
        let block_start = self.end - u64::from(self.frames);
        // How far the block reaches behind the first frame that is known.
        let known = self.past.front().map_or(self.end, |past| past.first);
        let standing = (known + delay).saturating_sub(block_start).min(u64::from(self.frames));
        let position = self.past.front().map_or(0, |past| past.position);
        segments.push(Segment {
            offset: 0,
            frames: standing as u32,
            position,
            playing: false,
            jumped: false,
        });
        // From here on all frames are known.
        let end = self.end.saturating_sub(delay);
        let mut at = (block_start + standing).saturating_sub(delay);
        let begun = self.past.partition_point(|past| past.end() <= at);
        for past in self.past.range(begun..).take_while(|past| past.first < end) {
            let until = past.end().min(end);
            segments.push(Segment {
                offset: segments.frames(),
                frames: (until - at) as u32,
                position: past.position_at(at),
                playing: past.playing,
                // Nothing jumps at the engine's start: the song stood there before.
                jumped: past.jumped && at == past.first && (at > 0 || delay == 0),
            });
            at = until;
        }
    }
}
