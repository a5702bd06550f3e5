//! What of a project does not play as it was meant: a short list, told once.

use std::collections::HashMap;
use std::ops::Range;

use hocket_session::ForeignText;

use crate::xml::{Element, head};

/// Remarks of one kind that are shown; of more the number is.
const SHOWN_OF_A_KIND: usize = 5;
/// Kinds that are kept. A project cannot make more, since the kinds are ours.
const MOST_KINDS: usize = 64;

/// What is not carried over, by kind, in the order of the first of each kind.
#[derive(Debug, Default)]
pub(crate) struct Remarks {
    kinds: Vec<Kind>,
    by_text: HashMap<&'static str, usize>,
}

#[derive(Debug)]
struct Kind {
    /// What becomes of it.
    fate: &'static str,
    shown: Vec<(Range<usize>, String)>,
    count: usize,
}

impl Remarks {
    /// `what` is the thing, such as `the plug-in 'Surge XT'`, and `fate` what becomes of it, such as
    /// `passes the sound on unchanged`.
    pub(crate) fn add(
        &mut self,
        element: &Element<'_>,
        what: impl Into<String>,
        fate: &'static str,
    ) {
        self.add_at(head(element), what, fate);
    }

    pub(crate) fn add_at(
        &mut self,
        span: Range<usize>,
        what: impl Into<String>,
        fate: &'static str,
    ) {
        let next = self.kinds.len().min(MOST_KINDS - 1);
        let index = *self.by_text.entry(fate).or_insert(next);
        if index == self.kinds.len() {
            self.kinds.push(Kind { fate, shown: Vec::new(), count: 0 });
        }
        let kind = &mut self.kinds[index];
        kind.count += 1;
        if kind.shown.len() < SHOWN_OF_A_KIND {
            kind.shown.push((span, what.into()));
        }
    }

    /// One line per remark, with its place.
    pub(crate) fn lines(&self, text: &ForeignText) -> Vec<String> {
        let mut lines = Vec::new();
        for Kind { fate, shown, count } in &self.kinds {
            let line = |(span, what): &(Range<usize>, String)| {
                text.warning(span.clone(), &format!("{what} {fate}"))
            };
            lines.extend(shown.iter().map(line));
            if *count > shown.len() {
                lines.push(format!("... and {} more of that kind: {fate}", count - shown.len()));
            }
        }
        lines
    }
}
