//! A job: everything that one machine is to do.

use std::path::{Path, PathBuf};

use hocket_machine::CpuSet;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::error::{Source, read};
use super::{FleetError, Host};

/// Name and version of the format, the first key of the file.
pub const FORMAT: &str = "hocket-job/1";

/// A job. What it writes depends on this and on the machine alone.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Job {
    /// [`FORMAT`].
    pub format: String,
    /// The machine, as the scheduler calls it.
    pub host: String,
    /// The machine, as it calls itself.
    pub hostname: String,
    /// The CPUs to use, as in `0-3,8`; all that are given where it is absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpus: Option<String>,
    /// Where every random choice comes from; below 2^63.
    pub seed: u64,
    /// Experiments to measure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lab: Option<LabJob>,
    /// Sessions to render.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub render: Option<RenderJob>,
}

/// Experiments to measure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LabJob {
    /// Their ids; all where there is none.
    pub experiments: Vec<String>,
    /// Two minutes an experiment instead of some seconds; not looked at where `time_s` is given.
    #[serde(default)]
    pub full: bool,
    /// So much time for all of them, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_s: Option<f64>,
    /// An experiment ends when all its ratios are known within so many percent.
    pub width_percent: f64,
}

/// Sessions to render.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RenderJob {
    /// The session files, absolute.
    pub sessions: Vec<PathBuf>,
    /// Block length in frames.
    pub frames: u32,
    /// Whether workers use both seats of a core.
    pub siblings: bool,
    /// The folder that keeps the audio files; they are hashed and removed where it is absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keep: Option<PathBuf>,
}

/// What a job does.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Work<'a> {
    /// It measures.
    Lab(&'a LabJob),
    /// It renders.
    Render(&'a RenderJob),
}

const REMEDY: &str = "write it with `hocket lab plan`";

impl Job {
    /// The job of a host that measures.
    pub fn lab(host: &Host, seed: u64, lab: LabJob) -> Job {
        Job { lab: Some(lab), ..Job::of(host, seed) }
    }

    /// The job of a host that renders.
    pub fn render(host: &Host, seed: u64, render: RenderJob) -> Job {
        Job { render: Some(render), ..Job::of(host, seed) }
    }

    fn of(host: &Host, seed: u64) -> Job {
        Job {
            format: FORMAT.into(),
            host: host.name.clone(),
            hostname: host.hostname.clone().unwrap_or_else(|| host.name.clone()),
            cpus: host.cpus.as_ref().map(CpuSet::to_string),
            seed: seed_of(seed, &host.name),
            lab: None,
            render: None,
        }
    }

    /// Reads a job file. Thread: control; does file I/O.
    ///
    /// # Errors
    /// [`FleetError`] with the place of what is wrong.
    pub fn read(path: &Path) -> Result<Job, FleetError> {
        Job::parse(path, &read(path, "job file")?)
    }

    /// The same from a text; `path` is named in errors.
    ///
    /// # Errors
    /// [`FleetError`] with the place of what is wrong.
    pub fn parse(path: &Path, text: &str) -> Result<Job, FleetError> {
        let source = Source { path, text };
        let job: Job = toml::from_str(text).map_err(|error| source.toml(&error, REMEDY))?;
        let wrong = job.fault();
        wrong.map_or(Ok(job), |cause| Err(FleetError::whole(path, cause, REMEDY)))
    }

    /// The file that [`Job::read`] reads back as the same job.
    pub fn text(&self) -> String {
        let comment = "# What this host is to do; `hocket lab run --spec` does it.\n";
        // A job is made of texts, numbers and lists of texts, all of which TOML can hold.
        toml::to_string(self).map(|text| format!("{comment}{text}")).unwrap_or_default()
    }

    /// What it does. [`Job::parse`] lets no job through that does nothing or two things.
    pub fn work(&self) -> Option<Work<'_>> {
        match (&self.lab, &self.render) {
            (Some(lab), None) => Some(Work::Lab(lab)),
            (None, Some(render)) => Some(Work::Render(render)),
            _ => None,
        }
    }

    /// The CPUs to use.
    pub fn cpu_set(&self) -> Option<CpuSet> {
        self.cpus.as_deref().and_then(|text| text.parse().ok())
    }

    /// Whether a machine that calls itself `hostname` is the one that is meant: by the whole name, or by
    /// its first part where one of the two has no more.
    pub fn is_for(&self, hostname: &str) -> bool {
        let (a, b) = (self.hostname.as_str(), hostname);
        let first = |name: &str| name.split('.').next().unwrap_or_default().to_ascii_lowercase();
        let whole = a.contains('.') && b.contains('.');
        if whole { a.eq_ignore_ascii_case(b) } else { first(a) == first(b) }
    }

    fn fault(&self) -> Option<String> {
        if self.format != FORMAT {
            return Some(format!("this is a job of the format '{}', not '{FORMAT}'", self.format));
        }
        if self.work().is_none() {
            return Some("a job has either a table [lab] or a table [render]".into());
        }
        if let Some(cpus) = &self.cpus {
            let good = cpus.parse::<CpuSet>().is_ok_and(|set| !set.is_empty());
            return (!good).then(|| format!("cpus '{cpus}' names no CPUs"));
        }
        let lab = self.lab.as_ref()?;
        let time = lab.time_s.is_none_or(|time| (1.0..=604_800.0).contains(&time));
        let width = lab.width_percent > 0.0 && lab.width_percent <= 100.0;
        (!time || !width).then(|| "time_s is 1 to 604800, width_percent above 0 to 100".into())
    }
}

/// Hosts draw from the same seed and yet differently; TOML's numbers end at 2^63.
fn seed_of(seed: u64, host: &str) -> u64 {
    let digest = Sha256::digest(format!("{seed} {host}").as_bytes());
    digest.iter().take(8).fold(0_u64, |number, byte| (number << 8) | u64::from(*byte)) >> 1
}
