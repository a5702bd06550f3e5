//! `hocket trace --from`: what another tool has recorded, of the scheduler or of an audio server's cycles, and earlier traces
//! of Hocket.

use std::io::{BufRead, BufReader, ErrorKind};
use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;

use hocket_files::why_unread;
use hocket_trace::cycles::{self, Named, Profiler};
use hocket_trace::read;
use hocket_trace::run::RunTrace;
use hocket_trace::sched_text::{self, Choice};
use hocket_trace::system::{AboutSystem, SystemTrace};
use hocket_trace::write;

use super::format::Format;
use super::incoming::{Incoming, is_stdin};
use super::kind;
use crate::cli::TraceArgs;
use crate::failure::{Exit, Failure};
use crate::files::Files;
use crate::output::{note, print};

/// What a file has.
enum Found {
    /// Blocks of an engine or of an audio server.
    Run(RunTrace),
    /// Threads of a program.
    System(SystemTrace),
}

/// Runs the command.
///
/// # Errors
/// [`Failure`]: a file cannot be read, is none of those that are read, or has none of the chosen threads.
pub(super) fn run(args: &TraceArgs, format: Format) -> Result<Exit, Failure> {
    check(args, format)?;
    let mut files = Files::new(args.force);
    let named = args.from.iter().filter(|from| !is_stdin(from));
    named.for_each(|from| files.reads("--from", from));
    files.prints()?;
    files.writes("--output", &args.output, kind(format))?;
    let stop = crate::interrupt::flag()?;
    // Relaxed: the flag publishes nothing.
    let stopped = || stop.load(Relaxed);
    let choice = Choice { threads: args.threads.clone(), with_children: args.children };
    let mut found = Vec::new();
    for from in &args.from {
        found.push(one(from, &choice, &stopped)?);
    }
    let (summary, bytes) = match &found[..] {
        [Found::System(system)] => (write::system_summary(system), format.bytes_of_system(system)),
        _ => {
            let runs = runs(found, &args.from)?;
            let summary = runs.iter().map(super::summary).collect::<Vec<_>>().concat();
            (summary, format.bytes(&runs))
        }
    };
    files.make_folders()?;
    print(&summary);
    crate::keep::trace(&bytes, &args.output)?;
    crate::written::wrote(&args.output);
    note(format.hint());
    Ok(if stopped() { Exit::Interrupted } else { Exit::Done })
}

/// Two at most, on a page, and not the same one.
fn check(args: &TraceArgs, format: Format) -> Result<(), Failure> {
    let why = match &args.from[..] {
        [_] => return Ok(()),
        [one, other] if one == other => {
            format!("--from {} is given twice; name two files that differ", one.display())
        }
        [_, _] if format != Format::Page => {
            "--from is given twice, and only a page shows two traces; name a file that ends in .html, or one --from".into()
        }
        [_, _] => return Ok(()),
        more => format!("--from is given {} times, and a page shows two traces", more.len()),
    };
    Err(Failure::bad_input(why))
}

/// All of them have blocks, or they do not fit on one page.
fn runs(found: Vec<Found>, from: &[impl AsRef<Path>]) -> Result<Vec<RunTrace>, Failure> {
    let run = |(found, from): (Found, &_)| match found {
        Found::Run(run) => Ok(run),
        Found::System(_) => Err(refused(
            AsRef::<Path>::as_ref(from),
            &"this file has threads and no blocks, so it has a page to itself; leave out the other --from",
        )),
    };
    found.into_iter().zip(from).map(run).collect()
}

fn one(from: &Path, choice: &Choice, stopped: &dyn Fn() -> bool) -> Result<Found, Failure> {
    /// Lines have some 200 bytes.
    const HELD_BYTES: usize = 1 << 16;
    // What ends early because the user wants it is no fault of the file.
    let refused = |why: &dyn std::fmt::Display| match stopped() {
        true => Failure::interrupted(),
        false => refused(from, why),
    };
    let unread = |why: std::io::Error| match why.kind() {
        ErrorKind::IsADirectory => refused(&"this is a folder; name a file in it"),
        _ => refused(&why_unread(from, &why)),
    };
    let incoming = Incoming::open(from, stopped).map_err(unread)?;
    let mut text = BufReader::with_capacity(HELD_BYTES, incoming);
    let beginning = text.fill_buf().map_err(unread)?;
    let (is_own, profiler) = (read::is_own(beginning), Profiler::of(beginning));
    if !is_own && profiler.is_none() {
        let system = sched_text::read(text, about(from, choice), choice, stopped);
        return system.map(Found::System).map_err(|why| refused(&why));
    }
    if *choice != Choice::default() {
        return Err(refused(&if is_own {
            "this file is a trace of a session; leave out --threads and --children"
        } else {
            "this file has clients and no threads; leave out --threads and --children"
        }));
    }
    let run = match profiler {
        None => read::read(text, name(from), stopped),
        Some(profiler) => {
            let named = Named { hocket: env!("CARGO_PKG_VERSION").into(), session: name(from) };
            cycles::read(text, profiler, named, stopped)
        }
    };
    run.map(Found::Run).map_err(|why| refused(&why))
}

fn refused(from: &Path, why: &dyn std::fmt::Display) -> Failure {
    Failure::bad_input(format!("--from {}: {why}", from.display()))
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
    match is_stdin(from) {
        true => "standard input".into(),
        false => from.file_name().unwrap_or(from.as_os_str()).to_string_lossy().into_owned(),
    }
}
