//! Two small languages that say which thread does what: the steps of a block, and free loads.
//!
//! Both go line by line, a thread a line, `NAME: ...`; `#` begins a comment. `docs/lab.md` teaches them with the
//! examples of the thesis from which they come. Reading checks everything that does not depend on the
//! machine; a mistake is told with its line and column.

mod loads;
mod steps;

pub use loads::{LoadPattern, LoadThread, Priority, Seat, Work};
pub use steps::{Step, StepPattern, StepThread};

/// What is wrong with a pattern, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {what}")]
pub struct PatternError {
    /// From 1.
    pub line: usize,
    /// From 1, in characters.
    pub column: usize,
    /// In words, with what would be right.
    pub what: String,
}

/// A piece of a line, and where it begins.
#[derive(Debug, Clone, Copy)]
struct Piece<'a> {
    text: &'a str,
    line: usize,
    column: usize,
}

impl<'a> Piece<'a> {
    fn wrong(self, what: impl Into<String>) -> PatternError {
        PatternError { line: self.line, column: self.column, what: what.into() }
    }

    /// From byte `from` to byte `to` of the piece.
    fn part(self, from: usize, to: usize) -> Piece<'a> {
        let before = self.text[..from].chars().count();
        Piece { text: &self.text[from..to], column: self.column + before, ..self }
    }

    /// Without blanks at the ends.
    fn trimmed(self) -> Piece<'a> {
        let from = self.text.len() - self.text.trim_start().len();
        let text = self.text.trim();
        self.part(from, from + text.len())
    }

    /// The pieces between blanks.
    fn words(self) -> Vec<Piece<'a>> {
        let mut words = Vec::new();
        let mut from = None;
        for (at, c) in self.text.char_indices().chain([(self.text.len(), ' ')]) {
            match (c.is_whitespace(), from) {
                (false, None) => from = Some(at),
                (true, Some(start)) => {
                    words.push(self.part(start, at));
                    from = None;
                }
                _ => {}
            }
        }
        words
    }
}

/// A thread's name and what is said of it.
struct Said<'a> {
    name: Piece<'a>,
    what: Piece<'a>,
}

/// The lines that say something.
fn said(text: &str) -> Result<Vec<Said<'_>>, PatternError> {
    let mut lines: Vec<Said<'_>> = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let bare = line.split('#').next().unwrap_or_default();
        let whole = Piece { text: bare, line: number + 1, column: 1 };
        if whole.trimmed().text.is_empty() {
            continue;
        }
        let one = one_line(whole)?;
        if lines.iter().any(|known| known.name.text == one.name.text) {
            return Err(one.name.wrong(format!("two threads are called '{}'", one.name.text)));
        }
        lines.push(one);
    }
    match lines.is_empty() {
        true => Err(PatternError { line: 1, column: 1, what: "the pattern has no thread".into() }),
        false => Ok(lines),
    }
}

fn one_line(whole: Piece<'_>) -> Result<Said<'_>, PatternError> {
    let Some(colon) = whole.text.find(':') else {
        return Err(whole
            .trimmed()
            .wrong("a line is NAME: and what the thread does; there is no ':'"));
    };
    let name = whole.part(0, colon).trimmed();
    if name.text.is_empty() {
        return Err(name.wrong("the thread has no name before the ':'"));
    }
    Ok(Said { name, what: whole.part(colon + 1, whole.text.len()) })
}
