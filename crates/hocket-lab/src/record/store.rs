//! Records on disk: written whole or not at all, read with a reason for every refusal.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use hocket_files::{Known, OutputFile, ReadError, read_text_like, why_unread, write_text};
use serde::{Deserialize, Serialize};
use serde_json::Serializer;
use serde_json::error::Category;

use super::json::Columns;
use super::{BenchRecord, FORMAT, FORMAT_OF_ONE_START, Round, Variant};

/// The largest record: 100 million blocks.
const MAX_BYTES: u64 = 4 << 30;
/// How every file of SQLite begins (sqlite.org/fileformat.html, 1.3).
const SQLITE: &[u8] = b"SQLite format 3\0";

/// Why a record could not be written or read. Each message names the file, the cause and a remedy.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The file could not be written; whatever was there before still is. Worth another try once
    /// the cause is gone.
    #[error("{}: not written: {cause}; {}", path.display(), write_remedy(cause))]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        cause: io::Error,
    },
    /// The file could not be read at all.
    #[error(
        "{}: cannot be read: {}; give a record that `hocket bench --record` wrote",
        path.display(),
        why_unread(path, cause)
    )]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        cause: io::Error,
    },
    /// A record file of the lab, which has many runs.
    #[error(
        "{}: this is a record file of the lab (SQLite), not a record of `hocket bench`; `hocket lab report --records {} -o PAGE` \
         writes the page of its last run, and `hocket report FOLDER` of the folder that it is in makes a site with all runs",
        path.display(),
        path.display()
    )]
    LabFile {
        /// The file.
        path: PathBuf,
    },
    /// The file ends in the middle.
    #[error(
        "{}:{line}:{column}: the file ends too early, it was cut off when copied or downloaded; fetch it again or repeat the run",
        path.display()
    )]
    Truncated {
        /// The file.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// Column, from 1.
        column: usize,
    },
    /// The file is not JSON, or a field is missing or of the wrong type.
    #[error(
        "{}:{line}:{column}: this is no record, or a damaged one: {cause}; name a file that `hocket bench --record` wrote, as it wrote it",
        path.display()
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// Column, from 1.
        column: usize,
        /// What is wrong there.
        cause: String,
    },
    /// Well-formed JSON, but no record.
    #[error(
        "{}: this is JSON but not a bench record: it has no \"format\": \"{FORMAT}\"; give a file that `hocket bench --record` wrote",
        path.display()
    )]
    NotARecord {
        /// The file.
        path: PathBuf,
    },
    /// A record of another version.
    #[error(
        "{}: format \"{found}\", but this hocket reads \"{FORMAT}\"; use the hocket that wrote it or repeat the run",
        path.display()
    )]
    OtherFormat {
        /// The file.
        path: PathBuf,
        /// The format it names.
        found: String,
    },
    /// A record that contradicts itself.
    #[error("{}: inconsistent record: {cause}; fetch the original or repeat the run", path.display())]
    Inconsistent {
        /// The file.
        path: PathBuf,
        /// The contradiction.
        cause: String,
    },
}

fn write_remedy(cause: &io::Error) -> &'static str {
    use io::ErrorKind as Kind;
    match cause.kind() {
        Kind::StorageFull | Kind::QuotaExceeded | Kind::FileTooLarge => {
            "free some space or name a file on another disk"
        }
        Kind::ReadOnlyFilesystem | Kind::PermissionDenied => {
            "name a file in a folder you may write to"
        }
        Kind::NotFound | Kind::NotADirectory => "create the folder first",
        Kind::IsADirectory => "name a file inside it",
        _ => "name another file",
    }
}

impl BenchRecord {
    /// Writes the record to `path`, replacing what is there, in one step: a reader sees the old
    /// file or the new one, and after a failure nothing new is left behind.
    ///
    /// # Errors
    /// [`RecordError::Write`]: the disk is full, the folder is missing or read-only, or `path` is
    /// a folder.
    pub fn write_atomic(&self, path: impl AsRef<Path>) -> Result<(), RecordError> {
        let path = path.as_ref();
        replace(path, |writer| self.write_json(writer))
            .map_err(|cause| RecordError::Write { path: path.to_path_buf(), cause })
    }

    /// Reads a record and checks that it agrees with itself; `-` is standard input. A file that does not begin like a record
    /// is read no further than its first 64 KiB.
    ///
    /// # Errors
    /// Any but [`RecordError::Write`].
    pub fn read(path: impl AsRef<Path>) -> Result<BenchRecord, RecordError> {
        let path = path.as_ref();
        let unread =
            |cause: ReadError| RecordError::Read { path: path.into(), cause: cause.into() };
        match read_text_like(path, MAX_BYTES, begins_like_a_record).map_err(unread)? {
            Known::Unlike(begin) if begin.starts_with(SQLITE) => {
                Err(RecordError::LabFile { path: path.into() })
            }
            Known::Unlike(begin) if begin.contains(&0) => Err(unread(ReadError::Binary)),
            // What is wrong stands in this part, so it is found again with its place.
            Known::Whole(text) | Known::Unlike(text) => BenchRecord::parse(&text, path),
        }
    }

    /// The same for a record that is in memory; `path` is for the messages.
    ///
    /// # Errors
    /// As [`BenchRecord::read`].
    pub fn parse(text: &[u8], path: &Path) -> Result<BenchRecord, RecordError> {
        let head: Head = serde_json::from_slice(text).map_err(|cause| refusal(path, &cause))?;
        match head.format {
            None => return Err(RecordError::NotARecord { path: path.to_path_buf() }),
            Some(found) if found != FORMAT && found != FORMAT_OF_ONE_START => {
                return Err(RecordError::OtherFormat { path: path.to_path_buf(), found });
            }
            Some(_) => {}
        }
        let record: BenchRecord =
            serde_json::from_slice(text).map_err(|cause| refusal(path, &cause))?;
        record
            .check()
            .map_err(|cause| RecordError::Inconsistent { path: path.to_path_buf(), cause })?;
        Ok(record)
    }

    /// The record as JSON text.
    ///
    /// # Errors
    /// What `writer` says.
    pub fn write_json(&self, writer: &mut impl Write) -> io::Result<()> {
        let mut serializer = Serializer::with_formatter(&mut *writer, Columns::default());
        self.serialize(&mut serializer)?;
        writer.write_all(b"\n")
    }

    fn check(&self) -> Result<(), String> {
        if self.settings.frames == 0 || self.settings.rate_hz == 0 {
            return Err("frames per block and sample rate must be above zero".into());
        }
        self.variants.iter().try_for_each(check_variant)
    }
}

/// Writes a text, such as a report, in the way of [`BenchRecord::write_atomic`].
///
/// # Errors
/// [`RecordError::Write`].
pub fn write_text_atomic(path: impl AsRef<Path>, text: &str) -> Result<(), RecordError> {
    let path = path.as_ref();
    write_text(path, text).map_err(|cause| RecordError::Write { path: path.to_path_buf(), cause })
}

/// Fills a file that takes its name when it is complete.
fn replace(
    path: &Path,
    fill: impl FnOnce(&mut BufWriter<&mut File>) -> io::Result<()>,
) -> io::Result<()> {
    let mut output = OutputFile::create(path)?;
    let mut buffer = BufWriter::new(output.file());
    fill(&mut buffer)?;
    buffer.flush()?;
    drop(buffer);
    output.commit()
}

/// The part that tells whether the rest can be read.
#[derive(Deserialize)]
struct Head {
    #[serde(default)]
    format: Option<String>,
}

/// Whether this may be the beginning of a record: all that is wrong with it is that it ends.
fn begins_like_a_record(begin: &[u8]) -> bool {
    // A number may be cut at any digit, which does not read as an end.
    let in_a_number = |byte: &u8| byte.is_ascii_digit() || b"+-.eE".contains(byte);
    let number = begin.iter().rev().take_while(|byte| in_a_number(byte)).count();
    match serde_json::from_slice::<Head>(&begin[..begin.len() - number]) {
        Ok(_) => true,
        Err(cause) => cause.is_eof(),
    }
}

fn refusal(path: &Path, cause: &serde_json::Error) -> RecordError {
    let (path, line, column) = (path.to_path_buf(), cause.line(), cause.column());
    match cause.classify() {
        Category::Eof => RecordError::Truncated { path, line, column },
        _ => RecordError::Damaged { path, line, column, cause: without_place(cause) },
    }
}

/// The message without its own "at line 3 column 7", which is printed in front.
fn without_place(cause: &serde_json::Error) -> String {
    let message = cause.to_string();
    let place = format!(" at line {} column {}", cause.line(), cause.column());
    message.strip_suffix(&place).unwrap_or(&message).to_string()
}

fn check_variant(variant: &Variant) -> Result<(), String> {
    variant
        .rounds
        .iter()
        .try_for_each(check_round)
        .map_err(|cause| format!("variant \"{}\", {cause}", variant.name))
}

fn check_round(round: &Round) -> Result<(), String> {
    let blocks = round.duration_ns.len();
    let columns = [
        ("lateness_ns", round.lateness_ns.len(), false),
        ("slack_ns", round.slack_ns.len(), false),
        ("worker_awake_max_ns", round.worker_awake_max_ns.len(), true),
        ("skipped_periods", round.skipped_periods.len(), true),
    ];
    for (name, len, optional) in columns {
        if len != blocks && !(optional && len == 0) {
            return Err(format!(
                "round {}: {name} has {len} figures where duration_ns has {blocks}",
                round.round
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Wherever the first part of a record ends, the rest is read, and what is none is refused by its first part.
    #[test]
    fn every_beginning_of_a_record_is_like_one() {
        let text = "{\"format\": \"hocket-bench/2\", \"a\": [-1.5e-3, 12, \"tr\\u00e9 \u{e9}\", true, null], \"b\": {\"c\": \"d\"}}";
        for end in 0..=text.len() {
            assert!(begins_like_a_record(&text.as_bytes()[..end]), "{end}");
        }
        for other in [
            "y\ny\n",
            "{\n{\n",
            "{\"a\": 1}\n{\"a\": 1}\n",
            "SQLite format 3\0",
            "\0",
            "[1, 2",
            "{\"format\": 5,",
        ] {
            assert!(!begins_like_a_record(other.as_bytes()), "{other}");
        }
    }
}
