//! MIDI files: each is a session of its own, which a SoundFont plays.

use std::path::Path;

use hocket_plan::{Effect, EffectCatalogue, FileRefusal};
use hocket_session::{Loaded, SessionError, load_midi};
use hocket_soundfont::{KIND, PARAMS};

use super::ProjectUse;
use super::soundfonts::{self, VARIABLE};
use crate::failure::Failure;

/// The endings of MIDI files.
const ENDINGS: [&str; 3] = ["mid", "midi", "smf"];

/// Whether a path names a MIDI file and not a session file.
pub(crate) fn is_midi(path: &Path) -> bool {
    let ending = path.extension().unwrap_or_default();
    ENDINGS.iter().any(|known| ending.eq_ignore_ascii_case(known))
}

/// Reads a MIDI file, and checks the SoundFont that plays it.
///
/// # Errors
/// Either is wrong, or there is no SoundFont: exit code 2.
pub(crate) fn open(path: &Path, how: ProjectUse) -> Result<Loaded, Failure> {
    let is_named = how.soundfont.is_some();
    let is_of_variable = !is_named && soundfonts::of_variable().is_some();
    let values = PARAMS.iter().map(|param| param.default).collect();
    let instrument = Effect::new(KIND, values);
    if !path.exists() {
        // A name that was mistyped is told before anything that is missing for it.
        load_midi(path, &instrument).map_err(Failure::bad_input)?;
    }
    let font = how.soundfont.map_or_else(soundfonts::usual, Ok)?;
    let instrument = Effect { file: Some(font.clone()), ..instrument };
    super::effects().check_file(&instrument).map_err(|FileRefusal { cause, remedy }| {
        let remedy = match (is_named, is_of_variable) {
            (true, _) => remedy,
            (_, true) => {
                format!("{remedy}: {VARIABLE} names this one, and --soundfont FILE goes before it")
            }
            _ => format!("{remedy}; --soundfont FILE names another one"),
        };
        Failure::bad_input(SessionError::of_file(&font, cause, remedy))
    })?;
    let loaded = load_midi(path, &instrument).map_err(Failure::bad_input)?;
    crate::output::note(format_args!("{} plays {}", font.display(), path.display()));
    Ok(loaded)
}

/// Refuses `--soundfont` for what is no MIDI file: there it would change nothing.
///
/// # Errors
/// Exit code 2.
pub(super) fn refuse_soundfont(path: &Path, how: &ProjectUse) -> Result<(), Failure> {
    match how.soundfont {
        None => Ok(()),
        Some(_) => Err(Failure::bad_input(format!(
            "--soundfont: {} is no MIDI file (.mid); a session names a SoundFont in an effect of the kind '{KIND}'",
            path.display()
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn midi_files_are_known_by_their_ending() {
        assert!(is_midi(Path::new("a/song.mid")) && is_midi(Path::new("SONG.MIDI")));
        assert!(!is_midi(Path::new("mid")) && !is_midi(Path::new("song.toml")));
        assert!(!is_midi(Path::new("-")));
    }
}
