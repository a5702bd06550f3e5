//! Why a text is not read.

use std::fmt;

use super::Choice;
use crate::system::SystemTrace;

/// Names in a message.
const MOST_NAMES: usize = 5;

/// Why a text is not read. Nothing is kept of it then.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReadError {
    /// The system cannot read it.
    Io {
        /// The line that could not be read, from 1 on.
        line: u64,
        /// The system's reason, in words.
        why: String,
    },
    /// It is the binary file of a tool, which prints it as text.
    Binary {
        /// Whose file it is.
        tool: &'static str,
        /// What prints it; `FILE` stands for the file.
        command: &'static str,
    },
    /// It is no text.
    NoText,
    /// It has events of the scheduler, and none can be read.
    Unreadable {
        /// The first of them, from 1 on.
        line: u64,
        /// What such lines have, in words.
        why: String,
    },
    /// No line is an event of the scheduler.
    NoEvents {
        /// How many lines it has.
        lines: u64,
    },
    /// No line is a cycle of an audio server ([`cycles`](crate::cycles)).
    NoCycles {
        /// How many lines it has.
        lines: u64,
        /// Whose file it seems to be.
        tool: &'static str,
    },
    /// It has none of the chosen threads.
    Nobody {
        /// What was chosen.
        chosen: Vec<String>,
        /// Some threads that are there, those that ran longest first.
        others: Vec<String>,
    },
}

impl ReadError {
    /// No thread of `system` was chosen.
    pub(super) fn nobody(choice: &Choice, system: &SystemTrace) -> ReadError {
        let mut threads: Vec<_> = system.threads.iter().collect();
        threads.sort_by_key(|thread| std::cmp::Reverse(thread.ran_ns));
        let others = threads.iter().take(MOST_NAMES).map(|thread| printable(&thread.title()));
        ReadError::Nobody { chosen: choice.threads.clone(), others: others.collect() }
    }

    /// What is the matter, in words.
    pub fn why(&self) -> String {
        match self {
            Self::Io { line, why } => format!("line {line}: {why}"),
            Self::Binary { tool, .. } => format!("this is {tool}'s binary file, not its text"),
            Self::NoText => "line 1: this is not text".into(),
            Self::Unreadable { line, why } => {
                format!("no event can be read; line {line} and perhaps others {why}")
            }
            Self::NoEvents { lines } => {
                format!("none of the {lines} lines is an event of the scheduler (sched_switch)")
            }
            Self::NoCycles { lines, tool } => {
                format!("it looks like a file of {tool}, but none of its {lines} lines is a cycle")
            }
            Self::Nobody { chosen, others } => format!(
                "no thread is, has or belongs to {}; some that are there: {}",
                chosen.join(", "),
                others.join(", ")
            ),
        }
    }

    /// What would help, where something would.
    pub fn remedy(&self) -> Option<String> {
        const COLUMNS: &str = "perf script -F comm,pid,tid,cpu,time,event,trace";
        match self {
            Self::Io { .. } => None,
            Self::Binary { command, .. } => Some(format!("print it: {command} > trace.txt")),
            Self::NoText | Self::NoEvents { .. } => Some(
                "record with `perf sched record` and print with `perf script -i perf.data > trace.txt`".into(),
            ),
            Self::NoCycles { .. } => Some(
                "record with `pw-profiler -J > FILE`, or with a JACK2 that was built with --profile".into(),
            ),
            Self::Unreadable { .. } => Some(format!("record all CPUs (-a), and print with `{COLUMNS}`")),
            Self::Nobody { .. } => Some("choose a number or a part of a name".into()),
        }
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.why())?;
        self.remedy().map_or(Ok(()), |remedy| write!(f, "; {remedy}"))
    }
}

impl std::error::Error for ReadError {}

/// Refuses what its first bytes say to be no text.
///
/// # Errors
/// [`ReadError::Binary`], [`ReadError::NoText`].
pub(super) fn check_first(line: &[u8]) -> Result<(), ReadError> {
    // perf's mark is a number, in the order of bytes of the machine.
    if [b"PERFILE2", b"2ELIFREP", b"PERFFILE"].iter().any(|mark| line.starts_with(*mark)) {
        return Err(ReadError::Binary { tool: "perf", command: "perf script -i FILE" });
    }
    if line.starts_with(b"\x17\x08\x44tracing") {
        return Err(ReadError::Binary { tool: "trace-cmd", command: "trace-cmd report -i FILE" });
    }
    if line.contains(&0) { Err(ReadError::NoText) } else { Ok(()) }
}

/// A name must not look like a line of ours.
fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}
