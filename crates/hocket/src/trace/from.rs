//! `hocket trace --from`: what another tool has recorded, of the scheduler or of an audio server's cycles.

use std::fs::File;
use std::io::{BufRead, BufReader, stdin};
use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;

use hocket_trace::cycles::{self, Named, Profiler};
use hocket_trace::sched_text::{self, Choice};
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
    let mut text = open(from).map_err(|why| refused(&why))?;
    let stop = crate::interrupt::flag()?;
    // Relaxed: the flag publishes nothing.
    let stopped = || stop.load(Relaxed);
    let choice = Choice { threads: args.threads.clone(), with_children: args.children };
    let beginning = text.fill_buf().map_err(|why| refused(&why))?;
    let (summary, bytes) = match Profiler::of(beginning) {
        None => {
            let about = about(from, &choice);
            let system = sched_text::read(text, about, &choice, stopped);
            let system = system.map_err(|why| refused(&why))?;
            (write::system_summary(&system), format.bytes_of_system(&system))
        }
        Some(_) if choice != Choice::default() => {
            return Err(refused(
                &"this file has clients and no threads; leave out --threads and --children",
            ));
        }
        Some(profiler) => {
            let named = Named { hocket: env!("CARGO_PKG_VERSION").into(), session: name(from) };
            let run = cycles::read(text, profiler, named, stopped).map_err(|why| refused(&why))?;
            (super::summary(&run), format.bytes(&[run]))
        }
    };
    files.make_folders()?;
    print(&summary);
    crate::keep::trace(&bytes, &args.output)?;
    crate::written::wrote(&args.output);
    note(format.hint());
    Ok(if stopped() { Exit::Interrupted } else { Exit::Done })
}

fn open(from: &Path) -> std::io::Result<Box<dyn BufRead>> {
    /// Lines have some 200 bytes.
    const HELD_BYTES: usize = 1 << 16;
    Ok(match from == Path::new("-") {
        true => Box::new(stdin().lock()),
        false => Box::new(BufReader::with_capacity(HELD_BYTES, File::open(from)?)),
    })
}

fn about(from: &Path, choice: &Choice) -> AboutSystem {
    // `jackd, 4711 of trace.txt`.
    let threads = match choice.threads.is_empty() {
        true => "all threads".into(),
        false => choice.threads.join(", "),
    };
    AboutSystem {
        hocket: env!("CARGO_PKG_VERSION").into(),
        program: format!("{threads} of {}", name(from)),
        ..AboutSystem::default()
    }
}

fn name(from: &Path) -> String {
    match from == Path::new("-") {
        true => "standard input".into(),
        false => from.file_name().unwrap_or(from.as_os_str()).to_string_lossy().into_owned(),
    }
}
