//! A take, as control threads see it.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use hocket_media::{WavFormat, WriteError};

use super::missing::{Missing, MissingCounts};
use crate::feeder::lock;

/// The formats that are recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TakeFormat {
    /// WAV; RF64 beyond 4 GiB.
    Wav(WavFormat),
    /// FLAC of 16 bits, up to 96 kHz and 8 channels.
    Flac16,
    /// FLAC of 24 bits, up to 96 kHz and 8 channels.
    Flac24,
}

impl TakeFormat {
    pub(crate) fn samples(self) -> WavFormat {
        match self {
            Self::Wav(samples) => samples,
            Self::Flac16 => WavFormat::Pcm16,
            Self::Flac24 => WavFormat::Pcm24,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Wav(WavFormat::Pcm16) => "wav-16",
            Self::Wav(WavFormat::Pcm24) => "wav-24",
            Self::Wav(WavFormat::Float32) => "wav-float",
            Self::Flac16 => "flac-16",
            Self::Flac24 => "flac-24",
        }
    }
}

/// What to record, and where to.
#[derive(Debug, Clone, PartialEq)]
pub struct TakeSettings {
    /// The file. It must not exist: a recording never replaces anything.
    pub path: PathBuf,
    /// How samples are stored.
    pub format: TakeFormat,
    /// Frames per second.
    pub sample_rate_hz: u32,
    /// 1 to 64.
    pub channels: usize,
    /// Where on the time line the first frame belongs. For the manifest.
    pub start_frame: u64,
    /// How many frames later than they sounded the frames arrive. For the manifest.
    pub latency_frames: u64,
    /// So many frames were left out before the first one, so that it is where it belongs. For the manifest.
    pub dropped_frames: u64,
    /// How many frames find room while the disk does not answer.
    pub ring_frames: usize,
}

impl TakeSettings {
    /// WAV with floats, from the beginning of the time line, without latency; room for 15 s: a disk that spins up, or a file
    /// system that is frozen for a snapshot, may not answer for ten.
    pub fn new(path: &Path, sample_rate_hz: u32, channels: usize) -> TakeSettings {
        TakeSettings {
            path: path.into(),
            format: TakeFormat::Wav(WavFormat::Float32),
            sample_rate_hz,
            channels,
            start_frame: 0,
            latency_frames: 0,
            dropped_frames: 0,
            ring_frames: 15 * sample_rate_hz as usize,
        }
    }
}

/// Frames of a recording that are silent because they found no room, or because nobody had them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Silence {
    /// The recording's frame at which it begins.
    pub at_frame: u64,
    /// How long it is.
    pub frames: u64,
}

/// How a take stands.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TakeStatus {
    /// Frames that were given to the system.
    pub frames: u64,
    /// Frames that are on the disk, and that the header states.
    pub safe_frames: u64,
    /// Frames of silence among them.
    pub silent_frames: u64,
    /// Frames that found no room so far. The file gets silence in their place, once the disk answers.
    pub lost_frames: u64,
    /// Frames of the input that never arrived so far ([`TakeInput::miss`](crate::TakeInput::miss),
    /// [`EventTakeInput::miss`](crate::EventTakeInput::miss)).
    pub missing_frames: u64,
    /// The recording's first frame before which some are missing.
    pub missing_at: Option<u64>,
    /// Events of a take of events that found no room so far.
    pub lost_events: u64,
    /// The take has failed, and why. The other takes go on.
    pub error: Option<String>,
    /// Since when the disk has not answered, while a write is going on.
    pub writing_since: Option<Instant>,
}

/// What became of a take.
#[derive(Debug)]
pub struct TakeReport {
    /// The file.
    pub path: PathBuf,
    /// The length of the recording in frames.
    pub frames: u64,
    /// All frames of silence that were put in.
    pub silent_frames: u64,
    /// Where they are: the first 10,000. The manifest has all.
    pub silences: Vec<Silence>,
    /// All frames of the input that never arrived. Nothing is in their place.
    pub missing_frames: u64,
    /// At how many places.
    pub missing_places: u64,
    /// The first 1,000 of these places.
    pub missing: Vec<Missing>,
    /// Samples beyond full scale that were set to full scale (integer formats only).
    pub clipped: u64,
    /// Samples that were NaN or infinite and are silent.
    pub not_finite: u64,
    /// What became of events; `None`: a take of audio.
    pub events: Option<EventsReport>,
    /// Why the recording is shorter than what was given, if it is. What is in the file is intact.
    pub error: Option<WriteError>,
}

/// What became of the events of a take.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct EventsReport {
    /// Messages in the file, the ends of notes included that sounded at its end.
    pub written: u64,
    /// Events for which MIDI files have no message: changes of parameters, clocks.
    pub left_out: u64,
    /// Events that found no room.
    pub lost: u64,
}

impl TakeReport {
    /// Of a take with nothing in it.
    pub(crate) fn nothing(path: PathBuf) -> TakeReport {
        TakeReport {
            path,
            frames: 0,
            silent_frames: 0,
            silences: Vec::new(),
            missing_frames: 0,
            missing_places: 0,
            missing: Vec::new(),
            clipped: 0,
            not_finite: 0,
            events: None,
            error: None,
        }
    }
}

/// A take, for control threads.
#[derive(Debug)]
pub struct Take {
    pub(crate) shared: Arc<TakeShared>,
}

/// Sees how a take stands, also after its end.
#[derive(Debug, Clone)]
pub struct TakeWatch {
    shared: Arc<TakeShared>,
}

impl TakeWatch {
    /// As [`Take::status`].
    pub fn status(&self) -> TakeStatus {
        self.shared.status()
    }
}

#[derive(Debug, Default)]
pub(crate) struct TakeShared {
    pub status: Mutex<TakeStatus>,
    report: Mutex<Option<TakeReport>>,
    reported: Condvar,
    /// What the input counts. Relaxed: it publishes nothing.
    lost_frames: Arc<AtomicU64>,
    lost_events: Arc<AtomicU64>,
    missing: Arc<MissingCounts>,
}

impl TakeShared {
    /// What the input of a take of events counts.
    pub fn of_events(lost_events: Arc<AtomicU64>, missing: Arc<MissingCounts>) -> TakeShared {
        TakeShared { lost_events, missing, ..TakeShared::default() }
    }

    /// What the input counts.
    pub fn new(lost_frames: Arc<AtomicU64>, missing: Arc<MissingCounts>) -> TakeShared {
        TakeShared { lost_frames, missing, ..TakeShared::default() }
    }

    fn status(&self) -> TakeStatus {
        let lost_frames = self.lost_frames.load(Relaxed);
        let lost_events = self.lost_events.load(Relaxed);
        let (missing_frames, missing_at) = (self.missing.frames(), self.missing.first_at());
        let status = lock(&self.status).clone();
        TakeStatus { lost_frames, lost_events, missing_frames, missing_at, ..status }
    }

    pub fn report(&self, report: TakeReport) {
        *lock(&self.report) = Some(report);
        self.reported.notify_all();
    }
}

impl Take {
    /// How it stands.
    ///
    /// Thread: control; never waits for the disk.
    pub fn status(&self) -> TakeStatus {
        self.shared.status()
    }

    /// Sees how it stands from beside its owner.
    pub fn watch(&self) -> TakeWatch {
        TakeWatch { shared: Arc::clone(&self.shared) }
    }

    /// Waits until everything is on the disk, which is after the drop of the [`TakeInput`](crate::TakeInput) or
    /// [`EventTakeInput`](crate::EventTakeInput), or the stop of the recorder.
    ///
    /// Thread: control.
    ///
    /// # Errors
    /// The take itself, if that took longer than `patience`: it goes on.
    pub fn finish(self, patience: Duration) -> Result<TakeReport, Take> {
        let until = Instant::now() + patience;
        let mut report = lock(&self.shared.report);
        loop {
            if let Some(report) = report.take() {
                return Ok(report);
            }
            let Some(left) = until.checked_duration_since(Instant::now()) else { break };
            let waited = self.shared.reported.wait_timeout(report, left);
            report = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        drop(report);
        Err(self)
    }
}
