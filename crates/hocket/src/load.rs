//! Session file -> session and audio in memory.

use std::path::Path;
use std::sync::Arc;

use hocket_engine::{BuiltinEffects, MediaPool, StereoAudio, seats_of};
use hocket_machine::Topology;
use hocket_media::Audio;
use hocket_plan::Session;
use hocket_plan::session::MediaId;
use hocket_session::{LoadOptions, Loaded};

use crate::failure::Failure;

/// A session ready to be prepared for an engine.
pub struct LoadedSession {
    /// The session.
    pub session: Session,
    /// Its audio at `rate_hz`.
    pub media: MediaPool,
    /// The rate at which it will run.
    pub rate_hz: u32,
    /// What a user ought to know, place included.
    pub warnings: Vec<String>,
    /// Audio files that are cut short or damaged, place included; what is left of them is played.
    pub damaged: Vec<String>,
}

/// The machine at hand.
///
/// # Errors
/// Where neither hwloc nor the kernel says what it is made of: exit code 3.
pub fn topology() -> Result<Topology, Failure> {
    Topology::discover().map_err(Failure::not_possible)
}

/// Loads a session for this machine; `rate_hz` overrides the session's own rate.
///
/// # Errors
/// [`Failure`] with exit code 2: whatever is wrong with the file or what it names.
pub fn load_session(
    path: &Path,
    rate_hz: Option<u32>,
    topology: &Topology,
) -> Result<LoadedSession, Failure> {
    load_session_for_seats(path, rate_hz, seats_of(topology).0.seats.len())
}

/// Loads a session for a machine with `seats` seats (`count = "seats x 2"` depends on it).
///
/// # Errors
/// As [`load_session`].
pub fn load_session_for_seats(
    path: &Path,
    rate_hz: Option<u32>,
    seats: usize,
) -> Result<LoadedSession, Failure> {
    // Names and ranges do not depend on the rate.
    let catalogue = BuiltinEffects { rate_hz: 48_000 };
    let loaded = hocket_session::load(path, &catalogue, &LoadOptions { seats })
        .map_err(Failure::bad_input)?;
    let rate_hz = rate_hz.unwrap_or(loaded.session.sample_rate_hz);
    let mut warnings = loaded.warnings.clone();
    let mut damaged = Vec::new();
    let mut audio = Vec::with_capacity(loaded.session.media.len());
    for index in 0..loaded.session.media.len() {
        audio.push(load_audio(&loaded, MediaId(index), rate_hz, &mut warnings, &mut damaged)?);
    }
    let media = MediaPool::new(audio);
    Ok(LoadedSession { session: loaded.session, media, rate_hz, warnings, damaged })
}

fn load_audio(
    loaded: &Loaded,
    id: MediaId,
    rate_hz: u32,
    warnings: &mut Vec<String>,
    damaged: &mut Vec<String>,
) -> Result<Arc<StereoAudio>, Failure> {
    let media = &loaded.session.media[id.0];
    let decoded = hocket_media::decode(&media.path).map_err(|error| {
        let remedy = "repair or replace the file";
        Failure::bad_input(loaded.media_error(id, &error.to_string(), remedy))
    })?;
    let remedy = "replace the file, or leave out --strict to play what can be read";
    let fault = |warning: &String| loaded.media_error(id, warning, remedy).to_string();
    damaged.extend(decoded.warnings.iter().map(fault));
    let place = loaded.locate(id);
    let (file, line, column) = (place.file.display(), place.line, place.column);
    let name = format!("{file}:{line}:{column}: {}", media.path.display());
    let remedy = "what can be read is played; replace the file, or refuse such files with --strict";
    warnings.extend(decoded.warnings.iter().map(|warning| format!("{name}: {warning}; {remedy}")));
    let audio = at_rate(loaded, id, decoded, rate_hz)?;
    let stereo = StereoAudio::from_planar(&audio.channels);
    if stereo.contained() > 0 {
        let count = stereo.contained();
        warnings
            .push(format!("{name}: {count} samples are not finite numbers; they play as silence"));
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
    let cause =
        format!("this file has {} Hz, the session runs at {rate_hz} Hz", audio.sample_rate_hz);
    let remedy = format!(
        "set resample = true in [session], convert the file to {rate_hz} Hz, or run at its rate \
         with --rate {}",
        audio.sample_rate_hz
    );
    Err(Failure::bad_input(loaded.media_error(id, &cause, &remedy)))
}

impl LoadedSession {
    /// Refuses damaged audio files where the user asked for that (`--strict`), and prints the warnings otherwise.
    ///
    /// # Errors
    /// [`Failure`] with exit code 2, naming every such file.
    pub fn accept(&self, strict: bool) -> Result<(), Failure> {
        if strict && !self.damaged.is_empty() {
            return Err(Failure::bad_input(self.damaged.join("\n")));
        }
        self.print_warnings();
        Ok(())
    }

    /// Prints the warnings on standard error.
    pub fn print_warnings(&self) {
        for warning in &self.warnings {
            crate::output::tell(format_args!("warning: {warning}"));
        }
    }

    /// Both rows of the preview's file, where the session names one.
    pub fn preview_audio(&self) -> Option<(Vec<f32>, Vec<f32>)> {
        let audio = self.media.get(self.session.preview?)?;
        Some((audio.left().to_vec(), audio.right().to_vec()))
    }
}
