//! Arguments of `hocket demo`.

use std::path::PathBuf;

use clap::Args;

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
    #[arg(long, value_name = "N", default_value_t = 2400, value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    pub blocks: u64,
    /// Replaces files that Hocket did not write.
    #[arg(long)]
    pub force: bool,
}
