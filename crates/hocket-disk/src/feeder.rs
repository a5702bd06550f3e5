//! The preloader's end of a stream: reads the next chunk where there is room for one.

use std::collections::VecDeque;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use hocket_media::{StreamDecoder, StreamInfo};
use hocket_rt::{RingReader, RingWriter};

use crate::chunk::{Chunk, Request};
use crate::devices::Admission;
use crate::gaps::Status;
use crate::preloader::rings;
use crate::reader::{CUES_KEPT, CUES_PER_POSITION};
use crate::storage::Storage;
use crate::stream::Cues;

/// A disk that fails is asked again after this time, then after twice as long, and so on.
const FIRST_RETRY: Duration = Duration::from_millis(20);
const LONGEST_RETRY: Duration = Duration::from_millis(500);

/// The preloader's ends of a stream's rings.
pub(crate) struct FeederEnds {
    pub filled: RingWriter<Chunk>,
    pub cues: RingWriter<Chunk>,
    pub empty: RingReader<Chunk>,
    pub requests: RingReader<Request>,
}

/// Reads one stream. One thread at a time has it.
pub(crate) struct Feeder {
    storage: Arc<dyn Storage>,
    decoder: StreamDecoder,
    info: StreamInfo,
    chunk_frames: usize,
    patience: Duration,
    ends: FeederEnds,
    /// Chunks that wait to be filled.
    ring: Vec<Chunk>,
    cues: Vec<Chunk>,
    /// The latest cues that were sent: those that the reader has, or will have.
    sent_cues: VecDeque<u64>,
    /// The next frame to read.
    cursor: u64,
    /// Since here frames were read without a break.
    run_start: u64,
    generation: u32,
    lap: Option<Range<u64>>,
    reader_waits: bool,
    trouble: Option<Trouble>,
}

/// A disk that fails, or a file that ends early.
struct Trouble {
    since: Instant,
    retry_at: Instant,
    delay: Duration,
    /// The file has no frame from here on. Before it the file can be read. `None`: the disk fails, wherever it reads.
    end: Option<u64>,
}

impl Trouble {
    fn concerns(&self, position: u64) -> bool {
        self.end.is_none_or(|end| position >= end)
    }
}

/// A file that ends early may still be on its way here, but rarely is.
const PATIENCE_AT_AN_END: Duration = Duration::from_secs(2);

impl Feeder {
    pub fn new(
        storage: Arc<dyn Storage>,
        decoder: StreamDecoder,
        settings: (usize, Duration),
        ends: FeederEnds,
        chunks: Vec<Chunk>,
    ) -> Feeder {
        let (cues, ring) = chunks.into_iter().partition(|chunk| chunk.is_cue);
        let (chunk_frames, patience) = settings;
        Feeder {
            storage,
            info: decoder.info().clone(),
            decoder,
            chunk_frames,
            patience,
            ends,
            ring,
            cues,
            sent_cues: VecDeque::with_capacity(CUES_KEPT),
            cursor: 0,
            run_start: 0,
            generation: 0,
            lap: None,
            reader_waits: false,
            trouble: None,
        }
    }

    /// Reads one chunk, if there is room for one, the device admits it and the disk works; whether it did.
    ///
    /// A look takes no admission. So where a thread is not admitted, another one reads, and looks again after that: no
    /// request is left to a thread that rests.
    pub fn work<'d>(
        &mut self,
        status: &Mutex<Status>,
        cues: &Cues,
        admit: impl FnOnce() -> Option<Admission<'d>>,
    ) -> bool {
        self.look();
        if self.has_all() && !cues.are_wanted() {
            return false;
        }
        let Some(_admission) = admit() else { return false };
        // A position that somebody waits for comes first.
        if self.work_on_cue(status, cues) {
            return true;
        }
        (!self.has_to_wait(self.next()) || self.has_given_up()) && self.work_on_ring(status)
    }

    /// What is wrong with reading there.
    fn trouble_at(&self, position: u64) -> Option<&Trouble> {
        self.trouble.as_ref().filter(|trouble| trouble.concerns(position))
    }

    /// Whether the file ends before the position, and has not grown in the time that it had for that.
    fn is_behind_the_end(&self, position: u64) -> bool {
        let is_end = self.trouble_at(position).is_some_and(|trouble| trouble.end.is_some());
        is_end && self.is_out_of_patience(position)
    }

    /// Whether chunks are lost until the disk is asked again: the file ends before them.
    fn has_given_up(&self) -> bool {
        let next = self.next();
        self.reader_waits && self.is_behind_the_end(next) && self.has_to_wait(next)
    }

    /// Frees what was read ahead; the reader keeps what it can reach. Nothing more is read.
    pub fn forget_chunks(&mut self) {
        (_, self.ends) = rings(1);
        (self.ring, self.cues) = (Vec::new(), Vec::new());
    }

    /// Whether there is no room, or nothing more to read.
    pub fn is_filled(&mut self) -> bool {
        self.look();
        self.has_all() || self.is_behind_the_end(self.next())
    }

    fn has_all(&self) -> bool {
        self.ring.is_empty() || self.next() >= self.info.frames
    }

    /// Whether reading there has failed, and it is too early to ask the disk again.
    fn has_to_wait(&self, position: u64) -> bool {
        self.trouble_at(position).is_some_and(|trouble| Instant::now() < trouble.retry_at)
    }

    /// Takes what the reader requests and gives back.
    fn look(&mut self) {
        while let Some(chunk) = self.ends.empty.pop() {
            let pool = if chunk.is_cue { &mut self.cues } else { &mut self.ring };
            pool.push(chunk);
        }
        while let Some(request) = self.ends.requests.pop() {
            self.obey(request);
        }
    }

    fn obey(&mut self, request: Request) {
        // A reader behind the loop plays on.
        self.lap = request.lap.filter(|lap| request.position < lap.end);
        self.reader_waits = request.waits;
        if request.is_jump {
            self.generation = request.generation;
            (self.cursor, self.run_start) = (request.position, request.position);
            return;
        }
        let lap_end = self.lap.as_ref().map_or(u64::MAX, |lap| lap.end);
        if !(self.run_start..=self.cursor).contains(&request.position) {
            // What is on its way follows the old loop. The reader passes over it.
            (self.cursor, self.run_start) = (request.position, request.position);
        } else if self.cursor > lap_end {
            self.wrap();
        }
    }

    fn wrap(&mut self) {
        if let Some(start) = self.lap.as_ref().map(|lap| lap.start) {
            (self.cursor, self.run_start) = (start, start);
        }
    }

    /// Where reading ends, or the loop does.
    fn limit(&self) -> u64 {
        self.lap.as_ref().map_or(self.info.frames, |lap| lap.end.min(self.info.frames))
    }

    /// The frame with which the next chunk begins. A loop that lies behind the end has nothing to read.
    fn next(&self) -> u64 {
        let limit = self.limit();
        let lap = self.lap.as_ref().filter(|lap| self.cursor >= limit && lap.start < limit);
        lap.map_or(self.cursor, |lap| lap.start)
    }

    fn work_on_ring(&mut self, status: &Mutex<Status>) -> bool {
        let limit = self.limit();
        if self.next() >= limit {
            return false;
        }
        if self.cursor >= limit {
            self.wrap();
        }
        let Some(mut chunk) = self.ring.pop() else { return false };
        (chunk.generation, chunk.start, chunk.is_lost) = (self.generation, self.cursor, false);
        let wanted = (limit - self.cursor).min(self.chunk_frames as u64) as usize;
        let read = !self.has_given_up() && self.fill(&mut chunk, wanted, status);
        // The reader may have jumped meanwhile.
        self.look();
        let is_wanted = chunk.generation == self.generation && chunk.start == self.cursor;
        let give_up = !read && self.reader_waits && self.is_out_of_patience(chunk.start);
        if give_up {
            (chunk.frames, chunk.is_lost) = (wanted, true);
        }
        if !is_wanted || !(read || give_up) {
            self.ring.push(chunk);
            return read;
        }
        self.cursor = chunk.end();
        let sent = self.ends.filled.push(chunk);
        debug_assert!(sent.is_ok(), "there are more chunks than were made");
        true
    }

    /// Brings the position that a control thread waits for into memory.
    fn work_on_cue(&mut self, status: &Mutex<Status>, cues: &Cues) -> bool {
        let Some((position, missing)) = cues.first(|position| self.next_of_cue(position)) else {
            return false;
        };
        let Some(start) = missing else {
            cues.done(position);
            return true;
        };
        let Some(mut chunk) = self.cues.pop() else { return false };
        (chunk.start, chunk.is_lost) = (start, false);
        let wanted = (self.info.frames - start).min(self.chunk_frames as u64) as usize;
        if !self.fill(&mut chunk, wanted, status) {
            self.cues.push(chunk);
            return false;
        }
        if self.sent_cues.len() == CUES_KEPT {
            self.sent_cues.pop_front();
        }
        self.sent_cues.push_back(start);
        let sent = self.ends.cues.push(chunk);
        debug_assert!(sent.is_ok(), "there are more chunks than were made");
        true
    }

    /// Where the next chunk of a cue begins; `Some(None)`: the reader has all of it, or will. `None`: it is too early to ask the
    /// disk for the rest.
    ///
    /// The reader gives up the cues that came first. So only the latest ones count: another one that is wanted again comes
    /// once more, or the next position would put an end to it.
    fn next_of_cue(&self, position: u64) -> Option<Option<u64>> {
        let latest = || self.sent_cues.iter().rev().take(CUES_PER_POSITION);
        let mut missing = (0..CUES_PER_POSITION as u64)
            .map(|index| position.saturating_add(index * self.chunk_frames as u64))
            .filter(|start| *start < self.info.frames && !latest().any(|sent| sent == start));
        let next = missing.next();
        let has_to_wait = next.into_iter().chain(missing).any(|start| self.has_to_wait(start));
        (!has_to_wait).then_some(next)
    }

    /// Reads frames into the chunk; whether there were any. Fewer than wanted are fine; the rest is tried again.
    fn fill(&mut self, chunk: &mut Chunk, wanted: usize, status: &Mutex<Status>) -> bool {
        lock(status).reading_since = Some(Instant::now());
        let start = chunk.start;
        // A decoder that panics is a file that cannot be read: the thread has other streams to serve, and nobody else
        // would tell a reader that waits. Unwind safety: the decoder is opened anew before it is used again.
        let read = catch_unwind(AssertUnwindSafe(|| {
            self.reopen_after_trouble(start)?;
            let read = self.decoder.read(start, &mut chunk.rows_mut(wanted));
            read.map_err(|error| error.to_string())
        }));
        let read = read.unwrap_or_else(|_| Err(self.decoder_panicked(start)));
        lock(status).reading_since = None;
        match read {
            Ok(0) => {
                lock(status).fail(start, self.ends_early(start));
                self.note_trouble(start, Some(start));
                false
            }
            Ok(frames) => {
                chunk.frames = frames;
                self.note_read(chunk.end(), &mut lock(status));
                true
            }
            Err(cause) => {
                lock(status).fail(0, cause);
                self.note_trouble(start, None);
                false
            }
        }
    }

    /// Frames were read up to there.
    fn note_read(&mut self, end: u64, status: &mut Status) {
        status.not_finite = self.decoder.not_finite();
        // Before its end a file that was cut short can be read; that makes it no longer.
        if self.trouble_at(end - 1).is_some() || self.trouble.is_none() {
            (self.trouble, status.failure) = (None, None);
        }
    }

    fn ends_early(&self, at: u64) -> String {
        let (path, frames) = (self.storage.path().display(), self.info.frames);
        format!(
            "{path}: the file has no frame {at}, although it states {frames}; was it cut short?"
        )
    }

    fn decoder_panicked(&self, at: u64) -> String {
        let path = self.storage.path().display();
        format!("{path}: the decoder panicked at frame {at}; please report this with the file")
    }

    fn reopen_after_trouble(&mut self, position: u64) -> Result<(), String> {
        if self.trouble_at(position).is_some() {
            let path = self.storage.path();
            let opened =
                self.storage.open().map_err(|error| format!("{}: {error}", path.display()))?;
            self.decoder = self.decoder.reopened(opened).map_err(|error| error.to_string())?;
        }
        Ok(())
    }

    fn note_trouble(&mut self, position: u64, end: Option<u64>) {
        let now = Instant::now();
        let (since, delay) = match self.trouble_at(position) {
            Some(trouble) => (trouble.since, (trouble.delay * 2).min(LONGEST_RETRY)),
            None => (now, FIRST_RETRY),
        };
        self.trouble = Some(Trouble { since, retry_at: now + delay, delay, end });
    }

    fn is_out_of_patience(&self, position: u64) -> bool {
        self.trouble_at(position).is_some_and(|trouble| {
            let at_an_end = self.patience.min(PATIENCE_AT_AN_END);
            let patience = if trouble.end.is_some() { at_an_end } else { self.patience };
            trouble.since.elapsed() >= patience
        })
    }
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
