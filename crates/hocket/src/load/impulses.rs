//! Impulse responses of sessions: audio files that an effect plays sound through.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use hocket_convolution::{Impulse, ImpulseError, KIND, PARAMS, effect, flops_per_frame};
use hocket_dsp::Processor;
use hocket_engine::EffectSource;
use hocket_media::{Audio, MediaError};
use hocket_plan::{Effect, FileRefusal, ParamSpec};

use super::stamp::Stamp;

/// The most memory for all responses together.
const MAX_BYTES: u64 = 1 << 30;
/// The longest response. Halls last 10 seconds.
const MAX_S: f64 = 30.0;
/// How much more of a compressed file is decoded before it counts as too long: encoders add silence at both ends, which
/// nobody hears.
const MARGIN_S: f64 = 1.0;

/// The files that were read: each once, and once more per sample rate. They stay for the process, and those that were written anew
/// until there is no room for others.
#[derive(Default)]
pub(super) struct Impulses {
    files: Mutex<Files>,
}

struct Files {
    known: HashMap<Stamp, Known>,
    /// For all of them.
    most_bytes: u64,
}

struct Known {
    /// Under which it was read.
    path: PathBuf,
    audio: Arc<Audio>,
    /// By sample rate.
    ready: HashMap<u32, Arc<Impulse>>,
}

impl Known {
    fn bytes(&self) -> u64 {
        let audio = self.audio.frames() * self.audio.channels.len() * size_of::<f32>();
        audio as u64 + self.ready.values().map(|impulse| impulse.memory_bytes()).sum::<u64>()
    }

    fn is_in_use(&self) -> bool {
        let is_played = |impulse: &Arc<Impulse>| Arc::strong_count(impulse) > 1;
        Arc::strong_count(&self.audio) > 1 || self.ready.values().any(is_played)
    }
}

impl Default for Files {
    fn default() -> Files {
        Files { known: HashMap::new(), most_bytes: MAX_BYTES }
    }
}

impl Files {
    /// A file as it is, decoded when it is asked for first. What is refused is read again: it may have been repaired.
    fn audio(&mut self, path: &Path, stamp: Stamp) -> Result<Arc<Audio>, FileRefusal> {
        if let Some(known) = self.known.get(&stamp) {
            return Ok(Arc::clone(&known.audio));
        }
        let audio = Arc::new(self.decode(path)?);
        let known =
            Known { path: path.to_owned(), audio: Arc::clone(&audio), ready: HashMap::new() };
        self.known.insert(stamp, known);
        Ok(audio)
    }

    /// The response at a sample rate; `None`: at the file's own.
    fn impulse(&mut self, path: &Path, rate_hz: Option<u32>) -> Result<Arc<Impulse>, FileRefusal> {
        let failed = |source| unreadable(&MediaError::Io { path: path.to_owned(), source });
        let stamp = Stamp::of(path).map_err(failed)?;
        let audio = self.audio(path, stamp)?;
        let rate_hz = rate_hz.unwrap_or(audio.sample_rate_hz);
        let ready = self.known.get(&stamp).and_then(|known| known.ready.get(&rate_hz));
        if let Some(impulse) = ready {
            return Ok(Arc::clone(impulse));
        }
        let frames = audio.frames() as u64 * u64::from(rate_hz) / u64::from(audio.sample_rate_hz);
        self.make_room(Impulse::most_memory_bytes(frames as usize + 1, audio.channels.len()))?;
        let impulse = Arc::new(prepared(&audio, rate_hz)?);
        if let Some(known) = self.known.get_mut(&stamp) {
            known.ready.insert(rate_hz, Arc::clone(&impulse));
        }
        Ok(impulse)
    }

    /// Refuses a file that is no response, or has no room, before it takes the memory.
    fn decode(&mut self, path: &Path) -> Result<Audio, FileRefusal> {
        let facts = hocket_media::probe(path).map_err(|error| unreadable(&error))?;
        Impulse::check_channels(facts.channels).map_err(refused)?;
        refuse_long(facts.frames.unwrap_or(0), facts.sample_rate_hz)?;
        let longest = ((MAX_S + MARGIN_S) * f64::from(facts.sample_rate_hz)) as u64;
        let sample_bytes = size_of::<f32>() as u64;
        let bytes = |frames: u64| frames * facts.channels as u64 * sample_bytes;
        let has_room = self.make_room(bytes(facts.frames.unwrap_or(longest)));
        // One that does not say how long it is may be short.
        if facts.frames.is_some() {
            has_room?;
        }
        let room = self.most_bytes.saturating_sub(self.bytes()) / sample_bytes;
        let longest = longest * facts.channels as u64;
        let audio = hocket_media::decode_within(path, longest.min(room) as usize);
        let audio = audio.map_err(|error| match error {
            MediaError::TooLarge { .. } if room < longest => self.no_room(),
            MediaError::TooLarge { .. } => too_long(&format!("more than {MAX_S}")),
            error => unreadable(&error),
        })?;
        refuse_long(audio.frames() as u64, audio.sample_rate_hz)?;
        Ok(audio)
    }

    fn bytes(&self) -> u64 {
        self.known.values().map(Known::bytes).sum()
    }

    /// Forgets files that are no longer as they were read, and that no effect plays, if there is no room for so much otherwise.
    fn make_room(&mut self, bytes: u64) -> Result<(), FileRefusal> {
        if self.bytes() + bytes > self.most_bytes {
            let is_as_read =
                |stamp, known: &Known| Stamp::of(&known.path).is_ok_and(|now| now == stamp);
            self.known.retain(|stamp, known| known.is_in_use() || is_as_read(*stamp, known));
        }
        if self.bytes() + bytes <= self.most_bytes { Ok(()) } else { Err(self.no_room()) }
    }

    fn no_room(&self) -> FileRefusal {
        FileRefusal {
            cause: format!(
                "it makes the impulse responses larger than {} MiB together",
                self.most_bytes >> 20
            ),
            remedy: "use fewer or shorter ones".to_owned(),
        }
    }
}

fn unreadable(error: &MediaError) -> FileRefusal {
    FileRefusal {
        cause: format!("no impulse response: {error}"),
        remedy: "name an audio file with an impulse response".to_owned(),
    }
}

fn refused(error: ImpulseError) -> FileRefusal {
    FileRefusal { cause: error.cause, remedy: error.remedy.to_owned() }
}

fn refuse_long(frames: u64, rate_hz: u32) -> Result<(), FileRefusal> {
    let length_s = frames as f64 / f64::from(rate_hz);
    if length_s <= MAX_S { Ok(()) } else { Err(too_long(&format!("{length_s:.1}"))) }
}

fn too_long(length_s: &str) -> FileRefusal {
    FileRefusal {
        cause: format!("it lasts {length_s} s, and an impulse response at most {MAX_S} s"),
        remedy: "name an impulse response, or cut the file".to_owned(),
    }
}

/// At another rate, a response has more or fewer frames, each of which weighs less or more.
fn prepared(audio: &Audio, rate_hz: u32) -> Result<Impulse, FileRefusal> {
    if audio.sample_rate_hz == rate_hz {
        return Impulse::new(&audio.channels).map_err(refused);
    }
    let weight = (f64::from(audio.sample_rate_hz) / f64::from(rate_hz)) as f32;
    let mut converted = hocket_media::resample(audio, rate_hz);
    converted.channels.iter_mut().flatten().for_each(|sample| *sample *= weight);
    Impulse::new(&converted.channels).map_err(refused)
}

impl Impulses {
    /// At a sample rate; `None`: as it is, because whether it can be played does not depend on the rate.
    fn of(&self, effect: &Effect, rate_hz: Option<u32>) -> Result<Arc<Impulse>, FileRefusal> {
        let path = effect.file.as_deref().ok_or_else(|| FileRefusal {
            cause: format!("an effect of the kind '{KIND}' names no file"),
            remedy: "name an impulse response: file = \"...\"".to_owned(),
        })?;
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        files.impulse(path, rate_hz)
    }
}

impl EffectSource for Impulses {
    fn params(&self, kind: &str) -> Option<Vec<ParamSpec>> {
        (kind == KIND).then(|| PARAMS.iter().map(hocket_engine::param_spec).collect())
    }

    fn has_side_chain(&self, _: &str) -> bool {
        false
    }

    fn has_event_input(&self, _: &str) -> bool {
        false
    }

    fn cost(&self, effect: &Effect, rate_hz: u32) -> f64 {
        self.of(effect, Some(rate_hz)).map_or(0.0, |impulse| flops_per_frame(&impulse))
    }

    fn latency_frames(&self, _: &Effect, _: u32) -> u32 {
        0
    }

    fn build(&self, of: &Effect, rate_hz: u32) -> Result<Box<dyn Processor>, String> {
        let impulse = self.of(of, Some(rate_hz)).map_err(|FileRefusal { cause, remedy }| {
            let file = of.file.as_deref().unwrap_or(Path::new("")).display();
            format!("'{file}': {cause}; {remedy}")
        })?;
        Ok(effect(&impulse, &of.values, rate_hz))
    }

    fn kinds(&self) -> &'static [&'static str] {
        &[KIND]
    }

    fn takes_state(&self, _: &str) -> bool {
        false
    }

    fn takes_file(&self, kind: &str) -> bool {
        kind == KIND
    }

    fn check_file(&self, effect: &Effect) -> Result<(), FileRefusal> {
        self.of(effect, None).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use hocket_media::{AudioWriter, FileFormat, WavFormat};

    use super::*;

    const RATE_HZ: u32 = 8_000;

    /// A file of so many frames and channels.
    fn write(path: &Path, frames: usize, channels: u16) {
        let data = vec![0x40; frames * usize::from(channels) * 2];
        let mut bytes = b"RIFF".to_vec();
        bytes.extend((36 + data.len() as u32).to_le_bytes());
        bytes.extend(b"WAVEfmt \x10\0\0\0\x01\0");
        bytes.extend(channels.to_le_bytes());
        bytes.extend(RATE_HZ.to_le_bytes());
        bytes.extend((RATE_HZ * u32::from(channels) * 2).to_le_bytes());
        bytes.extend((channels * 2).to_le_bytes());
        bytes.extend(b"\x10\0data");
        bytes.extend((data.len() as u32).to_le_bytes());
        bytes.extend(data);
        std::fs::write(path, bytes).unwrap();
    }

    /// A FLAC file of two channels that does not say how long it is.
    fn write_endless(path: &Path, frames: usize) {
        let format = (FileFormat::Flac, WavFormat::Pcm16);
        let mut writer =
            AudioWriter::create(path, format.0, RATE_HZ, format.1, frames as u64).unwrap();
        let row = vec![0.5; frames];
        writer.write(&row, &row).unwrap();
        writer.finish().unwrap();
        let mut bytes = std::fs::read(path).unwrap();
        // The lower 36 bits of these 8 bytes.
        bytes[21] &= 0xf0;
        bytes[22..26].fill(0);
        std::fs::write(path, bytes).unwrap();
        assert_eq!(hocket_media::probe(path).unwrap().frames, None);
    }

    #[test]
    fn a_file_is_read_once_under_all_its_names_and_again_when_it_is_another() {
        let folder = tempfile::tempdir().unwrap();
        let (path, link) = (folder.path().join("a.wav"), folder.path().join("b.wav"));
        let mut files = Files::default();
        std::fs::write(&path, "no sound at all").unwrap();
        let refusal = files.impulse(&path, Some(RATE_HZ)).unwrap_err();
        assert!(refusal.cause.starts_with("no impulse response"), "{refusal:?}");
        write(&path, 500, 2);
        let one = files.impulse(&path, Some(RATE_HZ)).expect("it was repaired");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        let same = files.impulse(&link, Some(RATE_HZ)).unwrap();
        assert!(Arc::ptr_eq(&one, &same));
        write(&path, 600, 2);
        let other = files.impulse(&path, Some(RATE_HZ)).unwrap();
        assert_eq!((one.frames(), other.frames()), (500, 600));
    }

    #[test]
    fn what_is_no_response_takes_no_memory() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let mut files = Files::default();
        let mut refused = |write: &dyn Fn(&Path), words: &str| {
            write(&path);
            let refusal = files.impulse(&path, None).unwrap_err();
            assert!(refusal.cause.contains(words), "{refusal:?}");
            assert_eq!(files.bytes(), 0, "{words}");
        };
        refused(&|path| write(path, 500, 3), "has 1, 2 or 4 channels, and this has 3");
        refused(&|path| write(path, 31 * RATE_HZ as usize, 1), "it lasts 31.0 s");
        refused(&|path| write_endless(path, 40 * RATE_HZ as usize), "it lasts more than 30 s");
        write_endless(&path, 29 * RATE_HZ as usize);
        assert_eq!(files.impulse(&path, None).unwrap().frames(), 29 * RATE_HZ as usize);
    }

    #[test]
    fn what_was_written_anew_makes_room_when_nobody_plays_it() {
        let folder = tempfile::tempdir().unwrap();
        let [one, other] = ["one", "other"].map(|name| folder.path().join(name));
        let bytes = 4_000 * 2 * 4 + Impulse::most_memory_bytes(4_000, 2);
        let mut files = Files { most_bytes: 2 * bytes, ..Files::default() };
        for frames in [4_000, 3_999, 3_998, 3_997] {
            write(&one, frames, 2);
            assert_eq!(files.impulse(&one, Some(RATE_HZ)).unwrap().frames(), frames);
        }
        let played = files.impulse(&one, Some(RATE_HZ)).unwrap();
        write_endless(&other, 3_000);
        files.impulse(&other, Some(RATE_HZ)).expect("earlier ones are forgotten");
        write(&one, 3_996, 2);
        let refusal = files.impulse(&one, Some(RATE_HZ)).unwrap_err();
        assert!(refusal.cause.contains("larger than 0 MiB together"), "{refusal:?}");
        drop(played);
        files.impulse(&one, Some(RATE_HZ)).expect("nobody plays what it was before");
        assert!(files.bytes() <= files.most_bytes);
    }
}
