//! `hocket session`: what can be done with session files beside checking and playing them.

mod project;
mod show;
mod song;

use std::io::{ErrorKind, Write};
use std::path::Path;

use hocket_engine::seats_of;
use hocket_files::{OutputFile, is_standard_output};
use hocket_session::{LoadOptions, convert, json_schema};

use crate::cli::{ConvertArgs, SessionArgs, SessionCommand, ShowArgs};
use crate::failure::{Exit, Failure};
use crate::files::{Files, Kind, check_prints, folder_of};
use crate::load::{OpenedSession, ProjectUse, effects, is_midi, topology};
use crate::output::{print, print_json, tell};

/// Runs the command.
///
/// # Errors
/// [`Failure`].
pub fn run(args: &SessionArgs) -> Result<Exit, Failure> {
    match &args.command {
        SessionCommand::Check(args) => crate::check::run(args),
        SessionCommand::Show(args) => show(args),
        SessionCommand::Convert(args) => write_converted(args),
        SessionCommand::Schema => {
            print_json(&json_schema(&effects()));
            Ok(Exit::Done)
        }
    }
}

fn show(args: &ShowArgs) -> Result<Exit, Failure> {
    check_prints("the session", &args.session)?;
    let project = ProjectUse { soundfont: args.soundfont.clone(), ..ProjectUse::default() };
    let opened = OpenedSession::open_as(&args.session, args.rate, &topology()?, project)?;
    opened.warnings().iter().for_each(|warning| tell(format_args!("warning: {warning}")));
    print(&show::text(opened.session(), opened.rate_hz(), &|path| opened.name_of(path)));
    Ok(Exit::Done)
}

fn write_converted(args: &ConvertArgs) -> Result<Exit, Failure> {
    let (path, output) = (&args.session, &args.output);
    crate::load::project::refuse_stand_in(path, &args.project.with(args.strict))?;
    if is_midi(path) {
        return song::write_converted(args);
    }
    if args.project.soundfont.is_some() {
        return Err(Failure::bad_input(format!(
            "--soundfont: {} is no MIDI file (.mid); leave it out",
            path.display()
        )));
    }
    if crate::load::project::is_project(path) {
        return project::write_converted(args);
    }
    let mut files = Files::new(false);
    files.reads("the session", path);
    // What is there stays, so audio files of the session need no further care.
    refuse_to_replace(output)?;
    files.writes("--output", output, Kind::Session)?;
    let options = LoadOptions::for_seats(seats_of(&topology()?).0.seats.len());
    // A pipe or a device says nothing of where the text will be.
    let is_file = std::fs::metadata(output).map_or(true, |there| there.is_file());
    let is_elsewhere = is_standard_output(output) || !is_file;
    let folder = if is_elsewhere { Path::new(".") } else { folder_of(output) };
    let text = convert(path, folder, &effects(), &options).map_err(Failure::bad_input)?;
    write_new(output, &text)?;
    if !is_standard_output(output) {
        crate::written::wrote(output);
    }
    Ok(Exit::Done)
}

/// Writes a session file where none is.
fn write_new(output: &Path, text: &str) -> Result<(), Failure> {
    let written = OutputFile::create(output).and_then(|mut file| {
        file.file().write_all(text.as_bytes())?;
        file.commit_new()
    });
    written.map_err(|error| {
        let remedy = match error.kind() {
            ErrorKind::AlreadyExists => "a file of this name has come meanwhile; name another one",
            _ => "free some space, or name another place",
        };
        Failure::not_possible(format!("{}: {error}; {remedy}", output.display()))
    })
}

/// A session is somebody's work.
fn refuse_to_replace(output: &Path) -> Result<(), Failure> {
    // A link that leads nowhere is somebody's, too.
    let there = std::fs::metadata(output).or_else(|_| output.symlink_metadata());
    let is_file = there.is_ok_and(|there| there.is_file() || there.is_symlink());
    match is_file && !is_standard_output(output) {
        false => Ok(()),
        true => Err(Failure::bad_input(format!(
            "--output {}: there is a file of this name, and nothing was changed; name another file",
            output.display()
        ))),
    }
}
