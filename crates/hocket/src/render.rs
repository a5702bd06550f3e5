//! `hocket render`.

mod prepared;
mod size;

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use hocket_engine::{Engine, Policy, Seating, Settings, offline, session_end_frames};
use hocket_files::is_standard_output;
use hocket_media::{AudioWriter, WriteError};

use crate::cli::RenderArgs;
use crate::disk_silence::DiskSilence;
use crate::failure::{Exit, Failure};
use crate::load::LoadedSession;
use crate::load::streams::Wait;
use crate::output::{bar, note, tell};
use crate::takes::{self, Takes, Wanted};
use crate::written::{Parts, wrote};
use prepared::Prepared;
pub(crate) use prepared::format_of;

/// Runs the command.
///
/// # Errors
/// [`Failure`].
pub fn run(args: &RenderArgs) -> Result<Exit, Failure> {
    let prepared = Prepared::of(args)?;
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

/// Writes the file and tells what became of it; `false` where the user stopped it.
pub(crate) fn to_file(args: &RenderArgs, stop: &AtomicBool) -> Result<bool, Failure> {
    render(args, Prepared::of(args)?, stop)
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
    let done = write(&mut engine, (writer, &mut takes), frames, stop);
    let recorded = takes.end();
    for take in &recorded {
        // What is wrong is said with --quiet, too.
        if take.is_whole() { note(take.line()) } else { tell(take.line()) }
    }
    let done = done.map_err(Failure::not_possible)?;
    parts.end("rendering");
    let Some(written) = done.written else { return Ok(false) };
    wrote(&args.output);
    note(summary(&engine, frames as f64 / f64::from(rate_hz), &parts));
    tell_policy(&engine, done.protection);
    tell_faults(&engine, &written);
    if recorded.iter().any(|take| !take.is_whole()) {
        return Err(Failure::not_possible("a take is not whole, as said above"));
    }
    let lost = tell_lost(&loaded);
    if lost > 0 && args.strict {
        return Err(Failure::not_possible(format!(
            "{}: parts of {lost} clips are silent, as said above; make their files whole, or leave out --strict",
            args.output.display()
        )));
    }
    Ok(true)
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

fn tell_faults(engine: &Engine, written: &hocket_media::Written) {
    if written.clipped > 0 {
        tell(format_args!(
            "warning: {} samples were over full scale and are clipped; lower the master's gain_db, or use --format 32f",
            written.clipped
        ));
    }
    engine.contained().iter().for_each(|contained| tell(format_args!("warning: {contained}")));
    for lost in engine.control().lost_events() {
        tell(format_args!(
            "warning: {} lost {} events, because there were more than 1024 in a block; use a smaller --frames",
            lost.node, lost.events
        ));
    }
}

/// What could not be read although the render waited for it.
///
/// Returns of how many clips.
fn tell_lost(loaded: &LoadedSession) -> usize {
    let lost = DiskSilence::of(&loaded.media).streams;
    lost.iter().for_each(|silence| tell(format_args!("warning: {}", silence.line())));
    lost.len()
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
    /// `None` where the user stopped it; the writer has removed what it wrote.
    written: Option<hocket_media::Written>,
    /// What the sibling policy asked of the system and what came of it.
    protection: Option<String>,
}

fn write(
    engine: &mut Engine,
    (mut writer, takes): (AudioWriter, &mut Takes),
    frames: u64,
    stop: &AtomicBool,
) -> Result<Rendered, WriteError> {
    let entered = engine.enter();
    let protection = entered.others.summary();
    let bar = bar(frames, "rendering");
    let done = offline::render_blocks(engine, frames, |engine, length| {
        let rows = engine.output(length);
        takes.keep(engine, length);
        writer.write(rows.left, rows.right)?;
        bar.inc(rows.left.len() as u64);
        Ok::<bool, WriteError>(!stop.load(Relaxed))
    });
    drop(entered);
    bar.finish_and_clear();
    let written = if done? < frames { None } else { Some(writer.finish()?) };
    Ok(Rendered { written, protection })
}
