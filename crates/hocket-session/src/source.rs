//! The text of a session file and its lines.

use std::path::{Path, PathBuf};

use hocket_files::{ReadError, closed_descriptor, is_standard_input, read_text};

use crate::Span;
use crate::error::{Place, SessionError};

/// The largest session file; a session of 10,000 tracks has about one MiB.
pub const MAX_BYTES: u64 = 16 << 20;

/// What a file is meant to be, for messages.
#[derive(Debug, Clone, Copy)]
pub(crate) enum What {
    Session,
    Costs,
}

impl What {
    fn name(self) -> &'static str {
        match self {
            What::Session => "session file",
            What::Costs => "cost table",
        }
    }

    fn too_large(self) -> &'static str {
        match self {
            What::Session => "a session is text and names its audio files; name the session",
            What::Costs => "name a cost table, or a file that does not exist yet",
        }
    }

    /// Cause and remedy.
    fn binary(self) -> (&'static str, &'static str) {
        match self {
            What::Session => (
                "this is a binary file, not a session",
                "name a session file (text, .toml); audio files are named in its clips",
            ),
            What::Costs => (
                "this is a binary file, not a cost table",
                "name a cost table, or a file that does not exist yet",
            ),
        }
    }
}

/// A session file in memory.
#[derive(Debug, Clone)]
pub(crate) struct Source {
    path: PathBuf,
    text: String,
    /// Where each line begins; many warnings on a long file must not count its lines each time.
    lines: Vec<usize>,
}

impl Source {
    /// Reads a whole file.
    pub(crate) fn read(path: &Path, what: What) -> Result<Source, SessionError> {
        let name = what.name();
        let whole = |cause: String, remedy: &str| {
            SessionError::whole(path.to_path_buf(), cause, remedy.to_owned())
        };
        if path.is_dir() {
            return Err(whole(
                "this is a directory".into(),
                &format!("name a {name} (.toml) in it"),
            ));
        }
        if let Some(number) = closed_descriptor(path) {
            return Err(whole(
                format!("file descriptor {number} is not open"),
                &format!("open it in the shell, as in `{number}< FILE`"),
            ));
        }
        let bytes = read_text(path, MAX_BYTES).map_err(|error| match error {
            ReadError::Io(error) => {
                let remedy = if error.kind() == std::io::ErrorKind::NotFound {
                    "check the spelling and the current folder"
                } else {
                    "make sure that it is a file and that you may read it"
                };
                whole(format!("this {name} cannot be read: {}", io_cause(&error)), remedy)
            }
            ReadError::TooLarge(limit) => {
                whole(format!("this file is larger than {} MiB", limit >> 20), what.too_large())
            }
            ReadError::Binary => {
                let (cause, remedy) = what.binary();
                whole(cause.into(), remedy)
            }
        })?;
        if let (What::Session, Some((cause, remedy))) = (what, xml(&bytes)) {
            return Err(whole(cause.into(), remedy));
        }
        Source::from_bytes(path, bytes)
    }

    pub(crate) fn new(path: &Path, text: String) -> Source {
        let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        let lines = [0].into_iter().chain(ends.map(|(end, _)| end + 1)).collect();
        Source { path: path.to_path_buf(), text, lines }
    }

    fn from_bytes(path: &Path, bytes: Vec<u8>) -> Result<Source, SessionError> {
        String::from_utf8(bytes)
            .map(|text| Source::new(path, text))
            .map_err(|error| not_utf8(path, &error))
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Whether the text came from no file with a place of its own.
    pub(crate) fn is_stream(&self) -> bool {
        is_stream(&self.path)
    }

    /// The folder against which paths in the file are resolved: of standard input and pipes the current one.
    pub(crate) fn folder(&self) -> &Path {
        match is_stream(&self.path) {
            true => Path::new(""),
            false => self.path.parent().unwrap_or(Path::new("")),
        }
    }

    /// The session's name where it does not say one.
    pub(crate) fn stem(&self) -> String {
        let stem = self.path.file_stem().filter(|_| !is_stream(&self.path));
        stem.map_or("session".into(), |stem| stem.to_string_lossy().into_owned())
    }

    /// The place of the first character of `span`.
    pub(crate) fn place(&self, span: Span) -> Place {
        let start = self.boundary(span.start);
        let line = self.line_at(start);
        let line_start = self.lines[line - 1];
        let rest = &self.text[line_start..];
        let text_line = rest.split('\n').next().unwrap_or_default().trim_end_matches('\r');
        let text_line = text_line.trim_start_matches(BYTE_ORDER_MARK);
        let is_mark = |c: &char| *c != BYTE_ORDER_MARK;
        let before = self.text[line_start..start].chars().filter(is_mark).count();
        Place {
            file: self.path.clone(),
            line,
            // What comes behind a carriage return at the end is at the line's end.
            column: before.min(text_line.chars().count()) + 1,
            text_line: text_line.to_owned(),
        }
    }

    pub(crate) fn error(
        &self,
        span: Span,
        cause: impl Into<String>,
        remedy: impl Into<String>,
    ) -> SessionError {
        let (start, end) = (self.boundary(span.start), self.boundary(span.end));
        let meant = self.text.get(start..end).unwrap_or_default();
        let width = meant.lines().next().unwrap_or_default().chars().count();
        SessionError::at(self.place(span), width, cause.into(), remedy.into())
    }

    /// One line with its place, for something that can be played but is probably not meant.
    pub(crate) fn warning(&self, span: Span, text: &str) -> String {
        let place = self.place(span);
        format!("{}:{}:{}: {text}", place.file.display(), place.line, place.column)
    }

    /// The line number of `span`, from 1.
    pub(crate) fn line(&self, span: &Span) -> usize {
        self.line_at(span.start)
    }

    fn line_at(&self, byte: usize) -> usize {
        // The first line begins at 0, so at least one begins at or before any byte.
        self.lines.partition_point(|begin| *begin <= byte).max(1)
    }

    /// The last place at or before `byte` where a character begins.
    fn boundary(&self, byte: usize) -> usize {
        (0..=byte.min(self.text.len()))
            .rev()
            .find(|at| self.text.is_char_boundary(*at))
            .unwrap_or_default()
    }
}

/// Cause and remedy of a text that is XML: no line of it is TOML, and a message for each would help nobody.
fn xml(bytes: &[u8]) -> Option<(&'static str, &'static str)> {
    let text = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes).trim_ascii_start();
    let has = |word: &str| text.windows(word.len()).any(|part| part == word.as_bytes());
    match () {
        () if !["<?xml", "<!--", "<Project"]
            .iter()
            .any(|head| text.starts_with(head.as_bytes())) =>
        {
            None
        }
        () if has("<Project ") || has("<Project>") => Some((
            "this is the XML of a DAWproject, not a session",
            "name the .dawproject file that it is from, or pack it and its audio files with zip into one, as project.xml",
        )),
        () => Some((
            "this is XML, not a session",
            "name a session file (text, .toml) or a .dawproject file",
        )),
    }
}

/// Some editors begin a file with it; it is not a character of the first line.
const BYTE_ORDER_MARK: char = '\u{feff}';

/// Whether the text came from no file with a place of its own.
fn is_stream(path: &Path) -> bool {
    is_standard_input(path) || std::fs::metadata(path).is_ok_and(|there| !there.is_file())
}

/// What the system says, without its number: `no such file or directory`.
pub(crate) fn io_cause(error: &std::io::Error) -> String {
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or_default();
    let mut chars = text.chars();
    let first = chars.next().map(|c| c.to_ascii_lowercase());
    first.into_iter().chain(chars).collect()
}

fn not_utf8(path: &Path, error: &std::string::FromUtf8Error) -> SessionError {
    let valid = error.utf8_error().valid_up_to();
    let bytes = error.as_bytes();
    let cause = format!("the byte 0x{:02X} here is not UTF-8", bytes.get(valid).unwrap_or(&0));
    // Up to the wrong byte both texts are the same, so the place is the same too.
    let text = String::from_utf8_lossy(bytes).into_owned();
    let lossy = Source::new(path, text);
    lossy.error(valid..valid + 1, cause, "save the file with the encoding UTF-8")
}
