//! Arguments of `hocket doctor`.

use std::time::Duration;

use clap::Args;

/// Arguments of `hocket doctor`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  hocket doctor               about 4 seconds, most of them for the wake-ups
  hocket doctor --seconds 60  a longer look, which finds rarer delays
  hocket doctor --check       exit code 1 if there is a problem

Prints what it found, why it matters, and what to do. It changes nothing. Run it as the user who plays, and while the
programs run that will run beside the music.")]
pub struct DoctorArgs {
    /// Prints JSON instead of text.
    #[arg(long)]
    pub json: bool,
    /// How long it measures wake-ups, 1 to 3600 seconds; 0 leaves them out.
    #[arg(long, value_name = "SECONDS", default_value_t = 3, value_parser = clap::value_parser!(u32).range(0..=3600))]
    pub seconds: u32,
    /// Ends with exit code 1 if there is a problem.
    #[arg(long)]
    pub check: bool,
}

impl DoctorArgs {
    /// How long it measures.
    pub fn length(&self) -> Duration {
        Duration::from_secs(self.seconds.into())
    }
}
