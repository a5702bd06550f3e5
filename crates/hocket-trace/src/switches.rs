//! Who ran on one CPU around a block, built from records of thread switches.
//!
//! It is plain data. The caller watches the system and passes its records, with times since the block's planned
//! start.

use std::ops::Range;

use serde::{Deserialize, Serialize};

/// The thread number for an idle CPU.
pub const IDLE: i32 = 0;
/// The thread number for a thread that ran but has no known number.
pub const UNNAMED: i32 = -1;

/// One switch: one thread leaves the CPU and another one gets it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SwitchAt {
    /// The time, since the block's planned start.
    pub at_ns: i64,
    /// The thread that runs from now on. [`IDLE`]: none. `None`: not recorded.
    pub in_tid: Option<i32>,
    /// The thread that ran until now. `None`: not recorded.
    pub out_tid: Option<i32>,
    /// Whether the thread that ran until now could have gone on. If so, another thread must have replaced it.
    pub preempted: bool,
}

/// A time in which one thread ran on a CPU without interruption.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ran {
    /// The thread's number, or [`UNNAMED`].
    pub tid: i32,
    /// The thread's name.
    pub name: String,
    /// Start.
    pub start_ns: i64,
    /// End.
    pub end_ns: i64,
}

impl Ran {
    /// The time of it within `span`.
    pub fn within_ns(&self, span: &Range<i64>) -> i64 {
        overlap_ns(&(self.start_ns..self.end_ns), span)
    }
}

/// Who ran on one CPU.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Switches {
    /// The CPU, by the system's number.
    pub cpu: u32,
    /// Ordered by time, without overlap. Outside of them the CPU was idle, or the time is in `unknown`.
    pub intervals: Vec<Ran>,
    /// Times for which the records do not say which thread ran. Each has a start and an end.
    pub unknown: Vec<(i64, i64)>,
}

impl Switches {
    /// Finds which threads ran on `cpu` during `window`.
    ///
    /// - `records`: the switches on this CPU in order of time. Include a few from before the window, because
    ///   they show which thread ran at its start. Without any record, the whole window is unknown.
    /// - `lost`: times in which records are missing.
    /// - `name`: returns the name of a thread.
    ///
    /// Cost: for each lost time, linear in the records.
    pub fn from_records(
        cpu: u32,
        window: Range<i64>,
        records: &[SwitchAt],
        lost: &[(i64, i64)],
        name: impl Fn(i32) -> Option<String>,
    ) -> Self {
        let mut build = Build { window: window.clone(), whole: Self { cpu, ..Self::default() } };
        let Some(first) = records.first() else {
            build.unknown(&window);
            return build.whole;
        };
        let mut follow = Follow::new(window.start.min(first.at_ns));
        for record in records {
            build.add(&follow.next(record), &name);
        }
        build.add(&follow.end(window.end), &name);
        lost.iter().for_each(|&(start, end)| build.lose(start..end));
        build.whole.unknown.sort_unstable();
        build.whole
    }

    /// The same without the threads in `tids`. What remains are strangers.
    pub fn without(&self, tids: &[i32]) -> Self {
        let strangers = self.intervals.iter().filter(|ran| !tids.contains(&ran.tid));
        Self { intervals: strangers.cloned().collect(), ..self.clone() }
    }

    /// How long any thread ran during `span`.
    pub fn ran_ns(&self, span: &Range<i64>) -> i64 {
        self.intervals.iter().map(|ran| ran.within_ns(span)).fold(0, i64::saturating_add)
    }
}

/// How much of `a` is in `b`.
pub(crate) fn overlap_ns(a: &Range<i64>, b: &Range<i64>) -> i64 {
    a.end.min(b.end).saturating_sub(a.start.max(b.start)).max(0)
}

/// Who had a CPU in a [`Stretch`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Who {
    /// This thread, or [`UNNAMED`].
    Thread(i32),
    /// Nobody.
    Idle,
    /// The records do not say.
    Unknown,
}

/// A time in which a CPU did one thing. It may be empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stretch {
    /// Who had the CPU.
    pub who: Who,
    /// Start.
    pub start_ns: i64,
    /// End; not before the start.
    pub end_ns: i64,
}

/// Follows one CPU from switch to switch: the only judgement of who ran there. [`Switches`] are made with it, and so is
/// what follows a whole system.
#[derive(Debug, Clone)]
pub struct Follow {
    current: Current,
    since_ns: i64,
}

impl Follow {
    /// A CPU of which nothing is known before `since_ns`. The first switch says who ran from then on.
    pub fn new(since_ns: i64) -> Follow {
        Follow { current: Current::Unseen, since_ns }
    }

    /// The stretch that a switch ends. Another one begins.
    pub fn next(&mut self, record: &SwitchAt) -> Stretch {
        if self.current == Current::Unseen {
            self.current = record.out_tid.map_or(Current::Nobody, Current::Thread);
        }
        let stretch = self.close(record.at_ns, record.out_tid);
        self.current = Current::after(record);
        stretch
    }

    /// Two stretches: what ran until records began to be missing, and the time of the missing ones.
    pub fn lose(&mut self, after_ns: i64, until_ns: i64) -> [Stretch; 2] {
        let known = self.close(after_ns, None);
        self.current = Current::Lost;
        let missing = self.close(until_ns, None);
        // The next record says who left.
        self.current = Current::Somebody;
        [known, missing]
    }

    /// What runs until the end.
    pub fn end(&mut self, end_ns: i64) -> Stretch {
        self.close(end_ns, None)
    }

    /// The thread that has the CPU now, as far as the records have said.
    pub fn running(&self) -> Option<i32> {
        match self.current {
            Current::Thread(tid) => Some(tid).filter(|tid| *tid != IDLE),
            _ => None,
        }
    }

    /// Since when the present stretch lasts.
    pub fn since_ns(&self) -> i64 {
        self.since_ns
    }

    /// Ends a stretch. `leaving` is the thread that left at its end, as the next record says.
    fn close(&mut self, end_ns: i64, leaving: Option<i32>) -> Stretch {
        let thread = |tid| if tid == IDLE { Who::Idle } else { Who::Thread(tid) };
        let who = match (self.current, leaving) {
            // One thread came and another one left, so at least two records between are missing.
            (Current::Thread(came), Some(left)) if came != left => Who::Unknown,
            (Current::Thread(tid), _) => thread(tid),
            (Current::Somebody, left) => thread(left.unwrap_or(UNNAMED)),
            (Current::Unseen | Current::Lost, _) => Who::Unknown,
            (Current::Nobody, _) => Who::Idle,
        };
        let end_ns = end_ns.max(self.since_ns);
        let stretch = Stretch { who, start_ns: self.since_ns, end_ns };
        self.since_ns = end_ns;
        stretch
    }
}

/// The thread on the CPU at the present record.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Current {
    Thread(i32),
    /// A thread whose number the record lacks.
    Somebody,
    /// No known thread.
    Nobody,
    /// No record has come yet.
    Unseen,
    /// Records are missing.
    Lost,
}

impl Current {
    fn after(record: &SwitchAt) -> Self {
        match record.in_tid {
            Some(tid) => Self::Thread(tid),
            None if record.preempted => Self::Somebody,
            None => Self::Nobody,
        }
    }
}

struct Build {
    window: Range<i64>,
    whole: Switches,
}

impl Build {
    fn add(&mut self, stretch: &Stretch, name: impl Fn(i32) -> Option<String>) {
        let span = stretch.start_ns..stretch.end_ns;
        match stretch.who {
            Who::Idle => {}
            Who::Unknown => self.unknown(&span),
            Who::Thread(tid) => {
                let span = self.inside(&span);
                if !span.is_empty() {
                    let name = name(tid).unwrap_or_else(|| "another thread".into());
                    let (start_ns, end_ns) = (span.start, span.end);
                    self.whole.intervals.push(Ran { tid, name, start_ns, end_ns });
                }
            }
        }
    }

    fn inside(&self, span: &Range<i64>) -> Range<i64> {
        span.start.max(self.window.start)..span.end.min(self.window.end)
    }

    fn unknown(&mut self, span: &Range<i64>) {
        let span = self.inside(span);
        if !span.is_empty() {
            self.whole.unknown.push((span.start, span.end));
        }
    }

    /// Marks a time in which records are missing as unknown.
    fn lose(&mut self, span: Range<i64>) {
        let kept = |ran: Ran| {
            let before = Ran { end_ns: ran.end_ns.min(span.start), ..ran.clone() };
            let after = Ran { start_ns: ran.start_ns.max(span.end), ..ran };
            [before, after].into_iter().filter(|ran| ran.start_ns < ran.end_ns)
        };
        if !span.is_empty() {
            let all = std::mem::take(&mut self.whole.intervals);
            self.whole.intervals = all.into_iter().flat_map(kept).collect();
            self.unknown(&span);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn switch(at_ns: i64, out: i32, into: i32) -> SwitchAt {
        SwitchAt { at_ns, in_tid: Some(into), out_tid: Some(out), preempted: false }
    }

    fn built(records: &[SwitchAt], lost: &[(i64, i64)]) -> Switches {
        Switches::from_records(3, 0..1000, records, lost, |tid| Some(format!("t{tid}")))
    }

    fn spans(switches: &Switches) -> Vec<(i32, i64, i64)> {
        switches.intervals.iter().map(|r| (r.tid, r.start_ns, r.end_ns)).collect()
    }

    #[test]
    fn records_before_and_after_fill_the_window() {
        let found = built(&[switch(-50, 1, 7), switch(200, 7, 8), switch(300, 8, IDLE)], &[]);
        assert_eq!(spans(&found), [(7, 0, 200), (8, 200, 300)]);
        assert_eq!(found.without(&[7]).ran_ns(&(250..900)), 50);
        assert!(found.unknown.is_empty());
        assert_eq!(spans(&built(&[switch(600, 4, IDLE)], &[])), [(4, 0, 600)]);
    }

    #[test]
    fn what_is_missing_is_unknown() {
        let found = built(&[switch(100, 1, 7), switch(300, 8, 9)], &[]);
        assert_eq!(
            (spans(&found), found.unknown),
            (vec![(1, 0, 100), (9, 300, 1000)], vec![(100, 300)])
        );
        let found = built(&[switch(-1, 1, 7)], &[(200, 500)]);
        assert_eq!(
            (spans(&found), found.unknown),
            (vec![(7, 0, 200), (7, 500, 1000)], vec![(200, 500)])
        );
        assert_eq!(built(&[], &[]).unknown, [(0, 1000)]);
    }

    #[test]
    fn an_own_thread_that_was_put_aside_left_its_place_to_somebody() {
        let half =
            |at_ns, in_tid, out_tid, preempted| SwitchAt { at_ns, in_tid, out_tid, preempted };
        let aside = [half(100, None, Some(7), true), half(400, Some(7), None, false)];
        let nobody = |_| None;
        let found = Switches::from_records(3, 0..1000, &aside, &[], nobody);
        assert_eq!(spans(&found), [(7, 0, 100), (UNNAMED, 100, 400), (7, 400, 1000)]);
        let slept = [half(100, None, Some(7), false), half(400, Some(7), None, false)];
        assert_eq!(spans(&built(&slept, &[])), [(7, 0, 100), (7, 400, 1000)]);
    }

    prop_compose! {
        fn any_switch()(at_ns: i64, in_tid: Option<i8>, out_tid: Option<i8>, preempted: bool) -> SwitchAt {
            let tid = |tid: Option<i8>| tid.map(|t| i32::from(t) % 4);
            SwitchAt { at_ns: at_ns % 3000, in_tid: tid(in_tid), out_tid: tid(out_tid), preempted }
        }
    }

    proptest! {
        #[test]
        fn intervals_are_ordered_and_inside(
            mut records in prop::collection::vec(any_switch(), 0..12),
            lost in prop::collection::vec((-100..1100_i64, -100..1100_i64), 0..3),
        ) {
            records.sort_by_key(|r| r.at_ns);
            let found = built(&records, &lost);
            for ran in &found.intervals {
                prop_assert!(0 <= ran.start_ns && ran.start_ns < ran.end_ns && ran.end_ns <= 1000);
                prop_assert!(ran.tid != IDLE);
            }
            for pair in found.intervals.windows(2) {
                prop_assert!(pair[0].end_ns <= pair[1].start_ns);
            }
        }
    }
}
