//! Session files (TOML) to [`hocket_plan::Session`], with errors that point at the place.
//!
//! [`load`] reads a file, checks it against the [`schema`] and against an
//! [`EffectCatalogue`], resolves names and media paths, and returns a session that can be planned.
//! All mistakes come back at once ([`SessionErrors`]), each with file, line, column, the offending line, the
//! cause and a remedy ([`SessionError`]). `docs/session-format.md` describes the format; its tables are those of
//! [`schema::TABLES`].
//!
//! Parts, in reading order:
//!
//! - `schema`: which keys exist
//! - `source`: reads the file and knows its lines
//! - `error`: the message
//! - `mistakes`: collects all of them
//! - `fields`: reads one table by its schema
//! - `strips` and `effects`: build the model
//! - `state`: states of plug-ins
//! - `media`: collects audio files
//! - `notes`: notes of tracks, and MIDI files
//! - `routing`: looks for cycles
//! - `ports`: inputs and outputs
//! - `song`: tempos, time signatures and the loop
//! - `automation`: lanes
//! - `costs`: reads and writes cost tables
//! - `write`: a session as text
//! - `convert`: a file in the newest format, with its comments
//! - `json_schema`: the schema for editors
//! - `foreign`: sessions that another crate has read from a text of another format
//! - `midi_file`: a MIDI file as a session of its own
//!
//! Limits: this crate only checks that it can open the audio files. [`load_checking`] lets a decoder look into
//! them; what it finds later it reports at the clip's line through [`Loaded::media_error`].
#![forbid(unsafe_code)]

use std::cell::Cell;
use std::collections::HashMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

use hocket_plan::session::MediaId;
use hocket_plan::{EffectCatalogue, Session};

pub mod schema;
mod source;
mod error;
mod mistakes;
mod suggest;
mod fields;
mod strips;
mod effects;
mod state;
mod media;
mod notes;
mod midi_damage;
mod routing;
mod ports;
mod extra;
mod song;
mod automation;
mod costs;
mod write;
mod convert;
mod json_schema;
mod foreign;
mod midi_file;

pub use costs::{COST_FORMAT, costs_text, read_costs};
pub use error::{Place, SessionError};
pub use foreign::ForeignText;
pub use json_schema::json_schema;
pub use media::{MediaCheck, MediaRefusal, MediaUse};
pub use midi_file::{MidiSong, load_midi, read_midi};
pub use mistakes::SessionErrors;
pub use source::MAX_BYTES as MAX_FILE_BYTES;
use source::{Source, What};
pub use write::{WriteError, session_text};

/// A place in the text, in bytes.
type Span = Range<usize>;

/// What a session file leaves to the machine on which it is loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoadOptions {
    /// How many seats the machine has, for `count = "seats x 2"`.
    pub seats: usize,
    /// The rate at which it will run, for what counts frames; `None`: the session's own.
    pub rate_hz: Option<u32>,
}

impl LoadOptions {
    /// For a machine with so many seats, at the session's own rate.
    pub const fn for_seats(seats: usize) -> LoadOptions {
        LoadOptions { seats, rate_hz: None }
    }
}

/// A session, and the places of its parts in the file.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// The session, ready to be planned: names resolved, ranges checked, routing free of cycles.
    pub session: Session,
    /// Warnings: probably not intended, but playable. One line each, with its place.
    pub warnings: Vec<String>,
    /// MIDI files that are cut short or damaged: a mistake where such files are refused. What can be read of them is in the
    /// session, and `warnings` says so.
    pub damaged: Vec<String>,
    source: Source,
    media_spans: Vec<Span>,
    /// What people call files that were unpacked from another one, by their paths.
    names: HashMap<PathBuf, String>,
    open_fades: Vec<strips::OpenFade>,
}

impl Loaded {
    /// The text of a session from standard input or a pipe, which nobody can read there again; `None` for a file.
    pub fn streamed_text(&self) -> Option<&str> {
        self.source.is_stream().then(|| self.source.text())
    }

    /// Where the file first names this audio file; the top of the file for an id of another session.
    pub fn locate(&self, id: MediaId) -> Place {
        self.source.place(self.media_span(id))
    }

    /// An error at the line that first names this audio file, for its decoder.
    pub fn media_error(&self, id: MediaId, cause: &str, remedy: &str) -> SessionError {
        let cause = match self.session.media.get(id.0) {
            Some(media) => format!("'{}': {cause}", self.name_of(&media.path)),
            None => cause.to_owned(),
        };
        self.source.error(self.media_span(id), cause, remedy)
    }

    /// What people call a file: its path, or its place in the file that it was unpacked from.
    pub fn name_of(&self, path: &Path) -> String {
        self.names.get(path).cloned().unwrap_or_else(|| path.display().to_string())
    }

    /// The names of files that were unpacked from another one, by their paths.
    pub fn names(&self) -> &HashMap<PathBuf, String> {
        &self.names
    }

    /// Warnings on clips whose fades are longer than what their files hold; `length_s` says how long a file is, in
    /// seconds.
    pub fn fade_warnings(&self, length_s: impl Fn(MediaId) -> f64) -> Vec<String> {
        let too_long = |fade: &&strips::OpenFade| {
            fade.fades_s > (length_s(fade.media) - fade.offset_s).max(0.0)
        };
        let fades = self.open_fades.iter().filter(too_long);
        let text = "the fades are longer than the clip, which ends with its file: they overlap";
        fades.map(|fade| self.source.warning(fade.span.clone(), text)).collect()
    }

    fn media_span(&self, id: MediaId) -> Span {
        self.media_spans.get(id.0).cloned().unwrap_or(0..0)
    }
}

/// Reads a session file; `-` is standard input. Paths in a session from a pipe are relative to the current folder.
///
/// Thread: control; does file I/O. Cost: O(length of the file + parts after `count` is expanded).
///
/// # Errors
/// [`SessionErrors`] with all mistakes of the file; see `docs/session-format.md`. Text that is not TOML is not read
/// further: then the mistakes are those against TOML, at most one per line.
pub fn load(
    path: &Path,
    catalogue: &dyn EffectCatalogue,
    options: &LoadOptions,
) -> Result<Loaded, SessionErrors> {
    load_checking(path, catalogue, options, &|_, _| Ok(()))
}

/// As [`load`], with a look into each audio file; `check` is called once per file that can be opened.
///
/// # Errors
/// As [`load`], and what `check` refuses, at the line that first names the file.
pub fn load_checking(
    path: &Path,
    catalogue: &dyn EffectCatalogue,
    options: &LoadOptions,
    check: &MediaCheck<'_>,
) -> Result<Loaded, SessionErrors> {
    let source = Source::read(path, What::Session)?;
    let built = strips::build(&source, catalogue, options, check)?;
    Ok(Loaded {
        session: built.session,
        warnings: built.warnings,
        damaged: built.damaged,
        source,
        media_spans: built.media_spans,
        names: HashMap::new(),
        open_fades: built.open_fades,
    })
}

/// A session file in the newest format, as a text for a file in the folder `to`: comments, order and spaces stay, and
/// relative paths of audio files are those of the same files seen from there.
///
/// Thread: control; does file I/O. Cost: O(length of the file).
///
/// # Errors
/// As [`load`]: only a session without mistakes is converted.
pub fn convert(
    path: &Path,
    to: &Path,
    catalogue: &dyn EffectCatalogue,
    options: &LoadOptions,
) -> Result<String, SessionErrors> {
    let source = Source::read(path, What::Session)?;
    strips::build(&source, catalogue, options, &|_, _| Ok(()))?;
    let whole = |folder: &Path| match folder.as_os_str().is_empty() {
        true => Path::new(".").canonicalize(),
        false => folder.canonicalize(),
    };
    let folders = whole(source.folder()).and_then(|from| Ok((from, whole(to)?)));
    let unspeakable = Cell::new(false);
    let paths = |path: &str| {
        let seen = match &folders {
            Ok((from, to)) => convert::seen_from(path, from, to),
            Err(_) => None,
        };
        unspeakable.set(unspeakable.get() || seen.is_none());
        seen.unwrap_or_else(|| path.to_owned())
    };
    let converted = convert::converted(source.text(), &paths);
    let refused = || {
        let remedy = "add format = 2 to its [session] by hand";
        source.error(0..0, "this file cannot be converted without changing what it says", remedy)
    };
    if unspeakable.get() {
        let cause =
            "the way from the new file to an audio file has signs that a session file cannot hold";
        return Err(source
            .error(0..0, cause, "write the new file into the folder of this one")
            .into());
    }
    if converted.as_ref().is_some_and(|text| text.len() as u64 > source::MAX_BYTES) {
        let cause = "the new file would be larger than 16 MiB, and nothing could read it";
        return Err(source
            .error(0..0, cause, "write it into the folder of this one, or split the session")
            .into());
    }
    Ok(converted.ok_or_else(refused)?)
}
