//! Arguments.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::failure::{Exit, Failure};
use crate::profile::ProfileArgs;

/// Plays audio sessions on every core, in time, and knows which hardware threads share a core.
#[derive(Debug, Parser)]
#[command(name = "hocket", version, max_term_width = 100, after_help = EXIT_CODES)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

const EXIT_CODES: &str = "\
Exit codes:
    0 done
    1 a deadline or threshold was missed (only with an option that checks it)
    2 bad usage or bad input
    3 not possible here
  130 interrupted with Ctrl-C; what was done until then is kept";

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Plays the worst-case session under five sibling policies and writes a report.
    Demo(DemoArgs),
    /// Shows cores, seats and caches of this machine, and what the system grants.
    Machine(crate::machine::MachineArgs),
    /// Compares policies on one session: turns interleaved, block times against the deadline.
    Bench(BenchArgs),
    /// Plays a session in real time and says why blocks were late.
    Play(PlayArgs),
    /// Writes a session to an audio file, as fast as the machine can.
    Render(RenderArgs),
    /// Turns a record of `bench` into a table or a page.
    Report(ReportArgs),
    /// Measures how to play on this machine; bench, play and render then use the result by default.
    Tune(crate::tune::TuneArgs),
    /// Runs experiments on siblings, waiting, sharing and priorities.
    Lab(crate::lab::LabArgs),
}

/// Runs the command.
///
/// # Errors
/// [`Failure`] with the exit code.
pub fn run(cli: Cli) -> Result<Exit, Failure> {
    let quiet = match &cli.command {
        Command::Machine(args) => args.restore,
        Command::Lab(args) => args.is_child(),
        _ => false,
    };
    if !quiet {
        crate::leftovers::warn();
    }
    let exit = match cli.command {
        Command::Demo(args) => crate::demo::run(&args),
        Command::Machine(args) => crate::machine::run(&args),
        Command::Bench(args) => crate::bench::run(&args),
        Command::Play(args) => crate::play::run(&args),
        Command::Render(args) => crate::render::run(&args),
        Command::Report(args) => crate::report::run(&args),
        Command::Tune(args) => crate::tune::run(&args),
        Command::Lab(args) => crate::lab::run(&args),
    };
    exit.map(crate::output::checked)
}

/// Arguments of `hocket demo`.
#[derive(Debug, Args)]
#[command(after_help = "Example: hocket demo --out out")]
pub struct DemoArgs {
    /// Folder for record and report.
    #[arg(long, value_name = "FOLDER", default_value = "out")]
    pub out: PathBuf,
    /// The session file [default: sessions/worst-case-4.toml, here or in a folder above the program].
    #[arg(long, value_name = "FILE")]
    pub session: Option<PathBuf>,
    /// Measured blocks per policy.
    #[arg(long, value_name = "N", default_value_t = 3000, value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    pub blocks: u64,
}

/// Arguments of `hocket bench`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  hocket bench sessions/band.toml
  hocket bench sessions/worst-case-4.toml --disturb preview,compute:2 --record out/wc4.json
  hocket bench sessions/band.toml --schedule serial,lists,dataflow --policy off --frames 128
  hocket bench sessions/band.toml --policy off,idle-thread --disturb compute:4@siblings")]
pub struct BenchArgs {
    /// The session file.
    #[arg(value_name = "SESSION")]
    pub session: PathBuf,
    /// Measured blocks per variant.
    #[arg(long, value_name = "N", default_value_t = 3000, value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    pub blocks: u64,
    /// Measured blocks per turn; then the next variant has its turn.
    #[arg(long, value_name = "N", default_value_t = 150, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub blocks_per_round: u64,
    /// Block length in frames.
    #[arg(long, value_name = "N", default_value_t = 64)]
    pub frames: u32,
    /// Sample rate in Hz [default: the session's].
    #[arg(long, value_name = "HZ")]
    pub rate: Option<u32>,
    /// Number of workers, including the leader [default: one per seat that the policy uses].
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    pub workers: Option<usize>,
    /// Sibling policies to compare; the first is the reference.
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        default_value = "off,all,process-affinity,idle-thread,pair-barrier"
    )]
    pub policy: Vec<SiblingArg>,
    /// Schedules to compare [default: the machine profile's, or dataflow].
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub schedule: Vec<ScheduleArg>,
    /// Waits to compare: how workers wait inside a block [default: the machine profile's, or hybrid].
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub wait: Vec<WaitArg>,
    /// How an idle thread holds its seat (policies idle-thread and pair-barrier). A blocking wait
    /// gives the seat up; use it only for comparison.
    #[arg(long, value_enum, default_value_t = WaitArg::Pause)]
    pub seat_wait: WaitArg,
    /// Load beside the engine, such as `preview,compute:2@siblings`: preview or compute, how many, and
    /// where (siblings, first-seats or cpu3); or `none` [default: preview if the session names a
    /// file for it].
    #[arg(long, value_name = "LIST")]
    pub disturb: Option<String>,
    /// Real-time priority to request, 1 to 99; 0 requests ordinary threads.
    #[arg(long, value_name = "N", default_value_t = 60, value_parser = clap::value_parser!(u8).range(0..=99))]
    pub priority: u8,
    /// Seed for the order of turns and for the intervals [default: from the clock].
    #[arg(long, value_name = "N")]
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
    /// Ends with exit code 1 if any variant misses more blocks than this.
    #[arg(long, value_name = "N")]
    pub max_misses: Option<u64>,
    /// Where defaults come from.
    #[command(flatten)]
    pub profile: ProfileArgs,
}

fn at_least_one(text: &str) -> Result<usize, String> {
    let count = text.parse().map_err(|_| "not a whole number".to_owned())?;
    if count == 0 { Err("at least 1 worker is needed, the leader".into()) } else { Ok(count) }
}

/// Arguments of `hocket play`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  hocket play sessions/band.toml --length 10
  hocket play sessions/band.toml --schedule auto --frames 128 --max-misses 0
  hocket play sessions/worst-case-8.toml --length 60 --json > run.json")]
pub struct PlayArgs {
    /// The session file.
    #[arg(value_name = "SESSION")]
    pub session: PathBuf,
    /// Device to play on; `virtual` has a real clock and a real deadline, but no sound.
    #[arg(long, value_name = "NAME", default_value = "virtual")]
    pub device: String,
    /// Block length in frames.
    #[arg(long, value_name = "N", default_value_t = 64)]
    pub frames: u32,
    /// Sample rate in Hz [default: the session's].
    #[arg(long, value_name = "HZ")]
    pub rate: Option<u32>,
    /// Length in seconds [default: the session's, or to the end of the last clip, or until Ctrl-C].
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true)]
    pub length: Option<f64>,
    /// Number of workers, including the leader [default: one per seat that the policy uses].
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    pub workers: Option<usize>,
    /// Which worker runs which unit when.
    #[arg(long, value_enum, default_value_t = ScheduleArg::Auto)]
    pub schedule: ScheduleArg,
    /// Who may run beside a worker on its core [default: auto with schedule auto, else off].
    #[arg(long, value_enum)]
    pub policy: Option<SiblingArg>,
    /// Cost table: measured costs of the session's units. Read at the start if the file exists,
    /// written at the end.
    #[arg(long, value_name = "FILE")]
    pub costs: Option<PathBuf>,
    /// How workers wait inside a block [default: the machine profile's, or hybrid].
    #[arg(long, value_enum)]
    pub wait: Option<WaitArg>,
    /// How an idle thread holds its seat (policies idle-thread and pair-barrier). A blocking wait
    /// gives the seat up; use it only for comparison.
    #[arg(long, value_enum, default_value_t = WaitArg::Pause)]
    pub seat_wait: WaitArg,
    /// Real-time priority to request, 1 to 99; 0 requests ordinary threads.
    #[arg(long, value_name = "N", default_value_t = 60, value_parser = clap::value_parser!(u8).range(0..=99))]
    pub priority: u8,
    /// Prints the result as JSON instead of the table.
    #[arg(long)]
    pub json: bool,
    /// Ends with exit code 1 if more periods than this had nothing new to play.
    #[arg(long, value_name = "N")]
    pub max_misses: Option<u64>,
    /// Where defaults come from.
    #[command(flatten)]
    pub profile: ProfileArgs,
}

/// Arguments of `hocket render`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  hocket render sessions/band.toml -o band.wav
  hocket render sessions/band.toml -o band.wav --format 32f --rate 96000 --length 10")]
pub struct RenderArgs {
    /// The session file.
    #[arg(value_name = "SESSION")]
    pub session: PathBuf,
    /// The WAV file to write.
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// Sample format.
    #[arg(long, value_enum, default_value_t = FormatArg::Pcm24)]
    pub format: FormatArg,
    /// Block length in frames.
    #[arg(long, value_name = "N", default_value_t = 1024)]
    pub frames: u32,
    /// Sample rate in Hz [default: the session's].
    #[arg(long, value_name = "HZ")]
    pub rate: Option<u32>,
    /// Length in seconds [default: the session's, or to the end of the last clip].
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true)]
    pub length: Option<f64>,
    /// Number of workers, including the leader [default: one per seat that the policy uses].
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    pub workers: Option<usize>,
    /// Which worker runs which unit when [default: the machine profile's, or dataflow].
    #[arg(long, value_enum)]
    pub schedule: Option<ScheduleArg>,
    /// Who may run beside a worker on its core.
    #[arg(long, value_enum, default_value_t = SiblingArg::All)]
    pub policy: SiblingArg,
    /// How workers wait inside a block [default: the machine profile's, or hybrid].
    #[arg(long, value_enum)]
    pub wait: Option<WaitArg>,
    /// Where defaults come from.
    #[command(flatten)]
    pub profile: ProfileArgs,
}

/// Arguments of `hocket report`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  hocket report out/record.json                     prints the table
  hocket report out/record.json -o out/report.html  writes the page")]
pub struct ReportArgs {
    /// The record, as `hocket bench --record` writes it.
    #[arg(value_name = "RECORD")]
    pub record: PathBuf,
    /// Writes the page to this file [default: prints the table].
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Writes the comparison alone to this file, as a picture.
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
}

/// Names of sibling policies on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SiblingArg {
    /// Workers on one seat per core; anybody may use the siblings.
    Off,
    /// Workers on every seat.
    All,
    /// Like off, and the whole process stays on one seat per core.
    ProcessAffinity,
    /// Like off, and waiting threads occupy the siblings during the block.
    IdleThread,
    /// Like off, on all cores but one; all other threads of the process stay on that one.
    ReserveCore,
    /// Like all; of two workers on a core, the first that is done waits on its seat.
    PairBarrier,
    /// Workers on every seat; the kernel keeps strangers off their cores (core scheduling).
    Cookie,
    /// Workers on one seat per core; the kernel keeps everybody off the siblings.
    CookieWorker,
    /// Like cookie, with one cookie per core.
    CookiePair,
    /// Like off, on cores that a cgroup partition reserves; one core remains for others.
    Partition,
    /// Switches SMT off while the session plays.
    Offline,
    /// The gentlest policy that keeps strangers off the siblings here; prints which and why.
    Auto,
}

/// Schedules on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ScheduleArg {
    /// One worker runs all units in order.
    Serial,
    /// Fixed lists, with a barrier at each level.
    Lists,
    /// The worker that makes a unit ready runs or offers it, the most urgent first.
    Dataflow,
    /// A deque per worker: the owner takes the newest unit, thieves take the oldest.
    Steal,
    /// Fixed lists by measured cost and seat speed, the longest path first; planned anew when costs move.
    Critical,
    /// As many workers as pay by measured costs, with the schedule whose blocks are shortest in a trial.
    Auto,
}

impl ScheduleArg {
    /// As on the command line.
    pub fn name(self) -> &'static str {
        match self {
            ScheduleArg::Auto => "auto",
            other => other.kind().name(),
        }
    }

    /// The kind to begin with; `auto` ignores it.
    pub fn kind(self) -> hocket_plan::ScheduleKind {
        match self {
            ScheduleArg::Serial => hocket_plan::ScheduleKind::Serial,
            ScheduleArg::Lists => hocket_plan::ScheduleKind::Lists,
            ScheduleArg::Dataflow | ScheduleArg::Auto => hocket_plan::ScheduleKind::Dataflow,
            ScheduleArg::Steal => hocket_plan::ScheduleKind::Steal,
            ScheduleArg::Critical => hocket_plan::ScheduleKind::Critical,
        }
    }

    /// The settings, with the steering that this schedule needs.
    pub fn steer(self, settings: hocket_engine::Settings) -> hocket_engine::Settings {
        match self {
            ScheduleArg::Auto => {
                hocket_engine::Settings { steer: hocket_engine::Steer::Auto, ..settings }
            }
            _ => settings,
        }
    }
}

/// Waits on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum WaitArg {
    /// Spins, without a hint to the core.
    Spin,
    /// Spins, with a hint to the core.
    Pause,
    /// Offers the CPU to others again and again.
    Yield,
    /// Rests for a microsecond between two looks (Intel WAITPKG).
    Tpause,
    /// Rests until the awaited value changes (Intel WAITPKG).
    Umwait,
    /// Rests until the awaited value changes (AMD MONITORX).
    Mwaitx,
    /// Rests until the awaited value changes (arm64).
    Wfe,
    /// Spins for a while, then blocks.
    Hybrid,
    /// Blocks at once.
    Futex,
}

/// Sample formats on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum FormatArg {
    /// 16-bit integers.
    #[value(name = "16")]
    Pcm16,
    /// 24-bit integers.
    #[value(name = "24")]
    Pcm24,
    /// 32-bit floating point.
    #[value(name = "32f")]
    Float32,
}

impl SiblingArg {
    /// The policy. `auto` is `off` here; [`crate::profile::Known::policy`] finds out what it is.
    pub(crate) fn plain(self) -> hocket_plan::SiblingPolicy {
        use hocket_plan::SiblingPolicy as Policy;
        match self {
            SiblingArg::Off | SiblingArg::Auto => Policy::Off,
            SiblingArg::All => Policy::All,
            SiblingArg::ProcessAffinity => Policy::ProcessAffinity,
            SiblingArg::IdleThread => Policy::IdleThread,
            SiblingArg::ReserveCore => Policy::ReserveCore,
            SiblingArg::PairBarrier => Policy::PairBarrier,
            SiblingArg::Cookie => Policy::Cookie(hocket_plan::CookieShape::Engine),
            SiblingArg::CookieWorker => Policy::Cookie(hocket_plan::CookieShape::Worker),
            SiblingArg::CookiePair => Policy::Cookie(hocket_plan::CookieShape::Pair),
            SiblingArg::Partition => Policy::Partition,
            SiblingArg::Offline => Policy::Offline,
        }
    }
}

impl From<hocket_plan::ScheduleKind> for ScheduleArg {
    fn from(kind: hocket_plan::ScheduleKind) -> Self {
        use hocket_plan::ScheduleKind as Kind;
        match kind {
            Kind::Serial => Self::Serial,
            Kind::Lists => Self::Lists,
            Kind::Dataflow => Self::Dataflow,
            Kind::Steal => Self::Steal,
            Kind::Critical => Self::Critical,
        }
    }
}

impl From<WaitArg> for hocket_engine::Strategy {
    fn from(arg: WaitArg) -> Self {
        match arg {
            WaitArg::Spin => Self::Spin,
            WaitArg::Pause => Self::Pause,
            WaitArg::Yield => Self::Yield,
            WaitArg::Tpause => Self::Tpause,
            WaitArg::Umwait => Self::Umwait,
            WaitArg::Mwaitx => Self::Mwaitx,
            WaitArg::Wfe => Self::Wfe,
            WaitArg::Hybrid => Self::Hybrid,
            WaitArg::Futex => Self::Futex,
        }
    }
}

impl From<FormatArg> for hocket_media::WavFormat {
    fn from(arg: FormatArg) -> Self {
        match arg {
            FormatArg::Pcm16 => Self::Pcm16,
            FormatArg::Pcm24 => Self::Pcm24,
            FormatArg::Float32 => Self::Float32,
        }
    }
}
