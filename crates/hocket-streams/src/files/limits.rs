//! Audio files that are too long to be in memory: known by the header before anything is decoded, and what helps.

use hocket_engine::Settings;
use hocket_engine::session::MediaId;
use hocket_media::{AudioFacts, MAX_SAMPLES};
use hocket_session::MediaRefusal;

use super::ways::{TooMuch, Way};
use super::{LoadError, SessionAudio};

/// Whether a whole file would be more than is kept in memory, as its header says.
pub(super) fn is_long(facts: &AudioFacts) -> bool {
    let samples = |frames: u64| frames.saturating_mul(facts.channels as u64);
    facts.frames.map(samples).is_some_and(|samples| samples > MAX_SAMPLES as u64)
}

/// Why a long file cannot be in memory, if that is how it is to play.
pub(super) fn refusal(
    audio: &SessionAudio<'_>,
    id: MediaId,
    (way, facts): (&Way, &AudioFacts),
) -> Option<MediaRefusal> {
    match way {
        Way::Stream(_) | Way::Conform(_) | Way::Short(..) => None,
        Way::Parts(TooMuch(is_too_much)) => {
            is_too_much.then(|| plays_too_much(audio, facts.sample_rate_hz))
        }
        Way::Memory => Some(too_long(audio, id)),
    }
}

/// Clips play too much of a file that is converted in memory.
pub(super) fn plays_too_much(audio: &SessionAudio<'_>, of_file: u32) -> MediaRefusal {
    let (stream, run_at) = (audio.words.stream, audio.words.run_at);
    let remedy = match Settings::RATES_HZ.contains(&of_file) {
        _ if audio.disk.buffer_bytes == 0 => {
            format!("{stream}, so that it plays from the disk, or give its clips a length_s")
        }
        true => format!(
            "{run_at} {of_file}, at which it plays from the disk, or give its clips a length_s"
        ),
        false => format!("convert the file to {} Hz, or give its clips a length_s", audio.rate_hz),
    };
    MediaRefusal {
        cause: format!(
            "its clips play more than {MAX_SAMPLES} samples of audio, which are converted in memory"
        ),
        remedy,
    }
}

/// The whole file would have to be in memory.
pub(super) fn too_long(audio: &SessionAudio<'_>, id: MediaId) -> MediaRefusal {
    let remedy = match () {
        () if audio.loaded.session.preview == Some(id) => {
            "cut the file, or leave out the preview".to_owned()
        }
        () if audio.disk.buffer_bytes == 0 => {
            format!("play it from the disk: {}, or cut the file", audio.words.stream)
        }
        () => format!(
            "cut the file, play it with fewer clips, or convert it to WAV or FLAC with {} Hz",
            audio.rate_hz
        ),
    };
    MediaRefusal {
        cause: format!("more than {MAX_SAMPLES} samples of audio, which are decoded in memory"),
        remedy,
    }
}

pub(super) fn refused(audio: &SessionAudio<'_>, id: MediaId, refusal: &MediaRefusal) -> LoadError {
    let MediaRefusal { cause, remedy } = refusal;
    LoadError::bad_input(audio.loaded.media_error(id, cause, remedy))
}
