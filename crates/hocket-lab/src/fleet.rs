//! Many machines: what existing schedulers need to run the lab, or renders, on each of them.
//!
//! A [`Job`] says everything that a machine is to do, so that what it writes depends on that file and
//! on the machine alone. [`Host::read`] reads the list of machines, [`slurm`] and [`hyperqueue`] write
//! the files that these engines take. Nothing here runs anything or knows a network; what the jobs bring
//! back is put together by [`crate::store::merge`].

mod error;
mod hosts;
mod job;
mod shard;
pub mod slurm;
pub mod hyperqueue;

pub use error::FleetError;
pub use hosts::Host;
pub use job::{FORMAT, Job, LabJob, RenderJob, Work};
pub use shard::shards;

use std::path::{Path, PathBuf};
use std::time::Duration;

/// What all job files of a plan have in common.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fleet {
    /// What the schedulers show: `hocket-lab`, `hocket-renders`.
    pub name: String,
    /// The folder of the plan, absolute; on every host the same.
    pub folder: PathBuf,
    /// The program, absolute; on every host the same.
    pub program: PathBuf,
    /// After so much time a job is stopped; `None`: by the scheduler's own limit alone.
    pub limit: Option<Duration>,
    /// Whether the jobs are renders, which may leave siblings alone; the lab has to see them.
    pub renders: bool,
}

impl Fleet {
    /// The job file of a host.
    pub fn job(&self, host: &Host) -> PathBuf {
        self.folder.join("jobs").join(format!("{}.toml", host.name))
    }

    /// The record file that its job writes.
    pub fn record(&self, host: &Host) -> PathBuf {
        self.folder.join("records").join(format!("{}.sqlite", host.name))
    }

    /// That schedulers can be told these paths, each of which reads some characters in its own way.
    ///
    /// # Errors
    /// [`FleetError`] for a path with such a character.
    pub fn check(&self) -> Result<(), FleetError> {
        [&self.folder, &self.program].into_iter().try_for_each(|path| plain(path))
    }
}

fn plain(path: &Path) -> Result<(), FleetError> {
    let text = path.to_str();
    let odd = text.is_none_or(|text| text.contains(['%', '"', '\'', '\\', '$', '`', '\n', '\r']));
    match odd {
        false => Ok(()),
        true => Err(FleetError::whole(
            path,
            "schedulers would read this path in another way",
            "choose one without quotes, backslashes, line ends and the characters % $ `",
        )),
    }
}

#[cfg(test)]
mod tests;
