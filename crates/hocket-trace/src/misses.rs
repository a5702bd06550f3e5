//! What a miss is. Engine, device, `play`, `bench`, lab, reports and C count misses only with this file.
//!
//! What `auto` counts to leave its workers is no miss: blocks that take longer than the period, whenever they began.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign};

/// Periods for which the device had nothing new to play, because of one block or of many.
///
/// Both parts are misses, because both are silent. They are separate because they have different causes: a late
/// block was too slow, a skipped period never had a block.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Misses {
    /// Blocks that finished after their deadline.
    pub late: u64,
    /// Periods that passed without a block.
    pub skipped: u64,
}

impl Misses {
    /// The misses of one block. `slack_ns` is the time left before its deadline. `skipped` is the number of
    /// periods that passed before the next block could begin.
    ///
    /// Thread: any. Cost: a comparison.
    pub const fn of_block(slack_ns: i64, skipped: u64) -> Misses {
        Misses { late: (slack_ns < 0) as u64, skipped }
    }

    /// The sum of late blocks and skipped periods. `--max-misses` limits it.
    pub const fn total(self) -> u64 {
        self.late.saturating_add(self.skipped)
    }
}

impl Add for Misses {
    type Output = Misses;

    fn add(self, more: Misses) -> Misses {
        Misses {
            late: self.late.saturating_add(more.late),
            skipped: self.skipped.saturating_add(more.skipped),
        }
    }
}

impl AddAssign for Misses {
    fn add_assign(&mut self, more: Misses) {
        *self = *self + more;
    }
}

impl Sum for Misses {
    fn sum<I: Iterator<Item = Misses>>(all: I) -> Misses {
        all.fold(Misses::default(), Misses::add)
    }
}

/// Prints `0`, or the number with its parts: `5 (2 late blocks, 3 skipped periods)`.
impl fmt::Display for Misses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counted = |n: u64, one: &str| format!("{n} {one}{}", if n == 1 { "" } else { "s" });
        match self.total() {
            0 => write!(f, "0"),
            all => {
                let late = counted(self.late, "late block");
                write!(f, "{all} ({late}, {})", counted(self.skipped, "skipped period"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn late_blocks_and_skipped_periods_are_misses() {
        let of = Misses::of_block;
        assert_eq!(
            [of(0, 0), of(1, 0)].map(Misses::total),
            [0, 0],
            "ready at the deadline: in time"
        );
        assert_eq!(of(-1, 0), Misses { late: 1, skipped: 0 });
        assert_eq!(of(-1, 2).total(), 3);
        assert_eq!(of(5, 2).total(), 2, "in time itself, and too late for the next two");
        assert_eq!([of(-1, 2), of(7, 0), of(3, 1)].into_iter().sum::<Misses>().total(), 4);
        assert_eq!((of(-1, u64::MAX) + of(-1, 1)).total(), u64::MAX);
    }

    #[test]
    fn they_are_told_with_their_parts() {
        let told = |late, skipped| Misses { late, skipped }.to_string();
        assert_eq!(told(0, 0), "0");
        assert_eq!(told(1, 0), "1 (1 late block, 0 skipped periods)");
        assert_eq!(told(2, 1), "3 (2 late blocks, 1 skipped period)");
    }
}
