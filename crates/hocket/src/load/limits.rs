//! Audio files that are too long to be in memory: known by the header before anything is decoded, and what helps.

use hocket_engine::Settings;
use hocket_media::{AudioFacts, MAX_SAMPLES};
use hocket_plan::session::MediaId;
use hocket_session::{Loaded, MediaRefusal};

use super::parts::{PartialFile, Playing};
use super::streams::{DiskUse, Streamable};
use crate::failure::Failure;

/// Whether a whole file would be more than is kept in memory, as its header says.
pub(super) fn is_long(facts: &AudioFacts) -> bool {
    let samples = |frames: u64| frames.saturating_mul(facts.channels as u64);
    facts.frames.map(samples).is_some_and(|samples| samples > MAX_SAMPLES as u64)
}

/// Why a file that does not stream cannot be in memory, if its header shows that.
pub(super) fn refusal(
    loaded: &Loaded,
    id: MediaId,
    facts: &AudioFacts,
    how: Playing,
    disk: &DiskUse,
) -> Option<MediaRefusal> {
    let rate_hz = how.rate_hz;
    if !is_long(facts) {
        return None;
    }
    match PartialFile::open(loaded, id, Some(facts), how) {
        Some(file) => file.is_too_long().then(|| plays_too_much(facts.sample_rate_hz, rate_hz)),
        None => Some(too_long(loaded, id, rate_hz, disk)),
    }
}

/// Clips play too much of a file that is converted and would otherwise stream.
pub(super) fn plays_too_much(of_file: u32, rate_hz: u32) -> MediaRefusal {
    let remedy = match Settings::RATES_HZ.contains(&of_file) {
        true => format!(
            "run at its rate with --rate {of_file}, at which it plays from the disk, or give its clips a length_s"
        ),
        false => format!("convert the file to {rate_hz} Hz, or give its clips a length_s"),
    };
    MediaRefusal {
        cause: format!(
            "its clips play more than {MAX_SAMPLES} samples of audio, which are converted in memory"
        ),
        remedy,
    }
}

/// The whole file would have to be in memory.
pub(super) fn too_long(loaded: &Loaded, id: MediaId, rate_hz: u32, disk: &DiskUse) -> MediaRefusal {
    let path = &loaded.session.media[id.0].path;
    let streams = |strict| Streamable::open(path, rate_hz, strict).is_some();
    let remedy = match () {
        () if loaded.session.preview == Some(id) => {
            "cut the file, or leave out the preview".to_owned()
        }
        () if disk.buffer_bytes == 0 && streams(disk.strict) => {
            "play it from the disk: leave out --disk-buffer 0, or cut the file".to_owned()
        }
        () if disk.strict && streams(false) => {
            "leave out --strict, so that it plays from the disk, or convert it to WAV".to_owned()
        }
        () => format!(
            "cut the file, or convert it to WAV or FLAC with {rate_hz} Hz, which plays from the disk"
        ),
    };
    MediaRefusal {
        cause: format!("more than {MAX_SAMPLES} samples of audio, which are decoded in memory"),
        remedy,
    }
}

pub(super) fn refused(loaded: &Loaded, id: MediaId, refusal: &MediaRefusal) -> Failure {
    let MediaRefusal { cause, remedy } = refusal;
    Failure::bad_input(loaded.media_error(id, cause, remedy))
}
