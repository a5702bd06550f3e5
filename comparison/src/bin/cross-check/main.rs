//! The lab's figures beside those of other tools for the same thing, in turns of one run.
//!
//! `comparison/cross-check.sh` builds and runs it. Exit code: 0 done, 2 bad usage, 3 not possible here.
#![forbid(unsafe_code)]

mod checks;
mod ours;
mod theirs;
mod record;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use hocket_lab::harness::Host;
use hocket_lab::stats::median;
use hocket_lab::{about, provenance};
use hocket_machine::Topology;

use checks::Check;

/// The lab's figures beside those of cyclictest, perf bench and criterion, in turns of one run.
///
/// The ratio is the lab's figure by the other tool's, the median over rounds, with its 95 % interval.
#[derive(Debug, Parser)]
#[command(
    name = "cross-check",
    after_help = "Exit code: 0 done, 2 bad usage, 3 not possible here."
)]
struct Options {
    /// Rounds; in each of them every figure is taken once by either side
    #[arg(long, value_name = "N", default_value = "20", value_parser = clap::value_parser!(u32).range(6..=1000))]
    rounds: u32,
    /// The built benchmark `passes`
    #[arg(long, value_name = "FILE")]
    criterion: PathBuf,
    /// Checks whose name contains this
    #[arg(long, value_name = "WORD", default_value = "")]
    only: String,
    /// Writes the figures of all rounds as JSON
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Replaces a file that is no record
    #[arg(long)]
    force: bool,
}

fn main() -> ExitCode {
    let options = Options::parse();
    let place = |path| provenance::check_place(path, options.force);
    if let Some(Err(message)) = options.record.as_deref().map(place) {
        eprintln!("cross-check: {message}");
        return ExitCode::from(2);
    }
    // What a killed run left.
    hocket_files::remove_dead_folders(&std::env::temp_dir(), theirs::PREFIX);
    match run(&options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("cross-check: {message}");
            ExitCode::from(3)
        }
    }
}

fn run(options: &Options) -> Result<(), String> {
    let started_at = about::now();
    let topology = Topology::discover().map_err(|error| error.to_string())?;
    let host = Host::discover().map_err(|error| error.to_string())?;
    let mut checks = checks::all(&host, &options.criterion)?;
    checks.retain(|check| check.name.contains(&options.only));
    // One after the other, those with many threads last: what they leave in this process makes its forks slower.
    for check in &mut checks {
        check.run(options.rounds).map_err(|why| format!("{}: {why}", check.name))?;
    }
    table(&checks);
    let Some(path) = &options.record else { return Ok(()) };
    provenance::write(path, &record::assemble(&checks, &topology, &started_at))
}

fn table(checks: &[Check]) {
    println!("{:<34} {:>10} {:>10}  ratio", "", "lab ns", "other ns");
    for check in checks {
        let of = |figures: &[f64]| median(figures).unwrap_or(f64::NAN);
        let ratio = check.ratio().map_or("-".to_string(), |c| match c.interval {
            Some(i) => format!("{:.3} [{:.3}, {:.3}]", c.ratio, i.low, i.high),
            None => format!("{:.3}", c.ratio),
        });
        let (ours, theirs) = (of(&check.ours.figures), of(&check.theirs.figures));
        println!("{:<34} {ours:>10.1} {theirs:>10.1}  {ratio}", check.name);
    }
}
