//! The units that may run now.
//!
//! # The idea
//!
//! A unit becomes ready when its last predecessor has finished. The thread that finished it puts the
//! unit into the home of the worker that should run it, because the inputs are in that worker's cache.
//! A worker takes the most urgent unit from its own home (units are numbered by priority, lowest first).
//! When its home is empty, it steals the *least* urgent unit of another home, which the owner would
//! have reached last.
//!
//! A home is a set of bits, one per unit. A unit is in at most one home at a time, and only once, so a
//! bit is enough. Nothing can overflow, and nothing is allocated. The order is by priority and not by
//! arrival, and two thieves never compete for the same end of a queue.
//!
//! A home also keeps two values that avoid searches:
//! - `count` is never less than the number of units in the home. Zero means empty, without a look at any word.
//! - `marks` has a bit for each group of words that may have units. Marks are hints. If a marked group is
//!   empty, the search clears the mark, for the cost of one look. Rarely a mark is missing. So a search that
//!   finds no unit under the marks looks through all words.

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
    /// Publishes all that the caller did before to the thread that takes the unit. Wakes nobody.
    ///
    /// Thread: any worker inside the block. Cost: two atomic operations, and a third if the unit's group was
    /// empty.
    ///
    /// # Panics
    /// If there is no such home or unit.
    #[inline]
    pub fn push(&self, home: usize, unit: u32) {
        self.homes[home].push(unit);
    }

    /// Takes the most urgent unit of `home`: the one with the lowest number.
    ///
    /// Thread: any, usually the home's worker. Cost: one load if the home is empty. Otherwise two atomic
    /// operations, and one for each group of 64 units that became empty since the last search.
    ///
    /// # Panics
    /// If there is no such home.
    #[inline]
    pub fn pop(&self, home: usize) -> Option<u32> {
        self.homes[home].take_first(End::Lowest)
    }

    /// The unit that [`pop`](Self::pop) would take now, unless another thread takes it first: a hint.
    ///
    /// Thread: any. Cost: some loads. It looks only into the first marked group.
    ///
    /// # Panics
    /// If there is no such home.
    #[inline]
    pub fn first_hint(&self, home: usize) -> Option<u32> {
        self.homes[home].first_hint()
    }

    /// Takes the least urgent unit of another home. It tries the homes in turn, the thief's neighbour first.
    ///
    /// Thread: any worker inside the block. Cost: one load per empty home.
    pub fn steal(&self, thief: usize) -> Option<u32> {
        let workers = self.homes.len();
        (1..workers)
            .map(|distance| (thief + distance) % workers)
            .find_map(|victim| self.homes[victim].take_first(End::Highest))
    }

    /// Fills `home` with exactly these units, one bit per unit. Unit 0 is bit 0 of the first word.
    ///
    /// Thread: the leader, while nobody is inside. The opening of the block publishes it.
    ///
    /// # Panics
    /// If `units` does not have [`words`](Self::words) words, or there is no such home.
    pub fn load(&self, home: usize, units: &[u64]) {
        assert_eq!(units.len(), self.words, "one bit per unit, 64 per word");
        self.homes[home].load(units);
    }

    /// Whether every home was empty at some moment during the call.
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
    /// At least the number of bits set: a push raises it before it sets the bit, a take lowers it after it
    /// has cleared the bit.
    count: AtomicU32,
    /// A group has `1 << group_shift` words. That is one word, unless there are more words than marks.
    group_shift: u32,
    /// One bit per group that may have units, as hints. They are on the cache line of `count`, so that a thief
    /// that finds the home not empty knows at once where to look.
    marks: [AtomicU64; MARK_WORDS],
    /// One bit per unit. Edge E6 goes from the thread that sets it to the thread that clears it.
    lines: Box<[Padded<Line>]>,
    /// Words in use. The last line may have more.
    words: usize,
}

/// As many as fit on the line of `count`. They mark 32768 units with one word per group.
const MARK_WORDS: usize = if cfg!(loom) { 1 } else { 8 };
/// The words of one padded line. Without padding, the short homes of two workers could share a cache line.
type Line = [AtomicU64; WORDS_PER_LINE];
/// As many as fit into 128 bytes. A model has no caches, so one is enough there.
const WORDS_PER_LINE: usize = if cfg!(loom) { 1 } else { 16 };

/// Which end of a home to take from.
#[derive(Clone, Copy)]
enum End {
    Lowest,
    Highest,
}

impl End {
    /// The first set bit from this end. `bits` is not zero.
    #[inline(always)]
    fn bit_of(self, bits: u64) -> u32 {
        match self {
            End::Lowest => bits.trailing_zeros(),
            End::Highest => 63 - bits.leading_zeros(),
        }
    }

    /// Iterates over `first..end` from this end.
    #[inline(always)]
    fn order(self, first: usize, end: usize) -> impl Iterator<Item = usize> {
        (first..end).map(move |index| match self {
            End::Lowest => index,
            End::Highest => first + end - 1 - index,
        })
    }
}

/// The bits.
impl Home {
    fn new(words: usize) -> Home {
        let groups_at_most = 64 * MARK_WORDS;
        let group = words.div_ceil(groups_at_most).max(1).next_power_of_two();
        Home {
            count: AtomicU32::new(0),
            group_shift: group.trailing_zeros(),
            marks: std::array::from_fn(|_| AtomicU64::new(0)),
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
        let (word, bit) = ((unit / 64) as usize, 1u64 << (unit % 64));
        assert!(word < self.words, "no such unit: {unit}");
        // Relaxed: `count` says only that a unit may be there. The bit publishes the unit.
        self.count.fetch_add(1, Relaxed);
        let before = self.word(word).fetch_or(bit, Release); // E6 (store)
        debug_assert!(before & bit == 0, "unit {unit} is ready twice");
        self.mark(word >> self.group_shift);
    }

    #[inline]
    fn is_empty(&self) -> bool {
        // Relaxed: no data depends on it. A thread that knows of a unit nobody has taken never reads 0: see
        // PROTOCOL.md.
        self.count.load(Relaxed) == 0
    }

    /// Takes a unit from one word, if the word has one.
    #[inline]
    fn take(&self, word: usize, end: End) -> Option<u32> {
        // Relaxed: a guess that `fetch_and` below confirms.
        let mut bits = self.word(word).load(Relaxed);
        while bits != 0 {
            let place = end.bit_of(bits);
            let bit = 1u64 << place;
            bits = self.word(word).fetch_and(!bit, Acquire); // E6 (load)
            if bits & bit != 0 {
                // Relaxed: it comes after the bit is clear, see `count`.
                self.count.fetch_sub(1, Relaxed);
                return Some(word as u32 * 64 + place);
            }
        }
        None
    }

    fn load(&self, units: &[u64]) {
        let mut count = 0;
        // Relaxed, as all below: nobody is inside, and E4 publishes it to the threads that enter.
        self.marks.iter().for_each(|marks| marks.store(0, Relaxed));
        for (word, &bits) in units.iter().enumerate() {
            self.word(word).store(bits, Relaxed);
            count += bits.count_ones();
            if bits != 0 {
                self.mark(word >> self.group_shift);
            }
        }
        self.count.store(count, Relaxed);
    }
}

/// Searches and marks.
impl Home {
    /// Takes the first unit from one end. A wrong mark may lead to another unit.
    #[inline]
    fn take_first(&self, end: End) -> Option<u32> {
        if self.is_empty() {
            return None;
        }
        self.take_marked(end).or_else(|| self.take_unmarked(end))
    }

    #[inline]
    fn take_marked(&self, end: End) -> Option<u32> {
        for index in end.order(0, MARK_WORDS) {
            // Relaxed: hints.
            let mut marks = self.marks[index].load(Relaxed);
            while marks != 0 {
                let place = end.bit_of(marks);
                let group = index * 64 + place as usize;
                if let Some(unit) = self.take_in_group(group, end) {
                    return Some(unit);
                }
                self.unmark(group);
                marks &= !(1u64 << place);
            }
        }
        None
    }

    /// Looks through all words, because the count is not zero and no mark leads to a unit.
    #[cold]
    fn take_unmarked(&self, end: End) -> Option<u32> {
        end.order(0, self.words).find_map(|word| self.take(word, end))
    }

    #[inline]
    fn first_hint(&self) -> Option<u32> {
        if self.is_empty() {
            return None;
        }
        // Relaxed: hints.
        let marks = self.marks.iter().map(|marks| marks.load(Relaxed)).enumerate();
        let (index, marks) = marks.into_iter().find(|(_, marks)| *marks != 0)?;
        let (first, beyond) = self.words_of(index * 64 + marks.trailing_zeros() as usize);
        let words = (first..beyond).map(|word| (word, self.word(word).load(Relaxed)));
        let (word, bits) = words.into_iter().find(|(_, bits)| *bits != 0)?;
        Some(word as u32 * 64 + bits.trailing_zeros())
    }

    #[inline]
    fn take_in_group(&self, group: usize, end: End) -> Option<u32> {
        let (first, beyond) = self.words_of(group);
        end.order(first, beyond).find_map(|word| self.take(word, end))
    }

    #[inline(always)]
    fn words_of(&self, group: usize) -> (usize, usize) {
        let (first, beyond) = (group << self.group_shift, (group + 1) << self.group_shift);
        (first, beyond.min(self.words))
    }

    #[inline]
    fn mark(&self, group: usize) {
        let (marks, bit) = (&self.marks[group / 64], 1u64 << (group % 64));
        // Relaxed, here and below: hints. The mark is usually set, and a load keeps the cache line shared.
        if marks.load(Relaxed) & bit == 0 {
            marks.fetch_or(bit, Relaxed);
        }
    }

    /// Clears the mark of a group that was empty, and sets it again if a unit has come meanwhile.
    fn unmark(&self, group: usize) {
        // Relaxed: hints. The second look may also be too early, see the top of this file.
        self.marks[group / 64].fetch_and(!(1u64 << (group % 64)), Relaxed);
        let (first, beyond) = self.words_of(group);
        if (first..beyond).any(|word| self.word(word).load(Relaxed) != 0) {
            self.mark(group);
        }
    }
}

fn empty_line() -> Padded<Line> {
    Padded(std::array::from_fn(|_| AtomicU64::new(0)))
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn drain(mut take: impl FnMut() -> Option<u32>) -> Vec<u32> {
        std::iter::from_fn(&mut take).collect()
    }

    fn set_of(units: &[u32]) -> ReadySet {
        let set = ReadySet::new(3, 10_000);
        units.iter().for_each(|&unit| set.push(1, unit));
        set
    }

    const SCATTERED: [u32; 8] = [640, 63, 64, 9_999, 0, 1_024, 5_000, 65];

    #[test]
    fn an_owner_takes_the_most_urgent_first() {
        let set = set_of(&SCATTERED);
        let mut expected = SCATTERED.to_vec();
        expected.sort();
        assert_eq!(drain(|| set.pop(1)), expected);
        assert!(set.is_empty_hint());
    }

    #[test]
    fn a_thief_takes_the_least_urgent_first() {
        let set = set_of(&SCATTERED);
        let mut expected = SCATTERED.to_vec();
        expected.sort_by(|a, b| b.cmp(a));
        assert_eq!(drain(|| set.steal(2)), expected);
        assert!(set.is_empty_hint());
    }

    #[test]
    fn nobody_steals_from_himself() {
        let set = set_of(&[5]);
        assert_eq!(set.steal(1), None);
        assert_eq!(set.pop(0), None);
        assert_eq!(set.pop(1), Some(5));
    }

    #[test]
    fn a_thief_asks_round_from_its_neighbour() {
        let set = ReadySet::new(3, 64);
        (0..3).for_each(|home| set.push(home, home as u32));
        assert_eq!(drain(|| set.steal(1)), [2, 0]);
        assert_eq!(drain(|| set.steal(0)), [1]);
    }

    #[test]
    fn a_more_urgent_unit_is_found_after_the_search_has_passed_it() {
        let set = set_of(&[700, 800]);
        assert_eq!(set.pop(1), Some(700));
        set.push(1, 3);
        assert_eq!(drain(|| set.pop(1)), [3, 800]);
    }

    #[test]
    fn a_load_replaces_what_was_there_by_its_bits() {
        let set = ReadySet::new(2, 130);
        assert_eq!(set.words(), 3);
        set.load(0, &[1 << 7, 0, 0b11]);
        assert_eq!(drain(|| set.pop(0)), [7, 128, 129]);
        set.load(0, &[0, 0, 0]);
        assert!(set.is_empty_hint());
        assert_eq!(set.pop(0), None);
    }

    #[test]
    fn without_units_or_workers_there_is_nothing_to_take() {
        assert_eq!(ReadySet::new(1, 0).pop(0), None);
        assert_eq!(ReadySet::new(1, 0).steal(0), None);
        assert!(ReadySet::new(0, 0).is_empty_hint());
    }

    #[test]
    #[should_panic(expected = "no such unit: 128")]
    fn a_unit_that_does_not_exist_is_refused() {
        ReadySet::new(1, 100).push(0, 128);
    }

    #[test]
    fn groups_of_several_words_keep_the_order() {
        // 2000 words under 512 marks: four words per mark.
        let set = ReadySet::new(2, 128_000);
        let units = [127_999, 255, 256, 64, 0, 70_000];
        units.iter().for_each(|&unit| set.push(0, unit));
        assert_eq!((set.steal(1), set.steal(1)), (Some(127_999), Some(70_000)));
        assert_eq!(drain(|| set.pop(0)), [0, 64, 255, 256]);
    }

    #[test]
    fn a_unit_without_a_mark_is_found_all_the_same() {
        let set = set_of(&[130, 9_000]);
        set.homes[1].marks.iter().for_each(|marks| marks.store(0, Relaxed));
        assert_eq!((set.pop(1), set.steal(0)), (Some(130), Some(9_000)));
    }

    /// Compares with a sorted set, over a long random sequence of pushes, takes and thefts.
    #[test]
    fn it_behaves_like_a_sorted_set() {
        const UNITS: u32 = 3_000;
        let set = ReadySet::new(2, UNITS as usize);
        let mut model = std::collections::BTreeSet::new();
        let mut random = 0x9e37_79b9_7f4a_7c15u64;
        let mut hints = 0;
        for _ in 0..50_000 {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            let unit = (random >> 32) as u32 % UNITS;
            match random % 5 {
                0 | 1 if model.insert(unit) => set.push(0, unit),
                2 => assert_eq!(set.pop(0), model.pop_first()),
                3 => assert_eq!(set.steal(1), model.pop_last()),
                _ => {
                    assert_eq!(set.is_empty_hint(), model.is_empty());
                    // Only a mark over an empty group hides the units behind it.
                    let hint = set.first_hint(0);
                    assert!(hint.is_none() || hint == model.first().copied());
                    hints += usize::from(hint.is_some());
                }
            }
        }
        assert!(hints > 1_000, "{hints} hints");
        assert_eq!(drain(|| set.pop(0)), model.into_iter().collect::<Vec<_>>());
    }
}
