//! Arguments of `hocket report`.

use std::path::PathBuf;

use clap::Args;

/// Arguments of `hocket report`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  hocket report out/record.json                     prints the table
  hocket report out/record.json -o out/report.html  writes the page")]
pub struct ReportArgs {
    /// The record, as `hocket bench --record` writes it; `-` reads it from standard input.
    #[arg(value_name = "RECORD")]
    pub record: PathBuf,
    /// Writes the page to this file [default: prints the table].
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Writes the comparison alone to this file, as a picture.
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// Replaces files that Hocket did not write.
    #[arg(long)]
    pub force: bool,
}
