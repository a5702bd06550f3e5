//! Command line of the bench.

use std::path::PathBuf;

use hocket_engine::{Policy, Steer};
use hocket_plan::{ScheduleKind, SiblingPolicy};

use super::hostile::Hostility;
use super::measure::Mode;
use crate::stats::MIN_ROUNDS;

const USAGE: &str = "\
cargo bench --bench executors -- [OPTIONS]
  --workers N        workers, the leader included (default: one a core)
  --blocks N         parallel blocks a cell (default 1500, and as many serial ones between them)
  --graph NAMES      of empty,light,medium,heavy,narrow; with --random, of r000,r001,... (default: all)
  --mode NAMES       of paced,hot (default: both)
  --schedule NAMES   of dataflow,lists,steal,critical,auto (default: dataflow,critical,auto)
  --wait NAMES       ways of waiting inside a block (default: hybrid)
  --sibling NAME     of off,all (default: off)
  --keep-awake WHAT  yes: a spinning SCHED_IDLE thread a CPU, so that no CPU sleeps (default no)
  --record FILE      writes all samples: to FILE.sqlite as a run beside those of `hocket lab`, to another name as JSON
  --force            replaces a file that is no record
auto against the serial walk and every fixed schedule, in turns of one run, instead:
  --together yes     on these graphs
  --random N         on N random graphs: 2 to 2000 nodes, 0.1 to 50 µs each, narrow to wide; 3 s a graph
  --seed N           where the graphs and the order of turns come from (default 1)
  --rounds N         turns of each executor, 5 blocks each (default 24, at least 6)
  --settle MS        how long auto runs alone before anything counts (default 1500)
  --hostile WHAT     late: workers come late at random (needs --features hocket-lab/hostile)
                     jumps: what another worker left costs 1 µs more or not, several times a second
                     load: a foreign thread computes on the last worker's CPU
Exit code: 0 done, 2 bad usage, 3 not possible here.";

/// What to measure.
#[derive(Debug, Clone)]
pub struct Options {
    /// `None`: as many as the sibling policy has seats for.
    pub workers: Option<usize>,
    /// Parallel blocks a cell.
    pub blocks: usize,
    /// Block length.
    pub frames: u32,
    /// Sample rate.
    pub rate_hz: u32,
    /// Names of graphs; empty: all.
    pub graphs: Vec<String>,
    /// Ways to call.
    pub modes: Vec<Mode>,
    /// Schedules; `None`: `auto`.
    pub schedules: Vec<Option<ScheduleKind>>,
    /// Waits.
    pub waits: Vec<hocket_engine::Strategy>,
    /// Which seats workers take.
    pub sibling: SiblingPolicy,
    /// Keeps CPUs from sleeping between blocks.
    pub keep_awake: bool,
    /// How long a schedule that follows costs runs before anything counts.
    pub settle_ns: u64,
    /// All executors in turns of one run, on the named graphs.
    pub together: bool,
    /// The same on so many random graphs.
    pub random: Option<usize>,
    /// Where random graphs and the order of turns come from.
    pub seed: u64,
    /// Turns of each executor.
    pub rounds: usize,
    /// How long `auto` runs alone before its turns.
    pub contest_settle_ns: u64,
    /// What makes the host worse.
    pub hostile: Option<Hostility>,
    /// Where the samples go.
    pub record: Option<PathBuf>,
    /// Whether they may replace what is no record.
    pub force: bool,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            workers: None,
            blocks: 1500,
            frames: 64,
            rate_hz: 48_000,
            graphs: Vec::new(),
            modes: vec![Mode::Paced, Mode::Hot],
            schedules: vec![Some(ScheduleKind::Dataflow), Some(ScheduleKind::Critical), None],
            waits: vec![hocket_engine::Strategy::Hybrid],
            sibling: SiblingPolicy::Off,
            keep_awake: false,
            settle_ns: 3_000_000_000,
            together: false,
            random: None,
            seed: 1,
            rounds: 24,
            contest_settle_ns: 1_500_000_000,
            hostile: None,
            record: None,
            force: false,
        }
    }
}

impl Options {
    /// A few blocks of everything: correctness, not time.
    pub fn smoke() -> Options {
        Options { blocks: 20, settle_ns: 100_000_000, ..Options::default() }
    }

    /// From the command line.
    ///
    /// # Errors
    /// What is wrong, and the usage.
    pub fn parse(args: &[String]) -> Result<Options, String> {
        let mut options = Options::default();
        let mut args = args.iter().filter(|arg| *arg != "--bench");
        while let Some(arg) = args.next() {
            if matches!(arg.as_str(), "--help" | "-h") {
                return Err(USAGE.into());
            }
            if arg == crate::provenance::FORCE {
                options.force = true;
                continue;
            }
            let value = args.next().ok_or_else(|| format!("{arg} needs a value\n{USAGE}"))?;
            options.set(arg, value).map_err(|why| format!("{arg} {value}: {why}\n{USAGE}"))?;
        }
        if options.hostile.is_some() && !options.is_contest() {
            return Err(format!("--hostile needs --together yes or --random N\n{USAGE}"));
        }
        Ok(options)
    }

    fn set(&mut self, arg: &str, value: &str) -> Result<(), String> {
        match arg {
            "--workers" => self.workers = Some(positive(value)?),
            "--blocks" => self.blocks = positive(value)?,
            "--graph" => self.graphs = list(value, |name| Some(name.to_owned()))?,
            "--mode" => self.modes = list(value, Mode::from_name)?,
            "--schedule" => self.schedules = list(value, schedule)?,
            "--wait" => self.waits = list(value, |name| name.parse().ok())?,
            "--sibling" => {
                self.sibling = SiblingPolicy::from_name(value).ok_or("no such policy")?;
            }
            "--keep-awake" => self.keep_awake = yes_or_no(value)?,
            "--together" => self.together = yes_or_no(value)?,
            "--random" => self.random = Some(positive(value)?),
            "--seed" => self.seed = value.parse().map_err(|_| "not a number")?,
            "--rounds" => {
                self.rounds = positive(value)?;
                if self.rounds < MIN_ROUNDS {
                    return Err(format!("an interval needs {MIN_ROUNDS} rounds"));
                }
            }
            "--settle" => self.contest_settle_ns = positive(value)? as u64 * 1_000_000,
            "--hostile" => self.hostile = Some(Hostility::from_name(value).ok_or("no such host")?),
            "--record" => self.record = Some(value.into()),
            _ => return Err("no such option".into()),
        }
        Ok(())
    }

    /// Whether all executors take turns in one run.
    pub fn is_contest(&self) -> bool {
        self.together || self.random.is_some()
    }

    /// Why a wait that is asked for is not possible here: measured all the same, it would stand under
    /// a name that is not its own.
    pub fn missing_wait(&self) -> Option<String> {
        let missing = |wait: &hocket_engine::Strategy| {
            Some(format!("--wait {wait}: not possible here: {}", wait.missing()?))
        };
        self.waits.iter().find_map(missing)
    }

    /// Whether this graph is asked for.
    pub fn wants(&self, graph: &str) -> bool {
        self.graphs.is_empty() || self.graphs.iter().any(|name| name == graph)
    }

    /// Every combination of schedule and wait.
    pub fn variants(&self) -> Vec<Variant> {
        let with = |schedule: &Option<ScheduleKind>| {
            let schedule = *schedule;
            self.waits.iter().map(move |wait| Variant::new(schedule, self.sibling, *wait))
        };
        self.schedules.iter().flat_map(with).collect()
    }
}

/// One way to run a graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Variant {
    /// Schedule (of `auto`: any), sibling policy and wait.
    pub policy: Policy,
    /// What happens to the schedule as costs are measured.
    pub steer: Steer,
}

impl Variant {
    fn new(
        schedule: Option<ScheduleKind>,
        sibling: SiblingPolicy,
        wait: hocket_engine::Strategy,
    ) -> Variant {
        let steer = match schedule {
            None => Steer::Auto,
            Some(ScheduleKind::Critical) => Steer::Costs,
            Some(_) => Steer::Fixed,
        };
        let schedule = schedule.unwrap_or(ScheduleKind::Critical);
        Variant { policy: Policy { schedule, sibling, wait }, steer }
    }
}

impl std::fmt::Display for Variant {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.steer {
            Steer::Auto => {
                write!(f, "auto / {} / {}", self.policy.sibling.name(), self.policy.wait)
            }
            Steer::Fixed | Steer::Costs => self.policy.fmt(f),
        }
    }
}

fn schedule(name: &str) -> Option<Option<ScheduleKind>> {
    if name == "auto" { Some(None) } else { ScheduleKind::from_name(name).map(Some) }
}

fn yes_or_no(value: &str) -> Result<bool, String> {
    match value {
        "yes" => Ok(true),
        "no" => Ok(false),
        _ => Err("say yes or no".into()),
    }
}

fn positive(value: &str) -> Result<usize, String> {
    value.parse().ok().filter(|n| *n > 0).ok_or_else(|| "not a positive number".into())
}

fn list<T>(value: &str, each: impl Fn(&str) -> Option<T>) -> Result<Vec<T>, String> {
    let one = |name: &str| each(name.trim()).ok_or_else(|| format!("'{name}' is unknown"));
    value.split(',').map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Options, String> {
        let args: Vec<String> = line.split_whitespace().map(String::from).collect();
        Options::parse(&args)
    }

    #[test]
    fn a_contest_is_asked_for_by_graphs() {
        let options = parse("--bench --random 200 --seed 7 --hostile jumps --settle 2000").unwrap();
        assert_eq!((options.random, options.seed), (Some(200), 7));
        assert_eq!(options.hostile, Some(Hostility::Jumps));
        assert_eq!(options.contest_settle_ns, 2_000_000_000);
        assert!(options.is_contest() && parse("--together yes").unwrap().is_contest());
        assert!(!parse("").unwrap().is_contest());
    }

    #[test]
    fn nonsense_is_refused_with_the_usage() {
        for bad in
            ["--random 0", "--together maybe", "--rounds 5 --random 3", "--hostile late", "--seed"]
        {
            assert!(parse(bad).unwrap_err().contains("--hostile WHAT"), "{bad}");
        }
    }
}
