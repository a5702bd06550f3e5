//! The profile as a file.

use std::path::{Path, PathBuf};

use hocket_plan::{ScheduleKind, SiblingPolicy};
use hocket_rt::Strategy;
use serde::{Deserialize, Serialize};

use super::Conditions;
use crate::record::write_text_atomic;

/// How to play on this machine, and from what it is known.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// Version of the file.
    pub version: u32,
    /// When it was derived, ISO 8601, UTC.
    pub made: String,
    /// The run of the lab that it rests on.
    pub from: String,
    /// It holds while these are as they were.
    pub holds_while: Conditions,
    /// Who shares a core.
    pub pairs: Pairs,
    /// What working together costs.
    pub together: Together,
    /// What to use for which block length, shortest first.
    #[serde(rename = "blocks")]
    pub blocks: Vec<Recommended>,
    /// Block lengths for which too little was measured to recommend anything, shortest first.
    #[serde(rename = "undecided", default)]
    pub undecided: Vec<Undecided>,
    /// Every usable seat that was measured.
    #[serde(rename = "seats", default)]
    pub seats: Vec<Seat>,
    /// Every way of waiting that was measured.
    #[serde(rename = "waits", default)]
    pub waits: Vec<WaitCost>,
    /// What could not be measured, and why.
    #[serde(default)]
    pub unknown: Vec<String>,
}

/// Who shares a core, by what the system says and by measurement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pairs {
    /// What was found, in a sentence.
    pub verdict: String,
    /// The CPUs of each core of which two or more were measured to be siblings.
    pub verified: Vec<Vec<u32>>,
}

/// What working together costs. Absent: not measured, and assumed as the engine does.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Together {
    /// The part of its own speed that is left to a worker while its sibling works too.
    pub pair_speed: Option<f64>,
    /// From the signal until a worker that spins has seen it, in nanoseconds.
    pub start_ns: Option<f64>,
    /// From the end of a unit until another worker knows of it, in nanoseconds.
    pub hand_over_ns: Option<f64>,
}

impl Together {
    fn check(&self) -> Result<(), String> {
        let times = [("start_ns", self.start_ns), ("hand_over_ns", self.hand_over_ns)];
        for (name, time) in times {
            if time.is_some_and(|ns| !(0.0..=1e9).contains(&ns)) {
                return Err(format!("[together] {name} is not between 0 and a second"));
            }
        }
        match self.pair_speed.is_some_and(|speed| !(speed > 0.0 && speed <= 1.0)) {
            true => Err("[together] pair_speed is not above 0 and at most 1".into()),
            false => Ok(()),
        }
    }
}

/// No machine has more seats.
const MOST_WORKERS: usize = 8192;
/// A profile of the largest machine has some hundred kilobytes.
const MOST_BYTES: u64 = 4 << 20;

/// What to use for a block length, and why.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recommended {
    /// Frames a block.
    pub frames: u32,
    /// Name of the schedule.
    #[serde(with = "names::schedule")]
    pub schedule: ScheduleKind,
    /// Workers, the leader included.
    pub workers: usize,
    /// Name of the wait.
    #[serde(with = "names::wait")]
    pub wait: Strategy,
    /// Name of the sibling policy.
    #[serde(with = "names::policy")]
    pub policy: SiblingPolicy,
    /// The reasons, the most important first.
    pub reasons: Vec<String>,
    /// Turns of each way that is compared.
    pub turns: usize,
    /// The 95 % interval, in percent, of the block time's change against the serial walk: of this way or, where
    /// this is the serial walk, of the way that comes closest to being shorter. Absent: there is no other way here.
    pub change_percent: Option<[f64; 2]>,
}

/// A block length for which nothing is recommended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Undecided {
    /// Frames a block.
    pub frames: u32,
    /// Turns of each way that is compared.
    pub turns: usize,
    /// What was measured, and why it does not tell.
    pub why: String,
}

/// A seat.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Seat {
    /// The system's number.
    pub cpu: u32,
    /// Speed that planning counts with, 1 for the fastest; seats whose measured speeds lie close together
    /// count as equal.
    pub speed: f32,
    /// Speed as measured alone; 1 too where no difference to the first seat was shown.
    pub measured: f64,
}

/// A way of waiting.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WaitCost {
    /// Its name.
    #[serde(with = "names::wait")]
    pub wait: Strategy,
    /// Scheduling class of the waiting thread: `fifo` or `ordinary`.
    pub class: String,
    /// Median time from the signal until it runs, in microseconds.
    pub wake_us: f64,
    /// 99 of 100 wake-ups took at most this, in microseconds.
    pub wake_p99_us: Option<f64>,
    /// By how much it slows a sibling that works, in percent; absent where there are no siblings.
    pub sibling_cost_percent: Option<f64>,
}

/// Why a profile cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum ProfileError {
    /// The file cannot be read.
    #[error("machine profile {path}: {source}")]
    Read {
        /// Which.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// What it says cannot be used.
    #[error("machine profile {path}: {what}; `hocket tune` writes a new one")]
    Content {
        /// Which.
        path: PathBuf,
        /// What is wrong, with the place.
        what: String,
    },
}

/// Only as much as tells whether the rest can be understood.
#[derive(Deserialize)]
struct Head {
    version: u32,
}

/// How every profile begins.
pub const PROFILE_MARK: &str = "# Machine profile of Hocket";

const HEADING: &str = "\
# Machine profile of Hocket, written by `hocket tune`. bench, play and render take their defaults from it
# for as long as everything below [holds_while] is as it was; flags on the command line win.
";

impl Profile {
    /// The version that is written.
    pub const VERSION: u32 = 2;

    /// The recommendation for the measured block length nearest to `frames`, by ratio; `None` where too little was
    /// measured there.
    pub fn for_frames(&self, frames: u32) -> Option<&Recommended> {
        let far = |length: u32| {
            let ratio = f64::from(length.max(1)) / f64::from(frames.max(1));
            (ratio.ln().abs() * 1e6) as u64
        };
        let block = self.blocks.iter().min_by_key(|block| far(block.frames))?;
        let undecided = self.undecided.iter().map(|it| far(it.frames)).min();
        (undecided.is_none_or(|other| far(block.frames) < other)).then_some(block)
    }

    /// Reads and checks.
    ///
    /// # Errors
    /// [`ProfileError`] with place and remedy.
    pub fn read(path: &Path) -> Result<Profile, ProfileError> {
        let text =
            text_of(path).map_err(|source| ProfileError::Read { path: path.into(), source })?;
        Profile::parse(&text).map_err(|what| ProfileError::Content { path: path.into(), what })
    }

    fn parse(text: &str) -> Result<Profile, String> {
        let plain = |error: toml::de::Error| error.to_string().trim_end().replace('\n', " ");
        let head: Head = toml::from_str(text).map_err(plain)?;
        if head.version != Profile::VERSION {
            return Err(format!(
                "it is of version {} and this program reads version {}",
                head.version,
                Profile::VERSION
            ));
        }
        let profile: Profile = toml::from_str(text).map_err(plain)?;
        profile.check().map(|()| profile)
    }

    /// Ranges that types do not tell.
    fn check(&self) -> Result<(), String> {
        if self.blocks.is_empty() && self.undecided.is_empty() {
            return Err("it recommends nothing: there are no [[blocks]]".into());
        }
        for Recommended { frames, workers, change_percent, .. } in &self.blocks {
            if change_percent.is_some_and(|change| change.iter().any(|end| !end.is_finite())) {
                return Err(format!("blocks of {frames} frames: change_percent is no number"));
            }
            if !hocket_engine::Settings::FRAMES.contains(frames) {
                return Err(format!("blocks of {frames} frames are not possible"));
            }
            if !(1..=MOST_WORKERS).contains(workers) {
                return Err(format!("blocks of {frames} frames: {workers} workers"));
            }
        }
        self.together.check()?;
        for seat in &self.seats {
            if !(seat.speed > 0.0 && seat.speed <= 1.0) {
                return Err(format!("CPU {}: a speed of {} is not in 0..1", seat.cpu, seat.speed));
            }
        }
        Ok(())
    }

    /// The file's text.
    pub fn text(&self) -> String {
        // Numbers, strings and lists of these: there is nothing that TOML could not take.
        format!("{HEADING}{}", toml::to_string(self).unwrap_or_default())
    }

    /// Writes the whole file or nothing.
    ///
    /// # Errors
    /// The folder or file cannot be written; what was there stays.
    pub fn write(&self, path: &Path) -> Result<(), crate::record::RecordError> {
        write_text_atomic(path, &self.text())
    }
}

/// Of a regular file of possible size: a pipe would be waited for, a device read without end.
fn text_of(path: &Path) -> std::io::Result<String> {
    let about = std::fs::metadata(path)?;
    if !about.is_file() {
        return Err(std::io::Error::other("this is no file (a folder, a pipe, a device)"));
    }
    let bytes = hocket_files::read_text(path, MOST_BYTES)?;
    String::from_utf8(bytes).map_err(|_| std::io::Error::other("this file is not UTF-8 text"))
}

/// By name, as on the command line.
mod names {
    macro_rules! by_name {
        ($module:ident, $type:ty, $of:expr) => {
            pub mod $module {
                use serde::{Deserialize, Deserializer, Serializer};

                pub fn serialize<S: Serializer>(it: &$type, to: S) -> Result<S::Ok, S::Error> {
                    to.serialize_str(it.name())
                }

                pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<$type, D::Error> {
                    let name = String::deserialize(from)?;
                    let unknown = || {
                        let what = concat!("there is no ", stringify!($module), " named");
                        serde::de::Error::custom(format!("{what} '{name}'"))
                    };
                    let found: Option<$type> = $of(&name);
                    found.ok_or_else(unknown)
                }
            }
        };
    }

    by_name!(schedule, hocket_plan::ScheduleKind, hocket_plan::ScheduleKind::from_name);
    by_name!(policy, hocket_plan::SiblingPolicy, hocket_plan::SiblingPolicy::from_name);
    by_name!(wait, hocket_rt::Strategy, |name: &str| name.parse().ok());
}
