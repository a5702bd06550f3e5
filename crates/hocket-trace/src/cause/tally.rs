//! How often each cause occurred.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::Cause;

/// Late blocks by cause. In JSON it is an object from the cause's name to the count.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Tally(BTreeMap<Cause, u64>);

impl Tally {
    /// Counts one block.
    pub fn count(&mut self, cause: Cause) {
        let count = self.0.entry(cause).or_default();
        *count = count.saturating_add(1);
    }

    /// Adds the counts of another tally.
    pub fn add(&mut self, other: &Self) {
        for (&cause, &more) in &other.0 {
            let count = self.0.entry(cause).or_default();
            *count = count.saturating_add(more);
        }
    }

    /// How many blocks `cause` made late.
    pub fn of(&self, cause: Cause) -> u64 {
        self.0.get(&cause).copied().unwrap_or(0)
    }

    /// The number of counted blocks.
    pub fn total(&self) -> u64 {
        self.0.values().fold(0, |sum, &count| sum.saturating_add(count))
    }

    /// The causes that occurred, most frequent first.
    pub fn by_count(&self) -> Vec<(Cause, u64)> {
        let mut rows: Vec<_> = self.0.iter().map(|(&cause, &n)| (cause, n)).collect();
        rows.retain(|&(_, count)| count > 0);
        rows.sort_by_key(|&(cause, count)| (std::cmp::Reverse(count), cause));
        rows
    }
}

impl FromIterator<Cause> for Tally {
    fn from_iter<I: IntoIterator<Item = Cause>>(causes: I) -> Self {
        let mut tally = Self::default();
        causes.into_iter().for_each(|cause| tally.count(cause));
        tally
    }
}

/// Prints a table with one line per cause, most frequent first.
impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows = self.by_count();
        if rows.is_empty() {
            return f.write_str("no late blocks");
        }
        let width = rows.iter().map(|(cause, _)| cause.name().len()).max().unwrap_or(0).max(5);
        write!(f, "{:width$}  {:>8}", "cause", "blocks")?;
        for (cause, count) in rows {
            write!(f, "\n{:width$}  {count:>8}", cause.name())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tally_is_a_table_and_an_object() {
        let mut tally = Tally::from_iter([Cause::SeatTaken, Cause::UnitSlow, Cause::SeatTaken]);
        tally.add(&Tally::from_iter([Cause::Unknown]));
        let table = [
            "cause         blocks",
            "seat-taken         2",
            "unit-slow          1",
            "unknown            1",
        ];
        assert_eq!(tally.to_string(), table.join("\n"));
        let json = serde_json::to_string(&tally).expect("plain");
        assert_eq!(json, r#"{"unit-slow":1,"seat-taken":2,"unknown":1}"#);
        assert_eq!(serde_json::from_str::<Tally>(&json).expect("read back"), tally);
        assert_eq!((tally.total(), tally.of(Cause::Overload)), (4, 0));
        assert_eq!(Tally::default().to_string(), "no late blocks");
    }
}
