//! Audio files that are too long to be in memory: known by the header before anything is decoded, and what helps.

use hocket_engine::Settings;
use hocket_media::{AudioFacts, MAX_SAMPLES};
use hocket_plan::session::MediaId;
use hocket_session::{Loaded, MediaRefusal};

use super::streams::DiskUse;
use super::ways::{TooMuch, Way};
use crate::failure::Failure;

/// Whether a whole file would be more than is kept in memory, as its header says.
pub(super) fn is_long(facts: &AudioFacts) -> bool {
    let samples = |frames: u64| frames.saturating_mul(facts.channels as u64);
    facts.frames.map(samples).is_some_and(|samples| samples > MAX_SAMPLES as u64)
}

/// Why a long file cannot be in memory, if that is how it is to play.
pub(super) fn refusal(
    loaded: &Loaded,
    id: MediaId,
    (way, facts): (&Way, &AudioFacts),
    rate_hz: u32,
    disk: &DiskUse,
) -> Option<MediaRefusal> {
    match way {
        Way::Stream(_) | Way::Conform(_) | Way::Short(..) => None,
        Way::Parts(TooMuch(is_too_much)) => {
            is_too_much.then(|| plays_too_much(facts.sample_rate_hz, rate_hz, disk))
        }
        Way::Memory => Some(too_long(loaded, id, rate_hz, disk)),
    }
}

/// Clips play too much of a file that is converted in memory.
pub(super) fn plays_too_much(of_file: u32, rate_hz: u32, disk: &DiskUse) -> MediaRefusal {
    let remedy = match Settings::RATES_HZ.contains(&of_file) {
        _ if disk.buffer_bytes == 0 => {
            "leave out --disk-buffer 0, so that it plays from the disk, or give its clips a length_s"
                .to_owned()
        }
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
    let remedy = match () {
        () if loaded.session.preview == Some(id) => {
            "cut the file, or leave out the preview".to_owned()
        }
        () if disk.buffer_bytes == 0 => {
            "play it from the disk: leave out --disk-buffer 0, or cut the file".to_owned()
        }
        () => format!(
            "cut the file, play it with fewer clips, or convert it to WAV or FLAC with {rate_hz} Hz"
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
