//! The threads that read ahead, and the budget that they read into.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;

use hocket_media::{MediaError, StreamDecoder};
use hocket_rt::Ring;

use crate::chunk::{Chunk, MemoryRange};
use crate::devices::Devices;
use crate::error::OpenError;
use crate::feeder::{Feeder, FeederEnds, lock};
use crate::gaps::{GapLog, Status};
use crate::reader::{CUE_CHUNKS, CUES_PER_POSITION, ReaderEnds, StreamReader};
use crate::settings::Settings;
use crate::storage::{FileStorage, Storage};
use crate::stream::{Cues, Entry, Stream};

/// Jumps and loops that may be under way to the preloader; a reader keeps one more.
const REQUESTS: usize = 64;
/// Notices that may be under way. The next one has the totals of a lost one.
const NOTICES: usize = 256;

/// Reads streams ahead of their readers, on threads of its own.
///
/// The drop stops it, as [`Preloader::stop`] does.
#[derive(Debug)]
pub struct Preloader {
    settings: Settings,
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

/// What the threads share.
pub(crate) struct Shared {
    state: Mutex<State>,
    woken: Condvar,
    devices: Devices,
    budget: Arc<Mutex<usize>>,
    /// For readers that wait. Relaxed: it publishes nothing, it only ends their waiting.
    stopped: Arc<AtomicBool>,
}

#[derive(Default)]
struct State {
    streams: Vec<Arc<Entry>>,
    stop: bool,
}

/// A stream's part of the budget; it goes back when the last owner of its chunks is dropped.
#[derive(Debug)]
pub(crate) struct Lease {
    left_bytes: Arc<Mutex<usize>>,
    bytes: usize,
}

impl Drop for Lease {
    fn drop(&mut self) {
        *lock(&self.left_bytes) += self.bytes;
    }
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").field("budget", &self.budget).finish_non_exhaustive()
    }
}

impl Preloader {
    /// Starts the threads `hocket-preload0`, `hocket-preload1`, ...
    ///
    /// Thread: control.
    ///
    /// # Errors
    /// The system starts no thread.
    pub fn start(settings: Settings) -> std::io::Result<Preloader> {
        let settings = settings.checked();
        let shared = Arc::new(Shared {
            state: Mutex::default(),
            woken: Condvar::new(),
            devices: Devices::new(settings.threads),
            budget: Arc::new(Mutex::new(settings.disk_buffer_bytes)),
            stopped: Arc::default(),
        });
        let mut preloader = Preloader { settings, shared, threads: Vec::new() };
        for index in 0..preloader.settings.threads {
            let (shared, poll) = (Arc::clone(&preloader.shared), preloader.settings.poll);
            let named = std::thread::Builder::new().name(format!("hocket-preload{index}"));
            preloader.threads.push(named.spawn(move || shared.run(poll))?);
        }
        Ok(preloader)
    }

    /// Ends the threads and waits for them: for a disk that does not answer, as long as that takes. Readers get what
    /// is in memory, and then silence.
    ///
    /// Thread: control.
    pub fn stop(self) {}

    /// How it works.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// What is left of the disk buffer, in bytes.
    pub fn left_bytes(&self) -> usize {
        *lock(&self.shared.budget)
    }

    /// Opens a file as a stream, and begins to read it from its beginning.
    ///
    /// Shape: `ring_chunks` chunks are read ahead, at least 2; see [`Settings::ring_chunks_for`]. `rate_hz` is the rate
    /// at which the caller plays.
    ///
    /// Thread: control. Cost: reads the file's header; see [`StreamDecoder::open`] for the files that are read once.
    ///
    /// # Errors
    /// [`OpenError`].
    pub fn open(
        &self,
        path: &Path,
        rate_hz: u32,
        ring_chunks: usize,
    ) -> Result<(Stream, StreamReader), OpenError> {
        let io = |source| MediaError::Io { path: path.into(), source };
        self.open_storage(Arc::new(FileStorage::new(path).map_err(io)?), rate_hz, ring_chunks)
    }

    /// As [`Preloader::open`], of bytes from elsewhere.
    ///
    /// # Errors
    /// [`OpenError`].
    pub fn open_storage(
        &self,
        storage: Arc<dyn Storage>,
        rate_hz: u32,
        ring_chunks: usize,
    ) -> Result<(Stream, StreamReader), OpenError> {
        let path = storage.path().to_path_buf();
        let bytes =
            storage.open().map_err(|source| MediaError::Io { path: path.clone(), source })?;
        let decoder = StreamDecoder::open(&path, bytes)?;
        let info = decoder.info().clone();
        if info.sample_rate_hz != rate_hz {
            return Err(OpenError::OtherRate {
                path,
                has_hz: info.sample_rate_hz,
                wants_hz: rate_hz,
            });
        }
        let ring_chunks = ring_chunks.max(2);
        let lease = self.lease(&path, self.settings.stream_bytes(info.channels, ring_chunks))?;
        let chunk_frames = self.settings.chunk_frames;
        let is_cue = |index| index >= ring_chunks;
        let chunks: Vec<Chunk> = (0..ring_chunks + CUE_CHUNKS)
            .map(|index| Chunk::new(info.channels, chunk_frames, is_cue(index)))
            .collect();
        let memory: Vec<MemoryRange> = chunks.iter().map(Chunk::memory).collect();
        let (reader_ends, feeder_ends) = rings(ring_chunks);
        let (notices, notices_reader) = Ring::new(NOTICES);
        let shape = (info.frames, info.channels, chunk_frames);
        let stopped = Arc::clone(&self.shared.stopped);
        let reader =
            StreamReader::new(shape, reader_ends, notices, memory, stopped, Arc::new(lease));
        let device = storage.device();
        let feeder = Feeder::new(
            storage,
            decoder,
            (chunk_frames, self.settings.patience),
            feeder_ends,
            chunks,
        );
        let entry = Arc::new(Entry {
            path,
            info,
            device,
            feeder: Mutex::new(feeder),
            status: Mutex::new(Status::default()),
            gaps: Mutex::new(GapLog::new(notices_reader)),
            cues: Cues::default(),
        });
        self.shared.add(&entry)?;
        Ok((Stream { entry, preloader: Arc::clone(&self.shared) }, reader))
    }

    fn lease(&self, path: &Path, bytes: usize) -> Result<Lease, OpenError> {
        let mut left = lock(&self.shared.budget);
        if bytes > *left {
            let (path, needs_bytes, left_bytes) = (path.into(), bytes, *left);
            return Err(OpenError::OverBudget { path, needs_bytes, left_bytes });
        }
        *left -= bytes;
        Ok(Lease { left_bytes: Arc::clone(&self.shared.budget), bytes })
    }
}

/// The rings between a reader and its feeder.
fn rings(ring_chunks: usize) -> (ReaderEnds, FeederEnds) {
    let (filled_writer, filled) = Ring::new(ring_chunks);
    let (cues_writer, cues) = Ring::new(CUE_CHUNKS);
    let (empty, empty_reader) = Ring::new(ring_chunks + CUE_CHUNKS);
    let (requests, requests_reader) = Ring::new(REQUESTS);
    let reader = ReaderEnds { filled, cues, empty, requests };
    let feeder = FeederEnds {
        filled: filled_writer,
        cues: cues_writer,
        empty: empty_reader,
        requests: requests_reader,
    };
    (reader, feeder)
}

impl Drop for Preloader {
    fn drop(&mut self) {
        lock(&self.shared.state).stop = true;
        self.shared.woken.notify_all();
        for thread in self.threads.drain(..) {
            // A thread that panicked has said so itself.
            let _ = thread.join();
        }
        // Relaxed: see the field.
        self.shared.stopped.store(true, Ordering::Relaxed);
    }
}

impl Shared {
    fn add(&self, entry: &Arc<Entry>) -> Result<(), OpenError> {
        let mut state = lock(&self.state);
        if state.stop {
            return Err(OpenError::Stopped { path: entry.path.clone() });
        }
        state.streams.push(Arc::clone(entry));
        drop(state);
        self.wake();
        Ok(())
    }

    pub fn forget(&self, entry: &Arc<Entry>) {
        lock(&self.state).streams.retain(|other| !Arc::ptr_eq(other, entry));
    }

    pub fn wake(&self) {
        self.woken.notify_all();
    }

    /// A thread's life: first the positions that control threads wait for, then one chunk for each stream in turn, and
    /// a rest when none needs any.
    fn run(&self, poll: std::time::Duration) {
        loop {
            let state = lock(&self.state);
            if state.stop {
                return;
            }
            let streams = state.streams.clone();
            drop(state);
            for _ in 0..CUES_PER_POSITION {
                self.serve_all(streams.iter().filter(|entry| entry.cues.wanted().is_some()));
            }
            let worked = self.serve_all(streams.iter());
            if !worked {
                let state = lock(&self.state);
                if !state.stop {
                    drop(
                        self.woken
                            .wait_timeout(state, poll)
                            .unwrap_or_else(PoisonError::into_inner),
                    );
                }
            }
        }
    }

    /// Whether any of them got a chunk.
    fn serve_all<'e>(&self, streams: impl Iterator<Item = &'e Arc<Entry>>) -> bool {
        let mut worked = false;
        for entry in streams {
            worked |= self.serve(entry);
        }
        worked
    }

    /// One chunk for one stream, unless another thread is at it or enough threads wait for its device.
    fn serve(&self, entry: &Entry) -> bool {
        if let (Ok(status), Ok(mut gaps)) = (entry.status.try_lock(), entry.gaps.try_lock()) {
            gaps.gather(&status);
        }
        let Some(_admission) = self.devices.admit(entry.device) else { return false };
        let Ok(mut feeder) = entry.feeder.try_lock() else { return false };
        feeder.work(&entry.status, &entry.cues)
    }
}
