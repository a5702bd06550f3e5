//! Hardware counters by kind of node: given to a thread before blocks, taken back after them.

use hocket_machine::counters::{MOST_EVENTS, OpenEventSet};

use crate::block::part_counts::{PartCounts, Tally};
use crate::control::engine::Engine;

/// What a thread's counters counted in some of its blocks.
#[derive(Debug)]
pub struct CountedParts {
    /// By kind of node, such as `eq` or `fader`; `sums` is what comes before the nodes of a chain. Only kinds that ran.
    pub kinds: Vec<PartCount>,
    /// What a reading itself counts: it is in every other count, once per reading.
    pub reading: PartCount,
    /// Readings that are no measurement, because others had the counters for a part of the time.
    pub refused: u64,
    /// The counters, which count on.
    pub set: OpenEventSet,
}

/// Counts over all nodes of a kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartCount {
    /// The kind.
    pub kind: String,
    /// How often the counters were read behind such a node.
    pub readings: u64,
    /// How many nodes ran before these readings. Two that run abreast have one reading.
    pub nodes: u64,
    /// By event of the set. The rest is zero.
    pub counts: [u64; MOST_EVENTS],
}

impl PartCount {
    fn new(kind: String, tally: &Tally) -> PartCount {
        let Tally { readings, nodes, counts } = *tally;
        PartCount { kind, readings, nodes, counts }
    }
}

impl Engine {
    /// From the next block on, a thread reads `set` before and after each part of one of its units per block, another unit in
    /// each block. `thread`: its number in [`Engine::totals`]. `set` has to be open for that thread, and to count.
    ///
    /// Counting adds one system call (`read`) per part, and two per unit. Times of these blocks include them. The output
    /// stays the same bit for bit.
    ///
    /// Thread: leader, between blocks. Allocates.
    ///
    /// # Panics
    /// If there is no such thread.
    pub fn count_parts(&mut self, thread: usize, set: OpenEventSet) {
        // block-path: such counts are not for live blocks, as their documentation says.
        let counts = Box::new(PartCounts::new(set));
        self.leader.exchange_counts(thread, Some(counts));
    }

    /// Ends it, and returns what was counted; `None`: nothing, because nobody asked.
    ///
    /// Thread: leader, between blocks. Allocates.
    ///
    /// # Panics
    /// If there is no such thread.
    pub fn counted_parts(&mut self, thread: usize) -> Option<CountedParts> {
        let counts = self.leader.exchange_counts(thread, None)?;
        let names = &self.control.services().kinds;
        let ran = counts.kinds().iter().enumerate().filter(|(_, tally)| tally.readings > 0);
        // block-path: as above.
        let kinds = ran.map(|(at, tally)| PartCount::new(names.name(at), tally)).collect();
        let reading = PartCount::new("reading".into(), &counts.reading());
        let refused = counts.refused;
        Some(CountedParts { kinds, reading, refused, set: counts.into_set() })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use hocket_machine::counters::{EventSet, OpenEventSet};
    use hocket_machine::pin::current_thread;
    use hocket_plan::{ScheduleKind, SiblingPolicy};

    use super::*;
    use crate::block::costs::Circumstance;
    use crate::test_engines::{self, FRAMES, does};

    /// Counters of this thread that count, if the kernel allows that.
    fn software(test: &str) -> Option<(EventSet, OpenEventSet)> {
        match EventSet::software() {
            Ok(set) => {
                let open = set.open(current_thread()).unwrap();
                open.start().unwrap();
                Some((set, open))
            }
            Err(why) => {
                println!("SKIPPED {test}: {why}");
                None
            }
        }
    }

    /// Three units: two sources, of which the second sleeps, and their sum.
    fn engine() -> Engine {
        let sleeps = does(|_| std::thread::sleep(Duration::from_micros(100)));
        let prepared = test_engines::side_by_side(vec![does(|_| ()), sleeps], None);
        let settings = test_engines::settings(ScheduleKind::Serial, SiblingPolicy::Off);
        test_engines::engine(prepared, settings, 1)
    }

    #[test]
    fn each_unit_is_counted_in_its_turn() {
        const ROUNDS: u64 = 5;
        let Some((set, open)) = software("each_unit_is_counted_in_its_turn") else { return };
        let mut engine = engine();
        engine.count_parts(0, open);
        // Behind the third unit comes a block without readings.
        (0..4 * ROUNDS).for_each(|_| _ = engine.process(FRAMES));
        let counted = engine.counted_parts(0).unwrap();
        let of = |kind: &str| counted.kinds.iter().find(|it| it.kind == kind).unwrap();
        for kind in ["node 0", "node 1"] {
            assert_eq!((of(kind).readings, of(kind).nodes), (ROUNDS, ROUNDS), "{kind}");
        }
        assert_eq!((of("sums").readings, counted.kinds.len()), (3 * ROUNDS, 3));
        assert_eq!((counted.reading.readings, counted.refused), (3 * ROUNDS, 0));
        let switches = set.events.iter().position(|it| it.name == "context-switches").unwrap();
        assert!(of("node 1").counts[switches] >= ROUNDS, "{counted:?}");
        assert!(engine.counted_parts(0).is_none());
    }

    #[test]
    fn the_time_of_a_unit_that_is_counted_is_no_cost() {
        let test = "the_time_of_a_unit_that_is_counted_is_no_cost";
        let Some((_, open)) = software(test) else { return };
        let mut engine = engine();
        engine.count_parts(0, open);
        let known = |engine: &Engine| {
            let costs = &engine.leader().runner().plan().costs;
            let alone = Circumstance { kind: 0, sibling_busy: false };
            [0, 1, 2].map(|unit| costs.get(unit, alone).is_some())
        };
        engine.process(FRAMES);
        let first = known(&engine);
        assert_eq!(first.iter().filter(|it| **it).count(), 2, "{first:?}");
        engine.process(FRAMES);
        assert_eq!(known(&engine), [true; 3]);
    }
}
