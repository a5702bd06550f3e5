//! `hocket lab run --spec`: what a job file says, and one new record file.
//!
//! The record is made beside its place and given its name when the job is over (`part.rs`), so a file of that name is
//! always whole; what was measured before an interruption is kept in it.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Instant;

use hocket_files::ScratchFolder;
use hocket_lab::about;
use hocket_lab::fleet::{Job, LabJob, RenderJob, Work};
use hocket_lab::harness::{self, Host, Plan};
use hocket_lab::store::StoreError;
use hocket_machine::pin;
use hocket_plan::SiblingPolicy;
use serde_json::{Value, json};

use super::args::Form;
use super::part::{Part, name_killed};
use super::{failure, open, report, run as lab_run};
use crate::cli::{
    DiskArgs, FormatArg, IsolateArgs, PluginFaultsArg, ProjectArgs, RenderArgs, ScheduleArg,
    WaitArg,
};
use crate::failure::{Exit, Failure};
use crate::files::folder_of;
use crate::output::tell;
use crate::profile::ProfileArgs;

/// How the folders begin in which jobs render, among the temporary files.
pub(crate) const RENDER_PREFIX: &str = "hocket-render-";

/// Runs a job file; its record is a new file.
pub(super) fn run(spec: &Path, records: &Path, form: Form) -> Result<Exit, Failure> {
    let job = Job::read(spec).map_err(Failure::bad_input)?;
    if records.symlink_metadata().is_ok() {
        return Err(failure(StoreError::Exists { path: records.into() }));
    }
    check_host(&job, spec)?;
    confine(&job, spec)?;
    let stop = crate::interrupt::flag()?;
    name_killed(records);
    crate::leftovers::look_in(folder_of(records));
    let part = Part::beside(records)?;
    let exit = match work(&job, &part, &stop) {
        Ok(exit) => exit,
        Err(failure) => return Err(part.keep_turns(failure)),
    };
    part.finish(records)?;
    let store = open(records)?;
    let record = store.choose("last").map_err(failure)?;
    let shown = report::show(&store, &record, form, &[])?;
    Ok(if exit == Exit::Done { shown } else { exit })
}

fn work(job: &Job, part: &Part, stop: &AtomicBool) -> Result<Exit, Failure> {
    match job.work() {
        Some(Work::Lab(lab)) => measure(job, lab, part, stop),
        Some(Work::Render(render)) => renders(job, render, part, stop),
        None => Ok(Exit::Done),
    }
}

fn check_host(job: &Job, spec: &Path) -> Result<(), Failure> {
    let here = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    match job.is_for(here.trim()) {
        true => Ok(()),
        false => Err(Failure::not_possible(format!(
            "{}: this job is for the host '{}' and this is '{}'; if it is the same machine, give the \
             list of hosts `hostname={}` for it and plan again",
            spec.display(),
            job.hostname,
            here.trim(),
            here.trim()
        ))),
    }
}

/// Threads and children inherit it.
fn confine(job: &Job, spec: &Path) -> Result<(), Failure> {
    let Some(cpus) = job.cpu_set() else { return Ok(()) };
    let refused = |error| Failure::not_possible(format!("{}: {error}", spec.display()));
    let got = pin::pin_current_thread(&cpus).map_err(refused)?;
    match got == cpus {
        true => Ok(()),
        false => Err(Failure::not_possible(format!(
            "{}: the job may use the CPUs {cpus} and the system grants {got}; name others in the list of hosts",
            spec.display()
        ))),
    }
}

fn measure(job: &Job, lab: &LabJob, part: &Part, stop: &AtomicBool) -> Result<Exit, Failure> {
    let plan = lab_run::plan(lab, job.seed)?;
    let mut store = part.store()?;
    lab_run::measure(&mut store, &plan, stop, Some(json!(job)))?;
    Ok(ended(stop, Exit::Done))
}

fn ended(stop: &AtomicBool, exit: Exit) -> Exit {
    if stop.load(Relaxed) { Exit::Interrupted } else { exit }
}

/// Renders stand in the record of a run without experiments, under `renders` of its `meta`.
fn renders(job: &Job, render: &RenderJob, part: &Part, stop: &AtomicBool) -> Result<Exit, Failure> {
    let first = LabJob { experiments: Vec::new(), full: false, time_s: None, width_percent: 1.0 };
    let plan = Plan { experiments: Vec::new(), ..lab_run::plan(&first, job.seed)? };
    let mut store = part.store()?;
    let host = Host::discover().map_err(Failure::not_possible)?;
    let head = lab_run::head(&plan, &host, Some(json!(job)))?;
    let keep = store.begin_run(&head).map_err(failure)?;
    let started = Instant::now();
    let (done, exit) = all(render, stop);
    let mut more = harness::tail(stop.load(Relaxed), started.elapsed());
    more["renders"] = Value::Array(done);
    keep.end(&about::now(), more).map_err(failure)?;
    Ok(ended(stop, exit))
}

/// A session that cannot be rendered is told in the record; the others are rendered all the same.
fn all(render: &RenderJob, stop: &AtomicBool) -> (Vec<Value>, Exit) {
    let (mut done, mut exit) = (Vec::new(), Exit::Done);
    for session in &render.sessions {
        match one(render, session, stop) {
            Ok(Some(rendered)) => done.push(rendered),
            Ok(None) => break,
            Err(error) => {
                tell(&error);
                done.push(json!({ "session": session, "error": error.message }));
                exit = error.exit;
            }
        }
    }
    (done, exit)
}

/// Renders a session and hashes the audio file; `None` where the user stopped it.
fn one(render: &RenderJob, session: &Path, stop: &AtomicBool) -> Result<Option<Value>, Failure> {
    let folder = ScratchFolder::create(&std::env::temp_dir(), RENDER_PREFIX);
    let folder = folder.map_err(Failure::not_possible)?;
    let target = render.keep.as_deref().unwrap_or(folder.path());
    let unwritable =
        |error| Failure::not_possible(format!("{}: not written: {error}", target.display()));
    std::fs::create_dir_all(target).map_err(unwritable)?;
    let name = session.file_stem().unwrap_or_default().to_string_lossy();
    let audio = target.join(format!("{name}.wav"));
    if audio.symlink_metadata().is_ok() {
        return Err(failure(StoreError::Exists { path: audio }));
    }
    let started = Instant::now();
    if !crate::render::to_file(&arguments(render, session, &audio), stop)? {
        return Ok(None);
    }
    let seconds = started.elapsed().as_secs_f64();
    let bytes = std::fs::metadata(&audio).map_err(unwritable)?.len();
    Ok(Some(json!({
        "session": session,
        "session_sha256": about::digest(session),
        "bytes": bytes,
        "sha256": about::digest(&audio),
        "seconds": seconds,
    })))
}

fn arguments(render: &RenderJob, session: &Path, audio: &Path) -> RenderArgs {
    RenderArgs {
        input: Vec::new(),
        session: session.into(),
        output: audio.into(),
        format: FormatArg::Pcm24,
        dither: None,
        normalize: None,
        frames: render.frames,
        rate: None,
        length: None,
        from: None,
        to: None,
        stems: None,
        workers: None,
        schedule: Some(ScheduleArg::Dataflow),
        lanes: crate::cli::LanesArg::Off,
        policy: if render.siblings { SiblingPolicy::All } else { SiblingPolicy::Off }.into(),
        wait: Some(WaitArg::Hybrid),
        force: false,
        // Nobody reads the warnings of a job.
        strict: true,
        disk: DiskArgs { disk_buffer: 0 },
        isolate: IsolateArgs::default(),
        plugin_faults: PluginFaultsArg::Bypass,
        project: ProjectArgs::default(),
        // A job depends on its specification and the machine, not on who ran what there before.
        profile: ProfileArgs { profile: None, no_profile: true },
    }
}
