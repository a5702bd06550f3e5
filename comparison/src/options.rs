//! Command line.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Parser;
use clap::builder::PossibleValuesParser;
use hocket_lab::graphs::{GRAPHS, GraphSpec};

use crate::measure::Mode;
use crate::pool::Leader;
use crate::setup::Fuse;

/// The lab's five graphs on rayon, beside Hocket's engine and the serial walk, in one run.
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
    /// Workers of Hocket and threads of rayon, the leader included [default: one a core]
    #[arg(long, value_name = "N")]
    pub workers: Option<NonZeroUsize>,
    /// Graphs, separated by commas [default: all]
    #[arg(long, value_name = "NAMES", value_delimiter = ',', value_parser = PossibleValuesParser::new(GRAPHS.map(|g| g.name)))]
    pub graph: Vec<String>,
    /// A block each 1333 us, block after block, or both, separated by a comma
    #[arg(long, value_name = "NAMES", value_delimiter = ',', default_values = ["paced", "hot"])]
    pub mode: Vec<Mode>,
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
        for bad in [["--graph", "lite"], ["--blocks", "0"], ["--workers", "-1"], ["--mode", "warm"]]
        {
            assert!(parse(&bad).is_err(), "{bad:?}");
        }
    }
}
