//! The threads that read ahead, and the budget that they read into.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

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
/// How often one idle thread looks while a jump is expected.
const LOOK_FOR_A_JUMP: Duration = Duration::from_millis(1);
/// What a stream says that ended because of a fault of Hocket.
const PANICKED: &str = "the thread that reads ahead panicked, so nothing more of the file plays; please report this, and \
                        start again";

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
}

struct State {
    streams: Vec<Arc<Entry>>,
    stop: bool,
    /// How often a control thread has given the threads something to look at.
    calls: u64,
    /// Readers are expected to jump until then. `None`: nobody announced a jump.
    jumps_until: Option<Instant>,
    /// Whether an idle thread looks for jumps. One is enough: each look costs time for every stream.
    is_watched: bool,
    /// Threads that have not ended.
    threads: usize,
}

impl State {
    /// Whether an idle thread has to look for jumps, and none does.
    fn needs_a_watcher(&self) -> bool {
        !self.is_watched && self.jumps_until.is_some_and(|until| Instant::now() < until)
    }
}

/// A running thread. Streams end with the last one, however that ends.
struct Running<'s>(&'s Shared);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        let mut state = lock(&self.0.state);
        state.threads -= 1;
        if state.threads == 0 {
            state.stop = true;
            let fault = std::thread::panicking().then_some(PANICKED);
            state.streams.iter().for_each(|entry| entry.end(fault));
        }
    }
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
        Preloader::start_with(settings, Shared::run)
    }

    /// With another life of its threads, for tests.
    fn start_with(settings: Settings, life: fn(&Shared, Duration)) -> std::io::Result<Preloader> {
        let settings = settings.checked();
        let shared = Arc::new(Shared {
            state: Mutex::new(State {
                streams: Vec::new(),
                stop: false,
                calls: 0,
                jumps_until: None,
                is_watched: false,
                threads: settings.threads,
            }),
            woken: Condvar::new(),
            devices: Devices::new(settings.threads),
            budget: Arc::new(Mutex::new(settings.disk_buffer_bytes)),
        });
        let mut preloader = Preloader { settings, shared, threads: Vec::new() };
        for index in 0..preloader.settings.threads {
            let (shared, poll) = (Arc::clone(&preloader.shared), preloader.settings.poll);
            let named = std::thread::Builder::new().name(format!("hocket-preload{index}"));
            preloader.threads.push(named.spawn(move || {
                let _running = Running(&shared);
                life(&shared, poll);
            })?);
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

    /// Says that readers are about to jump, within this time at most. A reader cannot wake a thread, so an idle one finds
    /// a jump only when it looks. For this time one looks every millisecond, however rarely [`Settings::poll`] says.
    ///
    /// Thread: control, before the jump. Cost: a short lock, and a wake-up.
    pub fn expect_jumps(&self, within: Duration) {
        self.shared.expect_jumps(within);
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
        let ended = Arc::default();
        let reader = StreamReader::new(
            shape,
            reader_ends,
            notices,
            memory,
            Arc::clone(&ended),
            Arc::new(lease),
        );
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
            ended,
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
pub(crate) fn rings(ring_chunks: usize) -> (ReaderEnds, FeederEnds) {
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
        self.shared.stop();
        for thread in self.threads.drain(..) {
            // A thread that panicked has said so itself, and to its streams.
            let _ = thread.join();
        }
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

    /// Streams end at once: a thread that waits for a disk does not hold up the readers of another one.
    fn stop(&self) {
        let mut state = lock(&self.state);
        state.stop = true;
        state.streams.iter().for_each(|entry| entry.end(None));
        self.woken.notify_all();
    }

    pub fn forget(&self, entry: &Arc<Entry>) {
        lock(&self.state).streams.retain(|other| !Arc::ptr_eq(other, entry));
    }

    /// Has every idle thread look, and every other one before it rests.
    pub fn wake(&self) {
        lock(&self.state).calls += 1;
        self.woken.notify_all();
    }

    fn expect_jumps(&self, within: Duration) {
        let until = Instant::now() + within;
        let mut state = lock(&self.state);
        state.jumps_until = state.jumps_until.max(Some(until));
        drop(state);
        self.wake();
    }

    /// A thread's life: first the positions that control threads wait for, then one chunk for each stream in turn, and
    /// a rest when none needs any.
    fn run(&self, poll: Duration) {
        while let Some((streams, calls)) = self.next_round() {
            for _ in 0..CUES_PER_POSITION {
                self.serve_all(streams.iter().filter(|entry| entry.cues.are_wanted()));
            }
            let worked = self.serve_all(streams.iter());
            if !worked {
                // The thread keeps no stream that ends meanwhile.
                drop(streams);
                self.rest(calls, poll);
            }
        }
    }

    /// All streams, and the calls so far. `None`: the preloader stops.
    fn next_round(&self) -> Option<(Vec<Arc<Entry>>, u64)> {
        let state = lock(&self.state);
        (!state.stop).then(|| (state.streams.clone(), state.calls))
    }

    /// Rests until somebody calls or it is time to look; not at all if there was a call after the first `seen`, because
    /// the thread may have looked too early for it.
    fn rest(&self, seen: u64, poll: Duration) {
        let mut state = lock(&self.state);
        if state.stop || state.calls != seen {
            return;
        }
        let watches = state.needs_a_watcher();
        state.is_watched |= watches;
        let pause = if watches { poll.min(LOOK_FOR_A_JUMP) } else { poll };
        let rested = self.woken.wait_timeout(state, pause);
        let (mut state, _) = rested.unwrap_or_else(PoisonError::into_inner);
        state.is_watched &= !watches;
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
    ///
    /// A panic ends the stream, and no other one: the thread goes on. Unwind safety: the panic poisons the feeder, so
    /// nobody uses it again.
    fn serve(&self, entry: &Entry) -> bool {
        if let (Ok(status), Ok(mut gaps)) = (entry.status.try_lock(), entry.gaps.try_lock()) {
            gaps.gather(&status);
        }
        let Ok(mut feeder) = entry.feeder.try_lock() else { return false };
        let admit = || self.devices.admit(entry.device);
        let work = AssertUnwindSafe(move || feeder.work(&entry.status, &entry.cues, admit));
        let worked = catch_unwind(work).unwrap_or_else(|_| {
            entry.end(Some(PANICKED));
            false
        });
        entry.free_if_ended();
        worked
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hocket_media::{AudioWriter, FileFormat, WavFormat};

    /// Threads that panic as soon as there is a stream.
    fn panic_with_a_stream(shared: &Shared, _: Duration) {
        while lock(&shared.state).streams.is_empty() {
            std::thread::sleep(Duration::from_millis(1));
        }
        std::panic::resume_unwind(Box::new("a fault of the thread itself"));
    }

    /// Threads that leave all work to the test.
    fn do_nothing(shared: &Shared, _: Duration) {
        while !lock(&shared.state).stop {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn written(folder: &Path) -> std::path::PathBuf {
        let path = folder.join("a.wav");
        let mut writer =
            AudioWriter::create(&path, FileFormat::Wav, 48_000, WavFormat::Pcm16, 9000).unwrap();
        writer.write(&[0.5; 9000], &[0.5; 9000]).unwrap();
        writer.finish().unwrap();
        path
    }

    #[test]
    fn a_call_between_a_look_and_the_rest_ends_the_rest_at_once() {
        let preloader = Preloader::start_with(Settings::new(0), do_nothing).unwrap();
        let shared = Arc::clone(&preloader.shared);
        let (_, calls) = shared.next_round().unwrap();
        shared.wake();
        let rest = std::thread::spawn(move || shared.rest(calls, Duration::from_secs(3600)));
        let begun = Instant::now();
        while !rest.is_finished() {
            assert!(begun.elapsed() < Duration::from_secs(60), "it rests");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn a_look_in_vain_takes_no_part_of_the_device() {
        let folder = tempfile::tempdir().unwrap();
        let preloader = Preloader::start_with(Settings::new(64 << 20), do_nothing).unwrap();
        let (stream, _reader) = preloader.open(&written(folder.path()), 48_000, 2).unwrap();
        let (shared, entry) = (&preloader.shared, &stream.entry);
        while shared.serve(entry) {}
        let refuse = || unreachable!("the stream has all that finds room");
        assert!(!lock(&entry.feeder).work(&entry.status, &entry.cues, refuse));
        // A wish, or room, does take part in it.
        stream.want(5000);
        assert!(shared.serve(entry));
    }

    #[test]
    fn when_the_last_thread_panics_every_reader_gets_silence_with_the_cause() {
        let folder = tempfile::tempdir().unwrap();
        let path = written(folder.path());
        let preloader =
            Preloader::start_with(Settings::new(64 << 20), panic_with_a_stream).unwrap();
        let (stream, mut reader) = preloader.open(&path, 48_000, 2).unwrap();
        let mut rows = [[f32::NAN; 1000]; 2];
        let [left, right] = &mut rows;
        assert_eq!(reader.read_waiting(0, &mut [left, right]), 0);
        assert_eq!((rows, reader.not_ready_frames()), ([[0.0; 1000]; 2], 1000));
        let report = stream.report();
        let cause = report.ended.unwrap();
        assert!(cause.contains("a.wav") && cause.contains("panicked"), "{cause}");
        assert_eq!(report.gaps[0].cause, cause);
        assert!(matches!(preloader.open(&path, 48_000, 2), Err(OpenError::Stopped { .. })));
    }
}
