//! Arguments of `hocket bench`.

use std::path::PathBuf;

use clap::Args;
use hocket_engine::Settings;
use hocket_lab::report::MAX_SLOWER;

use super::choices::{
    DiskArgs, IsolateArgs, LanesArg, ProjectArgs, ScheduleArg, SiblingChoice, WaitArg, at_least_one,
};
use super::fill::Fill;
use super::headings::{MEASURING, WORKERS};
use crate::profile::ProfileArgs;

/// The most measured blocks per variant.
pub(crate) const MOST_BLOCKS: u64 = 10_000_000;
/// Process starts, where nobody asks for others.
pub(crate) const USUAL_STARTS: u16 = 5;
/// Blocks per turn, where nobody asks for others.
pub(crate) const USUAL_TURN: u64 = 150;

/// Arguments of `hocket bench`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  hocket bench sessions/band.toml
  hocket bench sessions/worst-case-4.toml --disturb preview,compute:2 --record out/wc4.json
  hocket bench sessions/band.toml --schedule serial,lists,dataflow --policy off --frames 128
  hocket bench sessions/band.toml --policy off,idle-thread --disturb compute:4@siblings
  hocket bench sessions/worst-case-4.toml --frames 256 --fill 85%
  hocket bench sessions/band.toml --policy off,all --counters
  hocket bench sessions/band.toml --policy off --baseline before.json")]
pub struct BenchArgs {
    /// The session file, .dawproject or MIDI file; `-` reads a session from standard input.
    #[arg(value_name = "SESSION")]
    pub session: PathBuf,
    /// Measured blocks per variant in all process starts, in whole turns.
    #[arg(long, value_name = "N", default_value_t = 3000, value_parser = clap::value_parser!(u64).range(1..=MOST_BLOCKS), help_heading = MEASURING)]
    pub blocks: u64,
    /// Measured blocks per turn; then the next variant has its turn.
    #[arg(long, value_name = "N", default_value_t = USUAL_TURN, value_parser = clap::value_parser!(u64).range(1..=1_000_000), help_heading = MEASURING)]
    pub blocks_per_round: u64,
    /// Process starts among which the turns are dealt out. A difference in speed is called shown only from 5
    /// on: within one start, the memory layout alone makes variants differ.
    #[arg(long, value_name = "N", default_value_t = USUAL_STARTS, value_parser = clap::value_parser!(u16).range(1..=1000), help_heading = MEASURING)]
    pub starts: u16,
    /// Block length in frames.
    #[arg(long, value_name = "N", default_value_t = 64)]
    pub frames: u32,
    /// Sample rate in Hz [default: the session's].
    #[arg(long, value_name = "HZ")]
    pub rate: Option<u32>,
    /// Number of workers, including the leader [default: one per seat that the policy uses].
    #[arg(long, value_name = "N", value_parser = at_least_one, help_heading = WORKERS)]
    pub workers: Option<usize>,
    /// Sibling policies to compare; the first is the reference.
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        default_value = "off,all,process-affinity,idle-thread,pair-barrier",
        help_heading = WORKERS
    )]
    pub policy: Vec<SiblingChoice>,
    /// Schedules to compare [default: the machine profile's, or dataflow].
    #[arg(long, value_name = "LIST", value_delimiter = ',', help_heading = WORKERS)]
    pub schedule: Vec<ScheduleArg>,
    /// Whether equal effects of two strips run in the lanes of one vector; `off,auto` compares both.
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "off", help_heading = WORKERS)]
    pub lanes: Vec<LanesArg>,
    /// Waits to compare: how workers wait inside a block [default: the machine profile's, or hybrid].
    #[arg(long, value_name = "LIST", value_delimiter = ',', help_heading = WORKERS)]
    pub wait: Vec<WaitArg>,
    /// How an idle thread holds its seat (policies idle-thread and pair-barrier). A blocking wait
    /// gives the seat up; use it only for comparison.
    #[arg(long, value_enum, default_value_t = WaitArg::Pause, help_heading = WORKERS)]
    pub seat_wait: WaitArg,
    /// Load beside the engine, such as `preview,compute:2@siblings`: preview or compute, how many, and
    /// where (siblings, first-seats or cpu3); or `none` [default: preview if the session names a
    /// file for it].
    #[arg(long, value_name = "LIST")]
    pub disturb: Option<String>,
    /// Adds equalisers to the tracks until a block takes this long in the median, such as 2ms, or this share of the period,
    /// such as 85%; or adds this many. The first variant is measured for it, without a load.
    #[arg(long, value_name = "HOW-MUCH", help_heading = MEASURING)]
    pub fill: Option<Fill>,
    /// Counts events of the processor in the leader and the workers, one group of events per turn, and prints the ratios
    /// that they make: CPI, cache misses, stalls and others (docs/counters.md). Counting slows thread switches, so do not
    /// compare the times with those of a run without it.
    #[arg(long, help_heading = MEASURING)]
    pub counters: bool,
    /// As --counters, and prints the ratios for each kind of node, too: eq, compressor, fader, plug-in and so on. For that each
    /// thread reads the counters around the parts of one unit per block, so blocks take longer. What the kernel counts is
    /// included (CPU time, page faults, thread switches), so there is something to see on a virtual machine.
    #[arg(long, help_heading = MEASURING)]
    pub counters_per_kind: bool,
    /// Real-time priority to request, 1 to 99; 0 requests ordinary threads.
    #[arg(long, value_name = "N", default_value_t = Settings::PRIORITY, value_parser = clap::value_parser!(u8).range(0..=99), help_heading = WORKERS)]
    pub priority: u8,
    /// Seed for the order of turns and for the intervals [default: from the clock].
    #[arg(long, value_name = "N", help_heading = MEASURING)]
    pub seed: Option<u64>,
    /// Prints the whole record as JSON instead of the table.
    #[arg(long)]
    pub json: bool,
    /// Writes the record to this file.
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,
    /// Writes the report to this file, as one HTML page.
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,
    /// Replaces files that Hocket did not write.
    #[arg(long)]
    pub force: bool,
    /// Ends with exit code 1 if any variant has more misses than this: late blocks and skipped periods.
    #[arg(long, value_name = "N")]
    pub max_misses: Option<u64>,
    /// Compares the block times with those of this record of an earlier run. Ends with exit code 1 if a variant is shown
    /// to be slower by more than --max-slower, and with 2 if that cannot be judged. May be repeated: several runs of the
    /// earlier program tell how much two runs of one program differ. One cannot.
    #[arg(long, value_name = "RECORD", help_heading = MEASURING)]
    pub baseline: Vec<PathBuf>,
    /// With --baseline: how much slower in per cent a variant may have become. The default leaves room for what two runs
    /// of one program commonly differ by; give less only with three or more baselines.
    #[arg(long, value_name = "PERCENT", default_value_t = MAX_SLOWER, requires = "baseline", value_parser = per_cent, allow_negative_numbers = true, help_heading = MEASURING)]
    pub max_slower: f64,
    /// Refuses a session whose audio or MIDI files are cut short or damaged, and a .dawproject of which something does not play,
    /// instead of playing the rest.
    #[arg(long)]
    pub strict: bool,
    /// Measures one start for the bench with this process ID, and tells it the record.
    #[arg(long, value_name = "PID", hide = true)]
    pub start_of: Option<i32>,
    /// Adds this many copies of tracks and measures the session alone, for `hocket capacity`.
    #[arg(long, value_name = "N", hide = true, requires = "start_of")]
    pub copies: Option<usize>,
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

fn per_cent(text: &str) -> Result<f64, String> {
    let known = text.trim_end_matches('%').parse().ok().filter(|it: &f64| it.is_finite());
    known.filter(|it| *it >= 0.0).ok_or_else(|| "not a number of per cent, 0 or more".into())
}
