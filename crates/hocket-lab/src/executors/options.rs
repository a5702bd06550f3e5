//! Command line of the bench.

use std::path::PathBuf;

use hocket_engine::{Policy, Steer};
use hocket_plan::{ScheduleKind, SiblingPolicy};

use super::measure::Mode;

const USAGE: &str = "\
cargo bench --bench executors -- [OPTIONS]
  --workers N        workers, the leader included (default: one a core)
  --blocks N         parallel blocks a cell (default 1500, and as many serial ones between them)
  --graph NAMES      of empty,light,medium,heavy,narrow (default: all)
  --mode NAMES       of paced,hot (default: both)
  --schedule NAMES   of dataflow,lists,steal,critical,auto (default: dataflow,critical,auto)
  --wait NAMES       ways of waiting inside a block (default: hybrid)
  --sibling NAME     of off,all (default: off)
  --keep-awake WHAT  yes: a spinning SCHED_IDLE thread a CPU, so that no CPU sleeps (default no)
  --record FILE      writes all samples as JSON
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
    /// Where the samples go.
    pub record: Option<PathBuf>,
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
            record: None,
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
            let value = args.next().ok_or_else(|| format!("{arg} needs a value\n{USAGE}"))?;
            options.set(arg, value).map_err(|why| format!("{arg} {value}: {why}\n{USAGE}"))?;
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
            "--keep-awake" => {
                self.keep_awake = match value {
                    "yes" => true,
                    "no" => false,
                    _ => return Err("say yes or no".into()),
                }
            }
            "--record" => self.record = Some(value.into()),
            _ => return Err("no such option".into()),
        }
        Ok(())
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

fn positive(value: &str) -> Result<usize, String> {
    value.parse().ok().filter(|n| *n > 0).ok_or_else(|| "not a positive number".into())
}

fn list<T>(value: &str, each: impl Fn(&str) -> Option<T>) -> Result<Vec<T>, String> {
    let one = |name: &str| each(name.trim()).ok_or_else(|| format!("'{name}' is unknown"));
    value.split(',').map(one).collect()
}
