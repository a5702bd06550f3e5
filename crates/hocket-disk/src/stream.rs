//! The control side of a stream.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use hocket_media::StreamInfo;

use crate::error::PreloadError;
use crate::feeder::{Feeder, lock};
use crate::gaps::{GapLog, Status, StreamReport};
use crate::preloader::Shared;

/// A stream, for control threads. The drop ends it: its reader gets what is in memory, and then silence.
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
    /// Nothing more is read. Relaxed: it publishes nothing, it only ends a reader's waiting; the cause is in `status`.
    pub ended: Arc<AtomicBool>,
}

impl Entry {
    /// Nothing more is read, and nobody waits for it any longer. `fault`: why, unless a caller wanted it.
    pub fn end(&self, fault: Option<&str>) {
        let mut status = lock(&self.status);
        if let Some(fault) = fault {
            let named = || format!("{}: {fault}", self.path.display());
            status.ended.get_or_insert_with(named);
        }
        status.reading_since = None;
        drop(status);
        self.cues.end();
        self.ended.store(true, Ordering::Relaxed);
    }

    pub fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Relaxed)
    }

    /// Frees what was read ahead of a stream that has ended, because a thread that waits for a disk keeps every stream that
    /// it knew, and this one is no longer in the budget. A thread that has the feeder now calls this afterwards.
    ///
    /// It asks the list, whose lock orders the two: one of them finds both the end and a feeder that is free.
    pub fn free_if_ended(&self) {
        if self.cues.have_ended()
            && let Ok(mut feeder) = self.feeder.try_lock()
        {
            feeder.forget_chunks();
        }
    }
}

/// A position that one caller wants in memory ([`Stream::want`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WantedPosition {
    position: u64,
    /// Of the call. Another caller may want the same position, and for longer.
    number: u64,
}

/// The positions that control threads wait for.
#[derive(Debug, Default)]
pub(crate) struct Cues {
    list: Mutex<CueList>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct CueList {
    wanted: Vec<WantedPosition>,
    /// Calls so far.
    calls: u64,
    /// Nobody brings them any more.
    has_ended: bool,
}

impl Cues {
    pub fn are_wanted(&self) -> bool {
        !lock(&self.list).wanted.is_empty()
    }

    /// The first position of which `look` says something, with what it says.
    pub fn first<T>(&self, look: impl Fn(u64) -> Option<T>) -> Option<(u64, T)> {
        let list = lock(&self.list);
        list.wanted.iter().find_map(|wanted| Some((wanted.position, look(wanted.position)?)))
    }

    pub fn done(&self, position: u64) {
        lock(&self.list).wanted.retain(|wanted| wanted.position != position);
        self.changed.notify_all();
    }

    fn have_ended(&self) -> bool {
        lock(&self.list).has_ended
    }

    fn end(&self) {
        lock(&self.list).has_ended = true;
        self.changed.notify_all();
    }

    fn want(&self, position: u64) -> WantedPosition {
        let mut list = lock(&self.list);
        list.calls += 1;
        let wanted = WantedPosition { position, number: list.calls };
        list.wanted.push(wanted);
        wanted
    }

    /// Whether the position was done in time. If not, this caller wants it no more.
    fn wait(&self, wanted: WantedPosition, until: Instant) -> bool {
        let mut list = lock(&self.list);
        while list.wanted.contains(&wanted) {
            let left = until.checked_duration_since(Instant::now());
            let Some(left) = left.filter(|_| !list.has_ended) else {
                list.wanted.retain(|other| *other != wanted);
                return false;
            };
            let waited = self.changed.wait_timeout(list, left);
            list = waited.unwrap_or_else(std::sync::PoisonError::into_inner).0;
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
        self.wait(self.want(position), patience)
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
        let want = |(stream, position): &(&Stream, u64)| stream.want(*position);
        let asked: Vec<WantedPosition> = wanted.iter().map(want).collect();
        let waited = wanted.iter().zip(asked);
        let waited = waited.map(|((stream, _), asked)| stream.wait_until(asked, until, patience));
        let errors: Vec<PreloadError> = waited.filter_map(Result::err).collect();
        if errors.is_empty() { Ok(()) } else { Err(errors) }
    }

    /// Begins what [`Stream::preload`] does, without waiting. [`Stream::wait`] waits for it.
    ///
    /// Thread: control; never waits for the disk.
    pub fn want(&self, position: u64) -> WantedPosition {
        let wanted = self.entry.cues.want(position);
        self.preloader.wake();
        wanted
    }

    /// Waits until a position is in memory that [`Stream::want`] asked for. After an error the caller wants it no more. What is
    /// in memory by now needs no other thread.
    ///
    /// Thread: control; waits for the disk, at most `patience`.
    ///
    /// # Errors
    /// [`PreloadError`]; a retry may help.
    pub fn wait(&self, wanted: WantedPosition, patience: Duration) -> Result<(), PreloadError> {
        self.wait_until(wanted, Instant::now() + patience, patience)
    }

    fn wait_until(
        &self,
        wanted: WantedPosition,
        until: Instant,
        waited: Duration,
    ) -> Result<(), PreloadError> {
        let position = wanted.position;
        let entry = &self.entry;
        if entry.cues.wait(wanted, until) {
            return Ok(());
        }
        let name = entry.path.display().to_string();
        match lock(&entry.status).known_cause().cloned() {
            Some(cause) => Err(PreloadError::Failing { name, position, cause }),
            None => Err(PreloadError::TooSlow { name, position, waited }),
        }
    }

    /// Whether the ring is full, or has all that follows: from the position that the reader is at, or has announced.
    /// A stream that has ended gets nothing more, so it is filled.
    ///
    /// Thread: control; never waits for the disk. While a read is going on, the answer is no.
    pub fn is_filled(&self) -> bool {
        if self.entry.has_ended() {
            return true;
        }
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
            not_finite: status.not_finite,
            failure: status.failure.clone(),
            ended: status.ended.clone(),
            reading_since: status.reading_since,
        }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.preloader.forget(&self.entry);
        self.entry.end(None);
        self.entry.free_if_ended();
    }
}
