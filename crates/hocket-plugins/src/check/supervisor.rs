//! Starts the process in which a plug-in is checked, and again behind a check that ended it.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{ALL, BesideSibling, Job, Level, Line, Timing, Verdict};
use crate::Description;
use crate::child::{self, Early};

/// How many checks may end the process before the others are left out.
const MOST_CRASHES: usize = 3;
/// No report is longer.
const LONGEST: u64 = 64 << 20;

/// Runs the checks of plug-ins.
#[derive(Debug, Clone)]
pub struct Supervisor {
    /// What is started.
    pub program: PathBuf,
    /// Its first arguments; the file with the job and the file to write follow.
    pub arguments: Vec<OsString>,
    /// How long one step of a check may take.
    pub limit: Duration,
    /// Whether what the plug-in prints is shown.
    pub shows_output: bool,
    /// Two CPUs that share a core, or why none are known.
    pub pair: Result<[u32; 2], String>,
}

/// What all checks of a plug-in found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// As in sessions.
    pub kind: String,
    /// For people.
    pub title: String,
    /// What random values came from.
    pub seed: u64,
    /// In the order of the checks.
    pub verdicts: Vec<Verdict>,
    /// By block length.
    pub timings: Vec<Timing>,
    /// What a busy sibling costs; `None`: not measured.
    pub beside_sibling: Option<BesideSibling>,
}

impl Report {
    /// One without times.
    pub fn new(kind: String, title: String, seed: u64, verdicts: Vec<Verdict>) -> Report {
        Report { kind, title, seed, verdicts, timings: Vec::new(), beside_sibling: None }
    }

    /// The worst verdict.
    pub fn level(&self) -> Level {
        self.verdicts.iter().map(|verdict| verdict.level).max().unwrap_or(Level::Ok)
    }
}

impl Supervisor {
    /// Checks a plug-in.
    ///
    /// Thread: any; takes seconds.
    ///
    /// # Errors
    /// No process can be started, or no file written.
    pub fn check(&self, plugin: &Description, seed: u64) -> io::Result<Report> {
        let mut report = Report::new(plugin.kind.clone(), plugin.title.clone(), seed, Vec::new());
        let (mut skip, mut crashes) = (0, 0);
        while skip < ALL.len() && crashes < MOST_CRASHES {
            let job = Job { plugin: plugin.clone(), seed, skip, pair: self.pair.clone() };
            skip += self.once(&job, &mut report)?;
            crashes += 1;
        }
        if skip < ALL.len() {
            report.verdicts.push(left_out(&ALL[skip..]));
        }
        Ok(report)
    }

    /// One process. Returns how many checks are done with.
    fn once(&self, job: &Job, report: &mut Report) -> io::Result<usize> {
        let (order, file) = (tempfile::NamedTempFile::new()?, tempfile::NamedTempFile::new()?);
        std::fs::write(order.path(), serde_json::to_vec(job)?)?;
        let output = || if self.shows_output { Stdio::inherit() } else { Stdio::null() };
        let mut child = Command::new(&self.program)
            .args(&self.arguments)
            .args([order.path(), file.path()])
            .stdin(Stdio::null())
            // What a plug-in prints must not mix with the report.
            .stdout(Stdio::null())
            .stderr(output())
            .spawn()?;
        let ended = child::wait(&mut child, file.path(), self.limit)?;
        let lines = Lines::read(file.path())?;
        report.verdicts.extend(lines.verdicts);
        report.timings.extend(lines.timings);
        report.beside_sibling = lines.beside_sibling.or(report.beside_sibling.take());
        if lines.complete {
            return Ok(ALL.len());
        }
        let is_hang = ended.is_none();
        report.verdicts.push(ended_early(&lines.check, lines.at, &Early::of(ended), is_hang));
        Ok(lines.begun.max(1))
    }
}

fn ended_early(check: &str, at: Option<String>, early: &Early, is_hang: bool) -> Verdict {
    let remedy = match is_hang {
        true => "look for a loop that does not end or a wait; `--limit` allows more time",
        false => "run the same command in a debugger: the seed makes it repeat",
    };
    Verdict {
        check: if check.is_empty() { "builds".into() } else { check.into() },
        level: Level::Failed,
        found: format!("the plug-in {}", early.why),
        at,
        remedy: Some(remedy.into()),
    }
}

fn left_out(checks: &[&str]) -> Verdict {
    Verdict {
        check: checks[0].into(),
        level: Level::Unmeasured,
        found: format!(
            "not run: {} checks ended the process ({} left out)",
            MOST_CRASHES,
            checks.join(", ")
        ),
        at: None,
        remedy: None,
    }
}

/// What a process wrote.
#[derive(Default)]
struct Lines {
    verdicts: Vec<Verdict>,
    timings: Vec<Timing>,
    beside_sibling: Option<BesideSibling>,
    /// How many checks it began, and the last one.
    begun: usize,
    check: String,
    at: Option<String>,
    complete: bool,
}

impl Lines {
    /// A line that was cut off says nothing.
    fn read(path: &Path) -> io::Result<Lines> {
        let text = hocket_files::read_bytes(path, LONGEST).map_err(io::Error::other)?;
        let text = String::from_utf8_lossy(&text);
        let mut lines = Lines::default();
        for line in text.lines().filter_map(|line| serde_json::from_str(line).ok()) {
            match line {
                Line::Begins(check) => {
                    (lines.check, lines.at) = (check, None);
                    lines.begun += 1;
                }
                Line::At(at) => lines.at = Some(at),
                Line::Found(verdict) => lines.verdicts.push(verdict),
                Line::Timed(timing) => lines.timings.push(timing),
                Line::Beside(found) => lines.beside_sibling = Some(found),
                Line::Ends => lines.complete = true,
            }
        }
        Ok(lines)
    }
}
