//! `hocket lab run`.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use hocket_lab::experiments::{folder, load_pattern, tuning};
use hocket_lab::fleet::LabJob;
use hocket_lab::harness::{self, Budget, Host, Launcher, Limits, Plan, Size};
use hocket_lab::store::{RunHead, RunRecord, Store};
use hocket_machine::changes::Root;
use indicatif::ProgressBar;
use serde_json::Value;

use super::args::RunArgs;
use super::{failure, guests, names, report};
use crate::failure::{Exit, Failure};
use crate::files::folder_of;
use crate::output::{bar, note, tell};

/// Every experiment of a quick run ends in less than 20 s and all of them in less than five minutes. What one takes beyond
/// its time is taken from those that follow, and what they need at least is kept free for them
/// ([`Experiment::start_ms`](harness::Experiment::start_ms)). So only what the last one takes beyond its time comes on top.
pub(super) const QUICK_EACH: Duration = Duration::from_millis(9500);
/// One experiment and the A/A run before it.
pub(super) const QUICK_ONE: Duration = Duration::from_secs(8);
pub(super) const QUICK_ALL: Duration = Duration::from_secs(270);
pub(super) const FULL_EACH: Duration = Duration::from_secs(120);
/// With at least this much time for each, `--time` measures as a full run does.
const FULL_FROM: Duration = Duration::from_secs(60);
/// Settings that are not put back so long after a run will not be.
const PUT_BACK: Duration = Duration::from_secs(10);

/// Runs the command.
pub(super) fn run(args: &RunArgs) -> Result<Exit, Failure> {
    if let Some(spec) = &args.spec {
        return super::job::run(spec, &args.records.records, args.form());
    }
    args.fail_if.iter().try_for_each(|condition| condition.check())?;
    let ids = guests::experiments(args)?;
    if let Some(pattern) = &args.pattern {
        let runs = ids.is_empty() || ids.iter().any(|id| id == "load-pattern");
        if !runs {
            return Err(Failure::bad_input(
                "--pattern: load-pattern is not among the experiments named; name it, or leave --pattern out",
            ));
        }
        ask_for(pattern)?;
    }
    if let Some(folder) = &args.folder {
        make_files_in(folder, &ids)?;
    }
    if args.system_wide {
        allow_system_wide(&ids)?;
    }
    for condition in &args.fail_if {
        let measured = |id: &String| id == condition.id();
        if !ids.is_empty() && condition.id() != "aa" && !ids.iter().any(measured) {
            return Err(Failure::bad_input(format!(
                "--fail-if \"{condition}\": '{}' is not among the experiments named",
                condition.id()
            )));
        }
    }
    let wanted = LabJob {
        experiments: ids,
        full: args.full,
        time_s: args.time.map(|time| time.as_secs_f64()),
        width_percent: args.width,
    };
    let plan = plan(&wanted, args.seed.unwrap_or_else(hocket_machine::clock::monotonic_ns))?;
    hocket_lab::provenance::check(&args.records.records).map_err(Failure::bad_input)?;
    let stop = crate::interrupt::flag()?;
    guests::ask_for(args, plan.budget, &stop)?;
    let mut store = Store::open_or_create(&args.records.records).map_err(failure)?;
    crate::leftovers::look_in(folder_of(&args.records.records));
    warn_of_network(&store);
    let started = Instant::now();
    let number = measure(&mut store, &plan, &stop, None)?;
    // Settings of process starts that were ended are put back beside them.
    let put_back =
        if args.system_wide { Root::live().wait_until_put_back(PUT_BACK) } else { Ok(()) };
    crate::notes::time_taken(
        args.time,
        started.elapsed(),
        "name fewer experiments, or give more time",
    );
    note(format_args!(
        "run {number} took {:.0} s and is kept in {}",
        started.elapsed().as_secs_f64(),
        args.records.records.display()
    ));
    let interrupted = stop.load(Relaxed);
    let record = store.choose(&number.to_string()).map_err(failure)?;
    let exit = report::show(&store, &record, args.form(), &args.fail_if)?;
    put_back.map_err(Failure::not_possible)?;
    if !interrupted {
        guests::check(args, &record)?;
    }
    Ok(if interrupted { Exit::Interrupted } else { exit })
}

/// A run of its own, for other commands: where it is kept, and whether the user stopped it.
pub(crate) fn measure_job(
    records: &Path,
    wanted: &LabJob,
) -> Result<(Store, RunRecord, bool), Failure> {
    let plan = plan(wanted, hocket_machine::clock::monotonic_ns())?;
    let mut store = Store::open_or_create(records).map_err(failure)?;
    warn_of_network(&store);
    let stop = crate::interrupt::flag()?;
    let number = measure(&mut store, &plan, &stop, None)?;
    let run = store.choose(&number.to_string()).map_err(failure)?;
    Ok((store, run, stop.load(Relaxed)))
}

/// A file of a job has one writer, so this is for others.
fn warn_of_network(store: &Store) {
    if let Some(kind) = store.on_network() {
        tell(format_args!(
            "{}: this file is on {kind}, where a run on another machine may not see that this one writes, and would \
             damage it; start no other run in it meanwhile, or name a file on a local disk with --records",
            store.path().display()
        ));
    }
}

/// `tuning` tries settings of the whole machine.
fn allow_system_wide(ids: &[String]) -> Result<(), Failure> {
    if !ids.is_empty() && !ids.iter().any(|id| id == tuning::ID) {
        return Err(Failure::bad_input(
            "--system-wide: tuning is not among the experiments named; name it, or leave --system-wide out",
        ));
    }
    tuning::allow_system_wide();
    Ok(())
}

/// Experiments make their files in this folder.
fn make_files_in(chosen: &Path, ids: &[String]) -> Result<(), Failure> {
    let makes_files = |id: &String| folder::USED_BY.contains(&id.as_str());
    if !ids.is_empty() && !ids.iter().any(makes_files) {
        let users = folder::USED_BY.join(", ");
        return Err(Failure::bad_input(format!(
            "--folder: none of the experiments named makes files ({users} do); name one, or leave --folder out"
        )));
    }
    let removed = folder::ask_for(chosen).map_err(|why| {
        let text = format!("--folder: {why}");
        match takes_nothing(chosen) {
            true => Failure::not_possible(text),
            false => Failure::bad_input(text),
        }
    })?;
    crate::leftovers::tell_removed(removed);
    Ok(())
}

/// Whether the folder is there, but nothing can be made in it: no right to, or no room.
fn takes_nothing(folder: &Path) -> bool {
    use std::io::ErrorKind::{PermissionDenied, QuotaExceeded, ReadOnlyFilesystem, StorageFull};
    tempfile::tempdir_in(folder).is_err_and(|error| {
        matches!(error.kind(), PermissionDenied | QuotaExceeded | ReadOnlyFilesystem | StorageFull)
    })
}

/// A line for each of a thousand threads is less.
const MAX_PATTERN_BYTES: u64 = 1 << 20;

/// The pattern of this file is what `load-pattern` runs.
fn ask_for(file: &Path) -> Result<(), Failure> {
    let name = file.display();
    let refused = |why: &dyn std::fmt::Display| {
        Failure::bad_input(format!("pattern {name}: {why}; name a pattern file (text)"))
    };
    let bytes = hocket_files::read_text(file, MAX_PATTERN_BYTES).map_err(|why| refused(&why))?;
    let text = String::from_utf8(bytes).map_err(|why| refused(&why))?;
    load_pattern::ask_for(&text)
        .map_err(|error| Failure::bad_input(format!("pattern {name}, {error}")))
}

/// Adds a run to a record file; its number. `job` stands in the record where a job file asked for it.
pub(super) fn measure(
    store: &mut Store,
    plan: &Plan,
    stop: &AtomicBool,
    job: Option<Value>,
) -> Result<i64, Failure> {
    let host = Host::discover().map_err(Failure::not_possible)?;
    if let (Size::Quick, Budget::All(time)) = (plan.size, plan.budget) {
        crate::notes::too_short(time, harness::enough_for_verdicts(plan, &host));
    }
    let head = head(plan, &host, job)?;
    let mut keep = store.begin_run(&head).map_err(failure)?;
    let number = keep.number();
    let bar = Bar::new();
    let started = Instant::now();
    let measured = harness::run(plan, &host, stop, &mut keep, |event| bar.show(&event));
    let wall = started.elapsed();
    bar.clear();
    measured.map_err(|error| match error {
        harness::RunError::Store(error) => failure(error),
        design => Failure::not_possible(design),
    })?;
    keep.end(&hocket_lab::about::now(), harness::tail(stop.load(Relaxed), wall))
        .map_err(failure)?;
    Ok(number)
}

/// What stands about a run; `job` stands in it where a job file asked for the run.
pub(super) fn head(plan: &Plan, host: &Host, job: Option<Value>) -> Result<RunHead, Failure> {
    let mut head = harness::head(plan, host, &command()).map_err(Failure::not_possible)?;
    if let Some(job) = job {
        head.meta["job"] = job;
    }
    Ok(head)
}

/// What is measured, and for how long.
pub(super) fn plan(wanted: &LabJob, seed: u64) -> Result<Plan, Failure> {
    let experiments = names::experiments(&wanted.experiments)?;
    let count = experiments.len().max(1) as u32;
    let (size, budget) = match (wanted.time_s.map(Duration::from_secs_f64), wanted.full) {
        (Some(time), _) if time / count >= FULL_FROM => (Size::Full, Budget::All(time)),
        (Some(time), _) => (Size::Quick, Budget::All(time)),
        (None, true) => (Size::Full, Budget::Each(FULL_EACH)),
        (None, false) if count <= 2 => (Size::Quick, Budget::Each(QUICK_ONE)),
        (None, false) => (Size::Quick, Budget::Each(QUICK_EACH.min(QUICK_ALL / count))),
    };
    let program = std::env::current_exe().map_err(|error| {
        Failure::not_possible(format!("this program does not find itself: {error}"))
    })?;
    Ok(Plan {
        experiments,
        size,
        budget,
        seed,
        launcher: Launcher { program, arguments: vec!["lab".into(), "child".into()] },
        limits: Limits::USUAL,
        width: wanted.width_percent / 100.0,
    })
}

/// As it can be typed again.
fn command() -> Vec<String> {
    std::iter::once("hocket".to_owned()).chain(std::env::args().skip(1)).collect()
}

/// What is measured and how long it will take; drawn between turns only.
struct Bar {
    bar: ProgressBar,
    drawn: std::cell::Cell<Option<Instant>>,
}

/// Drawing takes a CPU's time that a turn may be using.
const REDRAW: Duration = Duration::from_millis(500);

impl Bar {
    fn new() -> Bar {
        Bar { bar: bar(0, "measuring"), drawn: std::cell::Cell::new(None) }
    }

    fn show(&self, event: &harness::Event<'_>) {
        if self.drawn.get().is_some_and(|drawn| drawn.elapsed() < REDRAW) {
            return;
        }
        self.drawn.set(Some(Instant::now()));
        self.bar.set_length(event.total.as_millis() as u64);
        self.bar.set_position(event.elapsed.as_millis() as u64);
        self.bar.set_message(format!("{} ({} of {})", event.id, event.index + 1, event.of));
    }

    fn clear(&self) {
        self.bar.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quick(experiments: &[&str]) -> (u32, Duration) {
        let experiments = experiments.iter().map(|id| (*id).to_owned()).collect();
        let wanted = LabJob { experiments, full: false, time_s: None, width_percent: 1.0 };
        let Plan { experiments, budget, .. } = plan(&wanted, 1).unwrap();
        match budget {
            Budget::Each(each) => (experiments.len() as u32, each),
            Budget::All(_) => panic!("a quick run has a time for each"),
        }
    }

    #[test]
    fn a_quick_run_keeps_to_its_times() {
        let (count, each) = quick(&["wake"]);
        assert!(count == 2 && each * count < Duration::from_secs(20));
        let (count, each) = quick(&[]);
        assert!(count > 25 && each * count < Duration::from_secs(300));
    }
}
