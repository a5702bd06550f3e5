//! Counters of several threads, near and far from each other: what false sharing costs.

use std::fmt;
use std::io;
use std::str::FromStr;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use hocket_rt::Padded;

use crate::kernel::Wrong;
use crate::thread_group::ThreadGroup;

/// Bytes of a cache line where they are smallest.
const LINE: usize = 64;

/// How far apart the counters of two threads are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Distance {
    /// 8 bytes: on one line, as far as there is room (eight threads a line).
    SameLine,
    /// 64 bytes: on lines of their own on most machines, next to each other. Some fetch lines in pairs.
    NextLine,
    /// 128 bytes: out of each other's way on all.
    Apart,
}

impl Distance {
    /// All, from near to far.
    pub const ALL: [Distance; 3] = [Distance::SameLine, Distance::NextLine, Distance::Apart];

    /// In bytes.
    pub const fn bytes(self) -> usize {
        match self {
            Distance::SameLine => size_of::<u64>(),
            Distance::NextLine => LINE,
            Distance::Apart => size_of::<Padded<u64>>(),
        }
    }
}

impl fmt::Display for Distance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Distance::SameLine => "same-line",
            Distance::NextLine => "next-line",
            Distance::Apart => "apart",
        })
    }
}

impl FromStr for Distance {
    type Err = ParseDistanceError;

    fn from_str(text: &str) -> Result<Distance, ParseDistanceError> {
        let named = Distance::ALL.into_iter().find(|distance| distance.to_string() == text);
        named.ok_or_else(|| ParseDistanceError { text: text.into() })
    }
}

/// Text that is not the name of a distance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseDistanceError {
    text: String,
}

impl fmt::Display for ParseDistanceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unknown distance '{}': use one of same-line, next-line, apart", self.text)
    }
}

impl std::error::Error for ParseDistanceError {}

/// What the counters came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counted {
    /// Each thread's own.
    pub counters: Vec<u64>,
    /// From the first thread's beginning to the last one's end.
    pub elapsed: Duration,
}

impl Counted {
    /// Whether each thread counted to `times`: no counter is shared, so none may lose anything.
    ///
    /// # Errors
    /// [`Wrong`], if not.
    pub fn check(&self, times: u64) -> Result<(), Wrong> {
        let odd = self.counters.iter().find(|counter| **counter != times);
        odd.map_or(Ok(()), |counter| Wrong::unless_equal("a counter", *counter, times))
    }
}

/// Every thread of `group` increments a counter of its own `times` times; the counters lie `distance` apart, the
/// first at the beginning of a pair of lines.
///
/// An increment is a load, an addition and a store, without a lock prefix: only the lines' way between cores is
/// added to it.
///
/// # Errors
/// What the system says when it has no more threads to give.
pub fn count(group: &ThreadGroup<'_>, distance: Distance, times: u64) -> io::Result<Counted> {
    let step = distance.bytes() / size_of::<u64>();
    let lines = (group.threads() * step).div_ceil(WORDS);
    let memory: Vec<Padded<[AtomicU64; WORDS]>> = (0..lines).map(|_| Padded::default()).collect();
    let finished = group.run(|thread| {
        let at = thread * step;
        let counter = &memory[at / WORDS][at % WORDS];
        for _ in 0..times {
            // Relaxed: nobody else writes it.
            counter.store(counter.load(Relaxed).wrapping_add(1), Relaxed);
        }
        // Relaxed: as above.
        counter.load(Relaxed)
    })?;
    Ok(Counted { counters: finished.results, elapsed: finished.elapsed })
}

/// Words of a pair of lines.
const WORDS: usize = size_of::<Padded<u64>>() / size_of::<u64>();

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn at_every_distance_everybody_counts_alone() {
        for distance in Distance::ALL {
            for threads in [1, 2, 5, 17] {
                let counted = count(&ThreadGroup::anywhere(threads), distance, 1_000).unwrap();
                assert_eq!(counted.counters.len(), threads);
                assert_eq!(counted.check(1_000), Ok(()), "{distance}");
            }
        }
    }

    #[test]
    fn distances_are_as_their_names_say() {
        assert_eq!(Distance::ALL.map(Distance::bytes), [8, 64, 128]);
        for distance in Distance::ALL {
            assert_eq!(distance.to_string().parse(), Ok(distance));
        }
    }
}
