//! Barriers by name.

use std::fmt;
use std::str::FromStr;

use super::{Central, Dissemination, Meeting, Tree};

/// A way to build a barrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BarrierKind {
    /// [`Central`].
    Central,
    /// [`Tree`] with two at a node.
    Tree,
    /// [`Dissemination`].
    Dissemination,
    /// [`Tree::pairs`].
    Pair,
}

impl BarrierKind {
    /// All.
    pub const ALL: [BarrierKind; 4] =
        [BarrierKind::Central, BarrierKind::Tree, BarrierKind::Dissemination, BarrierKind::Pair];

    /// One for `parties` threads; at least one.
    pub fn build(self, parties: usize) -> Box<dyn Meeting> {
        match self {
            BarrierKind::Central => Box::new(Central::new(parties)),
            BarrierKind::Tree => Box::new(Tree::new(parties, 2)),
            BarrierKind::Dissemination => Box::new(Dissemination::new(parties)),
            BarrierKind::Pair => Box::new(Tree::pairs(parties)),
        }
    }
}

impl fmt::Display for BarrierKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            BarrierKind::Central => "central",
            BarrierKind::Tree => "tree",
            BarrierKind::Dissemination => "dissemination",
            BarrierKind::Pair => "pair",
        })
    }
}

impl FromStr for BarrierKind {
    type Err = ParseBarrierKindError;

    fn from_str(text: &str) -> Result<BarrierKind, ParseBarrierKindError> {
        let named = BarrierKind::ALL.into_iter().find(|kind| kind.to_string() == text);
        named.ok_or_else(|| ParseBarrierKindError { text: text.into() })
    }
}

/// Text that is not the name of a barrier.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseBarrierKindError {
    text: String,
}

impl fmt::Display for ParseBarrierKindError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = BarrierKind::ALL.map(|kind| kind.to_string()).join(", ");
        write!(f, "unknown barrier '{}': use one of {names}", self.text)
    }
}

impl std::error::Error for ParseBarrierKindError {}
