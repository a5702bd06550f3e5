//! `hocket play`: a session in real time, and why blocks were late.

mod blame;
mod clocks;
mod costs;
mod dashboard;
mod device;
mod following;
pub(crate) mod fuzzed;
mod kernel_times;
mod incidents;
mod lines;
mod listen;
mod live;
mod meter;
mod notes;
mod osc;
mod outcome;
mod peaks;
mod policies;
mod session_log;
mod shown;
mod sound;
mod steering;
mod additions;
mod strip_ports;
mod strips;
mod take_news;
mod view;
mod watcher;
mod web;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use hocket_devices::{
    Bundle, Change, Channels, Device, End, Format, NoteEnds, Played, Ready, ServerTransport,
};
use hocket_engine::control::choose_sibling_policy::Need;
use hocket_engine::{
    Caller, Engine, FlightSettings, NotReady, Policy, Seating, Settings, flight, seats_of,
};
use hocket_files::is_standard_output;
use hocket_machine::Topology;
use hocket_plan::{CostTable, Session, SiblingPolicy};
use hocket_plugins::isolate::Pace;

use crate::cli::{PlayArgs, ScheduleArg, SiblingChoice, TransportArg};
use crate::disk_silence::DiskSilence;
use crate::failure::{Exit, Failure};
use crate::files::{Files, Kind};
use crate::load::streams::{Wait, summary};
use crate::load::{LoadedSession, OpenedSession, topology};
use crate::lost_events::NoRoom;
use crate::output::{Talk, detail, line, note, print, print_json, says, tell, warn};
use crate::pipe::reader_of;
use crate::plugin::{isolated, watched};
use crate::profile::Known;
use crate::render::{check_length, wanted_frames};
use crate::restarts::Restarts;
use crate::takes::{self, Recorded, Recording, Takes, Wanted};
use crate::written::{Parts, wrote};
use additions::Additions;
use blame::Blame;
use clocks::Clocks;
use dashboard::Screen;
pub(crate) use dashboard::leave;
use device::Chosen;
use indicatif::ProgressBar;
use lines::Reader;
pub use listen::ListenAddress;
pub(crate) use listen::remedy as remedy_of_port;
use live::Live;
use meter::Meter;
use notes::{Freewheel, Notes, Until};
use osc::{Heard, Listener};
use outcome::{Disk, Outcome};
use peaks::{Looker, Peaks};
use policies::Policies;
use session_log::SessionLog;
use sound::Sound;
use steering::{Leads, Steering, names};
use strips::Strips;
use take_news::TakeNews;
use view::{Facts, View};
use watcher::{Causes, Watched, watch};
use web::{Page, Served};
pub use web::{TokenSource, USUAL_PORT};

/// Late blocks on their way to be explained; the watcher takes them ten times a second, so it is
/// enough for every block of 64 frames at 48 kHz to be late.
const EVENTS: usize = 128;

/// Runs the command.
///
/// # Errors
/// [`Failure`].
pub fn run(args: &PlayArgs) -> Result<Exit, Failure> {
    crate::bench::check_waits("--wait", args.wait.as_slice())?;
    crate::bench::check_waits("--seat-wait", &[args.seat_wait])?;
    let topology = topology()?;
    let known = Known::find(&args.profile, &topology)?;
    known.tell();
    let known_costs = args.costs.as_deref().map(|path| Ok((path, costs::read(path)?)));
    let costs = known_costs.transpose()?;
    // Before anything takes long.
    let osc = args.osc.map(Listener::open).transpose()?;
    let page = Page::open(args)?;
    let mut chosen = Chosen::find(args)?;
    let rate_hz = chosen.rate_hz(args.rate)?;
    let frames = chosen.frames(args.frames)?;
    crate::bench::check_block(frames, rate_hz.unwrap_or(crate::bench::ANY_RATE_HZ))?;
    check_length(args.length)?;
    // More than the policy has seats for are refused later.
    crate::bench::check_workers(args.workers, SiblingPolicy::All, &topology)?;
    let project = args.project.with(args.strict);
    let mut opened = OpenedSession::open_as(&args.session, rate_hz, &topology, project)?;
    opened.feed(&args.input)?;
    opened.feed_inputs(chosen.has_inputs());
    strip_ports::add(&args.ports, opened.session_mut())?;
    let priority = (args.priority > 0).then_some(args.priority);
    isolated::set_up(&args.isolate, opened.session(), (Pace::RealTime, frames, priority))?;
    watched::set_up(args.plugin_faults.into(), Pace::RealTime);
    let mut wanted = takes::wanted(&args.take, opened.session_mut())?;
    takes::expect_live(&mut wanted, |input| opened.is_live(input));
    let mut log = args.log.clone();
    if args.number_takes {
        takes::number(&mut wanted, log.as_mut());
    }
    let log = log.as_deref();
    check_files(args, &opened, (&wanted, log))?;
    crate::bench::check_block(frames, opened.rate_hz())?;
    crate::notes::feedback(opened.session(), frames, opened.rate_hz());
    crate::notes::serial_workers(args.workers, &[args.schedule]);
    let mut parts = Parts::default();
    let stop = crate::interrupt::flag()?;
    chosen.stop_with(&stop);
    // Before anything is recorded. It stays open, so that a pipe's reader sees one end.
    let _reader_of_log = log.map(reader_of).transpose()?;
    let disk = args.disk.with(Wait::Never, args.strict);
    let Some(loaded) = opened.load_unless(disk, &stop)? else {
        return Err(Failure::interrupted());
    };
    loaded.accept(args.strict)?;
    parts.end("loading");
    // Before the device is prepared: its first cycle says where the other transport is.
    let leads = chosen.follow(args.transport, loaded.disk.is_some());
    if args.send_transport {
        chosen.send_transport();
    }
    let clocks = Clocks::of(args, &mut chosen, &loaded)?;
    let length = wanted_frames(args.length, &loaded)?;
    let follows = args.transport != TransportArg::Own;
    // Another transport may pass the song's end and come back.
    let length = length.filter(|_| !follows || args.length.is_some());
    let (topology, known, takes) = (&topology, &known, &wanted[..]);
    let leader_is_foreign = chosen.leads();
    let stage =
        Stage { args, frames, loaded: &loaded, topology, known, costs, takes, leader_is_foreign };
    let engine = stage.engine(&stop)?;
    fill(&loaded, &stop);
    if !follows {
        ready_to_loop(&loaded);
    }
    let (changes, note_ends) = (chosen.changes(), chosen.note_ends());
    let mut device = chosen.device(Format { rate_hz: loaded.rate_hz, frames });
    let channels = channels(&engine, &loaded);
    let ready = device.prepare(&channels).map_err(device::refused)?;
    let sound = Sound::new(device.name(), &ready, &engine);
    tell_ready(&sound, &ready);
    leads.iter().for_each(|server| following::tell(server, &loaded));
    following::tell_ports(args);
    clocks.tell_ports(&loaded);
    let showing = Showing::of(args)?;
    let until = showing.until(args, length);
    // What the user prolongs is recorded, too.
    let takes_end = if matches!(until, Until::Song(_)) { None } else { length };
    let trip = sound.round_trip(loaded.rate_hz);
    let recorded = Recorded { start_frame: 0, frames: takes_end, trip };
    let takes = Takes::begin(&wanted, &engine, &recorded)?;
    takes.warnings().for_each(warn);
    let begin = |path: &Path| {
        let mut facts = facts_of_log(args, &engine, &loaded, &sound);
        facts["takes"] = takes.json();
        SessionLog::begin(path, args.force, loaded.rate_hz, facts)
    };
    let session_log = log.map(begin).transpose()?;
    parts.end("preparing");
    let run = Run {
        loaded: &loaded,
        sound,
        changes,
        note_ends,
        length,
        until,
        osc,
        page,
        leads,
        clocks,
        transport: args.transport,
        session_log,
        policies: Policies::new(engine.seating().clone(), leader_is_foreign),
        stop: &stop,
    };
    let (engine, outcome) = play(device.as_mut(), engine, takes, showing, run)?;
    drop(device);
    parts.end("playing");
    match (args.json, args.headless) {
        (true, true) => print_json(&format!("{}\n", outcome.json())),
        (true, false) => print_json(&format!("{:#}\n", outcome.json())),
        (false, _) => print(&outcome.text()),
    }
    if let Some(path) = &args.costs {
        costs::keep(path, &engine.control())?;
        wrote(path);
    }
    log.iter().filter(|_| outcome.is_logged).for_each(|path| wrote(path));
    parts.tell();
    if let End::DeviceEnded(why) = &outcome.end {
        tell(why);
    }
    Ok(exit(&outcome, args))
}

/// What runs, for the first line of its log.
fn facts_of_log(
    args: &PlayArgs,
    engine: &Engine,
    loaded: &LoadedSession,
    sound: &Sound,
) -> serde_json::Value {
    let [schedule, sibling, wait] = names(&engine.control());
    serde_json::json!({
        "session": loaded.session.name,
        "file": args.session.display().to_string(),
        "device": sound.device,
        "latency": sound.json(),
        "rate_hz": loaded.rate_hz,
        "frames": engine.settings().frames,
        "deadline_ns": engine.settings().period().as_nanos() as u64,
        "schedule": schedule,
        "sibling": sibling,
        "wait": wait,
        "workers": engine.schedule().workers(),
        "priority": args.priority,
        "transport": args.transport.name(),
    })
}

/// What the device and the engine exchange.
fn channels(engine: &Engine, loaded: &LoadedSession) -> Channels {
    let output = |(number, name): (usize, String)| {
        let channels = engine.output_rows(number, 0).map_or(0, |rows| rows.len());
        Bundle { name, channels, events: false }
    };
    let outputs = device::output_names(&loaded.session).into_iter().enumerate().map(output);
    let inputs = loaded.session.inputs.iter().map(|input| Bundle {
        name: input.name.clone(),
        channels: input.channels.into(),
        events: input.events,
    });
    let delays = engine.control().output_delays();
    Channels { outputs: outputs.collect(), inputs: inputs.collect(), delays }
}

/// Which way the sound takes, and how long it is on its way.
fn tell_ready(sound: &Sound, ready: &Ready) {
    sound.lines().into_iter().for_each(note);
    ready.connected.iter().for_each(|(from, to)| detail(format_args!("{from} -> {to}")));
    if !ready.unconnected.is_empty() {
        note(format_args!("connected to nothing: {}", ready.unconnected.join(", ")));
    }
}

/// `recorded`: the takes and the log, by the names that they get.
fn check_files(
    args: &PlayArgs,
    opened: &OpenedSession,
    recorded: (&[Wanted], Option<&Path>),
) -> Result<(), Failure> {
    let (takes, log) = recorded;
    let mut files = Files::new(args.force);
    files.reads_session(&args.session, opened.sources());
    opened.input_files().for_each(|path| files.reads("the file of an --input", path));
    args.profile.profile.iter().for_each(|path| files.reads("the profile", path));
    if let Some(TokenSource::File(path)) = &args.web_token {
        files.reads("the token of --web-token", path);
    }
    files.prints()?;
    if let Some(path) = &args.costs {
        files.writes("--costs", path, Kind::Checked)?;
    }
    if let Some(path) = log {
        check_log(path)?;
        files.writes("--log", path, Kind::Log)?;
    }
    takes::check_files(takes, opened.rate_hz(), &mut files)
}

/// Standard output has the result.
fn check_log(path: &Path) -> Result<(), Failure> {
    match is_standard_output(path) {
        true => Err(Failure::bad_input(format!(
            "--log {}: standard output has the result of the run; name a file or a named pipe",
            path.display()
        ))),
        false => Ok(()),
    }
}

/// A device that has ended comes first: only then does it help to play again, and a service does.
fn exit(outcome: &Outcome, args: &PlayArgs) -> Exit {
    let missed = args.max_misses.is_some_and(|most| outcome.meter.misses.total() > most);
    let lost = outcome.takes.iter().any(|take| !take.is_whole()) || !outcome.is_logged;
    let ended = matches!(outcome.end, End::DeviceEnded(_));
    match (ended, lost, outcome.interrupted, missed) {
        (true, _, _, _) => Exit::NotPossible,
        (false, true, _, _) => Exit::NotWhole,
        (false, false, true, _) => Exit::Interrupted,
        (false, false, false, true) => Exit::Missed,
        (false, false, false, false) => Exit::Done,
    }
}

/// What an engine is made from.
struct Stage<'a> {
    args: &'a PlayArgs,
    /// The largest block.
    frames: u32,
    loaded: &'a LoadedSession,
    topology: &'a Topology,
    known: &'a Known,
    /// Where costs are kept, and what is known of them.
    costs: Option<(&'a Path, Option<CostTable>)>,
    /// What is recorded.
    takes: &'a [Wanted],
    /// Whether the leader's thread belongs to a sound server.
    leader_is_foreign: bool,
}

impl Stage<'_> {
    /// An engine that is ready to play. Where the policy is left to Hocket, the session's own costs may
    /// call for another one than the machine alone.
    fn engine(&self, stop: &AtomicBool) -> Result<Engine, Failure> {
        let (args, frames) = (self.args, self.frames);
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
        let Stage { args, frames, loaded, topology, known, .. } = self;
        let (frames, wait) = (*frames, known.wait_or(args.wait, *frames));
        let policy = Policy { schedule: args.schedule.kind(), sibling, wait };
        let priority = (args.priority > 0).then_some(args.priority);
        let seat_wait = args.seat_wait.into();
        let settings =
            Settings { priority, seat_wait, ..Settings::new(frames, loaded.rate_hz, policy) };
        let settings = Settings { couples: args.lanes.into(), ..settings };
        let mut settings = known.inform(args.schedule.steer(settings));
        let seating = Seating::here_with(topology, sibling, args.workers, &known.speeds())
            .map_err(Failure::bad_input)?;
        if args.osc.is_some() || Showing::is_dashboard(args) {
            settings.sibling_policies =
                Policies::new(seating.clone(), self.leader_is_foreign).others();
        }
        let prepared = takes::tapped(loaded.prepare()?, self.takes.iter().map(Wanted::from))?;
        Engine::start(prepared, settings, seating).map_err(Failure::not_possible)
    }

    /// What the session's beginning takes one worker.
    fn need(&self, engine: &mut Engine, stop: &AtomicBool) -> Need {
        let frames = self.frames as usize;
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
pub(crate) fn fill(loaded: &LoadedSession, stop: &AtomicBool) {
    let begun = Instant::now();
    while let Err(error) = loaded.fill(FILL_STEP) {
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

/// How a run is shown while it goes on.
enum Showing {
    /// A picture and keys.
    Dashboard(Box<Screen>),
    /// A line each second on standard output.
    Lines(Reader),
    /// A line on standard error that changes, if that is a terminal.
    Bar,
}

impl Showing {
    /// What the options and the terminal allow.
    fn of(args: &PlayArgs) -> Result<Showing, Failure> {
        Ok(match (args.headless, args.json) {
            (true, true) => Showing::Lines(Reader::Program),
            (true, false) if says(Talk::Usual) => Showing::Lines(Reader::Person),
            _ if Showing::is_dashboard(args) => Showing::Dashboard(Box::new(Screen::enter()?)),
            _ => Showing::Bar,
        })
    }

    /// Whether there will be a dashboard.
    fn is_dashboard(args: &PlayArgs) -> bool {
        !args.headless && !args.json && says(Talk::Usual) && dashboard::is_possible()
    }

    /// Who can stop and move the song decides how long it plays, unless the command line says so.
    fn until(&self, args: &PlayArgs, length: Option<u64>) -> Until {
        let others = args.osc.is_some() || args.web_token.is_some();
        let is_steered = matches!(self, Showing::Dashboard(_)) || others;
        match (is_steered, args.length, length) {
            (_, _, None) => Until::Never,
            (true, None, Some(end)) => Until::Song(end as i64),
            (_, _, Some(frames)) => Until::Left(frames),
        }
    }

    /// Outputs with a meter: where nobody looks, the leader reads no samples.
    fn meters(&self, session: &Session, has_page: bool) -> Vec<String> {
        match self {
            Showing::Bar if !has_page => Vec::new(),
            _ => device::output_names(session),
        }
    }

    /// The line that the watcher shows.
    fn bar(&self) -> ProgressBar {
        match self {
            Showing::Bar => line(),
            _ => ProgressBar::hidden(),
        }
    }

    /// Shows it until it ends. Thread: its own.
    fn run(self, view: View<'_>, stop: &AtomicBool) {
        match self {
            Showing::Dashboard(screen) => dashboard::run(*screen, view, stop),
            Showing::Lines(reader) => lines::run(view, reader),
            Showing::Bar => {}
        }
    }
}

/// What a run is made of, besides device and engine.
struct Run<'a> {
    loaded: &'a LoadedSession,
    sound: Sound,
    /// What changes of it; `None`: nothing does.
    changes: Option<Receiver<Change>>,
    /// Ends notes that come in; `None`: none do.
    note_ends: Option<Arc<NoteEnds>>,
    /// In frames, `None` for ever.
    length: Option<u64>,
    until: Until,
    osc: Option<Listener>,
    page: Option<Page>,
    /// The transport that the song follows; `None`: its own.
    leads: Option<ServerTransport>,
    /// MIDI clocks that are sent and followed.
    clocks: Clocks,
    /// Which transport that is.
    transport: TransportArg,
    /// `None`: no file was asked for.
    session_log: Option<SessionLog>,
    /// The sibling policies that it may change to.
    policies: Policies,
    stop: &'a AtomicBool,
}

impl Run<'_> {
    fn facts(&self, engine: &Engine, outputs: &[String], takes: &[Recording]) -> Facts {
        let settings = engine.settings();
        let deadline_us = settings.period().as_nanos() as f64 / 1e3;
        let format = format!(
            "{} Hz, blocks of {} frames, deadline {deadline_us:.0} µs",
            settings.rate_hz, settings.frames
        );
        Facts {
            session: self.loaded.session.name.clone(),
            sound: self.sound.clone(),
            format,
            transport: self.transport.name(),
            outputs: outputs.to_vec(),
            takes: takes.to_vec(),
        }
    }
}

/// Ends the threads beside the leader, also where the leader panics.
struct Ending<'a>(&'a Live);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.end();
    }
}

/// Plays while one thread explains what was late and another one shows how it goes.
///
/// Who reads what is shown may not read on, and then the thread that shows it never ends. So nothing else waits for that thread:
/// before, takes and the log are closed, and the client has left the server.
fn play(
    device: &mut dyn Device<Notes>,
    engine: Engine,
    takes: Takes,
    showing: Showing,
    mut run: Run<'_>,
) -> Result<(Engine, Outcome), Failure> {
    let Run { loaded, stop, .. } = run;
    let before = loaded.not_ready();
    let settings = FlightSettings { events: EVENTS, ..FlightSettings::default() };
    let (recorder, drain) = flight::record(&engine, settings);
    let (outputs, bar) = (showing.meters(&loaded.session, run.page.is_some()), showing.bar());
    let live = Arc::new(Live::new(&engine, run.length, outputs.len()));
    let causes = Causes::default();
    let recordings = takes.recordings();
    let facts = run.facts(&engine, &outputs, &recordings);
    let (leads, osc, page) = (run.leads.take(), run.osc.take(), run.page.take());
    let steering = Steering::new(
        &engine,
        &live,
        loaded,
        run.length,
        (Leads::of(leads.clone(), run.transport), run.policies.clone(), run.note_ends.take()),
        stop,
    );
    let strips = Strips::new(&loaded.session, engine.control());
    let peaks = Peaks::new(&live, outputs.len());
    let view = |looker| {
        let seen = (steering.clone(), facts.clone());
        View::new(&engine, &live, (&causes, loaded), seen, (&peaks, looker))
    };
    let (mut shown, served) = (view(Looker::Terminal), view(Looker::Page));
    if let Some(page) = &page {
        shown.say(format!("page: {}", page.url()));
    }
    let (writer, reader) = incidents::incidents();
    let notes = Notes {
        recorder,
        meter: Meter::new(),
        incidents: writer,
        takes,
        live: Arc::clone(&live),
        until: run.until,
        freewheel: Freewheel::of(loaded.disk.as_ref()),
        is_enough: false,
    };
    let restarts = Restarts::new(engine.control());
    let caller = if device.name() == "jack" { Caller::Server } else { Caller::Clock };
    let wants_log = run.session_log.is_some();
    let told = (Blame::new(reader, caller), TakeNews::new(recordings), run.session_log.take());
    let sound = (run.sound.clone(), run.changes.take());
    std::thread::scope(|shows| {
        let shower = shows.spawn(|| showing.run(shown, stop));
        let (watched, heard, served, played) = std::thread::scope(|scope| {
            let steered = engine.control();
            let watcher = scope
                .spawn(|| watch(drain, (&live, steered), (&causes, restarts), (told, sound), bar));
            let steers = steering.clone();
            let additions = osc.as_ref().map(|_| Additions::start(loaded, engine.control()));
            let osc = osc.zip(additions);
            let osc = osc.map(|(listener, additions)| {
                scope.spawn(|| listener.run(steers, &strips, additions))
            });
            let view = served.with_rates_over(web::RATES_OVER);
            let page = page.map(|page| scope.spawn(|| page.run(view, steering, &strips)));
            // The server waits for nobody where everything is in memory.
            let reader = leads.as_ref().filter(|_| loaded.disk.is_some()).map(|server| {
                let live: &Live = &live;
                scope.spawn(move || following::read_ahead(server, loaded, live))
            });
            let clocks = &run.clocks;
            let clock = clocks.follows().then(|| {
                let live: &Live = &live;
                scope.spawn(move || clocks.watch(loaded, live))
            });
            let ending = Ending(&live);
            let played = device.play(engine, notes, stop).map(|mut played| {
                played.observer.recorder.end_run();
                played
            });
            drop(ending);
            // If one panicked, it has said so; what the leader counted is there still.
            let _ = (reader.map(|reader| reader.join()), clock.map(|clock| clock.join()));
            let heard = osc.and_then(|osc| osc.join().ok());
            let served = page.and_then(|page| page.join().ok());
            (watcher.join().ok(), heard, served, played)
        });
        let done = played.map_err(device::refused).map(|played| {
            let threads = (watched, heard, served);
            close(run, &live, played, threads, (&before, wants_log))
        });
        if done.is_ok()
            && let Err(stays) = device.leave()
        {
            warn(format_args!("{stays}"));
        }
        let _ = shower.join();
        done
    })
}

/// Closes takes and the log of a run that has ended, and says what came of it. `before`: what was not in memory in time before
/// the first block.
fn close(
    run: Run<'_>,
    live: &Live,
    played: Played<Notes>,
    (watched, heard, served): (Option<Watched>, Option<Heard>, Option<Served>),
    (before, wants_log): (&[NotReady], bool),
) -> (Engine, Outcome) {
    let Run { loaded, stop, .. } = run;
    let (engine, Notes { meter, takes, .. }) = (played.engine, played.observer);
    let mut takes = takes.end();
    if let Some(latency) = run.sound.changed_latency() {
        takes.iter_mut().for_each(|take| take.note_latency(latency));
    }
    let silence = DiskSilence::since(before, loaded.not_ready());
    let disk = loaded.disk.as_ref().map(|buffer| Disk {
        silence,
        summary: summary(buffer),
        buffer_bytes: buffer.bytes(),
        used_bytes: buffer.used_bytes(),
    });
    let (log, limits, faults, session_log) = match watched {
        Some(it) => (Some(it.log), it.limits, it.faults, it.session_log),
        None => Default::default(),
    };
    let faults = faults.complete(meter.misses, played.xruns.as_ref());
    let mut outcome = Outcome {
        session: loaded.session.name.clone(),
        sound: run.sound,
        transport: run.transport.name(),
        clocks: run.clocks,
        frames: engine.settings().frames,
        rate_hz: loaded.rate_hz,
        device_hz: live.device_hz(),
        deadline_ns: engine.settings().period().as_nanos() as u64,
        policy: names(&engine.control()),
        no_effect: engine.control().policy_has_no_effect(),
        protection: played.protection,
        workers: workers_at_work(&engine),
        threads: played.threads,
        meter,
        xruns: played.xruns,
        faults,
        is_logged: !wants_log,
        log,
        limits,
        memory: engine.memory().cloned(),
        contained: engine.contained(),
        isolated: isolated::reports(),
        plugin_faults: watched::findings(),
        no_room: NoRoom::of(&engine),
        refused_fades: engine.control().refused_fades(),
        interrupted: stop.load(Relaxed) && !live.has_quit(),
        end: played.end,
        disk,
        takes,
        heard,
        served,
    };
    if let Some(log) = session_log {
        outcome.is_logged = log.end(outcome.counts());
    }
    (engine, outcome)
}
