//! Inputs that come from standard input or a pipe: each of these can be read only once.

use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use hocket_files::is_standard_input;

use super::{Command, SessionCommand};
use crate::failure::Failure;
use crate::play::TokenSource;
use crate::profile::ProfileArgs;

/// An input: as the command line calls it, and its path.
type Input<'a> = (&'static str, &'a Path);

/// Refuses a command that would read standard input or one pipe twice. The second time nothing is left, or nothing ever
/// comes.
///
/// # Errors
/// Two inputs are one stream: exit code 2, before anything is read.
pub(super) fn refuse_twice(command: &Command) -> Result<(), Failure> {
    let mut seen: Vec<(Input<'_>, Stream)> = Vec::new();
    for input in inputs(command) {
        let Some(stream) = Stream::of(input.1) else { continue };
        if let Some((first, _)) = seen.iter().find(|(_, known)| *known == stream) {
            return Err(twice(*first, input));
        }
        seen.push((input, stream));
    }
    Ok(())
}

fn twice(first: Input<'_>, second: Input<'_>) -> Failure {
    let is_stdin = [first.1, second.1].iter().any(|path| is_standard_input(path));
    let stream = if is_stdin { "standard input" } else { "one pipe" };
    let ((one, path), (other, other_path)) = (first, second);
    Failure::bad_input(format!(
        "{other} {}: this is {stream}, which {one} {} reads already, and it can be read only once; name a file instead",
        other_path.display(),
        path.display()
    ))
}

/// A stream, by device and inode.
#[derive(Debug, PartialEq, Eq)]
struct Stream(u64, u64);

impl Stream {
    /// `None` for a file, which can be read again, and for what is not there.
    fn of(path: &Path) -> Option<Stream> {
        let is_stdin = is_standard_input(path);
        let there = std::fs::metadata(if is_stdin { Path::new("/dev/stdin") } else { path });
        // Without /dev it is known by its name alone.
        let Ok(there) = there else { return is_stdin.then_some(Stream(0, 0)) };
        (is_stdin || there.file_type().is_fifo()).then(|| Stream(there.dev(), there.ino()))
    }
}

/// What a command reads that may be a stream. Audio files are none.
fn inputs(command: &Command) -> Vec<Input<'_>> {
    let mut all: Vec<Input<'_>> = Vec::new();
    let mut add = |what, path| all.push((what, path));
    match command {
        Command::Check(args) => args.sessions.iter().for_each(|path| add(SESSION, path)),
        Command::Session(args) => {
            if let SessionCommand::Check(args) = &args.command {
                args.sessions.iter().for_each(|path| add(SESSION, path));
            }
        }
        Command::Render(args) => {
            add(SESSION, &args.session);
            profile(&args.profile).into_iter().for_each(|path| add(PROFILE, path));
        }
        Command::Play(args) => {
            add(SESSION, &args.session);
            profile(&args.profile).into_iter().for_each(|path| add(PROFILE, path));
            // There, `-` is the name of a file.
            let costs = args.costs.as_deref().filter(|path| *path != Path::new("-"));
            costs.into_iter().for_each(|path| add("--costs", path));
            if let Some(TokenSource::File(path)) = &args.web_token
                && path != Path::new("-")
            {
                add("--web-token", path);
            }
        }
        Command::Bench(args) => {
            add(SESSION, &args.session);
            profile(&args.profile).into_iter().for_each(|path| add(PROFILE, path));
            args.baseline.iter().for_each(|path| add("--baseline", path));
        }
        Command::Capacity(args) => {
            add(SESSION, &args.session);
            profile(&args.profile).into_iter().for_each(|path| add(PROFILE, path));
        }
        Command::Trace(args) => {
            args.session.iter().for_each(|path| add(SESSION, path));
            profile(&args.profile).into_iter().for_each(|path| add(PROFILE, path));
            args.from.iter().for_each(|path| add("--from", path));
        }
        Command::Split(args) => {
            add(SESSION, &args.session);
            args.costs.iter().for_each(|path| add("--costs", path));
        }
        Command::Report(args) => args.records.iter().for_each(|path| add("RECORD", path)),
        _ => {}
    }
    all
}

const SESSION: &str = "SESSION";
const PROFILE: &str = "--profile";

fn profile(args: &ProfileArgs) -> Option<&Path> {
    args.profile.as_deref()
}
