//! The control side of a stream.

use std::path::Path;
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use hocket_media::StreamInfo;

use crate::error::PreloadError;
use crate::feeder::{Feeder, lock};
use crate::gaps::{GapLog, Status, StreamReport};
use crate::preloader::Shared;

/// A stream, for control threads. The drop ends it: its reader gets nothing more.
pub struct Stream {
    pub(crate) entry: Arc<Entry>,
    pub(crate) preloader: Arc<Shared>,
}

/// What the preloader's threads and control threads share of a stream.
pub(crate) struct Entry {
    pub path: std::path::PathBuf,
    pub info: StreamInfo,
    pub device: u64,
    pub feeder: Mutex<Feeder>,
    pub status: Mutex<Status>,
    pub gaps: Mutex<GapLog>,
    pub cues: Cues,
}

/// The positions that control threads wait for.
#[derive(Debug, Default)]
pub(crate) struct Cues {
    wanted: Mutex<Vec<u64>>,
    changed: Condvar,
}

impl Cues {
    pub fn wanted(&self) -> Option<u64> {
        lock(&self.wanted).first().copied()
    }

    pub fn done(&self, position: u64) {
        lock(&self.wanted).retain(|wanted| *wanted != position);
        self.changed.notify_all();
    }

    fn want(&self, position: u64) {
        lock(&self.wanted).push(position);
    }

    /// Whether the position was done in time. If not, nobody waits for it any more.
    fn wait(&self, position: u64, until: Instant) -> bool {
        let mut wanted = lock(&self.wanted);
        while wanted.contains(&position) {
            let Some(left) = until.checked_duration_since(Instant::now()) else {
                wanted.retain(|other| *other != position);
                return false;
            };
            let waited = self.changed.wait_timeout(wanted, left);
            wanted = waited.unwrap_or_else(std::sync::PoisonError::into_inner).0;
        }
        true
    }
}

impl std::fmt::Debug for Stream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Stream").field("path", &self.entry.path).finish_non_exhaustive()
    }
}

impl Stream {
    /// The file, as messages name it.
    pub fn path(&self) -> &Path {
        &self.entry.path
    }

    /// What the file holds.
    pub fn info(&self) -> &StreamInfo {
        &self.entry.info
    }

    /// Brings the two chunks from `position` on into memory, and returns when they are there. A read or jump to
    /// `position` after that is ready at once; the ring has the time of two chunks to follow.
    ///
    /// The reader keeps the latest two positions. It takes them up when it reads or
    /// [services](crate::StreamReader::service), so a reader that does neither gets no fifth one.
    ///
    /// Thread: control; waits for the disk, at most `patience`.
    ///
    /// # Errors
    /// [`PreloadError`]; a retry may help.
    pub fn preload(&self, position: u64, patience: Duration) -> Result<(), PreloadError> {
        self.want(position);
        self.wait(position, Instant::now() + patience, patience)
    }

    /// As [`Stream::preload`] for many streams at once, each with its position: the disk is asked for all of them
    /// before the first answer.
    ///
    /// Thread: control; waits for the disk, at most `patience` in all.
    ///
    /// # Errors
    /// One for each stream that did not get there in time; the others did.
    pub fn preload_all(
        wanted: &[(&Stream, u64)],
        patience: Duration,
    ) -> Result<(), Vec<PreloadError>> {
        let until = Instant::now() + patience;
        wanted.iter().for_each(|(stream, position)| stream.want(*position));
        let waited =
            wanted.iter().map(|(stream, position)| stream.wait(*position, until, patience));
        let errors: Vec<PreloadError> = waited.filter_map(Result::err).collect();
        if errors.is_empty() { Ok(()) } else { Err(errors) }
    }

    /// Begins what [`Stream::preload`] does, without waiting. A `preload` of the same position waits for it.
    ///
    /// Thread: control; never waits for the disk.
    pub fn want(&self, position: u64) {
        self.entry.cues.want(position);
        self.preloader.wake();
    }

    fn wait(&self, position: u64, until: Instant, waited: Duration) -> Result<(), PreloadError> {
        let entry = &self.entry;
        if entry.cues.wait(position, until) {
            return Ok(());
        }
        let name = entry.path.display().to_string();
        match lock(&entry.status).failure.clone() {
            Some(cause) => Err(PreloadError::Failing { name, position, cause }),
            None => Err(PreloadError::TooSlow { name, position, waited }),
        }
    }

    /// Whether the ring is full, or has all that follows: from the position that the reader is at, or has announced.
    ///
    /// Thread: control; never waits for the disk. While a read is going on, the answer is no.
    pub fn is_filled(&self) -> bool {
        match self.entry.feeder.try_lock() {
            Ok(mut feeder) => feeder.is_filled(),
            Err(_) => false,
        }
    }

    /// What the reader did not get in time so far.
    ///
    /// Thread: control; never waits for the disk.
    pub fn report(&self) -> StreamReport {
        let status = lock(&self.entry.status);
        let mut gaps = lock(&self.entry.gaps);
        gaps.gather(&status);
        StreamReport {
            path: self.entry.path.clone(),
            not_ready_frames: gaps.total_frames,
            gaps: gaps.gaps.clone(),
            failure: status.failure.clone(),
            reading_since: status.reading_since,
        }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.preloader.forget(&self.entry);
    }
}
