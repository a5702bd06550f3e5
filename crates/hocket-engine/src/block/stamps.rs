//! What a worker notes during a block: times in ticks, in memory that is allocated before.

use hocket_machine::clock::ticks;

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

#[derive(Debug, Clone, Copy)]
pub(crate) struct SpanTicks {
    pub what: What,
    pub start: u64,
    pub end: u64,
}

impl SpanTicks {
    /// An empty slot.
    pub(crate) const EMPTY: SpanTicks = SpanTicks { what: What::Wait, start: 0, end: 0 };
}

/// One thread's notes on the current block, and its counts over all blocks.
///
/// Thread: its worker writes it inside a block. The leader reads it when the block is closed.
pub(crate) struct Stamps {
    spans: Box<[SpanTicks]>,
    used: usize,
    /// The number of the block. If the worker has not entered since, it is an older one.
    pub block: u64,
    pub awake: u64,
    pub finished: u64,
    at: u64,
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
            used: 0,
            block: u64::MAX,
            awake: 0,
            finished: 0,
            at: 0,
            totals: Totals::default(),
        }
    }

    #[inline]
    pub(crate) fn begin(&mut self, block: u64) {
        self.used = 0;
        self.block = block;
        self.awake = ticks();
        self.at = self.awake;
        self.totals.blocks += 1;
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
        if let Some(slot) = self.spans.get_mut(self.used) {
            *slot = SpanTicks { what, start, end: now };
            self.used += 1;
        } else {
            self.totals.spans_dropped += 1;
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

    #[test]
    fn spans_follow_each_other_and_those_without_room_are_counted() {
        let mut stamps = Stamps::new(2);
        assert_eq!((stamps.capacity(), stamps.spans().len()), (2, 0));
        for block in [7, 9] {
            stamps.begin(block);
            let took = [What::Unit(4), What::Wait, What::Unit(5)].map(|what| stamps.end_span(what));
            stamps.finish();
            let [first, second] = stamps.spans() else { panic!("{} spans", stamps.spans().len()) };
            assert_eq!([first.what, second.what], [What::Unit(4), What::Wait]);
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
        stamps.begin(0);
        let mut units = 0;
        while units == 0 {
            stamps.end_span(What::Barrier);
            units += stamps.end_span(What::Unit(0));
        }
        units += stamps.end_span(What::Unit(0));
        assert_eq!(stamps.totals.busy_ticks, units);
    }
}
