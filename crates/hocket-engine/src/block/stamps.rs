//! What a worker notes during a block: times in ticks, in memory that is allocated before.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use hocket_machine::clock::ticks;

use super::cpu_time::CpuTime;
use super::part_counts::PartCounts;

/// What a worker did in a span.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum What {
    Unit(u32),
    Barrier,
    Wait,
    /// Passes of another worker's loop.
    Help,
    Guard,
}

/// A span of a block. It has 24 bytes, because the leader copies all of them between two blocks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SpanTicks {
    pub start: u64,
    pub end: u64,
    /// A unit, or a number from [`SpanTicks::BARRIER`] up.
    code: u32,
    /// For how many microseconds of it the thread had no CPU, or [`SpanTicks::UNKNOWN`].
    away_us: u32,
}

impl SpanTicks {
    const BARRIER: u32 = u32::MAX - 3;
    const WAIT: u32 = u32::MAX - 2;
    const HELP: u32 = u32::MAX - 1;
    const GUARD: u32 = u32::MAX;
    const UNKNOWN: u32 = u32::MAX;

    /// An empty slot.
    pub(crate) const EMPTY: SpanTicks =
        SpanTicks { start: 0, end: 0, code: Self::WAIT, away_us: Self::UNKNOWN };

    fn new(what: What, start: u64, end: u64, away_us: u32) -> SpanTicks {
        let code = match what {
            What::Unit(unit) => unit,
            What::Barrier => Self::BARRIER,
            What::Wait => Self::WAIT,
            What::Help => Self::HELP,
            What::Guard => Self::GUARD,
        };
        SpanTicks { start, end, code, away_us }
    }

    pub(crate) fn what(&self) -> What {
        match self.code {
            Self::BARRIER => What::Barrier,
            Self::WAIT => What::Wait,
            Self::HELP => What::Help,
            Self::GUARD => What::Guard,
            unit => What::Unit(unit),
        }
    }

    /// For how long the thread had no CPU, if it was asked.
    pub(crate) fn away_ns(&self) -> Option<i64> {
        (self.away_us != Self::UNKNOWN).then(|| i64::from(self.away_us) * 1000)
    }
}

/// What a thread is to note of a block.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Noted {
    /// Its spans.
    pub spans: bool,
    /// For how much of its long spans it had no CPU. Costs a system call for the block and for each of them.
    pub cpu_time: bool,
}

/// What threads are to note from the next block on. Control threads write it, and the leader reads it before each block.
///
/// Relaxed everywhere: hints that publish nothing. Threads learn of a block's notes with its other parameters.
#[derive(Debug, Default)]
pub(crate) struct Noting {
    pub spans: AtomicBool,
    pub cpu_time: AtomicBool,
}

impl Noting {
    #[inline]
    pub(crate) fn now(&self) -> Noted {
        Noted { spans: self.spans.load(Relaxed), cpu_time: self.cpu_time.load(Relaxed) }
    }
}

/// One thread's notes on the current block, and its counts over all blocks.
///
/// Thread: its worker writes it inside a block. The leader reads it when the block is closed.
pub(crate) struct Stamps {
    spans: Box<[SpanTicks]>,
    /// How many of this block's spans are kept at most.
    room: usize,
    used: usize,
    /// The number of the block. If the worker has not entered since, it is an older one.
    pub block: u64,
    pub awake: u64,
    pub finished: u64,
    at: u64,
    cpu: CpuTime,
    /// What somebody has asked to count. The leader exchanges it between blocks (CLOSED). While a unit is counted, its thread
    /// has taken it out.
    pub counts: Option<Box<PartCounts>>,
    pub totals: Totals,
}

/// Counts over all blocks.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Totals {
    pub blocks: u64,
    pub units: u64,
    pub blocked: u64,
    pub yielded: u64,
    pub wakes: u64,
    pub spans_dropped: u64,
    pub busy_ticks: u64,
}

impl Stamps {
    /// Has room for `capacity` spans per block. 0 keeps no spans.
    ///
    /// Thread: control; allocates.
    pub(crate) fn new(capacity: usize) -> Stamps {
        Stamps {
            spans: vec![SpanTicks::EMPTY; capacity].into_boxed_slice(),
            room: 0,
            used: 0,
            block: u64::MAX,
            awake: 0,
            finished: 0,
            at: 0,
            cpu: CpuTime::default(),
            counts: None,
            totals: Totals::default(),
        }
    }

    #[inline]
    pub(crate) fn begin(&mut self, block: u64, noted: Noted) {
        self.used = 0;
        self.room = if noted.spans { self.spans.len() } else { 0 };
        self.block = block;
        self.awake = ticks();
        self.at = self.awake;
        self.cpu.begin(noted.cpu_time, self.awake);
        if let Some(counts) = &mut self.counts {
            counts.begin_block();
        }
        self.totals.blocks += 1;
    }

    /// The counters, if the unit that begins is to be counted. Its thread puts them back afterwards.
    #[inline]
    pub(super) fn take_due(&mut self) -> Option<Box<PartCounts>> {
        self.counts.take_if(|counts| counts.is_due())
    }

    /// Ends the present span, and returns its length. It started at the end of the last one, so each span needs
    /// only one clock read.
    #[inline]
    pub(crate) fn end_span(&mut self, what: What) -> u64 {
        let now = ticks();
        let start = std::mem::replace(&mut self.at, now);
        if let What::Unit(_) = what {
            self.totals.units += 1;
            self.totals.busy_ticks += now.wrapping_sub(start);
        }
        if self.room > 0 {
            let away_us = self.cpu.away_us(start, now).unwrap_or(SpanTicks::UNKNOWN);
            match self.spans.get_mut(self.used) {
                Some(slot) => *slot = SpanTicks::new(what, start, now, away_us),
                None => self.totals.spans_dropped += 1,
            }
            self.used = self.spans.len().min(self.used + 1);
        }
        now.wrapping_sub(start)
    }

    #[inline]
    pub(crate) fn finish(&mut self) {
        self.finished = ticks();
    }

    /// The most spans per block.
    pub(crate) fn capacity(&self) -> usize {
        self.spans.len()
    }

    pub(crate) fn spans(&self) -> &[SpanTicks] {
        &self.spans[..self.used]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: Noted = Noted { spans: true, cpu_time: false };

    #[test]
    fn a_span_is_what_it_was_noted_as() {
        let all =
            [What::Unit(0), What::Unit(7), What::Barrier, What::Wait, What::Help, What::Guard];
        for what in all {
            let span = SpanTicks::new(what, 5, 9, 3);
            assert_eq!((span.what(), span.start, span.end), (what, 5, 9));
            assert_eq!(span.away_ns(), Some(3000));
        }
        assert_eq!(SpanTicks::EMPTY.away_ns(), None);
        assert_eq!(size_of::<SpanTicks>(), 24);
    }

    #[test]
    fn a_block_that_is_not_noted_has_no_spans_and_drops_none() {
        let mut stamps = Stamps::new(2);
        stamps.begin(1, ALL);
        stamps.end_span(What::Unit(0));
        assert_eq!(stamps.spans().len(), 1);
        stamps.begin(2, Noted::default());
        (0..5).for_each(|unit| _ = stamps.end_span(What::Unit(unit)));
        assert_eq!((stamps.spans().len(), stamps.totals.spans_dropped), (0, 0));
        assert_eq!(stamps.totals.units, 6);
    }

    #[test]
    fn spans_follow_each_other_and_those_without_room_are_counted() {
        let mut stamps = Stamps::new(2);
        assert_eq!((stamps.capacity(), stamps.spans().len()), (2, 0));
        for block in [7, 9] {
            stamps.begin(block, ALL);
            let took = [What::Unit(4), What::Wait, What::Unit(5)].map(|what| stamps.end_span(what));
            stamps.finish();
            let [first, second] = stamps.spans() else { panic!("{} spans", stamps.spans().len()) };
            assert_eq!([first.what(), second.what()], [What::Unit(4), What::Wait]);
            assert_eq!([first.start, second.start], [stamps.awake, first.end]);
            assert_eq!([first, second].map(|span| span.end - span.start), took[..2]);
            assert!(second.end <= stamps.finished && stamps.block == block);
        }
        let Totals { blocks, units, spans_dropped, .. } = stamps.totals;
        assert_eq!((blocks, units, spans_dropped), (2, 4, 2));
    }

    /// Time spent in units is counted, other time is not.
    #[test]
    fn busy_ticks_are_those_of_units() {
        let mut stamps = Stamps::new(0);
        stamps.begin(0, ALL);
        let mut units = 0;
        while units == 0 {
            stamps.end_span(What::Barrier);
            units += stamps.end_span(What::Unit(0));
        }
        units += stamps.end_span(What::Unit(0));
        assert_eq!(stamps.totals.busy_ticks, units);
    }
}
