//! Why a text is not read.

use std::fmt;

use super::Choice;
use crate::system::SystemTrace;
use crate::words::counted;

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
    /// It is a trace that Hocket wrote.
    Own {
        /// Which one, in words.
        what: String,
    },
    /// It is a trace of Hocket's own ([`read`](crate::read)), of a format that this version does not read.
    OtherVersion {
        /// Which one.
        format: String,
    },
    /// It is a trace of Hocket's own, and ends before its end.
    Cut {
        /// Its last line, from 1 on.
        line: u64,
    },
    /// It is a trace of Hocket's own, and has a line that is none of them.
    Line {
        /// The line, from 1 on.
        line: u64,
        /// What is wrong with it, in words.
        why: String,
    },
    /// The user stopped it.
    Stopped,
    /// It is no text.
    NoText,
    /// It has no lines: one of them is too long for any text.
    NoLines {
        /// The line, from 1 on.
        line: u64,
        /// Bytes that it may have.
        bytes: u64,
    },
    /// It has more bytes than are read.
    TooLarge {
        /// How many are read.
        bytes: u64,
    },
    /// It has more lines than are read.
    TooManyLines {
        /// How many are read.
        lines: u64,
    },
    /// It has more cycles of an audio server than are counted ([`cycles`](crate::cycles)).
    TooManyCycles {
        /// How many are counted.
        cycles: u64,
    },
    /// So many lines at its beginning are no events of any kind. The rest is not read.
    NoBeginning {
        /// How many.
        lines: u64,
    },
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
            Self::Own { what } => {
                format!("this is {what}; of its own traces Hocket reads those of sessions as .json")
            }
            Self::OtherVersion { format } => {
                let own = crate::run::FORMAT;
                format!("this is a trace of format {format}, and this Hocket reads {own}")
            }
            Self::Cut { line } => format!("the trace is cut: the file ends in line {line}"),
            Self::Line { line, why } => format!("line {line}: {why}"),
            Self::Stopped => "stopped".into(),
            Self::NoText => "line 1: this is not text".into(),
            Self::NoLines { line, bytes } => {
                format!(
                    "line {line}: it has more than {} MiB, as no line of a trace has",
                    bytes >> 20
                )
            }
            Self::TooLarge { bytes } => format!("it has more than {} GiB", bytes >> 30),
            Self::TooManyLines { lines } => {
                format!("it has more than {} million lines", lines / 1_000_000)
            }
            Self::TooManyCycles { cycles } => {
                format!("it has more than {} million cycles", cycles / 1_000_000)
            }
            Self::NoBeginning { lines } => {
                format!(
                    "this is no trace: none of its first {lines} lines has the CPU and the time of an event"
                )
            }
            Self::Unreadable { line, why } => {
                format!("no event can be read; line {line} and perhaps others {why}")
            }
            Self::NoEvents { lines } => {
                let lines = counted(*lines, "line");
                format!("no event of the scheduler (sched_switch) is in its {lines}")
            }
            Self::NoCycles { lines, tool } => {
                let lines = counted(*lines, "line");
                format!("it looks like a file of {tool}, but no cycle is in {lines} of it")
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
            Self::Own { .. } => Some(
                "write one with `hocket trace SESSION -o trace.json`, or open this one where its format belongs: a page in a \
                 browser, a .json or .pftrace file at ui.perfetto.dev".into(),
            ),
            Self::OtherVersion { .. } => Some("use a Hocket of the version that wrote it, or make the trace anew".into()),
            Self::Cut { .. } => Some("copy it again, or make the trace anew".into()),
            Self::Line { .. } => Some("use the file as `hocket trace` wrote it, or make the trace anew".into()),
            Self::Stopped => None,
            Self::TooLarge { .. } | Self::TooManyLines { .. } => Some("record a shorter time, or fewer events".into()),
            Self::TooManyCycles { .. } => Some("record a shorter time, or pass on its beginning with `head`".into()),
            Self::NoText | Self::NoLines { .. } | Self::NoBeginning { .. } | Self::NoEvents { .. } => Some(
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

/// Refuses a trace of Hocket's own, by the beginning of the file.
///
/// # Errors
/// [`ReadError::Own`].
pub(super) fn check_own(beginning: &[u8]) -> Result<(), ReadError> {
    let text = String::from_utf8_lossy(&beginning[..beginning.len().min(OWN_BYTES)]);
    let what = match own_format(&text) {
        Some(format) => format!("a trace of format {format} that Hocket wrote"),
        None if is_own_page(&text) => "a page that hocket trace wrote".into(),
        None => return Ok(()),
    };
    Err(ReadError::Own { what })
}

/// Bytes at the beginning within which a trace says what it is. Before the title of a page comes its policy.
const OWN_BYTES: usize = 4096;

/// `hocket-trace/1`: where the text, the trace events and Perfetto's packets name it.
fn own_format(text: &str) -> Option<String> {
    let rest = match text.as_bytes().first()? {
        b'{' => text.strip_prefix("{\"otherData\":{\"format\":\"")?,
        // The tag of a packet. The first event has it as an annotation: the value, then the name with its tag and length.
        b'\n' => {
            let (value, _) = text.split_once("R\u{6}format")?;
            &value[value.rfind("hocket-")?..]
        }
        _ => text,
    };
    let name = ["hocket-trace/", "hocket-threads/"].into_iter().find(|it| rest.starts_with(it))?;
    let version = rest[name.len()..].bytes().take_while(u8::is_ascii_digit).count();
    (version > 0).then(|| rest[..name.len() + version].into())
}

fn is_own_page(text: &str) -> bool {
    text.starts_with("<!DOCTYPE html>")
        && text.contains(" \u{2013} hocket trace</title>")
        && text.contains("content=\"Hocket\"")
}

/// A name must not look like a line of ours.
fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}
