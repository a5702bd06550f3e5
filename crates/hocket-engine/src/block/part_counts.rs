//! What hardware counters count while the parts of a unit run, by kind of node.
//!
//! A reading of the counters is a system call, so it is made only for who asks
//! ([`Engine::count_parts`](crate::Engine::count_parts)), and for one unit of each thread and block. The next block has the thread's
//! next unit, so readings weigh on none in particular. In each such unit, two readings come right after each other. What lies
//! between them is what a reading itself counts.

use hocket_machine::counters::{Glance, MOST_EVENTS, OpenEventSet};

use super::probe::Probe;

/// The most kinds. Nodes of further kinds are counted as [`OTHERS`].
pub(crate) const MOST_KINDS: usize = 128;
/// The number of the last kind.
pub(crate) const OTHERS: u16 = MOST_KINDS as u16 - 1;

/// Counts of one thread. They are made and read on the control side.
pub(crate) struct PartCounts {
    set: OpenEventSet,
    kinds: Box<[Tally]>,
    /// Of two readings right after each other.
    reading: Tally,
    /// Readings that are no measurement, because others had the counters.
    pub refused: u64,
    /// The thread's unit that is counted in this block: its place in the order in which the thread runs them. Behind the
    /// last one comes a block without readings, so that every unit's cost is measured in some block.
    due: u32,
    /// How many units the thread has run in this block.
    run: u32,
    last: Option<Glance>,
}

/// What was counted in parts of one kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    /// Differences of two readings.
    pub readings: u64,
    /// Nodes that ran in them.
    pub nodes: u64,
    pub counts: [u64; MOST_EVENTS],
}

impl Tally {
    fn add(&mut self, nodes: u32, between: &Glance) {
        self.readings += 1;
        self.nodes += u64::from(nodes);
        for (sum, count) in self.counts.iter_mut().zip(between.counts) {
            *sum = sum.wrapping_add(count);
        }
    }
}

impl PartCounts {
    /// Thread: control; allocates.
    pub(crate) fn new(set: OpenEventSet) -> PartCounts {
        let kinds = vec![Tally::default(); MOST_KINDS].into_boxed_slice();
        let (reading, last) = (Tally::default(), None);
        PartCounts { set, kinds, reading, refused: 0, due: 0, run: 0, last }
    }

    /// Another block begins.
    ///
    /// Thread: the one whose counts they are.
    #[inline]
    pub(super) fn begin_block(&mut self) {
        self.due = if self.run > self.due { self.due + 1 } else { 0 };
        self.run = 0;
    }

    /// Whether the unit that begins is the one that is counted in this block.
    ///
    /// Thread: the one whose counts they are.
    #[inline]
    pub(super) fn is_due(&mut self) -> bool {
        self.run += 1;
        self.run == self.due + 1
    }

    /// The unit begins. Two system calls.
    ///
    /// Thread: the one whose counts they are.
    pub(super) fn begin_unit(&mut self) {
        self.last = self.set.glance();
        if let Some(between) = self.passed() {
            self.reading.add(0, &between);
        }
    }

    /// What was counted since the last reading.
    fn passed(&mut self) -> Option<Glance> {
        let now = self.set.glance();
        let before = std::mem::replace(&mut self.last, now);
        let between = now.zip(before).and_then(|(now, before)| now.since(&before));
        self.refused += u64::from(between.is_none());
        between
    }

    /// By number of the kind.
    pub(crate) fn kinds(&self) -> &[Tally] {
        &self.kinds
    }

    pub(crate) fn reading(&self) -> Tally {
        self.reading
    }

    pub(crate) fn into_set(self) -> OpenEventSet {
        self.set
    }
}

impl Probe for PartCounts {
    /// One system call.
    fn ran(&mut self, kind: u16, nodes: u32) {
        if let Some(between) = self.passed() {
            let kind = usize::from(kind.min(OTHERS));
            self.kinds[kind].add(nodes, &between);
        }
    }

    fn lost(&mut self) {
        self.last = self.set.glance();
    }
}
