//! Arguments of `hocket devices`.

use clap::Args;

/// Arguments of `hocket devices`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  hocket devices
  hocket devices --json

Says for each device of `hocket play --device` whether it is there, and what helps if it is not. Asks a JACK server
that runs for its rate, block length, ports and latency; it starts none. Opens each sound card for a moment, and says
which ones another program has.")]
pub struct DevicesArgs {
    /// Prints the result as JSON instead of the list.
    #[arg(long)]
    pub json: bool,
}
