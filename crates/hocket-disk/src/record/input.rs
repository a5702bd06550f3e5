//! The real-time end of a take.

use std::time::{Duration, Instant};

use hocket_dsp::rows as moves;
use hocket_rt::{RingReader, RingWriter};

use crate::chunk::MemoryRange;

/// Frames on their way to the disk.
#[derive(Debug)]
pub(crate) struct Piece {
    /// Frames that found no room, or were skipped, before these.
    pub silence_before: u64,
    pub frames: usize,
    /// Nothing follows.
    pub is_last: bool,
    /// `[channels][stride]`; of each row the first `frames` count.
    samples: Box<[f32]>,
    stride: usize,
}

impl Piece {
    pub fn new(channels: usize, stride: usize) -> Piece {
        let samples = vec![0.0; channels * stride].into_boxed_slice();
        Piece { silence_before: 0, frames: 0, is_last: false, samples, stride }
    }

    /// Frame after frame, channel after channel.
    pub fn interleaved(&self) -> impl Iterator<Item = f32> + '_ {
        let channels = self.samples.len() / self.stride.max(1);
        let frame =
            move |at| (0..channels).map(move |channel| self.samples[channel * self.stride + at]);
        (0..self.frames).flat_map(frame)
    }
}

/// How often a take that may wait looks for room.
const LOOK: Duration = Duration::from_millis(2);

/// Takes frames for a recording, from one thread at a time.
///
/// Where the disk is too slow, frames find no room. They are counted, and the file has silence of equal length in
/// their place.
///
/// The drop ends the take: what was given so far is written. Drop it on a control thread, since that frees memory.
#[derive(Debug)]
pub struct TakeInput {
    channels: usize,
    chunk_frames: usize,
    filled: RingWriter<Piece>,
    empty: RingReader<Piece>,
    /// The piece that is being filled.
    piece: Option<Piece>,
    /// Kept for the end, so that it always finds a piece. It holds no samples.
    last: Option<Piece>,
    silence: u64,
    frames: u64,
    lost_frames: u64,
    memory: Vec<MemoryRange>,
}

impl TakeInput {
    /// `filled` has room for every piece and the last one.
    pub(crate) fn new(
        shape: (usize, usize),
        filled: RingWriter<Piece>,
        empty: RingReader<Piece>,
        memory: Vec<MemoryRange>,
    ) -> TakeInput {
        let (channels, chunk_frames) = shape;
        TakeInput {
            channels,
            chunk_frames,
            filled,
            empty,
            piece: None,
            last: Some(Piece::new(0, 0)),
            silence: 0,
            frames: 0,
            lost_frames: 0,
            memory,
        }
    }

    /// The pieces: what a caller may lock.
    pub fn memory(&self) -> &[MemoryRange] {
        &self.memory
    }

    /// All frames so far: given, skipped and lost.
    pub fn frames(&self) -> u64 {
        self.frames
    }

    /// All frames so far that found no room.
    pub fn lost_frames(&self) -> u64 {
        self.lost_frames
    }

    /// Takes frames; returns how many found room.
    ///
    /// Shape: all rows have one length. Row `i` is channel `i`; channels without a row are silent, rows beyond the
    /// channels are ignored. Unit: linear, 1.0 = full scale.
    ///
    /// Thread: real-time. Cost: O(frames). No allocation, lock or system call; never waits.
    pub fn write(&mut self, rows: &[&[f32]]) -> usize {
        let frames = rows.first().map_or(0, |row| row.len());
        let at = self.fill(rows, 0);
        self.count(frames, at);
        at
    }

    /// As [`TakeInput::write`], but waits for room: for takes of what is not played in real time.
    ///
    /// Thread: control; waits for the disk, at most `patience`. What finds no room until then is lost as it is there.
    pub fn write_waiting(&mut self, rows: &[&[f32]], patience: Duration) -> usize {
        let frames = rows.first().map_or(0, |row| row.len());
        let begun = Instant::now();
        let mut at = self.fill(rows, 0);
        while at < frames && begun.elapsed() < patience {
            std::thread::sleep(LOOK);
            at = self.fill(rows, at);
        }
        self.count(frames, at);
        at
    }

    /// Counts frames of which the first `at` found room.
    fn count(&mut self, frames: usize, at: usize) {
        let lost = (frames - at) as u64;
        self.silence += lost;
        self.lost_frames += lost;
        self.frames += frames as u64;
    }

    /// Takes the frames from `at` on that find room; returns the first that does not.
    fn fill(&mut self, rows: &[&[f32]], mut at: usize) -> usize {
        let frames = rows.first().map_or(0, |row| row.len());
        while at < frames {
            let Some(piece) = next_piece(&mut self.piece, &mut self.empty, &mut self.silence)
            else {
                break;
            };
            let run = (frames - at).min(self.chunk_frames - piece.frames);
            for channel in 0..self.channels {
                let from = channel * piece.stride + piece.frames;
                let out = &mut piece.samples[from..from + run];
                match rows.get(channel) {
                    Some(row) => moves::copy(out, &row[at..at + run]),
                    None => moves::fill(out, 0.0),
                }
            }
            piece.frames += run;
            at += run;
            if piece.frames == self.chunk_frames {
                self.send();
            }
        }
        at
    }

    /// Says that frames passed which nobody had: periods that the device skipped. They become silence.
    ///
    /// Thread: real-time. Cost: constant. Never waits.
    pub fn skip(&mut self, frames: u64) {
        if frames > 0 {
            self.send();
            self.silence += frames;
            self.frames += frames;
        }
    }

    fn send(&mut self) {
        if let Some(piece) = self.piece.take() {
            let sent = self.filled.push(piece);
            debug_assert!(sent.is_ok(), "there are more pieces than were made");
        }
    }
}

fn next_piece<'p>(
    piece: &'p mut Option<Piece>,
    empty: &mut RingReader<Piece>,
    silence: &mut u64,
) -> Option<&'p mut Piece> {
    if piece.is_none() {
        let mut next = empty.pop()?;
        next.frames = 0;
        next.silence_before = std::mem::take(silence);
        *piece = Some(next);
    }
    piece.as_mut()
}

impl Drop for TakeInput {
    fn drop(&mut self) {
        self.send();
        if let Some(mut last) = self.last.take() {
            (last.silence_before, last.is_last) = (self.silence, true);
            let sent = self.filled.push(last);
            debug_assert!(sent.is_ok(), "the last piece has a place of its own");
        }
    }
}

pub(crate) fn memory_of(pieces: &[Piece]) -> Vec<MemoryRange> {
    pieces.iter().map(|piece| MemoryRange::of(&piece.samples)).collect()
}
