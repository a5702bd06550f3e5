//! Arguments of `hocket render`.

use std::path::PathBuf;

use clap::Args;
use hocket_plan::SiblingPolicy;

use super::choices::{
    DiskArgs, DitherArg, FormatArg, IsolateArgs, LanesArg, PluginFaultsArg, ProjectArgs,
    ScheduleArg, SiblingChoice, WaitArg, at_least_one,
};
use super::headings::{PLUGINS, WORKERS};
use super::named_file::NamedFile;
use super::normalize::Normalize;
use super::position::Position;
use crate::profile::ProfileArgs;

/// Arguments of `hocket render`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  hocket render sessions/band.toml -o band.wav
  hocket render sessions/band.toml -o band.flac --format 16
  hocket render sessions/band.toml -o - | sox - band.ogg
  hocket render sessions/band.toml -o band.wav --format 32f --rate 96000 --length 10
  hocket render sessions/band.toml -o part.wav --from 4 --to 8.5
  hocket render sessions/band.toml -o band.wav --stems stems
  hocket render sessions/band.toml -o band.wav --normalize lufs=-16
  hocket render sessions/plugins/stage-piano.toml -o piano.wav --isolate
  hocket render sessions/automation.toml -o out.wav --input microphone=sessions/audio/perc_bell.flac")]
pub struct RenderArgs {
    /// The session file, .dawproject or MIDI file; `-` reads a session from standard input.
    #[arg(value_name = "SESSION")]
    pub session: PathBuf,
    /// The audio file to write: .wav or .flac. `-` writes WAV to standard output.
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// Sample format; FLAC holds 16 or 24 bits.
    #[arg(long, value_enum, default_value_t = FormatArg::Pcm24)]
    pub format: FormatArg,
    /// Noise before rounding to 16 bits [default: tpdf for --format 16]. The same command gives the same bytes.
    #[arg(long, value_enum)]
    pub dither: Option<DitherArg>,
    /// Brings the mix to a loudness or a peak: lufs=-16, peak=-1 (dBFS) or true-peak=-1 (dBTP). Stems get the same gain.
    #[arg(long, value_name = "MEASURE=LEVEL")]
    pub normalize: Option<Normalize>,
    /// Block length in frames.
    #[arg(long, value_name = "N", default_value_t = 1024)]
    pub frames: u32,
    /// Sample rate in Hz [default: the session's].
    #[arg(long, value_name = "HZ")]
    pub rate: Option<u32>,
    /// Length in seconds, from --from on [default: the session's, or to the end of the last clip].
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true)]
    pub length: Option<f64>,
    /// Leaves out what comes before: seconds from the start, or a bar and its beat (9:1). The samples are those of the
    /// whole render, because it is rendered from the start.
    #[arg(long, value_name = "POSITION", allow_negative_numbers = true)]
    pub from: Option<Position>,
    /// Ends there: seconds from the start, or a bar and its beat.
    #[arg(long, value_name = "POSITION", allow_negative_numbers = true, conflicts_with = "length")]
    pub to: Option<Position>,
    /// Also writes each track, group and return behind its fader, as long as the mix, to a file in this folder. A new
    /// folder is made.
    #[arg(long, value_name = "DIR")]
    pub stems: Option<PathBuf>,
    /// Plays an audio file at an input of the session, from the start on and once. May be given several times; inputs
    /// without a file are silent.
    #[arg(long, value_name = "NAME=FILE")]
    pub input: Vec<NamedFile>,
    /// Number of workers, including the leader [default: one per seat that the policy uses].
    #[arg(long, value_name = "N", value_parser = at_least_one, help_heading = WORKERS)]
    pub workers: Option<usize>,
    /// Which worker runs which unit when [default: the machine profile's, or dataflow].
    #[arg(long, value_enum, help_heading = WORKERS)]
    pub schedule: Option<ScheduleArg>,
    /// Whether equal effects of two strips run in the lanes of one vector. The file is the same.
    #[arg(long, value_enum, default_value_t = LanesArg::Auto, help_heading = WORKERS)]
    pub lanes: LanesArg,
    /// Who may run beside a worker on its core.
    #[arg(long, value_enum, default_value_t = SiblingChoice::Policy(SiblingPolicy::All), help_heading = WORKERS)]
    pub policy: SiblingChoice,
    /// How workers wait inside a block [default: the machine profile's, or hybrid].
    #[arg(long, value_enum, help_heading = WORKERS)]
    pub wait: Option<WaitArg>,
    /// Replaces a file that Hocket did not write; also renders more than a day, or more than the disk has free.
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
    /// What happens to a plug-in without a process of its own that puts out NaN or infinity again and again. It is
    /// reported in any case.
    #[arg(long, value_enum, value_name = "WHAT", default_value_t = PluginFaultsArg::Bypass, help_heading = PLUGINS)]
    pub plugin_faults: PluginFaultsArg,
    /// How a project or a MIDI file becomes a session.
    #[command(flatten)]
    pub project: ProjectArgs,
    /// Where defaults come from.
    #[command(flatten)]
    pub profile: ProfileArgs,
}
