//! Audio files that play once, from their start, with all their channels: at an input of a session, and into a plug-in.

use std::path::{Path, PathBuf};
use std::slice;
use std::sync::Arc;

use hocket_disk::Storage;
use hocket_engine::StreamHandle;
use hocket_media::{Audio, AudioFacts, MAX_SAMPLES, MediaError, silence_not_finite};

use super::audio::lack_of_memory;
use super::temporary::{self, NotMade, ROOM, WRITABLE};
use super::{LoadError, Told, Words, limits};
use crate::rows::mean;
use crate::{Conform, DiskBuffer, DiskFile, DiskUse, LONGEST_IN_MEMORY_S, RowsReader, Streamable};

/// What all such files of a command have in common.
#[derive(Debug, Clone, Copy)]
pub struct Wholes<'w> {
    /// The engine's rate; `None`: the file's own.
    pub rate_hz: Option<u32>,
    /// Nothing plays from this frame on, at the engine's rate. It is not converted.
    pub until: u64,
    /// Whether and how long files play from the disk.
    pub disk: DiskUse,
    /// How messages name what decides.
    pub words: &'w Words,
}

/// A file of which the header was read, and how it is to play.
pub struct WholeFile {
    path: PathBuf,
    /// What messages call it.
    name: String,
    /// It plays on so many channels.
    channels: usize,
    rate_hz: u32,
    facts: AudioFacts,
    way: Way,
    until: u64,
    disk: DiskUse,
    words: Words,
}

enum Way {
    Stream(Box<Streamable>),
    /// From a temporary file.
    Conform,
    /// In memory, if it has no more samples than that. A header that says nothing, or too little, may hide more.
    Memory(usize),
}

/// A file that is ready to play.
pub struct WholeAudio {
    /// The rate at which it plays.
    pub rate_hz: u32,
    /// All of its frames, at that rate.
    pub frames: u64,
    sound: Sound,
    channels: usize,
}

enum Sound {
    Memory(Arc<[Vec<f32>]>),
    /// Where it streams from, how many channels that has, and what reports call it.
    Disk(Arc<dyn Storage>, usize, PathBuf),
}

/// What is said of a file in memory that is longer.
const TOO_LONG: &str = "samples of audio, which are decoded in memory";

impl WholeFile {
    /// Looks into a file's header. Messages call it `name`. It plays on `channels` channels, 1 at least.
    ///
    /// Thread: control; reads some kilobytes.
    ///
    /// # Errors
    /// A file that cannot be read, or is too long to be in memory and may not stream.
    pub fn open(
        path: &Path,
        name: String,
        channels: usize,
        how: &Wholes<'_>,
    ) -> Result<WholeFile, LoadError> {
        let facts = hocket_media::probe(path).map_err(|error| unreadable(&name, path, &error))?;
        let rate_hz = how.rate_hz.unwrap_or(facts.sample_rate_hz);
        let Wholes { until, disk, words, .. } = *how;
        let (path, way) = (path.to_owned(), way(path, &facts, rate_hz, &disk));
        let words = *words;
        let file = WholeFile { path, name, channels, rate_hz, facts, way, until, disk, words };
        match &file.way {
            Way::Memory(_) if limits::is_long(&file.facts) => Err(file.too_long()),
            _ => Ok(file),
        }
    }

    /// The channels of its stream, if its header says that it streams.
    pub fn stream_channels(&self) -> Option<usize> {
        match &self.way {
            Way::Stream(file) => Some(file.info.channels),
            Way::Conform => Some(self.channels_read()),
            Way::Memory(_) => None,
        }
    }

    /// What its temporary file takes of the disk, as far as its header says how long it is.
    pub(super) fn bytes(&self) -> Option<u64> {
        let Way::Conform = self.way else { return None };
        let (from, to) = (u128::from(self.facts.sample_rate_hz), u128::from(self.rate_hz));
        let frames = (u128::from(self.facts.frames?) * to / from.max(1)) as u64;
        let played = 0..self.until;
        Some(Conform::bytes(slice::from_ref(&played), frames, self.channels_read()))
    }

    /// Of a file with several, one channel is the mean of the first two.
    fn channels_read(&self) -> usize {
        self.channels.max(2).min(self.facts.channels).max(1)
    }

    /// Decodes what is not read while it plays: into memory, or into a temporary file.
    ///
    /// Thread: control; reads and writes files.
    ///
    /// # Errors
    /// A file that cannot be decoded; no memory, or no room for a temporary file.
    pub fn load(self, told: &mut Told) -> Result<WholeAudio, LoadError> {
        match &self.way {
            Way::Stream(file) => {
                self.tell_faults(&file.info.warnings, told);
                let (storage, info) = (Arc::new(file.storage.clone()), &file.info);
                let length_s = info.frames as f64 / f64::from(self.rate_hz);
                self.tell(&format!("plays from the disk: {length_s:.2} s"), told);
                Ok(self.streams(storage, info.frames, info.channels))
            }
            Way::Conform => self.conform(told),
            Way::Memory(most) => match hocket_media::decode_within(&self.path, *most) {
                Ok(decoded) => self.in_memory(decoded, told),
                Err(MediaError::TooLarge { .. }) if self.disk.buffer_bytes > 0 => {
                    self.conform(told)
                }
                Err(MediaError::TooLarge { .. }) => Err(self.too_long()),
                Err(error) => Err(self.unreadable(&error)),
            },
        }
    }

    fn conform(&self, told: &mut Told) -> Result<WholeAudio, LoadError> {
        let played = 0..self.until;
        let conform = Conform {
            path: &self.path,
            rate_hz: self.rate_hz,
            parts: slice::from_ref(&played),
            channels: self.channels_read(),
        };
        let is_converted = self.facts.sample_rate_hz != self.rate_hz;
        let made = temporary::make(conform, is_converted, self.disk.strict);
        let file = made.map_err(|error| match error {
            NotMade::Media(error) => self.unreadable(&error),
            NotMade::Disk(error) => LoadError::Disk(error),
            NotMade::Folder(cause) => self.not_possible(&format!("{cause}; {WRITABLE}")),
            NotMade::Room(cause) => self.no_room(&cause),
        })?;
        self.tell_faults(&file.warnings, told);
        self.tell_not_finite(file.not_finite, told);
        let folder = temporary::folder();
        let played_s = file.written_frames as f64 / f64::from(self.rate_hz);
        let how = format!(
            "plays from the disk, decoded into {}: {played_s:.2} s of {:.2} s",
            folder.display(),
            file.length_s
        );
        self.tell(&how, told);
        Ok(self.streams(file.storage, file.frames, file.channels))
    }

    fn streams(&self, storage: Arc<dyn Storage>, frames: u64, channels: usize) -> WholeAudio {
        let sound = Sound::Disk(storage, channels, self.path.clone());
        WholeAudio { rate_hz: self.rate_hz, frames, sound, channels: self.channels }
    }

    fn in_memory(&self, decoded: Audio, told: &mut Told) -> Result<WholeAudio, LoadError> {
        self.tell_faults(&decoded.warnings, told);
        let mut decoded = decoded;
        decoded.channels.truncate(self.channels_read());
        let all = (decoded.length_s() * f64::from(self.rate_hz)).ceil() as u64;
        let frames = usize::try_from(all.min(self.until)).unwrap_or(usize::MAX);
        let is_converted = decoded.sample_rate_hz != self.rate_hz;
        if is_converted
            && let Some(cause) = lack_of_memory(frames, decoded.channels.len(), self.rate_hz)
        {
            let remedy = "convert the file before, or choose a lower rate";
            return Err(self.not_possible(&format!("{cause}; {remedy}")));
        }
        let length_s = decoded.length_s();
        let audio = match is_converted {
            true => hocket_media::resample_beginning(&decoded, self.rate_hz, frames),
            false => decoded,
        };
        self.tell(&format!("in memory: {length_s:.2} s"), told);
        let mut rows = audio.channels;
        let not_finite = rows.iter_mut().map(|row| silence_not_finite(row)).sum();
        self.tell_not_finite(not_finite, told);
        if self.channels == 1
            && let [left, right, ..] = &mut rows[..]
        {
            mean(left, right);
            rows.truncate(1);
        }
        let converted = rows.first().map_or(0, Vec::len) as u64;
        let frames = if is_converted && all > self.until { all } else { converted };
        let sound = Sound::Memory(rows.into());
        Ok(WholeAudio { rate_hz: self.rate_hz, frames, sound, channels: self.channels })
    }

    /// Tells a detail.
    fn tell(&self, how: &str, told: &mut Told) {
        let (name, rate_hz, channels) =
            (&self.name, self.facts.sample_rate_hz, self.facts.channels);
        told.details.push(format!("{name}: {how}, {rate_hz} Hz, channels: {channels}"));
    }

    fn tell_faults(&self, faults: &[String], told: &mut Told) {
        let name = &self.name;
        for fault in faults {
            told.warnings.push(format!("{name}: {fault}; what can be read is played"));
            let leave_out =
                self.words.refuse_damaged.map(|option| format!(", or leave out {option}"));
            let leave_out = leave_out.unwrap_or_default();
            told.damaged.push(format!("{name}: {fault}; replace the file{leave_out}"));
        }
    }

    fn tell_not_finite(&self, count: u64, told: &mut Told) {
        if count > 0 {
            let name = &self.name;
            told.warnings
                .push(format!("{name}: {count} samples are not finite numbers; they are silent"));
        }
    }

    fn not_possible(&self, why: &str) -> LoadError {
        LoadError::NotPossible(format!("{}: {why}", self.name))
    }

    pub(super) fn no_room(&self, cause: &str) -> LoadError {
        self.not_possible(&format!("{cause}; {ROOM}, or cut the file"))
    }

    fn unreadable(&self, error: &MediaError) -> LoadError {
        unreadable(&self.name, &self.path, error)
    }

    fn too_long(&self) -> LoadError {
        let (name, stream) = (&self.name, self.words.stream);
        LoadError::BadInput(format!(
            "{name}: more than {MAX_SAMPLES} {TOO_LONG}; play it from the disk: {stream}, or cut the file"
        ))
    }
}

fn unreadable(name: &str, path: &Path, error: &MediaError) -> LoadError {
    // An error of a file names its path by itself.
    match name == path.display().to_string() {
        true => LoadError::BadInput(error.to_string()),
        false => LoadError::BadInput(format!("{name}: {error}")),
    }
}

fn way(path: &Path, facts: &AudioFacts, rate_hz: u32, disk: &DiskUse) -> Way {
    if disk.buffer_bytes == 0 {
        return Way::Memory(MAX_SAMPLES);
    }
    if let Some(file) = Streamable::open(path, rate_hz, disk.strict) {
        return Way::Stream(Box::new(file));
    }
    let longest = u64::from(LONGEST_IN_MEMORY_S) * u64::from(facts.sample_rate_hz);
    match facts.frames {
        Some(frames) if frames > longest => Way::Conform,
        _ => Way::Memory(super::ways::short_samples(facts)),
    }
}

impl WholeAudio {
    /// The channels of its stream, if it streams.
    pub fn stream_channels(&self) -> Option<usize> {
        match &self.sound {
            Sound::Disk(_, channels, _) => Some(*channels),
            Sound::Memory(_) => None,
        }
    }

    /// Opens it once more from its start, for one processor. A file that streams takes part in the buffer; its handle is for control
    /// threads.
    ///
    /// Thread: control.
    ///
    /// # Errors
    /// Why it cannot be opened, with its name; also without a buffer where it streams.
    pub fn open(
        &self,
        buffer: Option<&Arc<DiskBuffer>>,
    ) -> Result<(RowsReader, Option<Arc<dyn StreamHandle>>), String> {
        match (&self.sound, buffer) {
            (Sound::Memory(rows), _) => Ok((RowsReader::of_memory(Arc::clone(rows)), None)),
            (Sound::Disk(storage, _, path), Some(buffer)) => {
                let file = DiskFile::new(buffer, Arc::clone(storage), self.frames);
                let name = path.display().to_string();
                let (reader, handle) = file.called(name).open_rows(self.channels)?;
                Ok((reader, Some(handle)))
            }
            (Sound::Disk(_, _, path), None) => {
                Err(format!("{}: there is no disk buffer to play it from", path.display()))
            }
        }
    }
}
