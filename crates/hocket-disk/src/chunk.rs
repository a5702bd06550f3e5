//! What travels between the preloader and a reader.

use std::ops::Range;

use hocket_dsp::rows as moves;

/// A piece of a file, in memory. Chunks are made when a stream opens and only change hands afterwards.
#[derive(Debug)]
pub(crate) struct Chunk {
    /// The jump after which it was read.
    pub generation: u32,
    /// The file's frame that it begins with.
    pub start: u64,
    pub frames: usize,
    /// It is kept until newer ones replace it, to jump there at once.
    pub is_cue: bool,
    /// The frames could not be read, and waiting has ended: they are silence.
    pub is_lost: bool,
    /// `[channels][stride]`; of each row the first `frames` count.
    samples: Box<[f32]>,
    stride: usize,
}

impl Chunk {
    pub fn new(channels: usize, stride: usize, is_cue: bool) -> Chunk {
        let samples = vec![0.0; channels * stride].into_boxed_slice();
        Chunk { generation: 0, start: 0, frames: 0, is_cue, is_lost: false, samples, stride }
    }

    pub fn memory(&self) -> MemoryRange {
        MemoryRange::of(&self.samples)
    }

    pub fn end(&self) -> u64 {
        self.start + self.frames as u64
    }

    pub fn contains(&self, position: u64) -> bool {
        (self.start..self.end()).contains(&position)
    }

    fn channels(&self) -> usize {
        self.samples.len() / self.stride
    }

    fn row(&self, channel: usize) -> &[f32] {
        &self.samples[channel * self.stride..][..self.frames]
    }

    /// Copies frames from `position` on, which it contains, to the rows from frame `at` on.
    pub fn copy_to(&self, position: u64, rows: &mut [&mut [f32]], at: usize) -> Run {
        let from = (position - self.start) as usize;
        let run = rows.first().map_or(0, |row| row.len() - at).min(self.frames - from);
        if self.is_lost {
            silence(rows, at, run);
            return Run::Lost(run);
        }
        let channels = self.channels();
        for (index, row) in rows.iter_mut().enumerate() {
            let channel = if channels == 1 { 0 } else { index };
            let out = &mut row[at..at + run];
            if channel < channels {
                moves::copy(out, &self.row(channel)[from..from + run]);
            } else {
                moves::fill(out, 0.0);
            }
        }
        Run::Ready(run)
    }

    /// The first `frames` frames of every row.
    pub fn rows_mut(&mut self, frames: usize) -> Vec<&mut [f32]> {
        self.samples.chunks_exact_mut(self.stride).map(|row| &mut row[..frames]).collect()
    }
}

/// Whether frames are there.
pub(crate) enum Run {
    /// So many were copied.
    Ready(usize),
    /// So many cannot be read, and the preloader has given up.
    Lost(usize),
    /// So many are not there yet.
    Missing(usize),
}

pub(crate) fn silence(rows: &mut [&mut [f32]], at: usize, run: usize) {
    rows.iter_mut().for_each(|row| moves::fill(&mut row[at..at + run], 0.0));
}

/// Memory that a real-time thread reads or writes, to be locked by the caller. Valid as long as the value that
/// returned it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryRange {
    /// Where it begins.
    pub address: usize,
    /// How long it is.
    pub bytes: usize,
}

impl MemoryRange {
    pub(crate) fn of(samples: &[f32]) -> MemoryRange {
        MemoryRange { address: samples.as_ptr().addr(), bytes: size_of_val(samples) }
    }
}

/// What a reader requests of the preloader.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Request {
    /// Chunks that were read for an earlier one are out of date.
    pub generation: u32,
    /// Begin here; or, if this is no jump, the reader is here.
    pub position: u64,
    pub is_jump: bool,
    /// Behind its end follows its start.
    pub lap: Option<Range<u64>>,
    /// The reader waits for data, so what cannot be read has to be said.
    pub waits: bool,
}

/// What a reader says about frames that were not ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Notice {
    /// The first frame that was missing.
    pub position: u64,
    /// How many are missing so far.
    pub frames: u64,
    /// All that were ever missing, so that a lost notice loses nothing.
    pub total_frames: u64,
    /// Frames arrive again.
    pub is_over: bool,
}
