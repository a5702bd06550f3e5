//! `hocket trace`: plays a session in real time and writes what every thread did in its blocks.

mod attach;
mod collect;
mod format;
mod from;
mod incoming;
mod system;
mod variants;

use std::path::Path;

use hocket_devices::{Device, Format as Sound, Virtual};
use hocket_engine::{
    Couples, Engine, FlightSettings, HandOver, Policy, Seating, Settings, Spans, flight,
};
use hocket_lab::disturb::{DisturbError, DisturbSpec, Disturbers};
use hocket_lab::numbers::counted;
use hocket_machine::Topology;
use hocket_machine::pin::current_thread;
use hocket_plan::SiblingPolicy;
use hocket_trace::run::{About, Kept, RunBlock, RunTrace};

use crate::cli::TraceArgs;
use crate::failure::{Exit, Failure};
use crate::files::{Files, Kind};
use crate::load::streams::Wait;
use crate::load::{LoadedSession, OpenedSession, topology};
use crate::output::{note, print, tell};
use crate::profile::Known;
use crate::render::{check_length, frames_of};
use crate::written::Parts;
use collect::{Collector, Ending, Notes};
use format::Format;
use variants::Variant;

/// Blocks where nobody says how many.
const BLOCKS: u64 = 1000;
/// Seconds of a run that waits for misses, where nobody says how long.
const SECONDS: f64 = 10.0;
/// Explanations that are printed.
const EXPLANATIONS: usize = 5;

/// Runs the command.
///
/// # Errors
/// [`Failure`].
pub fn run(args: &TraceArgs) -> Result<Exit, Failure> {
    let format = Format::of(&args.output)?;
    if !args.from.is_empty() {
        return from::run(args, format);
    }
    match (args.attach, &args.session) {
        (Some(process), _) => attach::run(args, process, format),
        (None, Some(_)) if args.children => {
            Err(Failure::bad_input("--children belongs to --attach PID, which watches a program"))
        }
        (None, Some(_)) if args.interrupts && !args.system => Err(Failure::bad_input(
            "--interrupts belongs to --system or to --attach PID, which watch every CPU",
        )),
        (None, Some(session)) => play(args, session, format),
        (None, None) => Err(Failure::bad_input(
            "name a session, a program with --attach PID, or a file with --from FILE",
        )),
    }
}

/// Plays a session and writes what its threads did.
fn play(args: &TraceArgs, session: &Path, format: Format) -> Result<Exit, Failure> {
    let variants = variants::of(args, format)?;
    crate::bench::check_waits("--wait", &args.wait)?;
    crate::bench::check_waits("--seat-wait", &[args.seat_wait])?;
    check_length(args.length)?;
    crate::bench::check_block(args.frames, args.rate.unwrap_or(crate::bench::ANY_RATE_HZ))?;
    let topology = topology()?;
    // More than the policy has seats for are refused later.
    crate::bench::check_workers(args.workers, SiblingPolicy::All, &topology)?;
    let known = Known::find(&args.profile, &topology)?;
    known.tell();
    let project = args.project.with(args.strict);
    let opened = OpenedSession::open_as(session, args.rate, &topology, project)?;
    crate::bench::check_block(args.frames, opened.rate_hz())?;
    let mut disturb = crate::bench::disturbers(Some(&args.disturb), &opened)?;
    crate::bench::check_cpus(&disturb, &topology)?;
    crate::bench::place(&mut disturb, &topology);
    let files = check_files(args, session, &opened, format)?;
    crate::notes::serial_workers(args.workers, &args.schedule);
    crate::notes::takes_left_out(session, opened.session(), "a trace");
    let mut parts = Parts::default();
    let stop = crate::interrupt::flag()?;
    let disk = args.disk.with(Wait::Never, args.strict);
    let Some(loaded) = opened.load_unless(disk, &stop)? else {
        return Err(Failure::interrupted());
    };
    loaded.accept(args.strict)?;
    parts.end("loading");
    let stage = Stage { args, loaded: &loaded, topology: &topology, known: &known };
    let mut runs: Vec<RunTrace> = Vec::new();
    for variant in &variants {
        let (engine, policy) = stage.engine(variant)?;
        files.make_folders()?;
        crate::play::fill(&loaded, &stop);
        parts.end("preparing");
        let run = stage.play(engine, policy, &disturb, &stop)?;
        parts.end("playing");
        // Without a block there is nothing to show.
        if !run.blocks.is_empty() {
            print(&summary(&run));
            runs.push(run);
        }
        if runs.last().is_none_or(|run| run.interrupted) {
            break;
        }
    }
    if runs.is_empty() {
        return Err(Failure::interrupted());
    }
    crate::keep::trace(&format.bytes(&runs), &args.output)?;
    crate::written::wrote(&args.output);
    note(format.hint());
    parts.end("writing");
    parts.tell();
    Ok(exit(&runs, variants.len(), args))
}

fn check_files(
    args: &TraceArgs,
    session: &Path,
    opened: &OpenedSession,
    format: Format,
) -> Result<Files, Failure> {
    let mut files = Files::new(args.force);
    files.reads_session(session, opened.sources());
    args.profile.profile.iter().for_each(|path| files.reads("the profile", path));
    files.prints()?;
    files.writes("--output", &args.output, kind(format))?;
    Ok(files)
}

/// How an earlier file of this format is recognised.
fn kind(format: Format) -> Kind {
    if format == Format::Page { Kind::Page } else { Kind::Trace }
}

/// How the command ends after these runs, of so many that were wanted.
fn exit(runs: &[RunTrace], wanted: usize, args: &TraceArgs) -> Exit {
    let too_many = |run: &RunTrace| args.max_misses.is_some_and(|most| run.misses.total() > most);
    let missed = runs.iter().any(too_many);
    let interrupted = runs.len() < wanted || runs.iter().any(|run| run.interrupted);
    match (interrupted, missed) {
        (true, _) => Exit::Interrupted,
        (false, true) => Exit::Missed,
        (false, false) => Exit::Done,
    }
}

/// What a run is made from.
struct Stage<'a> {
    args: &'a TraceArgs,
    loaded: &'a LoadedSession,
    topology: &'a Topology,
    known: &'a Known,
}

impl Stage<'_> {
    /// An engine that is ready to play, and its policy in words.
    fn engine(&self, variant: &Variant) -> Result<(Engine, String), Failure> {
        let Stage { args, loaded, topology, known } = self;
        let schedule = known.schedule_or(variant.schedule, args.frames);
        let sibling = known.policy(variant.policy, args.frames, topology, None);
        let wait = known.wait_or(variant.wait, args.frames);
        let policy = Policy { schedule: schedule.kind(), sibling, wait };
        let priority = (args.priority > 0).then_some(args.priority);
        let seat_wait = args.seat_wait.into();
        let couples = Couples::from(variant.lanes);
        let settings = Settings::new(args.frames, loaded.rate_hz, policy);
        let settings = Settings { priority, seat_wait, couples, ..settings };
        let settings = known.inform(schedule.steer(settings));
        let seating = Seating::here_with(topology, sibling, args.workers, &known.speeds())
            .map_err(Failure::bad_input)?;
        let engine = Engine::start(loaded.prepare()?, settings, seating);
        let lanes = if couples == Couples::Never { "" } else { " / lanes" };
        let words = format!("{} / {} / {wait}{lanes}", schedule.name(), sibling.name());
        Ok((engine.map_err(Failure::not_possible)?, words))
    }

    /// Blocks to play.
    fn blocks(&self) -> u64 {
        let Stage { args, loaded, .. } = self;
        let seconds = args.length.or(args.on_miss.then_some(SECONDS));
        let of_length = |s| frames_of(s, loaded.rate_hz).div_ceil(u64::from(args.frames));
        seconds.map_or(args.blocks.unwrap_or(BLOCKS), of_length)
    }

    fn kept(&self) -> Kept {
        if self.args.on_miss { Kept::OnMiss } else { Kept::Every }
    }

    fn about(&self, policy: String, settings: &Settings) -> About {
        About {
            hocket: env!("CARGO_PKG_VERSION").into(),
            session: self.loaded.session.name.clone(),
            policy,
            frames: settings.frames,
            rate_hz: settings.rate_hz,
            period_ns: settings.period().as_nanos() as u64,
            kept: self.kept(),
            span_cost_ns: flight::span_cost_ns(),
            machine: machine(self.topology),
            file: String::new(),
        }
    }

    /// Plays, while another thread collects what was noted.
    fn play(
        &self,
        engine: Engine,
        policy: String,
        disturb: &[DisturbSpec],
        stop: &std::sync::atomic::AtomicBool,
    ) -> Result<RunTrace, Failure> {
        let sound = Sound { rate_hz: self.loaded.rate_hz, frames: self.args.frames };
        let hand_over = match self.kept() {
            Kept::Every => HandOver::Every,
            Kept::OnMiss => HandOver::LateOrWorst,
        };
        let events = collect::events(sound.rate_hz, sound.frames);
        let settings = FlightSettings { events, hand_over, ..FlightSettings::default() };
        engine.control().set_spans(if self.args.cpu_time { Spans::CpuTime } else { Spans::Times });
        let (recorder, mut drain) = flight::record(&engine, settings);
        let about = self.about(policy, engine.settings());
        let mut run = RunTrace::new(about, drain.threads());
        let load = self.disturbers(disturb)?;
        // This thread leads, and the seats are watched from now on.
        run.limits = drain.watch(current_thread(), collect::SWITCH_RING_BYTES);
        let system =
            self.args.system.then(|| system::Beside::start(self.args.interrupts, &mut run.limits));
        let system = system.flatten();
        let notes = Notes::new(recorder, self.blocks());
        let collector = Collector::new(drain, run, system);
        let ended = collect::Ended::default();
        let (collector, played) = std::thread::scope(|scope| {
            let collecting = scope.spawn(|| collector.collect(&ended));
            let ending = Ending(&ended);
            let played = Virtual::new(sound).play(engine, notes, stop);
            drop(ending);
            (collecting.join(), played)
        });
        load.troubles().iter().for_each(tell);
        drop(load);
        let played = played.map_err(Failure::not_possible)?;
        let collector = collector
            .map_err(|_| Failure::not_possible("the thread that collects the trace has failed"))?;
        Ok(collector.finish(played))
    }

    fn disturbers(&self, specs: &[DisturbSpec]) -> Result<Disturbers, Failure> {
        let preview = crate::bench::preview(self.loaded);
        let cpus = hocket_lab::bench::seat_cpus(self.topology);
        Disturbers::start(specs, preview.as_ref(), &cpus).map_err(|error| match error {
            DisturbError::NoPreviewFile => Failure::bad_input(error),
            _ => Failure::not_possible(error),
        })
    }
}

/// `AMD EPYC, 2 CPUs`.
fn machine(topology: &Topology) -> String {
    let cpus = counted(topology.seats.len(), "CPU");
    let models = topology.packages.iter().filter_map(|package| package.model.as_deref());
    let model = models.map(str::trim).find(|model| !model.is_empty());
    model.map_or(cpus.clone(), |model| format!("{model}, {cpus}"))
}

/// What was played and kept, and why blocks were late.
fn summary(run: &RunTrace) -> String {
    let about = &run.about;
    let interrupted = if run.interrupted { ", interrupted" } else { "" };
    // The cycles of an audio server have no other name than that of their file.
    let file = match about.file.as_str() {
        file if file.is_empty() || file == about.session => String::new(),
        file => format!("{file}: "),
    };
    let blocks = |n: u64| counted(n as usize, "block");
    let mut text = format!(
        "{file}{}: {} of {}, {}{interrupted}\n",
        about.session,
        blocks(run.played),
        run.frames(),
        about.policy
    );
    let kept = [blocks(run.blocks.len() as u64), counted(run.spans(), "span")];
    text += &format!("kept: {}\n", kept.join(", "));
    if run.lost_blocks > 0 {
        text += &format!("not kept: {} for which there was no room\n", blocks(run.lost_blocks));
    }
    text += &format!("cost of the notes: {}\n", run.cost());
    text += &format!("misses: {}\n", run.misses);
    let mut late: Vec<&RunBlock> = run.blocks.iter().filter(|block| block.is_late()).collect();
    late.sort_by_key(|block| block.slack_ns());
    let texts = late.iter().filter_map(|block| Some(&block.verdict.as_ref()?.text));
    texts.take(EXPLANATIONS).for_each(|why| text += &format!("  {why}\n"));
    if late.len() > EXPLANATIONS {
        text += &format!("  and {} more\n", late.len() - EXPLANATIONS);
    }
    if let Some(worst) = run.worst().filter(|_| late.is_empty()) {
        let slack_us = worst.slack_ns() as f64 / 1e3;
        text += &format!("the least slack: {slack_us:.0} µs, in block {}\n", worst.number);
    }
    run.remarks.iter().for_each(|remark| text += &format!("{remark}\n"));
    run.limits.iter().for_each(|limit| text += &format!("not seen here: {limit}\n"));
    text
}
