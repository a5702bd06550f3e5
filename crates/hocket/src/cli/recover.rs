//! Arguments of `hocket recover`.

use std::path::PathBuf;

use clap::Args;

/// Arguments of `hocket recover`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  hocket recover take.wav
  hocket recover takes/*.wav

Works on WAV, RF64 and FLAC files of any program. It changes the header only, and only where the header states less than
the file holds. Samples are never touched. Of MIDI files it completes Hocket's own takes: it states events that are in
the file and not yet in its track, and ends notes that sound at the end. Ends with exit code 0 if every file is right
then, with 2 if one is no such file, and with 3 if one cannot be changed or would have to be guessed.")]
pub struct RecoverArgs {
    /// The recordings.
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
}
