//! A stress test of one plug-in, for its authors.
//!
//! The plug-in may crash or hang. So [`Supervisor`] starts the program again, and that process ([`exercise`]) writes line
//! by line into a file what it does and what it finds. If it ends too early, the check that it had begun has failed, and
//! another process goes on behind that check.

mod calls;
mod exercises;
mod piece;
mod player;
mod sibling;
mod sound;
mod supervisor;

use std::fs::File;
use std::io::{self, Write};

use serde::{Deserialize, Serialize};

pub use exercises::{ALL, exercise};
pub use sibling::BesideSibling;
pub use supervisor::{Report, Supervisor};

use crate::Description;

/// What a process has to do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Job {
    /// The plug-in.
    pub plugin: Description,
    /// What random values come from.
    pub seed: u64,
    /// How many checks to leave out.
    pub skip: usize,
    /// Two CPUs that share a core, or why none are known.
    pub pair: Result<[u32; 2], String>,
}

/// What came out of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Nothing is wrong.
    Ok,
    /// This build or machine cannot tell.
    Unmeasured,
    /// It may trouble some sessions.
    Warning,
    /// The plug-in does what no plug-in may do.
    Failed,
}

/// What a check found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    /// The check's name.
    pub check: String,
    /// How bad it is.
    pub level: Level,
    /// What was found.
    pub found: String,
    /// At which rate, block length and seed.
    pub at: Option<String>,
    /// What the author can do.
    pub remedy: Option<String>,
}

/// How long blocks of one length took.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Timing {
    /// Sample rate.
    pub rate_hz: u32,
    /// Block length.
    pub frames: usize,
    /// How many notes are held; 0 for a plug-in that takes none.
    pub held_notes: usize,
    /// Blocks.
    pub blocks: usize,
    /// Half of them took no longer, in microseconds.
    pub median_us: f64,
    /// 99 of 100 took no longer.
    pub p99_us: f64,
    /// The longest.
    pub worst_us: f64,
    /// The time that such a block lasts.
    pub deadline_us: f64,
}

/// Watches system calls; only some builds of the program can.
#[derive(Debug, Clone, Copy)]
pub struct SystemCalls {
    /// Makes a call of the plug-in, watched.
    pub during: fn(&mut dyn FnMut()),
    /// The names of the system calls since the last question.
    pub take: fn() -> Vec<String>,
}

/// A line of the file that [`exercise`] writes.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Line {
    /// A check begins.
    Begins(String),
    /// It goes on with this rate, block length and seed.
    At(String),
    /// It found something.
    Found(Verdict),
    /// Blocks were timed.
    Timed(Timing),
    /// The same beside a busy sibling.
    Beside(BesideSibling),
    /// There is no more.
    Ends,
}

/// Writes what a check does and finds.
struct Notes {
    file: File,
    check: &'static str,
    at: String,
    /// The worst verdict of the present check.
    worst: Option<Level>,
    error: Option<io::Error>,
}

impl Notes {
    fn new(file: File) -> Notes {
        Notes { file, check: "", at: String::new(), worst: None, error: None }
    }

    /// A full disk ends the process after the present check.
    fn write(&mut self, line: &Line) {
        let mut text = serde_json::to_vec(line).unwrap_or_default();
        text.push(b'\n');
        if let Err(error) = self.file.write_all(&text) {
            self.error.get_or_insert(error);
        }
    }

    fn begin(&mut self, check: &'static str) {
        (self.check, self.worst) = (check, None);
        self.at.clear();
        self.write(&Line::Begins(check.into()));
    }

    /// Where the check is.
    fn at(&mut self, at: String) {
        self.write(&Line::At(at.clone()));
        self.at = at;
    }

    fn say(&mut self, level: Level, found: String, remedy: Option<&str>) {
        let is_bad = level > Level::Unmeasured;
        let at = Some(self.at.clone()).filter(|at| is_bad && !at.is_empty());
        let (check, remedy) = (self.check.into(), remedy.map(Into::into));
        self.worst = self.worst.max(Some(level));
        self.write(&Line::Found(Verdict { check, level, found, at, remedy }));
    }

    fn ok(&mut self, found: impl Into<String>) {
        self.say(Level::Ok, found.into(), None);
    }

    fn unknown(&mut self, found: impl Into<String>) {
        self.say(Level::Unmeasured, found.into(), None);
    }

    fn warn(&mut self, found: impl Into<String>, remedy: &str) {
        self.say(Level::Warning, found.into(), Some(remedy));
    }

    fn fail(&mut self, found: impl Into<String>, remedy: &str) {
        self.say(Level::Failed, found.into(), Some(remedy));
    }

    /// Whether the present check has found nothing yet.
    fn is_clean(&self) -> bool {
        self.worst.is_none()
    }
}
