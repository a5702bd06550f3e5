//! `hocket lab plan`: job files for many machines.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use hocket_files::ScratchFolder;
use hocket_lab::fleet::{
    Fleet, FleetError, Host, Job, LabJob, RenderJob, hyperqueue, shards, slurm,
};
use hocket_lab::harness::Budget;
use hocket_lab::numbers::counted;
use hocket_session::LoadOptions;

use super::args::{PlanArgs, Scheduler};
use super::run as lab_run;
use crate::failure::{Exit, Failure};
use crate::output::{print, warn};

/// How the folder begins in which a plan is written.
const PREFIX: &str = ".plan-";

/// Runs the command.
pub(super) fn run(args: &PlanArgs) -> Result<Exit, Failure> {
    let hosts = Host::read(&args.hosts).map_err(Failure::bad_input)?;
    let fleet = fleet(args)?;
    let jobs = match &args.renders {
        None => measuring(args, &fleet, &hosts)?,
        Some(folder) => rendering(args, &fleet, &hosts, folder)?,
    };
    let (hosts, jobs): (Vec<Host>, Vec<Job>) = jobs.into_iter().unzip();
    let files = files(args.scheduler, &fleet, &hosts, &jobs);
    write(&fleet.folder, &files)?;
    print(&told(args, &fleet, &jobs));
    Ok(Exit::Done)
}

fn fleet(args: &PlanArgs) -> Result<Fleet, Failure> {
    let absolute = |path: &Path| {
        std::path::absolute(path)
            .map_err(|error| Failure::bad_input(format!("{}: {error}", path.display())))
    };
    let program = match &args.program {
        Some(program) => absolute(program)?,
        None => std::env::current_exe().map_err(|error| {
            Failure::not_possible(format!("this program does not find itself: {error}"))
        })?,
    };
    let fleet = Fleet {
        name: if args.renders.is_some() { "hocket-renders" } else { "hocket-lab" }.into(),
        folder: absolute(&args.output)?,
        program,
        limit: if args.renders.is_some() { None } else { Some(limit(&wanted(args), args.seed)?) },
        renders: args.renders.is_some(),
    };
    fleet.check().map_err(Failure::bad_input)?;
    Ok(fleet)
}

fn wanted(args: &PlanArgs) -> LabJob {
    LabJob {
        experiments: args.ids.clone(),
        full: args.full,
        time_s: args.time.map(|time| time.as_secs_f64()),
        width_percent: args.width,
    }
}

/// Twice the time it takes, and ten minutes for a slow start.
fn limit(wanted: &LabJob, seed: u64) -> Result<Duration, Failure> {
    let plan = lab_run::plan(wanted, seed)?;
    let time = match plan.budget {
        Budget::Each(each) => each * plan.experiments.len() as u32,
        Budget::All(all) => all,
    };
    Ok(time * 2 + Duration::from_secs(600))
}

type Jobs = Vec<(Host, Job)>;

fn measuring(args: &PlanArgs, fleet: &Fleet, hosts: &[Host]) -> Result<Jobs, Failure> {
    if hosts.iter().any(|host| !host.siblings) {
        warn(format_args!(
            "{}: siblings=no is for renders; the lab measures the siblings and is given them",
            args.hosts.display()
        ));
    }
    debug_assert!(!fleet.renders);
    let job = |host: &Host| (host.clone(), Job::lab(host, args.seed, wanted(args)));
    Ok(hosts.iter().map(job).collect())
}

fn rendering(
    args: &PlanArgs,
    fleet: &Fleet,
    hosts: &[Host],
    folder: &Path,
) -> Result<Jobs, Failure> {
    let sessions = sessions(folder)?;
    let share = |(host, sessions): (&Host, Vec<PathBuf>)| {
        let render = RenderJob {
            sessions,
            frames: 1024,
            siblings: host.siblings,
            keep: args.keep.then(|| fleet.folder.join("audio")),
        };
        (host.clone(), Job::render(host, args.seed, render))
    };
    let shares = hosts.iter().zip(shards(sessions, hosts.len()));
    Ok(shares.filter(|(_, sessions)| !sessions.is_empty()).map(share).collect())
}

/// The session files of a folder, each looked at, so that a fault is told before anything waits in a queue.
fn sessions(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let unreadable = |error: std::io::Error| {
        Failure::bad_input(format!("{}: {error}; name a folder of session files", folder.display()))
    };
    let folder = fs::canonicalize(folder).map_err(unreadable)?;
    let mut sessions = Vec::new();
    for entry in fs::read_dir(&folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        if path.extension().is_some_and(|extension| extension == "toml") && path.is_file() {
            let catalogue = crate::load::effects();
            hocket_session::load(&path, &catalogue, &LoadOptions::for_seats(2))
                .map_err(Failure::bad_input)?;
            sessions.push(path);
        }
    }
    match sessions.is_empty() {
        false => Ok(sessions),
        true => Err(Failure::bad_input(FleetError::whole(
            &folder,
            "there is no session file (.toml) in it",
            "name a folder of session files",
        ))),
    }
}

fn files(
    scheduler: Scheduler,
    fleet: &Fleet,
    hosts: &[Host],
    jobs: &[Job],
) -> Vec<(String, String)> {
    let mut files = match scheduler {
        Scheduler::Slurm => slurm::files(fleet, hosts),
        Scheduler::HyperQueue => hyperqueue::files(fleet, hosts),
    };
    files.extend(jobs.iter().map(|job| (format!("jobs/{}.toml", job.host), job.text())));
    files
}

/// All files or none: the folder is filled beside its place and then given its name.
fn write(folder: &Path, files: &[(String, String)]) -> Result<(), Failure> {
    let failed = |error: std::io::Error| {
        Failure::not_possible(format!("{}: not written: {error}", folder.display()))
    };
    let taken = |_| {
        let what = "it is there already and nothing was changed; name a new folder with -o";
        Failure::bad_input(format!("{}: {what}", folder.display()))
    };
    let empty = |at: &Path| fs::read_dir(at).is_ok_and(|mut entries| entries.next().is_none());
    if folder.symlink_metadata().is_ok() && !empty(folder) {
        return Err(taken(()));
    }
    let beside = folder.parent().unwrap_or(Path::new("/"));
    fs::create_dir_all(beside).map_err(failed)?;
    crate::leftovers::remove_dead(beside, PREFIX);
    let temporary = ScratchFolder::create(beside, PREFIX).map_err(failed)?;
    fill(temporary.path(), files).map_err(failed)?;
    fs::rename(temporary.path(), folder).map_err(failed)?;
    temporary.keep();
    Ok(())
}

fn fill(folder: &Path, files: &[(String, String)]) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    for part in ["jobs", "records", "logs"] {
        fs::create_dir(folder.join(part))?;
    }
    // A folder for the eyes of one user only would keep the hosts' services out of the logs.
    fs::set_permissions(folder, fs::Permissions::from_mode(0o755))?;
    for (name, text) in files {
        let path = folder.join(name);
        fs::write(&path, text)?;
        if name.ends_with(".sh") {
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
        }
    }
    Ok(())
}

fn told(args: &PlanArgs, fleet: &Fleet, jobs: &[Job]) -> String {
    let folder = fleet.folder.display();
    let submit = match args.scheduler {
        Scheduler::Slurm => format!("{folder}/submit.sh"),
        Scheduler::HyperQueue => format!("hq job submit-file {folder}/hq.toml"),
    };
    format!(
        "{folder}: jobs for {}\nsubmit:  {submit}\nmerge:   hocket lab merge all.sqlite {folder}/records/*.sqlite\n",
        counted(jobs.len(), "host")
    )
}
