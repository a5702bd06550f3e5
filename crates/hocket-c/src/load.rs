//! Session file -> session, and audio in memory or on the disk.

use std::path::Path;
use std::sync::Arc;

use hocket_engine::session::Session;
use hocket_engine::{Effects, MediaPool, seats_of};
use hocket_session::LoadOptions;
use hocket_streams::{DiskBuffer, DiskUse, SessionAudio, Words, read_session};

use crate::failure::Failure;

/// What a host passes for how files play.
const WORDS: Words = Words {
    stream: "call hocket_session_load_streaming with memory in disk.buffer_bytes",
    run_at: "load the session with a rate_hz of",
    refuse_damaged: None,
};

/// A session file and its audio files, loaded at one sample rate.
pub(crate) struct LoadedSession {
    pub session: Session,
    pub media: MediaPool,
    /// Where files stream; `None`: every file is in memory.
    pub disk: Option<Arc<DiskBuffer>>,
    pub rate_hz: u32,
    pub warnings: Vec<String>,
}

/// Reads a session and its audio for this machine. `None` means the session's own rate. Long files stream if `disk` says
/// so, those that cannot as they are from temporary files.
pub(crate) fn load(
    path: &Path,
    rate_hz: Option<u32>,
    disk: &DiskUse,
) -> Result<LoadedSession, Failure> {
    let seats = seats_of(&crate::settings::topology()?).0.seats.len();
    let effects = Effects::builtin();
    let options = LoadOptions { seats, rate_hz };
    let (loaded, facts) =
        read_session(path, &effects, &options, &WORDS).map_err(Failure::bad_input)?;
    let rate_hz = rate_hz.unwrap_or(loaded.session.sample_rate_hz);
    let audio = SessionAudio {
        loaded: &loaded,
        facts: &facts,
        rate_hz,
        until: u64::MAX,
        disk: *disk,
        words: &WORDS,
    };
    let too_long = audio.too_long();
    if !too_long.is_empty() {
        return Err(Failure::bad_input(too_long.join("\n")));
    }
    let mut warnings = loaded.warnings.clone();
    let files = audio.plan(&[])?.load(|told| warnings.extend(told.warnings))?;
    warnings.extend(loaded.fade_warnings(|id| files.length_s(id)));
    let (media, disk) = files.play(&loaded, disk, &[], rate_hz)?;
    let media = MediaPool::of(media).with_effects(effects);
    Ok(LoadedSession { session: loaded.session, media, disk, rate_hz, warnings })
}
