//! The threads that write: one for each device, so that a disk that stalls holds up only its own takes.

use std::collections::HashMap;
use std::os::unix::fs::MetadataExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use hocket_media::WriteError;
use hocket_rt::{Ring, RingReader, RingWriter};

use super::events::{EventTakeInput, EventTakeSettings};
use super::file::TakeFile;
use super::input::{Piece, SharedHand, TakeInput, memory_of, try_hand};
use super::manifest::Manifest;
use super::missing::{MissingReader, missing};
use super::take::{Silence, Take, TakeReport, TakeSettings, TakeShared};
use crate::feeder::lock;

/// So many silences are in the report; the manifest has all.
const SILENCES_KEPT: usize = 10_000;

/// How often a recorder that stops looks whether an input has copied its block.
const LOOK_FOR_INPUT: Duration = Duration::from_micros(100);

/// The shortest piece.
const LEAST_CHUNK: usize = 64;

/// A piece is not written before it is full, so at a low rate it has fewer frames.
fn chunk_frames(wanted: usize, rate_hz: u32) -> usize {
    wanted.min(rate_hz as usize / 10).max(LEAST_CHUNK)
}

/// How a recorder works.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecorderSettings {
    /// Frames per piece, at most a tenth of a second; at least 64. After a kill at most one piece that was not full is
    /// missing from memory.
    pub chunk_frames: usize,
    /// How often a thread looks for new pieces. The real-time thread cannot wake it, because that would be a system
    /// call.
    pub poll: Duration,
    /// How often samples are put on the disk and stated in the header: from the begin of one sync to the next one's.
    pub sync_every: Duration,
}

impl Default for RecorderSettings {
    /// Pieces of 4096 frames, a look every 10 ms, a sync every 0.8 s. So a power cut takes the last second at most, if
    /// a sync takes less than 0.09 s: a piece that is not full is up to 0.1 s.
    fn default() -> RecorderSettings {
        RecorderSettings {
            chunk_frames: 4096,
            poll: Duration::from_millis(10),
            sync_every: Duration::from_millis(800),
        }
    }
}

/// Writes takes, on threads of its own: `hocket-record0`, ...
///
/// The drop stops it, as [`Recorder::stop`] does.
#[derive(Debug)]
pub struct Recorder {
    settings: RecorderSettings,
    writers: Mutex<HashMap<u64, Writer>>,
}

#[derive(Debug)]
struct Writer {
    takes: Sender<Box<dyn Job>>,
    thread: JoinHandle<()>,
}

impl Recorder {
    /// A recorder. Threads start with the first take on their device.
    pub fn start(settings: RecorderSettings) -> Recorder {
        Recorder { settings, writers: Mutex::default() }
    }

    /// Begins a take: creates the file and its manifest, and puts both on the disk. Frames are written as they come.
    ///
    /// Memory: `ring_frames` frames, and 512 KiB. Thread: control; waits for the disk.
    ///
    /// # Errors
    /// The file exists or cannot be created, its format cannot hold such samples, or no thread can start. Nothing is
    /// left behind.
    pub fn begin(&self, settings: &TakeSettings) -> Result<(TakeInput, Take), WriteError> {
        let (file, manifest) = TakeFile::create(settings)?;
        let channels = settings.channels;
        let chunk_frames = chunk_frames(self.settings.chunk_frames, settings.sample_rate_hz);
        // One more is always in the hands of the input.
        let count = settings.ring_frames.div_ceil(chunk_frames).max(1) + 1;
        let pieces: Vec<Piece> = (0..count).map(|_| Piece::new(channels, chunk_frames)).collect();
        let memory = memory_of(&pieces);
        let (filled_writer, filled) = Ring::new(count + 1);
        let (mut empty, empty_reader) = Ring::new(count);
        for piece in pieces {
            let made = empty.push(piece);
            debug_assert!(made.is_ok(), "the ring is made for them");
        }
        let (missing_writer, missing) = missing();
        let kept = (missing_writer, memory);
        let input = TakeInput::new((channels, chunk_frames), filled_writer, empty_reader, kept);
        let shared = Arc::new(TakeShared::new(input.lost(), input.missing()));
        let writing = Writing {
            settings: settings.clone(),
            sync_every: self.settings.sync_every,
            filled,
            empty,
            missing,
            file,
            manifest,
            state: State::new(self.settings.sync_every),
            report: Pending::new(&settings.path, input.hand(), Arc::clone(&shared)),
        };
        let handed = self.hand_over(&settings.path, Box::new(writing));
        if handed.is_err() {
            super::file::remove(&settings.path);
        }
        handed.map(|()| (input, Take { shared }))
    }

    /// Begins a take of events: creates a MIDI file, and puts it on the disk. Events are given to the system as they come. So
    /// all that the recorder had is there after the end of the process, and what is missing in the track's length
    /// [`recover`](crate::recover()) adds.
    ///
    /// Memory: 48 bytes for each event of `room`. Thread: control; waits for the disk.
    ///
    /// # Errors
    /// The file exists or cannot be created, the song's tempos are impossible, or no thread can start. Nothing is left behind.
    pub fn begin_events(
        &self,
        settings: &EventTakeSettings,
    ) -> Result<(EventTakeInput, Take), WriteError> {
        let (input, writing, shared) = super::events::begin(settings, self.settings.sync_every)?;
        let handed = self.hand_over(&settings.path, writing);
        if handed.is_err() {
            super::midi_file::remove(&settings.path);
        }
        handed.map(|()| (input, Take { shared }))
    }

    fn hand_over(&self, path: &Path, writing: Box<dyn Job>) -> Result<(), WriteError> {
        let device = std::fs::metadata(path).map_or(0, |metadata| metadata.dev());
        let mut writers = lock(&self.writers);
        let index = writers.len();
        let writing = match writers.get(&device) {
            // A thread that has panicked takes nothing more; another one takes its place.
            Some(writer) => match writer.takes.send(writing) {
                Ok(()) => return Ok(()),
                Err(refused) => refused.0,
            },
            None => writing,
        };
        let writer = Writer::start(index, self.settings.poll)
            .map_err(|error| WriteError::io(path, error))?;
        let _ = writer.takes.send(writing);
        writers.insert(device, writer);
        Ok(())
    }

    /// Ends all takes, with every frame that was given so far, and waits until they are on the disk. Their inputs may
    /// be in use by other threads meanwhile: a [`TakeInput::write`] is either in the file as a whole or, from then on,
    /// counted as lost.
    ///
    /// Thread: control.
    pub fn stop(self) {}
}

impl Drop for Recorder {
    fn drop(&mut self) {
        for (_, Writer { takes, thread }) in lock(&self.writers).drain() {
            drop(takes);
            // A thread that panicked has said so itself, and its takes have reported it.
            let _ = thread.join();
        }
    }
}

impl Writer {
    fn start(index: usize, poll: Duration) -> std::io::Result<Writer> {
        let (takes, incoming) = channel();
        let named = std::thread::Builder::new().name(format!("hocket-record{index}"));
        let thread = named.spawn(move || run(&incoming, poll))?;
        Ok(Writer { takes, thread })
    }
}

/// A take, for the thread that writes it.
pub(super) trait Job: Send {
    /// Writes what has come; whether the take has ended. `stops`: nothing comes any more.
    fn work(&mut self, stops: bool) -> bool;
    /// Its work has panicked: it takes nothing more, and ends as at any other failure.
    fn panicked(self: Box<Self>) -> Box<dyn Job>;
    /// Closes the file, and reports.
    fn end(self: Box<Self>);
}

/// A thread's life: all takes of a device in turn.
fn run(incoming: &Receiver<Box<dyn Job>>, poll: Duration) {
    let mut takes: Vec<Box<dyn Job>> = Vec::new();
    loop {
        let stops = match incoming.recv_timeout(poll) {
            Ok(take) => {
                takes.push(take);
                false
            }
            Err(RecvTimeoutError::Timeout) => false,
            Err(RecvTimeoutError::Disconnected) => true,
        };
        let mut place = 0;
        while place < takes.len() {
            match guarded(|| takes[place].work(stops)) {
                Some(false) => place += 1,
                Some(true) => end(takes.remove(place)),
                None => end(takes.remove(place).panicked()),
            }
        }
        if stops {
            return;
        }
    }
}

/// `None`: it panicked. A panic ends the take, and no other one. Unwind safety: nothing of the take is used again but its
/// file, which states at every moment what is in it.
fn guarded<T>(work: impl FnOnce() -> T) -> Option<T> {
    catch_unwind(AssertUnwindSafe(work)).ok()
}

/// If this panics, the report that is pending says so.
fn end(take: Box<dyn Job>) {
    guarded(|| take.end());
}

/// A take while it is written.
struct Writing {
    settings: TakeSettings,
    sync_every: Duration,
    filled: RingReader<Piece>,
    empty: RingWriter<Piece>,
    missing: MissingReader,
    file: TakeFile,
    manifest: Manifest,
    state: State,
    /// Dropped last, because the files of a take that has reported are closed.
    report: Pending,
}

/// The report that a take owes. If the take goes without one, because its thread has panicked, the drop reports that.
pub(super) struct Pending {
    path: PathBuf,
    /// `None`: a take of events, whose input needs no end.
    hand: Option<SharedHand>,
    pub(super) shared: Arc<TakeShared>,
    is_made: bool,
}

impl Pending {
    fn new(path: &Path, hand: SharedHand, shared: Arc<TakeShared>) -> Pending {
        Pending { path: path.into(), hand: Some(hand), shared, is_made: false }
    }

    pub(super) fn of_events(path: &Path, shared: Arc<TakeShared>) -> Pending {
        Pending { path: path.into(), hand: None, shared, is_made: false }
    }

    pub(super) fn make(mut self, report: TakeReport) {
        self.is_made = true;
        self.shared.report(report);
    }

    /// Takes what the input has in hand. It is busy only while it copies a block, so the wait is short; it tries and
    /// sleeps, because an input that finds somebody waiting would have to wake them with a system call.
    fn end_input(&self) {
        let Some(hand) = &self.hand else { return };
        loop {
            if let Some(mut hand) = try_hand(hand) {
                return hand.end();
            }
            std::thread::sleep(LOOK_FOR_INPUT);
        }
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        if self.is_made {
            return;
        }
        self.end_input();
        let remedy =
            "please report this; `hocket recover` completes the file with what was written before";
        let error = panicked(&self.path, remedy);
        let mut status = lock(&self.shared.status);
        (status.error, status.writing_since) = (Some(error.to_string()), None);
        let (frames, silent_frames) = (status.frames, status.silent_frames);
        drop(status);
        self.shared.report(TakeReport {
            frames,
            silent_frames,
            error: Some(error),
            ..TakeReport::nothing(self.path.clone())
        });
    }
}

pub(super) fn panicked(path: &Path, remedy: &'static str) -> WriteError {
    WriteError::refused(path, "the thread that records panicked", remedy)
}

/// How far it is.
struct State {
    next_sync: Instant,
    silences: Vec<Silence>,
    silent_frames: u64,
    /// Those that the manifest does not have yet.
    unlisted: Vec<Silence>,
    /// The recording's next frame.
    frame: u64,
    is_ended: bool,
    error: Option<WriteError>,
}

impl State {
    fn new(sync_every: Duration) -> State {
        State {
            next_sync: Instant::now() + sync_every,
            silences: Vec::new(),
            silent_frames: 0,
            unlisted: Vec::new(),
            frame: 0,
            is_ended: false,
            error: None,
        }
    }
}

impl Job for Writing {
    fn work(&mut self, stops: bool) -> bool {
        if stops {
            self.report.end_input();
        }
        lock(&self.report.shared.status).writing_since = Some(Instant::now());
        while let Some(piece) = self.filled.pop() {
            self.take(piece);
        }
        // Behind the pieces, because the input adds a place before the piece behind it.
        self.missing.look();
        if stops || self.state.is_ended {
            return true;
        }
        let now = Instant::now();
        if now >= self.state.next_sync {
            // Before the sync, because what comes while the disk is slow is not on it.
            self.state.next_sync = now + self.sync_every;
            self.sync();
        }
        self.publish(None);
        false
    }

    fn panicked(mut self: Box<Self>) -> Box<dyn Job> {
        self.report.end_input();
        let remedy = "please report this; the file holds what was written before";
        self.state.error = Some(panicked(&self.settings.path, remedy));
        guarded(|| self.file.settle());
        self
    }

    /// Closes the files before it reports: then they may be moved, and what is removed has left the disk.
    fn end(mut self: Box<Self>) {
        self.missing.look();
        self.list_in_manifest();
        if self.state.error.is_none() {
            let finished = self.file.finish().and_then(|()| self.file.check_name());
            self.fail_on(finished);
        }
        let Writing { settings, report, file, mut manifest, state, missing, .. } = *self;
        let text = state.error.as_ref().map(ToString::to_string);
        let (missing_frames, missing_places) =
            (missing.counts().frames(), missing.counts().places());
        let _ = manifest.end(file.frames(), missing_frames, text.as_deref());
        file.release();
        let written = file.written();
        drop((file, manifest));
        let mut status = lock(&report.shared.status);
        (status.frames, status.safe_frames) = (written.frames, written.frames);
        (status.silent_frames, status.error, status.writing_since) =
            (state.silent_frames, text, None);
        drop(status);
        report.make(TakeReport {
            path: settings.path,
            frames: written.frames,
            silent_frames: state.silent_frames,
            silences: state.silences,
            missing_frames,
            missing_places,
            missing: missing.into_places(),
            clipped: written.clipped,
            not_finite: written.not_finite,
            events: None,
            error: state.error,
        });
    }
}

impl Writing {
    fn take(&mut self, piece: Piece) {
        if self.state.error.is_none() {
            let written = self.write(&piece);
            self.fail_on(written);
        }
        self.state.is_ended |= piece.is_last;
        if !piece.is_last {
            let given = self.empty.push(piece);
            debug_assert!(given.is_ok(), "there are more pieces than were made");
        }
    }

    fn write(&mut self, piece: &Piece) -> Result<(), WriteError> {
        if piece.silence_before > 0 {
            self.list(piece.silence_before);
            self.file.push_silence(piece.silence_before)?;
        }
        self.state.frame += piece.silence_before + piece.frames as u64;
        self.file.push(piece.interleaved())
    }

    fn list(&mut self, frames: u64) {
        let silence = Silence { at_frame: self.state.frame, frames };
        self.state.silent_frames += frames;
        self.state.unlisted.push(silence);
        if self.state.silences.len() < SILENCES_KEPT {
            self.state.silences.push(silence);
        }
    }

    fn sync(&mut self) {
        self.list_in_manifest();
        if self.state.error.is_none() {
            let synced = self.file.sync();
            let is_safe = synced.is_ok();
            self.fail_on(synced);
            if is_safe {
                self.publish(Some(self.file.frames()));
            }
        }
    }

    /// A manifest that cannot be written does not end the take: the report has the silences too.
    fn list_in_manifest(&mut self) {
        let unlisted = std::mem::take(&mut self.state.unlisted);
        if !unlisted.is_empty() {
            let _ = self.manifest.add(&unlisted).and_then(|()| self.manifest.sync());
        }
        let missing = self.missing.unlisted();
        if !missing.is_empty() {
            let _ = self.manifest.add_missing(missing).and_then(|()| self.manifest.sync());
        }
    }

    /// The take ends at its first failure, alone, and what is written stays.
    fn fail_on(&mut self, result: Result<(), WriteError>) {
        if let Err(error) = result {
            self.file.settle();
            self.state.error = Some(error);
        }
    }

    fn publish(&self, safe_frames: Option<u64>) {
        let mut status = lock(&self.report.shared.status);
        status.frames = self.file.frames();
        status.safe_frames = safe_frames.unwrap_or(status.safe_frames);
        status.silent_frames = self.state.silent_frames;
        status.error = self.state.error.as_ref().map(ToString::to_string);
        status.writing_since = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_power_cut_takes_the_last_second_at_most_at_every_rate() {
        let RecorderSettings { chunk_frames: wanted, poll, sync_every } =
            RecorderSettings::default();
        for rate_hz in [8_000, 44_100, 48_000, 192_000, hocket_media::MAX_SAMPLE_RATE_HZ] {
            let piece_s = chunk_frames(wanted, rate_hz) as f64 / f64::from(rate_hz);
            let lost_s = sync_every.as_secs_f64() + poll.as_secs_f64() + piece_s;
            assert!(lost_s <= 0.91, "{rate_hz} Hz: {lost_s} s");
        }
        assert_eq!(chunk_frames(0, 48_000), LEAST_CHUNK);
    }

    #[test]
    fn a_take_that_goes_with_its_thread_reports_that_and_gives_no_more_room() {
        let path = Path::new("a.wav");
        let (filled, _filled_reader) = Ring::new(2);
        let (mut empty, empty_reader) = Ring::new(1);
        let _ = empty.push(Piece::new(1, 64));
        let mut input = TakeInput::new((1, 64), filled, empty_reader, (missing().0, Vec::new()));
        let shared = Arc::new(TakeShared::default());
        let take = super::super::take::Take { shared: Arc::clone(&shared) };
        drop(Pending::new(path, input.hand(), shared));
        assert_eq!(input.write_waiting(&[&[0.5; 8]], Duration::MAX), 0);
        let stands = take.status().error.unwrap();
        let error = take.finish(Duration::ZERO).unwrap().error.unwrap().to_string();
        assert_eq!(error, stands);
        assert!(error.contains("panicked") && error.contains("hocket recover"), "{error}");
    }
}
