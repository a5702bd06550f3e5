//! `hocket render`.

mod prepared;
mod region;
mod size;
mod stems;
mod held;
mod writing;
mod normalize;
mod levels;

use std::convert::Infallible;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use hocket_engine::{Engine, Policy, Protection, Seating, Settings, offline, session_end_frames};
use hocket_files::is_standard_output;
use hocket_lab::numbers::counted;
use hocket_media::{AudioWriter, FileFormat, LevelMeter, WriteError};
use hocket_plan::Session;

use crate::cli::{DitherArg, RenderArgs};
use crate::disk_silence::DiskSilence;
use crate::failure::{Exit, Failure};
use crate::load::streams::Wait;
use crate::load::{LoadedSession, OpenedSession, effects};
use crate::lost_events::NoRoom;
use crate::output::{bar, detail, note, tell, warn};
use crate::plugin::{isolated, watched};
use crate::restarts::Restarts;
use crate::takes::{self, Recorded, Takes, Wanted};
use crate::written::{Parts, seconds, wrote};
use held::Held;
use normalize::Complete;
use prepared::Prepared;
pub(crate) use prepared::format_of;
pub(crate) use region::frame_at;
use region::{Asked, Region};
use stems::{Sources, Stems};
use writing::{Finished, Output, Writing};

/// Effects delay the sound, so the song goes on behind the last frame that is written: so long at most.
const LONGEST_LATENCY_S: u64 = 10;

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
    let Prepared {
        mut opened,
        format,
        dither,
        measures,
        known,
        schedule,
        sibling,
        seating,
        region,
        stems,
        takes: wanted,
    } = prepared;
    let disk = args.disk.with(Wait::ForTheDisk, args.strict);
    let until = until(region, &opened);
    until.into_iter().for_each(|until| opened.ends_before(until));
    let Some(loaded) = opened.load_unless(disk, stop)? else { return Ok(false) };
    loaded.accept(args.strict)?;
    let rate_hz = loaded.rate_hz;
    let region = region.within(args, || length_frames(args, &loaded), rate_hz)?;
    size::question(args, region, rate_hz, stems.paths().count() as u64)?;
    let policy =
        Policy { schedule: schedule.kind(), sibling, wait: known.wait_or(args.wait, args.frames) };
    let settings =
        Settings { priority: None, spans: false, ..Settings::new(args.frames, rate_hz, policy) };
    let settings = Settings { couples: args.lanes.into(), ..settings };
    let mut parts = Parts::default();
    parts.end("loading");
    let settings = known.inform(schedule.steer(settings));
    let mut engine = engine(&loaded, settings, seating, (&stems, &wanted))?;
    let first_stem = engine.output_latencies().len() - stems.paths().count() - wanted.len();
    let sources = Sources::new(&engine, first_stem, &stems);
    let _folder = stems.make_folder()?;
    let paths: Vec<&Path> = std::iter::once(args.output.as_path()).chain(stems.paths()).collect();
    let readers = paths.iter().map(|path| crate::pipe::reader_of(path));
    let _readers = readers.collect::<Result<Vec<_>, Failure>>()?;
    let wanted_files = Wanting { args, format, dither, measures, rate_hz, region };
    let numbered = (0..).zip(&paths).map(|(number, path)| wanted_files.create(number, path));
    let files = numbered.collect::<Result<Vec<Output>, WriteError>>();
    let files = files.map_err(Failure::not_possible)?;
    let recorded = Recorded { start_frame: region.from, frames: Some(region.frames()), trip: None };
    let takes = Takes::begin(&wanted, &engine, &recorded)?;
    // What isolation delays, the files do not: they are those of the same render without.
    let added = isolated::added_frames(&loaded.session, &effects(), rate_hz);
    let rendered = Region { from: region.from + added, to: region.to + added };
    check_latency(&engine, rendered, until)?;
    let mut takes = takes.starting_at(rendered.from);
    let writing = Writing::start(files)?;
    // Nothing else asks to be made anew.
    let restarts = isolated::has_plugins(&loaded.session).then(|| Restarts::new(engine.control()));
    let ways = (writing, sources, &mut takes, restarts);
    let done = write(&mut engine, ways, rendered, (stop, &mut parts));
    let recorded = takes.end();
    for take in &recorded {
        // What is wrong is said with --quiet, too.
        if take.is_whole() { note(take.line()) } else { tell(take.line()) }
    }
    let done = done.map_err(Failure::not_written)?;
    let Some(Finished { files, busy, waited }) = done.finished else { return Ok(false) };
    let in_blocks = done.in_blocks;
    let completed = normalize::complete(files, args.normalize, region.frames(), stop)?;
    let Some((files, gain_db)) = completed else { return Ok(false) };
    if gain_db.is_some() {
        parts.end("normalizing");
    }
    wrote(&args.output);
    stems.line().into_iter().for_each(note);
    note(summary(&engine, region.frames() as f64 / f64::from(rate_hz), &parts));
    tell_levels(args, gain_db, &paths, &files);
    tell_policy(&engine, &done.protection);
    detail(format_args!(
        "the blocks took {}; files were encoded and written beside them in {}, and the blocks waited {} for it",
        seconds(in_blocks),
        seconds(busy),
        seconds(waited)
    ));
    tell_faults(&engine);
    if recorded.iter().any(|take| !take.is_whole()) {
        return Err(Failure::not_possible("a take is not whole, as said above"));
    }
    let silence = DiskSilence::since(&[], loaded.not_ready());
    silence.tell();
    match silence.refusal(args.strict) {
        Some(why) => Err(Failure::not_possible(format!("{}: {why}", args.output.display()))),
        None => Ok(true),
    }
}

/// What the sibling policy asked of the system and what came of it, and why it has no effect here.
fn tell_policy(engine: &Engine, protection: &Protection) {
    let name = engine.settings().policy.sibling.name();
    match protection.summary() {
        Some(said) if protection.is_complete() => note(format_args!("policy {name}: {said}")),
        Some(said) => warn(format_args!("policy {name}: {said}")),
        None => {}
    }
    if let Some(why) = &engine.seating().placement().no_effect {
        note(format_args!("policy {name}: {why}"));
    }
}

/// How fast it was: against real time, from the start of the command to the whole file.
fn summary(engine: &Engine, length_s: f64, parts: &Parts) -> String {
    let workers = counted(engine.schedule().workers(), "worker");
    let factor = length_s / parts.total().as_secs_f64().max(1e-9);
    format!("{length_s:.3} s of audio, {workers}, {factor:.1} times real time ({})", parts.text())
}

/// How loud the files are, and what was clipped.
fn tell_levels(args: &RenderArgs, gain_db: Option<f64>, paths: &[&Path], files: &[Complete]) {
    let named = || paths.iter().copied().zip(files);
    if let Some((asked, gain_db)) = args.normalize.zip(gain_db) {
        note(format_args!("normalized to {asked}: a gain of {} dB", normalize::signed(gain_db)));
    }
    levels::tell(named().filter_map(|(path, file)| Some((path, file.levels?))));
    if let Some((asked, gain_db)) = args.normalize.zip(gain_db) {
        return normalize::warn(asked, gain_db, args.format, named());
    }
    let clipped: u64 = files.iter().map(|file| file.written.clipped).sum();
    if clipped > 0 {
        tell(format_args!(
            "warning: clipped at full scale: {}; lower the master's gain_db, or use --format 32f",
            counted(clipped as usize, "sample")
        ));
    }
}

fn tell_faults(engine: &Engine) {
    engine.contained().iter().for_each(|contained| tell(format_args!("warning: {contained}")));
    isolated::reports().iter().for_each(|report| tell(format_args!("warning: {report}")));
    watched::News::default().look();
    NoRoom::of(engine).lines().for_each(|line| tell(format_args!("warning: {line}")));
}

/// What all files of a render have in common.
struct Wanting<'a> {
    args: &'a RenderArgs,
    format: FileFormat,
    dither: DitherArg,
    /// Whether anybody asks how loud they are.
    measures: bool,
    rate_hz: u32,
    region: Region,
}

impl Wanting<'_> {
    /// The file with this number; the mix has 0.
    fn create(&self, number: u64, path: &Path) -> Result<Output, WriteError> {
        let Wanting { args, format, rate_hz, region, .. } = *self;
        let file = AudioWriter::create(path, format, rate_hz, args.format.into(), region.frames())?;
        let file = file.with_dither(self.dither.of_file(number, region.from));
        let meter = || LevelMeter::new(rate_hz);
        let held = args.normalize.map(|_| Held::create(path)).transpose()?;
        Ok(Output { file, meter: meter().filter(|_| self.measures), held: held.zip(meter()) })
    }
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
            "--length {}: choose more than 0 and at most 86400 seconds",
            crate::cli::number(length)
        ))),
        _ => Ok(()),
    }
}

/// A length in frames, at least one.
pub(crate) fn frames_of(length_s: f64, rate_hz: u32) -> u64 {
    (length_s * f64::from(rate_hz)).round().max(1.0) as u64
}

/// The length that the session states.
fn stated_frames(session: &Session, rate_hz: u32) -> Option<u64> {
    session.length_s.map(|length| (length * f64::from(rate_hz)).round() as u64)
}

/// The length that was asked for, or else the session's own; `None` where it has no end.
pub(crate) fn wanted_frames(
    length: Option<f64>,
    loaded: &LoadedSession,
) -> Result<Option<u64>, Failure> {
    check_length(length)?;
    if let Some(length) = length {
        return Ok(Some(frames_of(length, loaded.rate_hz)));
    }
    Ok(stated_frames(&loaded.session, loaded.rate_hz)
        .or_else(|| session_end_frames(&loaded.session, &loaded.media, loaded.rate_hz))
        .filter(|frames| *frames > 0))
}

/// The frame to which the song never comes, where arguments or session say when it ends.
fn until(region: Asked, opened: &OpenedSession) -> Option<u64> {
    let rate_hz = opened.rate_hz();
    let end = region.known_end(opened.session(), rate_hz)?;
    Some(end + LONGEST_LATENCY_S * u64::from(rate_hz))
}

/// Refuses effects that would have the song go on to where its files are not in memory.
fn check_latency(engine: &Engine, rendered: Region, until: Option<u64>) -> Result<(), Failure> {
    let latency = engine.output_latencies().iter().copied().max().unwrap_or(0);
    let end = rendered.to + u64::from(latency) + u64::from(engine.settings().frames);
    match until.is_some_and(|until| end > until) {
        true => Err(Failure::not_possible(format!(
            "the effects have more than {LONGEST_LATENCY_S} s of latency; render the whole session, without --to, --length and \
             length_s"
        ))),
        false => Ok(()),
    }
}

fn engine(
    loaded: &LoadedSession,
    settings: Settings,
    seating: Seating,
    (stems, takes): (&Stems, &[Wanted]),
) -> Result<Engine, Failure> {
    let taps = stems.taps().chain(takes.iter().map(Wanted::from));
    Engine::start(takes::tapped(loaded.prepare()?, taps)?, settings, seating)
        .map_err(Failure::not_possible)
}

/// What came of a render.
struct Rendered {
    /// `None` where the user stopped it; nothing is left of what was written.
    finished: Option<Finished>,
    /// How long the blocks took, with what they read from the disk.
    in_blocks: Duration,
    /// What the sibling policy asked of the system and what came of it.
    protection: Protection,
}

fn write(
    engine: &mut Engine,
    (mut writing, mut sources, takes, mut restarts): (
        Writing,
        Sources,
        &mut Takes,
        Option<Restarts>,
    ),
    region: Region,
    (stop, parts): (&AtomicBool, &mut Parts),
) -> Result<Rendered, WriteError> {
    let entered = engine.enter();
    let protection = entered.others();
    let bar = bar(region.to, "rendering");
    let mut before = region.from;
    let (begun, mut between) = (Instant::now(), Duration::ZERO);
    let done = offline::render_blocks(engine, region.to, |engine, length| {
        let ended = Instant::now();
        takes.keep(engine, length);
        let skipped = before.min(length as u64);
        before -= skipped;
        sources.take(engine, length, skipped as usize, writing.piece());
        bar.inc(length as u64);
        restarts.iter_mut().for_each(Restarts::look);
        let goes_on = writing.pass_on() && !stop.load(Relaxed);
        between += ended.elapsed();
        Ok::<bool, Infallible>(goes_on)
    });
    let in_blocks = begun.elapsed().saturating_sub(between);
    let Ok(done) = done;
    // Takes that are moved to where they belong have their end behind the file's.
    let behind = if done == region.to { takes.remaining() } else { 0 };
    let Ok(_) = offline::render_blocks(engine, behind, |engine, length| {
        takes.keep(engine, length);
        Ok::<bool, Infallible>(!stop.load(Relaxed))
    });
    drop(entered);
    bar.finish_and_clear();
    parts.end("rendering");
    if done < region.to && !writing.has_failed() {
        return Ok(Rendered { finished: None, in_blocks, protection });
    }
    let finished = Some(writing.finish()?);
    parts.end("completing the file");
    Ok(Rendered { finished, in_blocks, protection })
}
