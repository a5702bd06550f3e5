//! `hocket session convert` of a DAWproject file: a session file, and its audio files in a folder beside it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use hocket_files::{ScratchFolder, is_standard_output};
use hocket_session::{MAX_FILE_BYTES, session_text};

use super::{refuse_to_replace, write_new};
use crate::cli::ConvertArgs;
use crate::failure::{Exit, Failure};
use crate::files::{Files, Kind, folder_of};
use crate::leftovers::remove_dead;
use crate::load::project::import;
use crate::output::tell;

/// How the folder begins into which a project is unpacked.
const PREFIX: &str = ".hocket-";

/// Runs the command.
///
/// # Errors
/// [`Failure`]; then nothing is left of what it wrote.
pub(super) fn write_converted(args: &ConvertArgs) -> Result<Exit, Failure> {
    let (path, output) = (&args.session, &args.output);
    let is_file = std::fs::metadata(output).map_or(true, |there| there.is_file());
    if is_standard_output(output) || !is_file {
        return Err(Failure::bad_input(format!(
            "--output {}: the audio files of a project are written beside the session file; name a file",
            output.display()
        )));
    }
    let mut files = Files::new(false);
    files.reads("the project", path);
    refuse_to_replace(output)?;
    files.writes("--output", output, Kind::Session)?;
    let audio = audio_folder(output);
    if audio.symlink_metadata().is_ok() {
        return Err(Failure::bad_input(format!(
            "{}: the audio files would go here, and something has this name; nothing was changed; choose another name \
             with --output, or move it away",
            audio.display()
        )));
    }
    // All or nothing: under another name until the last file is there.
    remove_dead(folder_of(output), PREFIX);
    let unpacked = ScratchFolder::create(folder_of(output), PREFIX);
    let unpacked = unpacked.map_err(|error| {
        let text = format!("{}: no folder can be made beside it: {error}", output.display());
        Failure::not_possible(format!("{text}; name another place"))
    })?;
    let imported = import(path, unpacked.path(), args.project.with(args.strict))?;
    let mut session = imported.loaded.session;
    let mut has_audio = false;
    for media in &mut session.media {
        if let Ok(name) = media.path.strip_prefix(unpacked.path()) {
            media.path = audio.join(name);
            has_audio = true;
        } else if let Ok(whole) = media.path.canonicalize() {
            // A file beside the project stays there; the session may lie elsewhere.
            media.path = whole;
        }
    }
    let text = session_text(&session, &crate::load::effects(), folder_of_text(output)).map_err(
        |error| {
            Failure::bad_input(format!("{}: {error}; rename it, and export again", path.display()))
        },
    )?;
    if text.len() as u64 > MAX_FILE_BYTES {
        return Err(Failure::bad_input(format!(
            "{}: the session file would be larger than {} MiB, and nothing could read it; nothing was written; render \
             the project itself, or split it",
            path.display(),
            MAX_FILE_BYTES >> 20
        )));
    }
    if has_audio {
        move_to(unpacked, &audio)?;
    }
    if let Err(failure) = write_new(output, &text) {
        if has_audio {
            _ = std::fs::remove_dir_all(&audio);
        }
        return Err(failure);
    }
    imported.remarks.iter().for_each(|remark| tell(format_args!("warning: {remark}")));
    crate::written::wrote(output);
    if has_audio {
        crate::output::note(format_args!("the audio files are in {}", audio.display()));
    }
    Ok(Exit::Done)
}

/// `song-audio` beside `song.toml`.
fn audio_folder(output: &Path) -> PathBuf {
    let mut name = OsString::from(output.file_stem().unwrap_or_default());
    name.push("-audio");
    output.with_file_name(name)
}

/// The folder as the paths of the audio files begin with it.
fn folder_of_text(output: &Path) -> &Path {
    output.parent().unwrap_or(Path::new(""))
}

/// Gives the folder its name; its rights become those that a new folder gets.
fn move_to(unpacked: ScratchFolder, audio: &Path) -> Result<(), Failure> {
    let refused = |error: std::io::Error| {
        Failure::not_possible(format!(
            "{}: the folder of the audio files cannot be made: {error}; name another place",
            audio.display()
        ))
    };
    // A temporary folder is closed to others, so the files move into one that is not. It is new: nothing is replaced.
    std::fs::create_dir(audio).map_err(refused)?;
    let moved = std::fs::read_dir(unpacked.path()).and_then(|entries| {
        entries.into_iter().try_for_each(|entry| {
            let entry = entry?;
            std::fs::rename(entry.path(), audio.join(entry.file_name()))
        })
    });
    moved.map_err(|error| {
        _ = std::fs::remove_dir_all(audio);
        refused(error)
    })
}
