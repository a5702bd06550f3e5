//! The transport: where the song is, and whether it plays.

mod command;
mod segments;
mod history;

pub use command::{LoopError, LoopRange, MIN_LOOP_FRAMES, TimedCommand, TransportCommand};
pub use history::SegmentHistory;
pub use segments::{MAX_SEGMENTS, Segment, Segments};

use crate::position::MAX_FRAME;

/// The longest block, in frames.
pub const MAX_BLOCK_FRAMES: u32 = 8192;

/// How many commands may wait for their frame.
pub const MAX_PENDING: usize = 16;

/// A transport has no room for another command. It gives the command back; schedule it again after a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Full(pub TimedCommand);

/// Play, stop, locate and loop, on frames.
///
/// The transport is a plain value that lives with the leader. It has two clocks. The *steady frame* counts every
/// frame since the engine's start and never goes back. The *song position* counts frames of the song. It is signed,
/// because a count-in and the shifted clock of a node with latency lie before the song's start.
///
/// Commands belong to steady frames and not to blocks. So the same commands give the same song positions, frame by
/// frame, however time is cut into blocks, live or offline.
///
/// The song's position is always that of the next frame to play. When the song has played the last frame of the
/// loop, it is at the loop's start at once, also if it stops there.
///
/// Thread: leader. Cost: O(segments + pending commands) per block; no allocation.
///
/// ```
/// use hocket_time::{LoopRange, Transport, TransportCommand};
///
/// let mut transport = Transport::new();
/// transport.apply(TransportCommand::Loop(LoopRange::from_frames(0, 300).unwrap()));
/// transport.apply(TransportCommand::Play);
/// let block = transport.next_block(512);
/// let positions: Vec<_> = block.into_iter().map(|s| (s.offset, s.position, s.jumped)).collect();
/// assert_eq!(positions, [(0, 0, false), (300, 0, true)]);
/// assert_eq!((transport.steady_frame(), transport.position()), (512, 212));
/// ```
#[derive(Debug, Clone)]
pub struct Transport {
    steady: u64,
    position: i64,
    playing: bool,
    repeat: Option<LoopRange>,
    /// The position that the frames before lead to. Another one is a jump.
    led_to: i64,
    /// Sorted by frame; commands of one frame in the order in which they came. The first `waiting` ones count.
    pending: [TimedCommand; MAX_PENDING],
    waiting: usize,
}

const NO_COMMAND: TimedCommand = TimedCommand { at_steady: 0, command: TransportCommand::Stop };

impl Default for Transport {
    fn default() -> Transport {
        Transport::new()
    }
}

impl Transport {
    /// Stopped at the start of the song, at steady frame 0, without a loop.
    pub fn new() -> Transport {
        Transport {
            steady: 0,
            position: 0,
            playing: false,
            repeat: None,
            led_to: 0,
            pending: [NO_COMMAND; MAX_PENDING],
            waiting: 0,
        }
    }

    /// Frames since the engine's start: that of the next block's first frame. Never goes back.
    pub fn steady_frame(&self) -> u64 {
        self.steady
    }

    /// The song position of the next frame.
    pub fn position(&self) -> i64 {
        self.position
    }

    /// Whether the next frame plays.
    pub fn is_playing(&self) -> bool {
        self.playing
    }

    /// The loop, if there is one.
    pub fn loop_range(&self) -> Option<LoopRange> {
        self.repeat
    }

    /// How many commands wait for their frame.
    pub fn waiting(&self) -> usize {
        self.waiting
    }

    /// Carries a command out before the next frame, before all commands that wait.
    pub fn apply(&mut self, command: TransportCommand) {
        match command {
            TransportCommand::Play => self.playing = true,
            TransportCommand::Stop => self.playing = false,
            TransportCommand::Locate(frame) => self.position = frame.clamp(-MAX_FRAME, MAX_FRAME),
            TransportCommand::Loop(range) => self.repeat = Some(range),
            TransportCommand::LoopOff => self.repeat = None,
        }
    }

    /// Carries a command out before a steady frame, at once if that has passed. Commands of one frame take effect in
    /// the order in which they were scheduled.
    ///
    /// # Errors
    /// [`Full`] gives the command back if [`MAX_PENDING`] are waiting; nothing changes.
    pub fn schedule(&mut self, command: TimedCommand) -> Result<(), Full> {
        if self.waiting == MAX_PENDING {
            return Err(Full(command));
        }
        let earlier = self.pending[..self.waiting]
            .partition_point(|pending| pending.at_steady <= command.at_steady);
        self.pending[self.waiting] = command;
        // From swap to swap and not as one move: the leader schedules, and calls no copy of the C library.
        (earlier..self.waiting).rev().for_each(|place| self.pending.swap(place, place + 1));
        self.waiting += 1;
        Ok(())
    }

    /// Moves on by a block, and says where the song is in it.
    ///
    /// Unit: frames, up to [`MAX_BLOCK_FRAMES`]. Of a longer block only as many are covered: call it again for the
    /// rest. The segments are as few as possible: a command that changes nothing begins none.
    pub fn next_block(&mut self, frames: u32) -> Segments {
        let mut segments = Segments::EMPTY;
        self.next_block_into(frames, &mut segments);
        segments
    }

    /// The same into segments that are there already: what they held is gone. Nothing large is copied.
    pub fn next_block_into(&mut self, frames: u32, segments: &mut Segments) {
        let frames = frames.min(MAX_BLOCK_FRAMES);
        segments.clear();
        let mut offset = 0;
        while offset < frames {
            self.carry_out_due();
            let run = self.run_frames(frames - offset);
            let (position, playing) = (self.position, self.playing);
            let jumped = position != self.led_to;
            segments.push(Segment { offset, frames: run, position, playing, jumped });
            self.advance(run);
            offset += run;
        }
    }

    /// Carries out the commands whose frame has come.
    fn carry_out_due(&mut self) {
        let due = self.pending[..self.waiting]
            .partition_point(|pending| pending.at_steady <= self.steady);
        for index in 0..due {
            self.apply(self.pending[index].command);
        }
        // Nearly always nothing is due. One by one: a block has no copy by the C library.
        if due > 0 {
            (due..self.waiting).for_each(|index| self.pending[index - due] = self.pending[index]);
            self.waiting -= due;
        }
    }

    /// How many of the next `frames` frames come before the loop's end and before the next command.
    fn run_frames(&self, frames: u32) -> u32 {
        let mut run = i64::from(frames);
        if self.playing
            && let Some(range) = self.repeat
            && self.position < range.end()
        {
            run = run.min(range.end() - self.position);
        }
        if self.waiting > 0 {
            // Later than now: what was due is carried out.
            let until = self.pending[0].at_steady - self.steady;
            run = run.min(i64::try_from(until).unwrap_or(i64::MAX));
        }
        run as u32
    }

    fn advance(&mut self, frames: u32) {
        self.steady += u64::from(frames);
        if self.playing {
            self.position += i64::from(frames);
        }
        self.led_to = self.position;
        // The run ended at the loop's end at the latest, so it began inside or before the loop.
        if self.playing
            && let Some(range) = self.repeat
            && self.position == range.end()
        {
            self.position = range.start();
        }
    }
}
