//! A finding, and the check that it comes from.

use serde::Serialize;

use super::figures::Figure;

/// How good a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Verdict {
    /// As it should be.
    Good,
    /// Makes audio late on many machines.
    Problem,
    /// May make it late, or costs something else.
    Advice,
    /// Cannot be seen here.
    Unknown,
}

/// What one check found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Finding {
    /// What was looked at.
    pub check: &'static str,
    pub verdict: Verdict,
    /// What was found.
    pub found: String,
    /// Why it matters.
    pub why: &'static str,
    /// What it cost where somebody measured it.
    pub measured: Option<Figure>,
    /// What to do, for problems and advice.
    pub remedy: Option<String>,
}

/// What is looked at.
#[derive(Debug, Clone, Copy)]
pub(super) struct Check {
    pub name: &'static str,
    /// Why it matters to audio, whatever is found.
    pub why: &'static str,
    /// `None`: no record has it.
    pub measured: Option<Figure>,
}

impl Check {
    pub(super) fn good(&self, found: impl Into<String>) -> Finding {
        self.finding(Verdict::Good, found.into(), None)
    }

    pub(super) fn unknown(&self, found: impl Into<String>) -> Finding {
        self.finding(Verdict::Unknown, found.into(), None)
    }

    pub(super) fn advice(&self, found: impl Into<String>, remedy: impl Into<String>) -> Finding {
        self.finding(Verdict::Advice, found.into(), Some(remedy.into()))
    }

    pub(super) fn problem(&self, found: impl Into<String>, remedy: impl Into<String>) -> Finding {
        self.finding(Verdict::Problem, found.into(), Some(remedy.into()))
    }

    fn finding(&self, verdict: Verdict, found: String, remedy: Option<String>) -> Finding {
        let Check { name, why, measured } = *self;
        Finding { check: name, verdict, found, why, measured, remedy }
    }
}
