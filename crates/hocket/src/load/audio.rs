//! An audio file of a session, at the session's rate: all of it in memory, or a header and where to read.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use hocket_engine::StereoAudio;
use hocket_media::{Audio, AudioFacts, MAX_SAMPLES, MediaError};
use hocket_plan::session::MediaId;
use hocket_session::{Loaded, MediaRefusal, MediaUse};

use crate::failure::Failure;
use crate::output::detail;

use super::limits;
use super::streams::{DiskUse, LONGEST_IN_MEMORY_S, Streamable};

/// An audio file in memory.
pub(super) struct LoadedAudio {
    pub stereo: Arc<StereoAudio>,
    /// Of the whole file, also where only its beginning was converted.
    pub length_s: f64,
}

/// What loading finds out, place included.
#[derive(Debug, Default)]
pub(super) struct Told {
    /// What became of each file, for `--verbose`.
    pub details: Vec<String>,
    /// What the user ought to know.
    pub warnings: Vec<String>,
    /// What `--strict` refuses.
    pub damaged: Vec<String>,
}

impl Told {
    /// Adds what came later. Tells the details at once.
    pub fn add(&mut self, later: Told) {
        later.details.iter().for_each(detail);
        self.warnings.extend(later.warnings);
        self.damaged.extend(later.damaged);
    }
}

/// A file that can stream, as its header seemed before. `None`: decode it.
pub(super) fn streamable(
    path: &Path,
    facts: Option<&AudioFacts>,
    rate_hz: u32,
    strict: bool,
) -> Option<Streamable> {
    let longest = u64::from(LONGEST_IN_MEMORY_S) * u64::from(rate_hz);
    let facts = facts.filter(|facts| facts.sample_rate_hz == rate_hz)?;
    facts.frames.filter(|frames| *frames > longest)?;
    Streamable::open(path, rate_hz, strict)
}

/// Tells what is wrong with a file that can be played.
pub(super) fn tell_faults(loaded: &Loaded, id: MediaId, faults: &[String], told: &mut Told) {
    let (replace, first) = match is_packed(loaded, id) {
        false => (REPLACE, "replace the file"),
        true => (REPLACE_PACKED, EXPORT),
    };
    let fault = |warning: &String| loaded.media_error(id, warning, replace).to_string();
    told.damaged.extend(faults.iter().map(fault));
    let name = place(loaded, id);
    let remedy = format!("what can be read is played; {first}, or refuse such files with --strict");
    told.warnings.extend(faults.iter().map(|warning| format!("{name}: {warning}; {remedy}")));
}

/// The file, and where the session names it.
fn place(loaded: &Loaded, id: MediaId) -> String {
    let place = loaded.locate(id);
    let (file, line, column) = (place.file.display(), place.line, place.column);
    format!("{file}:{line}:{column}: {}", loaded.name_of(&loaded.session.media[id.0].path))
}

/// Whether a file is in a project, where nobody repairs it.
fn is_packed(loaded: &Loaded, id: MediaId) -> bool {
    loaded.names().contains_key(&loaded.session.media[id.0].path)
}

/// What to do with a file that cannot be decoded.
const REPAIR: &str = "repair or replace the file";
/// What to do with one of which a part can be played.
const REPLACE: &str = "replace the file, or leave out --strict to play what can be read";
/// The same of a file in a project.
const EXPORT: &str = "replace the file in the program that wrote the project, and export it again";
const REPLACE_PACKED: &str = "replace the file in the program that wrote the project and export it again, or leave out --strict to play what can be read";

/// What `--strict` refuses of a file, found by decoding it to its end; nothing of it is kept. `None` as soon as `stop`
/// becomes true.
pub(super) fn faults(loaded: &Loaded, id: MediaId, stop: &AtomicBool) -> Option<Vec<String>> {
    let told = |cause: &str, remedy: &str| loaded.media_error(id, cause, remedy).to_string();
    let (repair, replace) =
        if is_packed(loaded, id) { (EXPORT, REPLACE_PACKED) } else { (REPAIR, REPLACE) };
    match hocket_media::examine(&loaded.session.media[id.0].path, stop) {
        Ok(faults) => Some(faults?.iter().map(|fault| told(fault, replace)).collect()),
        Err(error) => Some(vec![told(&error.to_string(), repair)]),
    }
}

/// Looks into a file's header. `rate_hz` overrides the session's own rate.
pub(super) fn check(
    path: &Path,
    wanted: MediaUse,
    rate_hz: Option<u32>,
) -> Result<AudioFacts, MediaRefusal> {
    let facts = hocket_media::probe(path)
        .map_err(|error| MediaRefusal { cause: error.to_string(), remedy: REPAIR.into() })?;
    let rate_hz = rate_hz.unwrap_or(wanted.sample_rate_hz);
    match wanted.resample || facts.sample_rate_hz == rate_hz {
        true => Ok(facts),
        false => Err(other_rate(facts.sample_rate_hz, rate_hz)),
    }
}

fn other_rate(of_file: u32, rate_hz: u32) -> MediaRefusal {
    MediaRefusal {
        cause: format!("this file has {of_file} Hz, the session runs at {rate_hz} Hz"),
        remedy: format!(
            "leave resample = false out of [session], convert the file to {rate_hz} Hz, or run at its rate with \
             --rate {of_file}"
        ),
    }
}

/// A file that cannot be decoded, and what to do with it.
pub(super) fn unreadable(loaded: &Loaded, id: MediaId, error: &MediaError) -> Failure {
    let repair = if is_packed(loaded, id) { EXPORT } else { REPAIR };
    Failure::bad_input(loaded.media_error(id, &error.to_string(), repair))
}

/// Decodes one file and converts what is played of it; `None` if it has more samples than `most`.
pub(super) fn load_within(
    loaded: &Loaded,
    id: MediaId,
    rate_hz: u32,
    most: usize,
    told: &mut Told,
) -> Result<Option<LoadedAudio>, Failure> {
    let media = &loaded.session.media[id.0];
    let decoded = match hocket_media::decode_within(&media.path, most) {
        Ok(decoded) => decoded,
        Err(MediaError::TooLarge { .. }) => return Ok(None),
        Err(error) => return Err(unreadable(loaded, id, &error)),
    };
    tell_faults(loaded, id, &decoded.warnings, told);
    let length_s = decoded.length_s();
    let (of_file, channels) = (decoded.sample_rate_hz, decoded.channels.len());
    told.details.push(format!(
        "{}: in memory: {of_file} Hz, channels: {channels}, {length_s:.2} s",
        loaded.name_of(&media.path)
    ));
    let audio = at_rate(loaded, id, decoded, rate_hz)?;
    let stereo = StereoAudio::from_planar(&audio.channels);
    tell_not_finite(loaded, id, stereo.contained() as u64, told);
    Ok(Some(LoadedAudio { stereo: Arc::new(stereo), length_s }))
}

/// As [`load_within`], of a file that has to be in memory.
pub(super) fn load(
    loaded: &Loaded,
    id: MediaId,
    rate_hz: u32,
    disk: &DiskUse,
    told: &mut Told,
) -> Result<LoadedAudio, Failure> {
    load_within(loaded, id, rate_hz, MAX_SAMPLES, told)?
        .ok_or_else(|| limits::refused(loaded, id, &limits::too_long(loaded, id, rate_hz, disk)))
}

/// Tells of samples that a conversion made infinite.
pub(super) fn tell_not_finite(loaded: &Loaded, id: MediaId, count: u64, told: &mut Told) {
    if count > 0 {
        let name = place(loaded, id);
        told.warnings
            .push(format!("{name}: {count} samples are not finite numbers; they play as silence"));
    }
}

fn at_rate(loaded: &Loaded, id: MediaId, audio: Audio, rate_hz: u32) -> Result<Audio, Failure> {
    if audio.sample_rate_hz == rate_hz {
        return Ok(audio);
    }
    if loaded.session.media[id.0].resample {
        let whole = (audio.length_s() * f64::from(rate_hz)).ceil() as usize + 1;
        let frames = frames_played(loaded, id, rate_hz).min(whole);
        check_memory(loaded, id, frames, audio.channels.len(), rate_hz)?;
        return Ok(hocket_media::resample_beginning(&audio, rate_hz, frames));
    }
    let MediaRefusal { cause, remedy } = other_rate(audio.sample_rate_hz, rate_hz);
    Err(Failure::bad_input(loaded.media_error(id, &cause, &remedy)))
}

/// How many frames of a file its clips reach; the preview and clips without a length reach all.
fn frames_played(loaded: &Loaded, id: MediaId, rate_hz: u32) -> usize {
    let session = &loaded.session;
    if session.preview == Some(id) {
        return usize::MAX;
    }
    let clips = session.tracks.iter().flat_map(|track| &track.clips);
    let ends = clips.filter(|clip| clip.media == id).map(|clip| match clip.length_s {
        // A loop returns at the end of the file.
        Some(length) if !clip.looped => {
            // Start and length are rounded to frames each, so one more is needed at most; two do no harm.
            ((clip.offset_s + length) * f64::from(rate_hz)).ceil() as usize + 2
        }
        _ => usize::MAX,
    });
    ends.max().unwrap_or(0)
}

/// Memory for a converted file, in bytes a frame: two rows and their copy, and what the conversion of a channel needs.
const BYTES_A_FRAME: u64 = 4 * 4 + 2 * 8;

/// A machine that runs out of memory ends some program, and not always this one.
pub(super) fn check_memory(
    loaded: &Loaded,
    id: MediaId,
    frames: usize,
    channels: usize,
    rate_hz: u32,
) -> Result<(), Failure> {
    match lack_of_memory(frames, channels, rate_hz) {
        Some(cause) => {
            let remedy =
                "give its clips a length_s, convert the file before, or choose a lower rate";
            Err(Failure::not_possible(loaded.media_error(id, &cause, remedy)))
        }
        None => Ok(()),
    }
}

/// Why a file cannot be converted to so many frames, if it cannot.
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
