//! `hocket demo`: one command, one report.

use std::path::{Path, PathBuf};

use hocket_engine::Settings;
use hocket_plan::SiblingPolicy;

use crate::cli::{BenchArgs, DemoArgs, DiskArgs, ScheduleArg, WaitArg};
use crate::failure::{Exit, Failure};
use crate::files::{Files, Kind};
use crate::load::{OpenedSession, topology};
use crate::output::print;
use crate::profile::Known;

/// Runs the command.
///
/// # Errors
/// [`Failure`].
pub fn run(args: &DemoArgs) -> Result<Exit, Failure> {
    let session = session_file(args)?;
    let topology = topology()?;
    print(&crate::machine::summary(&topology));
    let opened = OpenedSession::open(&session, None, &topology)?;
    let (json, html) = (args.out.join("record.json"), args.out.join("report.html"));
    let mut files = Files::new(args.force);
    files.reads_session(&session, opened.sources());
    files.writes("the record", &json, Kind::Record)?;
    files.writes("the report", &html, Kind::Page)?;
    let bench = bench_args(args, session, topology.seats.len());
    let plan = crate::bench::plan(&bench, &opened, &Known::default(), &topology)?;
    files.make_folders()?;
    print(&format!(
        "\nRunning '{}' under {} sibling policies, {} blocks of {} frames each in {} process starts, with a \
         waveform preview and a compute load a CPU beside it: about {} s.\n\n",
        opened.session().name,
        plan.variants.len(),
        plan.blocks,
        plan.frames,
        plan.of_starts().len(),
        seconds(&plan),
    ));
    let stop = crate::interrupt::flag()?;
    let measured = crate::bench::measure(&plan, &bench, &opened, &stop)?;
    let record = measured.record;
    print(&hocket_lab::report::text_table(&record));
    crate::bench::write_results(&record, Some(&json), Some(&html))?;
    print(&format!("\nReport: {}\nRecord: {}\n", html.display(), json.display()));
    match measured.failure {
        Some(failure) => Err(failure),
        None if record.partial.is_some() => Ok(Exit::Interrupted),
        None => Ok(Exit::Done),
    }
}

fn seconds(plan: &hocket_lab::bench::BenchPlan) -> u64 {
    let turn = plan.blocks_per_round + plan.warm_up;
    let blocks = plan.turns() as u64 * turn;
    blocks * u64::from(plan.frames) / u64::from(plan.rate_hz) + 2 + plan.of_starts().len() as u64
}

/// Where an installation has the sessions, below its prefix.
const INSTALLED: &str = "share/hocket";

/// The given file, or the example where it is likely to be.
fn session_file(args: &DemoArgs) -> Result<PathBuf, Failure> {
    if let Some(given) = &args.session {
        return Ok(given.clone());
    }
    let name = Path::new("sessions/worst-case-4.toml");
    let beside = std::env::current_exe().ok();
    let folders = beside.iter().flat_map(|exe| exe.ancestors().skip(1));
    let folders = std::iter::once(Path::new("")).chain(folders);
    let places =
        folders.flat_map(|folder| ["", INSTALLED].map(|data| folder.join(data).join(name)));
    places.into_iter().find(|place| place.is_file()).ok_or_else(|| {
        Failure::bad_input(format!(
            "{} is neither here, nor above the program, nor installed with it; run this in Hocket's folder or \
             name a session with --session FILE",
            name.display()
        ))
    })
}

/// The worst case of the 2009 thesis: its preview, and a compute load for every seat.
fn bench_args(args: &DemoArgs, session: PathBuf, seats: usize) -> BenchArgs {
    BenchArgs {
        seat_wait: crate::cli::WaitArg::Pause,
        session,
        blocks: args.blocks,
        blocks_per_round: 150,
        starts: 5,
        start_of: None,
        copies: None,
        frames: 64,
        rate: None,
        workers: None,
        policy: [
            SiblingPolicy::Off,
            SiblingPolicy::All,
            SiblingPolicy::ProcessAffinity,
            SiblingPolicy::IdleThread,
            SiblingPolicy::PairBarrier,
        ]
        .map(Into::into)
        .to_vec(),
        schedule: vec![ScheduleArg::Dataflow],
        lanes: vec![crate::cli::LanesArg::Off],
        wait: vec![WaitArg::Hybrid],
        fill: None,
        disturb: Some(format!("preview,compute:{}", seats.clamp(1, 64))),
        counters: false,
        counters_per_kind: false,
        priority: Settings::PRIORITY,
        seed: None,
        json: false,
        record: None,
        report: None,
        force: args.force,
        max_misses: None,
        baseline: Vec::new(),
        max_slower: hocket_lab::report::MAX_SLOWER,
        strict: false,
        isolate: crate::cli::IsolateArgs::default(),
        project: crate::cli::ProjectArgs::default(),
        disk: DiskArgs { disk_buffer: 0 },
        profile: crate::profile::ProfileArgs { profile: None, no_profile: true },
    }
}
