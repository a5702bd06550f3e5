//! Long audio files that cannot stream as they are: decoded into temporary files, if the disk has room for them.

use hocket_engine::session::MediaId;

use super::audio::{tell_faults, tell_not_finite, unreadable};
use super::parts::{CHANNELS, PartialFile};
use super::temporary::{self, NotMade, ROOM, WRITABLE};
use super::ways::{Parts, Ready, ReadyAudio, Way};
use super::whole::WholeFile;
use super::{LoadError, SessionAudio, Told};
use crate::Conform;

/// A file that is to be conformed, and what of it. Nothing of it is open.
pub(super) struct Conforming {
    parts: Parts,
    channels: usize,
    /// What it takes of the disk, if its header says how long it is.
    bytes: Option<u64>,
    /// Whether it can be read from any position, and is converted.
    is_direct: bool,
}

impl Conforming {
    /// A file that can be read from any position, and is converted.
    pub fn of_parts(file: PartialFile) -> Conforming {
        let channels = file.channels();
        let (parts, bytes) = file.into_parts();
        Conforming { parts, channels, bytes: Some(bytes), is_direct: true }
    }

    /// A file that is decoded from its beginning; `frames` at the session's rate are known of its header.
    pub fn of_whole(parts: Parts, channels: usize, frames: Option<u64>) -> Conforming {
        let channels = channels.min(CHANNELS);
        let bytes = frames.map(|frames| Conform::bytes(&parts, frames, channels));
        Conforming { parts, channels, bytes, is_direct: false }
    }

    /// How many channels its streams have.
    pub fn channels(&self) -> usize {
        self.channels
    }

    /// Decodes it into a temporary file.
    ///
    /// # Errors
    /// A file that cannot be decoded, or a temporary file that cannot be made or written.
    pub fn conform(
        self,
        audio: &SessionAudio<'_>,
        id: MediaId,
        told: &mut Told,
    ) -> Result<Ready, LoadError> {
        let (path, rate_hz) = (&audio.loaded.session.media[id.0].path, audio.rate_hz);
        let conform = Conform { path, rate_hz, parts: &self.parts, channels: CHANNELS };
        let made = temporary::make(conform, self.is_direct, audio.disk.strict);
        let file = made.map_err(|error| failure(audio, id, error))?;
        tell_faults(audio, id, &file.warnings, told);
        tell_not_finite(audio, id, file.not_finite, told);
        let played_s = file.written_frames as f64 / f64::from(rate_hz);
        told.details.push(format!(
            "{}: plays from the disk, decoded into {}: {} Hz, channels: {}, {played_s:.2} s of {:.2} s",
            audio.name_of(id),
            temporary::folder().display(),
            file.rate_of_file_hz,
            file.channels_of_file,
            file.length_s,
        ));
        let ready = ReadyAudio::Disk(file.storage, file.frames, file.channels);
        Ok(Ready { audio: ready, length_s: file.length_s })
    }
}

fn failure(audio: &SessionAudio<'_>, id: MediaId, error: NotMade) -> LoadError {
    match error {
        NotMade::Media(error) => unreadable(audio, id, &error),
        NotMade::Disk(error) => LoadError::Disk(error),
        NotMade::Folder(cause) => {
            LoadError::not_possible(audio.loaded.media_error(id, &cause, WRITABLE))
        }
        NotMade::Room(cause) => no_room(audio, id, &cause),
    }
}

fn no_room(audio: &SessionAudio<'_>, id: MediaId, cause: &str) -> LoadError {
    let remedy = format!("{ROOM}, or give its clips a length_s");
    LoadError::not_possible(audio.loaded.media_error(id, cause, &remedy))
}

/// Who takes room.
enum Who<'f> {
    Clips(MediaId),
    Whole(&'f WholeFile),
}

/// Refuses what the disk has no room for, as far as headers say how long files are, before anything is decoded.
///
/// # Errors
/// Less room than is needed.
pub(super) fn check_room(
    audio: &SessionAudio<'_>,
    ways: &[Way],
    others: &[WholeFile],
) -> Result<(), LoadError> {
    let of_clips = ways.iter().enumerate().filter_map(|(index, way)| match way {
        Way::Conform(file) => Some((file.bytes?, Who::Clips(MediaId(index)))),
        _ => None,
    });
    let others = others.iter().filter_map(|file| Some((file.bytes()?, Who::Whole(file))));
    let all: Vec<(u64, Who<'_>)> = of_clips.chain(others).collect();
    match temporary::lack_of_room(&all) {
        Some((Who::Clips(id), cause)) => Err(no_room(audio, *id, &cause)),
        Some((Who::Whole(file), cause)) => Err(file.no_room(&cause)),
        None => Ok(()),
    }
}
