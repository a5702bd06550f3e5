//! `hocket trace --from`: what another tool has recorded of the scheduler.

use std::fs::File;
use std::io::{BufRead, BufReader, stdin};
use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;

use hocket_trace::sched_text::{Choice, read};
use hocket_trace::system::AboutSystem;
use hocket_trace::write;

use super::format::Format;
use super::kind;
use crate::cli::TraceArgs;
use crate::failure::{Exit, Failure};
use crate::files::Files;
use crate::output::{note, print};

/// Runs the command.
///
/// # Errors
/// [`Failure`]: the file cannot be read, is none of those that are read, or has none of the chosen threads.
pub(super) fn run(args: &TraceArgs, from: &Path, format: Format) -> Result<Exit, Failure> {
    let refused = |why: &dyn std::fmt::Display| {
        Failure::bad_input(format!("--from {}: {why}", from.display()))
    };
    let mut files = Files::new(args.force);
    if from != Path::new("-") {
        files.reads("--from", from);
    }
    files.writes("--output", &args.output, kind(format))?;
    let text = open(from).map_err(|why| refused(&why))?;
    let stop = crate::interrupt::flag()?;
    let choice = Choice { threads: args.threads.clone(), with_children: args.children };
    let about = AboutSystem {
        hocket: env!("CARGO_PKG_VERSION").into(),
        program: title(from, &choice),
        ..AboutSystem::default()
    };
    // Relaxed: the flag publishes nothing.
    let system = read(text, about, &choice, || stop.load(Relaxed)).map_err(|why| refused(&why))?;
    files.make_folders()?;
    print(&write::system_summary(&system));
    crate::keep::trace(&format.bytes_of_system(&system), &args.output)?;
    crate::written::wrote(&args.output);
    note(format.hint());
    Ok(if stop.load(Relaxed) { Exit::Interrupted } else { Exit::Done })
}

fn open(from: &Path) -> std::io::Result<Box<dyn BufRead>> {
    /// Lines have some 200 bytes.
    const HELD_BYTES: usize = 1 << 16;
    Ok(match from == Path::new("-") {
        true => Box::new(stdin().lock()),
        false => Box::new(BufReader::with_capacity(HELD_BYTES, File::open(from)?)),
    })
}

/// `all threads of trace.txt`, `jackd, 4711 of trace.txt`.
fn title(from: &Path, choice: &Choice) -> String {
    let file = from.file_name().unwrap_or(from.as_os_str()).to_string_lossy();
    let file = if file == "-" { "standard input".into() } else { file };
    match choice.threads.is_empty() {
        true => format!("all threads of {file}"),
        false => format!("{} of {file}", choice.threads.join(", ")),
    }
}
