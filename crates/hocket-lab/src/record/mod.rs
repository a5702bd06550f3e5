//! The record of a bench: every raw sample and everything needed to believe it.
//!
//! Plain data in the order in which a doubting reader asks: what ran, on what, with which rights,
//! in which order, what came out block by block, and what else the machine did meanwhile. Tables
//! and reports are made from records only, so a figure can always be traced back to its samples.
//!
//! A record is one JSON file ([`BenchRecord::write_atomic`], [`BenchRecord::read`]) with one line
//! per column of samples. Unknown fields are ignored on reading, so a later writer may add some
//! without a new [`FORMAT`]; a change of meaning needs a new one.

mod counted;
mod json;
mod store;

use hocket_trace::cause::{Tally, Verdict};
use hocket_trace::{BlockTrace, Misses};
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use counted::{Counted, CountedGroup, CountedKind, NotCounted};
pub use store::{RecordError, write_text_atomic};

/// Name and version of the format, the first thing in the file.
pub const FORMAT: &str = "hocket-bench/2";

/// The format before, of one process start and without a twin; it is read as well.
const FORMAT_OF_ONE_START: &str = "hocket-bench/1";

/// One run of `hocket bench`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BenchRecord {
    /// [`FORMAT`], or an older one that is read as well.
    pub format: String,
    /// What measured.
    pub hocket: Build,
    /// The command line, program name first, as it can be typed again.
    pub command: Vec<String>,
    /// RFC 3339, UTC.
    pub started_at: String,
    /// RFC 3339, UTC.
    pub finished_at: String,
    /// Why the run ended before all its blocks were measured; `None`: it is complete.
    #[serde(default)]
    pub partial: Option<String>,
    /// What was run.
    pub session: SessionFacts,
    /// How it was run.
    pub settings: Settings,
    /// `facts` and `topology` of the machine, as hocket-machine serialises them.
    #[serde(default)]
    pub machine: Value,
    /// What the system allows and why not: hocket-machine's list of grants.
    #[serde(default)]
    pub grants: Value,
    /// Whether the memory of the process was locked: hocket-machine's report; null: not asked for.
    #[serde(default)]
    pub memory_lock: Value,
    /// The clock all times were taken with.
    pub clock: Clock,
    /// What was compared; the first one is the reference of all ratios.
    pub variants: Vec<Variant>,
    /// The same wake-ups without any audio: what the system alone does to a block.
    pub wake_loop: WakeLoop,
    /// Units that were silenced, with how often and why. Empty: none.
    #[serde(default)]
    pub contained: Vec<Contained>,
    /// Files that were silent for a while because the disk did not answer in time. Empty: none. These are no misses.
    #[serde(default)]
    pub disk: Vec<DiskSilence>,
    /// Nodes that lost events, because a block has no room for more. Empty: none.
    #[serde(default)]
    pub lost_events: Vec<LostEvents>,
}

impl BenchRecord {
    /// Time from a block's planned start to its deadline.
    pub fn period_ns(&self) -> f64 {
        f64::from(self.settings.frames) / f64::from(self.settings.rate_hz) * 1e9
    }
}

/// The program that measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Build {
    /// `0.1.0`.
    pub version: String,
    /// The commit it was built from, where known.
    #[serde(default)]
    pub commit: Option<String>,
    /// Whether the tree held changes that no commit has.
    #[serde(default)]
    pub dirty: bool,
    /// `rustc 1.95.0 (...)`.
    pub rustc: String,
    /// SHA-256 of the program's file; older records lack it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program_sha256: Option<String>,
}

/// What was run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionFacts {
    /// Name, for people.
    pub name: String,
    /// The file as given on the command line.
    pub file: String,
    /// Digest of the file and of what it names besides audio, in hexadecimal; older records lack it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_sha256: Option<String>,
    /// Equalisers that `--fill` added to the tracks; `None`: it was not asked for, or the record is older.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fill: Option<usize>,
    /// Number of tracks.
    pub tracks: usize,
    /// Number of groups.
    pub groups: usize,
    /// Number of send returns.
    pub returns: usize,
    /// Number of units, the things a worker runs without interruption.
    pub units: usize,
    /// Number of dependencies between them.
    pub edges: usize,
    /// Units on the longest chain of dependencies: what no number of workers can shorten.
    pub critical_path_units: usize,
    /// The audio files.
    #[serde(default)]
    pub media: Vec<MediaFacts>,
}

/// An audio file of the session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MediaFacts {
    /// The path as the session names it.
    pub path: String,
    /// Digest of its bytes in hexadecimal; `None` where it was too large to read for this.
    #[serde(default)]
    pub sha256: Option<String>,
}

/// How it was run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// Frames per block.
    pub frames: u32,
    /// Sample rate.
    pub rate_hz: u32,
    /// Number of workers, the leader included.
    pub workers: usize,
    /// Measured blocks per variant that were asked for.
    pub blocks_per_variant: u64,
    /// Process starts that were planned; the rounds are dealt out among them.
    #[serde(default = "one")]
    pub starts: usize,
    /// Rounds of all starts; each holds every variant once, in random order.
    pub rounds: usize,
    /// Measured blocks per variant and round.
    pub blocks_per_round: u64,
    /// Blocks run and thrown away before each variant's turn.
    pub warmup: u64,
    /// Where the order of the variants and the resamples of the statistics come from.
    pub seed: u64,
    /// How seats were kept on which nobody worked; `None`: a record from before this could be chosen.
    #[serde(default)]
    pub seat_wait: Option<String>,
    /// Disturbers that ran beside, as asked for. Empty: none.
    #[serde(default)]
    pub disturb: Vec<String>,
}

fn one() -> usize {
    1
}

/// The clock, as checked before the run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Clock {
    /// `CLOCK_MONOTONIC (tsc)`.
    pub source: String,
    /// The smallest step it was seen to make.
    pub resolution_ns: u64,
    /// What reading it costs, median; not a number where unknown.
    #[serde(deserialize_with = "json::number")]
    pub read_cost_ns: f64,
    /// The longest time between two readings in a row of a busy loop: how long the system took
    /// the processor away, or how coarse the clock is.
    #[serde(default)]
    pub longest_gap_ns: Option<u64>,
}

/// One way to run the session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Variant {
    /// `dataflow / idle-thread / hybrid`.
    pub name: String,
    /// Schedule kind.
    pub schedule: String,
    /// Sibling policy.
    pub sibling: String,
    /// Way of waiting.
    pub wait: String,
    /// Whether equal effects of two strips ran as one, where that was possible.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub lanes: bool,
    /// Whether this is the first variant measured again: what it shows as a difference is noise.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub twin: bool,
    /// Why its sibling policy makes no difference on this machine; `None`: it can make one.
    #[serde(default)]
    pub effect_here: Option<String>,
    /// Why it could not be measured here; such a variant has no rounds.
    #[serde(default)]
    pub refused: Option<String>,
    /// What each thread asked of the system and what it got.
    #[serde(default)]
    pub threads: Vec<ThreadGrant>,
    /// In order of the rounds.
    #[serde(default)]
    pub rounds: Vec<Round>,
    /// What the disturbers got done meanwhile.
    #[serde(default)]
    pub disturbers: Vec<Disturber>,
    /// A block whose time is the median.
    #[serde(default)]
    pub ordinary: Option<BlockTrace>,
    /// The block with the least slack.
    #[serde(default)]
    pub worst: Option<BlockTrace>,
    /// Why blocks were late; `None`: nobody looked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub explained: Option<Explained>,
    /// What hardware counters counted; `None`: nobody asked for them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counted: Option<Counted>,
}

/// Why a variant's blocks were late.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Explained {
    /// Late blocks by cause.
    pub causes: Tally,
    /// Late blocks that came too fast to be looked at.
    #[serde(default)]
    pub unexplained: u64,
    /// The last ones, in order of time.
    #[serde(default)]
    pub last: Vec<Verdict>,
    /// The block with the least slack: why it was late, or else why it took longer than usual. `None`: it
    /// did not, or nobody knows.
    #[serde(default)]
    pub worst: Option<Verdict>,
    /// What could not be seen, a sentence each.
    #[serde(default)]
    pub limits: Vec<String>,
}

impl Variant {
    /// Times from planned start to complete output, of all blocks in order.
    pub fn ready_ns(&self) -> impl Iterator<Item = i64> {
        self.rounds.iter().flat_map(Round::ready_ns)
    }

    /// Times from the leader's awakening to complete output, of all blocks in order.
    pub fn duration_ns(&self) -> impl Iterator<Item = i64> {
        self.rounds.iter().flat_map(|round| round.duration_ns.iter().copied())
    }

    /// Number of measured blocks.
    pub fn blocks(&self) -> u64 {
        self.rounds.iter().map(|round| round.duration_ns.len() as u64).sum()
    }

    /// Periods for which the device had nothing new to play.
    pub fn misses(&self) -> Misses {
        self.rounds.iter().map(Round::misses).sum()
    }

    /// Whether the periods that passed without a block were counted; older records lack them.
    pub fn counts_skipped(&self) -> bool {
        self.rounds.iter().all(|round| !round.skipped_periods.is_empty())
    }
}

/// What a thread asked of the system and what the system says it has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadGrant {
    /// `worker 0 (leader)`.
    pub thread: String,
    /// The CPU asked for; `None`: any.
    #[serde(default)]
    pub cpu_asked: Option<u32>,
    /// The one CPU it may run on, read back; `None`: more than one.
    #[serde(default)]
    pub cpu_got: Option<u32>,
    /// Scheduling class and priority asked for, `FIFO 70`.
    pub class_asked: String,
    /// The one read back.
    pub class_got: String,
    /// Why it differs from what was asked for.
    #[serde(default)]
    pub why: Option<String>,
}

/// One variant's turn in one round. The columns hold one figure per block and are equally long.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Round {
    /// The process start, from 0.
    #[serde(default)]
    pub start: u32,
    /// Number of the round in the whole run, from 0; rounds of the same number are compared with each other.
    pub round: u32,
    /// Place of this turn in the whole run, from 0, the wake-up loop's turns included.
    pub order: u32,
    /// Number of the first measured block since the variant's engine was started; every process start has engines
    /// of its own.
    pub first_block: u64,
    /// How often the leader woke up during the turn. More than blocks: it woke for nothing.
    pub wakes: u64,
    /// How many blocks the engine says it ran, counted independently of the columns.
    pub blocks: u64,
    /// What else the machine did meanwhile.
    #[serde(default)]
    pub noise: Noise,
    /// From the planned start to the leader's awakening.
    pub lateness_ns: Vec<i64>,
    /// From the leader's awakening to the complete output: the block time.
    pub duration_ns: Vec<i64>,
    /// From the complete output to the deadline; negative: late.
    pub slack_ns: Vec<i64>,
    /// From the planned start until the last worker was awake. Empty where it was not taken.
    #[serde(default)]
    pub worker_awake_max_ns: Vec<i64>,
    /// Periods that passed without a block, after this one. Empty in older records.
    #[serde(default)]
    pub skipped_periods: Vec<u64>,
}

impl Round {
    /// Times from planned start to complete output.
    pub fn ready_ns(&self) -> impl Iterator<Item = i64> {
        self.lateness_ns
            .iter()
            .zip(&self.duration_ns)
            .map(|(late, took)| late.saturating_add(*took))
    }

    /// Periods for which the device had nothing new to play.
    pub fn misses(&self) -> Misses {
        let skipped = self.skipped_periods.iter().copied().chain(std::iter::repeat(0));
        self.slack_ns.iter().zip(skipped).map(|(slack, n)| Misses::of_block(*slack, n)).sum()
    }
}

/// The ledger of one turn: what could have disturbed it. Disturbers of the bench are not counted
/// as foreign. `None`: the system does not tell; records of the first format have 0 there.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Noise {
    /// How long the turn took.
    pub wall_ns: u64,
    /// Time stolen by the hypervisor, in ticks of the kernel (usually 10 ms).
    #[serde(default)]
    pub steal_ticks: Option<u64>,
    /// CPU time of processes that do not belong to the bench.
    #[serde(default)]
    pub foreign_cpu_ns: Option<u64>,
    /// How often the bench's audio threads were put aside although they wanted to run.
    #[serde(default)]
    pub involuntary_switches: Option<u64>,
    /// Page faults of the process.
    #[serde(default)]
    pub faults: Option<u64>,
    /// Load average over the last minute at the end of the turn; not a number where unknown.
    #[serde(deserialize_with = "json::number")]
    pub load: f64,
}

/// Share of one CPU's time above which foreign work marks a turn as disturbed.
const FOREIGN_SHARE: f64 = 0.05;

impl Noise {
    /// Why this turn counts as disturbed, if it does.
    pub fn disturbed(&self) -> Option<&'static str> {
        let most = FOREIGN_SHARE * self.wall_ns as f64;
        let foreign = self.foreign_cpu_ns.is_some_and(|ns| ns as f64 > most);
        match (self.steal_ticks.is_some_and(|ticks| ticks > 0), foreign) {
            (true, _) => Some("the hypervisor took time"),
            (_, true) => Some("foreign work"),
            _ => None,
        }
    }

    /// Whether the system tells all that [`Noise::disturbed`] looks at.
    pub fn is_known(&self) -> bool {
        self.steal_ticks.is_some() && self.foreign_cpu_ns.is_some()
    }
}

/// Foreign load that the bench itself ran beside a variant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Disturber {
    /// `preview`.
    pub name: String,
    /// What `progress` counts, `MB` or `frames`.
    pub unit: String,
    /// How far it came in each of the variant's rounds; not a number where unknown.
    #[serde(deserialize_with = "json::numbers")]
    pub progress: Vec<f64>,
    /// CPU time it got in all rounds.
    pub cpu_time_ns: u64,
    /// Where it ran; `None` where the system does not tell.
    #[serde(default)]
    pub ran_on: Option<RanOn>,
}

impl Disturber {
    /// Mean progress of the rounds in which it is known; `None`: of none.
    pub fn mean_progress(&self) -> Option<f64> {
        let known: Vec<f64> = self.progress.iter().copied().filter(|p| p.is_finite()).collect();
        (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64)
    }
}

/// Shares of a disturber's run time; they add up to one.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct RanOn {
    /// On a CPU where a worker sits.
    pub worker_seat: f64,
    /// On the sibling of such a CPU.
    pub sibling: f64,
    /// On any other CPU.
    pub elsewhere: f64,
}

/// A thread of the leader's class and period that only wakes up and goes back to sleep.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WakeLoop {
    /// What it asked for and got.
    #[serde(default)]
    pub thread: Option<ThreadGrant>,
    /// Its turns, one a round, in random order among those of the variants.
    #[serde(default)]
    pub rounds: Vec<WakeRound>,
}

impl WakeLoop {
    /// From planned wake-up to awake, of all wake-ups in order.
    pub fn lateness_ns(&self) -> impl Iterator<Item = i64> {
        self.rounds.iter().flat_map(|round| round.lateness_ns.iter().copied())
    }
}

/// One turn of the wake-up loop.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WakeRound {
    /// The process start, from 0.
    #[serde(default)]
    pub start: u32,
    /// Number of the round.
    pub round: u32,
    /// Place in the whole run.
    pub order: u32,
    /// What else the machine did meanwhile.
    #[serde(default)]
    pub noise: Noise,
    /// From planned wake-up to awake.
    pub lateness_ns: Vec<i64>,
}

/// A unit that made values that are not finite, failed, or panicked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contained {
    /// The unit's name.
    pub unit: String,
    /// Blocks in which its output was silenced, over all variants.
    pub blocks: u64,
    /// Blocks that its processor failed to process, as a plug-in may; over all variants.
    #[serde(default)]
    pub failed: u64,
    /// The message of its panic; it was silent from then on.
    #[serde(default)]
    pub panic: Option<String>,
}

/// A node that events did not reach or leave.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LostEvents {
    /// The node's name.
    pub node: String,
    /// How many, over all variants and turns.
    pub events: u64,
}

/// What a file that plays from the disk did not have in memory in time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiskSilence {
    /// The file.
    pub file: String,
    /// Frames of silence, over all variants and turns.
    pub silent_frames: u64,
    /// Where the first gap begins that is known, as a frame of the file.
    #[serde(default)]
    pub position: Option<u64>,
    /// Why, as far as that is known.
    #[serde(default)]
    pub cause: Option<String>,
}
