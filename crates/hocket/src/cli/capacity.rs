//! Arguments of `hocket capacity`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use hocket_engine::Settings;

use super::choices::{
    DiskArgs, IsolateArgs, LanesArg, ProjectArgs, ScheduleArg, SiblingChoice, WaitArg, at_least_one,
};
use super::headings::WORKERS;
use crate::lab::duration;
use crate::profile::ProfileArgs;

/// Arguments of `hocket capacity`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  hocket capacity sessions/best-case.toml --frames 64,256
  hocket capacity sessions/band.toml --record out/capacity.json --plot out/capacity.svg
  hocket capacity sessions/band.toml --frames 128 --late-per-hour 60 --most-channels 64

With --record, each block length is kept as soon as it is done. The same command then goes on with those that are
missing.")]
pub struct CapacityArgs {
    /// The session file, .dawproject or MIDI file; `-` reads a session from standard input. Copies of its tracks are the
    /// channels.
    #[arg(value_name = "SESSION")]
    pub session: PathBuf,
    /// Block lengths in frames.
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        default_value = "32,64,128,256,512,1024"
    )]
    pub frames: Vec<u32>,
    /// How long the channels that were found are played, for each block length, such as 90s or 20m [default: 2m, or what
    /// --late-per-hour needs].
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub time: Option<Duration>,
    /// Late blocks an hour that are good enough, skipped periods included. Ends with exit code 1 if a block length is not
    /// shown to have at most so many (95 %). Without this option no block of a run may be late.
    #[arg(long, value_name = "N", value_parser = above_zero, allow_negative_numbers = true)]
    pub late_per_hour: Option<f64>,
    /// The most channels that are tried.
    #[arg(long, value_name = "N", default_value_t = 2000, value_parser = clap::value_parser!(u32).range(1..=20_000))]
    pub most_channels: u32,
    /// Sample rate in Hz [default: the session's].
    #[arg(long, value_name = "HZ")]
    pub rate: Option<u32>,
    /// Number of workers, including the leader [default: one per seat that the policy uses].
    #[arg(long, value_name = "N", value_parser = at_least_one, help_heading = WORKERS)]
    pub workers: Option<usize>,
    /// Who may run beside a worker on its core.
    #[arg(long, value_name = "POLICY", default_value = "off", help_heading = WORKERS)]
    pub policy: SiblingChoice,
    /// Who runs a unit [default: the machine profile's, or dataflow].
    #[arg(long, value_name = "SCHEDULE", help_heading = WORKERS)]
    pub schedule: Option<ScheduleArg>,
    /// Whether equal effects of two strips run in the lanes of one vector.
    #[arg(long, value_enum, default_value_t = LanesArg::Off, help_heading = WORKERS)]
    pub lanes: LanesArg,
    /// How workers wait inside a block [default: the machine profile's, or hybrid].
    #[arg(long, value_name = "WAIT", help_heading = WORKERS)]
    pub wait: Option<WaitArg>,
    /// Load beside the engine, as in `bench`, such as `compute:2@siblings`.
    #[arg(long, value_name = "LIST", default_value = "none")]
    pub disturb: String,
    /// Real-time priority to request, 1 to 99; 0 requests ordinary threads.
    #[arg(long, value_name = "N", default_value_t = Settings::PRIORITY, value_parser = clap::value_parser!(u8).range(0..=99), help_heading = WORKERS)]
    pub priority: u8,
    /// Prints the whole record as JSON instead of the table.
    #[arg(long)]
    pub json: bool,
    /// Keeps the record in this file, block length by block length. If the file has some already, goes on with the others.
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,
    /// Writes the plot of channels over block lengths to this file, as SVG.
    #[arg(long, value_name = "FILE")]
    pub plot: Option<PathBuf>,
    /// Replaces files that Hocket did not write, and a record with which it cannot go on.
    #[arg(long)]
    pub force: bool,
    /// Refuses a session whose audio or MIDI files are cut short or damaged, and a .dawproject of which something does not play,
    /// instead of playing the rest.
    #[arg(long)]
    pub strict: bool,
    /// How files play from the disk.
    #[command(flatten)]
    pub disk: DiskArgs,
    /// Which plug-ins run in processes of their own.
    #[command(flatten)]
    pub isolate: IsolateArgs,
    /// How a project or a MIDI file becomes a session.
    #[command(flatten)]
    pub project: ProjectArgs,
    /// Where defaults come from.
    #[command(flatten)]
    pub profile: ProfileArgs,
}

fn above_zero(text: &str) -> Result<f64, String> {
    let number: Option<f64> = text.parse().ok();
    let known = number.filter(|it| (1e-3..=1e6).contains(it));
    known.ok_or_else(|| {
        "give a number above 0 (0.001 to 1000000); a run shows none for no time".into()
    })
}
