//! `hocket tune`: measures this machine and writes its profile.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::Args;
use hocket_lab::fleet::LabJob;
use hocket_lab::harness::Results;
use hocket_lab::numbers::counted;
use hocket_lab::store::{RunRecord, Store};
use hocket_lab::tune::{
    Conditions, EXPERIMENTS, Evidence, Profile, Recommended, Undecided, derive,
};
use hocket_machine::{Topology, facts};

use crate::failure::{Exit, Failure};
use crate::files::{Files, Kind};
use crate::lab::{self, duration};
use crate::output::{print, tell};
use crate::profile::usual_place;

/// Arguments of `hocket tune`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  hocket tune                                measures for three minutes and writes the profile
  hocket tune --time 20m                     the same, more exactly
  hocket tune --from-records --output desk.toml
  hocket tune --check                        does the profile still hold?

bench, play and render take their defaults from the profile for as long as kernel, processor,
microcode, hypervisor, governor and usable CPUs are as they were. It is kept in
$XDG_CONFIG_HOME/hocket/machine.toml (usually ~/.config/hocket/machine.toml); the variable
HOCKET_PROFILE names another file, or none.")]
pub struct TuneArgs {
    /// Writes the profile to this file [default: ~/.config/hocket/machine.toml].
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// File for the measurements.
    #[arg(long, value_name = "FILE", default_value = "out/lab.sqlite")]
    pub records: PathBuf,
    /// Measures nothing; takes the newest runs of this machine from the record file.
    #[arg(long, conflicts_with_all = ["time", "check"])]
    pub from_records: bool,
    /// How long to measure, such as 90s or 20m.
    #[arg(long, value_name = "TIME", default_value = "3m", value_parser = duration)]
    pub time: Duration,
    /// Says whether the profile holds and what changed; if it does not hold, exit code 1.
    #[arg(long)]
    pub check: bool,
    /// Replaces a file that is no machine profile.
    #[arg(long, conflicts_with = "check")]
    pub force: bool,
}

/// Runs the command.
///
/// # Errors
/// [`Failure`].
pub fn run(args: &TuneArgs) -> Result<Exit, Failure> {
    let output = place(args)?;
    let topology = crate::load::topology()?;
    if args.check {
        return check(&output, &topology);
    }
    let files = check_files(args, &output)?;
    let (evidence, from) = match args.from_records {
        true => recorded(&args.records, &topology)?,
        false => match measured(args)? {
            Some(found) => found,
            None => return Ok(Exit::Interrupted),
        },
    };
    let made = hocket_lab::about::now();
    let profile =
        derive(&evidence, &facts::read(), &topology, from, made).map_err(Failure::not_possible)?;
    files.make_folders()?;
    profile.write(&output).map_err(Failure::not_possible)?;
    crate::written::wrote(&output);
    print(&told(&profile, &output));
    Ok(Exit::Done)
}

fn place(args: &TuneArgs) -> Result<PathBuf, Failure> {
    args.output.clone().or_else(usual_place).ok_or_else(|| {
        Failure::bad_input("there is no usual place for a profile (HOCKET_PROFILE is none, or there is no home): name a file with --output")
    })
}

/// Before minutes are spent on measuring.
fn check_files(args: &TuneArgs, output: &Path) -> Result<Files, Failure> {
    let mut files = Files::new(args.force);
    match args.from_records {
        true => files.reads("--records", &args.records),
        false => files.adds_to("--records", &args.records)?,
    }
    files.writes("--output", output, Kind::Profile)?;
    Ok(files)
}

/// One run of the experiments that a profile rests on; `None` where the user stopped it.
fn measured(args: &TuneArgs) -> Result<Option<(Evidence, String)>, Failure> {
    let wanted = LabJob {
        experiments: EXPERIMENTS.iter().map(|id| (*id).to_owned()).collect(),
        full: false,
        time_s: Some(args.time.as_secs_f64()),
        width_percent: 1.0,
    };
    let started = Instant::now();
    let (store, run, interrupted) = lab::measure_job(&args.records, &wanted)?;
    crate::notes::time_taken(Some(args.time), started.elapsed(), "give more time");
    if interrupted {
        tell(format_args!(
            "interrupted: no profile was written; what was measured is run {} of {}",
            run.run,
            args.records.display()
        ));
        return Ok(None);
    }
    let evidence = Evidence::new(results(&store, &run, |_| true)?);
    Ok(Some((evidence, named(&run, &args.records))))
}

/// The newest rows of this machine for every experiment.
fn recorded(path: &Path, topology: &Topology) -> Result<(Evidence, String), Failure> {
    let store = lab::open(path)?;
    let here = hocket_lab::harness::host_digest(topology);
    let mut found: Vec<Results> = Vec::new();
    let mut from: Vec<String> = Vec::new();
    let runs = store.runs().map_err(lab::failure)?;
    for run in runs.iter().rev().filter(|run| run.host == here && is_of_this_kernel(run)) {
        let new = |id: &str| EXPERIMENTS.contains(&id) && found.iter().all(|f| f.run.id != id);
        let more = results(&store, run, new)?;
        if !more.is_empty() {
            from.push(named(run, path));
        }
        found.extend(more);
    }
    if found.is_empty() {
        return Err(Failure::bad_input(format!(
            "{}: holds no run of {} on this machine and kernel; run `hocket tune` without --from-records",
            path.display(),
            EXPERIMENTS.join(", ")
        )));
    }
    Ok((Evidence::new(found), from.join("; ")))
}

fn is_of_this_kernel(run: &RunRecord) -> bool {
    let then = run.meta.pointer("/machine/facts/kernel_release/value");
    let now = facts::read().kernel_release;
    then.and_then(|value| value.as_str()) == now.value().map(String::as_str)
}

fn results(
    store: &Store,
    run: &RunRecord,
    wanted: impl Fn(&str) -> bool,
) -> Result<Vec<Results>, Failure> {
    let own = run.experiments.iter().filter(|experiment| wanted(&experiment.id));
    own.map(|experiment| store.results(run, experiment).map_err(lab::failure)).collect()
}

fn named(run: &RunRecord, path: &Path) -> String {
    let short = run.uuid.get(..8).unwrap_or(&run.uuid);
    format!("run {} ({short}) of {} in {}", run.run, run.started_at, path.display())
}

/// `--check`.
fn check(path: &Path, topology: &Topology) -> Result<Exit, Failure> {
    let profile = Profile::read(path).map_err(Failure::bad_input)?;
    let changed = profile.holds_while.changed(&Conditions::of(&facts::read(), topology));
    let (path, made) = (path.display(), &profile.made);
    if changed.is_empty() {
        print(&format!("{path} of {made} holds.\n"));
        return Ok(Exit::Done);
    }
    let list: String = changed.iter().map(|what| format!("  {what}\n")).collect();
    print(&format!("{path} of {made} no longer holds:\n{list}Run `hocket tune` again.\n"));
    Ok(Exit::Missed)
}

/// What was found, for people.
fn told(profile: &Profile, path: &Path) -> String {
    let mut text = format!("Pairs: {}\n", profile.pairs.verdict);
    text += &seats_told(profile);
    for block in &profile.blocks {
        text += &format!(
            "\n{} frames: {}, {}, wait {}, policy {}\n",
            block.frames,
            block.schedule.name(),
            counted(block.workers, "worker"),
            block.wait,
            block.policy.name()
        );
        text.extend(block.reasons.iter().map(|reason| format!("  {reason}\n")));
        text += &basis(block);
    }
    for Undecided { frames, why, .. } in &profile.undecided {
        text += &format!("\n{frames} frames: too short to tell, nothing is recommended\n  {why}\n");
    }
    if !profile.undecided.is_empty() {
        text += "\nMeasure longer on an idle machine, as in `hocket tune --time 20m`.\n";
    }
    text.extend(profile.unknown.iter().map(|what| format!("Not known: {what}\n")));
    text + &format!(
        "\nProfile: {}\nbench, play and render take their defaults from it until kernel, processor, microcode, hypervisor,\n\
         governor or usable CPUs change, if it is at the usual place; `hocket tune --check` tells.\n",
        path.display()
    )
}

fn basis(block: &Recommended) -> String {
    let turns = counted(block.turns, "turn");
    match block.change_percent {
        Some([low, high]) => format!(
            "  rests on {turns} of each way, against the serial walk {low:+.1} to {high:+.1} %\n"
        ),
        None => format!("  rests on {turns}\n"),
    }
}

fn seats_told(profile: &Profile) -> String {
    if profile.seats.is_empty() {
        return String::new();
    }
    let seat = |seat: &hocket_lab::tune::Seat| {
        format!("CPU {} {:.2} (measured {:.2})", seat.cpu, seat.speed, seat.measured)
    };
    let seats: Vec<String> = profile.seats.iter().map(seat).collect();
    format!("Speeds: {}\n", seats.join(", "))
}
