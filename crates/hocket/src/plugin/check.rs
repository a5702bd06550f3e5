//! `hocket plugin check`: a stress test of plug-ins, each in a process of its own.

use std::fmt::Write as _;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use hocket_engine::{Topology, seats_of};
use hocket_plan::SeatId;
use hocket_plugins::check::{self, Job, Level, Report, Supervisor, SystemCalls, Timing, Verdict};
use hocket_plugins::scan::{Found, Library, Problem};
use hocket_plugins::{Description, Format};
use serde_json::json;

use crate::cli::{CheckPluginArgs, ExerciseArgs};
use crate::failure::{Exit, Failure};
use crate::output::{line, print, print_json, talk_flag};

/// Seeds that Hocket chooses are short, because people type them.
const SEEDS: u128 = 100_000;
/// The largest job that is read.
const LARGEST_JOB: u64 = 64 << 20;

/// Runs the command.
///
/// # Errors
/// [`Failure`].
pub(super) fn run(args: &CheckPluginArgs) -> Result<Exit, Failure> {
    let mut reports = Vec::new();
    let seed = args.seed.unwrap_or_else(any_seed);
    for wanted in &args.plugins {
        let found = plugins(wanted)?;
        reports.extend(found.problems.iter().map(|problem| of_problem(problem, seed)));
        for plugin in &found.plugins {
            reports.push(report(plugin, seed, args)?);
        }
    }
    match args.json {
        true => print_json(&format!("{:#}\n", json_of(&reports))),
        false => reports.iter().for_each(|report| print(&text(report))),
    }
    let has_failed = reports.iter().any(|report| report.level() == Level::Failed);
    Ok(if has_failed { Exit::Missed } else { Exit::Done })
}

/// The child's side.
///
/// # Errors
/// The job cannot be read, or the result not written.
pub(super) fn exercise(args: &ExerciseArgs) -> Result<Exit, Failure> {
    let job = hocket_files::read_bytes(&args.job, LARGEST_JOB).map_err(Failure::not_possible)?;
    let job: Job = serde_json::from_slice(&job).map_err(Failure::bad_input)?;
    check::exercise(&job, system_calls(), &args.into).map_err(Failure::not_possible)?;
    Ok(Exit::Done)
}

#[cfg(feature = "sentry")]
fn system_calls() -> Result<SystemCalls, String> {
    use hocket_engine::sentry;
    sentry::available()?;
    let during = |call: &mut dyn FnMut()| {
        let _watch = sentry::SentryWatch::begin();
        call();
    };
    let take = || {
        let report = sentry::take_report();
        report.forbidden.iter().map(|call| call.name().to_string()).collect()
    };
    Ok(SystemCalls { during, take })
}

#[cfg(not(feature = "sentry"))]
fn system_calls() -> Result<SystemCalls, String> {
    Err("this build of Hocket cannot; build it with --features sentry".into())
}

/// The time, which is another one each time.
fn any_seed() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    (since.as_micros() % SEEDS) as u64
}

/// The plug-ins that the user means: those of a file, or an installed one.
fn plugins(wanted: &str) -> Result<Found, Failure> {
    if let Some(library) = library(wanted)? {
        let path = library.path.clone();
        let found = super::scanned(vec![library], None)?;
        if found.plugins.is_empty() && found.problems.is_empty() {
            let why = format!("{}: it has no plug-in that Hocket can look at", path.display());
            return Err(Failure::not_possible(why));
        }
        return Ok(found);
    }
    let catalog = super::catalog()?;
    let plugin = catalog.named(wanted).map_err(|_| {
        Failure::bad_input(format!(
            "there is no file and no plug-in '{wanted}' here; `hocket plugin list` shows all"
        ))
    })?;
    let mut found = Found::default();
    found.plugins.push(plugin.clone());
    Ok(found)
}

/// `None`: it is no file.
fn library(wanted: &str) -> Result<Option<Library>, Failure> {
    let path = Path::new(wanted);
    let format = match path.extension().and_then(|ending| ending.to_str()) {
        _ if !path.exists() => return Ok(None),
        _ if path.join("manifest.ttl").is_file() => Format::Lv2,
        Some("clap") => Format::Clap,
        Some("vst3") => Format::Vst3,
        _ => {
            let why = "no CLAP file (.clap), VST3 bundle (.vst3) or LV2 bundle (a folder with manifest.ttl)";
            return Err(Failure::bad_input(format!("{wanted}: {why}")));
        }
    };
    let path = path.canonicalize().map_err(Failure::not_possible)?;
    Ok(Some(Library { format, path }))
}

/// A library that does not even describe its plug-ins.
fn of_problem(problem: &Problem, seed: u64) -> Report {
    let name = problem.library.display().to_string();
    let remedy = "see that the library loads: `ldd` names what it lacks";
    Report::new(name.clone(), name, seed, vec![failed("builds", &problem.why, remedy)])
}

fn failed(check: &str, found: &str, remedy: &str) -> Verdict {
    let (check, found, remedy) = (check.into(), found.into(), Some(remedy.into()));
    Verdict { check, level: Level::Failed, found, at: None, remedy }
}

fn report(plugin: &Description, seed: u64, args: &CheckPluginArgs) -> Result<Report, Failure> {
    match &plugin.refusal {
        Some(why) if plugin.is_broken => {
            let (kind, title) = (plugin.kind.clone(), plugin.title.clone());
            let remedy = "make an instance of it in a debugger";
            let verdicts = vec![failed("builds", why, remedy)];
            return Ok(Report::new(kind, title, seed, verdicts));
        }
        Some(why) => {
            let why = format!("Hocket does not run the plug-in '{}': {why}", plugin.kind);
            return Err(Failure::not_possible(why));
        }
        None => {}
    }
    let supervisor = Supervisor {
        program: std::env::current_exe().map_err(Failure::not_possible)?,
        arguments: vec!["plugin".into(), "exercise".into()],
        limit: Duration::from_secs(args.limit),
        shows_output: talk_flag() == Some("--verbose"),
        pair: pair(),
    };
    let progress = line();
    progress.set_message(format!("checking {}", plugin.kind));
    let report = supervisor.check(plugin, seed).map_err(Failure::not_possible);
    progress.finish_and_clear();
    report
}

/// Two CPUs that this process may use and that share a core, or why there are none.
fn pair() -> Result<[u32; 2], String> {
    let topology = Topology::discover().map_err(|error| error.to_string())?;
    let (seats, cpus) = seats_of(&topology);
    let pair = (0..cpus.len()).find_map(|seat| {
        let sibling = seats.siblings(SeatId(seat)).first()?.0;
        Some([cpus[seat], cpus[sibling]])
    });
    pair.filter(|_| topology.is_this_system).ok_or_else(|| {
        "no two CPUs that Hocket may use share a core here, so there is no busy sibling".into()
    })
}

fn text(report: &Report) -> String {
    let mut out = format!("{} ({}), seed {}\n", report.title, report.kind, report.seed);
    report.verdicts.iter().for_each(|verdict| write_verdict(&mut out, verdict));
    if !report.timings.is_empty() {
        out += &times(&report.timings);
    }
    let count = |level| report.verdicts.iter().filter(|verdict| verdict.level == level).count();
    let s = |count: usize| if count == 1 { "" } else { "s" };
    let (bad, odd) = (count(Level::Failed), count(Level::Warning));
    let _ = writeln!(out, "{bad} failure{}, {odd} warning{}\n", s(bad), s(odd));
    out
}

fn write_verdict(out: &mut String, verdict: &Verdict) {
    let mark = match verdict.level {
        Level::Ok => "ok",
        Level::Unmeasured => "unknown",
        Level::Warning => "warning",
        Level::Failed => "FAILED",
    };
    let _ = writeln!(out, "{mark:<9}{:<12}{}", verdict.check, verdict.found);
    for (label, text) in [("at", &verdict.at), ("do", &verdict.remedy)] {
        if let Some(text) = text {
            let _ = writeln!(out, "{:<21}{label}: {text}", "");
        }
    }
}

/// Times of blocks, each with its share of the deadline.
fn times(timings: &[Timing]) -> String {
    let mut out = format!("\n{:>6}{:>20}{:>20}{:>20}\n", "block", "median", "p99", "worst");
    for timing in timings {
        let cell = |us: f64| format!("{us:.1} µs {:>6.1} %", 100.0 * us / timing.deadline_us);
        let [median, p99, worst] = [timing.median_us, timing.p99_us, timing.worst_us].map(cell);
        let _ = writeln!(out, "{:>6}{median:>20}{p99:>20}{worst:>20}", timing.frames);
    }
    let rate = timings[0].rate_hz;
    let held = match timings[0].held_notes {
        0 => String::new(),
        count => format!(", with {count} notes held"),
    };
    out + &format!("of their deadline at {rate} Hz{held}; without real-time priority\n\n")
}

fn json_of(reports: &[Report]) -> serde_json::Value {
    json!({ "format": "hocket-plugin-check/1", "plugins": reports })
}
