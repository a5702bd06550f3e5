//! Arguments of `hocket check`.

use std::path::PathBuf;

use clap::Args;

/// Arguments of `hocket check`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  hocket check sessions/band.toml
  hocket check sessions/*.toml
  hocket check sessions/band.toml --rate 96000
  hocket check sessions/band.toml --strict       reads the audio to its end, too

Reads the session files and the headers of their audio files, and renders nothing. Prints all mistakes, each with
its place and what to do. Ends with exit code 0 if there are none, else with 2.
`hocket session check` is the same command.")]
pub struct CheckArgs {
    /// The session files, .dawproject files or MIDI files; `-` reads a session from standard input.
    #[arg(value_name = "SESSION", required = true)]
    pub sessions: Vec<PathBuf>,
    /// Sample rate in Hz at which they will run [default: each session's own].
    #[arg(long, value_name = "HZ")]
    pub rate: Option<u32>,
    /// Reads all audio to its end, and counts it as a mistake that an audio or MIDI file is cut short or damaged. Of a .dawproject, also
    /// that something does not play, or is not what the format's schema allows.
    #[arg(long)]
    pub strict: bool,
    /// Of a MIDI file: the SoundFont (.sf2) that plays it [default: $HOCKET_SOUNDFONT, or the General MIDI set that is
    /// installed].
    #[arg(long, value_name = "FILE")]
    pub soundfont: Option<PathBuf>,
}
