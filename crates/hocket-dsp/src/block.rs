//! One block of audio as a processor sees it, and the processor's contract.

use std::any::Any;

use hocket_time::{BlockTime, EventBuffer, EventKind, Pushed, Source};

use crate::abreast::{Abreast, AbreastKey};
use crate::host::Host;

/// Two rows of the same length that may be written.
#[derive(Debug)]
pub struct StereoMut<'a> {
    /// Left row, one sample a frame, 1.0 = full scale.
    pub left: &'a mut [f32],
    /// Right row.
    pub right: &'a mut [f32],
}

/// Two rows of the same length that may be read.
#[derive(Debug, Clone, Copy)]
pub struct StereoRef<'a> {
    /// Left row.
    pub left: &'a [f32],
    /// Right row.
    pub right: &'a [f32],
}

impl StereoMut<'_> {
    /// The frames from `start` up to but not including `end`, both within the rows. An empty right row stays empty.
    pub fn part(&mut self, start: usize, end: usize) -> StereoMut<'_> {
        let right = if self.right.is_empty() { 0..0 } else { start..end };
        StereoMut { left: &mut self.left[start..end], right: &mut self.right[right] }
    }
}

impl<'a> StereoRef<'a> {
    /// The frames from `start` up to but not including `end`, both within the rows. An empty right row stays empty.
    pub fn part(&self, start: usize, end: usize) -> StereoRef<'a> {
        let right = if self.right.is_empty() { 0..0 } else { start..end };
        StereoRef { left: &self.left[start..end], right: &self.right[right] }
    }
}

/// Any number of rows of the same length that may be read.
#[derive(Debug, Clone, Copy, Default)]
pub struct RowsRef<'a> {
    samples: &'a [f32],
    room: usize,
    frames: usize,
}

/// Any number of rows of the same length that may be written.
#[derive(Debug, Default)]
pub struct RowsMut<'a> {
    samples: &'a mut [f32],
    room: usize,
    frames: usize,
}

impl<'a> RowsRef<'a> {
    /// The first `frames` of each row of `room` samples; the rows lie one after the other in `samples`.
    ///
    /// # Panics
    /// If a row has no room for the frames.
    #[inline]
    pub fn new(samples: &'a [f32], room: usize, frames: usize) -> RowsRef<'a> {
        assert!(frames <= room || samples.is_empty(), "{frames} frames in rows of {room}");
        RowsRef { samples, room, frames }
    }

    /// How many rows.
    #[inline]
    pub fn len(&self) -> usize {
        rows_in(self.samples.len(), self.room)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.samples.is_empty()
    }

    /// Length of a row.
    pub fn frames(&self) -> usize {
        self.frames
    }

    /// The first so many rows.
    ///
    /// # Panics
    /// If there are fewer.
    pub fn first(&self, rows: usize) -> RowsRef<'a> {
        RowsRef { samples: &self.samples[..rows * self.room], ..*self }
    }

    /// One row.
    ///
    /// # Panics
    /// If there is no such row.
    #[inline]
    pub fn row(&self, row: usize) -> &'a [f32] {
        &self.samples[row * self.room..][..self.frames]
    }
}

impl<'a> RowsMut<'a> {
    /// The first `frames` of each row of `room` samples; the rows lie one after the other in `samples`.
    ///
    /// # Panics
    /// If a row has no room for the frames.
    #[inline]
    pub fn new(samples: &mut [f32], room: usize, frames: usize) -> RowsMut<'_> {
        assert!(frames <= room || samples.is_empty(), "{frames} frames in rows of {room}");
        RowsMut { samples, room, frames }
    }

    /// How many rows.
    #[inline]
    pub fn len(&self) -> usize {
        rows_in(self.samples.len(), self.room)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.samples.is_empty()
    }

    /// Length of a row.
    pub fn frames(&self) -> usize {
        self.frames
    }

    /// The first so many rows.
    ///
    /// # Panics
    /// If there are fewer.
    pub fn first(self, rows: usize) -> RowsMut<'a> {
        assert!(rows <= self.len(), "{rows} of {} rows", self.len());
        let end = self.samples.len().min(rows * self.room);
        RowsMut { samples: &mut self.samples[..end], ..self }
    }

    /// The frames from `start` up to but not including `end` of each row, both within the rows.
    ///
    /// # Panics
    /// If a row has fewer frames.
    pub fn part(&mut self, start: usize, end: usize) -> RowsMut<'_> {
        assert!(start <= end && end <= self.frames, "{start} to {end} of {} frames", self.frames);
        // The last row is shorter than the others then: what lies behind it belongs to nobody.
        let samples = self.samples.get_mut(start..).unwrap_or_default();
        RowsMut { samples, room: self.room, frames: end - start }
    }

    /// One row.
    ///
    /// # Panics
    /// If there is no such row.
    #[inline]
    pub fn row(&self, row: usize) -> &[f32] {
        &self.samples[row * self.room..][..self.frames]
    }

    /// One row, for writing.
    ///
    /// # Panics
    /// If there is no such row.
    #[inline]
    pub fn row_mut(&mut self, row: usize) -> &mut [f32] {
        &mut self.samples[row * self.room..][..self.frames]
    }

    /// All rows at once, for processors that need several of them side by side.
    #[inline]
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut [f32]> {
        let frames = self.frames;
        // Without rows there is no room either, and a chunk cannot be empty.
        let rows = self.samples.chunks_mut(self.room.max(1));
        rows.map(move |row| &mut row[..frames])
    }
}

/// How many rows of `room` samples there are. The last one may be shorter.
#[inline]
fn rows_in(samples: usize, room: usize) -> usize {
    if room == 0 { 0 } else { samples.div_ceil(room) }
}

/// A change inside the block.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TimedChange {
    /// Frame offset from the start of the block; events are sorted by it.
    pub frame: u32,
    /// What changes.
    pub change: Change,
}

/// What a [`TimedChange`] changes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Change {
    /// The parameter at `index` (the order of [`crate::Kind::params`]) gets `value`, in its unit.
    ///
    /// Processors clamp the value to the parameter's range and ignore an index they do not have
    /// and a value that is not a number.
    Param {
        /// Index into the kind's parameters.
        index: u16,
        /// New value in the parameter's unit.
        value: f32,
    },
}

/// Threads that have nothing else to do in this block.
pub trait Helpers: Sync + std::fmt::Debug {
    /// See [`Block::spread`].
    fn share(&self, passes: u32, body: &(dyn Fn(u32) + Sync));
}

/// One block of audio with its events.
#[derive(Debug)]
pub struct Block<'a> {
    /// Input and output: the first two main channels, processed in place. A mono node has an empty right row; the built-in
    /// effects are for two.
    pub main: StereoMut<'a>,
    /// A second input that only steers, such as a compressor's key: its first two channels.
    pub side_chain: Option<StereoRef<'a>>,
    /// Changes of parameters: automation lanes and edits, sorted by frame.
    ///
    /// What event edges bring is in `events_in`, also changes of parameters. A processor that takes both takes those of
    /// `events_in` first at one frame, so that an edit wins.
    pub events: &'a [TimedChange],
    /// What the event edges bring: notes, MIDI and changes of parameters; see [`Block::received`]. `None` for a node
    /// without event input.
    pub events_in: Option<&'a EventBuffer>,
    /// Where the processor sends events; see [`Block::send`]. `None` for a node without event output.
    pub events_out: Option<EventsOut<'a>>,
    /// What a node has besides; `None` for a stereo node.
    pub more: Option<&'a mut MoreRows<'a>>,
    /// Where the song is; `None` for a processor that does not ask for it ([`Processor::keeps_time`]).
    pub time: Option<&'a BlockTime<'a>>,
    /// Who helps with work that is spread; `None` where nobody can.
    pub helpers: Option<&'a dyn Helpers>,
}

/// The event output of a node, in one block.
#[derive(Debug)]
pub struct EventsOut<'a> {
    buffer: &'a mut EventBuffer,
    /// Of the block, where these frames begin.
    start: u32,
    frames: u32,
}

impl EventsOut<'_> {
    /// Sends to `buffer` in a block of so many frames, at least 1.
    pub fn new(buffer: &mut EventBuffer, frames: usize) -> EventsOut<'_> {
        EventsOut { buffer, start: 0, frames: frames as u32 }
    }

    /// The same output for the frames from `start` up to but not including `end`, which count from 0 there.
    pub fn part(&mut self, start: usize, end: usize) -> EventsOut<'_> {
        let frames = end.saturating_sub(start) as u32;
        EventsOut { buffer: self.buffer, start: self.start + start as u32, frames }
    }

    /// How many frames it has.
    pub fn frames(&self) -> usize {
        self.frames as usize
    }

    /// What was sent from its first frame on. The frames count from the start of the block.
    pub fn sent(&self) -> &[hocket_time::Event] {
        let all = self.buffer.all();
        &all[all.partition_point(|event| event.frame < self.start)..]
    }

    /// Sends an event at a frame of the block. Readers get it at this frame, in the order of sending. A frame behind the
    /// block counts as its last one: send what belongs to a later block in that block. Of a part, frames count from its
    /// start ([`EventsOut::part`]).
    ///
    /// Cost: O(1) in order of frames. A full buffer keeps every note end ([`EventBuffer`]); the engine counts what it
    /// refuses.
    pub fn send(&mut self, frame: u32, kind: EventKind) -> Pushed {
        self.buffer.push(hocket_time::Event::new(self.in_block(frame), Source::edge(0), kind))
    }

    /// Sends a system-exclusive message, of which it copies the bytes.
    pub fn send_sysex(&mut self, frame: u32, bytes: &[u8]) -> Pushed {
        self.buffer.push_sysex(self.in_block(frame), Source::edge(0), bytes)
    }

    fn in_block(&self, frame: u32) -> u32 {
        self.start + frame.min(self.frames.saturating_sub(1))
    }
}

/// The rows of a node that is not simply stereo.
#[derive(Debug, Default)]
pub struct MoreRows<'a> {
    /// Main channels from the third one on, processed in place.
    pub main: RowsMut<'a>,
    /// All channels of the side chain.
    pub side_chain: RowsRef<'a>,
    /// Further outputs. They begin as silence.
    pub extra: RowsMut<'a>,
}

impl<'a> Block<'a> {
    /// A stereo block without events, side chain, time and helpers.
    pub fn new(main: StereoMut<'a>) -> Block<'a> {
        let (events_in, events_out) = (None, None);
        let (more, time, helpers) = (None, None, None);
        let events: &[TimedChange] = &[];
        Block { main, side_chain: None, events, events_in, events_out, more, time, helpers }
    }

    /// What the event edges bring in this block, sorted by frame, then edge, then order of sending. The bytes of
    /// system-exclusive messages are in [`Block::events_in`].
    pub fn received(&self) -> &'a [hocket_time::Event] {
        self.events_in.map_or(&[], |events| events.block(self.frames() as u32))
    }

    /// Sends an event at a frame; see [`EventsOut::send`]. Refused for a node without event output.
    pub fn send(&mut self, frame: u32, kind: EventKind) -> Pushed {
        self.events_out.as_mut().map_or(Pushed::Refused, |out| out.send(frame, kind))
    }

    /// Calls `body` with every number below `passes`, once each and in any order, on this thread and on others that
    /// have nothing else to do. Returns after the last one, and then sees what all of them wrote.
    ///
    /// For processors with work that several cores can do, such as the voices of an instrument. The passes must not
    /// depend on each other: then the output has the same bits with any number of threads. Passes of less than a few
    /// microseconds are not worth it. What holds inside a block holds in every pass: no allocation, lock or system call.
    ///
    /// Cost: about a microsecond, and the wait for the last pass.
    ///
    /// # Panics
    /// If a pass panics, on whichever thread.
    pub fn spread(&self, passes: u32, body: &(dyn Fn(u32) + Sync)) {
        match self.helpers {
            Some(helpers) => helpers.share(passes, body),
            None => (0..passes).for_each(body),
        }
    }

    /// Length of the block in frames.
    pub fn frames(&self) -> usize {
        self.main.left.len()
    }

    /// How many main channels there are.
    pub fn channels(&self) -> usize {
        let more = self.more.as_ref().map_or(0, |more| more.main.len());
        1 + usize::from(!self.main.right.is_empty()) + more
    }

    /// A main channel, counted from 0.
    ///
    /// # Panics
    /// If there is no such channel.
    pub fn channel_mut(&mut self, channel: usize) -> &mut [f32] {
        match (channel, &mut self.more) {
            (0, _) => self.main.left,
            (1, _) => self.main.right,
            (_, Some(more)) => more.main.row_mut(channel - 2),
            (_, None) => panic!("a stereo block has no channel {channel}"),
        }
    }
}

/// Something that changes sound block by block.
///
/// Thread: built on a control thread, then run by one worker at a time, inside a block, and by another one in another
/// block. After it has joined an engine, it is freed on the engine's main thread; [`crate::host`] says when.
/// Cost: no allocation, no lock, no system call in any call but [`Processor::join`].
pub trait Processor: Send {
    /// Processes one block in place. Rows have equal length, at least 1 frame, any length up to
    /// the largest block of the engine; lengths may change from block to block.
    ///
    /// The engine calls it once per block, with all frames: it cuts no block at events, and input and output are always the
    /// same rows. Only an effect that can be bypassed gets a block of more than 256 frames in pieces ([`Bypass`](crate::Bypass)). Side chain and extra outputs have rows of their own. A processor with memory for blocks makes it for the
    /// engine's largest block, which may grow ([`MainSide::grow`](crate::host::MainSide::grow)).
    fn process(&mut self, block: &mut Block<'_>);

    /// Meets the engine: once, before the first block. Processors that need background work or a main side ask for it here
    /// and keep what they get.
    ///
    /// Thread: the control thread that brings the processor.
    fn join(&mut self, host: &mut dyn Host) {
        let _ = host;
    }

    /// Takes an answer of its background work. All that have come since the last block come before the next one, in order.
    ///
    /// Thread: as [`Processor::process`], or the leader before [`Processor::reset`].
    fn answered(&mut self, answer: &[u8]) {
        let _ = answer;
    }

    /// Goes on with what its main side made, and leaves in its place what is no longer needed: it is freed elsewhere. A
    /// main side that makes several kinds tells them apart by their type.
    ///
    /// Thread: leader, between blocks.
    fn exchange(&mut self, new: &mut (dyn Any + Send)) {
        let _ = new;
    }

    /// Forgets all history (delay lines, envelopes), keeps the parameters. If it has processed blocks, later answers to what
    /// its background work was asked before are dropped: it requests again what it still needs. It gets them all the same
    /// with [`WorkRoom::outlives_reset`](crate::host::WorkRoom::outlives_reset).
    fn reset(&mut self);

    /// Takes a change outside of blocks, before the first one. A [`reset`](Processor::reset) follows, so a ramp that it
    /// begins is over. A processor that has no automation from the start on need not know of it.
    ///
    /// Thread: control before it plays, or the leader between blocks.
    fn preset(&mut self, change: Change) {
        let _ = change;
    }

    /// Whether [`Block::time`] says where the song is. For processors that play something by position. Their time is
    /// that of the sound that reaches them: behind a latency of 100 frames, 100 frames earlier. Asked once, when the
    /// processor joins a graph.
    fn keeps_time(&self) -> bool {
        false
    }

    /// Whether an engine may leave blocks out while the song stands still, and for ten seconds nothing has come into the engine
    /// and nothing has come out. Such a processor then puts out silence until something comes in, a parameter changes or the
    /// song moves. Where it goes on, it goes on as if no time had passed. Asked once, when the processor joins a graph.
    fn rests(&self) -> bool {
        false
    }

    /// The most events that it sends on its own at a frame to which the song jumps, besides those that are due. For
    /// processors that chase. The event port has room for so many more, for each pass of the shortest loop in a block, as far
    /// as that is possible. Asked once, when the processor joins a graph.
    fn events_per_jump(&self) -> usize {
        0
    }

    /// Whether it works on stereo nodes alone, as all built-in effects do: two main channels, at most two of a side chain, no
    /// extra outputs. The engine refuses a graph in which its node has other ports. Asked before the processor joins a graph.
    fn is_stereo(&self) -> bool {
        false
    }

    /// How many frames the output lags behind the input at first. It stays, unless the processor says otherwise
    /// ([`MainRequests::latency_changed`](crate::host::MainRequests::latency_changed)).
    fn latency_frames(&self) -> u32 {
        0
    }

    /// What another processor needs to have in common with it for both to run abreast ([`mod@crate::abreast`]); `None`: it
    /// always runs by itself. Asked once, when the processor joins a graph.
    fn abreast_key(&self) -> Option<AbreastKey> {
        None
    }

    /// Itself, if it can run abreast of another processor with its key in a block with these events, and can leave out what
    /// [`Processor::process`] would do besides. `None`: it processes this block by itself.
    ///
    /// Thread: as [`Processor::process`], just before the block.
    fn abreast(&mut self, events: &[TimedChange]) -> Option<Abreast<'_>> {
        let _ = events;
        None
    }

    /// What a meter shows after the last block, or `None` for a processor that shows nothing.
    ///
    /// The unit is the processor's: correlation from -1 to +1 for `correlation`, decibels of gain
    /// reduction (positive) for `compressor` and `limiter`.
    fn reading(&self) -> Option<f32> {
        None
    }
}
