//! The one message that a wrong session file gives.

use std::fmt::{self, Write};
use std::path::PathBuf;

/// A place in a session file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The session file, as it was named to [`load`](crate::load).
    pub file: PathBuf,
    /// From 1.
    pub line: usize,
    /// From 1, in characters.
    pub column: usize,
    /// The whole line, without its end.
    pub text_line: String,
}

/// What is wrong with a session file, where, why, and what to do about it.
///
/// `Display` gives the complete message over several lines, without a line end behind the last:
/// place and cause, the offending line with a caret below it, the remedy. Its own marks are ASCII
/// and it has no colours; what it quotes from the file stays as it is, but for control characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionError(Box<Inner>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Inner {
    file: PathBuf,
    /// `None` where the file as a whole is wrong.
    place: Option<Place>,
    /// How many characters of the line are meant.
    width: usize,
    cause: String,
    remedy: String,
}

impl SessionError {
    pub(crate) fn at(place: Place, width: usize, cause: String, remedy: String) -> SessionError {
        let file = place.file.clone();
        SessionError(Box::new(Inner { file, place: Some(place), width, cause, remedy }))
    }

    pub(crate) fn whole(file: PathBuf, cause: String, remedy: String) -> SessionError {
        SessionError(Box::new(Inner { file, place: None, width: 0, cause, remedy }))
    }

    /// Where; `None` where the file as a whole is wrong (missing, a directory, too large).
    pub fn place(&self) -> Option<&Place> {
        self.0.place.as_ref()
    }

    /// What is wrong, one sentence without a full stop.
    pub fn cause(&self) -> &str {
        &self.0.cause
    }

    /// What to do about it, one sentence without a full stop.
    pub fn remedy(&self) -> &str {
        &self.0.remedy
    }

    /// The message of `Display`, in colour where `color`: for a terminal.
    pub fn render(&self, color: bool) -> String {
        let paint = Paint { color };
        let Inner { file, place, width, cause, remedy } = &*self.0;
        let mut head = escaped(&file.display().to_string());
        let mut quote = String::new();
        let mut margin = String::from(" ");
        if let Some(place) = place {
            let _ = write!(head, ":{}:{}", place.line, place.column);
            margin = " ".repeat(place.line.to_string().len() + 1);
            quote = quoted(place, *width, &margin, &paint);
        }
        let (head, cause) = (paint.bold(&head), paint.red(&escaped(&cut(cause))));
        let (bar, remedy) = (paint.blue("="), escaped(&cut(remedy)));
        format!("{head}: {cause}\n{quote}{margin}{bar} {}: {remedy}", paint.bold("remedy"))
    }
}

impl fmt::Display for SessionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render(false))
    }
}

impl std::error::Error for SessionError {}

/// How much of a long line is shown, in characters.
const SHOWN: usize = 100;
/// How much of it is shown before the caret.
const BEFORE: usize = 60;

/// The line with its number and a caret below the place; of a long line the part around it.
fn quoted(place: &Place, width: usize, margin: &str, paint: &Paint) -> String {
    let at = place.column.saturating_sub(1);
    let skipped = at.saturating_sub(BEFORE);
    let line: String = place.text_line.chars().skip(skipped).take(SHOWN).collect();
    let indent = " ".repeat(at - skipped);
    let room = SHOWN.saturating_sub(at - skipped).max(1);
    let caret = paint.red(&"^".repeat(width.clamp(1, room)));
    let (bar, number) = (paint.blue("|"), paint.blue(&place.line.to_string()));
    let line = printable(&line);
    format!("{margin}{bar}\n{number} {bar} {line}\n{margin}{bar} {indent}{caret}\n")
}

/// No cause or remedy is longer, whatever it quotes.
const LONGEST: usize = 600;

/// The text itself, or its two ends with the number of characters left out between them.
fn cut(text: &str) -> String {
    let length = text.chars().count();
    if length <= LONGEST {
        return text.into();
    }
    let head: String = text.chars().take(LONGEST / 2).collect();
    let tail: String = text.chars().skip(length - LONGEST / 2).collect();
    format!("{head} [... {} characters left out ...] {tail}", length - LONGEST)
}

/// Control characters and marks of direction as their escapes, as in `\u{1b}`.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c.is_control() || is_direction(c) {
            true => out.extend(c.escape_default()),
            false => out.push(c),
        }
    }
    out
}

/// Control characters (a tab, an escape) would move the cursor: each becomes one plain character, so that the caret
/// below the line stays in its column.
fn printable(text: &str) -> String {
    let plain = |c: char| match c {
        '\t' => ' ',
        c if c.is_control() || is_direction(c) => '?',
        c => c,
    };
    text.chars().map(plain).collect()
}

/// Marks that turn the direction of the text would let a line look like another one.
fn is_direction(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

struct Paint {
    color: bool,
}

impl Paint {
    fn bold(&self, text: &str) -> String {
        self.with("1", text)
    }

    fn red(&self, text: &str) -> String {
        self.with("1;31", text)
    }

    fn blue(&self, text: &str) -> String {
        self.with("1;34", text)
    }

    fn with(&self, code: &str, text: &str) -> String {
        if self.color { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }
}
