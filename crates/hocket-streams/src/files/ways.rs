//! How each audio file of a session plays: in memory, from the disk as it is, or from a temporary file.

use std::ops::Range;
use std::sync::Arc;

use hocket_disk::Storage;
use hocket_engine::ClipMedia;
use hocket_engine::session::MediaId;
use hocket_media::AudioFacts;

use super::audio;
use super::conforming::Conforming;
use super::parts::{self, CHANNELS, PartialFile};
use super::{LoadError, SessionAudio, Told};
use crate::{DiskBuffer, DiskFile, LONGEST_IN_MEMORY_S, Streamable, is_worth_streaming};

/// No file has so many frames. Clips of one whose length is not known may play as many.
const ANY_LENGTH: u64 = 1 << 40;
/// An encoder adds less than that at both ends.
const ADDED_S: u32 = 1;
/// A compressed file whose length is not known has a frame for so many bytes at least: those that compress best have more.
const BYTES_A_FRAME: u64 = 2;

/// How an audio file plays.
pub(super) enum Way {
    /// As it is, from the disk.
    Stream(Streamable),
    /// Decoded into a temporary file, from which it streams.
    Conform(Conforming),
    /// What clips play of it is in memory. Whether that is too much.
    Parts(TooMuch),
    /// All of it is in memory, if it has no more than so many samples. A header that says nothing, or too little, may hide more; then it
    /// is conformed.
    Short(usize, Conforming),
    /// All of it is in memory.
    Memory,
}

/// Whether clips play more of a file than can be in memory.
pub(super) struct TooMuch(pub bool);

/// An audio file that is ready to play.
pub(super) struct Ready {
    pub audio: ReadyAudio,
    /// Of the whole file.
    pub length_s: f64,
}

/// Where its audio is.
pub(super) enum ReadyAudio {
    Memory(ClipMedia),
    /// It streams. Its storage, its length in frames, and its channels.
    Disk(Arc<dyn Storage>, u64, usize),
}

impl Ready {
    /// The channels of its streams, if it streams.
    pub fn stream_channels(&self) -> Option<usize> {
        match self.audio {
            ReadyAudio::Disk(_, _, channels) => Some(channels),
            ReadyAudio::Memory(_) => None,
        }
    }

    /// For the engine. Files that stream take part in the buffer, under this name.
    pub fn play(self, buffer: Option<&Arc<DiskBuffer>>, name: String) -> ClipMedia {
        match (self.audio, buffer) {
            (ReadyAudio::Memory(media), _) => media,
            (ReadyAudio::Disk(storage, frames, _), Some(buffer)) => {
                ClipMedia::Stream(Arc::new(DiskFile::new(buffer, storage, frames).called(name)))
            }
            (ReadyAudio::Disk(..), None) => unreachable!("what streams has a buffer"),
        }
    }
}

impl Way {
    /// The way of a file that does not stream as it is, by what its header says. So many `clips` play it.
    pub fn beside_streams(audio: &SessionAudio<'_>, id: MediaId, clips: usize) -> Way {
        let may_stream = audio.disk.buffer_bytes > 0 && clips > 0;
        let longest = u64::from(LONGEST_IN_MEMORY_S) * u64::from(audio.rate_hz);
        if let Some(file) = PartialFile::open(audio, id) {
            let frames = file.frames_at_once();
            let is_much = frames > longest && is_worth_streaming(clips, file.channels(), frames);
            return match may_stream && is_much {
                true => Way::Conform(Conforming::of_parts(file)),
                false => Way::Parts(TooMuch(file.is_too_long())),
            };
        }
        let media = &audio.loaded.session.media[id.0];
        let fits = |facts: &&AudioFacts| media.resample || facts.sample_rate_hz == audio.rate_hz;
        match audio.facts.get(&media.path).filter(|facts| may_stream && fits(facts)) {
            Some(facts) => Way::decoded_whole(audio, id, facts, clips),
            None => Way::Memory,
        }
    }

    /// The way of a file that is decoded from its beginning to its end.
    fn decoded_whole(
        audio: &SessionAudio<'_>,
        id: MediaId,
        facts: &AudioFacts,
        clips: usize,
    ) -> Way {
        let path = &audio.loaded.session.media[id.0].path;
        let bytes = std::fs::metadata(path).map_or(0, |file| file.len());
        let (from, to) = (u64::from(facts.sample_rate_hz), u64::from(audio.rate_hz));
        let converted =
            |frames: u64| (u128::from(frames) * u128::from(to) / u128::from(from)) as u64;
        let frames = converted(facts.frames.unwrap_or(bytes / BYTES_A_FRAME));
        if !is_worth_streaming(clips, facts.channels.min(CHANNELS), frames) {
            return Way::Memory;
        }
        let parts = parts::played(audio, id, ANY_LENGTH);
        let known = facts.frames.map(converted);
        let file = Conforming::of_whole(parts, facts.channels, known);
        match facts.frames {
            Some(frames) if frames > u64::from(LONGEST_IN_MEMORY_S) * from => Way::Conform(file),
            _ => Way::Short(short_samples(facts), file),
        }
    }

    /// The channels that its streams have, if its header says that it streams.
    pub fn stream_channels(&self) -> Option<usize> {
        match self {
            Way::Stream(file) => Some(file.info.channels),
            Way::Conform(file) => Some(file.channels()),
            Way::Parts(_) | Way::Short(..) | Way::Memory => None,
        }
    }

    /// Whether it takes next to no memory until it is ready, however long the file is. Then several files may go their ways at once.
    pub fn is_frugal(&self) -> bool {
        matches!(self, Way::Conform(_) | Way::Short(..))
    }

    /// Goes this way: decodes what is decoded.
    pub fn go(
        self,
        audio: &SessionAudio<'_>,
        id: MediaId,
        told: &mut Told,
    ) -> Result<Ready, LoadError> {
        match self {
            Way::Stream(file) => Ok(as_it_is(audio, id, file, told)),
            Way::Conform(file) => file.conform(audio, id, told),
            Way::Parts(_) => match PartialFile::open(audio, id) {
                Some(file) => {
                    let (parts, length_s) = file.load(audio, id, told)?;
                    let audio = ReadyAudio::Memory(ClipMedia::Parts(Arc::new(parts)));
                    Ok(Ready { audio, length_s })
                }
                // It is gone. Decoding says so.
                None => Way::Memory.go(audio, id, told),
            },
            Way::Short(most, file) => match audio::load_within(audio, id, most, told)? {
                Some(loaded) => Ok(in_memory(loaded)),
                None => file.conform(audio, id, told),
            },
            Way::Memory => audio::load(audio, id, told).map(in_memory),
        }
    }
}

/// The most samples of a file that is short enough to be in memory.
pub(super) fn short_samples(facts: &AudioFacts) -> usize {
    let frames = u64::from(LONGEST_IN_MEMORY_S + ADDED_S) * u64::from(facts.sample_rate_hz);
    frames as usize * facts.channels
}

fn as_it_is(audio: &SessionAudio<'_>, id: MediaId, file: Streamable, told: &mut Told) -> Ready {
    audio::tell_faults(audio, id, &file.info.warnings, told);
    let (frames, channels) = (file.info.frames, file.info.channels);
    Ready {
        audio: ReadyAudio::Disk(Arc::new(file.storage), frames, channels),
        length_s: frames as f64 / f64::from(audio.rate_hz),
    }
}

fn in_memory(audio: audio::AudioInMemory) -> Ready {
    let length_s = audio.length_s;
    Ready { audio: ReadyAudio::Memory(ClipMedia::Memory(audio.stereo)), length_s }
}

/// What clips play, as frames of the session's rate.
pub(super) type Parts = Vec<Range<u64>>;
