//! Arguments of `hocket report`.

use std::path::{Path, PathBuf};

use clap::Args;

/// Arguments of `hocket report`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  hocket report out/record.json                     prints the table
  hocket report out/record.json -o out/report.html  writes the page
  hocket report out docs/results -o out/site        writes a site of all records in both folders
  hocket report --serve                             writes that of out, and shows it to browsers here

One record file makes a table or a page. A folder, several files or --serve make a site: a list of all records of
bench, the lab and the benchmarks, a page for each, trends over dates, what changed from each to the next, the capacity
of all machines and the pages of traces. The site needs no server.")]
pub struct ReportArgs {
    /// A record, as `hocket bench --record` writes it (`-` reads it from standard input), or folders and files for a site
    /// [default: the folder out, for a site].
    #[arg(value_name = "RECORD")]
    pub records: Vec<PathBuf>,
    /// Writes the page to this file, or the site to this folder [default: prints the table; out/site for a site].
    #[arg(short, long, value_name = "PATH")]
    pub output: Option<PathBuf>,
    /// Writes the comparison of one record alone to this file, as a picture.
    #[arg(long, value_name = "FILE", conflicts_with = "serve")]
    pub svg: Option<PathBuf>,
    /// Serves the site at this port of this computer alone until Ctrl-C [default port: 4626]. 0 chooses a free one.
    #[arg(long, value_name = "PORT", num_args = 0..=1, require_equals = true, default_missing_value = "4626")]
    pub serve: Option<u16>,
    /// Replaces files that Hocket did not write.
    #[arg(long)]
    pub force: bool,
}

impl ReportArgs {
    /// The record, where it is one and no site is asked for.
    pub fn one_record(&self) -> Option<&Path> {
        match self.records.as_slice() {
            [one] if self.serve.is_none() && !one.is_dir() => Some(one),
            _ => None,
        }
    }
}
