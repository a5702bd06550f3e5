//! Command line.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Parser;
use clap::builder::PossibleValuesParser;
use hocket_lab::graphs::{GRAPHS, GraphSpec};
use hocket_plan::ScheduleKind;

use crate::measure::Mode;
use crate::pool::Leader;
use crate::rivals::Library;
use crate::setup::Fuse;

/// The lab's five graphs on rayon, oneTBB and OpenMP, beside Hocket's engine and the serial walk, in
/// one run.
///
/// Efficiency is (serial / workers) / time. "Hocket/it" is Hocket's time by that executor's: below
/// one, Hocket is faster. Intervals are 95 %, over stretches of 50 blocks; six stretches or more are
/// needed for one.
#[derive(Debug, Clone, Parser)]
#[command(
    name = "comparison",
    after_help = "Exit code: 0 done, 1 executors disagree, 2 bad usage, 3 not possible here."
)]
pub struct Options {
    /// Blocks of each executor in each cell
    #[arg(long, value_name = "N", default_value = "1500")]
    pub blocks: NonZeroUsize,
    /// Workers of Hocket and threads of each rival, the leader included [default: one a core]
    #[arg(long, value_name = "N")]
    pub workers: Option<NonZeroUsize>,
    /// Graphs, separated by commas [default: all]
    #[arg(long, value_name = "NAMES", value_delimiter = ',', value_parser = PossibleValuesParser::new(GRAPHS.map(|g| g.name)))]
    pub graph: Vec<String>,
    /// A block each 1333 us, block after block, or both, separated by a comma
    #[arg(long, value_name = "NAMES", value_delimiter = ',', default_values = ["paced", "hot"])]
    pub mode: Vec<Mode>,
    /// Rivals, separated by commas; one whose library was not there when this was built is left out
    #[arg(long, value_name = "NAMES", value_delimiter = ',', default_values = ["rayon", "tbb", "openmp"])]
    pub rival: Vec<Library>,
    /// Hocket's schedule: lists, dataflow, steal or critical
    #[arg(long, value_name = "NAME", default_value = "dataflow", value_parser = schedule)]
    pub schedule: ScheduleKind,
    /// How long OpenMP's threads spin before they sleep, unless GOMP_SPINCOUNT says it
    #[arg(long, value_name = "US", default_value = "50")]
    pub omp_spin: u32,
    /// Who makes one task of a chain of nodes
    #[arg(long, value_name = "WHO", default_value = "hocket")]
    pub fuse: Fuse,
    /// What the leader is to rayon's pool
    #[arg(long, value_name = "WHAT", default_value = "member")]
    pub leader: Leader,
    /// Where the order of the turns comes from
    #[arg(long, value_name = "N", default_value = "1")]
    pub seed: u64,
    /// Writes all samples as JSON
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,
    /// Replaces a file that is no record
    #[arg(long)]
    pub force: bool,
}

fn schedule(name: &str) -> Result<ScheduleKind, String> {
    match ScheduleKind::from_name(name) {
        Some(kind) if kind != ScheduleKind::Serial => Ok(kind),
        _ => Err("choose lists, dataflow, steal or critical".into()),
    }
}

impl Options {
    /// The graphs asked for, in their usual order.
    pub fn graphs(&self) -> impl Iterator<Item = &'static GraphSpec> {
        let wanted =
            |name: &str| self.graph.is_empty() || self.graph.iter().any(|wanted| wanted == name);
        GRAPHS.iter().filter(move |graph| wanted(graph.name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Options::command().debug_assert();
    }

    #[test]
    fn lists_are_read_and_nonsense_refused() {
        let parse = |args: &[&str]| Options::try_parse_from([&["comparison"], args].concat());
        let options = parse(&["--graph", "light,heavy", "--mode", "hot"]).unwrap();
        assert_eq!(options.graphs().map(|g| g.name).collect::<Vec<_>>(), ["light", "heavy"]);
        assert_eq!(options.mode, [Mode::Hot]);
        assert_eq!(parse(&[]).unwrap().graphs().count(), GRAPHS.len());
        for bad in [
            ["--graph", "lite"],
            ["--blocks", "0"],
            ["--workers", "-1"],
            ["--mode", "warm"],
            ["--schedule", "serial"],
            ["--rival", "tbb,tbc"],
        ] {
            assert!(parse(&bad).is_err(), "{bad:?}");
        }
    }
}
