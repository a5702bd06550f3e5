//! An audio file of a session, at the session's rate and all of it in memory; and what is said of any.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use hocket_engine::StereoAudio;
use hocket_engine::session::MediaId;
use hocket_media::{Audio, AudioFacts, MAX_SAMPLES, MediaError};
use hocket_session::{MediaRefusal, MediaUse};

use super::limits;
use super::{LoadError, SessionAudio, Told, Words};
use crate::{LONGEST_IN_MEMORY_S, Streamable};

/// An audio file in memory.
pub(super) struct AudioInMemory {
    pub stereo: Arc<StereoAudio>,
    /// Of the whole file, also where only its beginning was converted.
    pub length_s: f64,
}

/// A file that can stream, as its header seemed before. `None`: decode it.
pub(super) fn streamable(
    audio: &SessionAudio<'_>,
    path: &Path,
    facts: Option<&AudioFacts>,
) -> Option<Streamable> {
    let longest = u64::from(LONGEST_IN_MEMORY_S) * u64::from(audio.rate_hz);
    let facts = facts.filter(|facts| facts.sample_rate_hz == audio.rate_hz)?;
    facts.frames.filter(|frames| *frames > longest)?;
    Streamable::open(path, audio.rate_hz, audio.disk.strict)
}

/// Tells what is wrong with a file that can be played.
pub(super) fn tell_faults(
    audio: &SessionAudio<'_>,
    id: MediaId,
    faults: &[String],
    told: &mut Told,
) {
    let replace = if is_packed(audio, id) { EXPORT } else { "replace the file" };
    let name = place(audio, id);
    let refuse =
        audio.words.refuse_damaged.map(|option| format!(", or refuse such files with {option}"));
    let refuse = refuse.unwrap_or_default();
    for fault in faults {
        told.damaged.push(damage(audio, id, fault));
        told.warnings
            .push(format!("{name}: {fault}; what can be read is played; {replace}{refuse}"));
    }
}

/// What refuses a damaged file.
fn damage(audio: &SessionAudio<'_>, id: MediaId, fault: &str) -> String {
    let leave_out = match audio.words.refuse_damaged {
        Some(option) => format!(", or leave out {option} to play what can be read"),
        None => String::new(),
    };
    let replace = match is_packed(audio, id) {
        false => "replace the file",
        true if leave_out.is_empty() => EXPORT,
        true => "replace the file in the program that wrote the project and export it again",
    };
    audio.loaded.media_error(id, fault, &format!("{replace}{leave_out}")).to_string()
}

/// The file, and where the session names it.
fn place(audio: &SessionAudio<'_>, id: MediaId) -> String {
    let place = audio.loaded.locate(id);
    let (file, line, column) = (place.file.display(), place.line, place.column);
    format!("{file}:{line}:{column}: {}", audio.name_of(id))
}

/// Whether a file is in a project, where nobody repairs it.
fn is_packed(audio: &SessionAudio<'_>, id: MediaId) -> bool {
    audio.loaded.names().contains_key(&audio.loaded.session.media[id.0].path)
}

/// What to do with a file that cannot be decoded.
const REPAIR: &str = "repair or replace the file";
/// The same of a file in a project.
const EXPORT: &str = "replace the file in the program that wrote the project, and export it again";

/// What is wrong with a file, found by decoding it to its end; nothing of it is kept. `None` as soon as `stop` becomes true.
pub(super) fn faults(
    audio: &SessionAudio<'_>,
    id: MediaId,
    stop: &AtomicBool,
) -> Option<Vec<String>> {
    match hocket_media::examine(&audio.loaded.session.media[id.0].path, stop) {
        Ok(faults) => Some(faults?.iter().map(|fault| damage(audio, id, fault)).collect()),
        Err(error) => Some(vec![unreadable(audio, id, &error).to_string()]),
    }
}

/// Looks into a file's header. `rate_hz` overrides the session's own rate.
pub(super) fn check(
    path: &Path,
    wanted: MediaUse,
    rate_hz: Option<u32>,
    words: &Words,
) -> Result<AudioFacts, MediaRefusal> {
    let facts = hocket_media::probe(path)
        .map_err(|error| MediaRefusal { cause: error.to_string(), remedy: REPAIR.into() })?;
    let rate_hz = rate_hz.unwrap_or(wanted.sample_rate_hz);
    match wanted.resample || facts.sample_rate_hz == rate_hz {
        true => Ok(facts),
        false => Err(other_rate(facts.sample_rate_hz, rate_hz, words)),
    }
}

fn other_rate(of_file: u32, rate_hz: u32, words: &Words) -> MediaRefusal {
    let run_at = words.run_at;
    MediaRefusal {
        cause: format!("this file has {of_file} Hz, the session runs at {rate_hz} Hz"),
        remedy: format!(
            "leave resample = false out of [session], convert the file to {rate_hz} Hz, or {run_at} {of_file}"
        ),
    }
}

/// A file that cannot be decoded, and what to do with it.
pub(super) fn unreadable(audio: &SessionAudio<'_>, id: MediaId, error: &MediaError) -> LoadError {
    let repair = if is_packed(audio, id) { EXPORT } else { REPAIR };
    LoadError::bad_input(audio.loaded.media_error(id, &error.to_string(), repair))
}

/// Decodes one file and converts what is played of it; `None` if it has more samples than `most`.
pub(super) fn load_within(
    audio: &SessionAudio<'_>,
    id: MediaId,
    most: usize,
    told: &mut Told,
) -> Result<Option<AudioInMemory>, LoadError> {
    let decoded = match hocket_media::decode_within(&audio.loaded.session.media[id.0].path, most) {
        Ok(decoded) => decoded,
        Err(MediaError::TooLarge { .. }) => return Ok(None),
        Err(error) => return Err(unreadable(audio, id, &error)),
    };
    tell_faults(audio, id, &decoded.warnings, told);
    let length_s = decoded.length_s();
    let (of_file, channels) = (decoded.sample_rate_hz, decoded.channels.len());
    let name = audio.name_of(id);
    told.details
        .push(format!("{name}: in memory: {of_file} Hz, channels: {channels}, {length_s:.2} s"));
    let converted = at_rate(audio, id, decoded)?;
    let stereo = StereoAudio::from_planar(&converted.channels);
    tell_not_finite(audio, id, stereo.contained() as u64, told);
    Ok(Some(AudioInMemory { stereo: Arc::new(stereo), length_s }))
}

/// As [`load_within`], of a file that has to be in memory.
pub(super) fn load(
    audio: &SessionAudio<'_>,
    id: MediaId,
    told: &mut Told,
) -> Result<AudioInMemory, LoadError> {
    load_within(audio, id, MAX_SAMPLES, told)?
        .ok_or_else(|| limits::refused(audio, id, &limits::too_long(audio, id)))
}

/// Tells of samples that a conversion made infinite.
pub(super) fn tell_not_finite(audio: &SessionAudio<'_>, id: MediaId, count: u64, told: &mut Told) {
    if count > 0 {
        let name = place(audio, id);
        told.warnings
            .push(format!("{name}: {count} samples are not finite numbers; they play as silence"));
    }
}

fn at_rate(audio: &SessionAudio<'_>, id: MediaId, decoded: Audio) -> Result<Audio, LoadError> {
    let rate_hz = audio.rate_hz;
    if decoded.sample_rate_hz == rate_hz {
        return Ok(decoded);
    }
    if audio.loaded.session.media[id.0].resample {
        let whole = (decoded.length_s() * f64::from(rate_hz)).ceil() as usize + 1;
        let frames = frames_played(audio, id).min(whole);
        check_memory(audio, id, frames, decoded.channels.len())?;
        return Ok(hocket_media::resample_beginning(&decoded, rate_hz, frames));
    }
    let refusal = other_rate(decoded.sample_rate_hz, rate_hz, audio.words);
    Err(limits::refused(audio, id, &refusal))
}

/// How many frames of a file its clips reach; the preview and clips without a length reach all.
fn frames_played(audio: &SessionAudio<'_>, id: MediaId) -> usize {
    let session = &audio.loaded.session;
    if session.preview == Some(id) {
        return usize::MAX;
    }
    let clips = session.tracks.iter().flat_map(|track| &track.clips);
    let ends = clips.filter(|clip| clip.media == id).map(|clip| match clip.length_s {
        // A loop returns at the end of the file.
        Some(length) if !clip.looped => {
            // Start and length are rounded to frames each, so one more is needed at most; two do no harm.
            ((clip.offset_s + length) * f64::from(audio.rate_hz)).ceil() as usize + 2
        }
        _ => usize::MAX,
    });
    ends.max().unwrap_or(0)
}

/// Memory for a converted file, in bytes a frame: two rows and their copy, and what the conversion of a channel needs.
const BYTES_A_FRAME: u64 = 4 * 4 + 2 * 8;

/// A machine that runs out of memory ends some program, and not always this one.
pub(super) fn check_memory(
    audio: &SessionAudio<'_>,
    id: MediaId,
    frames: usize,
    channels: usize,
) -> Result<(), LoadError> {
    match lack_of_memory(frames, channels, audio.rate_hz) {
        Some(cause) => {
            let remedy =
                "give its clips a length_s, convert the file before, or choose a lower rate";
            Err(LoadError::not_possible(audio.loaded.media_error(id, &cause, remedy)))
        }
        None => Ok(()),
    }
}

/// Why a file cannot be converted to so many frames in memory, if it cannot.
pub(super) fn lack_of_memory(frames: usize, channels: usize, rate_hz: u32) -> Option<String> {
    let extra = channels.saturating_sub(2) as u64 * 4;
    let needed = (frames as u64).saturating_mul(BYTES_A_FRAME + extra);
    let free = free_memory().filter(|free| needed > *free)?;
    let (needed, free) = (needed >> 20, free >> 20);
    Some(format!("converting it to {rate_hz} Hz takes {needed} MiB of memory, {free} MiB are free"))
}

/// What the kernel says is available without swapping; `None` where it does not say.
fn free_memory() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    Some(line.split_whitespace().next()?.parse::<u64>().ok()? * 1024)
}
