//! The commands. What each takes is in the file of its name, or with the command itself.

mod bench;
mod capacity;
mod check;
mod choices;
mod demo;
mod devices;
mod doctor;
mod fill;
pub(crate) mod headings;
mod inputs;
mod named_file;
mod normalize;
mod play;
mod plugin;
mod position;
mod recover;
mod refusal;
mod render;
mod report;
mod session;
mod split;
mod trace;

use clap::{Parser, Subcommand};
use hocket_files::StandardOutput;
use hocket_machine::process::outlive_file_size_limit;

pub use bench::BenchArgs;
pub(crate) use bench::{MOST_BLOCKS, USUAL_STARTS, USUAL_TURN};
pub use capacity::CapacityArgs;
pub use check::CheckArgs;
pub use choices::{
    DiskArgs, DitherArg, FormatArg, IsolateArgs, LanesArg, PluginFaultsArg, ProjectArgs,
    ScheduleArg, SiblingChoice, TransportArg, WaitArg,
};
pub use demo::DemoArgs;
pub use devices::DevicesArgs;
pub use doctor::DoctorArgs;
pub use fill::Fill;
pub use named_file::NamedFile;
pub use normalize::{Measure, Normalize};
pub use play::PlayArgs;
pub use plugin::{
    AskPresetsArgs, CheckPluginArgs, ExerciseArgs, InfoArgs, ListArgs, LookArgs, PluginArgs,
    PluginCommand, RunArgs, SaveArgs, StartArgs,
};
pub use position::{Position, number};
pub use recover::RecoverArgs;
pub use refusal::{parse, with_remedy};
pub use render::RenderArgs;
pub use report::ReportArgs;
pub use session::{ConvertArgs, SessionArgs, SessionCommand, ShowArgs};
pub use split::SplitArgs;
pub use trace::TraceArgs;

use crate::failure::{Exit, Failure};
use crate::output::{Talk, set_talk, tell};

/// Plays audio sessions on every core, in time, and knows which hardware threads share a core.
#[derive(Debug, Parser)]
#[command(
    name = "hocket",
    version,
    max_term_width = 100,
    help_template = TEMPLATE,
    before_help = EXAMPLES,
    after_help = EXIT_CODES
)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
    /// Prints only results, warnings and errors.
    #[arg(short, long, global = true, conflicts_with = "verbose", display_order = LAST)]
    pub quiet: bool,
    /// Also prints each audio file, whether it plays from the disk, and where the time went.
    #[arg(short, long, global = true, display_order = LAST + 1)]
    pub verbose: bool,
}

impl Cli {
    fn talk(&self) -> Talk {
        match (self.quiet, self.verbose) {
            (true, _) => Talk::Quiet,
            (_, true) => Talk::Verbose,
            _ => Talk::Usual,
        }
    }
}

/// The usual one with the examples above the usage.
const TEMPLATE: &str = "\
{about-with-newline}
{before-help}{usage-heading} {usage}

{all-args}{after-help}";

/// Behind the options of a command, and before --help.
const LAST: usize = 900;

const EXAMPLES: &str = "\
Examples:
  hocket check sessions/band.toml               prints all mistakes of a session
  hocket render sessions/band.toml -o band.wav  writes an audio file
  hocket play sessions/band.toml --length 10    plays in real time and explains late blocks";

const EXIT_CODES: &str = "\
Exit codes:
    0 done
    1 a deadline or threshold was missed (only with an option that checks it), or a check of a plug-in failed
    2 bad usage or bad input, or a file that would be overwritten
    3 not possible here (rights, memory, disk, device)
    4 played to its end, but a recording or the log is not whole (only play)
  130 interrupted with Ctrl-C; what was done until then is kept";

/// The commands. `--help` lists them in this order: what plays music comes first.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Checks session files without rendering, and prints all mistakes at once.
    Check(CheckArgs),
    /// Writes a session to an audio file, as fast as the machine can.
    Render(RenderArgs),
    /// Plays a session in real time and says why blocks were late.
    Play(PlayArgs),
    /// Lists the devices that can play, and what helps if one is not there.
    Devices(DevicesArgs),
    /// Checks whether this machine is fit for real-time audio, and says what to do.
    Doctor(DoctorArgs),
    /// Plays a session in real time and writes what every thread did in each block, or in the late ones.
    Trace(TraceArgs),
    /// Shows, converts and checks session files, and prints their schema.
    Session(SessionArgs),
    /// Lists LV2, CLAP and VST3 plug-ins, describes one, runs one on an audio file, and checks them.
    Plugin(PluginArgs),
    /// Completes the header of recordings whose program was killed.
    Recover(RecoverArgs),
    /// Cuts a session into several, for machines that play it together over JACK's network.
    Split(SplitArgs),
    /// Compares policies on one session: turns interleaved, block times against the deadline.
    Bench(BenchArgs),
    /// Says how many channels hold at each block length, and how often their blocks may be late.
    Capacity(CapacityArgs),
    /// Measures how to play on this machine; bench, play and render then use the result by default.
    Tune(crate::tune::TuneArgs),
    /// Turns a record of `bench` into a table or a page, and folders of records into a site.
    Report(ReportArgs),
    /// Shows cores, seats and caches of this machine, and what the system grants.
    Machine(crate::machine::MachineArgs),
    /// Runs experiments on siblings, waiting, sharing and priorities.
    Lab(crate::lab::LabArgs),
    /// Plays the worst-case session under five sibling policies and writes a report.
    Demo(DemoArgs),
    /// Prints the completions for a shell.
    Completions(crate::generate::CompletionsArgs),
    /// Writes man pages and completions for packages.
    #[command(hide = true)]
    Generate(crate::generate::GenerateArgs),
}

impl Command {
    /// Whether this is the process of an isolated plug-in. It moves its standard streams itself, because they are the way
    /// to its parent.
    fn is_isolated(&self) -> bool {
        matches!(self, Command::Plugin(args) if matches!(args.command, PluginCommand::Isolated))
    }
}

/// Runs the command.
///
/// # Errors
/// [`Failure`] with the exit code.
pub fn run(cli: Cli) -> Result<Exit, Failure> {
    crate::written::begin();
    set_talk(cli.talk());
    inputs::refuse_twice(&cli.command)?;
    outlive_file_size_limit().map_err(|error| {
        Failure::not_possible(format!("the signal SIGXFSZ cannot be ignored: {error}"))
    })?;
    if !cli.command.is_isolated() {
        StandardOutput::keep().map_err(|error| {
            Failure::not_possible(format!("standard output cannot be kept for results: {error}"))
        })?;
    }
    hocket_plugins::heard::listen(|kind, line| tell(format_args!("{kind}: {line}")));
    let is_silent = match &cli.command {
        Command::Machine(args) => args.restore,
        Command::Lab(args) => args.is_child(),
        Command::Bench(args) => args.start_of.is_some(),
        Command::Completions(_) | Command::Generate(_) => true,
        Command::Session(args) => matches!(args.command, SessionCommand::Schema),
        Command::Plugin(args) => {
            matches!(args.command, PluginCommand::Look(_) | PluginCommand::Exercise(_))
        }
        _ => false,
    };
    if !is_silent {
        crate::leftovers::warn();
    }
    let exit = match cli.command {
        Command::Demo(args) => crate::demo::run(&args),
        Command::Machine(args) => crate::machine::run(&args),
        Command::Bench(args) => crate::bench::run(&args),
        Command::Capacity(args) => crate::capacity::run(&args),
        Command::Check(args) => crate::check::run(&args),
        Command::Session(args) => crate::session::run(&args),
        Command::Completions(args) => Ok(crate::generate::completions(&args)),
        Command::Generate(args) => crate::generate::run(&args),
        Command::Devices(args) => crate::devices::run(&args),
        Command::Doctor(args) => crate::doctor::run(&args),
        Command::Play(args) => crate::play::run(&args),
        Command::Plugin(args) => crate::plugin::run(&args),
        Command::Recover(args) => crate::recover::run(&args),
        Command::Render(args) => crate::render::run(&args),
        Command::Split(args) => crate::split::run(&args),
        Command::Report(args) => crate::report::run(&args),
        Command::Trace(args) => crate::trace::run(&args),
        Command::Tune(args) => crate::tune::run(&args),
        Command::Lab(args) => crate::lab::run(&args),
    };
    if !is_silent {
        crate::leftovers::name_parts();
    }
    exit.map(crate::output::checked)
}
