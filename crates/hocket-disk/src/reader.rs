//! The real-time end of a stream.
//!
//! The reader has one chunk in its hands, a few *cues* beside it, and a ring that brings the next chunks. A frame is
//! looked for in this order. Chunks from the ring that do not hold it have passed, and go back.
//!
//! Two rules keep old data away. A jump has a new *generation*, and chunks of an earlier one are never taken from the
//! ring. And a frame is played only from a chunk that says it begins where the frame lies.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hocket_rt::{RingReader, RingWriter};

use crate::chunk::{Chunk, MemoryRange, Notice, Request, Run, silence};
use crate::gap_counter::GapCounter;
use crate::preloader::Lease;

/// How many chunks from a position on are brought into memory before a jump there.
pub(crate) const CUES_PER_POSITION: usize = 2;
/// How many chunks a reader keeps for jumps: those of two positions.
pub(crate) const CUES_KEPT: usize = 2 * CUES_PER_POSITION;
/// With those for two further positions, which are on their way before older ones come back: a clip that loops soon
/// wants its place and the start of its loop.
pub(crate) const CUE_CHUNKS: usize = CUES_KEPT + 2 * CUES_PER_POSITION;

/// No file is as long. Beyond this a position counts as this one.
const FAR: u64 = 1 << 62;
/// How often a reader that waits looks again.
const LOOK: Duration = Duration::from_micros(200);
/// How far ahead of the position that is due a starving reader asks at most: 2 to this power chunks. A disk that needs
/// longer than this for one chunk cannot play.
const MOST_LEAD: u32 = 2;
/// After so many looks in vain a reader that waits asks again.
const LOOKS_BEFORE_ASKING_AGAIN: u32 = 5000;

/// Frames of a stream, for one thread at a time.
///
/// A frame that is not in memory is silence. The reader counts it, and [`Stream::report`](crate::Stream::report) says
/// where, since when and why. When the disk is back, playing goes on at the position that is then due.
///
/// Drop it on a control thread: that frees memory.
pub struct StreamReader {
    frames: u64,
    channels: usize,
    chunk_frames: u64,
    ends: ReaderEnds,
    current: Option<Chunk>,
    cues: [Option<Chunk>; CUES_KEPT],
    oldest_cue: usize,
    generation: u32,
    /// The position that is due if nobody jumps.
    next: u64,
    lap: Option<Range<u64>>,
    waits: bool,
    /// A request that found no room.
    unsent: Option<Request>,
    gaps: GapCounter,
    /// The first frame that the latest jump brings, until it is reached.
    awaited: Option<u64>,
    /// Missing frames since the last request, and how far that one asked ahead.
    starved_frames: u64,
    lead_frames: u64,
    asked_again: u32,
    memory: Vec<MemoryRange>,
    /// Set once, when nothing more is read. Publishes nothing: it only ends waiting.
    ended: Arc<AtomicBool>,
    _lease: Arc<Lease>,
}

/// The reader's ends of its rings.
pub(crate) struct ReaderEnds {
    pub filled: RingReader<Chunk>,
    pub cues: RingReader<Chunk>,
    pub empty: RingWriter<Chunk>,
    pub requests: RingWriter<Request>,
}

impl std::fmt::Debug for StreamReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StreamReader").field("next", &self.next).finish_non_exhaustive()
    }
}

impl StreamReader {
    pub(crate) fn new(
        shape: (u64, usize, usize),
        ends: ReaderEnds,
        notices: RingWriter<Notice>,
        memory: Vec<MemoryRange>,
        ended: Arc<AtomicBool>,
        lease: Arc<Lease>,
    ) -> StreamReader {
        let (frames, channels, chunk_frames) = shape;
        let gaps = GapCounter::new(notices);
        StreamReader {
            frames,
            channels,
            chunk_frames: chunk_frames as u64,
            ends,
            current: None,
            cues: [const { None }; CUES_KEPT],
            oldest_cue: 0,
            generation: 0,
            next: 0,
            lap: None,
            waits: false,
            unsent: None,
            gaps,
            awaited: None,
            starved_frames: 0,
            lead_frames: 0,
            asked_again: 0,
            memory,
            ended,
            _lease: lease,
        }
    }

    /// Length of the file in frames. What is read beyond it is silence, and ready.
    pub fn frames(&self) -> u64 {
        self.frames
    }

    /// Channels of the file.
    pub fn channels(&self) -> usize {
        self.channels
    }

    /// All frames so far that were not ready.
    pub fn not_ready_frames(&self) -> u64 {
        self.gaps.total_frames()
    }

    /// The chunks: what a caller may lock.
    pub fn memory(&self) -> &[MemoryRange] {
        &self.memory
    }

    /// Fills the rows with frames from `position` on, a frame of the file; returns how many were ready.
    ///
    /// Shape: all rows have one length. Row `i` gets channel `i`; a mono file plays in every row; rows beyond the
    /// file's channels are silent. Unit: linear, 1.0 = full scale, always finite.
    ///
    /// A position other than the one that is due is a jump, as by [`StreamReader::locate`]. A read never wraps: at the
    /// end of a loop the caller splits its block.
    ///
    /// Thread: real-time. Cost: O(frames), and at most one exchange of a chunk for each that has passed. No
    /// allocation, lock or system call; never waits.
    pub fn read(&mut self, position: u64, rows: &mut [&mut [f32]]) -> usize {
        let position = position.min(FAR);
        if self.waits {
            self.waits = false;
            self.post(self.next, false);
        }
        self.locate(position);
        self.service();
        let frames = rows.first().map_or(0, |row| row.len());
        let (mut at, mut ready) = (0, 0);
        while at < frames {
            match self.copy(position + at as u64, rows, at) {
                Run::Ready(run) => {
                    self.end_gap();
                    (at, ready) = (at + run, ready + run);
                }
                Run::Lost(run) => at += self.miss(position + at as u64, run),
                Run::Missing(run) => {
                    silence(rows, at, run);
                    at += self.miss(position + at as u64, run);
                }
            }
        }
        self.advance_to(position + frames as u64);
        self.ask_again();
        ready
    }

    /// As [`StreamReader::read`], but waits until the frames are there. Frames that cannot be read although the
    /// preloader has been patient are silence; the result says how many were ready. So are those that nobody reads any
    /// more: the stream was dropped, or the preloader stopped or panicked ([`StreamReport`](crate::StreamReport) says
    /// which).
    ///
    /// Thread: offline rendering; sleeps.
    pub fn read_waiting(&mut self, position: u64, rows: &mut [&mut [f32]]) -> usize {
        self.read_while(position, rows, || true)
    }

    /// As [`StreamReader::read_waiting`], as long as `waits` says so each time that frames are missing. What is not there then is
    /// silence.
    ///
    /// Thread: one without a deadline; sleeps.
    pub fn read_while(
        &mut self,
        position: u64,
        rows: &mut [&mut [f32]],
        mut waits: impl FnMut() -> bool,
    ) -> usize {
        if !self.waits {
            self.waits = true;
            self.post(self.next, false);
        }
        let position = position.min(FAR);
        self.locate(position);
        let frames = rows.first().map_or(0, |row| row.len());
        let (mut at, mut ready, mut looks) = (0, 0, 0);
        while at < frames {
            self.service();
            match self.copy(position + at as u64, rows, at) {
                Run::Ready(run) => {
                    self.end_gap();
                    (at, ready, looks) = (at + run, ready + run, 0);
                }
                Run::Lost(run) => at += self.miss(position + at as u64, run),
                // Relaxed: see the field.
                Run::Missing(run) if self.ended.load(Ordering::Relaxed) || !waits() => {
                    silence(rows, at, run);
                    at += self.miss(position + at as u64, run);
                }
                Run::Missing(_) => {
                    looks += 1;
                    if looks % LOOKS_BEFORE_ASKING_AGAIN == 0 {
                        self.jump(position + at as u64);
                    }
                    std::thread::sleep(LOOK);
                }
            }
        }
        self.starved_frames = 0;
        self.advance_to(position + frames as u64);
        ready
    }

    /// Announces that the next read will be at `position`. The earlier the better: the preloader begins to read at
    /// once. If [`Stream::preload`](crate::Stream::preload) has brought the position into memory, the next read is
    /// ready. Does nothing if the position is due anyway.
    ///
    /// Thread: real-time. Cost: an exchange for each chunk in the ring. Never waits.
    pub fn locate(&mut self, position: u64) {
        let position = position.min(FAR);
        if position != self.next {
            self.service();
            self.jump(position);
        }
    }

    /// Says that behind the last frame of `lap` its first follows, so that the preloader reads ahead in this order
    /// and the loop never has to wait. An empty range, as `None`, ends the loop. The caller still reads each position
    /// in turn.
    ///
    /// The loop is ready from the first time on if this is called two chunks' length before its end. If it fits into
    /// one chunk it stays in memory.
    ///
    /// Thread: real-time. Cost: constant. Never waits.
    pub fn set_loop(&mut self, lap: Option<Range<u64>>) {
        let lap = lap.filter(|lap| lap.start < lap.end);
        if lap == self.lap {
            return;
        }
        self.lap = lap;
        self.advance_to(self.next);
        if self.waits { self.jump(self.next) } else { self.post(self.next, false) }
    }

    /// Sends what found no room before, and takes positions that were preloaded. [`StreamReader::read`] does this;
    /// call it in each block in which nothing is read, so that [`Stream::preload`](crate::Stream::preload) can work
    /// while the transport stands still.
    ///
    /// Thread: real-time. Cost: constant. Never waits.
    pub fn service(&mut self) {
        if let Some(request) = self.unsent.take() {
            self.unsent = self.ends.requests.push(request).err();
        }
        let mut is_due = false;
        while let Some(cue) = self.ends.cues.pop() {
            if let Some(old) = self.cues[self.oldest_cue].replace(cue) {
                is_due |= old.end() > self.next
                    && self.awaited.is_some_and(|awaited| old.start < awaited);
                self.give_back(old);
            }
            self.oldest_cue = (self.oldest_cue + 1) % CUES_KEPT;
        }
        // The ring was to follow a cue that is gone now.
        if is_due {
            self.jump(self.next);
        }
    }

    /// Copies what lies in memory without a break.
    fn copy(&mut self, position: u64, rows: &mut [&mut [f32]], at: usize) -> Run {
        let wanted = rows.first().map_or(0, |row| row.len() - at);
        if position >= self.frames {
            silence(rows, at, wanted);
            return Run::Ready(wanted);
        }
        self.awaited = self.awaited.filter(|&awaited| position < awaited);
        let in_hand = self.current.iter().chain(self.cues.iter().flatten());
        if let Some(chunk) = in_hand.into_iter().find(|chunk| chunk.contains(position)) {
            return chunk.copy_to(position, rows, at);
        }
        while let Some(chunk) = self.next_chunk() {
            if chunk.generation == self.generation && chunk.contains(position) {
                let run = chunk.copy_to(position, rows, at);
                if let Some(old) = self.current.replace(chunk) {
                    self.give_back(old);
                }
                return run;
            }
            self.give_back(chunk);
        }
        let ahead = self.current.as_ref().and_then(|chunk| chunk.start.checked_sub(position));
        let until = (self.frames - position).min(ahead.filter(|&run| run > 0).unwrap_or(u64::MAX));
        Run::Missing(usize::try_from(until).map_or(wanted, |until| until.min(wanted)))
    }

    /// The next chunk of the ring, unless the one in hand is still to come. Then nothing before it will.
    fn next_chunk(&mut self) -> Option<Chunk> {
        let is_ahead = |chunk: &Chunk, this: &Self| {
            chunk.generation == this.generation && this.awaited == Some(chunk.start)
        };
        if self.current.as_ref().is_some_and(|chunk| is_ahead(chunk, self)) {
            return None;
        }
        let chunk = self.ends.filled.pop()?;
        if !is_ahead(&chunk, self) {
            return Some(chunk);
        }
        if let Some(old) = self.current.replace(chunk) {
            self.give_back(old);
        }
        None
    }

    /// The ring of empty chunks has room for all that exist.
    fn give_back(&mut self, chunk: Chunk) {
        let given = self.ends.empty.push(chunk);
        debug_assert!(given.is_ok(), "there are more chunks than were made");
    }

    /// Everything that is on its way is out of date; what comes is to begin behind what is in hand.
    fn jump(&mut self, position: u64) {
        self.generation = self.generation.wrapping_add(1);
        self.next = position;
        (self.starved_frames, self.lead_frames, self.asked_again) = (0, 0, 0);
        if let Some(lost) = self.current.take_if(|chunk| chunk.is_lost) {
            self.give_back(lost);
        }
        let mut from = position;
        for _ in 0..=CUES_KEPT {
            let mut in_hand = self.current.iter().chain(self.cues.iter().flatten());
            match in_hand.find(|chunk| chunk.contains(from)) {
                Some(chunk) => from = self.after(from, chunk.end()),
                None => break,
            }
        }
        self.begin_at(from);
    }

    /// Empties the ring, so that the preloader has room at once, and asks for what it is to bring instead.
    fn begin_at(&mut self, from: u64) {
        while let Some(chunk) = self.ends.filled.pop() {
            self.give_back(chunk);
        }
        self.awaited = Some(from);
        self.post(from, true);
    }

    /// Nothing came for a chunk's length: asks for the position that is due by now, since what the preloader would
    /// bring has passed. If that was in vain before, asks ahead, because the disk may be that slow.
    fn ask_again(&mut self) {
        if self.starved_frames < self.chunk_frames + self.lead_frames {
            return;
        }
        let lead = match self.asked_again {
            0 => 0,
            times => self.chunk_frames << (times - 1).min(MOST_LEAD),
        };
        let stays = self
            .lap
            .as_ref()
            .is_none_or(|lap| !lap.contains(&self.next) || self.next + lead < lap.end);
        self.lead_frames = if stays { lead } else { 0 };
        self.generation = self.generation.wrapping_add(1);
        self.starved_frames = 0;
        self.asked_again += 1;
        self.begin_at(self.next + self.lead_frames);
    }

    fn post(&mut self, position: u64, is_jump: bool) {
        let (lap, waits) = (self.lap.clone(), self.waits);
        let mut request = Request { generation: self.generation, position, is_jump, lap, waits };
        if let Some(jump) = self.unsent.take_if(|unsent| unsent.is_jump && !is_jump) {
            (request.position, request.is_jump) = (jump.position, true);
        }
        self.unsent = self.ends.requests.push(request).err();
    }

    fn advance_to(&mut self, position: u64) {
        self.next = self.wrapped(position);
    }

    /// Behind the end of the loop follows its start.
    fn wrapped(&self, position: u64) -> u64 {
        self.lap.as_ref().filter(|lap| lap.end == position).map_or(position, |lap| lap.start)
    }

    /// What follows when everything from `from` to `end` has been played.
    fn after(&self, from: u64, end: u64) -> u64 {
        self.lap
            .as_ref()
            .filter(|lap| from < lap.end && lap.end <= end)
            .map_or(end, |lap| lap.start)
    }

    /// Counts frames that are missing; returns how many.
    fn miss(&mut self, position: u64, frames: usize) -> usize {
        self.starved_frames += frames as u64;
        self.gaps.miss(position, frames as u64);
        frames
    }

    fn end_gap(&mut self) {
        (self.starved_frames, self.lead_frames, self.asked_again) = (0, 0, 0);
        self.gaps.end();
    }
}
