//! Units that may run.
//!
//! # The idea
//!
//! A unit becomes ready when its last predecessor has finished. Whoever finished it puts the unit
//! into the home of the worker that should run it: where its inputs are in the cache. Workers take
//! from their own home the most urgent unit (units are numbered by priority, lowest first) and,
//! when that is empty, steal from others the *least* urgent one, which is the one its owner would
//! have come to last.
//!
//! A home is a set of bits, one per unit. A unit is in at most one home at a time, and only once,
//! so a bit says it all; nothing can overflow, nothing is allocated, order is by priority and not
//! by arrival, and two thieves never fight over the same end of a queue.
//!
//! Beside the bits a home keeps two things that spare searches:
//! - `count`, never less than the units in it: zero means empty, without a look at any word;
//! - `lowest` and `highest`, hints where to start searching. They may be wrong: a search that
//!   starts there goes once all the way round.

use crate::pad::Padded;
use crate::sync::{AtomicU32, AtomicU64};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// A set of ready units with one home per worker.
#[derive(Debug)]
pub struct ReadySet {
    homes: Box<[Padded<Home>]>,
    words: usize,
}

impl ReadySet {
    /// Empty homes for `workers` workers, for units `0..units`.
    pub fn new(workers: usize, units: usize) -> ReadySet {
        let words = units.div_ceil(64);
        ReadySet { homes: (0..workers).map(|_| Padded(Home::new(words))).collect(), words }
    }

    /// Makes `unit` ready in `home`. It must not be in any home yet.
    ///
    /// Publishes all that the caller did before to whoever takes it. Thread: any worker inside the
    /// block. Cost: two atomic operations. Wakes nobody.
    ///
    /// # Panics
    /// If there is no such home or unit.
    #[inline]
    pub fn push(&self, home: usize, unit: u32) {
        self.homes[home].push(unit);
    }

    /// Takes the most urgent unit of `home`: the one with the lowest number.
    ///
    /// Thread: any, usually the worker whose home it is. Cost: one load when empty; two atomic
    /// operations and a search when not, a word per 64 units at most.
    ///
    /// # Panics
    /// If there is no such home.
    #[inline]
    pub fn pop(&self, home: usize) -> Option<u32> {
        self.homes[home].take_lowest()
    }

    /// Takes the least urgent unit of another home, asking round from the thief's neighbour.
    ///
    /// Thread: any worker inside the block. Cost: one load per empty home.
    pub fn steal(&self, thief: usize) -> Option<u32> {
        let workers = self.homes.len();
        (1..workers)
            .map(|distance| (thief + distance) % workers)
            .find_map(|victim| self.homes[victim].take_highest())
    }

    /// Fills `home` with exactly these units, a bit each, lowest unit in bit 0 of the first word.
    ///
    /// Thread: the leader, while nobody is inside; the opening of the block publishes it.
    ///
    /// # Panics
    /// If `units` does not have [`words`](Self::words) words, or there is no such home.
    pub fn load(&self, home: usize, units: &[u64]) {
        assert_eq!(units.len(), self.words, "one bit per unit, 64 per word");
        self.homes[home].load(units);
    }

    /// Whether all homes looked empty, each at some moment during the call.
    #[inline]
    pub fn is_empty_hint(&self) -> bool {
        self.homes.iter().all(|home| home.is_empty())
    }

    /// Words of 64 units in each home.
    pub fn words(&self) -> usize {
        self.words
    }

    /// Number of homes.
    pub fn homes(&self) -> usize {
        self.homes.len()
    }
}

/// The set of one worker.
#[derive(Debug)]
struct Home {
    /// At least the number of bits set: raised before a bit is set, lowered after it is cleared.
    count: AtomicU32,
    /// Where the search for the lowest unit starts; a hint.
    lowest: AtomicU32,
    /// Where the search for the highest unit starts; a hint.
    highest: AtomicU32,
    /// A bit per unit: edge E6 from the one who sets it to the one who clears it.
    lines: Box<[Padded<Line>]>,
    /// Words in use; the last line may have more.
    words: usize,
}

/// Words of one padded line: without it the short homes of two workers could share one.
type Line = [AtomicU64; WORDS_PER_LINE];
/// As many as 128 bytes hold; a model has no caches.
const WORDS_PER_LINE: usize = if cfg!(loom) { 1 } else { 16 };

/// Which end of a home to take from.
#[derive(Clone, Copy)]
enum End {
    Lowest,
    Highest,
}

impl Home {
    fn new(words: usize) -> Home {
        Home {
            count: AtomicU32::new(0),
            lowest: AtomicU32::new(0),
            highest: AtomicU32::new(0),
            lines: (0..words.div_ceil(WORDS_PER_LINE)).map(|_| empty_line()).collect(),
            words,
        }
    }

    #[inline(always)]
    fn word(&self, word: usize) -> &AtomicU64 {
        &self.lines[word / WORDS_PER_LINE][word % WORDS_PER_LINE]
    }

    #[inline]
    fn push(&self, unit: u32) {
        let (word, bit) = (unit / 64, 1u64 << (unit % 64));
        assert!((word as usize) < self.words, "no such unit: {unit}");
        // Relaxed: `count` never tells that a unit is there, only that it may be; the bit does.
        self.count.fetch_add(1, Relaxed);
        let before = self.word(word as usize).fetch_or(bit, Release); // E6 (store)
        debug_assert!(before & bit == 0, "unit {unit} is ready twice");
        self.widen(word);
    }

    /// Tells the searches that there is something in `word`.
    #[inline]
    fn widen(&self, word: u32) {
        // Relaxed, and not even atomic as a pair: hints.
        if word < self.lowest.load(Relaxed) {
            self.lowest.store(word, Relaxed);
        }
        if word > self.highest.load(Relaxed) {
            self.highest.store(word, Relaxed);
        }
    }

    #[inline]
    fn is_empty(&self) -> bool {
        // Relaxed: nothing is read on the strength of it. Never 0 to somebody who knows of a push
        // that nobody took: see PROTOCOL.md.
        self.count.load(Relaxed) == 0
    }

    #[inline]
    fn take_lowest(&self) -> Option<u32> {
        if self.is_empty() {
            return None;
        }
        // Relaxed: a hint, reduced to a valid index.
        let start = self.clamp(self.lowest.load(Relaxed));
        let (word, unit) = (start..self.words)
            .chain(0..start)
            .find_map(|word| Some((word, self.take(word, End::Lowest)?)))?;
        self.lowest.store(word as u32, Relaxed);
        Some(unit)
    }

    #[inline]
    fn take_highest(&self) -> Option<u32> {
        if self.is_empty() {
            return None;
        }
        // Relaxed: a hint, reduced to a valid index.
        let start = self.clamp(self.highest.load(Relaxed));
        let (word, unit) = (0..=start)
            .rev()
            .chain((start + 1..self.words).rev())
            .find_map(|word| Some((word, self.take(word, End::Highest)?)))?;
        self.highest.store(word as u32, Relaxed);
        Some(unit)
    }

    fn clamp(&self, hint: u32) -> usize {
        (hint as usize).min(self.words - 1)
    }

    /// Takes a unit out of one word, if there is one.
    #[inline]
    fn take(&self, word: usize, end: End) -> Option<u32> {
        // Relaxed: a guess that the exchange below confirms.
        let mut bits = self.word(word).load(Relaxed);
        while bits != 0 {
            let place = match end {
                End::Lowest => bits.trailing_zeros(),
                End::Highest => 63 - bits.leading_zeros(),
            };
            let bit = 1u64 << place;
            bits = self.word(word).fetch_and(!bit, Acquire); // E6 (load)
            if bits & bit != 0 {
                // Relaxed: after the bit is gone, see `count`.
                self.count.fetch_sub(1, Relaxed);
                return Some(word as u32 * 64 + place);
            }
        }
        None
    }

    fn load(&self, units: &[u64]) {
        let mut count = 0;
        for (word, &bits) in units.iter().enumerate() {
            // Relaxed, as all below: nobody is inside, and E4 publishes it to whoever enters.
            self.word(word).store(bits, Relaxed);
            count += bits.count_ones();
        }
        let first = units.iter().position(|&bits| bits != 0).unwrap_or(0);
        let last = units.iter().rposition(|&bits| bits != 0).unwrap_or(0);
        self.count.store(count, Relaxed);
        self.lowest.store(first as u32, Relaxed);
        self.highest.store(last as u32, Relaxed);
    }
}

fn empty_line() -> Padded<Line> {
    Padded(std::array::from_fn(|_| AtomicU64::new(0)))
}
