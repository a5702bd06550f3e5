//! `hocket check`: are these sessions right, as far as can be seen without playing them?

use std::path::Path;

use hocket_machine::Topology;
use hocket_plan::Session;

use crate::cli::CheckArgs;
use crate::failure::{Exit, Failure};
use crate::files::check_prints;
use crate::load::streams::{DISK_BUFFER_BYTES, DiskUse};
use crate::load::{OpenedSession, ProjectUse, is_midi, topology};
use crate::output::{print, tell};

/// Runs the command.
///
/// # Errors
/// [`Failure`], where not even one session can be looked at. Mistakes in sessions are printed, and end with exit
/// code 2; where none has mistakes and one cannot be looked at here, with 3.
pub fn run(args: &CheckArgs) -> Result<Exit, Failure> {
    if args.soundfont.is_some() && !args.sessions.iter().any(|path| is_midi(path)) {
        let cause = "--soundfont: no MIDI file (.mid) is among these; leave it out";
        return Err(Failure::bad_input(cause));
    }
    args.sessions.iter().try_for_each(|path| check_prints("a session", path))?;
    let topology = topology()?;
    let mut wrong = 0;
    let mut exit = Exit::Done;
    for path in &args.sessions {
        match check(path, args, &topology) {
            Ok(told) => print(&told),
            Err(failure) => {
                tell(&failure);
                wrong += 1;
                match failure.exit {
                    Exit::Interrupted => return Ok(Exit::Interrupted),
                    // A mistake is the user's to repair, whatever else was not possible.
                    other => exit = if exit == Exit::BadInput { exit } else { other },
                }
            }
        }
    }
    if wrong > 0 && args.sessions.len() > 1 {
        tell(format_args!("{wrong} of {} sessions have mistakes", args.sessions.len()));
    }
    Ok(exit)
}

/// Checks one session and tells its warnings; what it is, in a line.
fn check(path: &Path, args: &CheckArgs, topology: &Topology) -> Result<String, Failure> {
    let soundfont = args.soundfont.clone().filter(|_| is_midi(path));
    let (strict, checks_schema) = (args.strict, true);
    let project = ProjectUse { soundfont, strict, checks_schema, ..ProjectUse::default() };
    let opened = OpenedSession::open_as(path, args.rate, topology, project)?;
    opened.warnings().iter().for_each(|warning| tell(format_args!("warning: {warning}")));
    refuse_too_long(&opened, strict)?;
    if strict {
        refuse_damaged(&opened)?;
    }
    Ok(format!("{}: {}\n", path.display(), summary(path, &opened)))
}

/// As loading would refuse it, with the usual disk buffer.
fn refuse_too_long(opened: &OpenedSession, strict: bool) -> Result<(), Failure> {
    let disk = DiskUse { buffer_bytes: DISK_BUFFER_BYTES, strict, ..DiskUse::IN_MEMORY };
    match opened.too_long(&disk) {
        too_long if too_long.is_empty() => Ok(()),
        too_long => Err(Failure::bad_input(too_long.join("\n"))),
    }
}

/// Reads all audio to its end, because a header does not show whether the rest is whole.
fn refuse_damaged(opened: &OpenedSession) -> Result<(), Failure> {
    let stop = crate::interrupt::flag()?;
    match opened.damaged(&stop) {
        None => Err(Failure::interrupted()),
        Some(damaged) if damaged.is_empty() => Ok(()),
        Some(damaged) => Err(Failure::bad_input(damaged.join("\n"))),
    }
}

fn summary(path: &Path, opened: &OpenedSession) -> String {
    let session = opened.session();
    let name = match path.file_stem().is_some_and(|stem| *stem == *session.name) {
        true => String::new(),
        false => format!("'{}', ", session.name),
    };
    let conversions = opened.conversions().map_or(String::new(), |words| format!("; {words}"));
    format!("{name}{} at {} Hz: no mistakes{conversions}", parts(session), opened.rate_hz())
}

fn parts(session: &Session) -> String {
    let counted = [
        (session.tracks.len(), "track"),
        (session.groups.len(), "group"),
        (session.returns.len(), "return"),
        (session.media.len(), "audio file"),
    ];
    let there = counted.iter().filter(|(count, _)| *count > 0);
    let words = there.map(|(count, what)| match count {
        1 => format!("1 {what}"),
        _ => format!("{count} {what}s"),
    });
    words.collect::<Vec<_>>().join(", ")
}
