//! Long audio files that cannot stream as they are: decoded into temporary files, if the disk has room for them.

use std::fs::File;
use std::path::{Path, PathBuf};

use hocket_engine::session::MediaId;
use hocket_files::readable;
use hocket_media::{PartDecoder, WriteError};

use super::audio::{tell_faults, tell_not_finite, unreadable};
use super::parts::{CHANNELS, PartialFile, all_faults};
use super::ways::{Parts, Ready, ReadyAudio, Way};
use super::{LoadError, SessionAudio, Told};
use crate::{Conform, ConformError};

/// What helps where a temporary file finds no room.
const ROOM: &str = "set TMPDIR to a folder with more room, or give its clips a length_s";

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
        let folder = folder();
        let out = temporary_file(audio, id, &folder)?;
        let conform = Conform { path, rate_hz, parts: &self.parts };
        let direct = self.is_direct.then(|| PartDecoder::open(path, rate_hz).ok()).flatten();
        let direct = direct.flatten().filter(PartDecoder::is_independent);
        let is_in_parts = direct.is_some();
        let file = match direct {
            Some(decoder) => conform.in_parts(decoder, out),
            None => conform.whole(out),
        };
        let file = file.map_err(|error| failure(audio, id, &folder, error))?;
        let faults =
            if is_in_parts && audio.disk.strict { all_faults(path) } else { Ok(file.warnings) };
        let faults = faults.map_err(|error| unreadable(audio, id, &error))?;
        tell_faults(audio, id, &faults, told);
        tell_not_finite(audio, id, file.not_finite, told);
        let played_s = file.written_frames as f64 / f64::from(rate_hz);
        told.details.push(format!(
            "{}: plays from the disk, decoded into {}: {} Hz, channels: {}, {played_s:.2} s of {:.2} s",
            audio.name_of(id),
            folder.display(),
            file.rate_of_file_hz,
            file.channels_of_file,
            file.length_s,
        ));
        let ready = ReadyAudio::Disk(file.storage, file.frames, file.channels);
        Ok(Ready { audio: ready, length_s: file.length_s })
    }
}

/// Where temporary audio is written: the folder that TMPDIR names. Without it, the folder for temporary files, or `/var/tmp` where that
/// one is held in memory.
fn folder() -> PathBuf {
    match std::env::var_os("TMPDIR") {
        Some(named) if !named.is_empty() => std::env::temp_dir(),
        _ => hocket_files::folder_on_disk(),
    }
}

/// A new file that has no name, or loses it at once on file systems that know no files without one.
fn temporary_file(audio: &SessionAudio<'_>, id: MediaId, folder: &Path) -> Result<File, LoadError> {
    tempfile::tempfile_in(folder).map_err(|error| {
        let why = WriteError::io(folder, error).cause;
        let cause = format!("no temporary file for it can be made in {}: {why}", folder.display());
        let remedy = "set TMPDIR to a folder that you may write to";
        LoadError::not_possible(audio.loaded.media_error(id, &cause, remedy))
    })
}

fn failure(audio: &SessionAudio<'_>, id: MediaId, folder: &Path, error: ConformError) -> LoadError {
    match error {
        ConformError::Media(error) => unreadable(audio, id, &error),
        ConformError::Open(error) => LoadError::Disk(error),
        ConformError::Write(error) => {
            let why = WriteError::io(folder, error).cause;
            let folder = folder.display();
            let cause = format!("its temporary file in {folder} cannot be written: {why}");
            LoadError::not_possible(audio.loaded.media_error(id, &cause, ROOM))
        }
    }
}

/// Refuses what the disk has no room for, as far as headers say how long files are, before anything is decoded.
///
/// # Errors
/// Less room than is needed.
pub(super) fn check_room(audio: &SessionAudio<'_>, ways: &[Way]) -> Result<(), LoadError> {
    let bytes_of = |(index, way): (usize, &Way)| match way {
        Way::Conform(file) => file.bytes.map(|bytes| (bytes, MediaId(index))),
        _ => None,
    };
    let all: Vec<(u64, MediaId)> = ways.iter().enumerate().filter_map(bytes_of).collect();
    let Some((most, largest)) = all.iter().max_by_key(|(bytes, _)| *bytes) else { return Ok(()) };
    let needed = all.iter().fold(0u64, |sum, (bytes, _)| sum.saturating_add(*bytes));
    let folder = folder();
    let Ok(disk) = rustix::fs::statvfs(&folder) else { return Ok(()) };
    let free = disk.f_bavail.saturating_mul(disk.f_frsize);
    if needed <= free {
        return Ok(());
    }
    let others = match all.len() - 1 {
        0 => String::new(),
        1 => format!(", and with one more file {}", readable(needed)),
        more => format!(", and with {more} more files {}", readable(needed)),
    };
    let cause = format!(
        "decoded, it takes {} in {}{others}; {} are free",
        readable(*most),
        folder.display(),
        readable(free)
    );
    Err(LoadError::not_possible(audio.loaded.media_error(*largest, &cause, ROOM)))
}
