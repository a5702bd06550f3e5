//! `hocket render`.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use hocket_engine::{
    Engine, Policy, Seating, Settings, offline, prepare_session, session_end_frames,
};
use hocket_media::{WavWriter, WriteError};
use hocket_plan::Fusing;

use crate::cli::RenderArgs;
use crate::failure::{Exit, Failure};
use crate::load::{LoadedSession, load_session, topology};
use crate::output::{bar, print, tell};
use crate::profile::Known;

/// Runs the command.
///
/// # Errors
/// [`Failure`].
pub fn run(args: &RenderArgs) -> Result<Exit, Failure> {
    let stop = crate::interrupt::flag()?;
    match to_file(args, &stop)? {
        None => {
            tell(format_args!("interrupted; nothing was written to {}", args.output.display()));
            Ok(Exit::Interrupted)
        }
        Some(summary) => {
            print(&summary);
            Ok(Exit::Done)
        }
    }
}

/// Writes the file and tells what became of it; `None` where the user stopped it.
pub(crate) fn to_file(args: &RenderArgs, stop: &AtomicBool) -> Result<Option<String>, Failure> {
    crate::bench::check_waits("--wait", args.wait.as_slice())?;
    let topology = topology()?;
    let known = Known::find(&args.profile, &topology)?;
    known.tell();
    let loaded = load_session(&args.session, args.rate, &topology)?;
    loaded.accept(args.strict)?;
    crate::bench::check_block(args.frames, loaded.rate_hz)?;
    let frames = length_frames(args, &loaded)?;
    let mut engine = engine(args, &loaded, &topology, &known)?;
    let writer = WavWriter::create(&args.output, loaded.rate_hz, args.format.into())
        .map_err(Failure::not_possible)?;
    let started = std::time::Instant::now();
    let written = write(&mut engine, writer, frames, stop).map_err(Failure::not_possible)?;
    Ok(written.map(|written| {
        let length_s = frames as f64 / f64::from(loaded.rate_hz);
        let factor = length_s / started.elapsed().as_secs_f64().max(1e-9);
        summary(args, &engine, &written, length_s, factor)
    }))
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

/// The length that was asked for, or else the session's own; `None` where it has no end.
pub(crate) fn wanted_frames(
    length: Option<f64>,
    loaded: &LoadedSession,
) -> Result<Option<u64>, Failure> {
    let rate = f64::from(loaded.rate_hz);
    if let Some(length) = length {
        if !(length > 0.0 && length <= 86_400.0) {
            return Err(Failure::bad_input(format!(
                "--length {length}: choose more than 0 and at most 86400 seconds"
            )));
        }
        return Ok(Some((length * rate).round().max(1.0) as u64));
    }
    let by_session = loaded.session.length_s.map(|length| (length * rate).round() as u64);
    Ok(by_session
        .or_else(|| session_end_frames(&loaded.session, &loaded.media, loaded.rate_hz))
        .filter(|frames| *frames > 0))
}

fn engine(
    args: &RenderArgs,
    loaded: &LoadedSession,
    topology: &hocket_machine::Topology,
    known: &Known,
) -> Result<Engine, Failure> {
    let schedule = known.schedule_or(args.schedule, args.frames);
    let policy = Policy {
        schedule: schedule.kind(),
        sibling: known.policy(args.policy, args.frames, topology, None),
        wait: known.wait_or(args.wait, args.frames),
    };
    let settings = Settings {
        priority: None,
        spans: false,
        ..Settings::new(args.frames, loaded.rate_hz, policy)
    };
    let settings = known.inform(schedule.steer(settings));
    let seating = Seating::here_with(topology, policy.sibling, args.workers, &known.speeds())
        .map_err(Failure::bad_input)?;
    let prepared = prepare_session(&loaded.session, &loaded.media, loaded.rate_hz, Fusing::Chains)
        .map_err(Failure::bad_input)?;
    Engine::start(prepared, settings, seating).map_err(Failure::not_possible)
}

/// `None` where the user stopped it; the writer then removes what it wrote.
fn write(
    engine: &mut Engine,
    mut writer: WavWriter,
    frames: u64,
    stop: &AtomicBool,
) -> Result<Option<hocket_media::Written>, WriteError> {
    let entered = engine.enter();
    let bar = bar(frames, "rendering");
    let done = offline::render(engine, frames, |rows| {
        writer.write(rows.left, rows.right)?;
        bar.inc(rows.left.len() as u64);
        Ok::<bool, WriteError>(!stop.load(Relaxed))
    });
    drop(entered);
    bar.finish_and_clear();
    if done? < frames { Ok(None) } else { writer.finish().map(Some) }
}
