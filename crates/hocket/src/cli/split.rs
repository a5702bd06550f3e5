//! Arguments of `hocket split`.

use std::path::PathBuf;

use clap::Args;
use hocket_lab::foreign::is_hidden;

/// Arguments of `hocket split`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  hocket split sessions/band.toml --hosts 2 -o parts
  hocket split sessions/band.toml --hosts 3 --frames 128 --net-latency 5 -o parts-of-three

Writes part-0.toml for host 0, part-1.toml and so on for the others, connections.txt, and host-0.sh and so on with what to
run on each host. Host 0 has the sound card, the master, the returns and what cannot leave it. Each other host gets whole
groups. Paths of audio files are written as seen from the new folder. A file that Hocket has not written is never replaced.
docs/split.md says how it sounds and what it needs.")]
pub struct SplitArgs {
    /// The session file; `-` reads one from standard input.
    #[arg(value_name = "SESSION")]
    pub session: PathBuf,
    /// How many hosts play it, host 0 counted: 2 up to one more than there are groups that can leave host 0.
    #[arg(long, value_name = "N")]
    pub hosts: usize,
    /// The folder for the new files; it is made if it is not there.
    #[arg(short, long, value_name = "FOLDER")]
    pub output: PathBuf,
    /// Measured costs, from `hocket play --costs` [default: estimates].
    #[arg(long, value_name = "FILE")]
    pub costs: Option<PathBuf>,
    /// The period of the JACK servers in frames, the same on all hosts.
    #[arg(long, value_name = "N", default_value_t = 256, value_parser = clap::value_parser!(u32).range(16..=8192))]
    pub frames: u32,
    /// The network's latency in periods: `-l` of jackd's driver `net`.
    #[arg(long, value_name = "PERIODS", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=30))]
    pub net_latency: u32,
    /// The address of host 0, as the other hosts reach it, for the commands.
    #[arg(long, value_name = "ADDRESS", default_value = "HOST0", value_parser = address)]
    pub address: String,
    /// Sample rate in Hz at which it will run [default: the session's own].
    #[arg(long, value_name = "HZ")]
    pub rate: Option<u32>,
}

/// An address is one word of a line in a script.
fn address(text: &str) -> Result<String, String> {
    let is_word = !text.is_empty() && !text.chars().any(|c| c.is_whitespace() || is_hidden(c));
    let wrong = "an address has no spaces, line breaks or control characters; write a host's name or its IP address";
    if is_word { Ok(text.to_owned()) } else { Err(wrong.to_owned()) }
}
