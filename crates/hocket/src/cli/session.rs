//! Arguments of `hocket session`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::CheckArgs;
use super::choices::ProjectArgs;

/// Arguments of `hocket session`.
#[derive(Debug, Args)]
pub struct SessionArgs {
    /// What to do.
    #[command(subcommand)]
    pub command: SessionCommand,
}

/// What can be done with session files.
#[derive(Debug, Subcommand)]
pub enum SessionCommand {
    /// Checks session files without rendering; the same as `hocket check`.
    Check(CheckArgs),
    /// Shows a session: strips, routes, effects, lanes, tempos, latency.
    Show(ShowArgs),
    /// Writes a session file in the newest format, comments included, or a .dawproject or MIDI file as a session file.
    Convert(ConvertArgs),
    /// Prints the JSON schema of session files, for editors.
    Schema,
}

/// Arguments of `hocket session show`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  hocket session show sessions/band.toml
  hocket session show sessions/band.toml --rate 96000")]
pub struct ShowArgs {
    /// The session file, .dawproject or MIDI file; `-` reads a session from standard input.
    #[arg(value_name = "SESSION")]
    pub session: PathBuf,
    /// Sample rate in Hz at which it will run [default: the session's own].
    #[arg(long, value_name = "HZ")]
    pub rate: Option<u32>,
    /// Of a MIDI file: the SoundFont (.sf2) that plays it [default: $HOCKET_SOUNDFONT, or the General MIDI set that is
    /// installed].
    #[arg(long, value_name = "FILE")]
    pub soundfont: Option<PathBuf>,
}

/// Arguments of `hocket session convert`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  hocket session convert sessions/band.toml -o band.toml
  hocket session convert sessions/pulse.dawproject -o pulse.toml
  hocket session convert sessions/midi/small-tune.mid --soundfont sessions/soundfonts/small.sf2 -o tune.toml

Paths of audio files are written as seen from the new file's folder. A file that is there is never replaced.
The audio files of a .dawproject are written into a folder beside the new file: pulse-audio for pulse.toml.")]
pub struct ConvertArgs {
    /// The session file, .dawproject or MIDI file; `-` reads a session from standard input.
    #[arg(value_name = "SESSION")]
    pub session: PathBuf,
    /// The session file to write; `-` is standard output.
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// Refuses a .dawproject of which something does not play.
    #[arg(long)]
    pub strict: bool,
    /// How a project or a MIDI file becomes a session.
    #[command(flatten)]
    pub project: ProjectArgs,
}
