//! `hocket capacity`: how many channels hold at each block length, and how often their blocks may be late.
//!
//! Channels are copies of the session's tracks. What plays them is `hocket bench`: every probe and every part of a long run
//! is one of its process starts. The search, and what runs show, are in `hocket_lab::channels`.

mod player;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use hocket_files::is_standard_output;
use hocket_lab::bench::BenchPlan;
use hocket_lab::channels::{
    CapacityRecord, FORMAT, PlayedSession, SizeRecord, Wish, lasting, measure, outside, sentence,
    svg, text,
};
use hocket_lab::numbers::counted;
use hocket_lab::tune::Conditions;
use hocket_machine::grants::{Grant, GrantName};
use hocket_machine::{Topology, facts, grants};
use hocket_plugins::isolate::Pace;

use crate::bench;
use crate::cli::{BenchArgs, CapacityArgs, WaitArg};
use crate::failure::{Exit, Failure};
use crate::files::{Files, Kind};
use crate::load::OpenedSession;
use crate::output::{note, print, print_json, tell};
use crate::profile::Known;
use crate::written::wrote;
use player::Player;

/// How long a run plays if nobody says otherwise.
const USUAL_S: f64 = 120.0;
/// A probe plays a second, or less where the runs are short.
const PROBE_S: f64 = 1.0;

/// Runs the command.
///
/// # Errors
/// [`Failure`].
pub fn run(args: &CapacityArgs) -> Result<Exit, Failure> {
    let topology = crate::load::topology()?;
    let sizes = sizes(args);
    check_numbers(args, &sizes, &topology)?;
    let known = Known::find(&args.profile, &topology)?;
    known.tell();
    let project = args.project.with(args.strict);
    let opened = OpenedSession::open_as(&args.session, args.rate, &topology, project)?;
    check_tracks(args, &opened)?;
    let files = check_files(args, &opened)?;
    let measuring = Measuring { args, known: &known, opened: &opened, topology: &topology };
    let now = measuring.begun();
    let mut record = earlier(args, &now)?.unwrap_or(now);
    let missing: Vec<u32> = sizes.iter().copied().filter(|it| !record.has(*it)).collect();
    let plans = missing.iter().map(|frames| measuring.way(*frames));
    let plans = plans.collect::<Result<Vec<_>, Failure>>()?;
    let stop = crate::interrupt::flag()?;
    files.make_folders()?;
    crate::notes::takes_left_out(&args.session, opened.session(), "a search for channels");
    if args.schedule.is_some() {
        crate::notes::serial_workers(args.workers, &Vec::from_iter(args.schedule));
    }
    tell_time(args, &record, missing.len());
    let mut ended = Ok(());
    for (at, way) in plans.iter().enumerate() {
        ended = measuring.measured(way, at > 0, &stop).and_then(|size| {
            note(sentence(&size, record.session.tracks));
            record.add(size);
            keep(args, &record)
        });
        if ended.is_err() {
            break;
        }
    }
    show(args, &record, &sizes, ended)
}

/// Each once, by rising length.
fn sizes(args: &CapacityArgs) -> Vec<u32> {
    let mut sizes = args.frames.clone();
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

/// What can be refused without the session.
fn check_numbers(args: &CapacityArgs, sizes: &[u32], topology: &Topology) -> Result<(), Failure> {
    bench::check_waits("--wait", &Vec::from_iter(args.wait))?;
    sizes.iter().try_for_each(|frames| bench::check_numbers(&bench_args(args, *frames), topology))
}

fn check_tracks(args: &CapacityArgs, opened: &OpenedSession) -> Result<(), Failure> {
    let (file, tracks) = (args.session.display(), opened.session().tracks.len());
    if tracks == 0 {
        return Err(Failure::bad_input(format!(
            "{file}: the session has no track, and copies of tracks are the channels; add a [[track]]"
        )));
    }
    if tracks > args.most_channels as usize {
        return Err(Failure::bad_input(format!(
            "--most-channels {}: {file} has {tracks} tracks already; give {tracks} or more",
            args.most_channels
        )));
    }
    Ok(())
}

fn check_files(args: &CapacityArgs, opened: &OpenedSession) -> Result<Files, Failure> {
    let mut files = Files::new(args.force);
    files.reads_session(&args.session, opened.sources());
    args.profile.profile.iter().for_each(|path| files.reads("the profile", path));
    files.prints()?;
    if let Some(path) = &args.record {
        check_is_file(path)?;
        files.writes("--record", path, Kind::Capacity)?;
    }
    if let Some(path) = &args.plot {
        files.writes("--plot", path, Kind::Picture)?;
    }
    Ok(files)
}

/// A record is written again and again, and read by the next call.
fn check_is_file(path: &Path) -> Result<(), Failure> {
    let is_other = std::fs::metadata(path).is_ok_and(|there| !there.is_file() && !there.is_dir());
    match is_other || is_standard_output(path) {
        true => Err(Failure::bad_input(format!(
            "--record {}: this is no file, so no later call could go on with it; name a file, or use --json",
            path.display()
        ))),
        false => Ok(()),
    }
}

/// The record of earlier calls, if it can be gone on with.
fn earlier(args: &CapacityArgs, now: &CapacityRecord) -> Result<Option<CapacityRecord>, Failure> {
    let Some(path) = &args.record else { return Ok(None) };
    if !std::fs::metadata(path).is_ok_and(|there| there.len() > 0) {
        return Ok(None);
    }
    let read = CapacityRecord::read(path).and_then(|before| match before.misfit(now) {
        None => Ok(before),
        Some(why) => Err(format!(
            "{}: cannot go on with this record: {why}; name another file, or begin anew with --force",
            path.display()
        )),
    });
    match read {
        Ok(before) => {
            note(format_args!("going on with {}", path.display()));
            Ok(Some(CapacityRecord { command: now.command.clone(), ..before }))
        }
        Err(why) if args.force => {
            note(format_args!("{why}: beginning anew"));
            Ok(None)
        }
        Err(why) => Err(Failure::bad_input(why)),
    }
}

/// How long it may take, before it does.
fn tell_time(args: &CapacityArgs, record: &CapacityRecord, sizes: usize) {
    if sizes == 0 {
        note("every block length is in the record already; nothing is left to measure");
        return;
    }
    let wish = wish(args);
    let kept = if args.record.is_some() { "; Ctrl-C keeps those that are done" } else { "" };
    let (tracks, time) = (record.session.tracks, lasting(wish.time_s(outside(0))));
    note(format_args!(
        "{}: for each a search with short probes from {tracks} channels on, then {time} or more{kept}",
        counted(sizes, "block length")
    ));
}

fn wish(args: &CapacityArgs) -> Wish {
    Wish {
        least_s: args.time.map_or(USUAL_S, |time| time.as_secs_f64()),
        is_exact: args.time.is_some(),
        late_per_hour: args.late_per_hour,
    }
}

/// A block length with the way in which it is played.
struct Way {
    args: BenchArgs,
    plan: BenchPlan,
}

/// What is the same for every block length.
struct Measuring<'a> {
    args: &'a CapacityArgs,
    known: &'a Known,
    opened: &'a OpenedSession,
    topology: &'a Topology,
}

impl Measuring<'_> {
    /// The record before anything is measured.
    fn begun(&self) -> CapacityRecord {
        let session = self.opened.session();
        let probed = grants::probe();
        CapacityRecord {
            format: FORMAT.into(),
            hocket: hocket_lab::about::build(),
            command: bench::command(),
            started_at: hocket_lab::about::now(),
            finished_at: hocket_lab::about::now(),
            session: PlayedSession {
                name: session.name.clone(),
                file: self.args.session.display().to_string(),
                content_sha256: bench::content(&bench_args(self.args, 64), self.opened),
                rate_hz: self.opened.rate_hz(),
                tracks: session.tracks.len(),
                media: hocket_lab::about::media(session),
            },
            wish: wish(self.args),
            conditions: self.conditions(&probed),
            machine_conditions: Conditions::of(&facts::read(), self.topology),
            machine: hocket_lab::about::machine(self.topology),
            grants: serde_json::json!(probed),
            clock: hocket_lab::about::clock(),
            sizes: Vec::new(),
        }
    }

    /// What else decides how many channels hold.
    fn conditions(&self, grants: &[Grant]) -> BTreeMap<String, String> {
        let args = self.args;
        let or = |text: Option<String>, usual: &str| text.unwrap_or_else(|| usual.into());
        let policy = clap::ValueEnum::to_possible_value(&args.policy);
        let has = |name| grants.iter().any(|grant| grant.name == name && grant.granted);
        let rights = [
            GrantName::RealTimePriority,
            GrantName::RealTimePortal,
            GrantName::Rtkit,
            GrantName::MemoryLock,
        ];
        let rights = rights.into_iter().filter(|name| has(*name)).map(GrantName::label);
        let soundfont = args.project.soundfont.as_ref().map(|path| path.display().to_string());
        let all = [
            ("--workers", or(args.workers.map(|it| it.to_string()), "one per seat")),
            ("--policy", policy.map_or_else(String::new, |it| it.get_name().into())),
            ("--schedule", or(args.schedule.map(|it| it.name().into()), "the default")),
            ("--wait", or(args.wait.map(|it| it.name().into()), "the default")),
            ("--lanes", args.lanes.name().into()),
            ("--disturb", args.disturb.clone()),
            ("--priority", args.priority.to_string()),
            ("--most-channels", args.most_channels.to_string()),
            ("--disk-buffer", args.disk.disk_buffer.to_string()),
            ("--isolate", args.isolate.isolate.join(" ")),
            ("--soundfont", or(soundfont, "the default")),
            ("--stand-in", or(args.project.stand_in.map(|it| it.to_string()), "none")),
            ("the machine profile", self.known.made().unwrap_or("none").into()),
            ("what the system grants", rights.collect::<Vec<_>>().join(", ")),
        ];
        all.map(|(name, value)| (name.to_owned(), value)).into()
    }

    /// # Errors
    /// What does not fit the machine or the session: exit code 2.
    fn way(&self, frames: u32) -> Result<Way, Failure> {
        let args = bench_args(self.args, frames);
        let mut plan = bench::plan(&args, self.opened, self.known, self.topology)?;
        let isolated = (Pace::RealTime, plan.frames, plan.priority);
        crate::plugin::isolated::set_up(&args.isolate, self.opened.session(), isolated)?;
        bench::place(&mut plan.disturb, self.topology);
        bench::check_seats(&plan, self.topology)?;
        Ok(Way { args, plan })
    }

    /// Searches and plays one block length.
    fn measured(
        &self,
        way: &Way,
        is_silent: bool,
        stop: &AtomicBool,
    ) -> Result<SizeRecord, Failure> {
        let wish = wish(self.args);
        let most_channels = self.args.most_channels as usize;
        let started_at = hocket_lab::about::now();
        let mut player = Player {
            args: &way.args,
            plan: &way.plan,
            opened: self.opened,
            stop,
            probe_s: PROBE_S.min(wish.least_s / 4.0),
            is_silent,
            threads: Vec::new(),
            remarks: Vec::new(),
        };
        note(format_args!("{} frames: searching", way.plan.frames));
        let least = self.opened.session().tracks.len();
        let found = measure(&mut player, &wish, least..=most_channels)?;
        let Player { threads, remarks, .. } = player;
        Ok(SizeRecord {
            frames: way.plan.frames,
            way: way.plan.variants.first().map_or_else(String::new, ToString::to_string),
            started_at,
            finished_at: hocket_lab::about::now(),
            most_channels,
            threads,
            remarks,
            found,
        })
    }
}

/// The options of the process starts; what a plan has besides comes from the plan.
fn bench_args(args: &CapacityArgs, frames: u32) -> BenchArgs {
    BenchArgs {
        session: args.session.clone(),
        blocks: 1,
        blocks_per_round: 1,
        starts: 1,
        start_of: None,
        copies: Some(0),
        frames,
        rate: args.rate,
        workers: args.workers,
        policy: vec![args.policy],
        schedule: Vec::from_iter(args.schedule),
        lanes: vec![args.lanes],
        wait: Vec::from_iter(args.wait),
        seat_wait: WaitArg::Pause,
        disturb: Some(args.disturb.clone()),
        fill: None,
        counters: false,
        counters_per_kind: false,
        priority: args.priority,
        seed: None,
        json: false,
        record: None,
        report: None,
        force: args.force,
        max_misses: None,
        baseline: Vec::new(),
        max_slower: hocket_lab::report::MAX_SLOWER,
        strict: args.strict,
        disk: args.disk.clone(),
        isolate: args.isolate.clone(),
        project: args.project.clone(),
        profile: args.profile.clone(),
    }
}

/// Keeps what is done so far, if a record is asked for.
fn keep(args: &CapacityArgs, record: &CapacityRecord) -> Result<(), Failure> {
    let Some(path) = &args.record else { return Ok(()) };
    crate::keep::capacity(record, path)?;
    wrote(path);
    Ok(())
}

/// Prints and draws what is done, whatever ended the work.
fn show(
    args: &CapacityArgs,
    record: &CapacityRecord,
    sizes: &[u32],
    ended: Result<(), Failure>,
) -> Result<Exit, Failure> {
    if record.sizes.is_empty() {
        return Err(ended.err().unwrap_or_else(Failure::interrupted));
    }
    match args.json {
        true => print_json(&record.json()),
        false => print(&text(record)),
    }
    let drawn =
        args.plot.as_deref().map_or(Ok(()), |path| crate::report::write(path, &svg(record)));
    match (ended, drawn) {
        (Err(failure), drawn) => {
            drawn.err().iter().for_each(tell);
            Err(failure)
        }
        (Ok(()), drawn) => drawn.map(|()| exit(args, record, sizes)),
    }
}

/// Whether what was asked for is shown.
fn exit(args: &CapacityArgs, record: &CapacityRecord, sizes: &[u32]) -> Exit {
    let Some(wanted) = args.late_per_hour else { return Exit::Done };
    let asked = record.sizes.iter().filter(|size| sizes.contains(&size.frames));
    let is_shown = |size: &&SizeRecord| size.verdict().run().is_some_and(|run| run.shows(wanted));
    let missed: Vec<&SizeRecord> = asked.filter(|size| !is_shown(size)).collect();
    for size in &missed {
        tell(format_args!(
            "--late-per-hour {wanted}: {} frames are not shown to have at most so many; play longer (--time), or see what was \
             tried",
            size.frames
        ));
    }
    if missed.is_empty() { Exit::Done } else { Exit::Missed }
}
