//! What the output waited for: the way back through a block's trace from the finished output to its planned start.
//!
//! A trace has no edges between units, so the way is inferred from times: before a unit ran, its worker was either busy
//! with another unit (then that one is next on the way), or not awake, or it waited; and what it waited for is taken to
//! be the unit of another worker that ended last before. This is exact for what one worker does in a row and at
//! barriers, and a guess, though the most probable one, where several units end close together.

use std::ops::Range;

use super::sane;
use crate::{BlockTrace, Doing};

/// Ends and starts closer than this belong together: stamps are taken beside the work, not at the same instant as it.
pub(super) const SEAM_NS: i64 = 2_000;

/// A piece of the way.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Leg {
    /// Index into the lanes.
    pub lane: usize,
    pub what: What,
    pub span: Range<i64>,
}

/// What the output waited for meanwhile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum What {
    /// The device had not signaled yet.
    Signal,
    /// The leader was not awake yet.
    LeaderWake,
    /// A worker did not run, although what it was to do could have begun.
    Wake,
    /// A unit was running.
    Unit(u32),
}

/// One unit on one lane.
#[derive(Debug, Clone, Copy)]
struct Run {
    lane: usize,
    unit: u32,
    start: i64,
    end: i64,
}

/// The way, last leg first; its legs do not overlap.
pub(super) fn way(trace: &BlockTrace, signaled_ns: i64) -> Vec<Leg> {
    let runs = runs(trace);
    let awake = sane(trace.awake_ns).max(0);
    let finished = sane(trace.finished_ns);
    let mut way = Way { runs: &runs, trace, awake, legs: Vec::new() };
    match way.last(finished) {
        Some(run) => way.from(run, finished),
        None => way.push(0, What::Wake, awake..finished),
    }
    let signaled = sane(signaled_ns).clamp(0, awake);
    way.push(0, What::LeaderWake, signaled..awake.min(finished));
    way.push(0, What::Signal, 0..signaled.min(finished));
    way.legs
}

fn runs(trace: &BlockTrace) -> Vec<Run> {
    let lanes = trace.lanes.iter().enumerate();
    let spans = lanes.flat_map(|(lane, l)| l.spans.iter().map(move |span| (lane, span)));
    let run = |(lane, span): (usize, &crate::Span)| match span.doing {
        Doing::Unit(unit) => {
            let (start, end) = (sane(span.start_ns), sane(span.end_ns));
            (start < end).then_some(Run { lane, unit, start, end })
        }
        _ => None,
    };
    spans.filter_map(run).collect()
}

struct Way<'a> {
    runs: &'a [Run],
    trace: &'a BlockTrace,
    awake: i64,
    legs: Vec<Leg>,
}

impl Way<'_> {
    fn push(&mut self, lane: usize, what: What, span: Range<i64>) {
        if !span.is_empty() {
            self.legs.push(Leg { lane, what, span });
        }
    }

    /// The run that ends last of those that began before `time`.
    fn last(&self, time: i64) -> Option<Run> {
        self.runs.iter().filter(|run| run.start < time).max_by_key(|run| run.end).copied()
    }

    /// From `run`, whose output was needed at `until`, back to when the leader was awake. Every turn begins earlier
    /// than the one before, so it ends.
    fn from(&mut self, mut run: Run, mut until: i64) {
        let mut lane = 0;
        loop {
            self.push(lane, What::Wake, run.end.max(self.awake)..until);
            self.push(
                run.lane,
                What::Unit(run.unit),
                run.start.max(self.awake)..run.end.min(until),
            );
            (lane, until) = (run.lane, run.start);
            match self.before(run) {
                Some(next) if until > self.awake => run = next,
                _ => break,
            }
        }
        self.push(lane, What::Wake, self.awake..until);
    }

    /// What had to end before `run` could begin; `None`: nothing but the waking up of its worker.
    fn before(&self, run: Run) -> Option<Run> {
        let same = |other: &&Run| other.lane == run.lane && other.end <= run.start;
        let own = self.runs.iter().filter(same).max_by_key(|other| other.end);
        let in_a_row = own.filter(|own| run.start - own.end <= SEAM_NS);
        if in_a_row.is_some() {
            return in_a_row.copied();
        }
        let woken = sane(self.trace.lanes[run.lane].awake_ns);
        if own.is_none() && run.start - woken <= SEAM_NS {
            return None;
        }
        let ready = |other: &&Run| other.end <= run.start + SEAM_NS && other.start < run.start;
        self.runs.iter().filter(ready).max_by_key(|other| other.end).copied()
    }
}
