//! What the site knows of a record.

use std::path::PathBuf;

use super::identity::Machine;
use crate::about;
use crate::foreign::plain;
use crate::harness::Estimate;
use crate::numbers;
use crate::record::BenchRecord;

/// A record with a line on the first page.
#[derive(Debug)]
pub(super) struct Entry {
    /// Where it is.
    pub(super) path: PathBuf,
    /// The same for people.
    pub(super) shown: String,
    /// `bench`, `lab run`.
    pub(super) kind: String,
    /// RFC 3339; `None` where the record does not say it.
    pub(super) begun: Option<String>,
    pub(super) machine: Machine,
    /// The session, or the experiments.
    pub(super) subject: String,
    /// Version and commit of the program that measured.
    pub(super) program: String,
    /// What it found, in a sentence.
    pub(super) finding: String,
    /// What else one has to know: that it is not complete, or of an older format.
    pub(super) remarks: Vec<String>,
    /// The name of its page, unlike that of any other.
    pub(super) page: String,
    pub(super) figures: Vec<Figure>,
    pub(super) detail: Detail,
}

impl Entry {
    /// When it was begun, in seconds since 1970.
    pub(super) fn seconds(&self) -> Option<u64> {
        about::seconds(self.begun.as_deref()?)
    }

    /// The day and minute for people.
    pub(super) fn date(&self) -> String {
        match (self.seconds(), &self.begun) {
            (Some(seconds), _) => numbers::date(seconds as f64),
            (None, Some(begun)) => plain(begun),
            (None, None) => "no date".into(),
        }
    }
}

/// One figure of a record, for two beside each other.
#[derive(Debug)]
pub(super) struct Figure {
    pub(super) name: String,
    pub(super) unit: String,
    pub(super) estimate: Estimate,
}

/// What only some kinds have.
#[derive(Debug)]
pub(super) enum Detail {
    Bench(Box<Bench>),
    Lab(Lab),
    Trace,
    Other,
}

/// A bench.
#[derive(Debug)]
pub(super) struct Bench {
    /// The record without its samples: enough to say whether it can be compared.
    pub(super) outline: BenchRecord,
    /// Variant by variant, median and 99 % quantile of the block time, in nanoseconds.
    pub(super) points: Vec<(String, [Estimate; 2])>,
}

/// A run of the lab.
#[derive(Debug)]
pub(super) struct Lab {
    /// Its number in the file; `None`: the file is an export of it, without its rows.
    pub(super) run: Option<i64>,
    /// A digest of the machine.
    pub(super) host: String,
    /// Names of its experiments.
    pub(super) experiments: Vec<String>,
    pub(super) capacity: Option<Capacity>,
}

/// How many channels held their deadlines.
#[derive(Debug)]
pub(super) struct Capacity {
    /// What exactly was measured.
    pub(super) definition: String,
    /// `quick` or `full`.
    pub(super) size: String,
    /// By frames per block.
    pub(super) points: Vec<(f64, Estimate)>,
}

/// A file that looks like a record and could not be used.
#[derive(Debug)]
pub(super) struct Unread {
    pub(super) shown: String,
    pub(super) why: String,
}

/// The longest part of a name that is taken from a record.
const LONGEST: usize = 40;

/// A name for a page: what it is, and enough of a digest to be unlike all others. Whatever a record says, it has only
/// letters, digits and hyphens.
pub(super) fn page_name(kind: &str, subject: &str, digest: &str) -> String {
    let safe = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let words = |text: &str| {
        let text: String = text.chars().take(LONGEST).map(safe).collect();
        text.split('-').filter(|word| !word.is_empty()).collect::<Vec<_>>().join("-")
    };
    let digest: String = digest.chars().filter(char::is_ascii_hexdigit).take(12).collect();
    let parts = [words(kind), words(subject), digest].into_iter().filter(|part| !part.is_empty());
    format!("{}.html", parts.collect::<Vec<_>>().join("-"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_pages_lead_nowhere_else() {
        let name = page_name("bench", "../../etc/passwd <b>\u{202e}", "0123456789abcdef");
        assert_eq!(name, "bench-etc-passwd-b-0123456789ab.html");
        assert_eq!(page_name("lab", "", "ff"), "lab-ff.html");
    }
}
