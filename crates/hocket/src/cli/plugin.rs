//! Arguments of `hocket plugin`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::choices::{DitherArg, FormatArg};

/// Arguments of `hocket plugin`.
#[derive(Debug, Args)]
pub struct PluginArgs {
    /// What to do.
    #[command(subcommand)]
    pub command: PluginCommand,
}

/// What can be done with plug-ins.
#[derive(Debug, Subcommand)]
pub enum PluginCommand {
    /// Lists the plug-ins of this machine, and says which of them Hocket does not run.
    List(ListArgs),
    /// Describes a plug-in: parameters, ports, latency, state.
    Info(InfoArgs),
    /// Runs a plug-in on an audio file, or an instrument on a MIDI file.
    Render(RunArgs),
    /// Writes the state of a plug-in to a file that sessions can name.
    Save(SaveArgs),
    /// Checks plug-ins: block lengths, parameters, odd input, state, allocations, time. For their authors.
    Check(CheckPluginArgs),
    /// Checks one plug-in: the process in which it may crash.
    #[command(hide = true)]
    Exercise(ExerciseArgs),
    /// Looks at one library: the process in which unknown code runs first.
    #[command(hide = true)]
    Look(LookArgs),
    /// Asks one plug-in for its presets: the process in which it may crash.
    #[command(hide = true)]
    AskPresets(AskPresetsArgs),
    /// Runs one plug-in for the process that started this one.
    #[command(hide = true)]
    Isolated,
}

/// Arguments of `hocket plugin list`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  hocket plugin list
  hocket plugin list --json

Looks for LV2 in $LV2_PATH, or in ~/.lv2, /usr/local/lib/lv2 and /usr/lib/lv2; for CLAP in $CLAP_PATH, ~/.clap and
/usr/lib/clap; for VST3 in $VST3_PATH, or in ~/.vst3, /usr/local/lib/vst3 and /usr/lib/vst3. A process of its own
looks at each new library, and the result is kept in $XDG_CACHE_HOME/hocket or ~/.cache/hocket.")]
pub struct ListArgs {
    /// Prints the result as JSON instead of the list.
    #[arg(long)]
    pub json: bool,
    /// Looks at every library again.
    #[arg(long)]
    pub rescan: bool,
}

/// Arguments of `hocket plugin info`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  hocket plugin info lv2:http://drobilla.net/plugins/mda/Overdrive
  hocket plugin info lv2:http://drobilla.net/plugins/mda/Overdrive --json")]
pub struct InfoArgs {
    /// lv2:URI, clap:ID or vst3:ID, as `hocket plugin list` prints it; or the URI or id alone.
    #[arg(value_name = "KIND")]
    pub kind: String,
    /// Prints the result as JSON.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `hocket plugin render`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  hocket plugin render lv2:http://drobilla.net/plugins/mda/Overdrive -i in.wav -o out.wav --set drive=0.5
  hocket plugin render lv2:http://drobilla.net/plugins/mda/Leslie -i in.wav -o out.wav --preset Fast
  hocket plugin render lv2:http://drobilla.net/plugins/mda/EPiano -i song.mid -o out.wav
  hocket plugin render clap:org.example.drums -i beat.mid -o kit.wav --stems kit

The plug-in runs as in a session. With a latency, the output begins that much later. An audio file of one channel plays on
both sides. Of a MIDI file (.mid), the plug-in gets the notes and controllers of all channels. --output has the plug-in's
first output.")]
pub struct RunArgs {
    /// lv2:URI, clap:ID or vst3:ID, as `hocket plugin list` prints it; or the URI or id alone.
    #[arg(value_name = "KIND")]
    pub kind: String,
    /// The audio file or MIDI file (.mid) that goes in.
    #[arg(short, long, value_name = "FILE")]
    pub input: PathBuf,
    /// The audio file to write: .wav or .flac. `-` writes WAV to standard output.
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// Also writes each extra output, such as the snare of a drum sampler, to a file in this folder. A new folder is made.
    #[arg(long, value_name = "DIR")]
    pub stems: Option<PathBuf>,
    /// How it starts.
    #[command(flatten)]
    pub start: StartArgs,
    /// Length in seconds [default: the audio file's, or the MIDI file's and 3 seconds more]. Behind an audio file there is
    /// silence, into which the plug-in may sound on.
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true)]
    pub length: Option<f64>,
    /// Sample rate in Hz for a MIDI file [default: 48000]. An audio file has its own.
    #[arg(long, value_name = "HZ")]
    pub rate: Option<u32>,
    /// Sample format; FLAC holds 16 or 24 bits.
    #[arg(long, value_enum, default_value_t = FormatArg::Pcm24)]
    pub format: FormatArg,
    /// Noise before rounding to 16 bits [default: tpdf for --format 16]. The same command gives the same bytes.
    #[arg(long, value_enum)]
    pub dither: Option<DitherArg>,
    /// Block length in frames.
    #[arg(long, value_name = "N", default_value_t = 1024)]
    pub frames: u32,
    /// Replaces a file that Hocket did not write.
    #[arg(long)]
    pub force: bool,
}

/// Arguments of `hocket plugin save`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  hocket plugin save clap:org.example.synth -o soft.state --set cutoff=0.3

Prints what a session says to start an effect with it. LV2 keeps the values of parameters apart from the state, so they are
printed beside it.")]
pub struct SaveArgs {
    /// lv2:URI, clap:ID or vst3:ID, as `hocket plugin list` prints it; or the URI or id alone.
    #[arg(value_name = "KIND")]
    pub kind: String,
    /// The file to write.
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// How it starts.
    #[command(flatten)]
    pub start: StartArgs,
    /// Sample rate in Hz at which it runs.
    #[arg(long, value_name = "HZ", default_value_t = 48_000)]
    pub rate: u32,
    /// Replaces a file that Hocket did not write.
    #[arg(long)]
    pub force: bool,
}

/// How a plug-in starts.
#[derive(Debug, Args)]
pub struct StartArgs {
    /// Starts with a preset, by its label or URI; --set goes before it. `hocket plugin info` lists presets.
    #[arg(long, value_name = "NAME", conflicts_with = "state")]
    pub preset: Option<String>,
    /// Sets a parameter. May be given several times; the others keep their defaults, or what the preset says.
    #[arg(long, value_name = "NAME=VALUE")]
    pub set: Vec<String>,
    /// A state that the plug-in saved.
    #[arg(long, value_name = "FILE")]
    pub state: Option<PathBuf>,
}

/// Arguments of `hocket plugin check`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  hocket plugin check lv2:http://drobilla.net/plugins/mda/Overdrive
  hocket plugin check build/mine.clap --seed 7
  hocket plugin check mine.lv2 --json

Each plug-in runs in a process of its own, so a crash or a hang is a result. Every finding names the rate, the block
length and the seed with which it comes back. docs/plugins.md explains the checks.

Exit code 0: no check failed, there may be warnings. 1: a check failed. 3: Hocket cannot run the plug-in.")]
pub struct CheckPluginArgs {
    /// A CLAP file, a VST3 or an LV2 bundle (all plug-ins of it), or lv2:URI, clap:ID, vst3:ID, a URI or an id of an
    /// installed plug-in.
    #[arg(value_name = "PLUGIN", required = true)]
    pub plugins: Vec<String>,
    /// What random values come from. Without it, another one each time; Hocket prints it.
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// How long one step of a check may take before it counts as a hang.
    #[arg(long, value_name = "SECONDS", default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub limit: u64,
    /// Prints the result as JSON.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `hocket plugin exercise`.
#[derive(Debug, Args)]
pub struct ExerciseArgs {
    /// The file that says what to do.
    pub job: PathBuf,
    /// Where to write what was found.
    pub into: PathBuf,
}

/// Arguments of `hocket plugin ask-presets`.
#[derive(Debug, Args)]
pub struct AskPresetsArgs {
    /// What is asked, as JSON.
    pub question: String,
    /// Where to write the answer.
    pub into: PathBuf,
}

/// Arguments of `hocket plugin look`.
#[derive(Debug, Args)]
pub struct LookArgs {
    /// lv2, clap or vst3.
    pub format: String,
    /// The bundle or file.
    pub library: PathBuf,
    /// How many plug-ins to leave out.
    pub skip: usize,
    /// Where to write what was found.
    pub into: PathBuf,
}
