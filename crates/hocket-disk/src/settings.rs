//! How a preloader works.

use std::time::Duration;

use crate::reader::CUE_CHUNKS;

/// How a preloader works.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Threads that read, at least 1. One device never holds more than half of them, so with 2 a disk that stalls
    /// does not stop the streams of another disk.
    pub threads: usize,
    /// Frames per chunk, which is what one read brings; at least 64.
    pub chunk_frames: usize,
    /// The most memory that all streams together may read ahead into.
    pub disk_buffer_bytes: usize,
    /// How often an idle thread looks whether a reader has made room or jumped. A reader cannot wake it, because that
    /// would be a system call. See [`Preloader::expect_jumps`](crate::Preloader::expect_jumps).
    pub poll: Duration,
    /// How long offline rendering waits for a disk that fails before it goes on with silence.
    pub patience: Duration,
}

/// More than this is of no use to a stream: 5 s at 48 kHz and 8192 frames per chunk.
const MOST_RING_CHUNKS: usize = 32;

impl Settings {
    /// Two threads, chunks of 8192 frames, a look every 2 ms, 30 s of patience.
    pub fn new(disk_buffer_bytes: usize) -> Settings {
        Settings {
            threads: 2,
            chunk_frames: 8192,
            disk_buffer_bytes,
            poll: Duration::from_millis(2),
            patience: Duration::from_secs(30),
        }
    }

    /// The memory of one stream.
    pub fn stream_bytes(&self, channels: usize, ring_chunks: usize) -> usize {
        (ring_chunks + CUE_CHUNKS) * channels * self.chunk_frames * size_of::<f32>()
    }

    /// How many chunks each of these streams can have in its ring, if all get the same number; `channels` has an
    /// entry for each stream. `None` if that would be fewer than 2: the disk buffer is too small.
    pub fn ring_chunks_for(&self, channels: &[usize]) -> Option<usize> {
        let all: usize = channels.iter().sum();
        let one_of_each = all.max(1) * self.chunk_frames.max(1) * size_of::<f32>();
        let ring =
            (self.disk_buffer_bytes / one_of_each).saturating_sub(CUE_CHUNKS).min(MOST_RING_CHUNKS);
        (ring >= 2).then_some(ring)
    }

    pub(crate) fn checked(mut self) -> Settings {
        self.threads = self.threads.max(1);
        self.chunk_frames = self.chunk_frames.max(64);
        self
    }
}
