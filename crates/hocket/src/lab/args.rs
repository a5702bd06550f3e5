//! Arguments of `hocket lab`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};

use super::condition::{Change, Condition};

/// Arguments of `hocket lab`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  hocket lab list                               lists what can be measured here
  hocket lab explain false-sharing              prints question, method, figures, limits
  hocket lab run --quick                        measures everything in less than five minutes
  hocket lab run wake false-sharing --time 10m  runs two experiments for ten minutes
  hocket lab report                             prints what the last run shows, on one screen
  hocket lab report --html                      writes the same as a page")]
pub struct LabArgs {
    /// What to do.
    #[command(subcommand)]
    pub command: LabCommand,
}

impl LabArgs {
    /// Whether this is a process start of a run, which prints only its turns.
    pub fn is_child(&self) -> bool {
        matches!(self.command, LabCommand::Child)
    }
}

/// The commands of the lab.
#[derive(Debug, Subcommand)]
pub enum LabCommand {
    /// Lists the experiments, and which of them this machine can run.
    List(ListArgs),
    /// Explains an experiment: its question, method and figures.
    Explain(ExplainArgs),
    /// Measures, keeps every turn, and prints the results.
    Run(RunArgs),
    /// Prints the results of a run, or writes them as a page.
    Report(ReportArgs),
    /// Compares two runs, or a run with the historic figures.
    Compare(CompareArgs),
    /// Writes the rows of a run for other programs.
    Export(ExportArgs),
    /// Queries the record file in SQL.
    Query(QueryArgs),
    /// Writes job files with which a scheduler runs the lab, or renders, on many machines.
    Plan(PlanArgs),
    /// Merges the record files of many machines into one.
    Merge(MergeArgs),
    /// Runs one process start of an experiment; `run` starts it.
    #[command(hide = true)]
    Child,
}

/// Record file.
#[derive(Debug, Clone, Args)]
pub struct RecordsArg {
    /// The record file.
    #[arg(long, value_name = "FILE", default_value = "out/lab.sqlite")]
    pub records: PathBuf,
}

/// Arguments of `hocket lab list`.
#[derive(Debug, Args)]
pub struct ListArgs {
    /// Prints JSON instead of text.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `hocket lab explain`.
#[derive(Debug, Args)]
pub struct ExplainArgs {
    /// The experiment.
    #[arg(value_name = "ID")]
    pub id: String,
    /// Prints JSON instead of text.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `hocket lab run`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  hocket lab run --quick
  hocket lab run false-sharing --full --records desk.sqlite
  hocket lab run wake --quick --fail-if \"wake.lateness > 100000\"
  hocket lab run aim9 --folder /var/tmp            writes its files there
  hocket lab run tuning --system-wide              also tries settings of the whole machine
  hocket lab run --guest ./program                 compares the variants of a program of yours
  hocket lab run affinity --guest \"xz -kc FILE\"    measures whether pinning helps a command

Every run begins with the A/A experiment. An experiment ends when its intervals are narrow enough or
its time is over; the report says which. Ctrl-C keeps every whole turn.")]
pub struct RunArgs {
    /// The experiments [default: all].
    #[arg(value_name = "ID")]
    pub ids: Vec<String>,
    /// Runs a job file of `hocket lab plan` and writes one new record file.
    #[arg(long, value_name = "FILE", requires = "records", conflicts_with_all = ["ids", "quick", "full", "time", "seed", "width", "fail_if", "guest", "folder", "system_wide"])]
    pub spec: Option<PathBuf>,
    /// Some seconds per experiment, all in less than five minutes (the default).
    #[arg(long, conflicts_with_all = ["full", "time"])]
    pub quick: bool,
    /// Two minutes per experiment.
    #[arg(long, conflicts_with = "time")]
    pub full: bool,
    /// Time for everything, such as 90s, 10m or 2h.
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub time: Option<Duration>,
    /// Where to keep the turns.
    #[command(flatten)]
    pub records: RecordsArg,
    /// Seed of every random choice [default: from the clock].
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Ends an experiment early when all its ratios are known within this many percent.
    #[arg(long, value_name = "PERCENT", default_value_t = 1.0, value_parser = percent)]
    pub width: f64,
    /// Pattern file for `load-pattern`, instead of the built-in patterns; docs/lab.md explains the language.
    #[arg(long, value_name = "FILE")]
    pub pattern: Option<PathBuf>,
    /// Folder for the files of `aim9`, `fileserver` and `smt-load` [default: that for temporary files, or /var/tmp if memory
    /// holds it].
    #[arg(long, value_name = "FOLDER")]
    pub folder: Option<PathBuf>,
    /// Lets `tuning` also try settings of the whole machine: frequency governor, sleep of idle CPUs, interrupts, preemption mode.
    /// They are put back however the run ends.
    #[arg(long)]
    pub system_wide: bool,
    /// Measures this program, which answers a line of JSON for each round; with `affinity`, any command. Blanks separate
    /// words, quotes hold them together. docs/lab.md explains how programs answer.
    #[arg(long, value_name = "CMD")]
    pub guest: Option<String>,
    /// Ends with exit code 1 if this holds: ID.METRIC > X, or ID.METRIC[VARIANT] > X. May be repeated.
    #[arg(long, value_name = "CONDITION", value_parser = Condition::parse)]
    pub fail_if: Vec<Condition>,
    /// Prints every figure instead of one screen.
    #[arg(long, conflicts_with = "json")]
    pub all: bool,
    /// Prints JSON instead of text.
    #[arg(long)]
    pub json: bool,
}

impl RunArgs {
    /// How its results are printed.
    pub(super) fn form(&self) -> Form {
        Form::of(self.all, self.json)
    }
}

/// How much of a run is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// One screen: verdicts, and what to do.
    Short,
    /// Every figure.
    All,
    /// For programs.
    Json,
}

impl Form {
    fn of(all: bool, json: bool) -> Form {
        match (all, json) {
            (_, true) => Form::Json,
            (true, _) => Form::All,
            _ => Form::Short,
        }
    }
}

/// Arguments of `hocket lab report`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  hocket lab report                         prints verdicts of the last run, and what to do
  hocket lab report --all                   prints every figure of it
  hocket lab report --html                  writes the last run as a page, out/lab.html
  hocket lab report 2026-05-01 -o may.html  writes the last run of that day as a page
  hocket lab report --pictures pictures     writes each plot of the last run as an SVG file")]
pub struct ReportArgs {
    /// Which run: its number, a date, the beginning of its id, `last`, `last~1`.
    #[arg(value_name = "RUN", default_value = "last")]
    pub run: String,
    /// Where the run is.
    #[command(flatten)]
    pub records: RecordsArg,
    /// Ends with exit code 1 if this holds: ID.METRIC > X, or ID.METRIC[VARIANT] > X. May be repeated.
    #[arg(long, value_name = "CONDITION", value_parser = Condition::parse)]
    pub fail_if: Vec<Condition>,
    /// Writes the report to this file, as one HTML page, instead of printing it.
    #[arg(short, long, value_name = "FILE", conflicts_with = "json")]
    pub output: Option<PathBuf>,
    /// Writes the page to out/lab.html.
    #[arg(long, conflicts_with_all = ["json", "output"])]
    pub html: bool,
    /// Writes each plot to a file in this folder: ID.svg, ID-2.svg. Replaces earlier pictures, and says so.
    #[arg(long, value_name = "FOLDER", conflicts_with = "json")]
    pub pictures: Option<PathBuf>,
    /// Replaces files that Hocket did not write.
    #[arg(long)]
    pub force: bool,
    /// Prints every figure instead of one screen.
    #[arg(long, conflicts_with = "json")]
    pub all: bool,
    /// Prints JSON instead of text.
    #[arg(long)]
    pub json: bool,
}

impl ReportArgs {
    /// How the run is printed.
    pub(super) fn form(&self) -> Form {
        Form::of(self.all, self.json)
    }
}

/// Arguments of `hocket lab compare`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  hocket lab compare last~1 last            compares yesterday's run with today's
  hocket lab compare desk.sqlite last       compares the last run of another file with the last one here
  hocket lab compare desk.sqlite:3 last     compares run 3 of that file
  hocket lab compare last historic          compares with figures printed in 2002 to 2009
  hocket lab compare base.sqlite last --fail-if \"wake.lateness > 10%\"   a gate for automatic tests

Rounds of different runs are not paired, so whatever changed between them is in the ratios: two runs of
one program differ, too. With --fail-if it ends with exit code 0 if no condition holds, 1 if one does,
and 2 if one cannot be judged, as for runs of different machines or sizes.")]
pub struct CompareArgs {
    /// Which run: its number, a date, the beginning of its id, `last`, `last~1`, FILE or FILE:RUN.
    #[arg(value_name = "A")]
    pub a: String,
    /// The run to compare with, named in the same way, or `historic`.
    #[arg(value_name = "B")]
    pub b: String,
    /// Where runs are that name no file.
    #[command(flatten)]
    pub records: RecordsArg,
    /// Ends with exit code 1 if a figure of B is shown to differ from that of A by more: ID.METRIC > X%,
    /// ID.METRIC < -X%, or with [VARIANT] after METRIC. Choose X above what two runs of one program differ by. May be
    /// repeated.
    #[arg(long, value_name = "CONDITION", value_parser = Change::parse)]
    pub fail_if: Vec<Change>,
    /// Prints JSON instead of text.
    #[arg(long)]
    pub json: bool,
}

/// Formats of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Comma-separated values, with a line of names.
    Csv,
    /// A list of objects.
    Json,
}

/// Arguments of `hocket lab export`.
#[derive(Debug, Args)]
pub struct ExportArgs {
    /// Which run: its number, a date, the beginning of its id, `last`, `last~1`; `all` for every run.
    #[arg(value_name = "RUN", default_value = "last")]
    pub run: String,
    /// The format.
    #[arg(long, value_enum, default_value_t = Format::Csv)]
    pub format: Format,
    /// A new file to write; `-` is standard output [default: -].
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Where the run is.
    #[command(flatten)]
    pub records: RecordsArg,
}

/// Arguments of `hocket lab query`.
#[derive(Debug, Args)]
#[command(after_help = "\
Example: hocket lab query \"SELECT variant, metric, avg(value) FROM rows WHERE run = 1 GROUP BY 1, 2\"")]
pub struct QueryArgs {
    /// The query; it cannot change the file.
    #[arg(value_name = "SQL")]
    pub sql: String,
    /// Where the records are.
    #[command(flatten)]
    pub records: RecordsArg,
    /// Comma-separated values instead of a table.
    #[arg(long, conflicts_with = "json")]
    pub csv: bool,
    /// Prints JSON instead of a table.
    #[arg(long)]
    pub json: bool,
}

/// Schedulers for which Hocket writes job files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Scheduler {
    /// Job arrays for Slurm.
    Slurm,
    /// A job definition file for HyperQueue.
    #[value(name = "hyperqueue")]
    HyperQueue,
}

/// Arguments of `hocket lab plan`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  hocket lab plan wake false-sharing --full --hosts hosts.toml --for slurm -o plan
  hocket lab plan --renders sessions --hosts hosts.toml --for hyperqueue -o renders

Hosts are one name a line with options (node1 cpus=0-7 partition=fast siblings=no), or TOML with a
[[host]] for each. The plan's folder and the program have to be at the same place on every host.")]
pub struct PlanArgs {
    /// The experiments [default: all].
    #[arg(value_name = "ID", conflicts_with = "renders")]
    pub ids: Vec<String>,
    /// The machines.
    #[arg(long, value_name = "FILE")]
    pub hosts: PathBuf,
    /// The scheduler that runs the plan.
    #[arg(long = "for", value_name = "NAME", value_enum)]
    pub scheduler: Scheduler,
    /// A new folder to write.
    #[arg(short, long, value_name = "FOLDER", default_value = "out/plan")]
    pub output: PathBuf,
    /// Renders the session files in this folder, distributed over the hosts, instead of measuring.
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["quick", "full", "time", "width"])]
    pub renders: Option<PathBuf>,
    /// Keeps the rendered audio in the plan's folder `audio`.
    #[arg(long, requires = "renders")]
    pub keep: bool,
    /// Some seconds per experiment (the default).
    #[arg(long, conflicts_with_all = ["full", "time"])]
    pub quick: bool,
    /// Two minutes per experiment.
    #[arg(long, conflicts_with = "time")]
    pub full: bool,
    /// Time for everything on each host, such as 90s, 10m or 2h.
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub time: Option<Duration>,
    /// Ends an experiment early when all its ratios are known within this many percent.
    #[arg(long, value_name = "PERCENT", default_value_t = 1.0, value_parser = percent)]
    pub width: f64,
    /// Seed of every random choice; the same seed makes the same plan.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Path of the program on the hosts [default: the same as here].
    #[arg(long, value_name = "FILE")]
    pub program: Option<PathBuf>,
}

/// Arguments of `hocket lab merge`.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  hocket lab merge all.sqlite plan/records/*.sqlite
  hocket lab query --records all.sqlite \"SELECT host, count(*) FROM runs GROUP BY host\"

A run that is in several files is taken once. Nothing is written unless everything can be.")]
pub struct MergeArgs {
    /// A new file to write.
    #[arg(value_name = "OUT")]
    pub out: PathBuf,
    /// Record files.
    #[arg(value_name = "IN", required = true)]
    pub inputs: Vec<PathBuf>,
    /// Also takes experiments that were measured by different definitions.
    #[arg(long)]
    pub mixed: bool,
}

pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let factor = match &text[digits.len()..] {
        "s" | "" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        unit => {
            return Err(format!(
                "'{unit}' is no unit of time here; use s, m or h, as in 90s or 10m"
            ));
        }
    };
    let number: f64 =
        digits.parse().map_err(|_| "give a number and a unit, as in 90s or 10m".to_string())?;
    let seconds = number * factor;
    match (1.0..=7.0 * 86_400.0).contains(&seconds) {
        true => Ok(Duration::from_secs_f64(seconds)),
        false => Err("give at least a second and at most a week".into()),
    }
}

fn percent(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(percent) if percent > 0.0 && percent <= 100.0 => Ok(percent),
        _ => Err("give a number of percent above 0, at most 100".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units() {
        assert_eq!(duration("90s").unwrap(), Duration::from_secs(90));
        assert_eq!(duration("1.5m").unwrap(), Duration::from_secs(90));
        assert_eq!(duration("2h").unwrap(), Duration::from_secs(7200));
        for bad in ["", "m", "10 parsecs", "-3s", "0s", "1e9h", "NaNs"] {
            assert!(duration(bad).is_err(), "{bad}");
        }
    }
}
