//! `hocket session convert` of a MIDI file: a session file that names it and its SoundFont.

use std::path::{Path, PathBuf};

use hocket_files::is_standard_output;
use hocket_plan::Session;
use hocket_plan::session::NoteSource;
use hocket_session::session_text;

use super::{refuse_to_replace, write_new};
use crate::cli::ConvertArgs;
use crate::failure::{Exit, Failure};
use crate::files::{Files, Kind, folder_of};
use crate::load::{effects, open_midi};

/// Runs the command.
///
/// # Errors
/// [`Failure`]; then nothing is written.
pub(super) fn write_converted(args: &ConvertArgs) -> Result<Exit, Failure> {
    let (path, output) = (&args.session, &args.output);
    let mut files = Files::new(false);
    files.reads("the MIDI file", path);
    refuse_to_replace(output)?;
    files.writes("--output", output, Kind::Session)?;
    let loaded = open_midi(path, args.project.with(args.strict))?;
    let mut session = loaded.session;
    make_whole(&mut session);
    let folder = if is_standard_output(output) { Path::new(".") } else { folder_of(output) };
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let text = session_text(&session, &effects(), &folder).map_err(|error| {
        Failure::bad_input(format!("{}: {error}; move it, and convert it again", path.display()))
    })?;
    write_new(output, &text)?;
    loaded
        .warnings
        .iter()
        .for_each(|warning| crate::output::tell(format_args!("warning: {warning}")));
    if !is_standard_output(output) {
        crate::written::wrote(output);
    }
    Ok(Exit::Done)
}

/// The session may lie elsewhere, so its paths begin at the root.
fn make_whole(session: &mut Session) {
    let whole = |path: &mut PathBuf| {
        if let Ok(found) = path.canonicalize() {
            *path = found;
        }
    };
    for track in &mut session.tracks {
        for notes in &mut track.notes {
            if let NoteSource::File(file) = &mut notes.source {
                whole(&mut file.path);
            }
        }
        track.strip.chain.iter_mut().filter_map(|effect| effect.file.as_mut()).for_each(whole);
    }
}
