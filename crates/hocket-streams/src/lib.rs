//! Audio files that play from the disk: which ones, in how much memory, and what the engine reads them through.
//!
//! hocket-engine knows no files and hocket-disk knows no engine. Here they meet: [`DiskFile`] is the engine's
//! `StreamedFile`, and it opens a stream of hocket-disk for each clip. [`SessionAudio`] decides for all audio files of a
//! session how they play, and decodes those that do not stream. The program and the C library both use it.
//!
//! Reading order: [`DiskUse`], [`SessionAudio`], [`streamed_files`], [`Conform`], [`DiskBuffer`], [`DiskFile`].
#![forbid(unsafe_code)]

mod open_files;
mod conform;
mod rows;
mod files;

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use hocket_disk::{
    FileStorage, Preloader, Settings, Storage, Stream, StreamReader, WantedPosition,
};
use hocket_engine::session::{MediaId, Session};
use hocket_engine::{
    ClipSource, ClipStream, NotReady, StereoRef, StreamGap, StreamHandle, StreamedFile,
};
use hocket_media::{StreamDecoder, StreamInfo};
use open_files::OpenFiles;

pub use conform::{Conform, ConformError, Conformed};
pub use files::{
    Facts, FilePlan, LoadError, LoadErrors, LoadedFiles, SessionAudio, Told, WholeAudio, WholeFile,
    Wholes, Words, read_session,
};
pub use rows::RowsReader;

/// Files that last longer stream, if they can.
pub const LONGEST_IN_MEMORY_S: u32 = 10;
/// Frames that a source reads at once.
const PIECE: usize = 1024;
/// Frames per chunk: the largest with which every stream has enough chunks.
const CHUNK_FRAMES: [usize; 4] = [8192, 4096, 2048, 1024];
/// Chunks that every stream has ahead, before smaller chunks are tried.
const ENOUGH_CHUNKS: usize = 4;
/// Chunks that a stream of a render reads ahead at most. A render waits for the disk, so more of them keep no sound from
/// missing; and what is read ahead of 16 stereo files (8 MiB) is still in a large cache when it plays.
const OFFLINE_CHUNKS: usize = 8;
/// One device never holds more than half of them.
const THREADS: usize = 4;
/// How often idle threads look for room. Live, streams are so far ahead that it may be seldom, and looking costs a CPU
/// some time; a render uses up what was read as fast as it can.
const LIVE_POLL: Duration = Duration::from_millis(10);
const OFFLINE_POLL: Duration = Duration::from_millis(1);

/// What to do while a file's frames are not in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    /// Nothing: they are silence, which is counted. Blocks never wait.
    Never,
    /// Wait for the disk: a render has time.
    ForTheDisk,
}

/// How a command plays audio files.
#[derive(Debug, Clone, Copy)]
pub struct DiskUse {
    /// The memory for all streams together; 0: every file is decoded in memory.
    pub buffer_bytes: usize,
    /// What to do while the disk is too slow.
    pub wait: Wait,
    /// How many engines play the session at the same time.
    pub engines: usize,
    /// Only files stream of which the header shows whether they are whole.
    pub strict: bool,
}

impl DiskUse {
    /// Every file is decoded in memory.
    pub const IN_MEMORY: DiskUse =
        DiskUse { buffer_bytes: 0, wait: Wait::Never, engines: 1, strict: false };
}

/// Why a disk buffer cannot hold the streams of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TooSmall {
    /// How many streams there would be.
    pub streams: usize,
    /// The smallest buffer that holds them.
    pub needs_bytes: usize,
    /// The one that was given.
    pub has_bytes: usize,
}

impl fmt::Display for TooSmall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TooSmall { streams, needs_bytes, has_bytes } = self;
        let clips = if *streams == 1 { "1 clip that plays" } else { "clips that play" };
        let count = if *streams == 1 { String::new() } else { format!("{streams} ") };
        write!(
            f,
            "{has_bytes} bytes are too little for {count}{clips} from the disk: give {needs_bytes} or more"
        )
    }
}

/// Why clips cannot play from the disk.
#[derive(Debug, thiserror::Error)]
pub enum DiskError {
    /// The buffer cannot hold the streams. A larger one can, or none: then every file is decoded in memory.
    #[error("{0}")]
    TooSmall(TooSmall),
    /// Every stream keeps its file open, and the system does not allow so many.
    #[error(
        "{streams} clips play from the disk, and each keeps its file open: {wanted} open files are needed, {allowed} are \
         allowed; raise the limit (ulimit -n), or decode every file in memory"
    )]
    OpenFiles {
        /// How many streams there would be.
        streams: usize,
        /// Open files that they need, with others of the process.
        wanted: u64,
        /// Open files that the system allows.
        allowed: u64,
    },
    /// No thread could start.
    #[error("no thread to read ahead: {0}")]
    Thread(io::Error),
}

/// An audio file that can stream.
pub struct Streamable {
    /// Where its bytes come from.
    pub storage: FileStorage,
    /// What its header says.
    pub info: StreamInfo,
}

impl Streamable {
    /// A file that is long, has the engine's rate and can be read from any position at once. `None`: decode it in
    /// memory, also where it cannot be opened, because decoding says what is wrong.
    ///
    /// `strict`: a file whose header alone states its length is decoded, so that it is known to be whole.
    ///
    /// Thread: control; reads the file's header.
    pub fn open(path: &Path, rate_hz: u32, strict: bool) -> Option<Streamable> {
        let longest = u64::from(LONGEST_IN_MEMORY_S) * u64::from(rate_hz);
        let storage = FileStorage::new(path).ok()?;
        let decoder = StreamDecoder::open_direct(path, storage.open().ok()?).ok()??;
        let info = decoder.info().clone();
        let fits = info.sample_rate_hz == rate_hz && info.frames > longest;
        (fits && !(strict && info.is_length_stated)).then_some(Streamable { storage, info })
    }
}

/// Whether the streams of so many clips take less memory than `frames` frames of their file, or all of it.
pub fn is_worth_streaming(clips: usize, channels: usize, frames: u64) -> bool {
    let in_memory = frames.saturating_mul(2 * size_of::<f32>() as u64);
    let streams = clips.saturating_mul(usual_stream_bytes(channels));
    (streams as u64) < in_memory
}

/// How many clips play each file of a session, by its place in the list of media. None play what is read as a whole, the preview.
pub fn clips_of_files(session: &Session) -> Vec<usize> {
    let mut clips = vec![0; session.media.len()];
    for clip in session.tracks.iter().flat_map(|track| &track.clips) {
        clips[clip.media.0] += 1;
    }
    if let Some(MediaId(preview)) = session.preview {
        clips[preview] = 0;
    }
    clips
}

/// The files of a session that stream, by their place in its list of media. `open` opens one: [`Streamable::open`], or
/// a look at what is known of the file before.
///
/// Thread: control; reads headers.
pub fn streamed_files(
    session: &Session,
    disk: &DiskUse,
    mut open: impl FnMut(&Path) -> Option<Streamable>,
) -> BTreeMap<usize, Streamable> {
    let clips = clips_of_files(session);
    let streams = |index: usize| {
        let file = (clips[index] > 0).then(|| open(&session.media[index].path))??;
        is_worth_streaming(clips[index], file.info.channels, file.info.frames)
            .then_some((index, file))
    };
    match disk.buffer_bytes {
        0 => BTreeMap::new(),
        _ => (0..session.media.len()).filter_map(streams).collect(),
    }
}

/// The memory of a stream with as many of the longest chunks as are enough.
fn usual_stream_bytes(channels: usize) -> usize {
    let settings = Settings { chunk_frames: CHUNK_FRAMES[0], ..Settings::new(0) };
    settings.stream_bytes(channels, ENOUGH_CHUNKS)
}

/// The disk buffer of a session, and the threads that fill it.
#[derive(Debug)]
pub struct DiskBuffer {
    preloader: Preloader,
    ring_chunks: usize,
    streams: usize,
    wait: Wait,
    /// See [`DiskBuffer::wait_for_the_disk`].
    waits_now: Arc<AtomicBool>,
    rate_hz: u32,
    _open_files: OpenFiles,
}

impl DiskBuffer {
    /// How long [`DiskBuffer::expect_jump`] has a thread look often. Engines follow a locate in their next block.
    pub const JUMP_COMES_WITHIN: Duration = Duration::from_millis(500);
    /// How long a block waits for the disk after [`DiskBuffer::wait_for_the_disk`]. A JACK server that freewheels waits 10 s for a
    /// client.
    pub const PATIENCE: Duration = Duration::from_secs(5);

    /// For so many streams at once, with the channels of each; `settings` beside the length of chunks. It lets the process
    /// open as many files as they need.
    ///
    /// # Errors
    /// [`DiskError`].
    pub fn start(
        settings: Settings,
        channels: &[usize],
        wait: Wait,
        rate_hz: u32,
    ) -> Result<Arc<DiskBuffer>, DiskError> {
        let (chunk_frames, ring_chunks) = fit(&settings, channels).map_err(DiskError::TooSmall)?;
        let ring_chunks = ring_chunks.min(most_chunks(wait));
        let streams = channels.len();
        let _open_files = OpenFiles::allow(streams)?;
        let preloader =
            Preloader::start(Settings { chunk_frames, ..settings }).map_err(DiskError::Thread)?;
        let waits_now = Arc::default();
        let buffer =
            DiskBuffer { preloader, ring_chunks, streams, wait, waits_now, rate_hz, _open_files };
        Ok(Arc::new(buffer))
    }

    /// For the files of a session that stream; `None` if there are none. `files` has the channels of each, by its place in the
    /// list of media; `others` has those of streams beside clips.
    ///
    /// # Errors
    /// [`DiskError`].
    pub fn of(
        session: &Session,
        disk: &DiskUse,
        files: &BTreeMap<usize, usize>,
        others: &[usize],
        rate_hz: u32,
    ) -> Result<Option<Arc<DiskBuffer>>, DiskError> {
        let channels = channels_of_streams(session, disk, files, others);
        DiskBuffer::of_streams(disk, &channels, rate_hz)
    }

    /// For streams with so many channels each; `None` if there are none.
    ///
    /// # Errors
    /// [`DiskError`].
    pub fn of_streams(
        disk: &DiskUse,
        channels: &[usize],
        rate_hz: u32,
    ) -> Result<Option<Arc<DiskBuffer>>, DiskError> {
        if channels.is_empty() {
            return Ok(None);
        }
        let poll = if disk.wait == Wait::Never { LIVE_POLL } else { OFFLINE_POLL };
        let settings = Settings { threads: THREADS, poll, ..Settings::new(disk.buffer_bytes) };
        DiskBuffer::start(settings, channels, disk.wait, rate_hz).map(Some)
    }

    /// Whether [`DiskBuffer::of`] would have enough memory for these files. Starts nothing. Call it before you write
    /// temporary files.
    ///
    /// # Errors
    /// [`DiskError::TooSmall`].
    pub fn check(
        session: &Session,
        disk: &DiskUse,
        files: &BTreeMap<usize, usize>,
        others: &[usize],
    ) -> Result<(), DiskError> {
        let channels = channels_of_streams(session, disk, files, others);
        if !channels.is_empty() {
            fit(&Settings::new(disk.buffer_bytes), &channels).map_err(DiskError::TooSmall)?;
        }
        Ok(())
    }

    /// Says that the song is about to jump. Clips that were not pre-rolled then sound sooner: for half a second a thread looks
    /// every millisecond whether they ask for another place, instead of every 10 ms.
    ///
    /// Thread: control, before it sends the engine a locate; never the leader. Cost: a short lock, and a wake-up.
    pub fn expect_jump(&self) {
        self.preloader.expect_jumps(DiskBuffer::JUMP_COMES_WITHIN);
    }

    /// From the next block on, clips of [`Wait::Never`] wait for the disk as in a render, or no longer. For a sound server that
    /// freewheels: there blocks have no deadline. A wait of [`DiskBuffer::PATIENCE`] in a block ends all waiting, because
    /// a server waits no longer for its clients; what is missing from then on is silence and counted.
    ///
    /// Thread: leader, between blocks, or control. No allocation, lock or system call.
    pub fn wait_for_the_disk(&self, waits: bool) {
        self.waits_now.store(waits, Relaxed);
    }

    /// Whether clips of [`Wait::Never`] wait for the disk at present.
    pub fn waits_for_the_disk(&self) -> bool {
        self.waits_now.load(Relaxed)
    }

    /// Memory that streams have read into now, in bytes. It never exceeds the disk buffer.
    pub fn used_bytes(&self) -> usize {
        self.preloader.settings().disk_buffer_bytes - self.preloader.left_bytes()
    }

    /// The memory for all streams together.
    pub fn bytes(&self) -> usize {
        self.preloader.settings().disk_buffer_bytes
    }

    /// How many streams it holds.
    pub fn streams(&self) -> usize {
        self.streams
    }

    /// How far ahead each stream reads, in seconds.
    pub fn ahead_s(&self) -> f64 {
        let frames = self.ring_chunks * self.preloader.settings().chunk_frames;
        frames as f64 / f64::from(self.rate_hz)
    }
}

/// The channels of every stream that the clips of these files open, and of the others, in all engines.
fn channels_of_streams(
    session: &Session,
    disk: &DiskUse,
    files: &BTreeMap<usize, usize>,
    others: &[usize],
) -> Vec<usize> {
    let clips = session.tracks.iter().flat_map(|track| &track.clips);
    let streams = clips.filter_map(|clip| files.get(&clip.media.0).copied());
    let all = streams.chain(others.iter().copied());
    all.collect::<Vec<usize>>().repeat(disk.engines.max(1))
}

fn most_chunks(wait: Wait) -> usize {
    match wait {
        Wait::Never => usize::MAX,
        Wait::ForTheDisk => OFFLINE_CHUNKS,
    }
}

/// The length of chunks, and how many each stream has in its ring.
fn fit(settings: &Settings, channels: &[usize]) -> Result<(usize, usize), TooSmall> {
    let with = |chunk_frames| Settings { chunk_frames, ..settings.clone() };
    let ring = |chunk_frames: usize| with(chunk_frames).ring_chunks_for(channels);
    let fits = CHUNK_FRAMES.into_iter().filter_map(|frames| Some((frames, ring(frames)?)));
    let fits: Vec<(usize, usize)> = fits.collect();
    let enough = fits.iter().find(|(_, ring)| *ring >= ENOUGH_CHUNKS);
    enough.or(fits.last()).copied().ok_or_else(|| {
        let least = with(CHUNK_FRAMES[CHUNK_FRAMES.len() - 1]);
        let needs_bytes = channels.iter().map(|channels| least.stream_bytes(*channels, 2)).sum();
        TooSmall { streams: channels.len(), needs_bytes, has_bytes: settings.disk_buffer_bytes }
    })
}

/// A file that plays from the disk.
pub struct DiskFile {
    buffer: Arc<DiskBuffer>,
    storage: Arc<dyn Storage>,
    frames: u64,
    name: Option<Arc<str>>,
}

impl DiskFile {
    /// A file of `frames` frames at the buffer's rate.
    pub fn new(buffer: &Arc<DiskBuffer>, storage: Arc<dyn Storage>, frames: u64) -> DiskFile {
        DiskFile { buffer: Arc::clone(buffer), storage, frames, name: None }
    }

    /// With the name that reports have; without it they have the path. A file that was unpacked from another one has one.
    #[must_use]
    pub fn called(self, name: impl Into<Arc<str>>) -> DiskFile {
        DiskFile { name: Some(name.into()), ..self }
    }

    /// A stream of its own, from its beginning on.
    fn stream(&self) -> Result<(StreamReader, Arc<Stream>), String> {
        let DiskBuffer { preloader, ring_chunks, rate_hz, .. } = &*self.buffer;
        let storage = Arc::clone(&self.storage);
        let (stream, reader) = preloader
            .open_storage(storage, *rate_hz, *ring_chunks)
            .map_err(|error| error.to_string())?;
        match stream.info().frames == self.frames {
            true => Ok((reader, Arc::new(stream))),
            false => Err(changed(stream.path())),
        }
    }
}

impl fmt::Debug for DiskFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DiskFile").field("path", &self.storage.path()).finish_non_exhaustive()
    }
}

impl StreamedFile for DiskFile {
    fn frames(&self) -> u64 {
        self.frames
    }

    fn open(&self, first: u64, lap: Option<Range<u64>>) -> Result<ClipStream, String> {
        let (mut reader, stream) = self.stream()?;
        reader.set_loop(lap);
        reader.locate(first);
        let source = DiskSource {
            reader,
            rows: [[0.0; PIECE]; 2],
            wait: self.buffer.wait,
            waits_now: Arc::clone(&self.buffer.waits_now),
            _stream: Arc::clone(&stream),
        };
        // The buffer's threads live as long as any of its streams.
        let (wanted, _buffer) = (Mutex::default(), Arc::clone(&self.buffer));
        let handle = DiskHandle { stream, name: self.name.clone(), wanted, _buffer };
        Ok(ClipStream { source: Box::new(source), handle: Arc::new(handle) })
    }
}

fn changed(path: &Path) -> String {
    format!("{}: the file changed while the session was loaded; start again", path.display())
}

/// A clip's end of a stream. `reader` is dropped before the stream.
struct DiskSource {
    reader: StreamReader,
    rows: [[f32; PIECE]; 2],
    wait: Wait,
    /// Relaxed: it publishes nothing. Either answer is right for a block that runs.
    waits_now: Arc<AtomicBool>,
    _stream: Arc<Stream>,
}

impl ClipSource for DiskSource {
    fn read(&mut self, position: u64, frames: usize) -> StereoRef<'_> {
        let run = frames.min(PIECE);
        let [left, right] = &mut self.rows;
        let (left, right) = (&mut left[..run], &mut right[..run]);
        let rows = &mut [&mut *left, &mut *right];
        match self.wait {
            Wait::ForTheDisk => self.reader.read_waiting(position, rows),
            Wait::Never if self.waits_now.load(Relaxed) => {
                let (waits, mut begun) = (&self.waits_now, None);
                self.reader.read_while(position, rows, || goes_on(waits, &mut begun))
            }
            Wait::Never => self.reader.read(position, rows),
        };
        StereoRef { left, right }
    }

    fn rest(&mut self, position: Option<u64>) {
        if let Some(position) = position {
            self.reader.locate(position);
        }
        self.reader.service();
    }
}

/// Whether a wait that began then goes on. One that has lasted too long ends those of all clips.
fn goes_on(waits: &AtomicBool, begun: &mut Option<Instant>) -> bool {
    if begun.get_or_insert_with(Instant::now).elapsed() >= DiskBuffer::PATIENCE {
        waits.store(false, Relaxed);
    }
    waits.load(Relaxed)
}

/// A stream, for control threads.
struct DiskHandle {
    stream: Arc<Stream>,
    name: Option<Arc<str>>,
    /// What was wanted, with its position, until somebody waits for it.
    wanted: Mutex<Vec<(u64, WantedPosition)>>,
    _buffer: Arc<DiskBuffer>,
}

impl DiskHandle {
    /// Two threads may want one position. Each takes what one of them has asked for, so that none ends the other's wait.
    fn take_wanted(&self, position: u64) -> Option<WantedPosition> {
        let mut wanted = self.wanted.lock().unwrap_or_else(PoisonError::into_inner);
        let index = wanted.iter().position(|(other, _)| *other == position)?;
        Some(wanted.remove(index).1)
    }
}

impl StreamHandle for DiskHandle {
    fn want(&self, position: u64) {
        let asked = (position, self.stream.want(position));
        self.wanted.lock().unwrap_or_else(PoisonError::into_inner).push(asked);
    }

    fn wait(&self, position: u64, until: Instant) -> Result<(), String> {
        let patience = until.saturating_duration_since(Instant::now());
        let wanted = self.take_wanted(position).unwrap_or_else(|| self.stream.want(position));
        self.stream.wait(wanted, patience).map_err(|error| error.to_string())
    }

    fn is_filled(&self) -> bool {
        self.stream.is_filled()
    }

    fn not_ready(&self) -> NotReady {
        let report = self.stream.report();
        let gap = |gap: hocket_disk::Gap| StreamGap {
            position: gap.position,
            frames: gap.frames,
            cause: gap.cause,
        };
        let path = || report.path.display().to_string();
        NotReady {
            file: self.name.as_deref().map_or_else(path, Into::into),
            frames: report.not_ready_frames,
            gaps: report.gaps.into_iter().map(gap).collect(),
            not_finite: report.not_finite,
            ended: report.ended,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ring(buffer_bytes: usize, streams: usize) -> Result<(usize, usize), TooSmall> {
        fit(&Settings::new(buffer_bytes), &vec![2; streams])
    }

    #[test]
    fn chunks_become_smaller_before_a_stream_has_too_few() {
        assert_eq!(ring(256 << 20, 1), Ok((8192, 32)));
        let (chunk_frames, chunks) = ring(256 << 20, 200).unwrap();
        assert!((chunk_frames, chunks) >= (8192, 10), "{chunk_frames} {chunks}");
        let (chunk_frames, chunks) = ring(64 << 20, 200).unwrap();
        assert!(chunk_frames < 8192 && chunks >= ENOUGH_CHUNKS, "{chunk_frames} {chunks}");
    }

    #[test]
    fn what_waits_for_the_disk_reads_less_far_ahead() {
        let ahead_s = |wait| {
            let buffer = DiskBuffer::start(Settings::new(256 << 20), &[2; 4], wait, 48_000);
            buffer.unwrap().ahead_s()
        };
        let s = |chunks: usize| (8192 * chunks) as f64 / 48_000.0;
        assert_eq!([Wait::Never, Wait::ForTheDisk].map(ahead_s), [s(32), s(OFFLINE_CHUNKS)]);
    }

    #[test]
    fn a_buffer_that_is_too_small_says_what_would_do() {
        let TooSmall { streams, needs_bytes, has_bytes } = ring(1 << 20, 200).unwrap_err();
        assert_eq!((streams, has_bytes), (200, 1 << 20));
        assert!(ring(needs_bytes, 200).is_ok());
        assert!(ring(needs_bytes - 1, 200).is_err());
    }
}
