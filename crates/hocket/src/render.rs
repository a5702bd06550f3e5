//! `hocket render`.

mod prepared;
mod size;
mod writing;

use std::convert::Infallible;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use hocket_engine::{Engine, Policy, Seating, Settings, offline, session_end_frames};
use hocket_files::is_standard_output;
use hocket_media::{AudioWriter, WriteError};

use crate::cli::RenderArgs;
use crate::disk_silence::DiskSilence;
use crate::failure::{Exit, Failure};
use crate::load::LoadedSession;
use crate::load::streams::Wait;
use crate::lost_events::NoRoom;
use crate::output::{bar, detail, note, tell};
use crate::takes::{self, Takes, Wanted};
use crate::written::{Parts, seconds, wrote};
use prepared::Prepared;
pub(crate) use prepared::format_of;
use writing::{Finished, Writing};

/// Runs the command.
///
/// # Errors
/// [`Failure`].
pub fn run(args: &RenderArgs) -> Result<Exit, Failure> {
    let prepared = Prepared::of(args, Recording::Armed)?;
    let stop = crate::interrupt::flag()?;
    match render(args, prepared, &stop)? {
        true => Ok(Exit::Done),
        false => {
            // Standard output is the audio's then.
            let piped = is_standard_output(&args.output);
            let what = if piped { "the end is missing in" } else { "nothing was written to" };
            tell(format_args!("interrupted; {what} {}", args.output.display()));
            Ok(Exit::Interrupted)
        }
    }
}

/// Whether a command records takes that are armed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Recording {
    /// As the session asks for.
    Armed,
    /// It measures, and may run again: its takes would be in the way of the next run's.
    Nothing,
}

/// Writes the file and no takes, and tells what became of it; `false` where the user stopped it.
pub(crate) fn to_file(args: &RenderArgs, stop: &AtomicBool) -> Result<bool, Failure> {
    render(args, Prepared::of(args, Recording::Nothing)?, stop)
}

fn render(args: &RenderArgs, prepared: Prepared, stop: &AtomicBool) -> Result<bool, Failure> {
    let Prepared { opened, format, known, schedule, sibling, seating, takes: wanted } = prepared;
    let disk = args.disk.with(Wait::ForTheDisk, args.strict);
    let Some(loaded) = opened.load_unless(disk, stop)? else { return Ok(false) };
    loaded.accept(args.strict)?;
    let (rate_hz, frames) = (loaded.rate_hz, length_frames(args, &loaded)?);
    size::question(args, frames, rate_hz)?;
    let policy =
        Policy { schedule: schedule.kind(), sibling, wait: known.wait_or(args.wait, args.frames) };
    let settings =
        Settings { priority: None, spans: false, ..Settings::new(args.frames, rate_hz, policy) };
    let mut parts = Parts::default();
    parts.end("loading");
    let settings = known.inform(schedule.steer(settings));
    let mut engine = engine(&loaded, settings, seating, &wanted)?;
    let writer = AudioWriter::create(&args.output, format, rate_hz, args.format.into(), frames)
        .map_err(Failure::not_possible)?;
    let mut takes = Takes::begin(&wanted, &engine, Some(frames))?;
    let writing = Writing::start(vec![writer])?;
    let done = write(&mut engine, (writing, &mut takes), frames, (stop, &mut parts));
    let recorded = takes.end();
    for take in &recorded {
        // What is wrong is said with --quiet, too.
        if take.is_whole() { note(take.line()) } else { tell(take.line()) }
    }
    let done = done.map_err(Failure::not_possible)?;
    let Some(finished) = done.finished else { return Ok(false) };
    wrote(&args.output);
    note(summary(&engine, frames as f64 / f64::from(rate_hz), &parts));
    tell_policy(&engine, done.protection);
    tell_writing(&finished);
    tell_faults(&engine, &finished);
    if recorded.iter().any(|take| !take.is_whole()) {
        return Err(Failure::not_possible("a take is not whole, as said above"));
    }
    let silence = DiskSilence::of(&loaded.media);
    silence.streams.iter().for_each(|lost| tell(format_args!("warning: {}", lost.line())));
    match silence.refusal(args.strict) {
        Some(why) => Err(Failure::not_possible(format!("{}: {why}", args.output.display()))),
        None => Ok(true),
    }
}

/// What the sibling policy asked of the system and what came of it, and why it has no effect here.
fn tell_policy(engine: &Engine, protection: Option<String>) {
    let name = engine.settings().policy.sibling.name();
    let no_effect = engine.seating().placement().no_effect.clone();
    protection
        .into_iter()
        .chain(no_effect)
        .for_each(|said| note(format_args!("policy {name}: {said}")));
}

/// How fast it was: against real time, from the start of the command to the whole file.
fn summary(engine: &Engine, length_s: f64, parts: &Parts) -> String {
    let workers = match engine.schedule().workers() {
        1 => "1 worker".into(),
        workers => format!("{workers} workers"),
    };
    let factor = length_s / parts.total().as_secs_f64().max(1e-9);
    format!("{length_s:.3} s of audio, {workers}, {factor:.1} times real time ({})", parts.text())
}

/// What went on beside the blocks.
fn tell_writing(finished: &Finished) {
    detail(format_args!(
        "files were encoded and written beside the blocks in {}; the blocks waited {} for it",
        seconds(finished.busy),
        seconds(finished.waited)
    ));
}

fn tell_faults(engine: &Engine, finished: &Finished) {
    let clipped: u64 = finished.files.iter().map(|file| file.clipped).sum();
    if clipped > 0 {
        tell(format_args!(
            "warning: {clipped} samples were over full scale and are clipped; lower the master's gain_db, or use --format \
             32f"
        ));
    }
    engine.contained().iter().for_each(|contained| tell(format_args!("warning: {contained}")));
    NoRoom::of(engine).lines().for_each(|line| tell(format_args!("warning: {line}")));
}

fn length_frames(args: &RenderArgs, loaded: &LoadedSession) -> Result<u64, Failure> {
    wanted_frames(args.length, loaded)?.ok_or_else(|| {
        Failure::bad_input(format!(
            "{}: the session has no end, because a clip or its transport loops for ever (or nothing plays); set \
             length_s in [session], or use --length SECONDS",
            args.session.display()
        ))
    })
}

/// A length that can be rendered or played.
pub(crate) fn check_length(length: Option<f64>) -> Result<(), Failure> {
    match length {
        Some(length) if !(length > 0.0 && length <= 86_400.0) => Err(Failure::bad_input(format!(
            "--length {length}: choose more than 0 and at most 86400 seconds"
        ))),
        _ => Ok(()),
    }
}

/// The length that was asked for, or else the session's own; `None` where it has no end.
pub(crate) fn wanted_frames(
    length: Option<f64>,
    loaded: &LoadedSession,
) -> Result<Option<u64>, Failure> {
    let rate = f64::from(loaded.rate_hz);
    check_length(length)?;
    if let Some(length) = length {
        return Ok(Some((length * rate).round().max(1.0) as u64));
    }
    let by_session = loaded.session.length_s.map(|length| (length * rate).round() as u64);
    Ok(by_session
        .or_else(|| session_end_frames(&loaded.session, &loaded.media, loaded.rate_hz))
        .filter(|frames| *frames > 0))
}

fn engine(
    loaded: &LoadedSession,
    settings: Settings,
    seating: Seating,
    takes: &[Wanted],
) -> Result<Engine, Failure> {
    Engine::start(takes::tapped(loaded.prepare()?, takes)?, settings, seating)
        .map_err(Failure::not_possible)
}

/// What came of a render.
struct Rendered {
    /// `None` where the user stopped it; nothing is left of what was written.
    finished: Option<Finished>,
    /// What the sibling policy asked of the system and what came of it.
    protection: Option<String>,
}

fn write(
    engine: &mut Engine,
    (mut writing, takes): (Writing, &mut Takes),
    frames: u64,
    (stop, parts): (&AtomicBool, &mut Parts),
) -> Result<Rendered, WriteError> {
    let entered = engine.enter();
    let protection = entered.others.summary();
    let bar = bar(frames, "rendering");
    let done = offline::render_blocks(engine, frames, |engine, length| {
        takes.keep(engine, length);
        take(&mut writing, engine, length);
        bar.inc(length as u64);
        Ok::<bool, Infallible>(writing.pass_on() && !stop.load(Relaxed))
    });
    drop(entered);
    bar.finish_and_clear();
    parts.end("rendering");
    let Ok(done) = done;
    if done < frames && !writing.has_failed() {
        return Ok(Rendered { finished: None, protection });
    }
    let finished = Some(writing.finish()?);
    parts.end("completing the file");
    Ok(Rendered { finished, protection })
}

/// Takes what the last block put out.
fn take(writing: &mut Writing, engine: &Engine, frames: usize) {
    let rows = engine.output(frames);
    for [left, right] in &mut writing.piece().files {
        left.extend_from_slice(rows.left);
        right.extend_from_slice(rows.right);
    }
}
