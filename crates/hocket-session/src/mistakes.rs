//! All mistakes of a file, collected while it is read.

use std::cell::{Cell, RefCell};
use std::fmt;

use crate::Span;
use crate::error::SessionError;
use crate::source::Source;

/// How many mistakes are kept.
const MOST: usize = 100;
/// How many are shown: more than anybody corrects before the next look, and about two screens.
const SHOWN: usize = 20;

/// Everything that is wrong with a session file, in the order of its lines; at least one mistake.
///
/// `Display` gives the messages of the first twenty mistakes with an empty line between them, and says how many more there
/// are. At most a hundred are kept; the others are counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionErrors {
    kept: Vec<SessionError>,
    more: usize,
}

impl SessionErrors {
    /// The mistakes that are kept.
    pub fn iter(&self) -> impl Iterator<Item = &SessionError> {
        self.kept.iter()
    }

    /// How many there are, kept or not.
    pub fn count(&self) -> usize {
        self.kept.len() + self.more
    }

    /// The message of `Display`, in colour where `color`: for a terminal.
    pub fn render(&self, color: bool) -> String {
        let shown = self.iter().take(SHOWN);
        let mut messages: Vec<String> = shown.map(|error| error.render(color)).collect();
        match self.count() - messages.len() {
            0 => {}
            1 => messages.push("1 more mistake is not shown; correct these first".into()),
            more => {
                messages.push(format!("{more} more mistakes are not shown; correct these first"));
            }
        }
        messages.join("\n\n")
    }
}

impl From<SessionError> for SessionErrors {
    fn from(error: SessionError) -> SessionErrors {
        SessionErrors { kept: vec![error], more: 0 }
    }
}

impl fmt::Display for SessionErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render(false))
    }
}

impl std::error::Error for SessionErrors {}

/// Where readers report. A reader that finds a mistake goes on with the default, so that one look finds all
/// mistakes; the session is refused in the end.
#[derive(Debug)]
pub(crate) struct Mistakes<'a> {
    source: &'a Source,
    kept: RefCell<Vec<SessionError>>,
    count: Cell<usize>,
}

impl<'a> Mistakes<'a> {
    pub(crate) fn new(source: &'a Source) -> Mistakes<'a> {
        Mistakes { source, kept: RefCell::default(), count: Cell::new(0) }
    }

    pub(crate) fn source(&self) -> &'a Source {
        self.source
    }

    pub(crate) fn report(&self, span: Span, cause: impl Into<String>, remedy: impl Into<String>) {
        self.count.set(self.count() + 1);
        if self.count() <= MOST {
            self.kept.borrow_mut().push(self.source.error(span, cause, remedy));
        }
    }

    /// Whether nobody will see the message of another mistake: it need not be thought of.
    pub(crate) fn is_full(&self) -> bool {
        self.count() >= MOST
    }

    /// How many were reported so far.
    pub(crate) fn count(&self) -> usize {
        self.count.get()
    }

    /// `value`, if nothing was reported.
    pub(crate) fn or<T>(self, value: T) -> Result<T, SessionErrors> {
        if self.count() == 0 { Ok(value) } else { Err(self.into_errors()) }
    }

    /// What was reported, line by line.
    pub(crate) fn into_errors(self) -> SessionErrors {
        let more = self.count().saturating_sub(MOST);
        let mut kept = self.kept.into_inner();
        kept.sort_by_key(|error| error.place().map(|place| (place.line, place.column)));
        SessionErrors { kept, more }
    }
}
