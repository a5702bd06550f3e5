//! `hocket play`: a session in real time, and why blocks were late.

mod costs;
mod meter;
mod outcome;
mod takes;
mod watcher;

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use hocket_engine::control::choose_sibling_policy::Need;
use hocket_engine::{
    Engine, Entered, FlightRecorder, FlightSettings, Policy, SeatSpeeds, Seating, Settings,
    ThreadReport, VirtualDevice, flight, prepare_session, seats_of,
};
use hocket_machine::Topology;
use hocket_machine::pin::current_thread;
use hocket_plan::session::StripId;
use hocket_plan::{CostTable, Fusing, SiblingPolicy};

use crate::cli::{PlayArgs, ScheduleArg, SiblingChoice};
use crate::disk_silence::DiskSilence;
use crate::failure::{Exit, Failure};
use crate::files::{Files, Kind};
use crate::load::streams::Wait;
use crate::load::{LoadedSession, OpenedSession, topology};
use crate::output::{note, print, print_json, tell};
use crate::profile::Known;
use crate::render::{check_length, wanted_frames};
use crate::written::{Parts, wrote};
use meter::Meter;
use outcome::{Disk, Outcome};
use takes::Takes;
use watcher::{Live, watch};

/// Late blocks on their way to be explained; the watcher takes them ten times a second, so it is
/// enough for every block of 64 frames at 48 kHz to be late.
const EVENTS: usize = 128;
/// Room for 3200 thread switches of a CPU between two looks.
const SWITCH_RING_BYTES: usize = 1 << 18;

/// Runs the command.
///
/// # Errors
/// [`Failure`].
pub fn run(args: &PlayArgs) -> Result<Exit, Failure> {
    check_device(&args.device)?;
    crate::bench::check_waits("--wait", args.wait.as_slice())?;
    crate::bench::check_waits("--seat-wait", &[args.seat_wait])?;
    let topology = topology()?;
    let known = Known::find(&args.profile, &topology)?;
    known.tell();
    let known_costs = args.costs.as_deref().map(|path| Ok((path, costs::read(path)?)));
    let costs = known_costs.transpose()?;
    let project = args.project.with(args.strict);
    let opened = OpenedSession::open_as(&args.session, args.rate, &topology, project)?;
    check_files(args, &opened)?;
    crate::bench::check_block(args.frames, opened.rate_hz())?;
    check_length(args.length)?;
    check_workers(args, &topology)?;
    crate::notes::serial_workers(args.workers, &[args.schedule]);
    let mut parts = Parts::default();
    let strips = takes::strips(&args.take, opened.session())?;
    let loaded = opened.load_for(&args.disk.with(Wait::Never, args.strict))?;
    loaded.accept(args.strict)?;
    parts.end("loading");
    let frames = wanted_frames(args.length, &loaded)?;
    let blocks = frames.map(|frames| frames.div_ceil(u64::from(args.frames)).max(1));
    let stop = crate::interrupt::flag()?;
    let stage =
        Stage { args, loaded: &loaded, topology: &topology, known: &known, costs, strips: &strips };
    let mut engine = stage.engine(&stop)?;
    fill(&loaded, &stop);
    ready_to_loop(&loaded);
    let takes = Takes::begin(&args.take, &engine, frames)?;
    parts.end("preparing");
    let outcome = play(&mut engine, (blocks, takes), &stop, args, &loaded);
    parts.end("playing");
    match args.json {
        true => print_json(&outcome.json()),
        false => print(&outcome.text()),
    }
    if let Some(path) = &args.costs {
        costs::keep(path, &engine.control())?;
        wrote(path);
    }
    parts.tell();
    Ok(exit(&outcome, args))
}

fn check_files(args: &PlayArgs, opened: &OpenedSession) -> Result<(), Failure> {
    let mut files = Files::new(false);
    files.reads_session(&args.session, opened.sources());
    args.profile.profile.iter().for_each(|path| files.reads("the profile", path));
    if let Some(path) = &args.costs {
        files.writes("--costs", path, Kind::Checked)?;
    }
    takes::check_files(&args.take, opened.rate_hz(), &mut files)
}

/// More workers than the policy has seats for are refused later; more than the machine has, before anything is loaded.
fn check_workers(args: &PlayArgs, topology: &Topology) -> Result<(), Failure> {
    let seats =
        Seating::here_with(topology, SiblingPolicy::All, args.workers, &SeatSpeeds::default());
    seats.map(drop).map_err(Failure::bad_input)
}

fn check_device(device: &str) -> Result<(), Failure> {
    match device {
        "virtual" => Ok(()),
        other => Err(Failure::not_possible(format!(
            "--device {other}: not built in yet: use virtual, which has a clock and a deadline and \
             no sound"
        ))),
    }
}

fn exit(outcome: &Outcome, args: &PlayArgs) -> Exit {
    let missed = args.max_misses.is_some_and(|most| outcome.meter.misses.total() > most);
    let lost = outcome.takes.iter().any(|take| !take.is_whole());
    match (lost, outcome.interrupted, missed) {
        (true, _, _) => Exit::NotPossible,
        (false, true, _) => Exit::Interrupted,
        (false, false, true) => Exit::Missed,
        (false, false, false) => Exit::Done,
    }
}

/// What an engine is made from.
struct Stage<'a> {
    args: &'a PlayArgs,
    loaded: &'a LoadedSession,
    topology: &'a Topology,
    known: &'a Known,
    /// Where costs are kept, and what is known of them.
    costs: Option<(&'a Path, Option<CostTable>)>,
    /// What is recorded.
    strips: &'a [StripId],
}

impl Stage<'_> {
    /// An engine that is ready to play. Where the policy is left to Hocket, the session's own costs may
    /// call for another one than the machine alone.
    fn engine(&self, stop: &AtomicBool) -> Result<Engine, Failure> {
        let (args, frames) = (self.args, self.args.frames);
        // Where the schedule is left to Hocket, so is the policy.
        let usual = match args.schedule {
            ScheduleArg::Auto => SiblingChoice::Auto,
            _ => SiblingPolicy::Off.into(),
        };
        let asked = args.policy.unwrap_or(usual);
        let first = self.known.policy(asked, frames, self.topology, None);
        let mut engine = self.started(first)?;
        if asked == SiblingChoice::Auto && seats_of(self.topology).0.has_pairs() {
            let need = self.need(&mut engine, stop);
            let better = self.known.policy(SiblingChoice::Auto, frames, self.topology, Some(need));
            if better != first {
                drop(engine);
                engine = self.started(better)?;
            }
        }
        if let Some((path, table)) = &self.costs {
            note(format_args!("costs: {}", costs::adopt(path, table.as_ref(), &engine)?));
        }
        if args.schedule == ScheduleArg::Auto {
            rehearse(&mut engine, stop);
        }
        Ok(engine)
    }

    fn started(&self, sibling: SiblingPolicy) -> Result<Engine, Failure> {
        let Stage { args, loaded, topology, known, .. } = self;
        let wait = known.wait_or(args.wait, args.frames);
        let policy = Policy { schedule: args.schedule.kind(), sibling, wait };
        let priority = (args.priority > 0).then_some(args.priority);
        let seat_wait = args.seat_wait.into();
        let settings =
            Settings { priority, seat_wait, ..Settings::new(args.frames, loaded.rate_hz, policy) };
        let settings = known.inform(args.schedule.steer(settings));
        let seating = Seating::here_with(topology, sibling, args.workers, &known.speeds())
            .map_err(Failure::bad_input)?;
        let (session, media) = (&loaded.session, &loaded.media);
        let prepared = prepare_session(session, media, loaded.rate_hz, Fusing::Chains)
            .map_err(Failure::bad_input)?;
        let prepared = takes::tapped(prepared, self.strips)?;
        Engine::start(prepared, settings, seating).map_err(Failure::not_possible)
    }

    /// What the session's beginning takes one worker.
    fn need(&self, engine: &mut Engine, stop: &AtomicBool) -> Need {
        let frames = self.args.frames as usize;
        let walk = |_| engine.process_serial(frames).duration_ns as f64;
        let mut took: Vec<f64> =
            (0..REHEARSAL).take_while(|_| !stop.load(Relaxed)).map(walk).collect();
        took.sort_by(f64::total_cmp);
        engine.reset();
        Need {
            serial_ns: took.get(took.len() / 2).copied().unwrap_or(0.0),
            deadline_ns: engine.settings().period().as_nanos() as f64,
            pair_speed: self.known.pair_speed(),
        }
    }
}

/// How long the start waits for a disk; after that, the beginning is silent where it is not there.
const FILL_PATIENCE: Duration = Duration::from_secs(20);
/// How often it looks whether the user has ended it.
const FILL_STEP: Duration = Duration::from_millis(200);

/// Waits until everything that plays from the disk is read ahead.
fn fill(loaded: &LoadedSession, stop: &AtomicBool) {
    let begun = Instant::now();
    while let Err(error) = loaded.media.fill(FILL_STEP) {
        if stop.load(Relaxed) {
            return;
        }
        if begun.elapsed() >= FILL_PATIENCE {
            error.causes.iter().for_each(|cause| tell(format_args!("warning: {cause}")));
            return;
        }
    }
}

/// Reads the start of the song's loop ahead, so that the way back finds it in memory.
fn ready_to_loop(loaded: &LoadedSession) {
    let time = &loaded.session.time;
    // The engine has made the same map.
    let Ok(map) = time.map(loaded.rate_hz) else { return };
    let Ok(Some(range)) = time.loop_range(&map) else { return };
    if let Err(error) = loaded.media.preroll(range.start(), FILL_PATIENCE) {
        error.causes.iter().for_each(|cause| tell(format_args!("warning: {cause}")));
    }
}

/// Blocks of the session's beginning that are computed before anybody waits for them.
const REHEARSAL: usize = 96;

/// `auto` begins with the serial walk because it knows no costs; a session that one worker cannot carry would
/// then begin with misses. So its first blocks are computed once for their costs, and it starts anew.
fn rehearse(engine: &mut Engine, stop: &AtomicBool) {
    let frames = engine.settings().frames as usize;
    for _ in (0..REHEARSAL).take_while(|_| !stop.load(Relaxed)) {
        engine.process(frames);
    }
    engine.reset();
    // Refused where it knows too little: then it learns while it plays.
    let _ = engine.control().replan();
}

/// Workers that compute blocks at present: under `auto` the leader may walk a plan for several alone.
fn workers_at_work(engine: &Engine) -> usize {
    match engine.control().standing().walks_alone {
        true => 1,
        false => engine.schedule().workers(),
    }
}

/// Plays on the calling thread while another one explains what was late. `blocks`: `None` for ever.
fn play(
    engine: &mut Engine,
    (blocks, mut takes): (Option<u64>, Takes),
    stop: &AtomicBool,
    args: &PlayArgs,
    loaded: &LoadedSession,
) -> Outcome {
    let before = loaded.media.not_ready();
    let settings = FlightSettings { events: EVENTS, ..FlightSettings::default() };
    let (mut recorder, mut drain) = flight::record(engine, settings);
    let limits = drain.watch(current_thread(), SWITCH_RING_BYTES);
    let live = Live::new(engine.settings().period(), blocks);
    let mut meter = Meter::new();
    let (log, led) = std::thread::scope(|scope| {
        let watcher = scope.spawn(|| watch(drain, &live));
        let notes = Notes { recorder: &mut recorder, meter: &mut meter, takes: &mut takes };
        let led = lead(engine, blocks.unwrap_or(u64::MAX), notes, &live, stop);
        live.end();
        // If it panicked, it has said so; what the leader counted is there still.
        (watcher.join().ok(), led)
    });
    let interrupted = stop.load(Relaxed);
    let takes = takes.end();
    let silence = DiskSilence::since(&before, loaded.media.not_ready());
    let disk = loaded.disk.as_ref().map(|buffer| Disk {
        silence,
        summary: buffer.summary(),
        buffer_bytes: buffer.bytes(),
        used_bytes: buffer.used_bytes(),
    });
    let threads = std::iter::once(led.report).chain(engine.reports().iter().cloned()).collect();
    Outcome {
        session: loaded.session.name.clone(),
        frames: args.frames,
        rate_hz: loaded.rate_hz,
        deadline_ns: engine.settings().period().as_nanos() as u64,
        policy: names(args, engine.settings().policy),
        no_effect: engine.seating().placement().no_effect.clone(),
        protection: led.protection,
        workers: workers_at_work(engine),
        threads,
        meter,
        log,
        limits,
        memory: engine.memory().cloned(),
        contained: engine.contained(),
        interrupted,
        disk,
        takes,
    }
}

/// Schedule, sibling policy and wait.
fn names(args: &PlayArgs, policy: Policy) -> [&'static str; 3] {
    [args.schedule.name(), policy.sibling.name(), policy.wait.name()]
}

/// Who takes notes of every block.
struct Notes<'a> {
    recorder: &'a mut FlightRecorder,
    meter: &'a mut Meter,
    takes: &'a mut Takes,
}

/// Thread: becomes the leader for as long as it plays; then says what it was granted.
fn lead(engine: &mut Engine, blocks: u64, notes: Notes<'_>, live: &Live, stop: &AtomicBool) -> Led {
    let settings = engine.settings();
    let mut device = VirtualDevice::new(settings.frames, settings.rate_hz);
    let entered = engine.enter();
    device.run(engine, blocks, |times, engine| {
        notes.takes.note(engine, times.frames);
        notes.recorder.note(engine, times);
        notes.meter.note(times);
        live.note(times);
        !stop.load(Relaxed)
    });
    notes.recorder.end_run();
    Led { report: entered.report.clone(), protection: protection(&entered) }
}

/// What the leader was granted.
struct Led {
    report: ThreadReport,
    /// What the sibling policy asked of the system and what came of it; `None`: it asked for nothing.
    protection: Option<String>,
}

pub(crate) fn protection(entered: &Entered) -> Option<String> {
    let others = &entered.others;
    let asked = others.asked.as_ref()?;
    Some(match others.is_complete() {
        true => format!("{asked}: {}", others.got.as_deref().unwrap_or("granted")),
        false => format!("{asked}: not granted here: {}", others.refused.join("; ")),
    })
}
