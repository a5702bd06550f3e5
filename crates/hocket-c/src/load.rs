//! Session file -> session, and audio in memory or on the disk.

use std::path::Path;
use std::sync::Arc;

use hocket_engine::session::{MediaId, Session};
use hocket_engine::{ClipMedia, Effects, MediaPool, StereoAudio, seats_of};
use hocket_media::Audio;
use hocket_session::{LoadOptions, Loaded};
use hocket_streams::{DiskBuffer, DiskFile, DiskUse, Streamable, streamed_files};

use crate::failure::Failure;

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
/// so.
pub(crate) fn load(
    path: &Path,
    rate_hz: Option<u32>,
    disk: &DiskUse,
) -> Result<LoadedSession, Failure> {
    let seats = seats_of(&crate::settings::topology()?).0.seats.len();
    let effects = Effects::builtin();
    let loaded = hocket_session::load(path, &effects, &LoadOptions::for_seats(seats))
        .map_err(Failure::bad_input)?;
    let rate_hz = rate_hz.unwrap_or(loaded.session.sample_rate_hz);
    let mut warnings = loaded.warnings.clone();
    let open = |path: &Path| Streamable::open(path, rate_hz, disk.strict);
    let mut streamed = streamed_files(&loaded.session, disk, open);
    let channels = streamed.iter().map(|(index, file)| (*index, file.info.channels)).collect();
    let buffer = DiskBuffer::of(&loaded.session, disk, &channels, rate_hz)?;
    let ids = (0..loaded.session.media.len()).map(MediaId);
    let audio = ids.map(|id| match streamed.remove(&id.0).zip(buffer.as_ref()) {
        Some((file, buffer)) => Ok(stream(&loaded, id, file, buffer, &mut warnings)),
        None => Ok(ClipMedia::Memory(load_audio(&loaded, id, rate_hz, &mut warnings)?)),
    });
    let audio: Result<_, Failure> = audio.collect();
    let media = MediaPool::of(audio?).with_effects(effects);
    Ok(LoadedSession { session: loaded.session, media, disk: buffer, rate_hz, warnings })
}

fn stream(
    loaded: &Loaded,
    id: MediaId,
    file: Streamable,
    buffer: &Arc<DiskBuffer>,
    warnings: &mut Vec<String>,
) -> ClipMedia {
    let name = named(loaded, id);
    warnings.extend(file.info.warnings.iter().map(|warning| format!("{name}: {warning}")));
    let frames = file.info.frames;
    ClipMedia::Stream(Arc::new(DiskFile::new(buffer, Arc::new(file.storage), frames)))
}

/// The file, and where the session names it.
fn named(loaded: &Loaded, id: MediaId) -> String {
    let (place, path) = (loaded.locate(id), &loaded.session.media[id.0].path);
    format!("{}:{}:{}: {}", place.file.display(), place.line, place.column, path.display())
}

fn load_audio(
    loaded: &Loaded,
    id: MediaId,
    rate_hz: u32,
    warnings: &mut Vec<String>,
) -> Result<Arc<StereoAudio>, Failure> {
    let path = &loaded.session.media[id.0].path;
    let refused = |cause: &str, remedy| Failure::bad_input(loaded.media_error(id, cause, remedy));
    let decoded = hocket_media::decode(path)
        .map_err(|error| refused(&error.to_string(), "repair or replace the file"))?;
    if let Some(cause) = decoded.cut_short() {
        return Err(refused(cause, "replace the file, or write what is left of it to a new one"));
    }
    let name = named(loaded, id);
    warnings.extend(decoded.warnings.iter().map(|warning| format!("{name}: {warning}")));
    let stereo = StereoAudio::from_planar(&at_rate(loaded, id, decoded, rate_hz)?.channels);
    if stereo.contained() > 0 {
        let count = stereo.contained();
        warnings.push(format!("{name}: {count} samples are not finite; they play as silence"));
    }
    Ok(Arc::new(stereo))
}

fn at_rate(loaded: &Loaded, id: MediaId, audio: Audio, rate_hz: u32) -> Result<Audio, Failure> {
    if audio.sample_rate_hz == rate_hz {
        return Ok(audio);
    }
    if loaded.session.media[id.0].resample {
        return Ok(hocket_media::resample(&audio, rate_hz));
    }
    let own = audio.sample_rate_hz;
    let cause = format!("this file has {own} Hz, the session runs at {rate_hz} Hz");
    let remedy = format!(
        "leave resample = false out of [session], convert the file to {rate_hz} Hz, or load at {own} Hz"
    );
    Err(Failure::bad_input(loaded.media_error(id, &cause, &remedy)))
}
