//! The files of a project: unpacked once. Audio is looked into once, and made anew for clips of another speed.

use std::collections::HashMap;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use hocket_files::{ReadError, read_bytes};
use hocket_media::{Audio, AudioFacts, WavFormat, WavWriter};
use hocket_plan::session::{Media, MediaId, Session};
use hocket_time::RATES_HZ;

use crate::ImportError;
use crate::archive::{Archive, NoMedia, check_room, io_cause};
use crate::remarks::Remarks;
use crate::stretch::{self, Knot, Pitch, Unmade};
use crate::xml::{Element, Read, Xml, child, flag};

/// Samples of a file that is made and of its source together, at most: 46 minutes each, at 48 kHz in stereo. Both are in
/// memory.
const MAX_STRETCHED_SAMPLES: u64 = 1 << 29;
/// Frames of all files that are made: six hours at 48 kHz.
const MAX_MADE_FRAMES: u64 = 1 << 30;
/// What a piece of another speed costs, in frames: the converter looks around it.
const PIECE_FRAMES: u64 = 4096;
/// Frames of all files that keep their pitch: three hours at 48 kHz. They take longer, in spectra or in the search for waves that fit.
const MAX_PITCHED_FRAMES: u64 = 1 << 29;
/// Up to this rate, a frame of theirs costs the same or less. Above, one counts for several.
const PITCHED_HZ: u64 = 48_000;
/// Bytes of all states of plug-ins: as many as a session file may name.
const MAX_STATE_BYTES: u64 = 256 << 20;
/// Sides of a session's audio.
const SIDES: usize = 2;
/// Bytes of a stereo frame of floats.
const FRAME_BYTES: u64 = 8;
/// What a file says of itself where none is there to be asked.
const PRETENDED: AudioFacts =
    AudioFacts { sample_rate_hz: 48_000, channels: 2, frames: Some(480_000) };

/// Where audio files come from.
pub(crate) enum Files {
    /// The archive of the project.
    Of(Box<Archive>),
    /// Every file is there, is a stereo file of ten seconds, and nothing looks into it: for a text without an archive.
    Pretended,
}

/// The audio files of the session.
pub(crate) struct MediaTable {
    files: Files,
    named: HashMap<(String, bool), Option<MediaId>>,
    made: HashMap<(MediaId, Pitch, Vec<u64>), Option<MediaId>>,
    media: Vec<Media>,
    spans: Vec<Range<usize>>,
    facts: Vec<AudioFacts>,
    /// The last file that others were made of: clips of one file often follow each other.
    source: Option<(MediaId, Audio)>,
    made_frames: u64,
    pitched_frames: u64,
    /// States that were unpacked; `None`: it cannot be read.
    states: HashMap<(String, bool), Option<State>>,
    state_bytes: u64,
}

/// The state of a plug-in: its file, and what is in it.
pub(crate) type State = (PathBuf, Arc<[u8]>);

/// What became of the table.
pub(crate) struct Collected {
    pub spans: Vec<Range<usize>>,
    pub facts: HashMap<PathBuf, AudioFacts>,
    /// What people call the files that were unpacked, by their paths.
    pub names: HashMap<PathBuf, String>,
    /// The sample rate of most of the project's files; `None` without one.
    pub rate_hz: Option<u32>,
}

impl MediaTable {
    pub(crate) fn new(files: Files) -> MediaTable {
        MediaTable {
            files,
            named: HashMap::new(),
            made: HashMap::new(),
            media: Vec::new(),
            spans: Vec::new(),
            facts: Vec::new(),
            source: None,
            made_frames: 0,
            pitched_frames: 0,
            states: HashMap::new(),
            state_bytes: 0,
        }
    }

    /// The file of an `<Audio>`; `None` where it cannot be played, which is remarked once per file.
    pub(crate) fn of_audio(
        &mut self,
        xml: &Xml<'_>,
        audio: &Element<'_>,
        remarks: &mut Remarks,
    ) -> Result<Option<MediaId>, ImportError> {
        let file = child(audio, "File");
        let path = file.and_then(|file| file.attribute("path"));
        let Some((file, path)) = file.zip(path) else {
            remarks.add(audio, "<Audio> without a file", "is silent");
            return Ok(None);
        };
        let key = (path.to_owned(), flag(&file, "external", false));
        if let Some(known) = self.named.get(&key) {
            return Ok(*known);
        }
        let found = match self.find(&key) {
            Ok((path, facts)) => Some(self.add(path, facts, file.range())),
            Err(NoMedia::NotPossible(text)) => return Err(ImportError::NotPossible(text)),
            Err(NoMedia::Stopped) => return Err(ImportError::Stopped),
            Err(NoMedia::Missing(cause)) => {
                let span = file.attribute_node("path").map_or(file.range(), |path| path.range());
                let what = format!("the audio file '{}' {cause}: it", shortened(path));
                remarks.add_at(span, what, "is silent");
                None
            }
        };
        self.named.insert(key, found);
        check_count(xml, audio, self.named.len() + self.made.len())?;
        Ok(found)
    }

    fn find(
        &mut self,
        (path, is_external): &(String, bool),
    ) -> Result<(PathBuf, AudioFacts), NoMedia> {
        let Files::Of(archive) = &mut self.files else {
            return Ok((PathBuf::from(format!("{}.wav", self.media.len())), PRETENDED));
        };
        let found = archive.file(path, *is_external)?;
        let broken = |cause: String| NoMedia::Missing(format!("cannot be decoded: {cause}"));
        let facts = hocket_media::probe(&found).map_err(|error| broken(error.to_string()))?;
        match RATES_HZ.contains(&facts.sample_rate_hz) {
            true => Ok((found, facts)),
            false => Err(broken(format!("{} Hz is no sample rate here", facts.sample_rate_hz))),
        }
    }

    fn add(&mut self, path: PathBuf, facts: AudioFacts, span: Range<usize>) -> MediaId {
        self.media.push(Media { path, resample: true });
        self.spans.push(span);
        self.facts.push(facts);
        MediaId(self.media.len() - 1)
    }

    /// The state that a project names.
    pub(crate) fn state(&mut self, path: &str, is_external: bool) -> Result<State, NoMedia> {
        let key = (path.to_owned(), is_external);
        if let Some(known) = self.states.get(&key) {
            let missing = || NoMedia::Missing("cannot be read".into());
            return known.clone().ok_or_else(missing);
        }
        let state = self.read_state(path, is_external);
        self.states.insert(key, state.as_ref().ok().cloned());
        state
    }

    fn read_state(&mut self, path: &str, is_external: bool) -> Result<State, NoMedia> {
        let Files::Of(archive) = &mut self.files else {
            return Err(NoMedia::Missing("is not there".into()));
        };
        let file = archive.file(path, is_external)?;
        let read = read_bytes(&file, MAX_STATE_BYTES - self.state_bytes);
        let bytes: Arc<[u8]> = match read {
            Ok(bytes) => bytes.into(),
            Err(error) => {
                archive.remove(&file);
                return Err(NoMedia::Missing(match error {
                    ReadError::Io(error) => format!("cannot be read: {}", io_cause(&error)),
                    _ => "is too large".into(),
                }));
            }
        };
        self.state_bytes += bytes.len() as u64;
        Ok((file, bytes))
    }

    /// How long a file is by its own account, in seconds.
    pub(crate) fn length_s(&self, id: MediaId) -> Option<f64> {
        let facts = self.facts.get(id.0)?;
        Some(facts.frames? as f64 / f64::from(facts.sample_rate_hz))
    }

    /// The same file with its places moved, and whether its pitch moved too; `None` where that is not possible, which is
    /// remarked.
    pub(crate) fn stretched(
        &mut self,
        xml: &Xml<'_>,
        of: MediaId,
        (knots, pitch): (&[Knot], Pitch),
        at: &Element<'_>,
        remarks: &mut Remarks,
    ) -> Result<Option<(MediaId, Pitch)>, ImportError> {
        let rate_hz = self.facts[of.0].sample_rate_hz;
        let bits = knots.iter().flat_map(|(at, content)| [at.to_bits(), content.to_bits()]);
        let bits: Vec<u64> = bits.collect();
        let pitch = pitch.possible(knots, rate_hz);
        if let Some(known) = self.made.get(&(of, pitch, bits.clone())) {
            return Ok(known.map(|made| (made, pitch)));
        }
        let frames = stretch::frames(knots, rate_hz);
        // One that is too long is not made.
        let made =
            if frames * SIDES as f64 <= MAX_STRETCHED_SAMPLES as f64 { frames as u64 } else { 0 };
        let pitched = made * u64::from(rate_hz).div_ceil(PITCHED_HZ);
        let pitch = match self.pitched_frames + pitched > MAX_PITCHED_FRAMES {
            true => Pitch::Moves,
            false => pitch,
        };
        let key = (of, pitch, bits);
        if let Some(known) = self.made.get(&key) {
            return Ok(known.map(|made| (made, pitch)));
        }
        self.pitched_frames += if pitch == Pitch::Moves { 0 } else { pitched };
        self.made_frames += made + knots.len() as u64 * PIECE_FRAMES;
        if self.made_frames > MAX_MADE_FRAMES {
            let cause = "more than six hours of warped clips";
            return Err(xml
                .error(at, cause, "render the longest ones, or split the project")
                .into());
        }
        let made = match self.make(of, (knots, pitch), remarks) {
            Ok((path, facts)) => Some(self.add(path, facts, self.spans[of.0].clone())),
            Err(NoMedia::NotPossible(text)) => return Err(ImportError::NotPossible(text)),
            Err(NoMedia::Stopped) => return Err(ImportError::Stopped),
            Err(NoMedia::Missing(cause)) => {
                remarks.add(
                    at,
                    format!("a warped clip ({cause})"),
                    "plays at its file's own speed",
                );
                None
            }
        };
        self.made.insert(key, made);
        check_count(xml, at, self.named.len() + self.made.len())?;
        Ok(made.map(|made| (made, pitch)))
    }

    fn make(
        &mut self,
        of: MediaId,
        (knots, pitch): (&[Knot], Pitch),
        remarks: &mut Remarks,
    ) -> Result<(PathBuf, AudioFacts), NoMedia> {
        let facts = self.facts[of.0];
        let frames = stretch::frames(knots, facts.sample_rate_hz);
        let source = facts.frames.unwrap_or(0).saturating_mul(facts.channels as u64);
        if frames * SIDES as f64 + source as f64 > MAX_STRETCHED_SAMPLES as f64 {
            return Err(NoMedia::Missing("it is too long to be converted in memory".into()));
        }
        let path = self.media[of.0].path.clone();
        let Files::Of(archive) = &mut self.files else {
            return Ok((PathBuf::from(format!("{}.wav", self.media.len())), PRETENDED));
        };
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        let target = archive.new_file(&format!("{stem} warped.wav"), &path);
        let folder = target.parent().unwrap_or(&target);
        let here = |cause: String| NoMedia::NotPossible(format!("{}: {cause}", target.display()));
        std::fs::create_dir_all(folder).map_err(|error| here(error.to_string()))?;
        check_room(folder, &stem, frames as u64 * FRAME_BYTES)?;
        if self.source.as_ref().is_none_or(|(known, _)| *known != of) {
            self.source = None;
            let mut decoded = hocket_media::decode(&path)
                .map_err(|error| NoMedia::Missing(format!("it cannot be decoded: {error}")))?;
            decoded.channels.truncate(SIDES);
            for fault in &decoded.warnings {
                let what = format!("the audio file '{stem}' ({fault})");
                remarks.add_at(self.spans[of.0].clone(), what, "plays as far as it can be read");
            }
            self.source = Some((of, decoded));
        }
        let Some((_, source)) = &self.source else {
            return Err(NoMedia::Missing("it is not there".into()));
        };
        let audio =
            stretch::stretched(source, knots, pitch, archive.stop()).map_err(
                |error| match error {
                    Unmade::Stopped => NoMedia::Stopped,
                    Unmade::Refused(why) => {
                        NoMedia::Missing(format!("it cannot be stretched: {why}"))
                    }
                },
            )?;
        let mut writer = WavWriter::create(&target, audio.sample_rate_hz, WavFormat::Float32)
            .map_err(|error| here(error.to_string()))?;
        if let [left, rest @ ..] = audio.channels.as_slice() {
            let right = rest.first().unwrap_or(left);
            writer.write(left, right).map_err(|error| here(error.to_string()))?;
        }
        let written = writer.finish().map_err(|error| here(error.to_string()))?;
        let facts = AudioFacts { channels: 2, frames: Some(written.frames), ..facts };
        Ok((target, facts))
    }

    /// Gives the session the files that its clips play, in the order of the clips. A file that only another one was made
    /// of is removed.
    pub(crate) fn collected(self, session: &mut Session) -> Collected {
        let mut places: HashMap<MediaId, MediaId> = HashMap::new();
        let mut order = Vec::new();
        for clip in session.tracks.iter_mut().flat_map(|track| &mut track.clips) {
            let place = *places.entry(clip.media).or_insert_with(|| {
                order.push(clip.media);
                MediaId(order.len() - 1)
            });
            clip.media = place;
        }
        session.media = order.iter().map(|id| self.media[id.0].clone()).collect();
        if let Files::Of(archive) = &self.files {
            let unused =
                (0..self.media.len()).filter(|index| !places.contains_key(&MediaId(*index)));
            unused.for_each(|index| archive.remove(&self.media[index].path));
        }
        let mut rates: HashMap<u32, usize> = HashMap::new();
        for id in &order {
            *rates.entry(self.facts[id.0].sample_rate_hz).or_default() += 1;
        }
        // Of two rates with as many files the higher one, so that the choice has no chance in it.
        let rate_hz = rates.into_iter().max_by_key(|(rate, count)| (*count, *rate));
        let names = match self.files {
            Files::Of(archive) => archive.names(),
            Files::Pretended => HashMap::new(),
        };
        let facts = |id: &MediaId| (self.media[id.0].path.clone(), self.facts[id.0]);
        Collected {
            facts: order.iter().map(facts).collect(),
            spans: order.iter().map(|id| self.spans[id.0].clone()).collect(),
            names,
            rate_hz: rate_hz.map(|(rate, _)| rate),
        }
    }
}

/// A name that somebody else chose may be of any length.
pub(crate) fn shortened(path: &str) -> String {
    path.chars().take(200).collect()
}

/// More audio files than any project has.
const MAX_FILES: usize = 20_000;

fn check_count(xml: &Xml<'_>, audio: &Element<'_>, count: usize) -> Read<()> {
    match count > MAX_FILES {
        false => Ok(()),
        true => {
            let cause = format!("more than {MAX_FILES} audio files");
            Err(xml.error(audio, cause, "split the project"))
        }
    }
}
