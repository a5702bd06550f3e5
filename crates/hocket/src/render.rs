//! `hocket render`.

mod prepared;
mod size;

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use hocket_engine::{
    Engine, Policy, Seating, Settings, offline, prepare_session, session_end_frames,
};
use hocket_files::is_standard_output;
use hocket_media::{AudioWriter, WriteError};
use hocket_plan::Fusing;

use crate::cli::RenderArgs;
use crate::failure::{Exit, Failure};
use crate::load::LoadedSession;
use crate::output::{bar, print, print_aside, tell};
use crate::play::protection;
use prepared::Prepared;

/// Runs the command.
///
/// # Errors
/// [`Failure`].
pub fn run(args: &RenderArgs) -> Result<Exit, Failure> {
    let prepared = Prepared::of(args)?;
    let stop = crate::interrupt::flag()?;
    // Standard output is the audio's then.
    let piped = is_standard_output(&args.output);
    match render(args, prepared, &stop)? {
        None => {
            let what = if piped { "the end is missing in" } else { "nothing was written to" };
            tell(format_args!("interrupted; {what} {}", args.output.display()));
            Ok(Exit::Interrupted)
        }
        Some(summary) => {
            match piped {
                true => print_aside(&summary),
                false => print(&summary),
            }
            Ok(Exit::Done)
        }
    }
}

/// Writes the file and tells what became of it; `None` where the user stopped it.
pub(crate) fn to_file(args: &RenderArgs, stop: &AtomicBool) -> Result<Option<String>, Failure> {
    render(args, Prepared::of(args)?, stop)
}

fn render(
    args: &RenderArgs,
    prepared: Prepared,
    stop: &AtomicBool,
) -> Result<Option<String>, Failure> {
    let Prepared { opened, format, known, schedule, sibling, seating } = prepared;
    let Some(loaded) = opened.load_unless(stop)? else { return Ok(None) };
    loaded.accept(args.strict)?;
    let (rate_hz, frames) = (loaded.rate_hz, length_frames(args, &loaded)?);
    size::question(args, frames, rate_hz)?;
    let policy =
        Policy { schedule: schedule.kind(), sibling, wait: known.wait_or(args.wait, args.frames) };
    let settings =
        Settings { priority: None, spans: false, ..Settings::new(args.frames, rate_hz, policy) };
    let mut engine = engine(&loaded, known.inform(schedule.steer(settings)), seating)?;
    let writer = AudioWriter::create(&args.output, format, rate_hz, args.format.into(), frames)
        .map_err(Failure::not_possible)?;
    let started = std::time::Instant::now();
    let done = write(&mut engine, writer, frames, stop).map_err(Failure::not_possible)?;
    let length_s = frames as f64 / f64::from(rate_hz);
    let factor = length_s / started.elapsed().as_secs_f64().max(1e-9);
    Ok(done.written.map(|written| {
        summary(args, &engine, &written, length_s, factor) + &policy_text(&engine, done.protection)
    }))
}

/// What the sibling policy asked of the system and what came of it, and why it has no effect here.
fn policy_text(engine: &Engine, protection: Option<String>) -> String {
    let name = engine.settings().policy.sibling.name();
    let no_effect = engine.seating().placement().no_effect.clone();
    let said = protection.into_iter().chain(no_effect);
    said.map(|said| format!("policy {name}: {said}\n")).collect()
}

fn summary(
    args: &RenderArgs,
    engine: &Engine,
    written: &hocket_media::Written,
    length_s: f64,
    factor: f64,
) -> String {
    let workers = engine.schedule().workers();
    let mut text = format!(
        "{}: {length_s:.3} s, {workers} workers, {factor:.1} times real time\n",
        args.output.display()
    );
    if written.clipped > 0 {
        text += &format!(
            "{} samples were over full scale and are clipped; lower the master's gain_db, or use --format 32f\n",
            written.clipped
        );
    }
    for contained in engine.contained() {
        text += &format!("{contained}\n");
    }
    text
}

fn length_frames(args: &RenderArgs, loaded: &LoadedSession) -> Result<u64, Failure> {
    wanted_frames(args.length, loaded)?.ok_or_else(|| {
        Failure::bad_input(format!(
            "{}: the session has no end, because a clip loops for ever (or nothing plays); set \
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

fn engine(loaded: &LoadedSession, settings: Settings, seating: Seating) -> Result<Engine, Failure> {
    let prepared = prepare_session(&loaded.session, &loaded.media, loaded.rate_hz, Fusing::Chains)
        .map_err(Failure::bad_input)?;
    Engine::start(prepared, settings, seating).map_err(Failure::not_possible)
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
    mut writer: AudioWriter,
    frames: u64,
    stop: &AtomicBool,
) -> Result<Rendered, WriteError> {
    let entered = engine.enter();
    let protection = protection(&entered);
    let bar = bar(frames, "rendering");
    let done = offline::render(engine, frames, |rows| {
        writer.write(rows.left, rows.right)?;
        bar.inc(rows.left.len() as u64);
        Ok::<bool, WriteError>(!stop.load(Relaxed))
    });
    drop(entered);
    bar.finish_and_clear();
    let written = if done? < frames { None } else { Some(writer.finish()?) };
    Ok(Rendered { written, protection })
}
